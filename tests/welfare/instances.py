"""Small rounds of allocations, and their best allocation by brute force."""

import numpy as np

from evenhand.welfare import Round, satisfaction


def round_of(seed, users, arms, *, holes=0.0, room=None, bonus=0.0, replicas=1):
    """Values in [0, 1], bonuses in [-bonus, bonus], pairs that are not eligible by chance, and a room for all arms."""
    rng = np.random.default_rng(seed)
    value, extra, u = rng.random((3, replicas, users, arms))
    capacity = np.full(arms, users) if room is None else np.array(room)
    return Round(value, bonus * (2.0 * extra - 1.0), u >= holes, capacity)


def welfare_of(case, curve, arms):
    """sum_a r_a + bonuses, `(R,N)->(R)`."""
    given = (arms[:, :, None] == np.arange(case.value.shape[2])).astype(float)
    return satisfaction(curve, (given * case.value).sum(1)).sum(1) + (given * case.bonus).sum((1, 2))


def which_are_allowed(case, arms):
    """Which allocations are eligible, fit, and leave nobody out for whom there is room, of replica 0, `(n,N)->(n)`."""
    counts = (arms[:, :, None] == np.arange(len(case.capacity))).sum(1)
    eligible, room = case.eligible[0], counts < case.capacity
    given = np.take_along_axis(eligible, np.maximum(arms, 0).T, 1).T
    left_out = (eligible & room[:, None]).any(2)
    return (counts <= case.capacity).all(1) & np.where(arms >= 0, given, ~left_out).all(1)


def is_allowed(case, arms):
    """Whether one allocation of replica 0 is allowed, `(N)`."""
    return which_are_allowed(case, arms[None])[0]


def all_allowed(case):
    """Every allowed allocation of replica 0, `->(n,N)`."""
    users, arms = case.value.shape[1:]
    every = np.indices((arms + 1,) * users).reshape(users, -1).T - 1
    return every[which_are_allowed(case, every)]


def brute_force(case, curve):
    """The best allowed allocation of replica 0: its welfare."""
    return max(welfare_of(case._replace(value=case.value[:1], bonus=case.bonus[:1]), curve, all_allowed(case)))
