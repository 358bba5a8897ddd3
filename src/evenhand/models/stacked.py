"""Models side by side: each predicts its own outcomes from its own features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.core.views import pointers, view_of
from evenhand.models.base import (
    ROUND,
    ColumnGain,
    Gain,
    Lesson,
    Model,
    Note,
    Waits,
    Worth,
    by_action,
    fades,
    notes,
    waits,
    weighs,
)
from evenhand.models.tabular import NullView

Columns = TypeVar("Columns", bound=np.ndarray[Any, Any])


@dataclass
class StackedState:
    """The states of the parts."""

    parts: list[Any]


@pointers("others", "model")
class _StackedView(NamedTuple):
    """A part after others, with the first and the last of its columns."""

    others: Any
    model: Any
    features: tuple[int, int]
    outcomes: tuple[int, int]

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        mean, bonus = self.others.part.value(x, w)
        (i, j), (first, last) = self.features, self.outcomes
        said, more = self.model.part.value(x[:, :, i:j].copy(), w[:, :, :, first:last].copy())
        for r in range(len(mean)):
            for k in range(mean.shape[1]):
                for a in range(mean.shape[2]):
                    mean[r, k, a] += said[r, k, a]
                    bonus[r, k, a] += more[r, k, a]
        return mean, bonus

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        self.others.part.update(x, y, seen, w)
        (i, j), (first, last) = self.features, self.outcomes
        told = y[:, :, first:last].copy(), seen[:, :, first:last].copy(), w[:, :, :, first:last].copy()
        self.model.part.update(x[:, :, i:j].copy(), told[0], told[1], told[2])

    @kernel
    def grows(self, d: Decision) -> bool:
        return bool(self.others.part.grows(d) or self.model.part.grows(d))

    @kernel
    def pauses(self, t: Floats, candidates: int) -> bool:
        return bool(self.others.part.pauses(t, candidates) or self.model.part.pauses(t, candidates))


class _Part(NamedTuple):
    """A model and the columns that belong to it."""

    model: Model
    features: slice
    outcomes: slice


@named(
    "B10",
    source="Agrawal & Devanur 2014, Section 4.1.1 and Appendix B.2: every outcome is linear in features of its own",
)
@dataclass(frozen=True)
class Stacked:
    """Several models, whose outcomes are concatenated in their order.

    Equation: value = sum over parts of their values at their own prices; bonuses add up likewise. Each part has its own
    luck. Each part is told which of *its own* outcomes were seen: if only some outcomes of a play were seen, only the
    parts that predict these learn from it.

    With `Ridge` of one outcome as every part and `shared=False`, outcome j is b_ja . w_j with features b_ja per outcome
    and arm, as in the source, whose interval of radius r, r^2 = n, has `Fixed(sqrt(n))` as its width, in units of the
    outcome's range; self-normalised widths hold with a stated probability. Every recipe without contexts takes it, at
    intervals clipped to the range: the source puts the ellipsoids into its program, which is then not concave.

    Args:
        parts: the models, in the order of the outcomes they predict.
        shared: whether all parts read the same features; otherwise each reads its own, one block after the other.

    Raises:
        InvalidInput: no parts, or parts with unequal numbers of features that are to share them.

    >>> from evenhand.models.ridge import Ridge
    >>> Stacked((Ridge(n_features=3), Ridge(n_features=3, n_outcomes=2))).n_outcomes
    3
    """

    parts: tuple[Model, ...]
    shared: bool = True

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidInput("Stacked.parts", "at least one model", self.parts)
        if self.shared and len({p.n_features for p in self.parts}) > 1:
            raise InvalidInput("Stacked.parts", "equal numbers of features", [p.n_features for p in self.parts])

    @property
    def n_features(self) -> int:
        return self.parts[0].n_features if self.shared else sum(p.n_features for p in self.parts)

    @property
    def n_outcomes(self) -> int:
        return sum(p.n_outcomes for p in self.parts)

    @property
    def by_action(self) -> int | None:
        """The number of actions with coefficients of their own in a part."""
        return next((a for a in map(by_action, self.parts) if a is not None), None)

    @property
    def weighs(self) -> bool:
        return all(map(weighs, self.parts))

    @property
    def fades(self) -> bool:
        return all(map(fades, self.parts))

    def fade(self, state: StackedState, keep: Floats, ahead: Floats) -> None:
        """Let every part fade, `(),()->`."""
        parts: tuple[Any, ...] = self.parts
        for part, s in zip(parts, state.parts, strict=True):
            part.fade(s, keep, ahead)

    @property
    def waits(self) -> bool:
        """Whether any part can; the others are certain meanwhile."""
        return any(map(waits, self.parts))

    def gains(self, state: StackedState, x: Floats) -> Iterator[Gain | ColumnGain]:
        """Yield what plays will add to each part that can wait, `(P,n)->`."""
        for p, s in zip(self._cut, state.parts, strict=True):
            if isinstance(p.model, Waits) and waits(p.model):
                yield from p.model.gains(s, _block(x, p.features))

    def notes(self, state: StackedState, replica: int) -> tuple[Note, ...]:
        """Return the notes of all parts, in their order, each once."""
        parts = zip(self.parts, state.parts, strict=True)
        return tuple(dict.fromkeys(n for p, s in parts for n in notes(p, s, replica)))

    def draws(self, candidates: int) -> int:
        return sum(p.draws(candidates) for p in self.parts)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> StackedState:
        return StackedState([p.model.start(n_replicas, low[p.outcomes], high[p.outcomes], horizon) for p in self._cut])

    def value(self, state: StackedState, x: Floats, w: Floats, u: Floats) -> Worth:
        mean = np.zeros((len(x), w.shape[1], x.shape[1]))
        bonus, random, luck = np.zeros(mean.shape), False, 0
        for p, s in zip(self._cut, state.parts, strict=True):
            draws = p.model.draws(x.shape[1]) if u.shape[1] else 0
            own = _block(u, slice(luck, luck + draws))
            worth = p.model.value(s, _block(x, p.features), _block(w, p.outcomes), own)
            mean += worth.mean
            bonus += worth.bonus
            random, luck = random or worth.random, luck + draws
        return Worth(mean, bonus, random)

    def update(self, state: StackedState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Pass every part its own features and outcomes, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        for p, s in zip(self._cut, state.parts, strict=True):
            own = p.outcomes
            p.model.update(s, _block(x, p.features), _block(y, own), _block(seen, own), _block(w, own), lesson)

    def view(self, state: StackedState) -> Any:
        found: Any = NullView(0)  # before the first part
        for (model, x, y), own in zip(self._cut, state.parts, strict=True):
            part = view_of(model, own)
            if part is None:
                return None
            found = _StackedView(found, part, (x.start, x.stop), (y.start, y.stop))
        return found

    @cached_property
    def _cut(self) -> list[_Part]:
        cut, i, j = list[_Part](), 0, 0
        for p in self.parts:
            cut.append(_Part(p, slice(i, i + p.n_features), slice(j, j + p.n_outcomes)))
            i, j = (i if self.shared else i + p.n_features), j + p.n_outcomes
        return cut


def _block(z: Columns, columns: slice) -> Columns:
    return np.ascontiguousarray(z[..., columns])  # type: ignore[return-value]
