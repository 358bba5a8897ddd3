"""Plans over contexts in passes, beside HiGHS on the whole linear program where it fits."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

import evenhand as eh
from evenhand.core.types import Floats
from evenhand.offline import Plan, plan
from evenhand.report.summary import table

ACTIONS, TOWNS = 10, ("north", "east", "south")
NAMES = tuple(f"a{i}" for i in range(ACTIONS))
LETTERS, CALLS = NAMES[1:6], NAMES[6:]


def problem(known: bool) -> eh.Problem:
    """Two budgets and a parity over three towns; letters and calls cost the same for everybody, or not."""
    uses: tuple[eh.Outcome, ...] = (
        eh.Outcome("letters", high=2.0, free=tuple(a for a in NAMES if a not in LETTERS)),
        eh.Outcome("calls", high=2.0, free=tuple(a for a in NAMES if a not in CALLS)),
    )
    if known:
        uses = (
            eh.Outcome("letters", known=dict.fromkeys(LETTERS, 1.0)),
            eh.Outcome("calls", known=dict.fromkeys(CALLS, 1.0)),
        )
    return eh.Problem(
        actions=NAMES,
        outcomes=(eh.Outcome("sale"), *uses),
        maximize="sale",
        groups=(eh.Groups("town", TOWNS),),
        subject_to=(
            eh.Budget("letters", rate=0.15),
            eh.Budget("calls", rate=0.10),
            eh.Parity("letters", by="town", tolerance=0.01),
        ),
        horizon=1,
    )


def contexts(count: int, seed: int = 0) -> dict[str, Any]:
    """What every action brings, by a logistic function of four numbers, and what it costs."""
    luck, weights = np.random.default_rng(seed), np.random.default_rng(99).standard_normal((4, ACTIONS))
    town = luck.integers(0, 3, count)
    score = 0.6 * luck.standard_normal((count, 4)) @ weights - 1.5
    score += 0.5 * (town == 0)[:, None] * np.linspace(0.0, 1.0, ACTIONS)
    factor = luck.uniform(0.5, 1.5, (count, 1))
    costs = {o: factor * np.isin(NAMES, own) for o, own in (("letters", LETTERS), ("calls", CALLS))}
    found = {"sale": 1.0 / (1.0 + np.exp(-score)), **costs}
    return {"town": town} | {o: z.astype(np.float32) for o, z in found.items()}


def by_highs(asked: eh.Problem, given: dict[str, Any]) -> float:
    """The value of the best plan, by the linear program with a variable per context and action."""
    sale, town = given["sale"].astype(float), given["town"]
    count = len(sale)
    letters, calls = (given.get(o, np.isin(NAMES, own)[None]) for o, own in (("letters", LETTERS), ("calls", CALLS)))
    rows = [letters, calls]
    for g in range(3):
        apart = ((town == g) / (town == g).mean() - 1.0)[:, None] * letters
        rows += [apart, -apart]
    variables = np.arange(sale.size)
    above = csr_array(np.array([np.broadcast_to(z, sale.shape).ravel() for z in rows]) / count)
    one_each = csr_array((np.ones(sale.size), (variables // ACTIONS, variables)))
    bound: Floats = np.r_[0.15, 0.10, np.full(6, 0.01)]
    found = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        -sale.ravel() / count, above, bound, one_each, np.ones(count), method="highs-ipm"
    )
    return -float(found.fun)


def plan_table(largest: int = 1_000_000) -> str:
    """Seconds of a core for plans of 10 actions under two budgets and a parity, whose gap is at most 1e-6."""
    rows = []
    for known, name in ((True, "known costs"), (False, "costs by context")):
        asked = problem(known)
        plan(asked, given(asked, 1000))  # compiles
        for count in (largest // 100, largest // 10, largest):
            some = given(asked, count)
            seconds, found = timed(asked, some)
            highs = ""
            if count == largest // 100:
                start = time.process_time()
                apart = abs(by_highs(asked, some) / found.value - 1.0)
                highs = f"{time.process_time() - start:.1f} s, {apart:.0e} apart"
            rows.append([f"{name}, {count:,} contexts", f"{seconds:.2f}", f"{found.gap:.0e}", over(found), highs])
    return table(["", "seconds", "gap", "beyond limits", "HiGHS, interior point"], rows)


def parquet_table(files: int = 10, rows: int = 1_000_000) -> str:
    """The same from a folder of Parquet files that are written first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    asked = problem(True)
    with tempfile.TemporaryDirectory() as name:
        for i in range(files):
            some = contexts(rows, seed=i)
            columns = {f"sale_{a}": some["sale"][:, j] for j, a in enumerate(NAMES)}
            part = pa.table(columns | {"town": some["town"].astype(np.int8)})
            pq.write_table(part, Path(name) / f"{i:03}.parquet", compression="none", use_dictionary=False)
        seconds, found = timed(asked, name)
    told = f"{files * rows:,} contexts in {files} Parquet files"
    return table(["", "seconds", "gap", "beyond limits"], [[told, f"{seconds:.1f}", f"{found.gap:.0e}", over(found)]])


def given(asked: eh.Problem, count: int) -> dict[str, Any]:
    """The contexts with the outcomes that are not known."""
    return {name: z for name, z in contexts(count).items() if name not in asked.known}


def timed(asked: eh.Problem, some: Any) -> tuple[float, Plan]:
    """Plan, and count the seconds of the processor."""
    start = time.process_time()
    found = plan(asked, some)
    return time.process_time() - start, found


def over(found: Plan) -> str:
    """The largest use beyond a limit, as a part of it."""
    return f"{max(float((found.use / found.limits - 1.0).max()), 0.0):.0e}"


if __name__ == "__main__":
    most = int(sys.argv[1]) if sys.argv[1:] else 1_000_000
    print(plan_table(most))
    print()
    print(parquet_table(rows=most))
