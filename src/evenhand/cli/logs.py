"""The commands that read a log: a problem file to begin with, values, curves, lists and replays."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.arguments import add_command, add_name, add_source, count, is_store, source_of
from evenhand.cli.output import add_json, answer, as_json, say
from evenhand.core.progress import SCREEN, Work

if TYPE_CHECKING:
    from evenhand.cli.arguments import Commands
    from evenhand.offline import Regressor, Saved
    from evenhand.report.results import Evaluation

VALUE = """\
What would fixed policies have been worth? Every row of a randomised log answers this for the action that was logged;
models of the outcomes, each fitted to other rows, answer it for the other actions, and their errors are corrected by
what was logged (doubly robust). The table has what was logged, every action for everybody, the policy that targets
within the budget of the file, and rules of your own:

  evenhand value LOG.csv --problem PROBLEM.toml --rule "letter where age < 40 and town = Bonn; else none"

The log may be the store of a campaign, whose decisions are read.
With --served, it also has the policy of a campaign as it stands, as if it stopped learning; its store is only read.
"""
DRAFT = """\
Draft a problem file from the header of a log and its rows: which columns are the action, its probability, outcomes and
features, how missing values are marked, and what is left to decide. Every key has a comment. Print it, or write it:

  evenhand draft LOG.csv --out PROBLEM.toml

For a first answer without editing the file, say what you want. Names are those of columns, without signs; a cost that
no column has is stated by action:

  evenhand draft LOG.csv --action offered --maximise "margin - cost" --budget cost=20000 --out PROBLEM.toml
  evenhand draft LOG.csv --maximise visit --budget mails=500 --known "mails: letter=1" --out PROBLEM.toml

A log of Vowpal Wabbit, as text or JSON, states the roles of its columns; its cost is minimised.
With --schema, print the JSON Schema of problem files, with which editors check and complete them.
"""
CURVE = """\
What is a larger budget worth, and what does targeting bring? The value of the best policy at every budget, beside
single actions for cases drawn at random, and beside targeting that is even between groups, each with its standard
error, and the paired differences of cases. The problem file needs a budget, such as one on a price per letter.

With --over, another limit of the file varies: a floor, a ratio, a tolerance, another budget. Its name is that which
notes state with its price, and an unknown name lists those that there are; --at and --budgets are then its numbers:

  evenhand curve LOG.csv --problem PROBLEM.toml --over "sale per case, at least" --at 0.1 --at 0.2
"""
RULES = """\
Which rule that people can read and check is the best? A tree of depth 2 has up to four kinds of cases, each with an
action, and keeps to the limits of the file on averages, such as budgets, floors and parities. The search is exact; the
value of the rule is that of rules which are learned from a part of the log each and valued on the rest. Beside it are
what was logged, single actions and the targeted policy, and so what being readable costs:

  evenhand rules LOG.csv --problem PROBLEM.toml --depth 2

The rule is printed as `evenhand value --rule` reads it, so that it can be changed by hand and valued.
"""
ASSIGN = """\
Who gets what in the next list? Models of a randomised log predict what each action would bring in every case, and the
best use of the budget over the whole list is found, evenly between groups if the problem file has a parity. The table
that is written has a row per case: its columns, the action, the probability with which it was drawn, and the expected
outcomes. With a holdout, a lottery decides some cases, so that `evenhand value` can evaluate the list afterwards; what
it costs is said. It may be the action that does nothing, the lottery of the plan, or any action alike:

  evenhand assign CASES.csv --problem PROBLEM.toml --learn-from LOG.csv --holdout 0.1 --lottery none --out LIST.csv
"""

REPLAY = """\
Unbiased replay by rejection: a row counts when the policy chooses what was logged. The TOML file names the columns,
outcomes, costs, constraints, the objective, the policy and the horizon; examples/email.toml is one. Several policies
or budgets make one table, with paired differences.
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    _add_draft(commands)
    _add_value(commands)
    _add_curve(commands)
    _add_rules(commands)
    _add_assign(commands)
    _add_replay(commands)


