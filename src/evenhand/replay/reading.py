"""Reads a CSV file into columns of text, with the line of every row."""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.replay.files import text_file

DELIMITERS = (",", ";", "\t")
LONGEST = 300  # characters of a header in a message


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The requested columns of a file as text, stripped of blanks.

    The standard library's reader is used because it reports the line of every row, even after fields that span lines,
    and returns rows with too many or too few fields.
    """

    text: Mapping[str, list[str]]
    lines: list[int]  # of every row in the file, counted from 1
    torn: list[int]  # lines of rows with another number of fields than the header


def read_csv(path: Path, places: Mapping[str, str]) -> Columns:
    """Read the columns named by the keys of `places`; its values name the setting of each column for error messages.

    The delimiter is the comma, semicolon or tab, whichever gives the header most of the requested columns.

    Raises:
        InvalidInput: the file is missing, empty, not CSV, or lacks a column.
    """
    with text_file(path, "a CSV file in UTF-8") as file:
        return _read(path.name, file, places)


def header_of(path: Path, places: Mapping[str, str]) -> list[str]:
    """Return the names of all columns; `places` as for `read_csv`, by which the delimiter is chosen.

    Raises:
        InvalidInput: the file is missing or empty.
    """
    with text_file(path, "a CSV file in UTF-8") as file:
        delimiter = _delimiter(file, places)
        file.seek(0)
        return _header(path.name, csv.reader(file, delimiter=delimiter, strict=True))


def _read(name: str, file: TextIO, places: Mapping[str, str]) -> Columns:
    delimiter = _delimiter(file, places)
    file.seek(0)
    reader, line = csv.reader(file, delimiter=delimiter, strict=True), 1
    text: list[list[str]] = [[] for _ in places]
    lines: list[int] = []
    torn: list[int] = []
    try:
        header = _header(name, reader)
        indices = [_index(name, header, column, place) for column, place in places.items()]
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(header):
                lines.append(line)
                for values, i in zip(text, indices, strict=True):
                    values.append(row[i].strip())
            elif row:  # blank lines are skipped
                torn.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{name}, line {line}", "a CSV file in UTF-8", error) from error
    return Columns(text=dict(zip(places, text, strict=True)), lines=lines, torn=torn)


def _delimiter(file: TextIO, places: Mapping[str, str]) -> str:
    """Choose the delimiter that gives the header most of the requested columns; ties are broken by most columns."""
    first = file.readline()

    def columns(delimiter: str) -> tuple[int, int]:
        header = [field.strip().strip('"') for field in first.split(delimiter)]
        return len(set(header) & set(places)), len(header)

    return max(DELIMITERS, key=columns)


def _header(name: str, reader: Iterator[list[str]]) -> list[str]:
    header = next(reader, None)
    if not header or not any(header):
        raise InvalidInput(name, "a header line and rows", "an empty file" if header is None else "an empty first line")
    return [field.strip() for field in header]


def _index(name: str, header: list[str], column: str, place: str) -> int:
    """Return the index of a column in the header."""
    if header.count(column) != 1:
        guess = meant(column, header)
        got = f"none of that name{guess}" if column not in header else "several of that name"
        expected = f"a column of {name}, line 1 ({textwrap.shorten(', '.join(header), LONGEST)})"
        raise InvalidInput(f"{place}: {column!r}", expected, got)
    return header.index(column)
