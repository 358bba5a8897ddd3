"""`make bench`: what a round costs, beside plain NumPy loops of the same mathematics, in one process and one run."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np

from benchmarks import allocations, blocks, dense, knapsacks, live, plain_ranking, plans, sweeps, wide
from benchmarks.plain_linucb import ARMS, FEATURES, WIDTH, PlainDisjoint, PlainLinUCB
from evenhand.core.records import Context
from evenhand.core.types import Floats
from evenhand.environments import Court, FixedContexts, MultiObjective
from evenhand.environments.base import Environment
from evenhand.experiments.court.study import model as tuned
from evenhand.experiments.square_cbwk.study import newton
from evenhand.models import BayesianLogistic, Fixed, Model, PerAction, Ridge, Scalarised
from evenhand.objectives import GeneralizedGini
from evenhand.objectives.smoothing import moreau_gradient
from evenhand.policy.policy import Policy
from evenhand.problem import Outcome, Problem
from evenhand.recipes import fw_linucb, pgd, pgd_adaptive, resolving, ucb
from evenhand.report.summary import table
from evenhand.run.simulation import play, simulate
from tests.experiments import plain_court, plain_square

ROUNDS = 10_000


def main() -> None:
    court = Court(horizon=ROUNDS)
    print(f"court, {ROUNDS} rounds, refits included; microseconds per replica and round\n")
    print(court_table(court))
    early, late = halves(pgd(court.problem, tuned(), step=0.02), court)
    print(f"\ncost of rounds 5,001-10,000 over that of rounds 1-5,000 (100 replicas): {late / early:.2f}")
    print("\nsquare_cbwk with Newton oracles, m = 52, K = 3, T = 2000; microseconds per replica and round played\n")
    print(square_table(FixedContexts()))
    print(f"\nLinUCB with {ARMS} arms and {FEATURES} features, one at a time; microseconds for act and learn\n")
    print(solo_table())
    print("\nten actions and dense features, by names, with the default model; milliseconds of a core\n")
    print(dense.dense_table())
    print("\nrankings of 10 out of m items whose exposures an objective reads; microseconds per replica and round\n")
    print(ranking_table())
    print("\nruns of one replica in compiled blocks of rounds; microseconds of a core per round\n")
    print(blocks.blocks_table())
    print("\nallocations: welfare oracles at true means, and a round of a run\n")
    print(allocations.oracle_table())
    print()
    print(allocations.loop_table())
    print("\nknapsacks of 50 arms and 10 budgets without contexts: a round, and one linear program; microseconds\n")
    print(knapsacks.round_table(cost))
    print()
    print(knapsacks.program_table())
    print("\nplans over contexts, 10 actions, two budgets and a parity over three groups\n")
    print(plans.plan_table())
    print()
    print(plans.parquet_table())
    print("\ncases of one level of many and an intercept, 10 actions; microseconds of a core for act and learn\n")
    print(wide.wide_table())
    print("\nsweeps of 80 cells\n")
    print(sweeps.sweep_table())
    print("\nconcave goals\n")
    print(goals_table())
    print("\ncampaigns of 3 actions and 20 features, in files of SQLite\n")
    live.main()
    print(f"\npeak resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def court_table(court: Court) -> str:
    """PGD beside its plain loop, and re-solving, which has none."""
    soft = pgd(court.problem, tuned(), step=0.02)
    hard = pgd(court.problem, tuned(), step=0.02, hard=True)
    adaptive = pgd_adaptive(court.problem, tuned())
    planner = resolving(court.problem, BayesianLogistic(n_features=5))
    for policy in (hard, adaptive, planner):
        simulate(policy, court, replicas=2, progress=False)  # compiles
    luck = plain_court.numbers(0, 0, ROUNDS)
    plain = 1e6 * fastest(lambda: plain_court.run(luck, ROUNDS), 2) / ROUNDS
    rows = [["plain NumPy loop of pgd, one run", f"{plain:.1f}", "1.0"]]
    for policy in (soft, hard, adaptive):
        for replicas in (1, 20, 100):
            each = cost(policy, court, replicas)
            rows.append([f"{policy.name}, {replicas} replicas", f"{each:.2f}", f"{plain / each:.1f}"])
    rows.append(["resolving, 100 replicas", f"{cost(planner, court, 100):.2f}", ""])
    return table(["", "microseconds", "times faster"], rows)


def square_table(world: FixedContexts) -> str:
    """Both stop when a budget is used up, after the same rounds, and only these are counted."""
    policy = newton(world, "row", "square_cbwk")
    size = world.dimension, world.arms, world.horizon
    rows, plain = [], 0.0
    for replicas in (10, 100):
        played = simulate(policy, world, replicas=replicas, progress=False).offered_steps.sum()  # compiles as well
        if not rows:
            lucks = [plain_square.numbers(0, i, world.horizon) for i in range(replicas)]
            plain = 1e6 * fastest(lambda lucks=lucks: [plain_square.run(luck, *size) for luck in lucks]) / played
            rows.append([f"plain NumPy loop, {replicas} runs", f"{plain:.1f}", "1.0"])
        each = 1e6 * fastest(lambda n=replicas: simulate(policy, world, replicas=n, progress=False)) / played
        rows.append([f"{policy.name}, {replicas} replicas", f"{each:.2f}", f"{plain / each:.1f}"])
    return table(["", "microseconds", "times faster"], rows)


def solo_table(rounds: int = 3000) -> str:
    """The policy beside plain loops, on contexts that were drawn before: shared coefficients, and own ones per arm."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(rounds, 1, ARMS, FEATURES)) / FEATURES**0.5, rng.random((rounds, 1, 1, 1))
    problem = Problem(
        actions=tuple(f"arm {a}" for a in range(ARMS)), outcomes=(Outcome("gain"),), maximize="gain", horizon=rounds
    )
    known, groups, offered = np.zeros((1, ARMS, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, ARMS), bool)
    case, arms = x[:, 0, 0], np.arange(ARMS)
    wide = np.einsum("ab,tn->tabn", np.eye(ARMS), case).reshape(rounds, 1, ARMS, -1)
    own = np.concatenate([np.tile(arms[:, None], (rounds, 1, 1, 1)), np.repeat(case[:, None, None], ARMS, 2)], 3)

    def ours(model: Model, features: Floats) -> float:
        policy = ucb(problem, model, warmup=0)

        def run() -> None:
            state = policy.start()
            for t in range(rounds):
                policy.learn(state, policy.act(state, Context(features[t], known, groups, offered)), y[t])

        run()  # compiles
        return fastest(run)

    def shared() -> None:
        model = PlainLinUCB()
        for t in range(rounds):
            a = model.act(x[t, 0])
            model.learn(x[t, 0, a], y[t, 0, 0, 0])

    def disjoint() -> None:
        model = PlainDisjoint()
        for t in range(rounds):
            model.learn(model.act(case[t]), case[t], y[t, 0, 0, 0])

    ridge = Ridge(n_features=FEATURES, width=Fixed(WIDTH))
    blocks = Ridge(n_features=ARMS * FEATURES, width=Fixed(WIDTH))
    seconds = {
        "shared coefficients: plain NumPy loop": fastest(shared),
        "shared coefficients: ucb": ours(ridge, x),
        "own ones per arm: plain NumPy loop": fastest(disjoint),
        "own ones per arm: ucb, as blocks": ours(blocks, wide),
        "own ones per arm: ucb, PerAction": ours(PerAction(inner=ridge, actions=ARMS), own),
    }
    plain = [seconds["own ones per arm: plain NumPy loop" if "own" in n else next(iter(seconds))] for n in seconds]
    rows = [[n, f"{1e6 * s / rounds:.1f}", f"{p / s:.2f}"] for (n, s), p in zip(seconds.items(), plain, strict=True)]
    return table(["", "microseconds", "times faster"], rows)


