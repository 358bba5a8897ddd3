"""Rows of constraints in units that suit prices, so that steps and prices suit a problem in any units."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.planning.pace import Pace
from evenhand.problem.constraints import constraint_rows, per_row, stated_rows
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units


def priced_rows(problem: Problem, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
    """State all constraints as rows in units of the most that one play can add to each row, `()->(d)`.

    Steps and prices that suit one problem then suit it in any units. Factors of groups do not count as units.
    """
    return in_units_of_plays(problem, *constraint_rows(problem, margin=margin))


def paced(problem: Problem) -> Pace | None:
    """Return the pace of all rows; None if no row has spans of time."""
    spans = tuple(per_row(problem.stated, lambda s: s.spans))
    return Pace(problem=problem, spans=spans) if any(s is not None for s in spans) else None


def in_units_of_plays(problem: Problem, rows: Rows, bound: Floats) -> tuple[Rows, Floats]:
    """Restate rows and bounds in units of the most that one play can add to each row, `(d)->(d)`."""
    size = sizes(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0))


def balanced_rows(problem: Problem, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
    """State all constraints as rows in units for which one step of dual prices suits all of them, `()->(d)`.

    Equation: row j is divided by c_j (most_j rms_j)^(1/2), with c_j the most that a play can add without factors of
    groups, and most_j and rms_j the largest size and the root mean square of the factor of a play, a play being in a
    group with the probability of its share. Rows of everybody have factors of 1.

    A price of w / (c_j most_j) takes all that a play is worth, w, and a round of P independent plays varies by
    sqrt(P) c_j rms_j. With constant steps eta, a row exceeds its bound by at most price / (eta T) on average, and the
    variation costs eta / 2 times its square per round; eta = price / (variation sqrt(T)) balances the two. In these
    units that is w / sqrt(P T) for all rows.

    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.problem import Floor
    >>> labels = {"item 0": "a", "item 1": "b", "item 2": "b", "item 3": "b"}
    >>> audience = Audience(users=np.eye(4), items=np.eye(4))
    >>> floor = (Floor("exposure", rate=0.2, by="label"),)
    >>> world = Ranking(audience=audience, horizon=100, slots=1, labels=labels, subject_to=floor)
    >>> rows, bound = balanced_rows(world.problem)  # of a quarter of the items, `most` is 4 and `rms` is 2
    >>> (-0.2 / bound).round(3)
    array([2.828, 1.241])

    The sets of `Curved` constraints are left to `region_goals`.
    """
    rows, bound = stated_rows(problem, margin=margin)
    size, (most, rms) = sizes(problem, rows), group_factors(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0) * np.sqrt(most * rms))


def steadied_rows(problem: Problem) -> tuple[Rows, Floats]:
    """State all constraints as rows, tightened by the fluctuation of the last rounds, `()->(d)`.

    Equation: row j of a constraint that is not spent loses 5 sqrt(P) c_j rms_j / T of its bound, at most half of it:
    five standard deviations of a round of P independent plays, with c_j and rms_j as for `balanced_rows`. A sum that
    prices can pull back by one of them per round is x of them too high with a probability of about exp(-2 x). Hard
    limits keep what is spent.

    >>> from evenhand.environments import Matching
    >>> from evenhand.problem import Parity
    >>> world = Matching(groups={"near": 0.5, "far": 0.5}, subject_to=(Parity("match", by="group", tolerance=0.5),))
    >>> steadied_rows(world.problem)[1].round(4)
    array([0.4965, 0.4965, 0.4965, 0.4965])
    """
    rows, bound = constraint_rows(problem)
    spent = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    margin = 5.0 * math.sqrt(problem.n_plays) * sizes(problem, rows) * group_factors(problem, rows)[1] / problem.horizon
    return rows, np.where(spent, bound, bound - np.minimum(margin, 0.5 * np.abs(bound)))


def group_factors(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """Return the maximum and the root mean square of the size of a play's factor in every row, `->(d),(d)`."""
    share = np.append(problem.shares, 1.0)[rows.column]
    alike = np.array([1.0 / len(g.names) for g in problem.groups] + [1.0])[rows.grouping]
    share = np.where(share > 0.0, share, alike)  # where it is estimated
    inside = rows.always + rows.inside / np.where(rows.by_share, share, 1.0)
    most = np.maximum(np.abs(inside), np.abs(rows.always) * (share < 1.0))
    return most, np.sqrt(share * inside**2 + (1.0 - share) * rows.always**2)


def spread(problem: Problem, rows: Rows, bound: Floats) -> Floats:
    """Compute by how much a round moves every row, in the units of the row, `(d)->(d)`.

    Equation: u_j = (P most_j |b_j|)^(1/2) for a row of everybody, most_j being what a play can add and b_j the bound
    per play: outcomes in [0, most] whose average is b have at most the root mean square (most b)^(1/2). Rows by group,
    and rows with a bound of 0 up to rounding, as facets through 0 have, have P^(1/2) times the units of
    `balanced_rows`.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> spread(problem, *constraint_rows(problem)).round(2)
    array([0.67, 0.54])
    """
    size, (most, rms) = sizes(problem, rows), group_factors(problem, rows)
    size, plays = np.where(size > 0.0, size, 1.0), problem.n_plays
    each = np.abs(bound) / plays
    everybody = of_everybody(size, most, each)
    return np.asarray(math.sqrt(plays) * np.where(everybody, np.sqrt(size * each), size * np.sqrt(most * rms)))


def of_everybody(size: Floats, most: Floats, each: Floats) -> Bools:
    """Return whether each row is of everybody and has a bound other than 0, `(d),(d),(d)->(d)`."""
    return np.asarray((most == 1.0) & (each > 1e-12 * size))
