"""Reads a randomised log by a problem file, for replays, values, curves and campaigns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import Size
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, Texts
from evenhand.environments.logged import Logged
from evenhand.logs.bad_rows import BadRows
from evenhand.logs.checks.repeats import is_owner
from evenhand.logs.columns import Columns
from evenhand.logs.encoding import Encoded, encode, size_of
from evenhand.logs.problem_file import Stated, read_spec, stated_name
from evenhand.logs.sources import Given, Table, table_of
from evenhand.logs.spec import Spec
from evenhand.logs.toml import locate_keys
from evenhand.problem.problem import Problem

ORDERS = 3  # orders of each resample: enough to separate the variance between cases from that of the order


@runtime_checkable
class Restated(Protocol):
    """A log with its own columns for actions, probabilities and outcomes, such as the decisions of a campaign."""

    @property
    def name(self) -> str: ...

    def restated(self, spec: Spec) -> Spec:
        """Return a specification that reads this log."""

    def read(self, spec: Spec) -> Columns:
        """Return the columns that a restated specification reads."""


Source = Given | Restated  # what a table can be made of, or decisions


@dataclass(frozen=True, kw_only=True, eq=False)
class Log:
    """A randomised log, read by a problem file; see `read_log`.

    Args:
        name: of the file, of the folder, or "the data frame".
        spec: what the columns mean.
        encoded: the usable rows as numbers.
        bad: the rows that are left out, and why.
    """

    name: str
    spec: Spec
    encoded: Encoded
    bad: BadRows

    @cached_property
    def problem(self) -> Problem:
        """The problem of the file, with the groups of the log."""
        return self.spec.problem(self.encoded.levels)

    @property
    def notes(self) -> list[str]:
        """Remarks about the log, such as how many clusters it has."""
        z = self.encoded.clusters
        told = (
            []
            if z is None or z.column is None
            else [f"the {len(self):,} rows are in {z.count:,} clusters by {z.column!r}"]
        )
        return [*self.encoded.notes, *told]

    @property
    def n_features(self) -> Size:
        """The number of features of a candidate, or the size of its packed row, as for `Settings.build`."""
        return size_of(self.spec, self.encoded.coding)

    def __len__(self) -> int:
        """The number of usable rows."""
        return len(self.encoded.actions)

    def __str__(self) -> str:
        played = np.bincount(self.encoded.actions, minlength=len(self.problem.actions)).tolist()
        shares = (f"{name} {count:,}" for name, count in zip(self.problem.actions, played, strict=True))
        lines = [f"{self.name}: {len(self):,} usable rows of {self.bad.total:,}: {', '.join(shares)}"]
        lines += [f"left out: {reason}" for reason in self.bad.messages()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = texts.brief

    def _repr_html_(self) -> str:
        first, *rest = str(self).split("\n")
        return texts.table(first, [line.split(": ", 1) for line in rest])

    def columns(self) -> Mapping[str, Floats | Texts]:
        """Return the features of the usable rows as the log has them, `->(N)` each: numbers, or texts."""
        return self.encoded.columns

    def environment(self, *, shuffles: int | None = None) -> Logged:
        """Build the environment that replays the log, for `simulate` and `compare`.

        Args:
            shuffles: how many replicas read the rows in an order of their own; those beyond are resamples. None leaves
                all replicas shuffles.
        """
        return environment(self.problem, self.encoded, shuffles=shuffles)


@checked
def read_log(log: Source, problem: Stated) -> Log:
    """Read a randomised log by a problem file.

    Args:
        log: the path of a file or folder (CSV, Parquet, feather, lines of JSON, Vowpal Wabbit), "-" for the standard
            input, a data frame of pandas, polars, pyarrow or DuckDB, columns by name, a query of a database
            (`evenhand.logs.Query`), or the decisions of a campaign (`evenhand.live.decisions`).
        problem: a TOML file that states what the columns mean, or a mapping as `tomllib` reads it.

    Raises:
        InvalidInput: a key or a column is wrong, too many rows are bad, or the file does not state how actions were
            drawn; the error names them.
        MissingExtra: pyarrow is needed for all but CSV and Vowpal Wabbit, and is not installed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("letter;visit\\n" + "yes;1\\nno;0\\n" * 100)
    >>> _ = (folder / "problem.toml").write_text('''
    ... maximize = "visit"
    ... horizon = 50
    ... action = { column = "letter", values = { no = "none", yes = "letter" } }
    ... propensity = { constant = 0.5 }
    ... outcomes = { visit = { range = [0, 1] } }
    ... ''')
    >>> print(read_log(folder / "log.csv", folder / "problem.toml"))
    log.csv: 200 usable rows of 200: none 100, letter 100
    note: log.csv was found to be fields separated by semicolons
    """
    return read_rows(log, read_replayed(problem, log))


def read_replayed(problem: Stated, log: Source | None = None) -> Spec:
    """Read a problem file that states what a replay needs: how the log chose its actions, and its times if any.

    A log may restate it; see `Restated`.

    Raises:
        InvalidInput, InfeasibleProblem: as for `read_spec`; or the file does not state it.
    """
    spec, name = read_spec(problem), stated_name(problem)
    if isinstance(log, Restated):
        return log.restated(spec)
    if spec.until is not None and spec.time is None:
        raise InvalidInput(f"{name}: time", "the column of the times of cases, beside until", "nothing")
    with locate_keys(spec.origin, name):
        _ = spec.logged
    if spec.propensity is None:
        expected = "a column or a constant, the probability with which the log chose its actions"
        raise InvalidInput(f"{name}: propensity", expected, "nothing")
    return spec


def read_rows(log: Source, spec: Spec, absent: Collection[str] = ()) -> Log:
    """Read a log by a specification.

    Args:
        log, spec: as above.
        absent: the actions that may have no row, such as those that came after the log.

    Raises:
        InvalidInput: the file, one of its columns, or too many of its rows cannot be used.
    """
    source = log if isinstance(log, Restated) else table_of(log)
    with locate_keys(spec.origin, source.name):
        _ = spec.logged
        columns = source.read(spec) if isinstance(source, Restated) else _read(source, spec)
        bad = BadRows.none(columns)
        encoded = encode(spec, columns, bad, source.name, absent)
    return Log(name=source.name, spec=encoded.spec, encoded=encoded, bad=bad)


def _read(log: Table, spec: Spec) -> Columns:
    """Read the columns of a specification and, if it states no clusters, those whose names suggest customers."""
    if spec.cluster is None:
        with suppress(InvalidInput):  # as of a column of lists, which nobody asked for
            names = log.header(spec.places, spec.form)
            owners = [c for c in names if is_owner(c) and c not in spec.places and names.count(c) == 1]
            more = spec.places | dict.fromkeys(owners, "the header")
            return log.read(more, numbers=spec.numbers, form=spec.form)
    return log.read(spec.places, numbers=spec.numbers, form=spec.form)


def environment(problem: Problem, encoded: Encoded, *, shuffles: int | None = None) -> Logged:
    """Build the environment of an encoded log.

    Raises:
        InvalidInput: rows have weights.
    """
    if encoded.spec.weight is not None:
        raise InvalidInput("weight", "none in a replay, which plays each row as one case", encoded.spec.weight)
    first = np.cumsum([0, *(len(g.names) for g in problem.groups)])
    groups = [where + start for where, start in zip(encoded.groups, first[:-1], strict=True)]
    return Logged(
        problem=problem,
        units=encoded.units[:],
        layout=encoded.layout,
        numbered=not isinstance(size_of(encoded.spec, encoded.coding), int),
        actions=encoded.actions,
        propensities=encoded.propensities,
        outcomes=encoded.outcomes,
        groups=np.stack(groups, 1) if groups else np.zeros((len(encoded.actions), 0), np.int64),
        known=encoded.known,
        scales=encoded.scales,
        time=encoded.time,
        clusters=None if encoded.clusters is None else encoded.clusters.numbers,
        shuffles=shuffles,
        orders=ORDERS,
    )
