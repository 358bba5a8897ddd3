"""Welfare oracles on rounds of `Matching`: what they reach of the bound, and what they and a round of a run cost."""

from __future__ import annotations

import math
import time

import numpy as np

from evenhand.environments import Matching
from evenhand.models import Fixed, Logistic
from evenhand.policy.policy import Policy
from evenhand.recipes import cab_ucb
from evenhand.report.summary import table
from evenhand.run.simulation import simulate
from evenhand.welfare import (
    Capped,
    Curve,
    Greedy,
    Oracle,
    Priced,
    Round,
    Rounded,
    Sequential,
    bound,
    certificate,
    satisfaction,
)

SIZES = ((50, 10, 5.0, 0.5), (2000, 100, 20.0, 0.5), (2000, 100, 12.0, 1.0))  # users, arms, cap, popularity


def oracle_table() -> str:
    """Shares of the linear program's bound with 50 users, of the certified bound with 2,000."""
    rows = []
    for users, arms, cap, popularity in SIZES:
        world = Matching(users=users, arms=arms, popularity=popularity, curve=Capped(cap))
        small = users < 1000
        rounds = [_rounds(seed, world, 4) for seed in range(8 if small else 2)]
        limit, curves = bound if small else certificate, world.curve.curves(arms)
        tops = [[float(limit(case, curves)[0]) for case in cases] for cases in rounds]
        oracles: list[Oracle] = [Sequential(), Greedy(), Priced(), *([Rounded()] if small else [])]
        for oracle in oracles:
            name = f"{type(oracle).__name__}, {users:,} users, {arms} arms, cap {cap:g}, popularity {popularity:g}"
            rows.append([name, *_measured(oracle, rounds, tops, world.curve)])
    return table(["", "of bound, cold", "ms", "of bound, warm", "ms"], rows)


def loop_table() -> str:
    """A round of `cab_ucb`: the model's part, the rest of the policy, and the world with the trace, early and late."""
    rows = []
    for horizon in (1_000, 20_000):
        world = Matching(horizon=horizon)
        n = world.n_features
        policy = cab_ucb(
            world.problem, Logistic(n_features=n, ridge=float(n), width=Fixed(math.sqrt(n)), clipped=False)
        )
        simulate(policy, world, replicas=1, progress=False)  # compiles
        whole = 1e6 * min(_seconds(policy, world) for _ in range(2)) / horizon
        model, both = _of_policy(policy, world)
        rows.append([f"cab_ucb, {horizon:,} rounds", *(f"{z:.0f}" for z in (whole, model, both - model, whole - both))])
    return table(["50 users, 10 arms", "microseconds per round", "model", "rest of policy", "world and trace"], rows)


def _seconds(policy: Policy, world: Matching) -> float:
    start = time.perf_counter()
    simulate(policy, world, replicas=1, progress=False)
    return time.perf_counter() - start


def _of_policy(policy: Policy, world: Matching) -> tuple[float, float]:
    """Microseconds of a round that the model takes, and that the whole policy takes, over a run."""
    state, there, model, both = policy.start(), world.start(0, np.array([0])), 0.0, 0.0
    nothing = np.zeros((1, 0))
    for step in range(world.horizon):
        context = there.context(step)
        start = time.perf_counter()
        decision = policy.act(state, context)
        acted = time.perf_counter()
        _, (arrival,) = there.respond(step, context, decision)
        ready = time.perf_counter()
        policy.learn(state, decision, arrival.y)
        both += acted - start + time.perf_counter() - ready
        asked = time.perf_counter()
        policy.model.value(state.model, context.features, decision.prices, nothing)
        model += time.perf_counter() - asked
    return 1e6 * (model + _updates(policy, world)) / world.horizon, 1e6 * both / world.horizon


def _updates(policy: Policy, world: Matching) -> float:
    """Seconds in which the model alone learns what it learns in a run."""
    state, there, took = policy.start(), world.start(0, np.array([0])), 0.0
    alone = policy.model.start(1, world.problem.low, world.problem.high, world.horizon)
    for step in range(world.horizon):
        context = there.context(step)
        decision = policy.act(state, context)
        _, (arrival,) = there.respond(step, context, decision)
        policy.learn(state, decision, arrival.y)
        seen = np.ones(arrival.y.shape, bool)
        start = time.perf_counter()
        policy.model.update(alone, decision.features, arrival.y, seen, decision.prices)
        took += time.perf_counter() - start
    return took


def _rounds(seed: int, world: Matching, each: int) -> list[Round]:
    """Rounds of one replica at true means, which are warm starts for one another."""
    there = world.start(seed, np.array([0]))
    shape = (1, world.users, world.arms)
    rounds = []
    for step in range(each):
        context = there.context(step)
        mean = there.expected(context, np.arange(world.users * world.arms)[None])[:, :, 0].reshape(shape)
        capacity = np.full(world.arms, world.users)
        rounds.append(Round(np.ascontiguousarray(mean), np.zeros(shape), np.ones(shape, bool), capacity))
    return rounds


def _measured(oracle: Oracle, rounds: list[list[Round]], tops: list[list[float]], curve: Curve) -> list[str]:
    """Shares of the bound and milliseconds, of first rounds and of those after."""
    arms = rounds[0][0].value.shape[2]
    curves = curve.curves(arms)
    shares: tuple[list[float], list[float]] = ([], [])
    seconds: tuple[list[float], list[float]] = ([], [])
    for cases, limits in zip(rounds, tops, strict=True):
        prices = np.full((1, arms), np.nan)
        for i, (case, limit) in enumerate(zip(cases, limits, strict=True)):
            u = np.random.default_rng(i).random((1, oracle.draws(*case.value.shape[1:])))
            took = []
            for _ in range(3):
                start = time.perf_counter()
                found = oracle.allocate(case, curves, prices, u)
                took.append(time.perf_counter() - start)
            prices = found.prices
            played = np.take_along_axis(case.value[0], found.arms[0][:, None], 1)[:, 0]
            sums = np.bincount(found.arms[0], weights=played, minlength=arms)
            shares[i > 0].append(satisfaction(curve, sums).sum() / limit)
            seconds[i > 0].append(min(took))
    return [z for k in (0, 1) for z in (f"{np.mean(shares[k]):.4f}", f"{1e3 * np.median(seconds[k]):.2f}")]
