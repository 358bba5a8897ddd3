"""The encoding of a log's feature columns as an intercept, standardised numbers and indicators, fixed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.levels import level_among
from evenhand.core.registry import suggestion
from evenhand.core.row_pairs import Packed as Sizes
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats, Ints, Places
from evenhand.core.validate import number
from evenhand.logs.columns import Names, Packed, Rows
from evenhand.logs.dates import days, written
from evenhand.problem.features import Categorical
from evenhand.problem.hashes import COLUMNS, Cross, Hashed, Hashing, level_text, reads
from evenhand.problem.row_layout import Packing, table

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 100
_KINDS: Mapping[str, Any] = {kind.__name__: kind for kind in (Categorical, Hashed, Cross)}  # that are hashed
MISSING = "missing"  # the level of a column without a value


@dataclass(frozen=True)
class Scale:
    """The standardisation of a numeric column: ((z / largest) - mean) / sd, for z clipped to [low, high]."""

    largest: float
    mean: float
    sd: float
    low: float
    high: float

    @staticmethod
    def of(z: Floats) -> Scale | None:
        """Fit the scale of a column, `(N)->`; None if it is constant.

        >>> Scale.of(np.array([0.0, 2.0]))
        Scale(largest=2.0, mean=0.5, sd=0.5, low=0.0, high=2.0)
        """
        low, high = float(z.min()), float(z.max())
        if low == high:
            return None
        largest = float(np.abs(z).max())
        z = z / largest  # first, so that squares of large numbers stay finite
        return Scale(largest, float(z.mean()), float(z.std()), low, high)

    @staticmethod
    def between(low: float, high: float) -> Scale:
        """Make the scale of a stated range: low becomes -1 and high becomes 1.

        >>> Scale.between(0, 64).apply(np.array([0.0, 32.0, 1000.0])).tolist()
        [-1.0, 0.0, 1.0]
        """
        largest = max(abs(low), abs(high))
        a, b = low / largest, high / largest
        return Scale(largest, (a + b) / 2, (b - a) / 2, low, high)

    def apply(self, z: Floats) -> Floats:
        """Standardise numbers, `(N)->(N)`."""
        return _standardise(z, *astuple(self))


def _standardise(z: Floats, largest: Any, mean: Any, sd: Any, low: Any, high: Any) -> Floats:
    """Standardise numbers by one scale, or each number by its own."""
    return np.asarray((np.clip(z, low, high) / largest - mean) / sd)


@dataclass(frozen=True, kw_only=True)
class Units:
    """Encodes a case as numbers, in this order: an intercept, numeric columns, indicators of levels.

    Args:
        numeric: the scale of every numeric column that varies.
        levels: all levels of every categorical column; the base, which has no indicator, is the first.
        constant: the columns that are the same in every row and left out.
        missing: the columns that may have no value: of numeric ones, an indicator says so, and the number is the mean.
        dates: the numeric columns that are dates.
        hashed: features of text columns that are hashed; rows are then packed (`core.row_pairs`), and the numbers above
            are those of exact columns.
    """

    numeric: Mapping[str, Scale] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constant: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    hashed: tuple[Hashing, ...] = ()

    def said(self, column: str, value: float) -> str:
        """Write a number of a column, which may be a date."""
        return written(value) if column in self.dates else amount(value)

    @staticmethod
    def fit(
        numeric: Mapping[str, Floats],
        text: Mapping[str, Names],
        ranges: Mapping[str, tuple[float, float]] | None = None,
        given: Mapping[str, tuple[str, ...]] | None = None,
        *,
        missing: tuple[str, ...] = (),
        dates: tuple[str, ...] = (),
        hashed: tuple[Hashing, ...] = (),
    ) -> Units:
        """Fit the encoding to the columns of a log; the most frequent level of a column is its base.

        Args:
            numeric, text: the columns; numbers that are missing are NaN.
            missing, dates, hashed: as above.
            ranges, given: stated ranges and levels of columns, which override the log.

        Raises:
            InvalidInput: a column has too many different values to be categorical.
        """
        scales, levels, constant = {}, {}, []
        without = {h.name for h in hashed}
        for column, z in numeric.items():
            scale = Scale.between(*ranges[column]) if ranges and column in ranges else _scale(column, z)
            if scale is None:
                constant.append(column)
            else:
                scales[column] = scale
        for column, values in ((c, z) for c, z in text.items() if c not in without):
            if given and column in given:
                levels[column] = tuple(given[column])
                continue
            found, _, counts = values.counted()
            if len(found) > MOST_LEVELS:
                expected = f"at most {MOST_LEVELS} values (any number with features.hashed.{column} = {COLUMNS})"
                raise InvalidInput(f"features.categorical: {column!r}", expected, len(found))
            if len(found) == 1:
                constant.append(column)
            base = int(counts.argmax())
            levels[column] = tuple(found[i] for i in (base, *(i for i in range(len(found)) if i != base)))
        for column in missing:  # also where no row of this log has none
            if column in levels and MISSING not in levels[column]:
                levels[column] = (*levels[column], MISSING)
        return Units(numeric=scales, levels=levels, constant=tuple(constant), missing=missing, dates=dates,
                     hashed=hashed)  # fmt: skip

    @property
    def size(self) -> int | Sizes:
        """The number of numbers of a case, or the size of its packed row."""
        return len(self.names) if self.packing is None else self.packing.size

    @cached_property
    def packing(self) -> Packing | None:
        """The layout of packed rows; None where no feature is hashed."""
        if not self.hashed:
            return None
        slots = [(place, place + 1) for place in range(1, 1 + len(self.numeric) + len(self.indicated))]
        names, of_column = [*self.numeric, *self.indicated], self.of_column
        for column in self.levels:
            if of_column[column]:
                slots.append((of_column[column][0], of_column[column][-1] + 1))
                names.append(column)
        return Packing(tuple(slots), tuple(names), self.hashed)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The columns of names."""
        return tuple(dict.fromkeys([*self.levels, *reads(self.hashed)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers; of packed rows, those of exact columns."""
        indicators = (f"{column}={level}" for column, levels in self.levels.items() for level in levels[1:])
        return ("1", *self.numeric, *(f"{column} missing" for column in self.indicated), *indicators)

    @cached_property
    def indicated(self) -> tuple[str, ...]:
        """The numeric columns with an indicator of missing values."""
        return tuple(column for column in self.missing if column not in self.texts)

    @property
    def of_column(self) -> dict[str, list[int]]:
        """The indices of each column's numbers."""
        found: dict[str, list[int]] = {column: [] for column in (*self.constant, *self.numeric, *self.levels)}
        place = 1
        for column in self.numeric:
            found[column] = [place]
            place += 1
        for column in self.indicated:
            found[column].append(place)
            place += 1
        for column, levels in self.levels.items():
            found[column] = list(range(place, place + len(levels) - 1))
            place += len(levels) - 1
        return found

    def table(self, rows: int, numeric: Mapping[str, Floats], text: Mapping[str, Names]) -> Floats:
        """Encode every row of a log, `(N)->(N,u)`, or as packed rows."""
        exact = self.exact(rows, numeric, text)
        return exact if self.packing is None else self.packing.rows(exact, self.buckets(text))

    def buckets(self, text: Mapping[str, Names]) -> list[Places]:
        """The columns that each row sets of each hashed feature, `->(N,at_most)`."""
        found = []
        for h in self.hashed:
            each = [text[name] for name in h.reads]
            codes = np.stack([z.codes for z in each]).astype(np.int64)
            first, places = _distinct(codes)  # so that each value is hashed once
            values = [[z.values[code] for code in own] for z, own in zip(each, codes[:, first].tolist(), strict=True)]
            found.append(table(h, values)[places])
        return found

    def exact(self, rows: int, numeric: Mapping[str, Floats], text: Mapping[str, Names]) -> Floats:
        """Encode the numbers of every row that have a column of their own, `(N)->(N,u)`."""
        units = np.empty((rows, len(self.names)))  # filled column by column, so that it is held once
        for i in range(1, len(self.names)):
            units[:, i] = self.column(i, numeric, text)
        units[:, 0] = 1.0
        return units

    def column(self, place: int, numeric: Mapping[str, Floats], text: Mapping[str, Names]) -> Floats | Bools:
        """Encode the numbers of all rows at a place of `names` after the first, `->(N)`."""
        name, level = self._origins[place]
        if name in self.levels:
            return text[name].are((self.levels[name][level],))
        return np.isnan(numeric[name]) if level else _filled(self.numeric[name].apply(numeric[name]))

    @cached_property
    def _origins(self) -> dict[int, tuple[str, int]]:
        """The column of every place, with the number of its level; 1 for that which says that a number is missing."""
        return {
            place: (column, i + (column not in self.numeric))
            for column, places in self.of_column.items()
            for i, place in enumerate(places)
        }

    def row(self, case: Mapping[str, Any]) -> Floats:
        """Encode a case that states every column by name, with the same bits as its row in a table, `->(u)`.

        Numbers outside the range of the log are clipped to it.

        Raises:
            InvalidInput: a column is missing, a value is not a finite number, or a level does not occur in the log.
        """
        plain = [self.number(case, column) for column in self.numeric]
        absent = [np.isnan(self.number(case, column)) for column in self.indicated]
        indicators: list[bool] = []
        for column, levels in self.levels.items():
            value = self.level(case, column)
            indicators += [value == level for level in levels[1:]]
        exact = np.concatenate([[1.0], _filled(_standardise(np.array(plain), *self._scales)), absent, indicators])
        if self.packing is None:
            return exact
        return self.packing.row(exact.tolist(), {column: self.level(case, column) for column in reads(self.hashed)})

    def rows(self, cases: Sequence[Mapping[str, Any]]) -> Floats:
        """Encode cases as `row` does, with the same bits, `(N)->(N,u)`.

        Raises:
            InvalidInput: as for `row`.
        """
        units, first, places = np.ones((len(cases), len(self.names))), 1 + len(self.numeric), self.of_column
        plain = np.array([self._numbers(cases, column) for column in self.numeric]).reshape(first - 1, len(cases))
        units[:, 1:first] = _filled(_standardise(plain.T, *self._scales))
        for i, column in enumerate(self.indicated, first):
            units[:, i] = np.isnan(self._numbers(cases, column))
        for column, levels in self.levels.items():
            own = {level: [level == other for other in levels[1:]] for level in levels}
            stated: list[Any] = [case.get(column) for case in cases]
            if set(map(type, stated)) != {str} or not own.keys() >= set(stated):
                stated = [self.level(case, column) for case in cases]
            units[:, places[column]] = np.reshape([own[z] for z in stated], (len(cases), len(levels) - 1))
        if self.packing is None:
            return units
        text = {column: Names.of([self.level(case, column) for case in cases]) for column in reads(self.hashed)}
        return self.packing.rows(units, self.buckets(text))

    def _numbers(self, cases: Sequence[Mapping[str, Any]], column: str) -> Floats:
        """Return the numbers of a column, `->(N)`."""
        values = [case.get(column) for case in cases]
        if column not in self.dates and set(map(type, values)) <= {int, float}:
            with suppress(OverflowError):  # an integer too large, which is refused below
                found: Floats = np.array(values, float)
                if np.isfinite(found).all():
                    return found
        return np.array([self.number(case, column) for case in cases])

    def level(self, case: Mapping[str, Any], column: str) -> str:
        """Return the level of a case, that of missing values where it may be missing and is None.

        Raises:
            InvalidInput: the case has none, or another one than those of the log, unless these are hashed.
        """
        value, levels = _value(case, column), self.levels.get(column, ())
        if value is None and column in self.missing:
            return MISSING
        if column not in self.levels:
            return level_text(column, value)
        if (found := level_among(value, levels)) is None:
            raise InvalidInput(column, f"one of {levels}", f"{value!r}{suggestion(value, levels)}")
        return found

    def number(self, case: Mapping[str, Any], column: str) -> float:
        """Return the number of a case, days where it is a date, NaN if it may be missing and is None.

        Raises:
            InvalidInput: the case has no number there.
        """
        value = _value(case, column)
        if value is None and column in self.missing:
            return np.nan
        if column not in self.dates:
            return number(column, value, "a finite number")
        found = days(value) if isinstance(value, str) else np.nan
        return number(column, value if np.isnan(found) else found, 'a date, such as "2026-11-23"', np.isfinite)

    def outside(self, case: Mapping[str, Any]) -> list[str]:
        """Return the columns whose number in a case is clipped.

        >>> Units.fit({"age": np.array([20.0, 60.0])}, {}).outside({"age": 61})
        ['age']
        """
        numbers = {column: self.number(case, column) for column in self.numeric}
        ends = {column: (scale.low, scale.high) for column, scale in self.numeric.items()}
        texts = [h.name for h in self.hashed if isinstance(h, Hashed) and h.outside(case[h.name])]
        return [column for column, z in numbers.items() if z < ends[column][0] or z > ends[column][1]] + texts

    @cached_property
    def _scales(self) -> Floats:
        return np.array([astuple(scale) for scale in self.numeric.values()]).reshape(-1, 5).T

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON without loss; lists keep the order of columns."""
        return {
            "numeric": [[column, asdict(scale)] for column, scale in self.numeric.items()],
            "levels": [[column, list(levels)] for column, levels in self.levels.items()],
            "constant": list(self.constant),
            **({"missing": list(self.missing)} if self.missing else {}),
            **({"dates": list(self.dates)} if self.dates else {}),
            **({"hashed": [[type(h).__name__, asdict(h)] for h in self.hashed]} if self.hashed else {}),  # type: ignore[call-overload]
        }

    @staticmethod
    def of_dict(kept: Mapping[str, Any]) -> Units:
        """Restore units from `to_dict`.

        >>> units = Units.fit({"age": np.array([20.0, 33.0, 60.0])}, {"town": Names.of(["A", "B", "B"])})
        >>> Units.of_dict(units.to_dict()) == units, units.names
        (True, ('1', 'age', 'town=A'))
        """
        return Units(
            numeric={column: Scale(**scale) for column, scale in kept["numeric"]},
            levels={column: tuple(levels) for column, levels in kept["levels"]},
            constant=tuple(kept["constant"]),
            missing=tuple(kept.get("missing", ())),
            dates=tuple(kept.get("dates", ())),
            hashed=tuple(_KINDS[kind](**values) for kind, values in kept.get("hashed", ())),
        )


class Features:
    """The encoded features of all rows, `(N,u)`, of which only those that are read are computed.

    They are indexed like an array, by rows, or by rows and a column, which is an exact one where rows are packed.

    Args:
        coding: of the columns.
        columns: of the rows.
        rows: N.

    >>> columns = Packed({"age": np.array([20.0, 60.0]), "town": Names.of(["A", "B"])})
    >>> features = Features(Units.fit({"age": columns["age"]}, {"town": columns.names("town")}), columns, 2)
    >>> features.shape, features[1:].tolist(), features[:, 2].tolist()
    ((2, 3), [[1.0, 1.0, 1.0]], [0.0, 1.0])
    """

    def __init__(self, coding: Units, columns: Packed, rows: int) -> None:
        self._coding, self.columns, size = coding, columns, coding.size
        self.shape = rows, 2 * size.pairs if isinstance(size, Sizes) else size

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return self[:]

    def __getitem__(self, at: Any) -> Floats:
        rows, place = at if isinstance(at, tuple) else (at, slice(None))
        if isinstance(rows, int):
            return np.asarray(self[np.array([rows]), place][0])
        some = self.of(rows)
        numeric, text = some.columns, {c: some.columns.names(c) for c in self._coding.texts}
        if isinstance(place, int):
            found = self._coding.column(place, numeric, text) if place else np.ones(len(some))
            return found.astype(float, copy=False)
        return self._coding.table(len(some), numeric, text)[:, place]

    @property
    def exact(self) -> Features:
        """The features without those that are hashed."""
        coding = self._coding
        missing = tuple(c for c in coding.missing if c in coding.levels or c not in coding.texts)
        return Features(replace(coding, hashed=(), missing=missing), self.columns, len(self))

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """All levels of the columns of texts."""
        return self._coding.levels

    def of(self, rows: Rows) -> Features:
        """Return the features of some rows."""
        count = self.shape[0]
        if isinstance(rows, slice):
            left = len(range(*rows.indices(count)))
        else:
            left = int(np.count_nonzero(rows)) if np.asarray(rows).dtype == bool else len(rows)
        return Features(self._coding, self.columns.of(rows), left)


class Columns:
    """The features of all rows by name: some rows are a data frame of what the log has.

    Dates are numbers of days, and texts are categories.

    Args:
        features: of the rows.
    """

    def __init__(self, features: Features) -> None:
        self._features = features

    def __len__(self) -> int:
        return len(self._features)

    def __getitem__(self, rows: Rows) -> pd.DataFrame:
        columns = self._features.of(rows).columns
        return data_frame({name: columns[name] for name in columns}, levels=self._features.levels)


def _scale(column: str, z: Floats) -> Scale | None:
    """Fit the scale of the numbers that are there."""
    there = z[~np.isnan(z)]
    if not len(there):
        raise InvalidInput(f"features.numeric: {column!r}", "a value in one row at least", "none")
    return Scale.of(there)


def _distinct(codes: Ints) -> tuple[Ints, Ints]:
    """Return a row of every different combination of codes, and the place of each row among these, `(C,N)->(K),(N)`."""
    whole = codes[0]
    for own in codes[1:]:
        whole = whole * (int(own.max(initial=0)) + 1) + own
    _, first, places = np.unique(whole, return_index=True, return_inverse=True)
    return first, places


def _filled(z: Floats) -> Floats:
    """Put the mean, which is 0, in place of missing numbers."""
    return np.where(np.isnan(z), 0.0, z)


def _value(case: Mapping[str, Any], column: str) -> Any:
    if column not in case:
        raise InvalidInput(column, "a value, as the problem file names the column", "none")
    return case[column]
