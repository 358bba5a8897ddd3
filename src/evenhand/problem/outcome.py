"""Outcomes: numbers that follow from an action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import typed
from evenhand.core.validate import number


@typed
@dataclass(frozen=True)
class Outcome:
    """A number that results from an action: learned, known from the start, or noisy, that is, random with a known mean.

    A noisy outcome, such as a bill, is priced and planned at its mean, held back at the end of its range, and entered
    into all books as it is observed. No model learns it.

    Args:
        name: how constraints and the objective refer to it.
        low, high: its range, in its own units, before any factor; an outcome that is observed outside it is an error.
            Of a learned or noisy outcome, either end may be a table of those of each action, such as the largest bill
            of each model: every action that is not free is named then. Hard budgets hold back the worst case of the
            action that is played, and what is observed lies in the range of its action. Models, objectives and
            reports have one range, from the least `low` to the greatest `high`.
        known: its value under each action, 0 where an action is not named, or one value for all actions; then nothing
            is learned.
        mean: of a noisy outcome, in place of `known`: its mean under each action, within the range, or one mean for all
            actions that are not free. An action that is not named is free.
        sure: False for a known or noisy outcome that counts only where a play is exposed; what is known is then held
            back at its worst case when a decision is committed, and settled when `learn` says which plays were exposed.
        free: actions under which a learned or noisy outcome is always 0, such as doing nothing: no budget on it ever
            masks them.
        fallback: what enters the books in place of a learned or noisy outcome that never comes, within the range of
            every action that is not free; see `Policy.expire`. Without one it counts as not observed, and its worst
            case stays charged to hard budgets; in a soft one it is 0.
        times: the name of a known outcome, such as a price, that multiplies a learned one. The model learns the outcome
            itself, such as a sale, to which `low`, `high`, `fallback` and everything that `learn` is told refer. Rows,
            objectives, budgets, plans and reports read the product, by the value of the factor in each play: hard
            budgets hold back the worst end of the range times it.

    Raises:
        InvalidInput: an empty range, ends by action of a known outcome, values that are not finite, means or a
            fallback outside the range, free actions where 0 is outside the range or values are known anyway, both known
            values and means, a learned outcome that is not `sure`, as it counts only where a play is exposed, or a
            factor of what is not learned.

    >>> Outcome("voucher", known={"voucher": 1}).is_known
    True
    >>> bill = Outcome("dollars", high=0.24, mean={"small": 0.002, "large": 0.03})
    >>> bill.is_noisy, bill.is_free("human")
    (True, True)
    >>> bill = Outcome("dollars", high={"small": 0.02, "expert": 3.0}, free=("human",))
    >>> bill.ends("small"), bill.ends("human"), bill.widest
    ((0.0, 0.02), (0.0, 0.0), (0.0, 3.0))
    >>> Outcome("sale", times="price").is_learned  # 1 if something is bought; what is summed up is the revenue
    True
    """

    name: str
    low: Mapping[str, float] | float = 0.0
    high: Mapping[str, float] | float = 1.0
    known: Mapping[str, float] | float | None = None
    free: tuple[str, ...] = ()
    sure: bool = True
    mean: Mapping[str, float] | float | None = None
    fallback: float | None = None
    times: str | None = None

    def __post_init__(self) -> None:
        self._check_range()
        if self.is_known and self.is_noisy:
            raise InvalidInput(f"Outcome({self.name!r})", "either `known` or `mean`", "both")
        if isinstance(self.free, str) or (self.free and (self.is_known or not self._holds(0.0))):
            expected = "names of actions, of a learned or noisy outcome whose range has 0"
            raise InvalidInput(f"Outcome({self.name!r}).free", expected, repr(self.free))
        if self.is_learned and not self.sure:
            expected = "True, as a learned outcome always waits for the exposure of its play"
            raise InvalidInput(f"Outcome({self.name!r}).sure", expected, self.sure)
        if self.times is not None and not self.is_learned:
            expected = "None, as only a learned outcome is multiplied: declare the products themselves"
            raise InvalidInput(f"Outcome({self.name!r}).times", expected, repr(self.times))
        self._check_fallback()
        for field, values in (("known", self.known), ("mean", self.mean)):
            where = f"Outcome({self.name!r}).{field}"
            if not isinstance(values, Mapping):
                number(where, 0.0 if values is None else values, "a finite number")
            each = values.items() if isinstance(values, Mapping) else [] if values is None else [("", values)]
            for action, value in each:
                place = f"{where}[{action!r}]" if isinstance(values, Mapping) else where
                if not math.isfinite(value):
                    raise InvalidInput(place, "a finite number", value)
                if field == "mean":
                    self._check_mean(place, action, value)

    def _check_range(self) -> None:
        where = f"Outcome({self.name!r})"
        by_action = [z for z in (self.low, self.high) if isinstance(z, Mapping)]
        if by_action and (self.is_known or not all(by_action)):
            raise InvalidInput(where, "ends by action of a learned or noisy outcome", f"{self.low}, {self.high}")
        low, high = self.widest
        if not low < high:
            raise InvalidInput(where, "low < high", f"low={self.low}, high={self.high}")
        for action in self._actions_with_ranges:
            low, high = self.ends(action)
            if not low <= high:
                raise InvalidInput(f"{where} under {action!r}", "low <= high", f"low={low}, high={high}")

    def _check_mean(self, place: str, action: str, value: float) -> None:
        if action in self.free and value != 0.0:
            raise InvalidInput(place, "0, as the action is free", value)
        if action in self._actions_with_ranges or not self.ranges_by_action:
            ranges = [self.ends(action)]
        else:
            ranges = [] if action else self._ranges_of_paid  # one mean of all actions, or an end that is missing
        for low, high in ranges:
            if not low <= value <= high:
                raise InvalidInput(place, f"a mean in [{low:g}, {high:g}], its range", value)

    def _check_fallback(self) -> None:
        where = f"Outcome({self.name!r}).fallback"
        if self.fallback is None:
            return
        if self.is_known:
            raise InvalidInput(where, "None, as a known outcome cannot fail to arrive", self.fallback)
        number(where, self.fallback, "a finite number")
        for low, high in self._ranges_of_paid:
            if not low <= self.fallback <= high:
                raise InvalidInput(where, f"a number in [{low:g}, {high:g}], its range", self.fallback)

    def _holds(self, value: float) -> bool:
        low, high = self.widest
        return low <= value <= high

    @property
    def _actions_with_ranges(self) -> list[str]:
        """The actions that every table of ends names."""
        tables = [z for z in (self.low, self.high) if isinstance(z, Mapping)]
        return [action for action in tables[0] if action in tables[-1]] if tables else []

    @property
    def _ranges_of_paid(self) -> list[tuple[float, float]]:
        """The ranges of actions that are not free."""
        return [self.ends(a) for a in self._actions_with_ranges if not self.is_free(a)] or [self.widest]

    @property
    def ranges_by_action(self) -> bool:
        """Whether actions have ranges of their own."""
        return isinstance(self.low, Mapping) or isinstance(self.high, Mapping)

    @property
    def widest(self) -> tuple[float, float]:
        """The least and the greatest end of the outcome's range under any action."""
        low = min(self.low.values()) if isinstance(self.low, Mapping) else self.low
        return low, max(self.high.values()) if isinstance(self.high, Mapping) else self.high

    def ends(self, action: str) -> tuple[float, float]:
        """The outcome's range under an action; 0 to 0 where it is free."""
        if self.is_free(action):
            return 0.0, 0.0
        low = self.low[action] if isinstance(self.low, Mapping) else self.low
        return low, self.high[action] if isinstance(self.high, Mapping) else self.high

    @property
    def is_known(self) -> bool:
        """Whether the outcome's values are declared."""
        return self.known is not None

    @property
    def is_noisy(self) -> bool:
        """Whether its means are declared, and its values observed."""
        return self.mean is not None

    @property
    def is_learned(self) -> bool:
        """Whether nothing is declared, so that a model has to learn it."""
        return not (self.is_known or self.is_noisy)

    def is_free(self, action: str) -> bool:
        """Whether it is always 0 under an action, although it is learned or noisy."""
        return action in self.free or (isinstance(self.mean, Mapping) and action not in self.mean)

    def declared(self, actions: tuple[str, ...]) -> list[float]:
        """The known value or mean of each action; 0 where it is learned."""
        values = self.mean if self.is_noisy else self.known
        if isinstance(values, Mapping):
            return [float(values.get(a, 0.0)) for a in actions]
        return [0.0 if self.is_free(a) else float(values or 0.0) for a in actions]
