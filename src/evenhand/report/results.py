"""Results: the protocol by which one is a text, a frame, files, a picture and a page; the rows of `results.json`."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

from evenhand.core import texts
from evenhand.core.extras import data_frame, has_parquet
from evenhand.core.files import replacement
from evenhand.core.types import Floats
from evenhand.core.validate import file, folder, on_disk
from evenhand.report.page import REPORT, Page, Part
from evenhand.report.picture import Picture
from evenhand.report.summary import number, standard_error, table
from evenhand.report.tables import Table, join_tables
from evenhand.version import __version__

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R")


class Measurement(NamedTuple):
    """A metric of a system at a point; `worst` is the worst replica, `published` the number in the source."""

    system: str
    at: Mapping[str, float]
    metric: str
    mean: float
    se: float | None = None
    worst: float | None = None
    published: float | None = None

    @staticmethod
    def of(
        system: str,
        at: Mapping[str, float],
        metric: str,
        values: Floats,
        *,
        worst: Literal["low", "high"],
        published: float | None = None,
    ) -> Measurement:
        """Summarise one value per replica by the mean, its standard error and the worst.

        >>> import numpy as np
        >>> Measurement.of("pgd", {"tau": 0.025}, "reward", np.array([0.46, 0.47]), worst="low").worst
        0.46
        """
        extreme = values.min() if worst == "low" else values.max()
        return Measurement(system, at, metric, float(values.mean()), standard_error(values), float(extreme), published)


@dataclass
class Results:
    """All measurements of an experiment, with the settings that reproduce it."""

    experiment: str
    settings: dict[str, object]
    rows: list[Measurement] = field(default_factory=list)
    interrupted: bool = False
    se_of: str = "of the mean over replicas"  # describes the standard errors of the rows
    notes: tuple[str, ...] = ()  # remarks, such as on the log
    checks: Mapping[str, str | None] = field(default_factory=dict)  # what is wrong; None where nothing was found

    def find(self, system: str, metric: str, at: Mapping[str, float] | None = None) -> Measurement | None:
        """Find a system's measurement of a metric, at a point of the sweep if one is given; None if there is none."""
        for row in self.rows:
            if row.system == system and row.metric == metric and (at is None or row.at == at):
                return row
        return None

    def to_dict(self) -> dict[str, object]:
        """Convert to the schema of `results.json`, which every experiment uses."""
        return {
            "experiment": self.experiment,
            "version": __version__,
            "se": self.se_of,
            "settings": self.settings | ({"interrupted": True} if self.interrupted else {}),
            "notes": list(self.notes),
            **({"checks": dict(self.checks)} if self.checks else {}),
            "rows": [{k: _plain(v) for k, v in row._asdict().items()} for row in self.rows],
        }

    def write(self, place: Path) -> Path:
        """Write `results.json` into a folder, which is created if needed; the file appears complete or not at all."""
        path = folder(place) / "results.json"
        with on_disk("out", "a file that can be written"), replacement(path) as part:
            part.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
        return path

    def table(self, at: Mapping[str, float], metrics: tuple[str, ...]) -> str:
        """Format a table of systems by metrics: the mean, and the worst replica and published value if known."""
        systems = list(dict.fromkeys(row.system for row in self.rows if row.at == at))
        here = {m: [r for r in self.rows if r.metric == m and r.at == at] for m in metrics}
        shown = {m: any(r.published is not None for r in rows) for m, rows in here.items()}
        spread = {m: any(r.worst is not None for r in rows) for m, rows in here.items()}
        head = ["system"]
        for m in metrics:
            head += [m, *(["worst"] if spread[m] else []), *(["published"] if shown[m] else [])]
        lines = []
        for system in systems:
            cells = [system]
            for m in metrics:
                row = self.find(system, m, at)
                cells += [number(row.mean if row else None)]
                cells += [number(row.worst if row else None)] if spread[m] else []
                cells += [number(row.published if row else None)] if shown[m] else []
            lines.append(cells)
        return table(head, lines)


