"""`python -m tests.many_worlds [REPLICAS [ROUNDS [ACTIONS]]]` prints the last two tables of docs/described.md."""

import resource
import sys
import time

import numpy as np

import evenhand as eh
from tests.described_worlds import TRAITS, Run, catalogue, problem
from tests.tables import decimal, head, row

FEATURES = (*(eh.Numeric(name, 0, 1) for name in "abc"), eh.Categorical("kind", ("w", "x", "y", "z")))
SHARED = 0.08 * np.random.default_rng(3).standard_normal((7, 1 + TRAITS))  # d = 6 and n = 5
SHARED[0, 0] = 0.4
MODELS = {"own parts apart": (True, True), "all covariances": (True, False), "names alone": (False, False)}


def cost(actions: int, rounds: int = 300) -> tuple[float, float]:
    """Milliseconds of the processor for a decision by name and its outcome, the median of the rounds, and megabytes."""
    world, spent, rng = catalogue(actions - 1, FEATURES, SHARED), [], np.random.default_rng(0)
    stated = problem(world, world.names, True, 10_000)
    policy = eh.ucb(stated, eh.models.advised(stated))
    state = policy.start()
    for t in range(rounds):
        case, before = {f"x{i}": float(z) for i, z in enumerate(rng.uniform(-1, 1, TRAITS))}, time.thread_time()
        policy.observe(state, policy.act(state, policy.encode(case)), {"good": float(t % 2)})
        spent.append(time.thread_time() - before)
    return 1e3 * float(np.median(spent)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main(replicas: int = 20, rounds: int = 500, actions: int = 100) -> None:
    head("actions", "ms", "MB")
    for size in (100, 1_000, 10_000):
        row(f"{size:,}", *(f"{z:.1f}" for z in cost(size)))
    print()
    run = Run(catalogue(actions - 1, FEATURES, SHARED), replicas, rounds)
    head("model", "worth of the best plays")
    for name, how in MODELS.items():
        plays, means = run.play(*how)
        earned = np.take_along_axis(means, plays[:, :, None], 2)
        row(name, decimal(float(earned.mean() / means.max(2).mean())))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
