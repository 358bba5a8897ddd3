"""`make bench`: what a round costs, beside a plain NumPy loop of the same mathematics, in one process and one run."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from evenhand.environments import Court
from evenhand.papers.court import model
from evenhand.policy import Policy
from evenhand.recipes import pgd, pgd_adaptive
from evenhand.simulation import play, simulate
from evenhand.summary import table
from tests.plain_court import numbers, run

ROUNDS = 10_000


def fastest(work: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of some runs: noise of a shared machine only ever adds."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    court = Court(horizon=ROUNDS)
    soft = pgd(court.problem, model(), gamma=0.02)
    hard = pgd(court.problem, model(), gamma=0.02, hard=True)
    adaptive = pgd_adaptive(court.problem, model())
    simulate(hard, court, replicas=2, progress=False)  # compiles
    simulate(adaptive, court, replicas=2, progress=False)
    luck = numbers(0, 0, ROUNDS)
    plain = 1e6 * fastest(lambda: run(luck, ROUNDS), 2) / ROUNDS

    def cost(policy: Policy, replicas: int) -> float:
        seconds = fastest(lambda: simulate(policy, court, replicas=replicas, progress=False), 3 if replicas < 50 else 2)
        return 1e6 * seconds / ROUNDS / replicas

    rows = [["plain NumPy loop, one run", f"{plain:.1f}", "1.0"]]
    for policy in (soft, hard, adaptive):
        for replicas in (1, 20, 100):
            each = cost(policy, replicas)
            rows.append([f"{policy.name}, {replicas} replicas", f"{each:.2f}", f"{plain / each:.1f}"])
    print(f"court, {ROUNDS} rounds, refits included; microseconds per replica and round\n")
    print(table(["", "microseconds", "times faster"], rows))
    early, late = halves(soft)
    print(f"\ncost of rounds 5,001-10,000 over that of rounds 1-5,000 (100 replicas): {late / early:.2f}")
    print(f"peak resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def halves(policy: Policy) -> tuple[float, float]:
    """Seconds of the first and the second half of a run: flat but for scheduled refits."""
    court = Court(horizon=ROUNDS)
    state = policy.start(replicas=100)
    rounds = play(policy, state, court.start(0, state.replicas), range(ROUNDS))
    marks = [time.perf_counter()]
    for r in rounds:
        if r.step in (ROUNDS // 2 - 1, ROUNDS - 1):
            marks.append(time.perf_counter())
    return marks[1] - marks[0], marks[2] - marks[1]


if __name__ == "__main__":
    main()
