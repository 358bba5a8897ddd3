"""The commands that simulate: the demonstration, experiments of papers, and sweeps over settings."""

from __future__ import annotations

import argparse
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.arguments import add_command, count
from evenhand.cli.output import add_json, answer, as_json, say
from evenhand.experiments.options import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.cli.arguments import Commands
    from evenhand.experiments.experiment import Experiment
    from evenhand.run.sweeps import Sweep

DEMO = "demo"  # the experiment with its own command
OUT = Path("evenhand-demo")  # its folder where none is stated
REPRODUCE = "run the experiment of a paper; court and square-cbwk print the published numbers beside ours"
NOTHING = "the following arguments are required: EXPERIMENT, or --list"
SWEEP = """Run policies in an environment whose settings vary over a grid. The TOML file names all three:

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


def add(commands: Commands, experiments: Mapping[str, type[Experiment]]) -> None:
    """Add the commands.

    Args:
        commands: of the command line.
        experiments: by name.
    """
    _add_experiment(commands, experiments[DEMO]).set_defaults(run=_demo)
    _add_reproduce(commands, [e for name, e in experiments.items() if name != DEMO])
    _add_sweep(commands)


def _add_reproduce(commands: Commands, experiments: Iterable[type[Experiment]]) -> None:
    text = f"{REPRODUCE[0].upper()}{REPRODUCE[1:]}."
    reproduce = add_command(commands, "reproduce", REPRODUCE, text, _list)
    reproduce.add_argument("--list", dest="listed", action="store_true",
                           help="list every published table and figure with the command that makes it; with an "
                           "experiment behind it, those that it makes")  # fmt: skip
    add_json(reproduce)
    names = reproduce.add_subparsers(dest="experiment", metavar="EXPERIMENT")
    for experiment in experiments:
        _add_experiment(names, experiment)


def _add_experiment(commands: Commands, experiment: type[Experiment]) -> argparse.ArgumentParser:
    """Add a command that runs an experiment, with its options."""
    parser = add_command(commands, experiment.name, experiment.title, experiment.about, _reproduce)
    for o in options(experiment):
        kind = partial(count, least=o.least) if o.kind is int and o.least is not None else o.kind
        shown = " and ".join(map(str, o.default)) if o.repeatable else str(o.default)
        about = [o.about] if o.about else []
        about += ["may be repeated"] if o.repeatable else []
        about += [f"default: {shown}"] if shown else []
        text = f"{about[0]} ({'; '.join(about[1:])})" if o.about and about[1:] else "; ".join(about)
        parser.add_argument(
            o.flag,
            dest=o.field,
            type=kind,
            default=None if o.repeatable else o.default,
            metavar=o.metavar,
            choices=o.choices,
            action="append" if o.repeatable else "store",
            help=text,
        )
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help="write results.json and plots here")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="save runs in DIR, finished or not; after an interruption, continue from them",
    )
    add_json(parser)
    parser.set_defaults(made=experiment)
    return parser


def _add_sweep(commands: Commands) -> None:
    sweep = add_command(commands, "sweep", "run policies over a grid of settings", SWEEP, _sweep)
    sweep.add_argument("file", type=Path, metavar="SWEEP.toml", help="environment, grid and policies")
    sweep.add_argument("--replicas", type=count, default=None, metavar="R", help="in place of those of the file")
    sweep.add_argument("--seed", type=int, default=None, metavar="S", help="in place of that of the file")
    sweep.add_argument("--jobs", type=count, default=1, metavar="N", help="processes (default: 1)")
    sweep.add_argument("--out", type=Path, default=None, metavar="DIR",
                       help="keep cells here, and write sweep.csv, sweep.parquet and sweep.png")  # fmt: skip
    add_json(sweep)


def _demo(o: argparse.Namespace) -> int:
    from evenhand.core.extras import has_matplotlib
    from evenhand.experiments.demo import PICTURE
    from evenhand.experiments.demo.findings import sentences
    from evenhand.experiments.loop import run

    out = OUT if o.out is None else o.out
    found = run(o.made(replicas=o.replicas, seed=o.seed, jobs=o.jobs), out=out, resume=o.resume, log=partial(say, o))
    if o.json:
        answer(o, found)
    if found.interrupted:
        return 130
    say(o, "\n" + "\n".join(textwrap.fill(sentence, 118) for sentence in sentences(found).split("\n")))
    if has_matplotlib():
        say(o, f"picture: {out / PICTURE}")
    return 0


def _reproduce(o: argparse.Namespace) -> int:
    from evenhand.experiments.loop import run

    if o.listed:
        return _list(o)
    given = {option.field: getattr(o, option.field) for option in options(o.made)}
    experiment = o.made(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if v is not None})
    found = run(experiment, out=o.out, resume=o.resume, log=partial(say, o))
    if o.json:
        answer(o, found)
    return 130 if found.interrupted else 0


def _list(o: argparse.Namespace) -> int:
    from evenhand.experiments.papers import exhibits, listing

    if not o.listed:
        o.parser.error(NOTHING)
    name = o.experiment or ""
    print(as_json([z._asdict() for z in exhibits(name)]) if o.json else listing(name))
    return 0


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
    if found.comparisons or o.json:
        about = f"per round; se: of the mean over {told.replicas} replicas; worst: the worst replica"
        answer(o, found, f"{found.table()}\n{about}")
    if o.out is not None and found.comparisons:
        say(o, "\n".join(filter(None, [f"written: {', '.join(map(str, _written(found, o.out)))}", no_picture()])))
    if not found.finished:
        say(o, "INTERRUPTED: " + ("the same command goes on" if o.out else "with --out a sweep could go on"))
    return 0 if found.finished else 130


def _written(found: Sweep, out: Path) -> list[Path]:
    """Write sweep.csv, and sweep.parquet and sweep.png where their packages are installed; returns the files."""
    import csv

    from evenhand.core.extras import has_matplotlib, has_parquet
    from evenhand.core.files import replacement

    written = [out / "sweep.csv"]
    with replacement(written[0]) as path, path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(found.columns())
        rows.writerows(["" if value != value else value for value in row] for row in found.records())  # NaN: unknown
    if has_parquet():
        written.append(out / "sweep.parquet")
        with replacement(written[-1]) as path:
            found.to_frame().to_parquet(path, index=False)
    if has_matplotlib():
        from evenhand.report.plots import save

        written.append(save(found.plot().axes, out / "sweep.png"))
    return written
