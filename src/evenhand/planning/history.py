"""A bounded sample of the contexts so far, on which goals plan.

A round is one case, or several with as many candidates each; it is cases that are kept. A repeated context only adds
weight. While there is room for all different contexts, every case is in the sample, so that finite sets of contexts are
kept exactly. Whenever there is no room, every other sampled case is dropped, whatever its context, and from then on
only every second, fourth, ... case is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context
from evenhand.core.types import Bools, Floats, Ints

_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, whatever regular part of them is taken
_FIRST = 16  # initial room for contexts; it doubles up to its bound
_OF_CASES = ("weight", "key", "features", "known", "groups", "offered")


@dataclass
class HistoryState:
    """The sample; S and A grow as needed."""

    met: Ints  # (R,) cases so far
    stride: Ints  # (R,) one case in so many is sampled
    kept: Ints  # (R,) number of contexts kept
    weight: Floats  # (R, S) sampled cases with each context
    key: Floats  # (R, S) equal for equal features
    features: Floats  # (R, S, A, n)
    known: Floats  # (R, S, A, L)
    groups: Ints  # (R, S, 1 or A, G)
    offered: Bools  # (R, S, A)

    def forget(self, context: Context, plays: Ints) -> None:
        """Remove the cases of a round from the sample of one replica, and the traces of dropped cases in its arrays.

        Where equal cases came several times, one of them is taken out, which need not be the one that was sampled.
        """
        actions = self.features.shape[2]
        if actions == 0:  # there was no case
            return
        cases = max(context.features.shape[1] // actions, 1)
        x, known, offered = (
            _of_cases(z, cases, actions)[0] for z in (context.features, context.known, context.offered)
        )
        groups = context.groups[:1] if self.groups.shape[2] == 1 else _of_cases(context.groups, cases, actions)[0]
        for c in range(cases):
            equal = np.flatnonzero(self.key[0, : self.kept[0]] == _mark(x[c]))
            here = x[c], known[c], groups[c if len(groups) > 1 else 0], offered[c]
            there = self.features[0], self.known[0], self.groups[0], self.offered[0]
            same = [
                s for s in equal if _same(*here, *(z[s] for z in there))
            ]  # actions may be offered that were not then
            for s in [*same, *equal][:1]:
                self._drop(int(s))
        for name in _OF_CASES:  # contexts that were dropped for lack of room
            getattr(self, name)[0, self.kept[0] :] = 0
        if self.kept[0] == 0:  # as at the start: the next case is sampled
            self.met[0], self.stride[0] = 0, 1

    def _drop(self, s: int) -> None:
        """Take a sampled case out, and its context if no other case has it."""
        self.weight[0, s] -= 1.0
        if self.weight[0, s] <= 0.0:
            self.kept[0] -= 1
            for name in _OF_CASES:
                z, kept = getattr(self, name)[0], int(self.kept[0])
                z[s:kept] = z[s + 1 : kept + 1].copy()


def start(n_replicas: int) -> HistoryState:
    """Return a history without contexts."""
    count = np.zeros(n_replicas, np.int64)
    return HistoryState(
        met=count,
        stride=np.ones(n_replicas, np.int64),
        kept=count.copy(),
        weight=np.zeros((n_replicas, 0)),
        key=np.zeros((n_replicas, 0)),
        features=np.zeros((n_replicas, 0, 0, 0)),
        known=np.zeros((n_replicas, 0, 0, 0)),
        groups=np.zeros((n_replicas, 0, 0, 0), np.int64),
        offered=np.zeros((n_replicas, 0, 0), bool),
    )


def keep(state: HistoryState, context: Context, rounds: Floats, room: int, cases: int = 1) -> None:
    """Enter the contexts of decided rounds, and keep at most `room`; missing candidates are not offered.

    The candidates of a round are those of all its cases, one case after the other.
    """
    used, actions = int(np.maximum.reduce(state.kept)), max(context.features.shape[1] // cases, state.features.shape[2])
    full = used + cases > state.weight.shape[1]
    if (full and state.weight.shape[1] < room) or actions > state.features.shape[2]:
        size = min(room, max(2 * used, used + cases, _FIRST)) if full else state.weight.shape[1]
        _grow(state, context, size, actions)
    x, known, offered = (_of_cases(z, cases, actions) for z in (context.features, context.known, context.offered))
    groups = context.groups[:, None] if state.groups.shape[2] == 1 else _of_cases(context.groups, cases, actions)
    _keep(rounds, room, cases, x, known, groups, offered, *_arrays(state))


def _of_cases(z: Any, cases: int, actions: int) -> Any:
    """Return the candidates of every case, `(C*A,...)->(C,actions,...)`."""
    each = z[:, None] if cases == 1 else z.reshape(len(z), cases, z.shape[1] // cases, *z.shape[2:])
    return _pad(each, 2, actions)


def _pad(z: Any, axis: int, size: int) -> Any:
    missing = size - z.shape[axis]
    return z if missing == 0 else np.pad(z, [(0, missing if i == axis else 0) for i in range(z.ndim)])


def _arrays(s: HistoryState) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats, Ints, Bools]:
    return s.met, s.stride, s.kept, s.weight, s.key, s.features, s.known, s.groups, s.offered


def _grow(state: HistoryState, context: Context, size: int, actions: int) -> None:
    count, n, k, g = len(state.kept), context.features.shape[2], context.known.shape[2], context.groups.shape[2]
    if state.features.shape[1] == 0:
        state.features, state.known = np.zeros((count, 0, actions, n)), np.zeros((count, 0, actions, k))
        each = 1 if context.groups.shape[1] == 1 else actions
        state.groups, state.offered = np.zeros((count, 0, each, g), np.int64), np.zeros((count, 0, actions), bool)
    wide = ("features", "known", "offered", "groups") if state.groups.shape[2] > 1 else ("features", "known", "offered")
    for name in wide:
        setattr(state, name, _pad(getattr(state, name), 2, actions))
    for name in _OF_CASES:
        setattr(state, name, _pad(getattr(state, name), 1, size))


@kernel
def _mark(x: Floats) -> float:
    """A weighted sum that serves as a hash: it rarely agrees for different features."""
    total, weight = 0.0, 1.0
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            weight = (weight * 0.7548776662466927) % 1.0 + 0.5698402909980532
            total += weight * x[a, i]
    return total


def mark(state: HistoryState) -> None:
    """Recompute the keys of the kept contexts after their features were changed."""
    for r, kept in enumerate(state.kept):
        state.key[r, :kept] = [_mark(x) for x in state.features[r, :kept]]


@kernel
def _same(
    x: Floats, known: Floats, groups: Ints, offered: Bools, x2: Floats, known2: Floats, groups2: Ints, offered2: Bools
) -> bool:
    for a in range(groups.shape[0]):
        for g in range(groups.shape[1]):
            if groups[a, g] != groups2[a, g]:
                return False
    for a in range(x.shape[0]):
        if offered[a] != offered2[a]:
            return False
        for i in range(x.shape[1]):
            if x[a, i] != x2[a, i]:
                return False
        for i in range(known.shape[1]):
            if known[a, i] != known2[a, i]:
                return False
    return True


@kernel
def _copy(new: Floats | Ints, to: Floats | Ints) -> None:
    """Copy a matrix; an assignment of slices would also compile Numba's message about shapes."""
    for a in range(to.shape[0]):
        for i in range(to.shape[1]):
            to[a, i] = new[a, i]


