"""Models of an outcome by action that have not seen one fold, or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, cast

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.offline.outcome_models import BySums, Regressor, by_sums, finite, predicted
from evenhand.offline.sums import Sums


class FoldModels(Protocol):
    """Models of an outcome, each without some folds."""

    def of(self, fold: int, other: int | None = None) -> Floats:
        """Predict the rows of a fold by models without it, and without another one if it is named, `->(N_k,A')`.

        Where an action has fewer than two rows in the folds that are left, its predictions are 0 if two are left out.

        Raises:
            InvalidInput: there are fewer than two rows without one fold; or a model predicts no finite numbers.
        """


class Asked(NamedTuple):
    """The data that models are fitted to, and the outcomes."""

    x: Floats  # (N,n) features, of which the first is 1
    actions: Ints  # (N,) those that were logged
    y: Floats  # (N,) their outcomes
    members: Sequence[Ints]  # the rows of each fold
    model: Callable[[], Regressor]  # makes a model that is not fitted yet
    only: Ints  # (A',) the actions to predict


def fold_models(asked: Asked) -> FoldModels:
    """Return the models of an outcome, by sums over folds where these are enough; see `by_sums`."""
    return _BySums(asked) if by_sums(asked.model()) else _ByRows(asked)


class _ByRows:
    """Models that are fitted to rows; a pair of folds is predicted at once, and kept."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._found = dict[tuple[int, int], Floats]()

    def of(self, fold: int, other: int | None = None) -> Floats:
        if other is None:
            return self._without([fold])[0]
        if (fold, other) not in self._found:
            pair = self._without([fold, other])
            self._found[fold, other], self._found[other, fold] = pair
        return self._found[fold, other]

    def _without(self, folds: list[int]) -> list[Floats]:
        x, actions, y, members, model, only = self._asked
        out = np.concatenate([members[k] for k in folds])
        kept, cases, found = np.ones(len(y), bool), x[out], np.zeros((len(out), len(only)))
        kept[out] = False
        for i, a in enumerate(only.tolist()):
            seen = kept & (actions == a)
            rows = int(np.count_nonzero(seen))
            if _enough(rows, a, len(folds)):
                found[:, i] = predicted(model, x[seen], y[seen], cases)
        return np.split(found, [len(members[folds[0]])])[: len(folds)]


class _BySums:
    """Linear models that are fitted to sums over folds: every row is read once for all of them."""

    def __init__(self, asked: Asked) -> None:
        self._asked, self._model = asked, cast("Callable[[], BySums]", asked.model)
        self._known, self._last = dict[tuple[int, frozenset[int]], Floats](), (-1, asked.x[:0])

    def of(self, fold: int, other: int | None = None) -> Floats:
        out = frozenset([fold] if other is None else [fold, other])
        each = [self._coefficients(a, out) for a in self._asked.only.tolist()]
        cases = self._cases(fold)
        found = np.zeros((len(cases), len(each)))
        if each:
            _linear(cases, np.ascontiguousarray(np.stack(each, 1)), found)
        return finite(found, len(cases))

    def _cases(self, fold: int) -> Floats:
        """The features of a fold, of which the last ones are kept."""
        if self._last[0] != fold:
            self._last = fold, self._asked.x[self._asked.members[fold]]
        return self._last[1]

    @cached_property
    def _sums(self) -> list[dict[int, Sums]]:
        """By fold and action that was played there."""
        _, actions, outcome, members, _, only = self._asked
        found = []
        for k, rows in enumerate(members):
            x, y, played = self._cases(k), outcome[rows], actions[rows]
            each = ((a, played == a) for a in only.tolist())
            found.append({a: Sums.of(x[mine], y[mine]) for a, mine in each if mine.any()})
        return found

    def _coefficients(self, action: int, out: frozenset[int]) -> Floats:
        if (action, out) not in self._known:
            parts = [each[action] for k, each in enumerate(self._sums) if k not in out and action in each]
            found = np.zeros(self._asked.x.shape[1])
            if _enough(sum(part.rows for part in parts), action, len(out)):
                found = self._model().fit_sums(Sums.together(parts))
            self._known[action, out] = found
        return self._known[action, out]


def _enough(rows: int, action: int, out: int) -> bool:
    """Whether a model can be fitted; it has to be where only one fold is left out."""
    if rows < 2 and out == 1:
        expected = "at least two rows of every action outside each fold"
        raise InvalidInput("actions", expected, f"{rows} of action {action}")
    return rows >= 2


@kernel
def _linear(x: Floats, coefficients: Floats, out: Floats) -> None:
    """Add `x @ coefficients`, `(N,n),(n,C)->(N,C)`; rows that are alike get the same bits wherever they are."""
    for i in range(len(x)):
        for f in range(len(coefficients)):
            for c in range(coefficients.shape[1]):
                out[i, c] += x[i, f] * coefficients[f, c]
