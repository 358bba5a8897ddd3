"""The command that runs policies over a grid of settings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.run.sweeps import Sweep

ABOUT = """Run policies in an environment whose settings vary over a grid. The TOML file names all three:

    environment = "court"          # any of `evenhand systems`
    replicas = 20
    settings.horizon = 10000       # arguments of the environment that do not vary
    grid.ride = [0.02, 0.05, 0.1]  # those that do; grid.policy.KEY = [...] varies an argument of all recipes

    [[policy]]
    name = "resolving"
    [[policy]]
    name = "pgd"
    step = 0.01

A cell is one policy at one point of the grid. With --out each cell is kept as soon as it has finished: after Ctrl-C,
or if a process was killed, the same command continues. The numbers do not depend on --jobs; for models of a hundred
parameters and more, set OPENBLAS_NUM_THREADS, as rounding in BLAS depends on its number of threads."""


def add(parser_of: Callable[[str, str], argparse.ArgumentParser], count: Callable[..., int]) -> None:
    """Add the command; `parser_of` makes its parser of a line of help and a description."""
    sweep = parser_of("run policies over a grid of settings", ABOUT)
    sweep.add_argument("file", type=Path, metavar="SWEEP.toml", help="environment, grid and policies")
    sweep.add_argument("--replicas", type=count, default=None, metavar="R", help="in place of those of the file")
    sweep.add_argument("--seed", type=int, default=None, metavar="S", help="in place of that of the file")
    sweep.add_argument("--jobs", type=count, default=1, metavar="N", help="processes (default: 1)")
    sweep.add_argument("--out", type=Path, default=None, metavar="DIR",
                       help="keep cells here, and write sweep.csv, sweep.parquet and sweep.png")  # fmt: skip
    sweep.set_defaults(run=_sweep, parser=sweep)


def _sweep(o: argparse.Namespace) -> int:
    from dataclasses import replace

    from evenhand.core.extras import no_picture
    from evenhand.core.luck import check_seed
    from evenhand.core.validate import writable
    from evenhand.experiments.sweep_file import read_sweep

    told = read_sweep(o.file)
    given = {key: value for key, value in (("replicas", o.replicas), ("seed", o.seed)) if value is not None}
    told = replace(told, **given)
    check_seed(told.seed)
    kept = None if o.out is None else writable(o.out) / "cells"
    found = told.run(jobs=o.jobs, out=kept)
    if found.comparisons:
        print(found.table())
        print(f"per round; se: of the mean over {told.replicas} replicas; worst: the worst replica")
    if o.out is not None and found.comparisons:
        print("\n".join(filter(None, [f"written: {', '.join(map(str, _written(found, o.out)))}", no_picture()])))
    if not found.finished:
        print("INTERRUPTED: " + ("the same command goes on" if o.out else "with --out a sweep could go on"))
    return 0 if found.finished else 130


def _written(found: Sweep, out: Path) -> list[Path]:
    """Write sweep.csv, and sweep.parquet and sweep.png where what they need is installed; returns the files."""
    import csv

    from evenhand.core.extras import has_matplotlib, has_parquet
    from evenhand.core.files import beside

    written = [out / "sweep.csv"]
    with beside(written[0]) as path, path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(found.columns())
        rows.writerows(["" if value != value else value for value in row] for row in found.records())  # NaN: unknown
    if has_parquet():
        written.append(out / "sweep.parquet")
        with beside(written[-1]) as path:
            found.to_frame().to_parquet(path, index=False)
    if has_matplotlib():
        from evenhand.report.plots import save

        written.append(save(found.plot().axes, out / "sweep.png"))
    return written
