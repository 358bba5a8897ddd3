"""The commands that read and change a live campaign, whose servers may run."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evenhand.cli.arguments import (
    AFTER,
    OF_LOG,
    add_campaign,
    add_command,
    add_name,
    add_reason,
    add_segments,
    add_store,
)
from evenhand.cli.output import add_json, answer, say
from evenhand.core.progress import SCREEN

if TYPE_CHECKING:
    from evenhand.cli.arguments import Commands

    Kind = Literal["paused", "resumed", "ended", "changed"]


SWITCH = """\
Continue with another problem file: other budgets, goals or settings, or an action that is added or withdrawn. What was
spent stays spent, and if the file allows it, prices and the model stay as well. Running servers read the file from the
log at their next request."""
PROBLEM = """\
Print the problem file that decides at present, as the log keeps it, also after somebody else switched. To change it:

  evenhand problem sqlite:///email.db > email.toml     and edit the file
  evenhand switch sqlite:///email.db email.toml --by WHO --why TEXT --expected MARK

The MARK is printed to stderr: the switch is then refused if somebody else was first."""
EXPORT = """\
Write the decisions of a campaign to a file, in a format that follows from its name:

  .csv .jsonl .parquet   a table: a row per decision, with its case, action, probability, state and outcomes.
                         `evenhand replay` reads the CSV of --observed, with the columns action, probability, and
                         "outcome NAME". Parquet needs evenhand[parquet]. `evenhand value STORE` needs no export.
  .npz (obp)             the logged bandit feedback of the Open Bandit Pipeline: dict(numpy.load(FILE)) has n_rounds,
                         n_actions, context, action, reward, position and pscore. The context is as the policy reads
                         it; in a campaign opened from Python, it is the numbers of the case.
  .vw .txt .dat (vw)     lines ACTION:COST:PROBABILITY | FEATURES for Vowpal Wabbit, `vw --cb K` with K actions. Actions
                         count from 1, and the cost is minus the outcome.

obp and vw have one outcome as the reward, and only the decisions that were observed and whose probability is known."""
ERASE = """\
Take the cases and keys of decisions out of the log of a campaign of a problem file, and out of the files of the store:
those of some keys or units, or all before a date. What was played, what it cost and its outcomes stay, so sums and
hashes do not change. Decisions that wait for their outcomes are refused by --key and --unit, and skipped by --before.

