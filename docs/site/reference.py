"""The pages of the API reference as Markdown: one for every place with public names, and a front page of all names.

mkdocstrings replaces every `::: name` by what the docstring, the signature and the source say.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

from docstrings import prose, summary

import evenhand
from evenhand.core.catalogue import catalogue
from evenhand.core.kinds import USES
from evenhand.logs.keys import Key, keys

PLACES = evenhand.PLACES
FIRST = evenhand.NAMES  # the names of `eh`, by place
FRONT = """# API reference

`import evenhand as eh` has the names that are enough to start. Everything else is in its module, such as
`eh.models.Tabular`. Every entry has the equation, arguments, errors, an example that runs, and the source.
"""

FILES = """# Keys of problem files

Keys in capitals are names that a file chooses. A constraint is a list of tables, whose keys are the fields of its
class. `policy` has the `name` of a recipe and a `model`, with their arguments.
"""


def pages() -> dict[str, str]:
    """Every page by its path below docs/."""
    found = {uri(place): page(place) for place in PLACES}
    return {"reference/index.md": front(), "reference/problem-files.md": problem_files(), **found}


def uri(place: str) -> str:
    """Where the page of a place is.

    >>> uri("core.records")
    'reference/core.records.md'
    """
    return f"reference/{place}.md"


def public(place: str) -> Iterator[tuple[str, object]]:
    """The public names of a place, each with what it stands for."""
    module = importlib.import_module(f"evenhand.{place}")
    for name in module.__all__:
        yield name, getattr(module, name)


def anchor(place: str, name: str, thing: object) -> str:
    """The anchor of a public name, and what mkdocstrings looks up.

    A name such as `resolving`, which is also that of the module where it is defined, is looked up there.

    >>> anchor("models", "Ridge", evenhand.Ridge), anchor("recipes", "resolving", evenhand.resolving)
    ('evenhand.models.Ridge', 'evenhand.recipes.resolving.resolving')
    """
    path = f"evenhand.{place}.{name}"
    return f"{path}.{name}" if getattr(thing, "__module__", "") == path else path


def page(place: str) -> str:
    """A page of a place: what its module says, a list of its names, and every name."""
    told = inspect.cleandoc(importlib.import_module(f"evenhand.{place}").__doc__ or "")
    names = dict(public(place))
    parts = [f"# evenhand.{place}", prose(told)]
    if place == "recipes":
        for use, recipes in uses(names).items():
            parts += [f"## {use.capitalize()}", *(_entry(place, name, names[name], level=3) for name in recipes)]
    else:
        parts.append(_table([_row(place, name, thing) for name, thing in names.items()]))
        parts += [_entry(place, name, thing) for name, thing in names.items()]
    return "\n\n".join(parts) + "\n"


def front() -> str:
    """The first page: the names of `eh`, then every public name of every place, with its first sentence."""
    rows = [_row(place, name, thing, "eh.") for place in FIRST for name, thing in public(place) if name in FIRST[place]]
    parts = [FRONT, _table(rows)]
    for place in PLACES:
        told = inspect.cleandoc(importlib.import_module(f"evenhand.{place}").__doc__ or "")
        rows = [_row(place, name, thing) for name, thing in public(place)]
        parts += [f"## evenhand.{place}", prose(summary(told)), _table(rows)]
    return "\n\n".join(parts) + "\n"


def problem_files() -> str:
    """The page of every key of a problem file, with what it states and its default.

    >>> [line for line in problem_files().splitlines() if "separator" in line]
    ['| `log.separator` | The character between fields. | a text | found out from the header |']
    """
    rows = ["| key | what | value | default |", "|---|---|---|---|"]
    for path, key in _below(keys()):
        cells = [key.about, "a table" if key.kind is None else key.kind.expected, key.told]
        rows.append(" | ".join([f"| `{path}`", *(prose(cell).replace("|", "&#124;") for cell in cells)]) + " |")
    return "\n".join([FILES, *rows]) + "\n"


def _below(within: tuple[Key, ...], before: str = "") -> Iterator[tuple[str, Key]]:
    """Keys and those of their tables, each with its path."""
    for key in within:
        path = f"{before}{key.name}"
        yield path, key
        yield from _below(key.within, f"{path}.")


def uses(recipes: dict[str, object]) -> dict[str, list[str]]:
    """The recipes by what they are for, in the order of `evenhand systems`.

    >>> uses({"uniform": 1, "resolving": 2})
    {'start here': ['resolving'], 'to compare with': ['uniform']}
    """
    fits = {system.name: system.fit for system in catalogue("recipe")}
    found = {use: [name for name in recipes if fits[name].use == use] for use in USES}
    return {use: names for use, names in found.items() if names}


def _entry(place: str, name: str, thing: object, level: int = 2) -> str:
    lines = [f"::: {anchor(place, name, thing)}", "    options:", f"      heading_level: {level}"]
    inherited = sorted(_inherited(thing)) if inspect.isclass(thing) else []
    lines += [f"      inherited_members: [{', '.join(inherited)}]"] if inherited else []
    return "\n".join(lines)


def _inherited(cls: type) -> set[str]:
    """Members that a class takes from contracts of this package that are not public, and so have no entry."""
    shown = {id(thing) for place in PLACES for _, thing in public(place)}
    hidden = [c for c in cls.__mro__[1:] if c.__module__.startswith("evenhand.") and id(c) not in shown]
    return {name for c in hidden for name, z in vars(c).items() if not name.startswith("_") and inspect.isroutine(z)}


def _table(rows: list[str]) -> str:
    return "\n".join(["| | |", "|---|---|", *rows])


def _row(place: str, name: str, thing: object, before: str = "") -> str:
    told = prose(summary(inspect.getdoc(thing) or "")).replace("|", "&#124;")
    return f"| [`{before}{name}`]({place}.md#{anchor(place, name, thing)}) | {told} |"
