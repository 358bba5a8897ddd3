"""Constraints that a user states: budgets, parity between groups, floors, convex sets, and classes of your own.

`__all__` has the kinds and their contract, which `evenhand.problem` shows as well; other names serve goals and recipes.
"""

from evenhand.problem.constraints.base import (
    Constraint,
    Credit as Credit,
    Curved as Curved,
    by_group as by_group,
    groupings as groupings,
    groups_named as groups_named,
    of_one_outcome as of_one_outcome,
    over as over,
    relative as relative,
)
from evenhand.problem.constraints.budget import Budget
from evenhand.problem.constraints.floor import Floor
from evenhand.problem.constraints.never_worse import NeverWorse
from evenhand.problem.constraints.parity import Parity
from evenhand.problem.constraints.ratio import Ratio
from evenhand.problem.constraints.statements import (
    Demands as Demands,
    Region as Region,
    Statement as Statement,
    constraint_rows as constraint_rows,
    per_row as per_row,
    regions as regions,
    rows_and_sets as rows_and_sets,
    slack_rows as slack_rows,
    stated_rows as stated_rows,
    tighten as tighten,
    tightest as tightest,
)
from evenhand.problem.constraints.within import Within

__all__ = ["Budget", "Constraint", "Floor", "NeverWorse", "Parity", "Ratio", "Within"]
