"""The choice that allocates an arm to each of many users, with diminishing returns of every arm within the round."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from evenhand.choices._shared import TIE, fits, go_on, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts, one_of, whole
from evenhand.welfare._kernels import Case, Placement, slope, utility
from evenhand.welfare.base import Oracle, Round
from evenhand.welfare.curves import Curve, Curves, Linear, curves_of, join, plain
from evenhand.welfare.priced import Priced
from evenhand.welfare.proportional import Anyone


@kernel
def perturbation(value: Floats, beside: Floats, eligible: Bools, arms: int, u: Floats) -> Floats:
    """Return `beside` plus random numbers so small that they only decide ties, `(N,C),(N,C),(N,C),(),(NA)->(N,C)`."""
    out = beside.copy()
    for r in range(len(value)):
        size = 0.0
        for i in range(value.shape[1]):
            for a in range(value.shape[2]):
                if eligible[r, i, a]:
                    size = max(size, value[r, i, a] + abs(beside[r, i, a]))
        size = size if size > 0.0 else 1.0
        for i in range(value.shape[1]):
            for a in range(arms):
                out[r, i, a] += 0.5 * TIE * size * u[r, i * arms + a]
    return out


@kernel
def by_luck(value: Floats, beside: Floats, eligible: Bools, capacity: Ints, curves: Curves, chosen: Ints) -> Bools:
    """Whether another arm of a user, or an exchange of two users, is worth as much, `(N,C),(N,C),(N,C),(C),(N)->()`.

    Most changes lose more than a tie even by the slopes at present sums, which tell at most too little of the loss.
    """
    count, users, columns = value.shape
    luck = np.zeros(count, np.bool_)
    sums, held, now, slopes = np.empty(columns), np.empty(columns, np.int64), np.empty(columns), np.empty(columns)
    for r in range(count):
        sums[:] = 0.0
        held[:] = 0
        size = 0.0
        for i in range(users):
            for a in range(columns):
                if eligible[r, i, a]:
                    size = max(size, value[r, i, a] + abs(beside[r, i, a]))
            if chosen[r, i] >= 0:
                sums[chosen[r, i]] += value[r, i, chosen[r, i]]
                held[chosen[r, i]] += 1
        for a in range(columns):
            now[a], slopes[a] = utility(curves, a, sums[a]), slope(curves, a, sums[a])
        near = 2.0 * TIE * size
        for i in range(users):
            a = chosen[r, i]
            if a < 0:
                continue
            m, alone = value[r, i], utility(curves, a, max(sums[a] - value[r, i, a], 0.0)) - now[a] - beside[r, i, a]
            for b in range(columns):
                if b != a and eligible[r, i, b] and held[b] < capacity[b]:
                    if alone + slopes[b] * m[b] + beside[r, i, b] < -2.0 * near:
                        continue
                    more = utility(curves, b, sums[b] + m[b]) - now[b] + beside[r, i, b]
                    luck[r] = luck[r] or abs(alone + more) <= near
            for j in range(users):
                b = chosen[r, j]
                if (
                    luck[r]
                    or b == a
                    or (b >= 0 and j < i)
                    or not eligible[r, j, a]
                    or (b >= 0 and not eligible[r, i, b])
                ):
                    continue
                top = slopes[a] * (value[r, j, a] - m[a]) + beside[r, j, a] - beside[r, i, a]
                if b >= 0:
                    top += slopes[b] * (m[b] - value[r, j, b]) + beside[r, i, b] - beside[r, j, b]
                if top < -2.0 * near:
                    continue
                into = utility(curves, a, max(sums[a] - m[a] + value[r, j, a], 0.0)) - now[a]
                gain = into + beside[r, j, a] - beside[r, i, a]
                if b >= 0:
                    into = utility(curves, b, max(sums[b] - value[r, j, b] + m[b], 0.0)) - now[b]
                    gain += into + beside[r, i, b] - beside[r, j, b]
                luck[r] = abs(gain) <= near
            if luck[r]:
                break
    return luck


@dataclass
class AllocateState:
    """The prices of arms in the last round that was played, -1 where there are none: states hold no NaN."""

    prices: Floats  # (R, A)


@kernel
def _split(
    mean: Floats,
    bonus: Floats,
    playable: Bools,
    constant: Floats,
    users: int,
    arms: int,
    columns: int,
    inside: bool,
) -> tuple[Floats, Floats, Bools]:
    """Split worths into satisfaction, additions beside it, and eligibility, `(K,NA),(K,NA),(NA),(i)->(N,C),...`.

    A column after those of the arms stands for no arm.
    """
    count, k, _ = mean.shape
    value, beside = np.zeros((count, users, columns)), np.zeros((count, users, columns))
    eligible = np.ones((count, users, columns), np.bool_)
    for r in range(count):
        fixed = 0.0
        for j in range(1, constant.shape[1]):
            fixed += constant[r, j]
        for i in range(users):
            for a in range(arms):
                pair = i * arms + a
                eligible[r, i, a] = playable[r, pair]
                brought = mean[r, 0, pair] - (constant[r, 0] if constant.shape[1] > 0 else 0.0)
                extra = -fixed
                if inside:
                    brought += bonus[r, 0, pair]
                else:
                    extra += bonus[r, 0, pair]
                for j in range(1, k):
                    extra += mean[r, j, pair] + bonus[r, j, pair]
                value[r, i, a] = max(brought, 0.0)
                beside[r, i, a] = extra
    return value, beside, eligible


@kernel
def _mixture(gain: Floats, worth: Floats, heat: Floats, eligible: Bools, beside: Floats, arms: int, u: Floats) -> Bools:
    """Add luck beside the arms that gain the same as the best for their user, and say where, `(NA),(NA),(),...->()`.

    Equation: heat G_a - (max (worth + heat G) - max worth), G = -ln(-ln u), over these arms, with one u per pair. A
    user whose arms differ in what they use alone then gets one with a chance proportional to exp(worth / heat), and
    is worth as much as with the best of them.
    """
    somewhere = np.zeros(len(beside), np.bool_)
    luck = np.empty(arms)
    for r in range(len(beside)):
        if heat[r] == 0.0:
            continue
        for i in range(beside.shape[1]):
            best, size, count, before, after = -np.inf, 0.0, 0, -np.inf, -np.inf
            for a in range(arms):
                if eligible[r, i, a]:
                    best, size = max(best, gain[r, i * arms + a]), max(size, abs(gain[r, i * arms + a]))
            for a in range(arms):
                luck[a] = -np.inf
                if eligible[r, i, a] and gain[r, i * arms + a] >= best - TIE * size:
                    luck[a] = -heat[r] * math.log(-math.log(max(u[r, i * arms + a], 1e-300)))
                    before = max(before, worth[r, i * arms + a])
                    after = max(after, worth[r, i * arms + a] + luck[a])
                    count += 1
            if count > 1:
                somewhere[r] = True
                for a in range(arms):
                    beside[r, i, a] += luck[a] - (after - before) if luck[a] > -np.inf else 0.0
    return somewhere


@kernel
def _fit(
    value: Floats,
    beside: Floats,
    eligible: Bools,
    capacity: Ints,
    curves: Curves,
    worst: Floats,
    left: Floats,
    arms: int,
    chosen: Ints,
) -> None:
    """Change arms, in place, until all plays of a replica fit together, `(N,C),(N,C),(N,C),(C),(NA,d),(d)->(N)`.

    Users in the order of what they bring keep their arm if it fits; others get one that does and has room, the one to
    which they add most. Those who find none may find one afterwards, as others have left their arms.
    """
    users = value.shape[1]
    left, held, sums = left.copy(), np.empty(len(capacity), np.int64), np.empty(len(capacity))
    for r in range(len(chosen)):
        spare, fitting = left[r].copy(), True
        held[:] = 0
        sums[:] = 0.0
        for i in range(users):
            if chosen[r, i] >= 0:
                held[chosen[r, i]] += 1
                sums[chosen[r, i]] += value[r, i, chosen[r, i]]
            if 0 <= chosen[r, i] < arms:
                pair = i * arms + chosen[r, i]
                for j in range(left.shape[1]):
                    spare[j] -= worst[r if len(worst) > 1 else 0, pair, j]
                    fitting = fitting and spare[j] >= 0.0
        if fitting:
            continue
        case = Case(value[r], beside[r], eligible[r], capacity, curves)
        brings = np.zeros(users)
        for i in range(users):
            if chosen[r, i] >= 0:
                brings[i] = value[r, i, chosen[r, i]] + beside[r, i, chosen[r, i]]
        order = np.argsort(-brings, kind="mergesort")
        for again in range(2):
            for i in order:
                now = chosen[r, i]
                if now == arms or (again and now >= 0):
                    continue
                if now < 0 or not fits(worst, left, r, i * arms + now):
                    if now >= 0:
                        held[now] -= 1
                        sums[now] = max(sums[now] - value[r, i, now], 0.0)
                    now = _best(case, Placement(chosen[r], sums, held), worst, left, r, i, arms)
                    chosen[r, i] = now
                    if now >= 0:
                        held[now] += 1
                        sums[now] += value[r, i, now]
                if 0 <= now < arms:
                    use_up(worst, left, r, i * arms + now)


@kernel
def _best(case: Case, held: Placement, worst: Floats, left: Floats, r: int, i: int, arms: int) -> int:
    """The arm to which a user adds most among those that have room and fit; -1 if there is none."""
    value, bonus, eligible, capacity, curves = case
    best, most = -1, -np.inf
    for a in range(value.shape[1]):
        open_to = eligible[i, a] and held.counts[a] < capacity[a] and (a == arms or fits(worst, left, r, i * arms + a))
        if open_to:
            already = held.sums[a]
            adds = utility(curves, a, already + value[i, a]) - utility(curves, a, already) + bonus[i, a]
            if adds > most:
                best, most = a, adds
    return best


@kernel
def _always_fits(playable: Bools, worst: Floats, left: Floats, arms: int) -> Bools:
    """Whether every allocation fits into the remaining limits, `(NA),(NA,d),(d)->()`."""
    sure = np.ones(len(playable), np.bool_)
    for r in range(len(playable)):
        row = r if len(worst) > 1 else 0
        for j in range(left.shape[1]):
            needs = 0.0
            for i in range(playable.shape[1] // arms):
                most = 0.0
                for pair in range(i * arms, (i + 1) * arms):
                    if playable[r, pair]:
                        most = max(most, worst[row, pair, j])
                needs += most
            sure[r] = sure[r] and needs <= left[r, j]
    return sure


@kernel
def _plays(chosen: Ints, chances: Floats, unsure: Bools, arms: int) -> tuple[Ints, Floats]:
    """Pairs of users with their arms, in the order of users, and chances, which are NaN if they are unsure.

    `(N),(N),(),()->(N),(N)`; users without an arm leave the last places empty.
    """
    plays, propensities = np.full(chosen.shape, -1), np.ones(chosen.shape)
    for r in range(len(chosen)):
        place, sure = 0, np.nan if unsure[r] else 1.0
        for i in range(chosen.shape[1]):
            if 0 <= chosen[r, i] < arms:
                plays[r, place] = i * arms + chosen[r, i]
                propensities[r, place] = chances[r, i]
                place += 1
            else:
                sure *= chances[r, i]  # NaN, or the chance to stay without an arm
        if sure != 1.0:  # NaN is not 1
            propensities[r] = np.nan
    return plays, propensities


@checked
@dataclass(frozen=True, kw_only=True)
class Allocate:
    """Allocate one of A arms to each of N users, where an arm's value is a concave function of its users' matches.

    Equation: the oracle seeks arms pi(i) that maximise sum_a r_a(sum_{i: pi(i)=a} m_ia) + sum_i b_{i,pi(i)}, with m the
    mean of the first reading of the goals, at least 0, and b everything else: the other readings, such as prices of
    budgets and parities, with their bonuses, and the bonus of the first reading. With `optimism="inside"` this bonus is
    added to m instead.

    Candidates are pairs of a user and an arm in the order of users, candidate = user A + arm. Each user gets one arm
    that is playable and has room, or none if there is none. Where hard limits do not allow the allocation, users in
    the order of m + b keep their arms while they fit; the others get an arm that has room and fits, the one to which
    they add most, or none.
    The oracle starts at the prices of arms in the last round that was committed.
    Where a plan has equal gains (`Worth.mix`), the arms that gain the same as the best for a user get luck beside r, at
    the plan's temperature: the arms of a user are then drawn as the plan mixes them, and users differ.

    An oracle without luck of its own gets numbers that are larger by up to 1e-9 of the largest of them, drawn for every
    user and arm, so that ties are broken evenly, whatever the order of arms and users.
    Chances of plays are those that the oracle states; NaN if users stayed without an arm by luck, where limits might
    have changed what was drawn, where a plan mixed arms, or where another arm for a user, or an exchange of two users,
    is worth as much.

    Args:
        users: N.
        arms: A.
        curve: r, how the sum of an arm's matches counts.
        oracle: finds the allocation; `Priced` by default.
        optimism: whether the bonus of the first reading is added "beside" r, or to the mean "inside" it.
        capacity: the most users of each arm; by default there is no limit.
        may_stay: whether a user stays without an arm where that is worth more than all arms.

    Raises:
        InvalidInput: sizes below 1, capacities that are not whole or leave users without an arm, something other than
            an oracle or a function of matches, or a number of functions other than that of arms; from `pick`, other
            numbers of candidates.

    >>> from evenhand.welfare import Capped
    >>> choice = Allocate(users=2, arms=2, curve=Capped(1.0))
    >>> worth = Worth(np.array([[[0.9, 0.8, 0.9, 0.1]]]), np.zeros((1, 1, 4)))
    >>> offer = Offer(np.ones((1, 4), bool), worst=np.zeros((1, 4, 0)), left=np.zeros((1, 0)))
    >>> choice.pick(choice.start(1), worth, offer, np.zeros(1), np.zeros((1, 0))).plays  # not both to the first arm
    array([[1, 2]])
    """

    users: int
    arms: int
    curve: Curve
    oracle: Oracle = Priced()  # noqa: RUF009, immutable
    optimism: Literal["beside", "inside"] = "beside"
    capacity: tuple[int, ...] | None = None
    may_stay: bool = False
    goes_on: ClassVar[bool] = True
    reads_bonus = True

    def __post_init__(self) -> None:
        counts(self, {"users": 1, "arms": 1})
        one_of("Allocate.optimism", self.optimism, ("beside", "inside"))
        if self.capacity is not None:
            if len(self.capacity) != self.arms:
                raise InvalidInput("Allocate.capacity", f"{self.arms} numbers, one per arm", self.capacity)
            for room in self.capacity:
                whole("Allocate.capacity", room, 0)
            if sum(self.capacity) < self.users and not self.may_stay:
                expected = f"room for {self.users} users, or may_stay=True"
                raise InvalidInput("Allocate.capacity", expected, f"{self.capacity}, {sum(self.capacity)} in all")
        curves_of("Allocate.curve", self.curve, self.arms)
        if not isinstance(self.oracle, Oracle) or isinstance(self.oracle, type):
            raise InvalidInput("Allocate.oracle", "an oracle of evenhand.welfare, such as Priced()", repr(self.oracle))

    @property
    def n_plays(self) -> int:
        return self.users

    def draws(self, candidates: int) -> int:
        """The oracle's numbers, and one per user and arm, by which a plan mixes and ties are broken."""
        return self.oracle.draws(self.users, self._columns) + self.users * self.arms

    def start(self, n_replicas: int) -> AllocateState:
        return AllocateState(np.full((n_replicas, self._columns), -1.0))

    def pick(self, state: AllocateState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        """Choose, `(K,NA),(K,NA),(NA),(NA,d),(d),(),(draws)->(N),(N),(NA),()`; the lottery is not computed (NaN)."""
        if worth.mean.shape[2] != self.users * self.arms:
            expected = f"sizes whose product is the number of candidates, {worth.mean.shape[2]}"
            raise InvalidInput("Allocate.users, arms", expected, (self.users, self.arms))
        count = len(worth.mean)
        constant = np.zeros((count, 0)) if worth.constant is None else worth.constant
        sizes = self.users, self.arms, self._columns
        value, beside, eligible = _split(
            worth.mean, worth.bonus, offer.playable, constant, *sizes, self.optimism == "inside"
        )
        own = self.oracle.draws(self.users, self._columns)
        u, pairs = u[:, :own], u[:, own:].copy()
        unsure, some = np.zeros(count, bool), pairs.shape[1] > 0
        if worth.mix is not None and some:
            unsure = _mixture(*worth.mix, eligible, beside, self.arms, pairs)
        settles_ties, plain_beside, curves = some and own == 0, beside, plain(self._curves)
        beside = perturbation(value, beside, eligible, self.arms, pairs) if settles_ties else beside
        case = Round(value, beside, eligible, self._capacity)
        before = np.where(state.prices >= 0.0, state.prices, np.nan)
        chosen, chances, prices = self.oracle.allocate(case, self._curves, before, u)
        if settles_ties:
            unsure |= by_luck(value, plain_beside, eligible, self._capacity, curves, chosen)
        if offer.left.shape[1] > 0:
            _fit(value, beside, eligible, self._capacity, curves, offer.worst, offer.left, self.arms, chosen)
            if own:  # other draws may end in these plays as well
                unsure |= ~_always_fits(offer.playable, offer.worst, offer.left, self.arms)
        plays, propensities = _plays(chosen, chances, unsure, self.arms)
        lottery = np.full(offer.playable.shape, np.nan)
        forced = np.full(count, float(self.oracle.blind))
        return Pick(plays, propensities, lottery, forced, np.where(prices >= 0.0, prices, -1.0))

    def on_decision(self, state: AllocateState, decision: Decision) -> None:
        go_on(decision, state.prices)

    def at_random(self) -> Allocate:
        return replace(self, oracle=Anyone())

    @property
    def _columns(self) -> int:
        return self.arms + self.may_stay

    @cached_property
    def _capacity(self) -> Ints:
        room = self.capacity if self.capacity is not None else (self.users,) * self.arms
        return np.array((*room, self.users)[: self._columns])

    @cached_property
    def _curves(self) -> Curves:
        curves = self.curve.curves(self.arms)
        return join([curves, Linear().curves(1)]) if self.may_stay else curves
