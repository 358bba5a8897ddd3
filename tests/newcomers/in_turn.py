"""A recipe that plays one action after the other."""

from evenhand.choices import Cycle
from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem


@named("Z7", source="a test", use="to compare with", fits="contexts, no contexts, no constraints")
def in_turn(problem: Problem, model: Model, *, name: str | None = None) -> Policy:
    """Play one action after the other; constraints are ignored.

    Guarantee: none.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import NullModel
    >>> in_turn(Court().problem, NullModel(n_features=5)).name
    'in_turn'
    """
    choice = Cycle(n_plays=problem.n_plays)
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=choice, name=name or "in_turn")
