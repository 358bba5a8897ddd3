"""The command line. Heavy imports wait until a command needs them, so that help is there at once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from evenhand.version import __version__

DESCRIPTION = """\
Decide, one case after another, who gets what: contextual bandits that keep to budgets, share fairly,
and objective_goal goals that are not a plain sum of clicks."""

EPILOG = """\
start here:
  evenhand demo                                       share 500 rides and 2,000 vouchers among 10,000 people
  evenhand reproduce court --replicas 20              our numbers beside the published ones
  evenhand reproduce square-cbwk                      the same for knapsacks with regression oracles
  evenhand reproduce small-budgets                    how small may budgets be, for every policy?
  evenhand reproduce concave-rewards                  objectives that are not a plain sum
  evenhand reproduce lessons                          such an objective with budgets and parity
  evenhand replay LOG.csv --problem PROBLEM.toml      run a policy on your own randomised log
  evenhand systems                                    everything that is implemented, with its source
"""


def build() -> argparse.ArgumentParser:
    """The parser, with every command's help."""
    parser = argparse.ArgumentParser(
        prog="evenhand", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"evenhand {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser("demo", help="the main job: several policies share scarce help", description=(
        "Share 500 rides and 2,000 vouchers among 10,000 people of two groups, learning who benefits. "
        "Prints a table and, with --out, writes results.json and a picture."
    ))  # fmt: skip
    _common(demo, replicas=20)
    demo.add_argument("--jobs", type=_count, default=1, metavar="N", help="processes (default: 1)")

    reproduce = commands.add_parser("reproduce", help="run a published experiment beside its published numbers")
    papers = reproduce.add_subparsers(dest="paper", metavar="EXPERIMENT", required=True)
    court = papers.add_parser("court", help="court assistance: budgets and parity (NeurIPS 2023)", description=(
        "Table 1 and Figure 1 of 'Small total-cost constraints in contextual bandits with knapsacks'. "
        "Published values are shown for the published horizon of 10,000 rounds."
    ))  # fmt: skip
    _common(court, replicas=100)
    court.add_argument("--rounds", type=_count, default=10_000, metavar="T", help="people to come (default: 10000)")
    court.add_argument("--tau", type=float, action="append", metavar="X",
                       help="fairness tolerance; may be repeated (default: 1e-7 and 0.025)")  # fmt: skip
    court.add_argument("--jobs", type=_count, default=1, metavar="N", help="processes (default: 1)")

    square = papers.add_parser("square-cbwk", help="knapsacks with regression oracles (2022)", description=(
        "Figure 1 of 'Optimal contextual bandits with knapsacks under realizability via regression oracles': regret at "
        "the points whose numbers are known, saying which are met; with --sweep, along a whole axis of the figure."
    ))  # fmt: skip
    _common(square, replicas=10)
    square.add_argument("--sweep", choices=("m", "K", "T"), action="append",
                        help="run all of an axis: dimension m, arms K or rounds T; may be repeated")  # fmt: skip

    small = papers.add_parser("small-budgets", help="how small may budgets be? every policy, T B from sqrt(T) to T / 2",
                              description=(
        "Court assistance with ever smaller budgets: what share of the possible gain each policy reaches, what it "
        "overspends, and down to which budget it works. Policies that a budget is too small for are shown as refused."
    ))  # fmt: skip
    _common(small, replicas=20)
    small.add_argument("--rounds", type=_count, default=10_000, metavar="T", help="people to come (default: 10000)")
    small.add_argument("--jobs", type=_count, default=1, metavar="N", help="processes (default: 1)")

    concave = papers.add_parser("concave-rewards", help="several outcomes, a generalised Gini (2023)", description=(
        "The synthetic multi-objective experiment of 'Contextual bandits with concave rewards': the generalised Gini "
        "of average outcomes over the rounds, beside Frank-Wolfe that knows the truth in the same replica."
    ))  # fmt: skip
    _common(concave, replicas=100)
    concave.add_argument("--rounds", type=_count, default=2000, metavar="T", help="default: 2000")
    concave.add_argument("--arms", type=_count, action="append", metavar="A", help="may be repeated (default: 50)")
    concave.add_argument("--outcomes", type=_count, action="append", metavar="M",
                         help="may be repeated (default: 5 and 20)")  # fmt: skip

    lessons = papers.add_parser("lessons", help="a concave goal, budgets, a parity and contexts: X2", description=(
        "Four subjects that keep up with each other under two budgets and a parity: with everything, with each half of "
        "it, and without contexts, beside what the best static policies reach that know the truth."
    ))  # fmt: skip
    _common(lessons, replicas=50)
    lessons.add_argument("--rounds", type=_count, default=20_000, metavar="T", help="pupils to come (default: 20000)")
    lessons.add_argument("--jobs", type=_count, default=1, metavar="N", help="processes (default: 1)")

    replay = commands.add_parser("replay", help="run a policy on a log whose actions were randomised", description=(
        "Unbiased replay by rejection: a row counts when the policy chooses what was logged. The TOML file names the "
        "columns, outcomes, costs, budgets, parity groups and the horizon; examples/email.toml is one."
    ))  # fmt: skip
    replay.add_argument("log", type=Path, metavar="LOG.csv", help="the log, with a header line")
    replay.add_argument("--problem", type=Path, required=True, metavar="PROBLEM.toml", help="what its columns mean")
    replay.add_argument("--policy", default=None, metavar="NAME", help="a recipe (default: named in the problem file)")
    _common(replay, replicas=20)
    replay.add_argument("--bootstrap", type=int, default=40, metavar="N",
                        help="resamples of the rows for standard errors (default: 40; 0 for none)")  # fmt: skip

    systems = commands.add_parser("systems", help="list every named system that is implemented")
    systems.add_argument("--json", action="store_true", help="as JSON")
    return parser


