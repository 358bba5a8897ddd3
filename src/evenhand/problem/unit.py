"""The unit of decisions: whom cases are about, what each gets at most, and for how long it keeps an action."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.core.validate import number
from evenhand.problem.declarations import Declarations

_MOST_DAYS = 36_525  # a century: logs have times of 64 bits


@dataclass(frozen=True)
class Cap:
    """The most of a known outcome that one unit may get within a window of time.

    Equation: sum of the outcome over the unit's decisions at times in (t - within, t] <= at_most, at every time t.

    Args:
        outcome: known for certain, at least 0, such as 1 for every letter.
        at_most: in units of the outcome, above 0.
        within: the length of the window in units of the clock: days where the problem has dates, rounds elsewhere.

    Raises:
        InvalidInput: an amount or a length that is not a finite number above 0.

    >>> Cap("letter", at_most=3, within=7)
    Cap(outcome='letter', at_most=3, within=7)
    """

    outcome: str
    _: KW_ONLY
    at_most: float
    within: float

    def __post_init__(self) -> None:
        for name in ("at_most", "within"):
            number(f"Cap({self.outcome!r}).{name}", getattr(self, name), "a finite number above 0", _above_zero)


@dataclass(frozen=True)
class Unit:
    """Whom cases are about, such as a customer: the name under which cases state it, caps, and how long actions stick.

    A state remembers the decisions of the longest window, and no others.

    Args:
        name: under which a case states its unit: a text or a whole number, which counts as its text.
        caps: what one unit gets at most; they are hard, and an action that would exceed one is not offered.
        sticky: for how long a unit keeps the action that it got, from its first decision on, while it may be played,
            in units of the clock; None for a new choice at every decision. The probability of a kept action is that of
            the draw that it comes from.
        attribution: for how many days the outcomes of a decision add up in a campaign, from events that name the unit:
            see `Campaign.observe_unit`; None where outcomes name the decision, once.

    Raises:
        InvalidInput: a length that is not a finite number above 0, an attribution of more than a century, or none of
            caps, sticky and attribution.

    >>> Unit("customer", caps=[Cap("letter", at_most=3, within=7)], sticky=14).window
    14
    """

    name: str
    _: KW_ONLY
    caps: tuple[Cap, ...] = ()
    sticky: float | None = None
    attribution: float | None = field(default=None, metadata={"new": True})

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput("Unit.name", "the name under which cases state their unit", value_text(self.name))
        if isinstance(self.caps, str) or not isinstance(self.caps, Iterable):
            raise InvalidInput("Unit.caps", "a sequence of `Cap`", value_text(self.caps))
        object.__setattr__(self, "caps", tuple(self.caps))
        for cap in self.caps:
            if not isinstance(cap, Cap):
                raise InvalidInput("Unit.caps", "a sequence of `Cap`", value_text(cap))
        if self.sticky is not None:
            number("Unit.sticky", self.sticky, "a finite number above 0", _above_zero)
        if self.attribution is not None:
            expected = f"a number of days above 0, at most {_MOST_DAYS:,}"
            number("Unit.attribution", self.attribution, expected, lambda days: 0.0 < days <= _MOST_DAYS)
        if not self.caps and self.sticky is None and self.attribution is None:
            raise InvalidInput(
                "Unit.caps", "at least one cap, where neither sticky= nor attribution= is stated", "none"
            )

    @property
    def window(self) -> float:
        """The longest window of time that is remembered."""
        return max([cap.within for cap in self.caps] + ([] if self.sticky is None else [self.sticky]), default=0.0)

    @property
    def memory(self) -> tuple[object, ...]:
        """What a state remembers of units: two problems with the same can follow each other."""
        return self.name, tuple((cap.outcome, cap.within) for cap in self.caps), self.sticky is not None

    @property
    def text(self) -> str:
        """The statement in words.

        >>> Unit("customer", caps=[Cap("letter", at_most=3, within=7)], sticky=14).text
        'customer: letter at most 3 within 7, keeps its action for 14'
        """
        caps = [f"{cap.outcome} at most {cap.at_most:g} within {cap.within:g}" for cap in self.caps]
        kept = [] if self.sticky is None else [f"keeps its action for {self.sticky:g}"]
        sums = [] if self.attribution is None else [f"outcomes add up for {self.attribution:g} days"]
        return f"{self.name}: {', '.join([*caps, *kept, *sums])}"

    def check(self, problem: Declarations, features: Collection[str]) -> None:
        """Refuse a unit that does not fit a problem.

        Raises:
            InvalidInput: a cap on an outcome that is unknown, learned, noisy or may depend on exposure; several plays
                per round; a name that a feature has; or a window of attribution without dates, or of an outcome that
                cannot be 0.
        """
        if problem.n_plays > 1:
            raise InvalidInput("n_plays", "1 where unit= is stated", problem.n_plays)
        if self.name in {*features, *(g.name for g in problem.groups)}:
            raise InvalidInput("Unit.name", "a name that no feature and no grouping has", self.name)
        if self.attribution is not None:
            if problem.clock.since is None:
                raise InvalidInput("Unit.attribution", "a problem with dates (since=, until=)", "one without")
            low, high = problem.span_by_action
            for name, wrong in zip(problem.observed, ((low > 0.0) | (high < 0.0)).any(0), strict=True):
                if wrong:
                    raise InvalidInput("Unit.attribution", "outcomes whose ranges have 0", f"{name!r}, whose has not")
        for cap in self.caps:
            if cap.outcome not in problem.names:
                got = f"{cap.outcome}{suggestion(cap.outcome, problem.names)}"
                raise InvalidInput("Cap.outcome", f"one of the outcomes {list(problem.names)}", got)
            place = problem.names.index(cap.outcome) - len(problem.learned)
            if place < 0 or problem.is_noisy[place] or not problem.sure[place]:
                raise InvalidInput("Cap.outcome", "an outcome that is known for certain", cap.outcome)


def unit_number(name: str, value: object) -> int:
    """Return the number of a unit, a hash of its text.

    Raises:
        InvalidInput: neither a text nor a whole number.

    >>> unit_number("customer", 7) == unit_number("customer", "7")
    True
    """
    kind = type(value)
    if (kind is str and value) or kind is int or issubclass(kind, np.integer):
        with suppress(ValueError):  # of half a character, or of thousands of digits
            digest = hashlib.blake2b(str(value).encode(), digest_size=8).digest()
            return int.from_bytes(digest, "little", signed=True)
    raise InvalidInput(name, "a text or a whole number, whom the case is about", value_text(value))


def _above_zero(x: float) -> bool:
    return 0.0 < x < math.inf
