"""The command that runs the experiment of a paper, and lists every published table and figure."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

from evenhand.experiments.experiment import Experiment
from evenhand.experiments.options import options

P = TypeVar("P", bound=argparse.ArgumentParser)

LINE = "run the experiment of a paper; court and square-cbwk print the published numbers beside ours"
NOTHING = "the following arguments are required: EXPERIMENT, or --list"


def add(commands: argparse._SubParsersAction[P], experiments: Iterable[type[Experiment]],
        count: Callable[..., int]) -> None:  # fmt: skip
    """Add the command, with one below it for each experiment.

    Args:
        commands: of the command line.
        experiments: those of papers.
        count: parses a whole number of at least `least`.
    """
    reproduce = commands.add_parser("reproduce", help=LINE, description=f"{LINE[0].upper()}{LINE[1:]}.")
    reproduce.add_argument("--list", dest="listed", action="store_true",
                           help="list every published table and figure with the command that makes it; with an "
                           "experiment behind it, those that it makes")  # fmt: skip
    reproduce.set_defaults(run=_list, parser=reproduce)
    names = reproduce.add_subparsers(dest="experiment", metavar="EXPERIMENT")
    for experiment in experiments:
        add_experiment(names, experiment, count)


def add_experiment(commands: argparse._SubParsersAction[P], experiment: type[Experiment],
                   count: Callable[..., int]) -> P:  # fmt: skip
    """Add a command that runs an experiment, with its options; arguments as for `add`."""
    parser = commands.add_parser(experiment.name, help=experiment.title, description=experiment.about)
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
    parser.set_defaults(run=_reproduce, made=experiment, parser=parser)
    return parser


def _reproduce(o: argparse.Namespace) -> int:
    from evenhand.experiments.loop import run

    if o.listed:
        return _list(o)
    given = {option.field: getattr(o, option.field) for option in options(o.made)}
    experiment = o.made(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if v is not None})
    return 130 if run(experiment, out=o.out, resume=o.resume).interrupted else 0


def _list(o: argparse.Namespace) -> int:
    from evenhand.experiments.papers import listing

    if not o.listed:
        o.parser.error(NOTHING)
    print(listing(o.experiment or ""))
    return 0
