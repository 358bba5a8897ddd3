"""Constraints kept by prices that are solved for again and again, from what is left and who has come so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.directions import Directions, merge
from evenhand.errors import InvalidInput
from evenhand.goals.base import Ask
from evenhand.goals.linear import Linear
from evenhand.numerics.fluid import solve_fluid
from evenhand.numerics.kernel import kernel
from evenhand.problem import Problem
from evenhand.records import Context, Decision
from evenhand.rows import Rows
from evenhand.types import Bools, Floats, Ints


@dataclass
class ResolvingState:
    """Books, prices, and a bounded sample of the contexts that came."""

    mu: Floats  # (R, k) signed prices of the directions
    plan: Floats  # (R, k) consumption per round that the prices were to lead to
    spent: Floats  # (R, d) rows so far
    counted: Floats  # (R,) rounds whose outcomes arrived
    noise: Floats  # (R, k) and its mean square
    gap: Floats  # (R, k) consumption since the last solve, minus the plan
    since: Floats  # (R,) rounds that the gap sums up
    jump: Floats  # (R, k) largest consumption met in one round
    due: Floats  # (R,) decided rounds at which to solve next
    met: Ints  # (R,) contexts seen
    stride: Ints  # (R,) every how many of them is kept
    kept: Ints  # (R,)
    features: Floats  # (R, S, A, n) of the kept contexts; S and A grow as needed
    offered: Bools  # (R, S, A)
    worth: Floats  # (R, S, A) of known outcomes at the objective's prices
    price: Floats  # (R, S, k, M) of learned outcomes, per direction
    use: Floats  # (R, S, k, A) of known outcomes, per direction


@kernel
def _keep(
    rounds: Floats,
    met: Ints,
    stride: Ints,
    kept: Ints,
    x: Floats,
    offered: Bools,
    worth: Floats,
    price: Floats,
    use: Floats,
    store_x: Floats,
    store_offered: Bools,
    store_worth: Floats,
    store_price: Floats,
    store_use: Floats,
) -> None:
    """Keep every stride-th context; when there is no more room, keep every other of those that were kept."""
    room = store_x.shape[1]
    for r in range(len(rounds)):
        if rounds[r] == 0.0:
            continue
        if met[r] % stride[r] == 0:
            if kept[r] == room:
                for s in range((room + 1) // 2):
                    store_x[r, s] = store_x[r, 2 * s]
                    store_offered[r, s] = store_offered[r, 2 * s]
                    store_worth[r, s] = store_worth[r, 2 * s]
                    store_price[r, s] = store_price[r, 2 * s]
                    store_use[r, s] = store_use[r, 2 * s]
                kept[r] = (room + 1) // 2
                stride[r] *= 2
            if met[r] % stride[r] == 0:
                s = kept[r]
                store_x[r, s] = x[r]
                store_offered[r, s] = offered[r if len(offered) > 1 else 0]
                store_worth[r, s] = worth[r, 0]
                store_price[r, s] = price[r]
                store_use[r, s] = use[r]
                kept[r] += 1
        met[r] += 1


@kernel
def _add_learned(price: Floats, mean: Floats, use: Floats) -> Floats:
    """Consumption of known and learned outcomes together, `(S,k,M),(M,S*A),(S,k,A)->(S,k,A)`."""
    total = use.copy()
    actions = use.shape[3]
    for r in range(len(use)):
        for s in range(use.shape[1]):
            for i in range(use.shape[2]):
                for m in range(price.shape[3]):
                    if price[r, s, i, m] != 0.0:
                        for a in range(actions):
                            total[r, s, i, a] += price[r, s, i, m] * mean[r, m, s * actions + a]
    return total


@dataclass(frozen=True, kw_only=True, eq=False)
class Resolving:
    """Keep sums of rows within their totals: prices that are optimal for the rest, by the model and contexts so far.

    Equation: with rounds n and rows v so far, the prices solve the dual of the fluid problem on a sample of the
    contexts that came: max mean_s sum_a pi_sa r_hat(s, a) s.t. mean_s sum_a pi_sa v_hat(s, a) <= (T bound - v)/(T - n),
    with r_hat optimistic and v_hat plain; by a damped Newton method at falling temperatures, from the last prices.
    It is solved when the decided rounds, or those that are left, have changed by `growth`, at least every `every`
    rounds, and, looked at every ten, when consumption is off its plan by more than `drift` standard deviations.
    Source: evenhand's own (re-solving, as in network revenue management: Jasin & Kumar 2012), with learned rewards,
    costs and parity. The sample is every stride-th context, the stride doubling when there is no more room.

    Args:
        problem: for shares and horizon.
        objective: the goal that says what outcomes are worth.
        rows, bound: the constraints, on average v <= bound over the horizon.
        contexts: S, how many contexts are kept at most.
        growth: relative change after which to solve again.
        every: largest number of rounds between two solves.
        drift: standard deviations; infinite to switch the check off.
        temperatures: of the smoothed dual, falling, in units of the mean spread of rewards.

    Raises:
        InvalidInput: bounds of the wrong number, or numbers that are not positive.
    """

    problem: Problem
    objective: Linear
    rows: Rows
    bound: Floats
    contexts: int = 1000
    growth: float = 0.2
    every: int = 100
    drift: float = 4.0
    temperatures: tuple[float, ...] = (0.05, 0.0125)

    def __post_init__(self) -> None:
        if self.bound.shape != (len(self.rows),) or not np.isfinite(self.bound).all():
            raise InvalidInput("Resolving.bound", f"{len(self.rows)} finite numbers", self.bound)
        if self.contexts < 2 or self.every < 1:
            raise InvalidInput("Resolving.contexts, every", "at least 2 and 1", (self.contexts, self.every))
        if not (math.isfinite(self.growth) and self.growth > 0) or not self.drift > 0:
            raise InvalidInput("Resolving.growth, drift", "numbers above 0", (self.growth, self.drift))
        if not self.temperatures or not all(0 < t < math.inf for t in self.temperatures):
            raise InvalidInput("Resolving.temperatures", "finite numbers above 0", self.temperatures)

    def start(self, replicas: int) -> ResolvingState:
        """No contexts, no prices; sizes of the sample come with the first context."""
        d, k, m = len(self.rows), len(self._directions.first), len(self.problem.learned)
        return ResolvingState(
            mu=np.zeros((replicas, k)),
            plan=np.zeros((replicas, k)),
            noise=np.zeros((replicas, k)),
            spent=np.zeros((replicas, d)),
            counted=np.zeros(replicas),
            gap=np.zeros((replicas, k)),
            since=np.zeros(replicas),
            jump=np.zeros((replicas, k)),
            due=np.ones(replicas),
            met=np.zeros(replicas, np.int64),
            stride=np.ones(replicas, np.int64),
            kept=np.zeros(replicas, np.int64),
            features=np.zeros((replicas, 0, 0, 0)),
            offered=np.zeros((replicas, 0, 0), bool),
            worth=np.zeros((replicas, 0, 0)),
            price=np.zeros((replicas, 0, k, m)),
            use=np.zeros((replicas, 0, k, 0)),
        )

    def price(self, state: ResolvingState) -> tuple[Floats, Floats]:
        """Minus the prices of the rows as one reading, and lam.bound, `->(1,d),()`."""
        lam = self._directions.prices(state.mu)
        return -lam[:, None, :], (lam * self.bound).sum(1)

    def learned(self, state: ResolvingState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Enter (rounds, v) into the books, `(),(d)`; what was not observed counts as planned."""
        v = np.where(np.isnan(v), rounds[:, None] * self.bound, v)
        state.spent += v
        state.counted += rounds
        used, steered = v[:, self._directions.first], rounds * decision.steered
        state.gap += used * decision.steered[:, None] - steered[:, None] * state.plan
        state.since += steered
        np.maximum(state.jump, np.abs(used), out=state.jump)

    def look(self, state: ResolvingState, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        """Keep the context, and solve where that is due, `(),()`."""
        self._remember(state, context, decision)
        alive = (decision.rounds > 0) & (t < self.problem.horizon)
        planned = alive & (t >= state.due)
        due = planned | (alive & self._drifted(state, t))
        if not due.any():
            return
        used = int(state.kept.max())
        x = state.features[:, :used]
        count, _, actions, n = x.shape
        flat = x.reshape(count, used * actions, n)  # a copy, unless there is no more room
        mean, bonus = ask(flat, np.tile(self._asked, (count, 1, 1)))
        gain = state.worth[:, :used] + (mean[:, 0] + bonus[:, 0]).reshape(count, used, actions)
        gain = np.where(state.offered[:, :used], gain, -np.inf)
        use = state.use[:, :used]
        if self.rows.reads_learned:
            use = _add_learned(state.price[:, :used], mean[:, 1:], use)
        rest = np.maximum(self.problem.horizon - state.counted, 1.0)
        low, high = self._directions.bounds((self.problem.horizon * self.bound - state.spent) / rest[:, None])
        temperatures = np.array(self.temperatures)
        solve_fluid(gain, use, state.kept, due, state.mu, state.plan, state.noise, low, high, temperatures)
        left = self.problem.horizon - t
        wait = np.clip(np.floor(self.growth * np.minimum(t, left)), 1, self.every)
        state.due = np.where(planned, t + wait, state.due)  # drift leaves the plan alone: replicas stay in step
        state.gap[due] = 0.0
        state.since[due] = 0.0

    def _remember(self, state: ResolvingState, context: Context, decision: Decision) -> None:
        if state.features.shape[1] == 0:
            self._make_room(state, context.features.shape)
        count = len(state.met)
        _, worth = self.objective.rows.pull(context, decision.shares, self._tiled(self._weights, count))
        price, use = self.rows.pull(context, decision.shares, self._tiled(self._directions.select(), count))
        _keep(
            decision.rounds,
            state.met,
            state.stride,
            state.kept,
            context.features,
            context.offered,
            worth,
            price,
            use,
            state.features,
            state.offered,
            state.worth,
            state.price,
            state.use,
        )

    def _make_room(self, state: ResolvingState, shape: tuple[int, ...]) -> None:
        count, actions, n = shape
        room, k, m = min(self.contexts, self.problem.horizon), len(self._directions.first), len(self.problem.learned)
        state.features = np.zeros((count, room, actions, n))
        state.offered = np.zeros((count, room, actions), bool)
        state.worth = np.zeros((count, room, actions))
        state.price = np.zeros((count, room, k, m))
        state.use = np.zeros((count, room, k, actions))

    def _drifted(self, state: ResolvingState, t: Floats) -> Bools:
        look = np.asarray(t % 10 == 0)
        if not look.any():
            return look
        spread = np.sqrt(state.since[:, None] * state.noise + state.jump**2)
        return np.asarray(look & (np.abs(state.gap) > self.drift * spread).any(1))

    def _tiled(self, q: Floats, count: int) -> Floats:
        return np.tile(q, (count, 1, 1))

    @cached_property
    def _directions(self) -> Directions:
        return merge(self.problem, self.rows, self.bound)

    @cached_property
    def _weights(self) -> Floats:
        return np.array([self.objective.weights], float)

    @cached_property
    def _asked(self) -> Floats:
        """The objective's prices of learned outcomes, and each learned outcome by itself if rows read any."""
        one = (self._weights @ self.objective.rows.learned)[:1]
        m = len(self.problem.learned)
        return np.concatenate([one, np.eye(m)]) if self.rows.reads_learned else one
