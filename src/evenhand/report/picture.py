"""The charts of a page as one picture in SVG, with a headline: for pages in Markdown, slides and notebooks."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from evenhand.core.files import replacement
from evenhand.core.validate import on_disk
from evenhand.report.charts import HUES
from evenhand.report.drawing import BROAD, LETTER, box, broad, text
from evenhand.report.page import Part

EDGE = 16.0  # around everything, in pixels
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SIZES = {"headline": (18.0, 68), "name": (14.0, 94), "reading": (12.0, 110)}  # of lines, in pixels and characters


class Picture(NamedTuple):
    """A headline above the charts of the parts of a page. Notebooks show it; `write` makes a file of it.

    >>> Picture("half is used", ()).svg().count("<text")
    1
    """

    headline: str
    parts: tuple[Part, ...]

    @property
    def charts(self) -> tuple[Part, ...]:
        """The parts that have a chart."""
        return tuple(part for part in self.parts if part.chart)

    def svg(self) -> str:
        """Return the picture, with all texts escaped, in the colours of a light or a dark screen."""
        inside, y = list[str](), EDGE
        for kind, height, words in self._rows():
            if words and kind:
                inside.append(text(EDGE, y + 0.8 * height, words, kind))
            elif words:
                inside.append(f'<svg x="{EDGE:g}" y="{y:g}" width="{BROAD:g}" height="{height:g}"{words[4:]}')
            y += height
        width, height = BROAD + 2 * EDGE, y + EDGE
        style = files("evenhand.report").joinpath("charts.css").read_text("utf-8")
        ground = box("paper", 0.0, 0.0, width, height)
        size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self.headline)}">'
        return _NO_XML.sub("?", f"{head}\n<style>\n{style}</style>\n{ground}{''.join(inside)}</svg>\n")

    def _rows(self) -> Iterator[tuple[str, float, str]]:
        """Yield lines of text by their kind, and charts without one, each with its height."""
        yield from _lines("headline", self.headline)
        for part in self.charts:
            yield "name", 12.0, ""
            yield from _lines("name", part.title)
            yield from _lines("reading", part.reading)
            yield "name", 6.0, ""
            chart, height = broad(part.chart)
            yield "", height, chart
            for name, hue in part.keys:
                yield f"key h{hue % HUES}", 18.0, f"■ {name[: int(BROAD / LETTER)]}"

    def write(self, path: Path) -> Path:
        """Write the picture; the file appears complete or not at all.

        Raises:
            InvalidInput: the file cannot be written.
        """
        with on_disk("out", "a file that can be written"), replacement(path) as part:
            part.write_text(self.svg(), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"Picture of {len(self.charts)} charts: {self.headline}"

    def _repr_html_(self) -> str:
        data = b64encode(self.svg().encode()).decode()
        return f'<img alt="{escape(self.headline)}" src="data:image/svg+xml;base64,{data}">'


def _lines(kind: str, words: str) -> Iterator[tuple[str, float, str]]:
    size, most = _SIZES[kind]
    for line in wrap(words, most):
        yield kind, 1.35 * size, line