def _add_draft(commands: Commands) -> None:
    draft = add_command(commands, "draft", "a problem file to begin with, from the header of a log", DRAFT, _draft)
    what = draft.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "log", nargs="?", type=Path, default=None, metavar="LOG", help="a file, a folder, or - for the standard input"
    )
    what.add_argument("--schema", action="store_true", help="print the JSON Schema of problem files instead")
    draft.add_argument("--action", default=None, metavar="COLUMN", help="the column of the action (default: guessed)")
    draft.add_argument("--maximise", "--maximize", dest="maximize", default=None, metavar="OUTCOMES",
                       help="columns joined by signs, such as 'margin - 0.5 * cost' (default: guessed)")  # fmt: skip
    draft.add_argument("--budget", type=_amount, action="append", default=[], metavar="OUTCOME=TOTAL",
                       help="at most so much of it for all rows of the log (may be repeated)")  # fmt: skip
    draft.add_argument("--known", type=_known, action="append", default=[], metavar="'OUTCOME: ACTION=X, ...'",
                       help="a cost that no column has, 0 under other actions (may be repeated)")  # fmt: skip
    draft.add_argument("--unit", default=None, metavar="UNIT", help="what is maximised is counted in, such as euros")
    draft.add_argument("--out", type=Path, default=None, metavar="FILE.toml", help="a new file (default: print it)")


def _add_value(commands: Commands) -> None:
    line = "what policies and rules would have been worth, from a randomised log"
    value = add_command(commands, "value", line, VALUE, _value)
    _shared(value)
    value.add_argument(
        "--rule", action="append", default=[], metavar="RULE", help="in words, as above (may be repeated)"
    )
    value.add_argument(
        "--anytime",
        type=int,
        metavar="CASES",
        help="also state intervals that hold at any time, for a log that grows and is looked at again; "
        "they are the narrowest at so many cases, a number to be chosen before the first look",
    )
    value.add_argument("--estimator", action="append", default=[], metavar="NAME",
                       help="a column of another estimator, such as dros; `evenhand systems --kind estimator` lists "
                       "them (may be repeated)")  # fmt: skip
    _add_baseline(value, "an action, such as one that does nothing, or a rule (default: as logged)")
    value.add_argument("--served", default=None, metavar="STORE",
                       help="the store of a campaign, such as sqlite:///email.db")  # fmt: skip
    add_name(value, "such a store")
    value.add_argument("--for-whom", action="store_true",
                       help="also show who gets what under the targeted policy within all limits, "
                       "and how much each feature adds")  # fmt: skip


def _add_curve(commands: Commands) -> None:
    line = "value against budget, and what targeting and fairness are worth, from a log"
    curve = add_command(commands, "curve", line, CURVE, _curve)
    _shared(curve)
    add_name(curve, "that store")
    curve.add_argument("--budgets", type=count, default=20, metavar="N", help="how many budgets (default: 20)")
    curve.add_argument("--at", type=float, action="append", default=[], metavar="B",
                       help="a budget per case, in place of evenly spaced ones (may be repeated)")  # fmt: skip
    curve.add_argument("--over", default=None, metavar="LIMIT",
                       help="another limit of the file in place of its first budget, as above")  # fmt: skip
    _add_baseline(curve, "an action, such as one that does nothing, or 'as logged' (default: the best untargeted line)")
    curve.add_argument("--tolerance", type=float, action="append", default=[], metavar="X",
                       help="how far groups may differ, in place of the file's parity (may be repeated)")  # fmt: skip


def _add_rules(commands: Commands) -> None:
    line = "the best rule that people can read, within a budget, from a log"
    rules = add_command(commands, "rules", line, RULES, _rules)
    _shared(rules)
    add_name(rules, "that store")
    rules.add_argument("--depth", type=int, choices=(1, 2), default=2, metavar="D",
                       help="1 for two kinds of cases, 2 for up to four (default: 2)")  # fmt: skip
    rules.add_argument("--cuts", type=count, default=64, metavar="C",
                       help="values of a feature at which cases may be divided, at most (default: 64)")  # fmt: skip