def ranking_table() -> str:
    """Runs with their traces, the world included, beside one compiled loop of the same kernels with the same books."""
    rows = []

    def add(name: str, each: float, plain: float) -> None:
        rows.append([name, f"{each:.1f}", f"{1e6 / each:,.0f}", f"{plain / each:.2f}"])

    for items, factors, horizon in ((50, 5, 4000), (50, 10, 4000), (2500, 5, 400)):
        world = plain_ranking.ranking(items, factors, horizon)
        plain_ranking.run(world, 2)  # compiles
        plain = 1e6 * fastest(lambda world=world: plain_ranking.run(world, world.horizon)) / horizon
        add(f"compiled loop, m = {items}, n = {factors**2}", plain, plain)
        for replicas in (1, 10) if items == 50 else (1,):
            each = cost(plain_ranking.policy(world), world, replicas)
            add(f"fw_linucb_rank, {replicas} replica{'s' * (replicas > 1)}", each, plain)
    return table(["", "microseconds", "rounds a second", "times faster"], rows)


def goals_table() -> str:
    """Frank-Wolfe on 50 arms, with a ridge per outcome and a scalarised one, and the smoothing of many outcomes."""
    rows = []
    for outcomes, kind, replicas in ((5, Ridge, 100), (5, Scalarised, 100), (10, Scalarised, 20)):
        world = MultiObjective(arms=50, n_outcomes=outcomes, horizon=500)
        model = kind(n_features=10, n_outcomes=outcomes, width=Fixed(0.1))
        policy = fw_linucb(world.problem, model, optimism="row" if kind is Ridge else "net")
        simulate(policy, world, replicas=2, progress=False)  # compiles
        each = f"{cost(policy, world, replicas):.1f} microseconds per replica and round"
        rows.append([f"fw_linucb, {kind.__name__}, {outcomes} outcomes, {replicas} replicas", each])
    gini = GeneralizedGini.welfare(tuple(map(str, range(1000))))
    z = np.random.default_rng(0).random((100, 1000))
    seconds = fastest(lambda: moreau_gradient(gini, z, 0.01))
    rows.append(["Moreau gradient of a Gini of 1,000 outcomes, 100 replicas", f"{1e3 * seconds:.2f} milliseconds"])
    return table(["", "cost"], rows)


def cost(policy: Policy, environment: Environment, replicas: int) -> float:
    """Microseconds per replica and round."""
    times = 3 if replicas < 50 else 2
    seconds = fastest(lambda: simulate(policy, environment, replicas=replicas, progress=False), times)
    return 1e6 * seconds / policy.problem.horizon / replicas


def fastest(work: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of some runs: noise of a shared machine only ever adds."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def halves(policy: Policy, court: Court) -> tuple[float, float]:
    """Seconds of the first and the second half of a run: flat but for scheduled refits."""
    state = policy.start(replicas=100)
    rounds = play(policy, state, court.start(0, state.replicas), range(ROUNDS))
    marks = [time.perf_counter()]
    for r in rounds:
        if r.step in (ROUNDS // 2 - 1, ROUNDS - 1):
            marks.append(time.perf_counter())
    return marks[1] - marks[0], marks[2] - marks[1]


if __name__ == "__main__":
    main()
