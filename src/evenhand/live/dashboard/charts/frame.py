"""Charts as parts of a template, each in two widths."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from markupsafe import Markup

from evenhand.report import drawing

Draw = Callable[[float], Markup]  # a chart of a width


def both(draw: Draw) -> Markup:
    """Draw a chart in two widths, of which the style sheet shows the one that fits its card.

    >>> both(lambda width: svg("nothing", width, 20.0, [])).count("<svg")
    2
    """
    return Markup(drawing.both(draw))


def svg(words: str, width: float, height: float, parts: Iterable[str]) -> Markup:
    """Wrap a drawing as a chart with its description in words."""
    return Markup(drawing.svg(words, width, height, parts))
