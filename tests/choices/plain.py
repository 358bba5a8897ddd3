"""Offers and worths by hand, and what choices do, in plain NumPy: one replica and one place at a time."""

import numpy as np

from evenhand.core.records import Offer, Worth


def offer(playable, worst=None, left=None):
    """Without limits, unless they are named."""
    playable = np.atleast_2d(np.array(playable, bool))
    worst = np.zeros((1, playable.shape[1], 0)) if worst is None else np.array(worst, float)
    left = np.zeros((len(playable), worst.shape[2])) if left is None else np.array(left, float)
    return Offer(playable, worst, left)


def worth(mean, bonus=None):
    """Of replicas, readings, candidates."""
    mean = np.array(mean, float)
    return Worth(mean, np.zeros(mean.shape) if bonus is None else np.array(bonus, float), random=False)


def none(replicas, candidates):
    return worth(np.zeros((replicas, 1, candidates)))


def pick(choice, worth, offer, t=0.0, u=0.5, state=None):
    """Rounds and luck may be one number for all; the state is that of the start, unless one is handed in."""
    replicas, candidates = offer.playable.shape
    u = np.broadcast_to(np.array(u, float), (replicas, choice.draws(candidates))).copy()
    state = choice.start(replicas) if state is None else state
    return choice.pick(state, worth, offer, np.broadcast_to(np.array(t, float), replicas).copy(), u)


def limits(rng, replicas, candidates, n, alike=False):
    """An offer of what fits alone, under n limits."""
    worst, left = rng.random((1 if alike else replicas, candidates, n)), 2.0 * rng.random((replicas, n))
    return offer((rng.random((replicas, candidates)) < 0.8) & (worst <= left[:, None]).all(2), worst, left)


def by_turns(places, chances, offer, u):
    """One place after the other: `chances(free)` gives weights of one replica, `(A)->(A)`; `(P),(P),(A)`."""
    plays, propensities, lottery = [-1] * places, [1.0] * places, np.zeros(offer.playable.shape[1])
    free, worst, left = offer.playable[0].copy(), offer.worst[0], offer.left[0].copy()
    for i in range(places):
        if not free.any():
            break
        p = np.where(free, chances(free), 0.0)
        p = p / p.sum() if p.sum() > 0 else free / free.sum()
        upper = np.cumsum(p)
        a = min(int((u[i] >= upper).sum()), int(np.flatnonzero(p > 0)[-1]))
        plays[i], propensities[i] = a, p[a]
        lottery = p if i == 0 else lottery
        left = left - worst[a]
        free[a] = False
        free &= (worst <= left).all(1)
    return plays, propensities, lottery


def in_order(order, k, offer):
    """The first k of an order of candidates, skipping what does not fit."""
    plays, left = [], offer.left[0].copy()
    for a in order:
        if len(plays) < k and offer.playable[0, a] and (offer.worst[0, a] <= left).all():
            plays.append(int(a))
            left = left - offer.worst[0, a]
    return plays + [-1] * (k - len(plays))


def agree(pick, twin):
    """A pick by values has the plays, the propensities and the lottery of a twin."""
    for found, expected in zip(pick[:3], twin, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(pick.forced, np.zeros(len(pick.plays)))