def _add_assign(commands: Commands) -> None:
    line = "who gets what in the next list, according to a randomised log"
    assign = add_command(commands, "assign", line, ASSIGN, _assign)
    assign.add_argument("cases", type=Path, metavar="CASES.csv", help="the list: its features, groups and known costs")
    assign.add_argument("--problem", type=Path, required=True, metavar="PROBLEM.toml", help="what columns mean")
    assign.add_argument("--learn-from", type=Path, required=True, metavar="LOG.csv", help="a randomised log")
    assign.add_argument("--budget", type=float, default=None, metavar="B",
                        help="for the whole list (default: the amount per case in the problem file)")  # fmt: skip
    assign.add_argument("--holdout", type=float, default=0.0, metavar="H",
                        help="the share of cases that a lottery decides (default: 0)")  # fmt: skip
    assign.add_argument("--lottery", default="uniform", metavar="L",
                        help="of these: uniform, plan for that of the plan, or an action, such as one that does "
                        "nothing; or chances, such as none=0.8,letter=0.2 (default: uniform)")  # fmt: skip
    _add_baseline(assign, "an action for all cases, such as one that does nothing (default: none is compared)")
    assign.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all random numbers (default: 0)")
    _modelled(assign)
    assign.add_argument("--out", type=Path, required=True, metavar="FILE.csv",
                        help="the file to write, or FILE.parquet; it is replaced")  # fmt: skip
    add_json(assign)
    assign.add_argument("--verbatim", action="store_true",
                        help="leave texts that a spreadsheet would run unchanged, for use by a program")  # fmt: skip


def _add_replay(commands: Commands) -> None:
    line = "run policies on a log whose actions were randomised"
    replay = add_command(commands, "replay", line, REPLAY, _replay)
    add_source(replay)
    add_name(replay, "that store")
    replay.add_argument("--problem", type=Path, required=True, metavar="PROBLEM.toml", help="what its columns mean")
    replay.add_argument("--policy", default=None, metavar="NAME",
                        help="any recipe, such as pgd or resolving, or several separated by commas "
                             "(default: the one in the problem file)")  # fmt: skip
    replay.add_argument("--rates", type=_rates, default=None, metavar="X,Y",
                        help="budgets per round, in place of the one in the file, or FROM:TO:COUNT")  # fmt: skip
    replay.add_argument("--replicas", type=count, default=20, metavar="R", help="shuffles of the log (default: 20)")
    replay.add_argument("--bootstrap", type=partial(count, least=0), default=40, metavar="N",
                        help="resamples of the rows, for standard errors (default: 40; 0 for none)")  # fmt: skip
    replay.add_argument("--errors", action="store_true",
                        help="tables of one policy with all errors")  # fmt: skip
    add_json(replay)
    replay.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all random numbers (default: 0)")
    replay.add_argument("--jobs", type=count, default=1, metavar="N",
                        help="processes; the results do not depend on their number (default: 1)")  # fmt: skip
    replay.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="write report.html, results.json and a picture here"
    )
    replay.add_argument(
        "--resume",
        action="store_true",
        help="save runs in DIR, finished or not; after an interruption, continue from them",
    )


