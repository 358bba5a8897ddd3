"""Places all users, by chains along which users pass on arms until one with room is reached."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def place_all(value: Floats, eligible: Bools, capacity: Ints, arms: Ints, sums: Floats, counts: Ints) -> bool:
    """Give an arm to users without one, in place, if others can make room, `(N,A),(N,A),(A)->(N),(A),(A)`.

    Each gets it along a shortest chain of arms (augmenting paths, so that no allocation places more users). Returns
    whether anybody got one.
    """
    users, n_arms = value.shape
    queue, mover, found = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64), False
    for user in range(users):
        if arms[user] >= 0:
            continue
        mover[:] = -1  # the user who would move to an arm
        first, last, end = 0, 0, -1
        for a in range(n_arms):
            if eligible[user, a]:
                mover[a], queue[last] = user, a
                last += 1
        while first < last and end < 0:
            a = queue[first]
            first += 1
            if counts[a] < capacity[a]:
                end = a
                break
            for j in range(users):
                if arms[j] == a:
                    for d in range(n_arms):
                        if eligible[j, d] and mover[d] < 0:
                            mover[d], queue[last] = j, d
                            last += 1
        while end >= 0:
            found = True
            j = mover[end]
            before, arms[j] = arms[j], end
            sums[end] += value[j, end]
            counts[end] += 1
            if before >= 0:
                sums[before] = max(sums[before] - value[j, before], 0.0)
                counts[before] -= 1
            end = before
    return found
