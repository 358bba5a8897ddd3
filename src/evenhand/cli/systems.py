"""The command that lists parts, finds recipes that fit a problem, and explains a part."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from evenhand.cli.arguments import add_command
from evenhand.cli.output import add_json, as_json
from evenhand.core.kinds import HEADS, KINDS

if TYPE_CHECKING:
    from evenhand.cli.arguments import Commands
    from evenhand.core.catalogue import System

ABOUT = """\
List what is implemented, by kind, with a sentence each; recipes are grouped by what they are for.

  evenhand systems --kind model                     the models alone
  evenhand systems --for "budgets, learned costs"   the recipes that fit, and why
  evenhand systems resolving                        what a part does, its arguments, and its source
"""
_WIDTH = 118


def add(commands: Commands) -> None:
    """Add the command."""
    line = "what is implemented: recipes, models, goals, worlds; and what fits"
    systems = add_command(commands, "systems", line, ABOUT, _systems)
    what = systems.add_mutually_exclusive_group()
    what.add_argument("name", nargs="?", default=None, metavar="NAME",
                      help="of a recipe, model, objective, ... such as resolving")  # fmt: skip
    what.add_argument("--kind", choices=tuple(dict.fromkeys(KINDS.values())), default=None, help="list only one kind")
    what.add_argument("--for", dest="wanted", default=None, metavar="WORDS",
                      help='list the recipes that fit, such as for "budgets, parity, late outcomes"')  # fmt: skip
    add_json(systems)


def _systems(o: argparse.Namespace) -> int:
    from evenhand.core.catalogue import catalogue, describe, of_name, parts
    from evenhand.core.kinds import read_words

    if o.wanted is not None:
        words = read_words(o.wanted)
        recipes = by_use(catalogue("recipe"))
        fitting = [s for s in recipes if s.fit and all(word in s.fit.words for word in words)]
        print(_as_json(fitting) if o.json else "\n".join(_suited(words, recipes, fitting)))
    elif o.name is not None:
        print(_as_json(of_name(o.name)) if o.json else describe(o.name))
    else:
        kinds = dict.fromkeys(KINDS.values()) if o.kind is None else [o.kind]
        listed = {kind: by_use(parts(kind)) for kind in kinds}
        found = [s for there in listed.values() for s in there]
        print(_as_json(found) if o.json else "\n".join(_listed(listed)))
    return 0


def by_use(recipes: Iterable[System]) -> list[System]:
    """Order recipes by their use, and those that fit more first; the order of other parts is kept."""
    from evenhand.core.kinds import USES

    return sorted(recipes, key=lambda s: (USES.index(s.fit.use), -len(s.fit.words)) if s.fit else (0, 0))


def _as_json(found: Iterable[System]) -> str:
    rows = [
        {"name": s.name, "kind": s.kind, "says": s.says, "module": s.module, "source": s.source}
        | ({"use": s.fit.use, "fits": dict(s.fit.words)} if s.fit else {})
        for s in found
    ]
    return as_json(rows)


def _listed(kinds: dict[str, list[System]]) -> Iterator[str]:
    for kind, found in kinds.items():
        yield from ([] if kind == next(iter(kinds)) else [""])
        yield HEADS[kind]
        use, width = "", max(len(s.name) for s in found)
        for s in found:
            if s.fit and s.fit.use != use:
                use = s.fit.use
                yield f"  {use}:"
            yield _line(s.name, s.says, width, "    " if use else "  ")
    yield ""
    yield '`evenhand systems NAME` explains a part; --for "budgets, learned costs" says which recipes fit.'


def _suited(words: list[str], recipes: list[System], fitting: list[System]) -> Iterator[str]:
    """Yield the meaning of each word, the recipes that fit all of them and why, and those that lack only one."""
    from evenhand.core.kinds import WORDS

    width = max(len(word) for word in words)
    yield from (_line(word, WORDS[word], width) for word in words)
    yield ""
    width = max((len(s.name) for s in recipes), default=0)
    if fitting:
        yield "These recipes fit; begin with the first." if len(fitting) > 1 else "This recipe fits."
    else:
        yield "No recipe fits all of it."
    use = ""
    for s, fit in ((s, s.fit) for s in fitting if s.fit):
        if fit.use != use:
            use = fit.use
            yield f"  {use}:"
        yield _line(s.name, s.says, width, "    ")
        notes = [f"{word}: {fit.words[word]}" for word in words if fit.words[word]]
        if notes:
            yield _line("", "; ".join(notes), width, "    ")
    if len(words) > 1:
        yield from _near(words, recipes)


def _near(words: list[str], recipes: list[System]) -> Iterator[str]:
    """List the recipes that lack one of the words alone, by that word."""
    lacks = {s.name: [word for word in words if s.fit and word not in s.fit.words] for s in recipes}
    lines = {word: [name for name, missing in lacks.items() if missing == [word]] for word in words}
    if any(lines.values()):
        yield ""
        yield "These fit all of it but one, which is named first:"
    for word, names in lines.items():
        if names:
            yield _line(f"{word}:", ", ".join(names), max(map(len, words)) + 1)


def _line(head: str, text: str, width: int, indent: str = "  ") -> str:
    """Write a name and a text beside it, wrapped."""
    lead = f"{indent}{head.ljust(width)}  "
    return "\n".join(textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)))
