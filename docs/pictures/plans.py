"""Draw docs/plans.png: `PYTHONPATH=. python docs/pictures/plans.py` (needs the extra `plot`; a minute of a core)."""

import time
from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks.plans import by_highs, given, problem, timed
from evenhand.report.plots import save

OURS, HIGHS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000), (1_000, 3_000, 10_000, 30_000)


def drawn():
    """Seconds of a core against the number of contexts, on logarithmic scales."""
    _, axes = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
    for known, name in ((True, "plan, known costs"), (False, "plan, costs by context")):
        asked = problem(known)
        timed(asked, given(asked, 1000))  # compiles
        axes.loglog(OURS, [timed(asked, given(asked, n))[0] for n in OURS], "o-", label=name)
    asked, seconds = problem(True), []
    for n in HIGHS:
        some = given(asked, n)
        start = time.process_time()
        by_highs(asked, some)
        seconds.append(time.process_time() - start)
    axes.loglog(HIGHS, seconds, "s--", color="gray", label="HiGHS, interior point")
    axes.set_xlabel("contexts, with 10 actions, two budgets and a parity over three groups")
    axes.set_ylabel("seconds of a core")
    axes.legend()
    return [axes]


if __name__ == "__main__":
    save(drawn(), Path(__file__).parents[1] / "plans.png")
