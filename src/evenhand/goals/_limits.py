"""Kernels of hard limits: worst cases of plays, and the amounts used and held back."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.precision import put

# Rows of what was taken: used or held back, held back, and what rounding took from each.
USED, HELD, USED_REST, HELD_REST = 0, 1, 2, 3

# Columns of the packed limits, one line per row. From KNOWN on: the weights of the known outcomes (and of the sizes of
# factors, which are read as such), whether each of these is sure, and the most that other observed outcomes can add
# (one column for all candidates, or one for each).
WAITS, ROUNDING, TOTAL, KNOWN = 0, 1, 2, 3


@inlined
def _add(limits: Floats, a: int, z: Floats, r: int, p: int, used: Floats) -> None:
    """Add the most that candidate a, at place p of replica r, can use of each row, `(d,W),(),(P,L),(),(),(d)`.

    What a known outcome gives back counts only if the outcome is sure.
    """
    n_known = z.shape[2]
    most = KNOWN + 2 * n_known
    if limits.shape[1] > most + 1:
        most += a
    for j in range(len(used)):
        used[j] += limits[j, most]
        for i in range(n_known):
            one = limits[j, KNOWN + i] * z[r, p, i]
            if one > 0.0 or limits[j, KNOWN + n_known + i] != 0.0:
                used[j] += one


@inlined
def _room(limits: Floats, taken: Floats, r: int, j: int) -> float:
    """The allowance of row j for a play, rounding allowed once, `(d,W),(4,d),(),()->()`.

    It is 0 where more than the total was used, so that what is sure to use nothing can be played.
    """
    room: float = limits[j, TOTAL] - taken[USED, r, j] - taken[USED_REST, r, j] + limits[j, ROUNDING]
    return room if room > 0.0 else 0.0


@kernel
def worst(limits: Floats, z: Floats, taken: Floats) -> tuple[Floats, Floats]:
    """The most that each candidate can use of each row, and the allowance left, `(d,W),(A,L),(4,d)->(A,d),(d)`."""
    worst, room = np.zeros((len(z), z.shape[1], len(limits))), np.empty(taken.shape[1:])
    for r in range(len(z)):
        for a in range(z.shape[1]):
            _add(limits, a, z, r, a, worst[r, a])
    for r in range(len(room)):
        for j in range(len(limits)):
            room[r, j] = _room(limits, taken, r, j)
    return worst, room


@inlined
def _use(taken: Floats, r: int, j: int, x: float) -> None:
    """Add x to the amount used, `(4,d),(),(),()`."""
    put(taken[USED], taken[USED_REST], r, j, x)


@inlined
def _keep(taken: Floats, r: int, j: int, x: float) -> None:
    """Add x to the amount held, `(4,d),(),(),()`."""
    put(taken[HELD], taken[HELD_REST], r, j, x)


@inlined
def _add_up(limits: Floats, z: Floats, plays: Ints, r: int, used: Floats) -> None:
    """Fill `used` with the most that the plays of replica r can use together, `(d,W),(P,L),(P),(),(d)`."""
    for j in range(len(used)):
        used[j] = 0.0
    for p in range(plays.shape[1]):
        if plays[r, p] >= 0:
            _add(limits, plays[r, p], z, r, p, used)


@kernel
def fit(limits: Floats, z: Floats, plays: Ints, counted: Floats, taken: Floats) -> Bools:
    """Whether all plays that count fit together, `(d,W),(P,L),(P),(),(4,d)->()`."""
    fits, used = np.ones(len(plays), np.bool_), np.empty(taken.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if used[j] > _room(limits, taken, r, j):
                    fits[r] = False
    return fits


@kernel
def can_enter(limits: Floats, z: Floats, plays: Ints, counted: Floats, taken: Floats, credit: bool) -> bool:
    """Whether all plays that count fit, and none has negative use unless there was such a decision before."""
    used = np.empty(taken.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if used[j] > _room(limits, taken, r, j) or (used[j] < 0.0 and not credit):
                    return False
    return True


@kernel
def hold(limits: Floats, z: Floats, plays: Ints, counted: Floats, taken: Floats) -> bool:
    """Enter the plays' worst case, held back in rows that wait for outcomes; return whether any use is negative."""
    credit, used = False, np.empty(taken.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if used[j] < 0.0:
                    credit = True
                    continue
                _use(taken, r, j, used[j])
                if limits[j, WAITS] != 0.0:
                    _keep(taken, r, j, used[j])
    return credit


@kernel
def settle(limits: Floats, z: Floats, plays: Ints, counted: Floats, v: Floats, taken: Floats) -> None:
    """In rows that wait, release the held amount and enter the use; in others, credit negative use."""
    used = np.empty(taken.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if limits[j, WAITS] != 0.0 and not np.isnan(v[r, j]):
                    back = min(max(used[j], 0.0), taken[HELD, r, j])
                    _keep(taken, r, j, -back)
                    _use(taken, r, j, -back)
                    _use(taken, r, j, v[r, j])
                elif used[j] < 0.0:  # known and sure, or exposed
                    _use(taken, r, j, used[j])


@kernel
def unsettle(limits: Floats, z: Floats, plays: Ints, counted: Floats, v: Floats, taken: Floats) -> None:
    """Undo `settle`, `(d,W),(P,L),(P),(),(d),(4,d)`: hold back the worst case again, and take back the use."""
    used = np.empty(taken.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                if limits[j, WAITS] != 0.0 and not np.isnan(v[r, j]):
                    _use(taken, r, j, -v[r, j])
                    _use(taken, r, j, max(used[j], 0.0))
                    _keep(taken, r, j, max(used[j], 0.0))
                elif used[j] < 0.0:
                    _use(taken, r, j, -used[j])


@kernel
def settle_part(limits: Floats, z: Floats, plays: Ints, waits: Bools, rest: Bools, v: Floats, taken: Floats) -> None:
    """Settle the plays that waited and are not in the rest, as `settle` does a round, `(P,L),(P),(P),(P),(d),(4,d)`.

    With the first part, what the whole decision gives back at least is credited, as it can no longer be cancelled. From
    then on what is used has the sum of what the rest can use, of either sign, and what is held has that sum if it is
    positive.
    """
    d = taken.shape[2]
    before, after, here = np.empty(d), np.empty(d), np.empty(d)
    for r in range(len(plays)):
        first, some = True, False
        before[:] = 0.0
        after[:] = 0.0
        here[:] = 0.0
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            if not waits[r, p]:
                first = False
                continue
            _add(limits, plays[r, p], z, r, p, before)
            if rest[r, p]:
                _add(limits, plays[r, p], z, r, p, after)
            else:
                some = True
                _add(limits, plays[r, p], z, r, p, here)
        if not some:
            continue
        for j in range(d):
            released = max(before[j], 0.0) - max(after[j], 0.0)
            credit = max(-before[j], 0.0) if first else 0.0
            if limits[j, WAITS] != 0.0 and not np.isnan(v[r, j]):
                back = min(released, taken[HELD, r, j])
                _keep(taken, r, j, -back)
                _use(taken, r, j, -(back + (credit + here[j] - released)))
                _use(taken, r, j, v[r, j])
            else:
                _use(taken, r, j, -credit)
                if limits[j, WAITS] != 0.0:
                    _keep(taken, r, j, max(here[j], 0.0) - released)


@kernel
def give_back(limits: Floats, z: Floats, plays: Ints, counted: Floats, taken: Floats) -> None:
    """Undo `hold`, releasing at most the amount held."""
    used = np.empty(taken.shape[2])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(limits, z, plays, r, used)
            for j in range(len(used)):
                back = max(used[j], 0.0)
                if limits[j, WAITS] != 0.0:
                    back = min(back, taken[HELD, r, j])
                    _keep(taken, r, j, -back)
                _use(taken, r, j, -back)
