"""The command line. Heavy imports wait until a command needs them, so that help appears at once."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from evenhand.cli_campaign import add_campaign, add_name, add_store
from evenhand.cli_completion import add as add_completion
from evenhand.cli_demo import demonstrate
from evenhand.cli_erasing import add as add_erasing
from evenhand.cli_keeping import add_keeping
from evenhand.cli_life import add_life
from evenhand.cli_new import add as add_new
from evenhand.cli_offline import add as add_offline
from evenhand.cli_order import refuse_swapped
from evenhand.cli_pool import add as add_pool
from evenhand.cli_problem import add as add_problem
from evenhand.cli_replay import add as add_replay
from evenhand.cli_reproduce import add as add_reproduce, add_experiment
from evenhand.cli_serve import add_serve, add_token
from evenhand.cli_start import WHAT, first_screen, grouped
from evenhand.cli_sweep import add as add_sweep
from evenhand.cli_systems import add as add_systems
from evenhand.cli_texts import EXPORT, OF_LOG, SWITCH, WARM
from evenhand.core.registry import meant
from evenhand.experiments.experiment import discover
from evenhand.version import __version__

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction["Parser"]

DEMO = "demo"  # the experiment with its own command


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the command, option or choice that was probably meant."""

    whole = ""  # a help that is written as a whole, in place of the one that argparse composes

    def format_help(self) -> str:
        return self.whole or super().format_help()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            guess = meant(value, action.choices or ())
            raise argparse.ArgumentError(action, f"{error.message}{guess}") from None

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type is not float:
                raise
            told = [f"expected a number, got {arg_string!r}"]
            if re.fullmatch(r"[-+]?\d*,\d+", arg_string):
                told.append(f"write {arg_string.replace(',', '.')}, with a decimal point")
            if "," in arg_string and isinstance(action, argparse._AppendAction):
                told.append(f"for several numbers, repeat {action.option_strings[0]}")
            raise argparse.ArgumentError(action, "; ".join(told)) from None

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """Exit with an error about the first unknown argument."""
        known = [option.lstrip("-") for option in self._option_string_actions]
        guess = meant(rest[0].split("=")[0].lstrip("-"), known).replace("mean ", "mean --")
        given = textwrap.shorten(" ".join(rest), 200)
        self.error(f"unrecognized arguments: {given}{guess if rest[0].startswith('-') else ''}")


