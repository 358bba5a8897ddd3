"""Exports of a campaign's decisions: tables, and the formats of other contextual bandit libraries."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.files import beside, quoted
from evenhand.core.progress import Work
from evenhand.core.registry import meant
from evenhand.core.validate import on_disk
from evenhand.live.feedback import Feedback, write_npz, write_vw
from evenhand.live.history import History
from evenhand.live.stores.base import Store

SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".npz": "obp"} | dict.fromkeys(
    (".vw", ".txt", ".dat"), "vw"
)
Row = dict[str, Any]
T = TypeVar("T")
_BATCH = 10_000  # rows that Parquet compresses together


def export(
    store: Store,
    campaign: str,
    out: Path,
    *,
    kind: str | None = None,
    outcome: str | None = None,
    observed: bool = False,
    verbatim: bool = False,
) -> int:
    """Write the decisions of a campaign to a file; returns their number.

    Args:
        store: the campaign's store.
        campaign: its name.
        out: the file, which is replaced once it is complete; a link is replaced, and not followed.
        kind: csv, jsonl and parquet are tables with the columns of `History`; obp is the logged bandit feedback of
            the Open Bandit Pipeline, and vw is the input of `vw --cb K`, see `evenhand.live.feedback`. By default it
            follows from the suffix of the file's name.
        outcome: the reward, for obp and vw; by default the maximised outcome, or the only observed one.
        observed: whether to leave out decisions without an outcome, as obp and vw always do.
        verbatim: whether texts of a CSV stay as they are. By default those that a spreadsheet would run as a formula
            get an apostrophe in front: they begin with =, +, -, @, a tab or a carriage return.

    Raises:
        InvalidInput: the format is unknown, the file cannot be written, or the outcome is missing.
        MissingExtra: the format is Parquet, and pyarrow is not installed.
    """
    kind = _kind(out, kind)
    if kind in _TABLES:
        if outcome is not None:
            raise InvalidInput("outcome", "none, as tables have all of them; or one of the formats obp and vw", outcome)
        history = History.of(store, campaign)
        with Work(f"writing {out.name}", "decision") as work, _new(out) as part:
            rows = _count((row for row in history if not observed or row["state"] == "observed"), work)
            if kind == "csv":
                rows = itertools.chain([{name: name for name in history.columns}], rows)  # a header has texts, too
            _TABLES[kind](part, history, rows if kind != "csv" or verbatim else map(_quoted, rows))
    else:
        feedback = Feedback.of(store, campaign, outcome)
        with Work(f"writing {out.name}", "decision") as work, _new(out) as part:
            (write_npz if kind == "obp" else write_vw)(part, feedback, _count(feedback, work))
    return work.done


@contextmanager
def _new(out: Path) -> Iterator[Path]:
    with on_disk("out", "a file that can be written"), beside(out, 0o600) as part:
        yield part


def _quoted(row: Row) -> Row:
    """Put an apostrophe before texts that a spreadsheet would run.

    >>> _quoted({"key": "=1+1", "outcome won": -1.0})
    {'key': "'=1+1", 'outcome won': -1.0}
    """
    return {name: quoted(z) if isinstance(z, str) else z for name, z in row.items()}


def _count(rows: Iterable[T], work: Work) -> Iterator[T]:
    """Yield the rows and count them."""
    for row in rows:
        work.update()
        yield row


def _kind(out: Path, asked: str | None) -> str:
    known = tuple(dict.fromkeys(SUFFIXES.values()))
    if asked is None:
        if out.suffix.lower() not in SUFFIXES:
            expected = f"a name that ends in {', '.join(SUFFIXES)}, or a format"
            raise InvalidInput("out", expected, out.name)
        return SUFFIXES[out.suffix.lower()]
    if asked not in known:
        raise InvalidInput("format", f"one of {', '.join(known)}", f"{asked!r}{meant(asked, known)}")
    return asked


def _csv(out: Path, history: History, rows: Iterator[Row]) -> None:
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, history.columns, restval="")
        writer.writerows(rows)


def _jsonl(out: Path, history: History, rows: Iterator[Row]) -> None:
    with out.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _parquet(out: Path, history: History, rows: Iterator[Row]) -> None:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise MissingExtra("Parquet files", "parquet") from error
    kinds = _kinds(history)
    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    mixed = {history.column(name) for name, of in history.cases.items() if _one(of) is None}
    with ParquetWriter(out, schema) as writer:
        while batch := list(itertools.islice(rows, _BATCH)):
            for row in batch:
                row |= {name: json.dumps(row[name]) for name in mixed if name in row}
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _kinds(history: History) -> dict[str, type]:
    """Return the type of every column; case columns with lists or values of several types are written as JSON texts."""
    kinds: dict[str, type] = dict.fromkeys(history.columns, str)
    kinds |= {"id": int, "at": int}
    kinds |= {name: float for name in history.columns if name.split(" ")[0] in ("probability", "outcome")}
    return kinds | {history.column(name): _one(of) or str for name, of in history.cases.items()}


def _one(of: set[type]) -> type | None:
    """Return the common type of all values, None if there is none."""
    rest = of - {type(None)}
    if rest == {int, float}:
        return float
    return rest.pop() if len(rest) == 1 and rest <= {int, float, bool, str} else None


_TABLES: Mapping[str, Callable[[Path, History, Iterator[Row]], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