def _common(parser: argparse.ArgumentParser, *, replicas: int) -> None:
    parser.add_argument("--replicas", type=_count, default=replicas, metavar="R", help=f"default: {replicas}")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of all luck (default: 0)")
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help="write results.json and plots here")


def _count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options = build().parse_args(arguments)
    from evenhand.core.errors import EvenhandError

    try:
        status = _run(options)
        sys.stdout.flush()
        return status
    except EvenhandError as error:
        print(f"evenhand: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("evenhand: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("evenhand: not enough memory; take fewer replicas or rounds", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(o: argparse.Namespace) -> int:
    if o.command == "systems":
        return _systems(as_json=o.json)
    if o.command == "demo":
        from evenhand.experiments.demo import demo

        results = demo(replicas=o.replicas, seed=o.seed, jobs=o.jobs, out=o.out)
        return 130 if results.interrupted else 0
    if o.command == "reproduce":
        return _reproduce(o)
    from evenhand.replay import replay_log

    found = replay_log(
        o.log, o.problem, policy=o.policy, replicas=o.replicas, bootstrap=o.bootstrap, seed=o.seed, out=o.out
    )
    print(found)
    if o.out is not None:
        print(f"\nwritten: {o.out / 'results.json'}{' and a picture' if found.runs else ''}")
    return 130 if found.interrupted else 0


def _reproduce(o: argparse.Namespace) -> int:
    if o.paper == "court":
        from evenhand.experiments import court

        taus = tuple(o.tau or court.TAUS)
        results = court.reproduce(replicas=o.replicas, rounds=o.rounds, taus=taus, jobs=o.jobs, seed=o.seed, out=o.out)
        drawn = True
    elif o.paper == "concave-rewards":
        from evenhand.experiments import concave_rewards

        arms, outcomes = tuple(o.arms or (50,)), tuple(o.outcomes or (5, 20))
        results = concave_rewards.reproduce(
            arms=arms, outcomes=outcomes, replicas=o.replicas, rounds=o.rounds, seed=o.seed, out=o.out
        )
        drawn = True
    elif o.paper == "lessons":
        from evenhand.experiments import lessons

        results = lessons.reproduce(replicas=o.replicas, rounds=o.rounds, jobs=o.jobs, seed=o.seed, out=o.out)
        drawn = True
    elif o.paper == "small-budgets":
        from evenhand.experiments import small_budgets

        results = small_budgets.reproduce(replicas=o.replicas, rounds=o.rounds, jobs=o.jobs, seed=o.seed, out=o.out)
        drawn = True
    else:
        from evenhand.experiments import square_cbwk

        results = square_cbwk.reproduce(replicas=o.replicas, sweeps=tuple(o.sweep or ()), seed=o.seed, out=o.out)
        drawn = bool(o.sweep)
    if o.out is not None:
        print(f"written: {o.out / 'results.json'}{' and plots' if drawn else ''}")
    return 130 if results.interrupted else 0


def _systems(*, as_json: bool) -> int:
    from evenhand.core.catalogue import catalogue
    from evenhand.run.summary import table

    found = catalogue()
    if as_json:
        print(json.dumps([s._asdict() for s in found], indent=1))
    else:
        print(table(["id", "name", "kind", "source"], [[s.id, s.name, s.kind, s.source] for s in found], left=4))
    return 0


if __name__ == "__main__":
    sys.exit(main())
