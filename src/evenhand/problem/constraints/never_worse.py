"""The constraint never to be worse than a baseline by more than a part of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Floats
from evenhand.problem.constraints.base import Credit
from evenhand.problem.constraints.ratio import Ratio
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows


@named("X13", source="after Kazerouni et al. 2017, conservative contextual bandits (CLUCB), arXiv:1611.06426")
@dataclass(frozen=True)
class NeverWorse:
    """The sum of an outcome is never below a part of what a baseline action would have brought, minus a slack.

    Equation: slack + sum alpha b_t over rounds of the baseline + sum (y_t - (1 - alpha) b_t) over other rounds >= 0 at
    any time, where y is the outcome at the worst of what waits, and b_t what the baseline brings on average in the case
    of round t, a known outcome. Any other candidate that could break this is not playable. At the end of a run, and in
    plans, the ratio of the two sums counts, which is kept at 1 - alpha or more.
    Deviation: the source compares means by confidence intervals; here outcomes count as they are observed, so that what
    is promised can be checked. Rounds of the baseline count at their means.

    Args:
        outcome: what is compared, learned, with a finite least value.
        than: the known outcome b, in the same units and never negative; stated for every candidate of a case.
        alpha: the part of the baseline that may be lost, above 0 and below 1.
        slack: what may be lost in addition, in units of the outcome, at least 0.
        action: the baseline; by default the first action.

    Raises:
        InvalidInput: numbers out of range. In a problem: unknown names, a `than` that is not known or may be negative,
            or differs between actions, an outcome that is not learned, has a factor or no finite least value. In a
            case: a `than` that is negative or differs between candidates.

    >>> NeverWorse("sale", than="baseline", alpha=0.05, slack=5).label
    'sale / baseline'
    """

    outcome: str
    _: KW_ONLY
    than: str
    alpha: float
    slack: float = 0.0
    action: str | None = None

    hard = None
    spends = False

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InvalidInput(f"NeverWorse({self.outcome!r}).alpha", "a number above 0 and below 1", self.alpha)
        if not (math.isfinite(self.slack) and self.slack >= 0.0):
            raise InvalidInput(f"NeverWorse({self.outcome!r}).slack", "a finite number of at least 0", self.slack)

    @property
    def worst(self) -> Literal["low", "high"]:
        return "low"

    @property
    def label(self) -> str:
        return self._ratio.label

    def rows(self, problem: Declarations) -> Rows:
        return self._ratio.rows(problem)

    def bound(self, problem: Declarations) -> Floats:
        return self._ratio.bound(problem)

    def limit(self, horizon: int) -> float:
        return self._ratio.limit(horizon)

    def total_over(self, horizon: int) -> float:
        return self._ratio.total_over(horizon)

    def measure(self, run: Sums) -> Floats:
        """The sum of the outcome over that of the baseline so far, both as observed, `->(G,R)`."""
        return self._ratio.measure(run)

    def divisor(self, run: Sums) -> Floats:
        return self._ratio.divisor(run)

    def groups(self, run: Sums) -> Mapping[str, Floats]:
        return self._ratio.groups(run)

    def credit(self, problem: Declarations) -> Credit:
        """Return its limit in a problem: a credit that rounds of the baseline earn, and other rounds use or earn."""
        name = f"NeverWorse({self.outcome!r})"
        if self.outcome not in problem.learned:
            got = f"{self.outcome!r}{suggestion(self.outcome, problem.learned)}"
            raise InvalidInput(name, f"a learned outcome, one of {list(problem.learned)}", got)
        if self.than not in problem.known:
            got = f"{self.than!r}{suggestion(self.than, problem.known)}"
            raise InvalidInput(f"{name}.than", f"a known outcome, one of {list(problem.known)}", got)
        known = problem.declared[:, problem.known.index(self.than)]
        if known.min() < 0.0 or known.min() != known.max():
            expected = "one number of at least 0 for all actions, as it is what the baseline brings in the case"
            raise InvalidInput(f"{name}.than", expected, f"{self.than!r}: {known.tolist()}")
        action = problem.actions[0] if self.action is None else self.action
        if action not in problem.actions:
            got = f"{action!r}{suggestion(action, problem.actions)}"
            raise InvalidInput(f"{name}.action", f"one of {list(problem.actions)}", got)
        place = problem.learned.index(self.outcome)
        least = float(problem.low[place])
        if not math.isfinite(least):
            raise InvalidInput(name, "an outcome with a finite least value", repr(self.outcome))
        if problem.factors is not None and problem.factors.times[place] >= 0:
            raise InvalidInput(name, "an outcome without a factor", repr(self.outcome))
        return Credit(self.outcome, self.than, problem.actions.index(action), self.alpha, self.slack, min(least, 0.0))

    @cached_property
    def _ratio(self) -> Ratio:
        """The demand at the end of a run as a ratio, which is soft, and which plans keep."""
        return Ratio(self.outcome, over=self.than, at_least=1.0 - self.alpha)
