"""The satisfaction of the arms in a round: a joint measure of all its plays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import one_of, whole
from evenhand.problem.declarations import Declarations
from evenhand.problem.measures import Reading
from evenhand.problem.problem import Problem
from evenhand.welfare._kernels import utility
from evenhand.welfare.curves import Curve, Curves, curves_of, plain


@kernel
def _satisfaction(plays: Ints, y: Floats, column: int, curves: Curves, arms: int) -> Floats:
    """Compute sum_a r_a(sum of the outcomes of the plays of arm a), `(P),(P,M+B)->()`."""
    total, sums = np.zeros(len(plays)), np.empty(arms)
    for r in range(len(plays)):
        sums[:] = 0.0
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                sums[plays[r, p] % arms] += y[r, p, column]
        for a in range(arms):
            total[r] += utility(curves, a, sums[a])
    return total


@named("A7", source="Shibukawa et al. 2026, Section 3.1: satisfaction of the arms")
@dataclass(frozen=True)
class Satisfaction:
    """Measures the satisfaction of the arms with the matches of their users in a round.

    Equation: sum_a r_a(sum of y over the plays of arm a), where candidate = user * arms + arm. At true means, y stands
    for the mean of every play; as r is concave, that is more than the mean of the satisfaction at the outcomes.

    Args:
        curve: r, such as `Capped(5.0)`.
        arms: A.
        of: the outcome to sum; observed, and never negative.
        name: the name of the measure.

    Raises:
        InvalidInput: the name is empty, `worst` is neither "low" nor "high", or the curve is not a function of matches;
            from a `Problem`, the number of actions is not plays x arms, or there is no such outcome.

    >>> from evenhand.problem import Outcome, Problem
    >>> from evenhand.welfare.curves import Capped
    >>> satisfaction = Satisfaction(Capped(1.5), arms=2)
    >>> pairs = tuple(f"user {i} arm {a}" for i in range(3) for a in range(2))
    >>> problem = Problem(actions=pairs, outcomes=(Outcome("match"),), maximize="match", horizon=9, n_plays=3,
    ...                   measures=(satisfaction,))
    >>> satisfaction.on(problem)(np.array([[0, 2, 5]]), np.array([[[1.0], [1.0], [1.0]]]))
    array([2.5])
    """

    curve: Curve
    arms: int
    of: str = "match"
    name: str = "satisfaction"
    worst: Literal["low", "high"] = "low"

    def __post_init__(self) -> None:
        whole("Satisfaction.arms", self.arms, 1)
        one_of("Satisfaction.worst", self.worst, ("low", "high"))
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput("Satisfaction.name", "a text that is not empty", repr(self.name))
        curves_of("Satisfaction.curve", self.curve, self.arms)

    def on(self, problem: Declarations) -> Reading:
        if self.of not in problem.observed:
            expected = f"one of the outcomes {list(problem.observed)} that are observed"
            raise InvalidInput("Satisfaction.of", expected, repr(self.of))
        if len(problem.actions) != problem.n_plays * self.arms:
            expected = f"{len(problem.actions) / problem.n_plays:g}, the number of actions per play"
            raise InvalidInput("Satisfaction.arms", expected, self.arms)
        column = problem.observed.index(self.of)
        least = problem.amount_span[0, column]
        if least < 0:
            expected = f"an outcome that is never negative, as {self.of!r} would be from {least:g} on"
            raise InvalidInput("Satisfaction.of", expected, repr(self.of))
        curves, arms = plain(self.curve.curves(self.arms)), self.arms

        def reading(plays: Ints, outcomes: Floats) -> Floats:
            return _satisfaction(plays, outcomes, column, curves, arms)

        return reading


def satisfaction_of(problem: Problem) -> Satisfaction:
    """Return the satisfaction that a problem measures; recipes for allocations read r and the number of arms from it.

    Raises:
        InvalidInput: the problem measures none, or several.
    """
    found = [m for m in problem.measures if isinstance(m, Satisfaction)]
    if len(found) != 1:
        expected = "one Satisfaction, which states how the returns of every arm diminish"
        raise InvalidInput("Problem.measures", expected, f"{len(found)} in {[m.name for m in problem.measures]}")
    return found[0]
