"""The pages of the API reference as Markdown: one for every place with public names, and a front page of all names.

mkdocstrings replaces every `::: name` by what the docstring, the signature and the source say.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from docstrings import prose, summary

import evenhand

PLACES = evenhand.PLACES
FIRST = evenhand.NAMES  # the names of `eh`, by place
GUIDE = Path(__file__).parents[1] / "recipes.md"  # which has the recipes by kind
KIND = re.compile(r"^## (.+)$|^\| `(\w+)`", re.MULTILINE)
FRONT = """# API reference

`import evenhand as eh` has the names that are enough to start. Everything else is in its module, such as
`eh.models.Tabular`. Every entry has the equation, arguments, errors, an example that runs, and the source.
"""


def pages() -> dict[str, str]:
    """Every page by its path below docs/."""
    found = {uri(place): page(place) for place in PLACES}
    return {"reference/index.md": front(), **found}


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
        for kind, recipes in kinds(GUIDE.read_text(encoding="utf-8"), names).items():
            parts += [f"## {kind}", *(_entry(place, name, names[name], level=3) for name in recipes)]
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


def kinds(guide: str, recipes: dict[str, object]) -> dict[str, list[str]]:
    """The recipes by kind, in the order of the guide.

    Raises:
        ValueError: a recipe that the guide leaves out, or one that is not a recipe.

    >>> kinds("## Plans\\n| `a` | x |\\n## Others\\n| `b` | y |\\n", {"a": 1, "b": 2})
    {'Plans': ['a'], 'Others': ['b']}
    """
    found: dict[str, list[str]] = {}
    for kind, name in KIND.findall(guide):
        if kind:
            found[kind] = []
        else:
            found[list(found)[-1]].append(name)
    listed = [name for names in found.values() for name in names]
    if sorted(listed) != sorted(recipes):
        raise ValueError(f"recipes by kind: {sorted(set(listed) ^ set(recipes))} are in one list alone, or twice")
    return {kind: names for kind, names in found.items() if names}


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
