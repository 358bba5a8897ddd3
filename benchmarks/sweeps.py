"""A sweep shared among two processes, beside half of the time of the same sweep in one."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import evenhand as eh
from evenhand.environments import Court
from evenhand.models import Logarithmic, Logistic
from evenhand.report.summary import table

TOLERANCES, STEPS, ROUNDS, REPLICAS = 20, 4, 1000, 5


def policies(problem: eh.Problem) -> list[eh.Policy]:
    """Four policies, which with twenty courts make eighty cells."""
    model = Logistic(n_features=5, width=Logarithmic(0.025))
    steps = (0.02 + 0.001 * i for i in range(STEPS))
    return [eh.pgd(problem, model, step=step, hard=True, name=f"pgd {step:.3f}") for step in steps]


def run(jobs: int, place: Path | None = None) -> float:
    """Seconds of a sweep."""
    courts = {x: Court(horizon=ROUNDS, tolerance=x) for x in (0.01 + 0.001 * i for i in range(TOLERANCES))}
    start = time.perf_counter()
    eh.sweep(policies, "tolerance", courts, replicas=REPLICAS, jobs=jobs, out=place, progress=False)
    return time.perf_counter() - start


def sweep_table() -> str:
    """Seconds by the number of processes, of whose start the first row has a part."""
    head = ["processes", "seconds", "over half of one process"]
    run(1)  # which loads machine code
    one = run(1)
    rows = [["1", f"{one:.2f}", ""], ["2, which start", f"{(two := run(2)):.2f}", f"{2.0 * two / one:.2f}"]]
    with tempfile.TemporaryDirectory() as place:
        two = run(2, Path(place))
        rows.append(["2, each cell kept", f"{two:.2f}", f"{2.0 * two / one:.2f}"])
        rows.append(["2, all cells there", f"{run(2, Path(place)):.2f}", ""])
    return table(head, rows)


if __name__ == "__main__":
    print(sweep_table())
