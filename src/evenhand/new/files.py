"""Writes a problem file and a script that runs, from the answers to the five questions."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import on_disk
from evenhand.logs.problem_file import parse
from evenhand.logs.toml import key, value
from evenhand.new.questions import Aim, Answers, Feature, Limit

FILES = PROBLEM, SCRIPT = "problem.toml", "decide.py"
_TRIED = 200  # cases that the script simulates


def write(answers: Answers, folder: Path) -> list[Path]:
    """Write both files to a folder, which is created if it does not exist.

    Raises:
        InvalidInput: a file already exists, or the folder cannot be written to; or the problem makes no sense.
        InfeasibleProblem: no mixture of the actions keeps to the limits.
    """
    texts = {PROBLEM: problem_file(answers), SCRIPT: script(answers)}
    spec = parse(texts[PROBLEM], PROBLEM)
    spec.problem({})
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise InvalidInput(str(folder), "a folder without these files, which are not replaced", ", ".join(there))
    with on_disk(str(folder), "a folder that can be written to"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    return [folder / name for name in FILES]


def problem_file(answers: Answers) -> str:
    """Write the problem file, with a comment on every part."""
    return "\n".join(_problem(answers)) + "\n"


def _problem(a: Answers) -> Iterator[str]:
    yield f"# Who gets what? {', '.join(a.actions[:-1])} or {a.actions[-1]}, for as much {a.aim.name} as possible."
    yield f"# Try it with `python {SCRIPT}`; docs/replay.md explains every key."
    yield ""
    yield f"maximize = {value(a.aim.name)}"
    if a.span.until is None:
        yield f"horizon = {a.span.cases} # cases; budgets are spread over them"
    else:
        yield f"since = {date.today()}"
        yield f"until = {a.span.until} # budgets are spread over the cases until then"
        yield ""
        yield "[traffic] # a forecast, which is corrected by what comes"
        yield f"cases = {a.span.cases}"
        yield 'per = "day"'
    yield from _features(a.features)
    yield ""
    yield "[action] # the names of what can be decided"
    yield f"values = {value(list(a.actions))}"
    yield from _aim(a.aim)
    for limit in a.limits:
        yield from _limit(limit)
    yield from _suggest_parity(a)
    yield ""
    yield '[policy] # `evenhand systems --for "budgets, parity"` lists others'
    yield 'name = "resolving"'


def _features(features: tuple[Feature, ...]) -> Iterator[str]:
    if not features:
        return
    numbers = {f.name: f.ends for f in features if f.ends is not None}
    names = {f.name: f.levels for f in features if f.levels}
    yield ""
    yield "[features] # what is known about a case before it is decided"
    if numbers:
        yield f"numeric = {value(list(numbers))}"
    if names:
        yield f"categorical = {value(list(names))}"
    if numbers:
        yield ""
        yield "[features.ranges] # what lies outside counts as the nearest end"
        yield from (f"{key(name)} = {value(list(ends))}" for name, ends in numbers.items())
    if names:
        yield ""
        yield "[features.levels]"
        yield from (f"{key(name)} = {value(list(levels))}" for name, levels in names.items())


def _aim(aim: Aim) -> Iterator[str]:
    yield ""
    yield f"[outcomes.{key(aim.name)}] # learned from what is observed" + (
        "; 1 for yes, 0 for no" if (aim.low, aim.high) == (0.0, 1.0) else ""
    )
    yield f"range = {value([aim.low, aim.high])}"


def _limit(limit: Limit) -> Iterator[str]:
    yield ""
    yield f"[outcomes.{key(limit.name)}] # known before the decision; 0 where no action is named"
    yield f"known = {value(limit.uses)}"
    yield ""
    yield "[[budget]] # never exceeded"
    yield f"outcome = {value(limit.name)}"
    yield f"total = {value(limit.total)}"


def _suggest_parity(a: Answers) -> Iterator[str]:
    """Suggest a parity where there are groups."""
    for name in [f.name for f in a.features if f.levels][:1]:
        yield ""
        yield f"# Take the marks off to give every {name} the same per case, within the tolerance:"
        yield "# [[parity]]"
        yield f"# outcome = {value(a.limits[0].name if a.limits else a.aim.name)}"
        yield f"# by = {value(name)}"
        yield "# tolerance = 0.1"


def script(answers: Answers) -> str:
    """Write a script that decides and observes simulated answers."""
    a, name = answers, json.dumps(answers.aim.name, ensure_ascii=False)
    chances = {action: round(0.1 + 0.5 * i / (len(a.actions) - 1), 3) for i, action in enumerate(a.actions)}
    case = "".join(f"\n        {json.dumps(f.name, ensure_ascii=False)}: {_draw_text(f)}," for f in a.features)
    happens = "float(luck.random() < chance)"
    if (a.aim.low, a.aim.high) != (0.0, 1.0):
        happens = f"luck.uniform({a.aim.low!r}, {a.aim.low!r} + chance * {a.aim.high - a.aim.low!r})"
    return textwrap.dedent(f'''\
        """Decides {_TRIED} simulated cases, and prints where it stands.

            python {SCRIPT}

        Put your own cases and answers in place of `next_case` and `answer`. To decide over HTTP instead, with a page
        that shows where it stands, and a log that survives crashes:

            evenhand serve {PROBLEM} --store sqlite:///campaign.db
        """

        import random
        from pathlib import Path

        from evenhand.live import open_campaign

        luck = random.Random(0)


        def next_case():
            """What is known about the next case; made up."""
            return {{CASE}}


        def answer(action, case):
            """What follows from an action, perhaps days later; made up."""
            chance = {json.dumps(chances, ensure_ascii=False)}[action]
            return {happens}


        # A store such as "sqlite:///campaign.db" keeps everything; this one forgets it at the end.
        with open_campaign("memory://", "try", Path(__file__).with_name("{PROBLEM}")) as campaign:
            for i in range({_TRIED if a.span.until else min(_TRIED, a.span.cases)}):
                case = next_case()
                decision = campaign.decide(case, key=f"case-{{i}}")
                if decision.action is not None:  # else nothing fitted
                    campaign.observe(decision.id, {{{name}: answer(decision.action, case)}})
            print("The last decision:", decision.action, "with probability", decision.probability)
            print(campaign.explain(decision.id))
            print()
            print(campaign.status())
        ''').replace("{CASE}", "{" + case + ("\n    }" if case else "}"))


def _draw_text(feature: Feature) -> str:
    if feature.ends is not None:
        return f"luck.uniform({feature.ends[0]!r}, {feature.ends[1]!r})"
    return f"luck.choice({json.dumps(feature.levels, ensure_ascii=False)})"
