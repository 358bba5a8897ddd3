"""The command that runs policies on a log."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evenhand.cli_campaign import add_name
from evenhand.cli_source import add_source, source_of
from evenhand.core.progress import SCREEN

ABOUT = (
    "Unbiased replay by rejection: a row counts when the policy chooses what was logged. The TOML file names the "
    "columns, outcomes, costs, constraints, the objective, the policy and the horizon; examples/email.toml is one. "
    "Several policies or budgets make one table, with paired differences."
)


def add(parser_of: Callable[[str, str], argparse.ArgumentParser], count: Callable[..., int]) -> None:
    """Add the command; `parser_of` makes its parser of a line of help and a description."""
    replay = parser_of("run policies on a log whose actions were randomised", ABOUT)
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
    replay.set_defaults(run=_replay, parser=replay)


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
        print(several)
        files = [] if o.out is None else several.write(o.out, o.said)
        return _end(files, several.interrupted)
    from evenhand.replay.run import replay_files, write

    found = replay_files(log, o.problem, o.policy, runs, how)
    print(found.text(errors=o.errors))
    return _end([] if o.out is None else write(found, o.out, o.said), found.interrupted)


def _end(files: list[Path], interrupted: bool) -> int:
    if files:
        from evenhand.core.extras import no_picture

        print("\n".join(filter(None, [f"\nwritten: {', '.join(map(str, files))}", no_picture()])))
    return 130 if interrupted else 0
