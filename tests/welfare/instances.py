"""Small rounds, their best allocation by brute force, and the oracles that are tested on them."""

from itertools import product

import numpy as np

from evenhand.welfare import Capped, Linear, Logarithmic, PerArm, Piecewise, Power, Round, satisfaction
from evenhand.welfare.continuous_greedy import ContinuousGreedy
from evenhand.welfare.exact import Exact
from evenhand.welfare.greedy import Greedy
from evenhand.welfare.priced import Priced
from evenhand.welfare.proportional import Anyone, Proportional
from evenhand.welfare.rounded import Rounded
from evenhand.welfare.sequential import Sequential

# Name: an oracle, whether it keeps capacities, and the share of the best welfare that it promises where no bonus is
# below 0 and all arms have room.
ORACLES = {
    "exact": (Exact(), True, 1.0 - 1e-4),
    "priced": (Priced(), True, 0.95),
    "greedy": (Greedy(), True, 0.5),
    "sequential": (Sequential(), True, 0.5),
    "proportional": (Proportional(), True, 0.0),
    "anyone": (Anyone(), True, 0.0),
    "rounded": (Rounded(), True, 0.0),
    "continuous_greedy": (ContinuousGreedy(), False, 1.0 - 1.0 / np.e),
}

CURVES = {
    "linear": Linear(),
    "capped": Capped(1.5),
    "logarithmic": Logarithmic(0.7),
    "power": Power(0.4),
    "piecewise": Piecewise(at=(0.5, 1.5, 2.5), values=(0.5, 1.0, 1.2)),
    "per_arm": PerArm((Capped(0.8), Logarithmic(1.0), Piecewise(at=(1.0,), values=(0.9,)))),
}


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
