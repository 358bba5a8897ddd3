"""Read a CSV file into columns of text, with the line of every row."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from evenhand.core.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Some columns of a file as text, without blanks around it.

    The standard library's reader is used because it reports the line of every row, even after fields that span lines,
    and returns rows with too many or too few fields.
    """

    text: Mapping[str, list[str]]
    lines: list[int]  # of every row in the file, counted from 1
    torn: list[int]  # lines of rows with another number of fields than the header


def read_csv(path: Path, places: Mapping[str, str]) -> Columns:
    """Read the columns named by the keys of `places`; the values say, for error messages, which setting asks for each.

    Raises:
        InvalidInput: the file is missing, empty, no CSV, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(path.name, file, places)
    except OSError as error:
        raise InvalidInput(path.name, "a file that can be read", error.strerror or error) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidInput(path.name, "a CSV file in UTF-8", error) from error


def _read(name: str, file: TextIO, places: Mapping[str, str]) -> Columns:
    reader = csv.reader(file, strict=True)
    header = [field.strip() for field in next(reader, [])]
    if not header:
        raise InvalidInput(name, "a header line and rows", "an empty file")
    for column, place in places.items():
        if header.count(column) != 1:
            got = "none of that name" if column not in header else "several of that name"
            raise InvalidInput(f"{place}: {column!r}", f"a column of {name} ({', '.join(header)})", got)
    indices = [header.index(column) for column in places]
    text: list[list[str]] = [[] for _ in indices]
    lines, torn, line = [], [], reader.line_num + 1
    for row in reader:
        if len(row) == len(header):
            lines.append(line)
            for values, i in zip(text, indices, strict=True):
                values.append(row[i].strip())
        elif row:  # a blank line is no row
            torn.append(line)
        line = reader.line_num + 1
    return Columns(text=dict(zip(places, text, strict=True)), lines=lines, torn=torn)
