"""Draw docs/plans.png: `PYTHONPATH=. python docs/pictures/plans.py` (needs the extra `plot`; a minute of a core).

With `EVENHAND_KERNELS=compiled`, so that no time is that of interpreted kernels.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.plans import by_highs, given, problem, timed
from evenhand.report.plots import Curve, over_sweep, save

SIZES, SOLVED = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000), (1_000, 3_000, 10_000, 30_000)
OURS, THEIRS = "plan in passes", "whole program,\nby HiGHS"


def draw():
    """Seconds of a core against the number of contexts, on logarithmic scales."""
    found = {}
    for known, name in ((True, OURS), (False, "plan in passes,\ncosts by context")):
        asked = problem(known)
        timed(asked, given(asked, 1000))  # compiles
        found[name] = {n: timed(asked, given(asked, n))[0] for n in SIZES}
    asked, found[THEIRS] = problem(True), {}
    for n in SOLVED:
        some = given(asked, n)
        start = time.process_time()
        by_highs(asked, some)
        found[THEIRS][n] = time.process_time() - start
    curves = [Curve(name, list(by), np.array(list(by.values()))[:, None]) for name, by in found.items()]
    title = "10 actions, two budgets and a parity over three groups"
    once = "each point: measured once"
    return over_sweep(
        {title: curves}, "contexts", "seconds of a core", log="xy", headline=headline(found), caption=once
    )


def headline(found):
    """Say how far apart the plan and the solver are at the most contexts that both had."""
    n = max(set(found[OURS]) & set(found[THEIRS]))
    ours, theirs = found[OURS][n], found[THEIRS][n]
    told = f"Planning {n:,} contexts in passes takes {ours:.2f} s of a core"
    return f"{told}, and as a whole {theirs / ours:.0f} times as long"


if __name__ == "__main__":
    save(draw(), Path(__file__).parents[1] / "plans.png")
