"""Names, costs and kernels of environments that match users with arms: candidate = user * arms + arm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.luck import Stream, normals_within
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.newton import sigmoid
from evenhand.numerics.precision import dot
from evenhand.problem.outcome import Outcome

LINKS = ("logistic", "poisson", "identity")
_CONTEXT = np.uint64(Stream.CONTEXT)
_HIGHEST = 3.0  # a Poisson mean is at most e^3


def names_of_pairs(users: int, arms: Sequence[str]) -> tuple[str, ...]:
    """Name the pairs of users and arms.

    >>> names_of_pairs(2, ["left", "right"])
    ('user 0 left', 'user 0 right', 'user 1 left', 'user 1 right')
    """
    return tuple(f"user {i} {arm}" for i in range(users) for arm in arms)


def costs_of_pairs(pairs: Sequence[str], costs: Sequence[float] | None) -> tuple[Outcome, ...]:
    """Return the known outcome "cost" of all pairs, given that of every arm; none without costs."""
    if costs is None:
        return ()
    each = [*costs] * (len(pairs) // len(costs))
    return (Outcome("cost", known=dict(zip(pairs, each, strict=True))),)


@kernel
def sort_columns(z: Floats) -> None:
    """Sort every column, `(A,B)`, by Batcher's merge exchange: all columns at once, without branches."""
    n, top = len(z), 1
    while 2 * top < n:
        top *= 2
    p = top if n > 1 else 0
    while p > 0:
        q, offset, d = top, 0, p
        while True:
            for i in range(n - d):
                if i & p == offset:
                    for b in range(z.shape[1]):
                        low, high = z[i, b], z[i + d, b]
                        z[i, b] = low if low < high else high
                        z[i + d, b] = high if low < high else low
            if q == p:
                break
            d, q, offset = q - p, q // 2, p
        p //= 2


@kernel
def draw_features(
    seed: np.uint64,
    replicas: Ints,
    step: int,
    sizes: tuple[int, int, int],
    popularity: float,
    turn: int,
    shift: Floats,
    squashed: bool,
) -> Floats:
    """Draw lam pop + (1 - lam) base + shift of the user for all pairs, `(N)->(NA,n)`; pop is sorted over the arms."""
    users, arms, n = sizes
    lanes = users * n
    x, pop, base = np.empty((len(replicas), users * arms, n)), np.zeros((arms, lanes)), np.zeros((arms, lanes))
    for r in range(len(replicas)):
        if popularity > 0.0:
            normals_within(seed, _CONTEXT, replicas[r], step, 0, pop.reshape(arms * lanes))
            sort_columns(pop)
        if popularity < 1.0:
            first = (arms * lanes + 3) // 4
            normals_within(seed, _CONTEXT, replicas[r], step, first, base.reshape(arms * lanes))
        for i in range(users):
            more = shift[r if len(shift) > 1 else 0, i]
            for a in range(arms):
                rank = (a + turn) % arms
                for k in range(n):
                    z = popularity * pop[rank, i * n + k] + (1.0 - popularity) * base[a, i * n + k] + more
                    x[r, i * arms + a, k] = sigmoid(z) if squashed else z
    return x


@kernel
def eligible_pairs(u: Floats, users: int, chance: float) -> Bools:
    """Select pairs with a number below the probability; a user without one gets the smallest, `(NA)->(NA)`."""
    offered = u < chance
    arms = u.shape[1] // users
    for r in range(len(u)):
        for i in range(users):
            mine = slice(i * arms, (i + 1) * arms)
            if not offered[r, mine].any():
                offered[r, i * arms + u[r, mine].argmin()] = True
    return offered


@inlined
def _mean(link: int, z: float) -> float:
    if link == 0:
        return sigmoid(z)
    if link == 1:
        return math.exp(min(z, _HIGHEST))
    return z


@kernel
def every_mean(link: int, x: Floats, theta: Floats) -> Floats:
    """Compute the true means of all pairs, `(NA,n),(n)->(NA)`."""
    mean = np.empty(x.shape[:2])
    for r in range(len(x)):
        for c in range(x.shape[1]):
            mean[r, c] = _mean(link, dot(x[r, c], theta[r]))
    return mean


@kernel
def means_of_plays(link: int, x: Floats, theta: Floats, plays: Ints) -> Floats:
    """Compute the true means of plays, 0 for empty places, `(NA,n),(n),(P)->(P,1)`."""
    mean = np.zeros((*plays.shape, 1))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                mean[r, p, 0] = _mean(link, dot(x[r, plays[r, p]], theta[r]))
    return mean


@kernel
def outcomes(link: int, mean: Floats, plays: Ints, arms: int, u: Floats, most: float) -> Floats:
    """Draw the matches of plays from their users' luck, `(P,1),(P),(N)->(P,1)`; Poisson ones by inversion."""
    y = np.zeros(mean.shape)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                luck = u[r, plays[r, p] // arms]
                if link != 1:
                    y[r, p, 0] = 1.0 if luck < mean[r, p, 0] else 0.0
                    continue
                part = below = math.exp(-mean[r, p, 0])
                while luck >= below and y[r, p, 0] < most:
                    y[r, p, 0] += 1.0
                    part *= mean[r, p, 0] / y[r, p, 0]
                    below += part
    return y
