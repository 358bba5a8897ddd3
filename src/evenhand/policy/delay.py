"""Plays whose outcomes are to come: bonuses count what they will add to the precision; means do not.

While outcomes wait, a bonus of what has arrived would stay as it is, and the candidate that it favours would be played
until they come. A bonus that counts the plays on their way falls with every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models.base import ColumnGain, Gain, Model, Waits, waits
from evenhand.numerics.low_rank import absorb_few
from evenhand.numerics.newton import cholesky, invert
from evenhand.policy.saving import flatten
from evenhand.policy.state import PolicyState, Waiting, WaitingSums

_NOBODY = nullcontext()
_NONE = np.zeros((0, 0))
_SLACK = 1e-6  # by which rounding may change an inverse, or what is left of a sum, as a part of it


@kernel
def _add(gram: Floats, total: Floats, plays: Floats, z: Floats, amount: Floats) -> None:
    """Add plays, or take them away, `(A,n,n),(A,n),(A),(P,n),(P)`; where nothing is left, sums are exactly 0."""
    n, actions = gram.shape[1], len(gram) // len(z)
    lead = z.shape[2] - n
    for r in range(len(z)):
        for p in range(z.shape[1]):
            if amount[r, p] == 0.0:
                continue
            row = r * actions + int(z[r, p, 0]) if lead > 0 else r
            plays[row] += amount[r, p]
            gone = plays[row] <= 0.0
            if gone:
                plays[row] = 0.0
            for i in range(n):
                x = z[r, p, lead + i]
                total[row, i] = 0.0 if gone else total[row, i] + amount[r, p] * x
                for j in range(n):
                    more = amount[r, p] * (x * z[r, p, lead + j])
                    gram[row, i, j] = 0.0 if gone else gram[row, i, j] + more
            for i in range(n):
                x = z[r, p, lead + i]
                if x != 0.0 and gram[row, i, i] < -_SLACK * (x * x):  # of a direction that is newer than the play
                    gram[row, i, :], gram[row, :, i] = 0.0, 0.0


@kernel
def _follow(
    gram: Floats, total: Floats, plays: Floats, z: Floats, amount: Floats, settles: Bools, rows: Ints, last: int
) -> tuple[int, int]:
    """Commit and settle decisions in turn, `(A,n,n),(A,n),(A),(N,P,n),(N,P),(S),(S),()`.

    Returns the row of the decision that stays apart, -1 without one, and whether sums are of anything, -1 as before.
    """
    some = -1
    for s in range(len(rows)):
        j = rows[s]
        if last >= 0 and not (settles[s] and j == last):
            _add(gram, total, plays, z[last : last + 1], amount[last : last + 1])
            some, last = 1, -1
        if not settles[s]:
            last = j
        elif j == last:
            last = -1
        else:
            _add(gram, total, plays, z[j : j + 1], -amount[j : j + 1])
            some = int(plays.any())
    return last, some


@kernel
def _expect(
    inverse: Floats, gram: Floats, plays: Floats, curve: Floats, believed: float, known: Floats, out: Floats
) -> None:
    """Invert V + curve * gram, V given by its inverse, `(A,n,n),(A,n,n),(A),(A),(),(A,2 n^2 + 2)->(A,n,n)`.

    Where V^-1 is 0, V is s / believed I with s the mean square of the plays' features, so that z^T V^-1 z is what is
    believed on their average. `known` has what was inverted last, and rows that are the same are left as they are.
    """
    n = inverse.shape[1]
    matrix, precision, most = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    for row in range(len(inverse)):
        same = known[row, 2 * n * n] == curve[row] and known[row, 2 * n * n + 1] == plays[row]
        for i in range(n):
            for j in range(n):
                at = i * n + j
                same = same and known[row, at] == inverse[row, i, j] and known[row, n * n + at] == gram[row, i, j]
        if same:
            continue
        weight, fresh = curve[row], True
        known[row, 2 * n * n], known[row, 2 * n * n + 1] = weight, plays[row]
        for i in range(n):
            for j in range(n):
                at = i * n + j
                known[row, at], known[row, n * n + at] = inverse[row, i, j], gram[row, i, j]
                out[row, i, j] = matrix[i, j] = inverse[row, i, j]
                fresh = fresh and gram[row, i, j] == 0.0
        if fresh:  # nothing waits
            continue
        if not matrix[0, 0] > 0.0:  # no outcome has come, and there is no penalty yet
            square = 0.0
            for i in range(n):
                square += gram[row, i, i]
            for i in range(n if square > 0.0 else 0):
                matrix[i, i] = believed * plays[row] / square
            if not matrix[0, 0] > 0.0:  # as squares of tiny features underflow, or those of large ones overflow
                continue
        for i in range(n):
            most[i] = (1.0 + _SLACK) * matrix[i, i]
        if not absorb_few(matrix, gram[row], weight, precision):
            cholesky(matrix)
            invert(matrix, precision)
            for i in range(n):
                for j in range(n):
                    precision[i, j] += weight * gram[row, i, j]
            cholesky(precision)
            invert(precision, matrix)
        sound = True
        for i in range(n):  # not where sums of very large features have left more than rounding may
            sound = sound and 0.0 < matrix[i, i] <= most[i]
        for i in range(n if sound else 0):
            for j in range(n):
                out[row, i, j] = matrix[i, j]


class Inverses(NamedTuple):
    """Inverses that count plays whose outcomes are to come, and the arrays that they were made of."""

    known: Floats  # (R A, 2 n^2 + 2)
    inverse: Floats  # (R A, n, n)


class Plays(NamedTuple):
    """The features and plays of a decision, as they are counted."""

    id: Ints  # (3,) its number first
    features: Floats  # (R, P, n)
    plays: Ints  # (R, P)
    counted: Floats  # (R,)


@dataclass(frozen=True, eq=False)
class Delay:
    """Counts the plays of one policy whose outcomes are to come, for the bonuses of its model.

    Equation: the width of a candidate x is that of x^T (V + c W)^-1 x, with V the precision of what has arrived, W the
    sum of x x^T over the plays that wait, and c the curvature of the model at their mean: 1 where it is linear. Where
    nothing waits it is what it would be without. A model that has no penalty before its first outcome says what it
    believes x^T V^-1 x to be until then, b: V is then s / b I, with s the mean of x^T x over the plays that wait, which
    is the penalty from which its first fit starts. The plays are counted at commit; outcomes, whatever they are, an
    expiry and a cancellation take them away.

    Source: Desautels, Krause & Burdick 2014 (GP-BUCB) for linear models; the curvature at a mean is ours, and so is the
    penalty before any data. A model that keeps columns apart adds sums of squares by column to what it knows.
    """

    model: Model
    n_plays: int

    @cached_property
    def counts(self) -> bool:
        """Whether anything is to be counted: nothing is committed or settled otherwise."""
        return self._waits is not None

    def begin(self, state: PolicyState) -> None:
        """Give a new state empty sums."""
        if self._waits is None:
            return
        features, plays, counted = _blank(len(state.t), *self._sizes)
        sums = list[WaitingSums]()
        for gain in self._waits.gains(state.model, features):
            shape = gain.shape if isinstance(gain, ColumnGain) else gain.state.inverse.shape
            total = np.zeros((shape[0], shape[1] if len(shape) > 2 else 0))
            sums.append(WaitingSums(np.zeros(shape), total, np.zeros(shape[0])))
        state.waiting = Waiting(-1, features, plays, counted, sums)

    def commit(self, state: PolicyState, d: Decision | Plays) -> None:
        """Count the plays of a decision that was just numbered; those of the last one stay apart.

        Most outcomes come before the next decision, and then nothing has to be added up.
        """
        w = state.waiting
        if w.number >= 0:
            self._add_last(state)
        w.number, w.features, w.plays, w.counted = d.id.item(0), d.features, d.plays, d.counted

    def settle(self, state: PolicyState, d: Decision | Plays) -> None:
        """Take away the plays of a decision that no longer waits."""
        w = state.waiting
        if w.number >= 0 and w.number == d.id.item(0):
            self._forget(w)
        else:
            self.settle_part(state, d, d.plays)

    def settle_part(self, state: PolicyState, d: Decision | Plays, plays: Ints) -> None:
        """Take away some plays of a decision that no longer wait, `(P)`, -1 at all others."""
        w = state.waiting
        if w.number >= 0:
            self._add_last(state)
        self._add(state, d.features, -amounts(plays, d.counted, d.features))
        w.some = int(any(s.plays.any() for s in w.sums))

    def follow(self, state: PolicyState, each: Plays, settles: Bools, rows: Ints) -> None:
        """Commit decisions and settle others in turn, in a state of one replica, `(N,..),(S),(S)`.

        Args:
            state: of the policy.
            each: the plays of all, `(N)` before the shapes of one replica.
            settles: whether each step settles a decision.
            rows: the decision of each step.
        """
        w, (used, places) = state.waiting, np.unique(rows, return_inverse=True)
        chosen: Any = (z[used] for z in each)
        told, count = Plays(*chosen), len(used)
        pairs: Any = zip(told[1:], (w.features, w.plays, w.counted), strict=True)
        joined: Any = (np.concatenate([z[:, 0], y]) for z, y in pairs)
        own = Plays(np.append(told.id[:, 0], w.number), *joined)
        rows = np.where(own.id[places] == w.number, count, places)
        amount, last, found = amounts(own.plays, own.counted, own.features), -1, []
        for gain, sums in zip(self._gains(state, state.model, own.features), w.sums, strict=True):
            assert isinstance(gain, Gain)  # as compiled code enters decisions, and none that keeps columns apart has it
            z = np.ascontiguousarray(gain.z)
            before = count if w.number >= 0 else -1
            last, some = _follow(sums.gram, sums.total, sums.plays, z, amount, settles, rows, before)
            found.append(some)
        if min(found) >= 0:
            w.some = max(found)
        if last < 0 <= w.number:
            self._forget(w)
        elif 0 <= last < count:
            w.number, w.features, w.plays, w.counted = told.id[last].item(0), *(z[last].copy() for z in told[1:])

    def model_state(self, state: PolicyState) -> Any:
        """Return the state of the model as widths are to read it, which shares all other arrays with that one."""
        last = state.waiting.number >= 0
        if not (last or state.waiting.some):
            return state.model
        with self._read(state, last):
            found = deepcopy(state.model, {id(z): z for _, z in flatten(state.model)})
            for gain in self._gains(state, found):
                gain.swap(gain.swap(_NONE).copy())
        return found

    def read(self, state: PolicyState) -> AbstractContextManager[None]:
        """Let the model's widths count plays whose outcomes are to come, within the block."""
        last = state.waiting.number >= 0
        return self._read(state, last) if last or state.waiting.some else _NOBODY

    def read_at(self, state: PolicyState, d: Decision) -> AbstractContextManager[None]:
        """Do as `read` does, without the plays of a decision that is to be explained, if it is the last one."""
        return self.read_before(state) if d.id[0] == state.waiting.number else self.read(state)

    def read_before(self, state: PolicyState) -> AbstractContextManager[None]:
        """Do as `read` does, without the plays of the last decision, as the plan that is made with it reads widths."""
        return self._read(state, False) if state.waiting.some else _NOBODY

    @contextmanager
    def unread(self, state: PolicyState) -> Iterator[None]:
        """Let the model's widths count arrived outcomes alone, within a block of `read`."""
        own = state.recent.arrived or []
        gains = list(self._gains(state, state.model)) if own else []
        found = [g.swap(z) for g, z in zip(gains, own, strict=True)]
        try:
            yield
        finally:
            for gain, z in zip(gains, found, strict=True):
                gain.swap(z)

    @contextmanager
    def _read(self, state: PolicyState, last: bool) -> Iterator[None]:
        gains, w = list(self._gains(state, state.model)), state.waiting
        amount = amounts(w.plays, w.counted, w.features)
        apart = [(g, s.gram) for g, s in zip(gains, w.sums, strict=True) if isinstance(g, ColumnGain) and last]
        without = [sums.reshape(-1)[g.places] for g, sums in apart]
        for own, sums in apart:  # in their place, as a copy would be of all columns
            own.add(sums, amount)
        state.recent.arrived = [g.swap(z) for g, z in zip(gains, self._inverses(state, gains, last), strict=True)]
        try:
            yield
        finally:
            for gain, z in zip(gains, state.recent.arrived, strict=True):
                gain.swap(z)
            state.recent.arrived = None
            for (own, sums), z in zip(apart, without, strict=True):
                sums.reshape(-1)[own.places] = z

    def _gains(self, state: PolicyState, model: Any, features: Floats | None = None) -> Iterator[Gain | ColumnGain]:
        assert self._waits is not None
        return self._waits.gains(model, state.waiting.features if features is None else features)

    def _inverses(self, state: PolicyState, gains: list[Gain | ColumnGain], last: bool) -> list[Floats]:
        """Return what each estimate is to read in place of its own inverse, or of its own sums by column."""
        found, before, w = list[Inverses](), state.recent.inverses, state.waiting
        amount = amounts(w.plays, w.counted, w.features)
        for i, (gain, sums) in enumerate(zip(gains, w.sums, strict=True)):
            gram, total, plays = sums.gram, sums.total, sums.plays
            if isinstance(gain, ColumnGain):
                found.append(Inverses(total, gram))
                continue
            if last:
                gram, total, plays = gram.copy(), total.copy(), plays.copy()
                _add(gram, total, plays, gain.z, amount)
            shape = gain.state.inverse.shape
            own = before[i] if before is not None and before[i].inverse.shape == shape else None
            if own is None:
                own = Inverses(np.full((shape[0], 2 * shape[1] ** 2 + 2), np.nan), np.empty(shape))
            curve = gain.curvature(total / np.maximum(plays, 1.0)[:, None])
            _expect(gain.state.inverse, gram, plays, curve, gain.believed, *own)
            found.append(own)
        state.recent.inverses = found
        return [own.inverse for own in found]

    def _add_last(self, state: PolicyState) -> None:
        w = state.waiting
        self._add(state, w.features, amounts(w.plays, w.counted, w.features))
        w.some = 1
        self._forget(w)

    def _forget(self, w: Waiting) -> None:
        """Forget the decision that was committed last."""
        w.number, (w.features, w.plays, w.counted) = -1, _blank(len(w.counted), *self._sizes)

    def _add(self, state: PolicyState, features: Floats, amount: Floats) -> None:
        for gain, sums in zip(self._gains(state, state.model, features), state.waiting.sums, strict=True):
            if isinstance(gain, ColumnGain):
                gain.add(sums.gram, amount)
                np.add.at(sums.plays, gain.places[:, :, 0] // sums.gram.shape[1], amount)
            else:
                _add(sums.gram, sums.total, sums.plays, gain.z, amount)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return self.n_plays, self.model.n_features

    @cached_property
    def _waits(self) -> Waits | None:
        return self.model if isinstance(self.model, Waits) and waits(self.model) else None


def amounts(plays: Ints, counted: Floats, features: Floats) -> Floats:
    """1 for every play that counts and teaches something, 0 for all others, `(P),(),(P,n)->(P)`."""
    counts = (plays >= 0) & (counted > 0.0)[..., None] & features.any(-1)
    return counts.astype(float)


@cache
def _blank(replicas: int, plays: int, n: int) -> tuple[Floats, Ints, Floats]:
    """The features, plays and rounds of no decision, `->(P,n),(P),()`."""
    return np.zeros((replicas, plays, n)), np.full((replicas, plays), -1), np.zeros(replicas)
