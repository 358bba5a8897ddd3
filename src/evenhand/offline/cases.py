"""A list of cases to be decided at once, read by the problem and the encoding of a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import LARGEST
from evenhand.problem.problem import Problem
from evenhand.replay import toml_text
from evenhand.replay.bad_rows import BadRows
from evenhand.replay.columns import Columns
from evenhand.replay.encoding import feature, refuse_thousands
from evenhand.replay.form import Form
from evenhand.replay.guesses import FORESEEN, LISTED
from evenhand.replay.lines import locate_keys
from evenhand.replay.missing import missing, with_levels
from evenhand.replay.reading import form_of, header_of, read_csv
from evenhand.replay.spec import Spec
from evenhand.replay.units import MISSING, MOST_LEVELS, Units


@dataclass(frozen=True, kw_only=True, eq=False)
class Cases:
    """The rows of a list.

    Args:
        texts: by column, as the file has them.
        numbers: by column of numbers and dates, NaN if a value is missing.
        features: `(N,u)` encoded as the log is.
        known: `(N,A,L)` known outcomes, or `(1,A,L)` where rows do not differ.
        groups: by grouping, the number of the group of every row.
        form: how the file is written.
    """

    texts: Mapping[str, list[str]]
    numbers: Mapping[str, Floats]
    features: Floats
    known: Floats
    groups: Mapping[str, Ints]
    form: Form

    @staticmethod
    def read(path: Path, spec: Spec, problem: Problem, coding: Units) -> Cases:
        """Read a list; every row has to be usable, as every case must be decided.

        Raises:
            InvalidInput: a column is missing, or a value is of a different kind than in the log.
        """
        wanted = {*spec.numeric, *spec.categorical, *spec.known_columns, *(g.column for g in spec.groups.values())}
        places = {c: place for c, place in spec.places.items() if c in wanted}
        with locate_keys(spec.origin, path.name):
            return Cases._read(path, spec, problem, coding, places)

    @staticmethod
    def _read(path: Path, spec: Spec, problem: Problem, coding: Units, places: dict[str, str]) -> Cases:
        wanted, header = set(places), header_of(path, places, spec.form)
        for name in header:
            if name in LISTED or name.startswith(FORESEEN):
                raise InvalidInput(f"{path.name}: {name!r}", "another name, as a column of this name is written", name)
        places |= {name: "the list" for name in header if name not in wanted}  # they are written as they came
        read = read_csv(path, {name: places[name] for name in (*header, *places) if name in places}, form=spec.form)
        if not len(read):
            torn = f"rows with more or fewer fields than the header (first in line {read.torn[0]})" if read.torn else ""
            raise InvalidInput(path.name, "at least one row", torn or "a header alone")
        refuse_thousands(spec, read)
        given = {c: read.names(c).texts() for c in read.each}  # to be written as they came
        bad = BadRows.none(read)
        read = with_levels(spec, read)  # nothing is dropped
        numbers = {c: feature(spec, read, bad, c) for c in spec.numeric}
        for c in spec.known_columns:
            numbers[c] = read.numbers(c)
            bad.keep(c, np.abs(numbers[c]) <= LARGEST, "a finite number")
        for c, levels in coding.levels.items():
            bad.keep(c, read.names(c).are(levels), f"one of the log's values ({', '.join(levels[:10])})")
        groups = {}
        for grouping in problem.groups:
            column = spec.groups[grouping.name].column
            found = read.names(column).places(grouping.names)
            bad.keep(column, found >= 0, f"one of the log's groups ({', '.join(grouping.names[:10])})")
            groups[grouping.name] = found
        if bad.left_out:
            told = "; ".join([*bad.messages(), *_to_do(spec, coding, read, bad)])
            expected = "rows that can all be used, as every case is decided"
            raise InvalidInput(path.name, expected, f"{bad.left_out:,} of {bad.total:,} that cannot; {told}")
        known = spec.known(problem, {c: numbers[c] for c in spec.known_columns})
        return Cases(
            texts=given,
            numbers=numbers,
            features=coding.table(len(read), numbers, {c: read.names(c) for c in coding.levels}),
            known=problem.declared[None] if known is None else known,
            groups=groups,
            form=form_of(path, places, spec.form),
        )

    def __len__(self) -> int:
        return len(self.features)


def _to_do(spec: Spec, coding: Units, read: Columns, bad: BadRows) -> Iterator[str]:
    """Say what to write for values that a list has and the log has not, by column of features."""
    for column in dict.fromkeys(reason.column for reason in bad.reasons):
        if missing(spec, read, column).any() and (column in spec.categorical or column in spec.numeric):
            treatment = "level" if column in spec.categorical else "indicator"
            yield f"state features.missing.{toml_text.key(column)} = {treatment!r} for rows without a value"
        elif column in {grouping.column for grouping in spec.groups.values()}:
            yield f"write one of the log's groups of {column!r}, as shares and parities are of these"
        elif column in coding.levels:
            names = read.names(column)
            new = [z for z in names.values if z not in coding.levels[column]]
            stated = toml_text.value([z for z in (*coding.levels[column], *new) if z != MISSING][:MOST_LEVELS])
            yield (
                f"write one of the log's values of {column!r}, or state features.levels.{toml_text.key(column)} = "
                f"{stated}, by which a name that the log has not counts as {coding.levels[column][0]!r}"
            )
        else:
            yield f"correct {column!r} in these rows"
