"""From prices to an allocation: fill arms by regret, then move, swap and chain users while welfare rises."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare._kernels import Case, Placement, Prices, best_sum, first_slope, utility


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


_GAIN = 1e-10  # the least gain of a change, relative to the largest change by one user; excludes rounding
_ENOUGH = 1e-3  # the search ends when a pass gains less than this per user, in the same unit


class _Members(NamedTuple):
    """The users of every arm and the satisfaction that they reach, changed in place."""

    reached: Floats  # (A,) the satisfaction of an arm
    member: Ints  # (A, N) its users first
    place: Ints  # (N,) of a user among these


@kernel
def best_arms(case: Case, asked: Prices, lists: Ints, regret: Floats) -> None:
    """Write every user's best arms at the prices, best first, -1 after the last, and the regret of the second best.

    `->(N,L),(N)`; the regret of a user with one arm is infinite.
    """
    value, bonus, eligible, _, _ = case
    prices, fees = asked
    users, arms = value.shape
    length = lists.shape[1]
    worth = np.empty(length)
    for i in range(users):
        count = 0
        for a in range(arms):
            if not eligible[i, a]:
                continue
            x = prices[a] * value[i, a] + bonus[i, a] - fees[a]
            if count < length:
                j = count
                count += 1
            elif x > worth[length - 1]:
                j = length - 1
            else:
                continue
            while j > 0 and worth[j - 1] < x:
                worth[j] = worth[j - 1]
                lists[i, j] = lists[i, j - 1]
                j -= 1
            worth[j] = x
            lists[i, j] = a
        lists[i, count:] = -1
        regret[i] = np.inf if count < 2 else worth[0] - worth[1]


@kernel
def fill(case: Case, most: Floats, asked: Prices, order: Ints, held: Placement) -> None:
    """Give each user in turn the best arm: at its price up to the sum demanded at this price, then by the gain.

    `most` are the sums of arms with all their users, `(A)`, and `order` is that of users, `(N)`.
    """
    value, bonus, eligible, capacity, curves = case
    prices, fees = asked
    arms, sums, counts = held
    n_arms = value.shape[1]
    sums[:] = 0.0
    counts[:] = 0
    goal, at_goal = np.empty(n_arms), np.empty(n_arms)
    for a in range(n_arms):
        goal[a] = best_sum(curves, a, prices[a], most[a])
        at_goal[a] = utility(curves, a, goal[a])
    for i in order:
        best, most_paid = -1, -np.inf
        for a in range(n_arms):
            if eligible[i, a] and counts[a] < capacity[a]:
                room = max(goal[a] - sums[a], 0.0)
                paid = prices[a] * min(value[i, a], room) + bonus[i, a] - fees[a]
                if value[i, a] > room:
                    before = at_goal[a] if room > 0.0 else utility(curves, a, sums[a])
                    paid += utility(curves, a, sums[a] + value[i, a]) - before
                if paid > most_paid:
                    best, most_paid = a, paid
        arms[i] = best
        if best >= 0:
            sums[best] += value[i, best]
            counts[best] += 1


@inlined
def _transfer(user: int, start: int, end: int, case: Case, held: Placement, members: _Members) -> None:
    """Move a user from one arm (or none) to another (or none), and update sums, utilities and members."""
    value, curves = case.value, case.curves
    arms, sums, counts = held
    reached, member, place = members
    if start >= 0:
        sums[start] -= value[user, start]
        counts[start] -= 1
        last = member[start, counts[start]]
        member[start, place[user]] = last
        place[last] = place[user]
        reached[start] = utility(curves, start, sums[start])
    arms[user] = end
    if end >= 0:
        sums[end] += value[user, end]
        place[user] = counts[end]
        member[end, counts[end]] = user
        counts[end] += 1
        reached[end] = utility(curves, end, sums[end])


@kernel
def climb(case: Case, lists: Ints, order: Ints, unit: float, spread: float, passes: int, held: Placement) -> None:
    """Improve the allocation user by user, in place, by the change with the largest gain, until gains are small.

    A user i moves to an arm c of its list; or moves there while one user j of c goes to i's arm (a swap), or to another
    arm of j's list (a chain over three arms). A user without an arm for whom no other can make room takes j's place.
    """
    value, bonus, eligible, capacity, curves = case
    arms, sums, counts = held
    users, n_arms = value.shape
    length = lists.shape[1]
    member, place = np.empty((n_arms, users), np.int64), np.zeros(users, np.int64)
    reached, so_far = np.empty(n_arms), np.zeros(n_arms, np.int64)
    members = _Members(reached, member, place)
    own, beside, top = np.empty((users, length)), np.empty((users, length)), np.full(users, -np.inf)  # along the lists
    for a in range(n_arms):
        reached[a] = utility(curves, a, sums[a])
    for i in range(users):
        if arms[i] >= 0:
            place[i] = so_far[arms[i]]
            member[arms[i], so_far[arms[i]]] = i
            so_far[arms[i]] += 1
        for t in range(length):
            if lists[i, t] >= 0:
                own[i, t], beside[i, t] = value[i, lists[i, t]], bonus[i, lists[i, t]]
                top[i] = max(top[i], first_slope(curves, lists[i, t]) * own[i, t] + beside[i, t])
    for _ in range(passes):
        gained = 0.0
        for i in order:
            a = arms[i]
            out = 0.0
            if a >= 0:
                out = utility(curves, a, max(sums[a] - value[i, a], 0.0)) - reached[a] - bonus[i, a]
            least = _GAIN * (unit + spread)
            best_c, best_j, best_d, gain = -1, -1, -1, least if a >= 0 else -np.inf
            worse_c, worse_j = -1, -1  # a full arm, and the user who would lose it
            for t in range(length):
                c = lists[i, t]
                if c < 0:
                    break
                if c == a:
                    continue
                if counts[c] < capacity[c]:
                    g = out + utility(curves, c, sums[c] + own[i, t]) - reached[c] + beside[i, t]
                    if g > gain:
                        best_c, best_j, gain = c, -1, g
                for x in range(counts[c]):
                    j = member[c, x]
                    between = utility(curves, c, max(sums[c] + own[i, t] - value[j, c], 0.0)) - reached[c]
                    here = between + beside[i, t] - bonus[j, c]
                    if a >= 0 and eligible[j, a]:
                        swapped = utility(curves, a, max(sums[a] - value[i, a] + value[j, a], 0.0)) - reached[a]
                        g = here + swapped + bonus[j, a] - bonus[i, a]
                        if g > gain:
                            best_c, best_j, best_d, gain = c, j, a, g
                    elif a < 0 and here > least:
                        worse_c, worse_j, least = c, j, here
                    here += out
                    if here + top[j] <= gain:
                        continue
                    for y in range(length):
                        d = lists[j, y]
                        if d < 0:
                            break
                        if d in (c, a) or counts[d] >= capacity[d]:
                            continue
                        g = here + utility(curves, d, sums[d] + own[j, y]) - reached[d] + beside[j, y]
                        if g > gain:
                            best_c, best_j, best_d, gain = c, j, d, g
            if best_c < 0:
                best_c, best_j, gain = worse_c, worse_j, least
            if best_c < 0:
                continue
            gained += max(gain, _ENOUGH * unit)  # placing a user without an arm may be a loss
            if best_j >= 0:  # first, so that no arm ever holds more users than exist
                _transfer(best_j, best_c, best_d, case, held, members)
            _transfer(i, a, best_c, case, held, members)
        if gained <= _ENOUGH * unit * users:
            break