class Result(ABC):
    """A result from a log, a replay or a list; print it to see its tables.

    A new result states `headline`, `sentences`, `heading`, `tables`, `parts` and `inputs`, and that is all.
    """

    @abstractmethod
    def headline(self) -> str:
        """State the result in a sentence, without its full stop."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow the headline."""

    @abstractmethod
    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables of a text."""

    @abstractmethod
    def tables(self) -> Iterator[Table]:
        """Yield the tables, the most important one first."""

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page, whose charts are also the picture."""

    @abstractmethod
    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name: the settings of `results.json` and of the page."""

    def reading(self) -> Iterator[str]:
        """Yield the lines below the tables of a text, which say how to read them."""
        yield from ()

    def cautions(self) -> Iterator[str]:
        """Yield cautions that precede the numbers, for the page."""
        yield from ()

    def summary(self) -> str:
        """Return the result in a few sentences."""
        return " ".join([f"{self.headline()}.", *self.sentences()])

    def text(self) -> str:
        """Return the printed text: the heading, the tables, and how to read them."""
        return join_tables(self.heading(), self.tables(), list(self.reading()))

    def page(self, command: str = "") -> Page:
        """Return the report, which states the command that made it."""
        return Page(
            title=self.headline(),
            sentences=tuple(self.sentences()),
            notes=tuple(self.cautions()),
            parts=tuple(self.parts()),
            command=command,
            settings=self.inputs(),
        )

    def plot(self) -> Picture:
        """Return the charts of the page as one picture in SVG."""
        return Picture(self.headline(), tuple(self.parts()))

    def __str__(self) -> str:
        return self.text()

    __repr__ = texts.brief

    def _repr_html_(self) -> str:
        first = next(self.tables(), Table([], []))
        return texts.table(self.headline(), first.rows, first.head)


class Evaluation(Result):
    """A result with numbers that a program reads; it also states `records` and `measurements`."""

    name: ClassVar[str]  # of its table and its picture: NAME.parquet and NAME.svg
    kind: ClassVar[str]  # in `results.json`
    errors: ClassVar[str]  # what its standard errors are of
    notes: tuple[str, ...]
    checks: Mapping[str, str | None]

    @abstractmethod
    def records(self) -> Records:
        """Return the names of the columns of `to_frame`, and its rows."""

    @abstractmethod
    def measurements(self) -> Iterator[Measurement]:
        """Yield the rows of `results.json`."""

    @property
    def interrupted(self) -> bool:
        """Whether something is missing because of an interrupt."""
        return False

    def cautions(self) -> Iterator[str]:
        """Yield warnings about the log, and remarks."""
        yield from warnings(self.checks)
        yield from self.notes

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame of the numbers.

        Raises:
            MissingExtra: pandas is not installed.
        """
        names, rows = self.records()
        return data_frame(list(rows), list(names))

    def results(self) -> Results:
        """Collect the rows of `results.json`."""
        return Results(
            self.kind,
            self.inputs(),
            list(self.measurements()),
            interrupted=self.interrupted,
            se_of=self.errors,
            notes=self.notes,
            checks=self.checks,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the contents of `results.json`."""
        return self.results().to_dict()

    def write(self, out: str | Path, command: str = "") -> list[Path]:
        """Write results.json, report.html, NAME.svg, and NAME.parquet if pandas and pyarrow are installed.

        Args:
            out: a folder, which is made if needed; each file appears whole or not at all.
            command: that made the result, for the report.

        Raises:
            InvalidInput: the folder cannot be made, or a file cannot be written.
        """
        out = folder(file("out", out))
        written, page = [self.results().write(out)], self.page(command)
        if has_parquet():
            written.append(out / f"{self.name}.parquet")
            with on_disk("out", "a file that can be written"), replacement(written[-1]) as part:
                self.to_frame().to_parquet(part)
        written.append(page.write(out / REPORT))
        picture = Picture(page.title, page.parts)
        return [*written, picture.write(out / f"{self.name}.svg")] if picture.charts else written


class Records(NamedTuple):
    """The columns and the rows of a data frame."""

    names: Sequence[str]
    rows: Iterable[Sequence[object]]


class Number(Protocol):
    """A number with its standard error and the ends of its interval; NaN where they are not known."""

    @property
    def pair(self) -> tuple[float, float]: ...

    @property
    def interval(self) -> tuple[float, float]: ...


class Column(NamedTuple, Generic[R]):
    """A number that every row of a result has, declared once for data frames and `results.json`.

    >>> double = Column(("x",), "twice the row", lambda row: 2.0 * row)
    >>> double.cells(3.0), [(m.metric, m.mean) for m in double.measurements("a", {}, 3.0)]
    ([6.0], [('twice the row', 6.0)])
    """

    names: tuple[str, ...]  # in data frames: of the number; or with its error; or with both and the two ends
    metric: str  # in `results.json`; empty for none
    of: Callable[[R], Number | float | None]  # None where it is not known

    def cells(self, row: R) -> list[float]:
        """Return the numbers of a row that have a name in data frames."""
        numbers = _numbers(self.of(row))
        return [z for name, z in zip(self.names, numbers, strict=False) if name]

    def measurements(self, system: str, at: Mapping[str, float], row: R) -> Iterator[Measurement]:
        """Yield the number of a row, with its error and the ends of its interval if they have names or none has."""
        found = self.of(row)
        if not self.metric or found is None:
            return
        numbers = _numbers(found)[: len(self.names) or None]
        yield Measurement(system, at, self.metric, *numbers[:2])
        if numbers[2:] and numbers[1] == numbers[1]:
            for side, end in zip(("low", "high"), numbers[2:], strict=True):
                yield Measurement(system, at, f"{self.metric}: 95 %, {side}", end)


def names_of(columns: Iterable[Column[R]]) -> list[str]:
    """Return the names of columns in data frames."""
    return [name for column in columns for name in column.names if name]


def cells_of(columns: Iterable[Column[R]], row: R) -> list[float]:
    """Return the numbers of a row in data frames."""
    return [z for column in columns for z in column.cells(row)]


def warnings(checks: Mapping[str, str | None]) -> Iterator[str]:
    """Yield a line per check that found something."""
    yield from (f"check: {sentence}" for sentence in checks.values() if sentence is not None)


def _numbers(found: Number | float | None) -> list[float]:
    if found is None:
        return [nan]
    return [float(found)] if isinstance(found, float | int) else [*found.pair, *found.interval]


def _plain(value: object) -> object:
    """Replace NaN and infinities by None, as JSON has neither."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