def _add_baseline(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--baseline", default=None, metavar="NAME", help=f"state results beyond it: {what}")


def _shared(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument("--problem", type=Path, required=True, metavar="PROBLEM.toml", help="what its columns mean")
    parser.add_argument(
        "--folds",
        type=count,
        default=5,
        metavar="K",
        help="parts of the log, 3 or more, each predicted by models of the others (default: 5)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="seed of the assignment of rows to parts (default: 0)"
    )
    _modelled(parser)
    add_json(parser)
    parser.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="write report.html, results.json and tables here"
    )


def _show(found: Evaluation, o: argparse.Namespace, more: str = "", text: str | None = None) -> int:
    """Print a result as text or JSON, and write its files."""
    files = [] if o.out is None else found.write(o.out, o.said)
    answer(o, found, text)
    if more and not o.quiet:
        say(o, more)
    return _written(o, files, 130 if found.interrupted else 0)


def _modelled(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=("ridge", "logistic", "stack"), default="ridge",
                        help="the model of outcomes; logistic for those that are 0 or 1; stack adds boosted trees, "
                             "which see interactions and take much longer (default: ridge)")  # fmt: skip


def _model(o: argparse.Namespace) -> Callable[[], Regressor]:
    from evenhand.offline import Logistic, RidgeByErrors, Stack

    models: dict[str, Callable[[], Regressor]] = {"ridge": RidgeByErrors, "logistic": Logistic, "stack": Stack}
    return models[o.model]


def _draft(o: argparse.Namespace) -> int:
    if o.schema:
        from evenhand.logs.schema import schema

        print(as_json(schema()))
        return 0
    from evenhand.replay import draft

    found = draft(o.log, action=o.action, maximize=o.maximize, budgets=dict(o.budget), known=dict(o.known), unit=o.unit)
    if o.out is None:
        print(found, end="")
        return 0
    written = found.write(o.out)
    if o.quiet:
        return 0
    print(f"written: {written}\n")
    for title, sentences in (("guessed", found.guessed), ("to decide", found.open)):
        print("\n".join([f"{title}:", *(f"- {sentence}" for sentence in sentences or ["nothing"])]))
    if o.maximize is not None and not found.open:
        log, problem = (shlex.quote(str(path)) for path in (o.log, o.out))
        print(f"\nnext:\n  evenhand value {log} --problem {problem}")
        if o.budget:
            print(f"  evenhand curve {log} --problem {problem}")
            print(f"  evenhand assign CASES.csv --problem {problem} --learn-from {log} --out LIST.csv")
    return 0


def _value(o: argparse.Namespace) -> int:
    from evenhand.core.validate import whole, writable
    from evenhand.offline import Evidence, for_whom, value
    from evenhand.offline.estimators.base import columns_of
    from evenhand.offline.policies import LOGGED

    columns_of(o.estimator)  # before the log is read
    if o.anytime is not None:
        whole("anytime", o.anytime, 1)
    policies = _served(o)
    log_of = None if o.served is not None and not is_store(o.log) else o.campaign  # else it names that of --served
    with Work("value"):
        evidence = Evidence.read(source_of(o.log, log_of), o.problem)
        if o.for_whom:
            evidence.refuse_weights("--for-whom")
        if o.out is not None:
            writable(o.out)
        found = value(
            evidence,
            rules=o.rule,
            policies=policies,
            folds=o.folds,
            seed=o.seed,
            model=_model(o),
            estimators=o.estimator,
            baseline=o.baseline or LOGGED,
        )
        if o.anytime is not None:
            found = found.at_any_time(o.anytime)
        if o.for_whom:
            found = replace(found, whom=for_whom(evidence, folds=o.folds, seed=o.seed, model=_model(o)))
    return _show(found, o)


def _served(o: argparse.Namespace) -> dict[str, Saved]:
    if o.served is None:
        return {}
    from evenhand.live.campaigns.commands import served

    return {"as served": served(o.served, o.campaign)}


def _curve(o: argparse.Namespace) -> int:
    from evenhand.core.validate import writable
    from evenhand.offline import curve

    if o.out is not None:
        writable(o.out)
    budgets = sorted(set(o.at)) or o.budgets
    with Work("curve"):
        found = curve(
            source_of(o.log, o.campaign),
            o.problem,
            budgets=budgets,
            tolerances=o.tolerance,
            over=o.over,
            baseline=o.baseline,
            folds=o.folds,
            seed=o.seed,
            model=_model(o),
        )
    return _show(found, o)


def _rules(o: argparse.Namespace) -> int:
    from evenhand.core.validate import writable
    from evenhand.offline import rules

    if o.out is not None:
        writable(o.out)
    with Work("rules"):
        log = source_of(o.log, o.campaign)
        found = rules(log, o.problem, depth=o.depth, cuts=o.cuts, folds=o.folds, seed=o.seed, model=_model(o))
    again = ["evenhand", "value", str(o.log), "--problem", str(o.problem), "--rule", found.rule]
    return _show(found, o, f"\nto value it, as it is or changed: {shlex.join(again)}")


def _assign(o: argparse.Namespace) -> int:
    from evenhand.core.errors import InvalidInput
    from evenhand.offline import assign
    from evenhand.offline.lists.table import check

    if o.out.resolve() in {path.resolve() for path in (o.cases, o.problem, o.learn_from)}:
        raise InvalidInput("out", "a file other than those that are read", o.out)
    if not o.out.parent.is_dir():
        raise InvalidInput("out", "a file in an existing folder", o.out)
    report = o.out.with_suffix(".html")
    if report == o.out:
        raise InvalidInput("out", "a name that does not end in .html, which is the name of its report", o.out.name)
    check(o.out)
    with Work("assign"):
        found = assign(
            o.cases,
            o.problem,
            learn_from=o.learn_from,
            budget=o.budget,
            holdout=o.holdout,
            lottery=_lottery(o.lottery),
            baseline=o.baseline,
            seed=o.seed,
            model=_model(o),
        )
    files = [found.write(o.out, verbatim=o.verbatim), found.page(o.said).write(report)]
    answer(o, found)
    return _written(o, files)


def _lottery(text: str) -> str | dict[str, float]:
    """Read a lottery: chances by action, or a name."""
    from evenhand.core.errors import InvalidInput

    if "=" not in text:
        return text
    found = dict[str, float]()
    for part in text.split(","):
        action, _, chance = part.rpartition("=")
        try:
            found[action.strip()] = float(chance)
        except ValueError:
            raise InvalidInput("lottery", "chances by action, such as none=0.8,letter=0.2", text) from None
    return found


def _amount(text: str) -> tuple[str, float]:
    """Read an outcome and a number.

    >>> _amount("cost (€)=20000")
    ('cost (€)', 20000.0)
    """
    name, _, value = text.rpartition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a name and a number, such as cost=20000, got {text!r}") from None


def _known(text: str) -> tuple[str, dict[str, float]]:
    """Read the values of an outcome by action.

    >>> _known("cost: call=7.1, gift=12")
    ('cost', {'call': 7.1, 'gift': 12.0})
    """
    name, colon, values = text.rpartition(":")
    if not colon:
        expected = "expected an outcome and its values by action, such as 'cost: call=7.1, gift=12'"
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return name.strip(), dict(map(_amount, values.split(",")))


def _written(o: argparse.Namespace, files: list[Path], status: int = 0) -> int:
    if files:
        say(o, f"\nwritten: {', '.join(map(str, files))}")
    return status


def _rates(text: str) -> list[float]:
    """Read budgets: numbers with commas between, or FROM:TO:COUNT.

    >>> _rates("0.1,0.3"), _rates("0.1:0.3:3")
    ([0.1, 0.3], [0.1, 0.2, 0.3])
    """
    try:
        if ":" in text:
            first, last, number = text.split(":")
            steps = int(number)
            if not 2 <= steps <= 1000:
                raise ValueError
            step = (float(last) - float(first)) / (steps - 1)
            found = [round(float(first) + i * step, 12) for i in range(steps)]
        else:
            found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0.0 < rate < float("inf") for rate in found):
        expected = "expected numbers above 0 separated by commas, or FROM:TO:COUNT"
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return found


def _replay(o: argparse.Namespace) -> int:
    from evenhand.core.errors import InvalidInput
    from evenhand.core.validate import writable
    from evenhand.replay.execution import Execution, Runs

    if o.resume and o.out is None:
        raise InvalidInput("resume", "a folder --out, in which runs are kept", "none")
    keep = None if o.out is None or not o.resume else writable(o.out) / "traces"
    runs = Runs(replicas=o.replicas, bootstrap=o.bootstrap, seed=o.seed)
    how = Execution(jobs=o.jobs, keep=keep, tell=SCREEN.say)
    names = o.policy.split(",") if o.policy else []
    log = source_of(o.log, o.campaign)
    if o.out is not None:
        writable(o.out)
    if len(names) > 1 or o.rates:
        if o.errors:
            raise InvalidInput("errors", "one policy and the budget of its file, whose tables have them", "several")
        from evenhand.replay.run import replay_several

        several = replay_several(log, o.problem, policies=names, rates=o.rates or (), runs=runs, how=how)
        return _show(several, o)
    from evenhand.replay.run import replay_files

    found = replay_files(log, o.problem, o.policy, runs, how)
    return _show(found, o, text=found.text(errors=o.errors))
