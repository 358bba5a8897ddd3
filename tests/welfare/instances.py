"""Small rounds of allocations, and their best allocation by brute force."""

from itertools import product

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


def is_allowed(case, arms):
    """Whether one allocation is eligible, fits, and leaves nobody out for whom there is room, `(N)`, of replica 0."""
    counts = np.bincount(arms[arms >= 0], minlength=len(case.capacity))
    if (counts > case.capacity).any():
        return False
    room = counts < case.capacity
    for i, a in enumerate(arms):
        if (a >= 0 and not case.eligible[0, i, a]) or (a < 0 and (case.eligible[0, i] & room).any()):
            return False
    return True


def brute_force(case, curve):
    """The best allowed allocation of replica 0: its welfare."""
    users, arms = case.value.shape[1:]
    allowed = [np.array(some) for some in product(range(-1, arms), repeat=users) if is_allowed(case, np.array(some))]
    return max(welfare_of(case._replace(value=case.value[:1], bonus=case.bonus[:1]), curve, np.array(allowed)))
