"""What a round enters into books: the plays of a decision, and the outcomes that count."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def take(
    features: Floats, known: Floats, plays: Ints, offered: Bools, playable: Bools, t: Floats, horizon: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """What a decision says of its plays, `(A,n),(A,L),(P),(A),(A),(),()->(P,n),(P,L),(),()`.

    Their features and known outcomes, whether anything is played, and whether a limit masked something that was offered
    before the horizon.
    """
    x = np.zeros((len(plays), plays.shape[1], features.shape[2]))
    z = np.zeros((len(plays), plays.shape[1], known.shape[2]))
    counted, restricted = np.zeros(len(plays)), np.zeros(len(plays))
    for r in range(len(plays)):
        counted[r] = 1.0 if plays[r, 0] >= 0 else 0.0
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                x[r, p] = features[r, plays[r, p]]
                z[r, p] = known[r if len(known) > 1 else 0, plays[r, p]]
        if t[r] < horizon:
            for a in range(playable.shape[1]):
                if offered[r if len(offered) > 1 else 0, a] and not playable[r, a]:
                    restricted[r] = 1.0
                    break
    return x, z, counted, restricted


@kernel
def take_groups(groups: Ints, plays: Ints) -> Ints:
    """Groups of the plays, `(A,G),(P)->(P,G)`; a place where nothing is played has groups, but no outcomes."""
    g = np.empty((len(plays), plays.shape[1], groups.shape[2]), np.int64)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            g[r, p] = groups[r, max(plays[r, p], 0)]
    return g


@kernel
def take_prices(prices: Floats, plays: Ints) -> Floats:
    """Prices of the plays, `(K,A,M),(P)->(K,P,M)`."""
    w = np.zeros((len(plays), prices.shape[1], plays.shape[1], prices.shape[3]))
    for r in range(len(plays)):
        for k in range(prices.shape[1]):
            for p in range(plays.shape[1]):
                if plays[r, p] >= 0:
                    w[r, k, p] = prices[r, k, plays[r, p]]
    return w


@kernel
def fitting(offered: Bools, worst: Floats, left: Floats, t: Floats, horizon: float) -> Bools:
    """Candidates that are offered before the horizon and fit every limit if played alone, `(A),(A,d),(d),()->(A)`."""
    playable = np.empty((len(t), offered.shape[1]), np.bool_)
    for r in range(len(t)):
        for a in range(offered.shape[1]):
            fits = offered[r if len(offered) > 1 else 0, a] and t[r] < horizon
            if fits:
                for j in range(left.shape[1]):
                    if worst[r if len(worst) > 1 else 0, a, j] > left[r, j]:
                        fits = False
            playable[r, a] = fits
    return playable


@kernel
def believe(groups: Ints, offered: Bools, weight: Floats, seen: Floats) -> None:
    """Count a round for the groups of its candidates, in equal parts of the offered ones, `(1|A,G),(A),(),(C)`."""
    for r in range(len(groups)):
        if weight[r] == 0.0:
            continue
        if groups.shape[1] == 1:
            for g in range(groups.shape[2]):
                seen[r, groups[r, 0, g]] += weight[r]
            continue
        may = offered[r if len(offered) > 1 else 0]
        count = may.sum()
        for a in range(groups.shape[1]):
            if may[a]:
                for g in range(groups.shape[2]):
                    seen[r, groups[r, a, g]] += weight[r] / count


@kernel
def counts(counted: Floats) -> bool:
    """Whether a decision counts in any replica, `()->()`; one call of `any` costs as much as four of this."""
    for r in range(len(counted)):  # noqa: SIM110, a loop compiles to less than a generator
        if counted[r] > 0.0:
            return True
    return False


@kernel
def late(counted: Floats, t: Floats, horizon: float) -> bool:
    """Whether a decision counts in a replica whose horizon is over, `(),(),()->()`."""
    for r in range(len(counted)):  # noqa: SIM110
        if counted[r] > 0.0 and t[r] >= horizon:
            return True
    return False


@kernel
def first_misfit(counted: Floats, fits: Bools) -> int:
    """The first replica in which a decision counts and does not fit, `(),()->()`; -1 where there is none."""
    for r in range(len(counted)):
        if counted[r] > 0.0 and not fits[r]:
            return r
    return -1


@kernel
def enter(q: Floats, o: Floats, total: Floats, k: int, d: int, part: Floats, constant: Floats) -> None:
    """Put the prices of one goal at readings from k and rows from d on, `(K,D),(K),(D),(),(),(k,d),()`, in place."""
    for r in range(len(part)):
        o[r, k] = constant[r]
        for i in range(part.shape[1]):
            for j in range(part.shape[2]):
                q[r, k + i, d + j] = part[r, i, j]
                total[r, d + j] += part[r, i, j]


@kernel
def at_arrival(
    plays: Ints, counted: Floats, known: Floats, sure: Bools, y: Floats, observed: Bools, exposed: Bools
) -> tuple[Floats, Floats, Bools, Bools]:
    """Outcomes that count, `(P),(),(P,L),(L),(P,M),(P,M),(P)->(P,M),(P,L),(P,M),(M)`; an empty mask is true everywhere.

    Learned and known outcomes are 0 wherever a play was not made, not exposed or not observed. Of the two masks the
    first says what teaches the model, the second which outcomes of exposed plays were not observed.
    """
    learned, z = np.zeros(y.shape), np.zeros(known.shape)
    seen, missing = np.zeros(y.shape, np.bool_), np.zeros((len(y), y.shape[2]), np.bool_)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if counted[r] == 0.0 or plays[r, p] < 0:
                continue
            shown = len(exposed) == 0 or exposed[r, p]
            for i in range(len(sure)):
                if shown or sure[i]:
                    z[r, p, i] = known[r, p, i]
            if shown:
                for m in range(y.shape[2]):
                    if len(observed) == 0 or observed[r, p, m]:
                        learned[r, p, m] = y[r, p, m]
                        seen[r, p, m] = True
                    else:
                        missing[r, m] = True
    return learned, z, seen, missing