Earlier states can then no longer be computed: audit first. The campaign continues and can be switched. A policy that
adopts the state, as with another rate, total, horizon, objective or an appended action, keeps all that was learned;
another model, recipe or set of constraints keeps the books, and learns again from the decisions that are left.
Earlier backups and exports still contain what was erased. Without any of the three the files are cleaned again, as
after an erasure that was interrupted."""
AUDIT = """\
Recompute every decision of a campaign from the events before it, and name the first that differs. With the versions and
the processor of the campaign, numbers are the same bit for bit."""
REPORT = """\
Write the page that `evenhand serve` shows, as one HTML file that loads nothing: budgets and their pace, constraints by
group, actions over time, outcomes, and the latest decisions."""
_WARNING = (
    "note: after an erasure, a switch to another model, recipe or constraints keeps the books, but has to learn again "
    "from the decisions that are left; one to other groups or spans of time is refused"
)
_SERVERS = "Servers follow at their next request; the log records who asked and why."
_LIFE: dict[str, tuple[Kind, str, str]] = {
    "pause": (
        "paused",
        "make no decisions for now; outcomes still count",
        "New keys are refused until `evenhand resume`; repeated ones get their stored reply, and outcomes still count.",
    ),
    "resume": ("resumed", "decide again after a pause", "Decide again after `evenhand pause`."),
    "end": (
        "ended",
        "make no more decisions; outcomes still count",
        "New keys are refused for good: there is no way back. Outcomes still count.",
    ),
    "change": (
        "changed",
        "change patience, what happens to expired decisions, what follows the horizon, or the retention",
        "State one of --patience, --on-expiry, --after and --retention, or several. Waiting decisions keep the "
        "deadline that they were given; what expires from now on is treated as --on-expiry says.",
    ),
}


def add(commands: Commands) -> None:
    """Add the commands."""
    _add_switch(commands)
    _add_problem(commands)
    _add_audit(commands)
    _add_life(commands)
    _add_erase(commands)
    _add_export(commands)
    _add_report(commands)


def _add_switch(commands: Commands) -> None:
    switch = add_command(commands, "switch", "continue with another problem file, while servers run", SWITCH, _switch)
    add_store(switch)
    switch.add_argument("problem", type=Path, metavar="PROBLEM.toml", help="the problem file that decides from now on")
    add_name(switch)
    add_reason(switch)
    switch.add_argument("--expected", default=None, metavar="MARK",
                        help="refuse if the campaign no longer runs under the policy with this `mark` in its "
                        "report, because somebody else has switched it")  # fmt: skip
    switch.add_argument(
        "--log", type=Path, default=None, metavar="LOG.csv", help="the log that the policy learned from"
    )


def _add_problem(commands: Commands) -> None:
    line = "print the problem file of a live campaign, as it decides at present"
    add_campaign(add_command(commands, "problem", line, PROBLEM, _problem))


def _add_audit(commands: Commands) -> None:
    audit = add_command(commands, "audit", "recompute every decision of a live campaign", AUDIT, _audit)
    add_campaign(audit)
    audit.add_argument("--problem", type=Path, default=[], action="append", metavar="PROBLEM.toml",
                       help="in place of the problem files stored in the campaign (may be repeated)")  # fmt: skip
    add_json(audit)
    audit.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help=OF_LOG)
    audit.add_argument("--tolerance", type=float, default=0.0, metavar="X",
                       help="relative tolerance of numbers, on another machine (default: 0)")  # fmt: skip
    audit.add_argument("--head", default=None, metavar="NUMBER:HASH",
                       help="an event that an earlier audit named: the log must still have it")  # fmt: skip
    add_segments(audit)
    audit.add_argument("--jobs", type=int, default=1, metavar="N",
                       help="processes that share the log, split at snapshots (default: 1)")  # fmt: skip


def _add_life(commands: Commands) -> None:
    for command, (kind, line, text) in _LIFE.items():
        parser = add_command(commands, command, line, f"{text} {_SERVERS}", partial(_change, kind=kind))
        add_campaign(parser)
        add_reason(parser)
        if kind == "changed":
            parser.add_argument("--patience", type=float, default=None, metavar="SECONDS",
                                help="after which the outcome of a new decision is overdue")  # fmt: skip
            parser.add_argument("--on-expiry", choices=("hold", "fallback", "release"), default=None,
                                help="what happens to budgets held by decisions that become overdue")  # fmt: skip
            parser.add_argument("--retention", default=None, metavar="DAYS",
                                help='after which cases and keys are erased, such as "90 days", or "off"')  # fmt: skip
            parser.add_argument("--after", choices=("nothing", "stop", "go on"), default=None, help=AFTER)


def _add_erase(commands: Commands) -> None:
    erase = add_command(commands, "erase", "remove cases and keys from the log of a live campaign", ERASE, _erase)
    add_campaign(erase)
    chosen = erase.add_mutually_exclusive_group()
    chosen.add_argument(
        "--key", action="append", default=[], metavar="KEY", help="the key of a decision (may be repeated)"
    )
    chosen.add_argument("--unit", action="append", default=[], metavar="NAME",
                        help="a customer, or other unit, all of whose decisions go (may be repeated)")  # fmt: skip
    chosen.add_argument("--before", default=None, metavar="DATE",
                        help="all decisions before a date or time, such as 2026-01-31, in UTC")  # fmt: skip
    erase.add_argument("--by", default="", metavar="WHO", help="who asks for it, for the log; needed to erase")
    erase.add_argument("--why", default="", metavar="TEXT", help="the reason, for the log; needed to erase")
    erase.add_argument("--segments", type=Path, default=None, metavar="FOLDER",
                       help="where `evenhand seal` moved old events, which are erased there as well")  # fmt: skip
    erase.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help="the log that the policy learned from")


def _add_export(commands: Commands) -> None:
    export = add_command(commands, "export", "write the decisions of a live campaign to a file", EXPORT, _export)
    add_campaign(export)
    add_segments(export)
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write; it is replaced")
    export.add_argument("--format", choices=("csv", "jsonl", "parquet", "obp", "vw"), default=None,
                        help="(default: given by the file extension)")  # fmt: skip
    export.add_argument("--outcome", default=None, metavar="NAME",
                        help="the reward, for obp and vw (default: what is maximised)")  # fmt: skip
    export.add_argument("--verbatim", action="store_true",
                        help="write texts of a CSV unchanged, even those that a spreadsheet would run")  # fmt: skip
    export.add_argument("--observed", action="store_true",
                        help="leave out decisions without an outcome, which no replay can use")  # fmt: skip


def _add_report(commands: Commands) -> None:
    report = add_command(commands, "report", "write a page that shows the state of a live campaign", REPORT, _report)
    add_campaign(report)
    report.add_argument(
        "--out", type=Path, required=True, metavar="FILE.html", help="the file to write; it is replaced"
    )
    report.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help=OF_LOG)


def _switch(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import switch_file

    found = switch_file(o.store, o.campaign, o.problem, o.log, o.by, o.why, o.expected)
    print("nothing to do: the campaign runs under this problem file" if found is None else found)
    return 0


def _problem(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import stored_problem

    kept = stored_problem(o.store, o.campaign)
    for note in kept.notes():
        SCREEN.say(f"note: {note}")
    sys.stdout.buffer.write(kept.text.text.encode())  # as TOML has it: UTF-8, with its line ends
    return 0


def _audit(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import audit_files

    found = audit_files(o.store, o.campaign, o.problem, o.log, o.tolerance, o.head, o.jobs, o.segments)
    answer(o, found)
    return 0 if found.clean else 1


def _change(o: argparse.Namespace, kind: Kind) -> int:
    from evenhand.live.campaigns.commands import write_change
    from evenhand.live.fold.changes import Ask, days_of

    settings: tuple[Any, ...] = ()
    if kind == "changed":
        settings = o.patience, o.on_expiry, o.after, None if o.retention is None else days_of(o.retention)
    print(write_change(o.store, o.campaign, Ask(kind, o.by, o.why, *settings)))
    return 0


def _erase(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import erase_file

    if o.key or o.unit or o.before is not None:
        if not (o.by and o.why):
            o.parser.error("--by and --why: state who asks for it and why, for the log")
        SCREEN.say(_WARNING)
    print(erase_file(o.store, o.campaign, o.key, o.unit, o.before, (o.by, o.why), o.log, o.segments))
    return 0


def _export(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import write_decisions

    count = write_decisions(o.store, o.campaign, o.out, o.format, o.outcome, o.observed, o.verbatim, o.segments)
    say(o, f"written: {o.out}, {count:,} decisions")
    return 0


def _report(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import write_report

    write_report(o.store, o.campaign, o.out, o.log)
    say(o, f"written: {o.out}")
    return 0