class HistoryView(NamedTuple):
    """The sample as kernels see it, for rounds of one case; Python makes room in it."""

    room: int
    met: Ints
    stride: Ints
    kept: Ints
    weight: Floats
    key: Floats
    features: Floats
    known: Floats
    groups: Ints
    offered: Bools


@kernel
def _keep(
    rounds: Floats,
    room: int,
    cases: int,
    x: Floats,
    known: Floats,
    groups: Ints,
    offered: Bools,
    met: Ints,
    stride: Ints,
    kept: Ints,
    weight: Floats,
    key: Floats,
    store_x: Floats,
    store_known: Floats,
    store_groups: Ints,
    store_offered: Bools,
) -> None:
    store = HistoryView(room, met, stride, kept, weight, key, store_x, store_known, store_groups, store_offered)
    _enter(rounds, cases, (x, known, groups, offered), store)


@kernel
def _enter(rounds: Floats, cases: int, contexts: tuple[Floats, Floats, Ints, Bools], store: HistoryView) -> None:
    """Enter the contexts of decided rounds where there is room for one of more cases."""
    x, known, groups, offered = contexts
    room, met, stride, kept, weight, key, store_x, store_known, store_groups, store_offered = store
    for r in range(len(rounds)):
        if rounds[r] == 0.0:
            continue
        first = int((met[r] // cases) * _GOLDEN % 1.0 * cases)  # so that a sample has cases of all positions in rounds
        for j in range(cases):
            met[r] += 1
            if (met[r] - 1) % stride[r] != 0:
                continue
            c = (first + j) % cases
            here = x[r, c]
            z = known[r if len(known) > 1 else 0, c]
            may = offered[r if len(offered) > 1 else 0, c]
            of = groups[r, c if groups.shape[1] > 1 else 0]
            mark, found = _mark(here), False
            for s in range(kept[r]):
                if key[r, s] == mark and _same(
                    here, z, of, may, store_x[r, s], store_known[r, s], store_groups[r, s], store_offered[r, s]
                ):
                    weight[r, s] += 1.0
                    found = True
                    break
            if found:
                continue
            while kept[r] >= room:  # it is less where actions were appended
                before, left = 0, 0
                for s in range(kept[r]):
                    count = int(weight[r, s])
                    stays = (before + count + 1) // 2 - (before + 1) // 2  # keep every other case, in order
                    before += count
                    if stays > 0:
                        key[r, left] = key[r, s]
                        weight[r, left] = stays
                        _copy(store_x[r, s], store_x[r, left])
                        _copy(store_known[r, s], store_known[r, left])
                        _copy(store_groups[r, s], store_groups[r, left])
                        for a in range(store_offered.shape[2]):
                            store_offered[r, left, a] = store_offered[r, s, a]
                        left += 1
                kept[r] = left
                stride[r] *= 2
            if (met[r] - 1) % stride[r] == 0:
                s = kept[r]
                key[r, s] = mark
                weight[r, s] = 1.0
                _copy(here, store_x[r, s])
                _copy(z, store_known[r, s])
                _copy(of, store_groups[r, s])
                for a in range(len(may)):
                    store_offered[r, s, a] = may[a]
                kept[r] += 1


def view(state: HistoryState, room: int) -> HistoryView:
    """Return the kernels' view of a sample of one case per round."""
    return HistoryView(room, *_arrays(state))


@kernel
def grows(s: HistoryView, c: Context) -> bool:
    """Whether Python has to make room for a context."""
    used = 0
    for r in range(len(s.kept)):
        used = max(used, s.kept[r])
    full = used + 1 > s.weight.shape[1]
    return bool((full and s.weight.shape[1] < s.room) or c.features.shape[1] != s.features.shape[2])


@kernel
def keep_one(s: HistoryView, c: Context, rounds: Floats) -> None:
    """Enter the contexts of decided rounds where there is room, as `keep` does."""
    f, z, g, may = c.features, c.known, c.groups, c.offered
    x = f.reshape((f.shape[0], 1, f.shape[1], f.shape[2]))
    known = z.reshape((z.shape[0], 1, z.shape[1], z.shape[2]))
    groups = g.reshape((g.shape[0], 1, g.shape[1], g.shape[2]))
    offered = may.reshape((may.shape[0], 1, may.shape[1]))
    _enter(rounds, 1, (x, known, groups, offered), s)
