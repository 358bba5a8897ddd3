"""Rows without a value in a column: marked by an indicator or a level, or dropped, as the problem file states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.core.types import Bools
from evenhand.replay.bad_rows import BadRows
from evenhand.replay.columns import Columns, Names
from evenhand.replay.spec import Spec
from evenhand.replay.units import MISSING


def drop(spec: Spec, columns: Columns, bad: BadRows) -> None:
    """Leave out the rows that the file drops."""
    for column, treatment in spec.missing.items():
        if treatment == "drop":
            bad.drop(column, missing(spec, columns, column))


def with_levels(spec: Spec, columns: Columns) -> Columns:
    """Give names a level for missing values where the file asks for one."""
    each = dict(columns.each)
    for column, treatment in spec.missing.items():
        if treatment == "level":
            each[column] = columns.names(column).renamed(spec.form.missing, MISSING)
    return replace(columns, each=each)


def missing(spec: Spec, columns: Columns, column: str) -> Bools:
    """Whether rows have no value in a column, `->(N)`."""
    return columns.each[column].are(spec.form.missing)


def absent(spec: Spec, columns: Columns, column: str) -> Bools:
    """Whether rows have no value in a numeric column that may be missing, `->(N)`."""
    if spec.missing.get(column) != "indicator":
        return np.zeros(len(columns), bool)
    return missing(spec, columns, column)


def is_name(spec: Spec, columns: Columns, column: str) -> Bools:
    """Whether rows have any name in a column, `->(N)`."""
    found = columns.each[column]
    assert isinstance(found, Names)
    return ~found.are({"", *spec.form.missing})


def marked(spec: Spec) -> tuple[str, ...]:
    """The columns of features in which a value may be missing, by an indicator or a level."""
    marks = ("indicator", "level")
    return tuple(c for c in (*spec.numeric, *spec.categorical) if spec.missing.get(c) in marks)