def build() -> Parser:
    """Build the parser of all commands, one of them per experiment."""
    experiments = discover()
    parser = Parser(prog="evenhand", description=WHAT)
    parser.add_argument("--version", action="version", version=f"evenhand {__version__}")
    parser.set_defaults(run=_begin, parser=parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    add_experiment(commands, experiments[DEMO], _count).set_defaults(run=demonstrate)
    add_reproduce(commands, [e for name, e in experiments.items() if name != DEMO], _count)

    add_replay(lambda line, text: commands.add_parser("replay", help=line, description=text), _count)

    described = argparse.RawDescriptionHelpFormatter
    add_offline(
        lambda name, line, text: commands.add_parser(name, help=line, description=text, formatter_class=described),
        _count,
    )

    add_sweep(
        lambda line, text: commands.add_parser("sweep", help=line, description=text, formatter_class=described), _count
    )

    warm = commands.add_parser("warm", help="compile in advance, so that first decisions do not wait", description=WARM,
                               formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    warm.add_argument("problem", nargs="?", type=Path, default=None, metavar="PROBLEM.toml",
                      help="compile what a replay of this problem file needs, instead of the common parts")  # fmt: skip
    warm.set_defaults(run=_warm, parser=warm)

    add_serve(commands)
    add_token(commands)
    add_pool(commands)

    switch = commands.add_parser(
        "switch", help="continue with another problem file, while servers run", description=SWITCH
    )
    add_store(switch)
    switch.add_argument("problem", type=Path, metavar="PROBLEM.toml", help="the problem file that decides from now on")
    add_name(switch)
    switch.add_argument("--by", required=True, metavar="WHO", help="who asks for it, for the log")
    switch.add_argument("--why", required=True, metavar="TEXT", help="the reason, for the log")
    switch.add_argument("--expected", default=None, metavar="MARK",
                        help="refuse if the campaign no longer runs under the policy with this `mark` in its "
                        "report, because somebody else has switched it")  # fmt: skip
    switch.add_argument(
        "--log", type=Path, default=None, metavar="LOG.csv", help="the log that the policy learned from"
    )
    switch.set_defaults(run=_switch, parser=switch)

    add_problem(commands)

    audit = commands.add_parser("audit", help="recompute every decision of a live campaign", description=(
        "Recompute every decision of a campaign from the events before it, and name the first that differs. With "
        "the versions and the processor of the campaign, numbers are the same bit for bit."
    ))  # fmt: skip
    add_campaign(audit, _audit)
    audit.add_argument("--problem", type=Path, default=[], action="append", metavar="PROBLEM.toml",
                       help="in place of the problem files stored in the campaign (may be repeated)")  # fmt: skip
    audit.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help=OF_LOG)
    audit.add_argument("--tolerance", type=float, default=0.0, metavar="X",
                       help="relative tolerance of numbers, on another machine (default: 0)")  # fmt: skip

    audit.add_argument("--head", default=None, metavar="NUMBER:HASH",
                       help="an event that an earlier audit named: the log must still have it")  # fmt: skip
    audit.add_argument("--jobs", type=int, default=1, metavar="N",
                       help="processes that share the log, split at snapshots (default: 1)")  # fmt: skip

    add_life(commands)
    add_keeping(commands)
    add_erasing(commands)

    export = commands.add_parser("export", help="write the decisions of a live campaign to a file",
                                 description=EXPORT, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_campaign(export, _export)
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write; it is replaced")
    export.add_argument("--format", choices=("csv", "jsonl", "parquet", "obp", "vw"), default=None,
                        help="(default: given by the file extension)")  # fmt: skip
    export.add_argument("--outcome", default=None, metavar="NAME",
                        help="the reward, for obp and vw (default: what is maximised)")  # fmt: skip
    export.add_argument("--verbatim", action="store_true",
                        help="write texts of a CSV unchanged, even those that a spreadsheet would run")  # fmt: skip
    export.add_argument("--observed", action="store_true",
                        help="leave out decisions without an outcome, which no replay can use")  # fmt: skip

    report = commands.add_parser("report", help="write a page that shows the state of a live campaign", description=(
        "Write the page that `evenhand serve` shows, as one HTML file that loads nothing: budgets and their pace, "
        "constraints by group, actions over time, outcomes, and the latest decisions."
    ))  # fmt: skip
    add_campaign(report, _report)
    report.add_argument(
        "--out", type=Path, required=True, metavar="FILE.html", help="the file to write; it is replaced"
    )
    report.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help=OF_LOG)

    add_new(lambda name, line, text: commands.add_parser(name, help=line, description=text, formatter_class=described))
    add_systems(
        lambda name, line, text: commands.add_parser(name, help=line, description=text, formatter_class=described)
    )
    add_completion(
        lambda name, line, text: commands.add_parser(name, help=line, description=text, formatter_class=described),
        parser,
    )
    parser.whole = grouped(parser, commands, {n: e.title for n, e in experiments.items() if n != DEMO})
    return parser


def _count(text: str, least: int = 1) -> int:
    """Parse a whole number of at least `least`."""
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text!r}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options, rest = build().parse_known_args(arguments)
    if rest:
        options.parser.refuse(rest)
    from evenhand.core.errors import EvenhandError

    options.said = shlex.join(["evenhand", *(sys.argv[1:] if arguments is None else arguments)])  # for reports
    try:
        refuse_swapped(options)
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("evenhand: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("evenhand: not enough memory; take fewer replicas or rounds", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (EvenhandError, OSError) as error:  # for example a full disk
        print(f"evenhand: {error}", file=sys.stderr)
        return 2


def _begin(o: argparse.Namespace) -> int:
    print(first_screen())
    return 0


def _switch(o: argparse.Namespace) -> int:
    from evenhand.live.commands import switch_file

    found = switch_file(o.store, o.campaign, o.problem, o.log, o.by, o.why, o.expected)
    print("nothing to do: the campaign runs under this problem file" if found is None else found)
    return 0


def _audit(o: argparse.Namespace) -> int:
    from evenhand.live.commands import audit_files

    found = audit_files(o.store, o.campaign, o.problem, o.log, o.tolerance, o.head, o.jobs)
    print(found)
    return 0 if found.clean else 1


def _report(o: argparse.Namespace) -> int:
    from evenhand.live.commands import write_report

    write_report(o.store, o.campaign, o.out, o.log)
    print(f"written: {o.out}")
    return 0


def _export(o: argparse.Namespace) -> int:
    from evenhand.live.commands import write_decisions

    count = write_decisions(o.store, o.campaign, o.out, o.format, o.outcome, o.observed, o.verbatim)
    print(f"written: {o.out}, {count:,} decisions")
    return 0


def _warm(o: argparse.Namespace) -> int:
    from evenhand.replay.run import of_problem_file
    from evenhand.run.warm import common, warm

    print(warm(common() if o.problem is None else of_problem_file(o.problem)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
