"""Kernels shared by several choices: checks of limits, and draws without replacement.

They take the arrays of an offer separately, because passing a record takes as long as a draw.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.records import Decision, Worth
from evenhand.core.types import Bools, Floats, Ints

TIE = 1e-9  # worths tie if they differ by no more than this part of the best
NOWHERE = -1  # to kernels, the place of a candidate that there is not


def check_candidates(name: str, candidates: int, worth: Worth) -> None:
    """Refuse a round whose number of candidates differs from the one that a choice keeps counts of."""
    if worth.mean.shape[2] != candidates:
        raise InvalidInput(f"{name}.candidates", f"as many as the round has, {worth.mean.shape[2]}", candidates)


def place_of(name: str, nothing: int | None, worth: Worth) -> int:
    """Return the index of the candidate that does nothing, `NOWHERE` for None; refuse an index out of range."""
    if nothing is None:
        return NOWHERE
    if not 0 <= nothing < worth.mean.shape[2]:
        raise InvalidInput(f"{name}.nothing", f"a candidate from 0 to {worth.mean.shape[2] - 1}, or None", nothing)
    return nothing


@kernel
def _write(counted: Floats, forced: Floats, carried: Floats, first: int, z: Floats) -> None:
    """Write the columns from `first` on to z, in place; a warm-up carries nothing, `(),(),(W),(),(n)`."""
    for r in range(len(z)):
        if counted[r] > 0.0 and forced[r] == 0.0:
            for i in range(z.shape[1]):
                z[r, i] = carried[r, first + i]


def go_on(decision: Decision, *kept: Floats) -> None:
    """Write the `carried` part of a decision to arrays of a state, in the replicas where the choice itself decided."""
    first = 0
    for z in kept:
        _write(decision.counted, decision.forced, decision.carried, first, z)
        first += z.shape[1]


@kernel
def add_up(readings: Floats) -> Floats:
    """Sum the worth of every candidate over all readings, `(K,A)->(A)`."""
    count, k, candidates = readings.shape
    worth = np.zeros((count, candidates))
    for r in range(count):
        for i in range(k):
            for a in range(candidates):
                worth[r, a] += readings[r, i, a]
    return worth


@inlined
def copy_to(target: Floats, source: Floats) -> None:
    """Write the numbers of an array, which may be those of all replicas, to another one, `(A),(A)`.

    An assignment to a slice would also compile Numba's message about shapes.
    """
    for r in range(len(target)):
        row = r if len(source) > 1 else 0
        for a in range(target.shape[1]):
            target[r, a] = source[row, a]


@inlined
def fits(worst: Floats, left: Floats, r: int, a: int) -> bool:
    """Whether candidate a fits into the remaining limits of replica r, `(A,d),(d)->()`."""
    row = r if len(worst) > 1 else 0
    for j in range(left.shape[1]):  # noqa: SIM110, a loop compiles to less code than a generator
        if worst[row, a, j] > left[r, j]:
            return False
    return True


@inlined
def use_up(worst: Floats, left: Floats, r: int, a: int) -> None:
    """Subtract the worst case of a play from `left`, `(A,d),(d)`, in place, so callers pass a copy."""
    row = r if len(worst) > 1 else 0
    for j in range(left.shape[1]):
        left[r, j] -= worst[row, a, j]


@inlined
def ties(worth: Floats, free: Bools, r: int) -> tuple[float, float, int]:
    """The best worth of the free candidates, the least that ties with it, and how many tie, `(A),(A)->(),(),()`.

    Worths that differ only by rounding tie as well: which of them is larger depends on the units.
    """
    best, count = -np.inf, 0
    for a in range(free.shape[1]):
        if free[r, a] and worth[r, a] > best:
            best = worth[r, a]
    edge = best - TIE * abs(best)
    for a in range(free.shape[1]):
        if free[r, a] and worth[r, a] >= edge:
            count += 1
    return best, edge, count


@kernel
def empty_plays(playable: Bools, n_plays: int) -> tuple[Ints, Floats, Floats]:
    """Plays, propensities and a lottery for a round without plays, to be filled in, `(A)->(P),(P),(A)`."""
    plays, propensities = np.empty((len(playable), n_plays), np.int64), np.empty((len(playable), n_plays))
    for r in range(len(playable)):
        for p in range(n_plays):
            plays[r, p], propensities[r, p] = -1, 1.0
    return plays, propensities, np.zeros(playable.shape)


@kernel
def draw_free(chances: Floats, free: Bools, u: Floats, i: int) -> Ints:
    """Draw a free candidate in proportion to weights, `(A),(A),(P)->()`; -1 if none is free.

    The weights become chances in place. If all free candidates have weight 0, the draw is uniform.
    """
    played = np.full(len(free), -1)
    for r in range(len(free)):
        total, count = 0.0, 0
        for a in range(free.shape[1]):
            if free[r, a]:
                total += chances[r, a]
                count += 1
        reached = 0.0
        for a in range(free.shape[1]):
            if not free[r, a]:
                chances[r, a] = 0.0
                continue
            chances[r, a] = chances[r, a] / total if total > 0.0 else 1.0 / count
            if chances[r, a] > 0.0 and (played[r] < 0 or reached <= u[r, i]):
                played[r] = a
            reached += chances[r, a]
    return played


@kernel
def count_plays(counts: Floats, plays: Ints, counted: Floats, which: Bools) -> None:
    """Add 1 to the count of every play that is meant, `(A),(P),(),(P)`, in place."""
    for r in range(len(plays)):
        if counted[r] > 0.0:
            for p in range(plays.shape[1]):
                if plays[r, p] >= 0 and which[r, p]:
                    counts[r, plays[r, p]] += 1.0


@kernel
def settle(
    plays: Ints, propensities: Floats, i: int, played: Ints, chances: Floats, worst: Floats, free: Bools, left: Floats
) -> None:
    """Put candidates at place i, in place, `(P),(P),(),(),(A),(A,d),(A),(d)`.

    Afterwards these candidates, and those that no longer fit, are not free.
    """
    for r in range(len(played)):
        chosen = played[r]
        if chosen < 0:
            continue
        plays[r, i] = chosen
        propensities[r, i] = chances[r, chosen]
        if i + 1 == plays.shape[1]:
            continue
        free[r, chosen] = False
        use_up(worst, left, r, chosen)
        for a in range(free.shape[1]):
            free[r, a] = free[r, a] and fits(worst, left, r, a)


@kernel
def draw(
    weights: Floats, playable: Bools, worst: Floats, left: Floats, u: Floats, n_plays: int
) -> tuple[Ints, Floats, Floats]:
    """Draw in proportion to weights, place by place without replacement, `(A),(A),(A,d),(d),(P)->(P),(P),(A)`."""
    plays, propensities, lottery = empty_plays(playable, n_plays)
    free, left, chances = playable.copy(), left.copy(), np.empty(playable.shape)
    for i in range(n_plays):
        copy_to(chances, weights)
        played = draw_free(chances, free, u, i)
        if i == 0:
            copy_to(lottery, chances)
        settle(plays, propensities, i, played, chances, worst, free, left)
    return plays, propensities, lottery
