"""A report as one self-contained page in HTML: without scripts, and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from evenhand.core.files import replacement
from evenhand.core.validate import on_disk
from evenhand.report.charts import HUES
from evenhand.report.tables import Table
from evenhand.version import __version__

REPORT = "report.html"
_FEW = 4  # columns of a table that has room beside a chart
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a page: a chart beside its tables.

    Args:
        title: of the part.
        reading: how to read it, in sentences.
        chart: in SVG, as `report.charts` draws it; empty for none.
        keys: the names of the colours of the chart, with the numbers of their classes.
        tables: the numbers of the chart, and others.
        text: lines that are shown as they are.
    """

    title: str
    reading: str = ""
    chart: str = ""
    keys: tuple[tuple[str, int], ...] = ()
    tables: tuple[Table, ...] = ()
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A report.

    Args:
        title: states the result.
        sentences: say it more fully.
        notes: what is to be heeded before the numbers.
        parts: charts and tables.
        command: that made the report; empty if no command did.
        settings: by name, what the result depends on.
    """

    title: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    parts: tuple[Part, ...]
    command: str
    settings: Mapping[str, object]

    def html(self) -> str:
        """Return the page, with all texts escaped.

        >>> page = Page(title="a < b", sentences=(), notes=(), parts=(), command="", settings={"seed": 0})
        >>> "<h1>a &lt; b</h1>" in page.html(), "<script" in page.html()
        (True, False)
        """
        return "\n".join(self._lines()) + "\n"

    def write(self, path: Path) -> Path:
        """Write the page; the file appears complete or not at all.

        Raises:
            InvalidInput: the file cannot be written.
        """
        text = self.html().encode("utf-8", "replace")  # a command may have bytes that are not text
        with on_disk("out", "a file that can be written"), replacement(path) as part:
            part.write_bytes(text)
        return path

    def _lines(self) -> Iterator[str]:
        yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        style = "".join(files("evenhand.report").joinpath(z).read_text("utf-8") for z in ("charts.css", "page.css"))
        yield f"<title>{escape(self.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n<header>"
        yield f"<h1>{escape(self.title)}</h1>"
        yield from (f"<p>{escape(z)}</p>" for z in self.sentences)
        if self.notes:
            yield f'<ul class="notes" aria-label="notes">{"".join(f"<li>{escape(z)}</li>" for z in self.notes)}</ul>'
        yield "</header>"
        for part in self.parts:
            yield from _part(part)
        yield "<footer>\n<h2>How this was made</h2>"
        if self.command:
            yield f"<pre>{escape(self.command)}</pre>"
        told = "".join(f"<dt>{escape(k)}</dt><dd>{escape(_text(z))}</dd>" for k, z in self.settings.items())
        yield f"<dl>{told}<dt>evenhand</dt><dd>{escape(__version__)}</dd></dl>"
        yield "</footer>\n</main>\n</body>\n</html>"


def _part(part: Part) -> Iterator[str]:
    yield f"<section>\n<h2>{escape(part.title)}</h2>"
    if part.reading:
        yield f'<p class="said">{escape(part.reading)}</p>'
    many = any(len(z.head) > _FEW for z in part.tables)
    yield f'<div class="beside{" many" if many or not part.chart else ""}">'
    if part.chart:
        listed = "".join(f'<li><i class="h{hue % HUES}"></i>{escape(z)}</li>' for z, hue in part.keys)
        keys = f'<ul class="keys">{listed}</ul>' if listed else ""
        yield f'<div class="drawn">{part.chart}{keys}</div>'
    if part.tables or part.text:
        yield '<div class="tables">'
        yield from (f'<div class="wide" tabindex="0">{z.html()}</div>' for z in part.tables)
        if part.text:
            yield f'<pre tabindex="0">{escape(part.text)}</pre>'
        yield "</div>"
    yield "</div>\n</section>"


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(z)}" for name, z in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
