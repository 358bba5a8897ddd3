"""Every kernel of a round beside a copy of the bytes that go in and come out: how far it is from what memory allows."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import plain_ranking
from benchmarks.peers_case import Case
from benchmarks.peers_evenhand import linucb
from benchmarks.peers_growth import Run
from benchmarks.peers_turns import Spread, by_turns, ratios, spread
from evenhand.core.kernel import Kernel, kernels
from evenhand.environments import Court
from evenhand.models import Fixed, Ridge
from evenhand.recipes import pgd
from evenhand.report.summary import table
from evenhand.run.simulation import play

Call = tuple[Any, tuple[Any, ...], Any]  # a kernel, its arguments and what it returned


def runs(replicas: int) -> dict[str, Run]:
    """Return the rounds whose kernels are measured."""
    case, court, world = Case(10, 50, 40), Court(horizon=100), plain_ranking.ranking(50, 5, 40)
    ridge = Ridge(n_features=5, width=Fixed(0.1))
    return {
        "LinUCB, A = 10, n = 50": (linucb(case), case.world, replicas),
        "court, pgd with hard budgets": (pgd(court.problem, ridge, hard=True, warmup=5), court, replicas),
        "rankings, m = 50, n = 25": (plain_ranking.policy(world), world, replicas),
    }


def measured(replicas: int, times: int, repeats: int = 50, of: dict[str, Run] | None = None) -> list[dict[str, Any]]:
    """Return a row per run and kernel: bytes, microseconds of the kernel and of the copy, and their ratio."""
    rows = []
    for title, run in (of or runs(replicas)).items():
        for name, (kernel, arguments, result) in _calls(run).items():
            size = _bytes((arguments, result))
            source = np.ones(max(size, 8), np.uint8)
            target = source.copy()

            def call(kernel: Any = kernel, arguments: Any = arguments) -> None:
                for _ in range(repeats):
                    kernel(*arguments)

            def floor(target: Any = target, source: Any = source) -> None:
                for _ in range(repeats):
                    np.copyto(target, source)

            seconds = by_turns({"kernel": lambda call=call: call, "copy": lambda floor=floor: floor}, times)
            micro = {k: Spread.of([1e6 * s / repeats for s in each]) for k, each in seconds.items()}
            rows.append(
                {
                    "run": title,
                    "kernel": name,
                    "replicas": replicas,
                    "bytes": size,
                    "microseconds": spread(micro["kernel"]),
                    "copy_microseconds": spread(micro["copy"]),
                    "times_copy": spread(ratios(seconds["kernel"], seconds["copy"])),
                }
            )
    return rows


def _calls(run: Run) -> dict[str, Call]:
    """The last call of every kernel that Python makes in a few rounds, with arguments of its own."""
    policy, world, replicas = run
    state = policy.start(replicas=replicas)
    rounds = play(policy, state, world.start(0, state.replicas), range(12))
    with kernels("compiled"):
        for _ in range(10):  # past the warm-up
            next(rounds)
    found: dict[str, Call] = {}
    with _noted(found):
        next(rounds)
    return found


@contextmanager
def _noted(found: dict[str, Call]) -> Iterator[None]:
    """Put a function that notes its arguments in the place of every kernel that is compiled."""
    places = [
        (module, name, thing)
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith(("evenhand.", "benchmarks."))
        for name, thing in list(vars(module).items())
        if isinstance(thing, Kernel) and thing.calls_code
    ]

    def noting(kernel: Kernel) -> Any:
        def call(*arguments: Any) -> Any:
            kept = copy.deepcopy(arguments)
            result = kernel(*arguments)
            label = f"{kernel.py_func.__module__.removeprefix('evenhand.')}.{kernel.py_func.__name__}"
            found[label] = kernel, kept, result
            return result

        return call

    try:
        for module, name, thing in places:
            setattr(module, name, noting(thing))
        yield
    finally:
        for module, name, thing in places:
            setattr(module, name, thing)


def _bytes(values: Any) -> int:
    """Bytes of all arrays, each counted once; what is broadcast along an axis counts once, too."""
    if isinstance(values, np.ndarray):
        kept = [size if stride else 1 for size, stride in zip(values.shape, values.strides, strict=True)]
        return int(np.prod(kept)) * values.itemsize if values.size else 0
    return sum(_bytes(z) for z in values) if isinstance(values, tuple | list) else 0


def text(rows: list[dict[str, Any]]) -> str:
    """Return the table of the kernels that take a twentieth or more of what all of a round take."""
    totals = {r["run"]: 0.0 for r in rows}
    for r in rows:
        totals[r["run"]] += r["microseconds"]["median"]
    cells = [
        [
            r["run"],
            r["kernel"],
            f"{r['bytes'] / 1e3:,.1f}",
            Spread(*r["microseconds"].values()).text(),
            Spread(*r["copy_microseconds"].values()).text(2),
            Spread(*r["times_copy"].values()).text(),
        ]
        for r in sorted(rows, key=lambda r: (r["run"], -r["microseconds"]["median"]))
        if r["microseconds"]["median"] >= 0.05 * totals[r["run"]]
    ]
    return table(["", "", "kB", "microseconds", "copy", "times the copy"], cells, left=2)
