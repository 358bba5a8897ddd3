"""Links from names in running text, such as `eh.Budget` or `TopK`, to their entries in the reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import reference

WHOLE = re.compile(r"(<(h[1-6]|pre|a|autoref)\b.*?</\2>)", re.DOTALL)  # where names stay as they are
WORD = re.compile(r"<code>([\w.]+)</code>")


def targets() -> dict[str, str]:
    """The page and anchor of every public name, in every way of writing it; of names that occur twice, the first."""
    found: dict[str, str] = {}
    for place in reference.PLACES:
        for name, thing in reference.public(place):
            to = f"reference/{place}.html#{reference.anchor(place, name, thing)}"
            for written in (name, f"{place}.{name}", f"eh.{place}.{name}", f"evenhand.{place}.{name}"):
                found.setdefault(written, to)
    short = [name for names in reference.FIRST.values() for name in names]
    return {**found, **{f"eh.{name}": found[name] for name in short}}


def in_guides(found: Mapping[str, str]) -> dict[str, str]:
    """The names that are no plain words: classes, recipes and names with their place.

    >>> sorted(in_guides({"TopK": "a", "value": "b", "eh.value": "c", "pgd": "reference/recipes.html#d"}))
    ['TopK', 'eh.value', 'pgd']
    """
    recipes = f"{reference.uri('recipes').removesuffix('.md')}.html#"
    return {z: to for z, to in found.items() if "." in z or z[0].isupper() or to.startswith(recipes)}


def linked(html: str, found: Mapping[str, str], relative: Callable[[str], str]) -> str:
    """Let names lead to the reference, except in headings, blocks of code and links.

    >>> linked("<h2><code>A</code></h2><code>A</code><code>b</code>", {"A": "c.html#A"}, str)
    '<h2><code>A</code></h2><a href="c.html#A"><code>A</code></a><code>b</code>'
    """

    def link(match: re.Match[str]) -> str:
        to = found.get(match.group(1))
        return f'<a href="{relative(to)}">{match.group()}</a>' if to else match.group()

    pieces = WHOLE.split(html)  # text, what stays, and its tag, again and again
    del pieces[2::3]
    pieces[::2] = [WORD.sub(link, piece) for piece in pieces[::2]]
    return "".join(pieces)
