"""The columns of a log: numbers, or texts by their distinct values, with the place of every row."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.levels import level_of, plain as plain
from evenhand.core.types import Bools, Floats, Ints, Texts

_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-+]?\d+")
CURRENCY = "[$€£¥]|EUR|USD|GBP|CHF|Kč"
_AMOUNT = re.compile(rf"([-+]?)\s*(?:({CURRENCY})\s*(\S+)|(\S+?)\s*({CURRENCY}))")
# Amounts whose thousands are separated by one mark, and whose fractions begin with the other, by that mark.
_AMOUNTS = {z: re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{k}\d{{3}})+\{z}\d*") for z, k in [(",", "."), (".", ",")]}
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:\.\d{3})+)")


def is_grouped(text: str) -> bool:
    """Whether every mark in a number may separate thousands."""
    return _GROUPED.fullmatch(text) is not None


def grouped(texts: Collection[str]) -> bool:
    """Whether every mark in some whole numbers may separate thousands, and one has a mark.

    >>> grouped(["0", "853", "1,515"]), grouped(["1.515", "12.5"]), grouped(["0,515"]), grouped(["853"])
    (True, False, False, False)
    """
    marked = [text for text in texts if not _PLAIN.fullmatch(text)]
    return bool(marked) and all(map(is_grouped, marked))


class Marks(NamedTuple):
    """The points of a column of numbers, which mark fractions or thousands.

    >>> Marks.of(["853", "1.515"]).mixed, Marks.of(["853", "1.515", "1000"]).mixed, Marks.of(["1.515", "0.5"]).may
    (True, False, '')
    """

    grouped: str = ""  # a number whose point may separate thousands
    fraction: bool = False  # whether a point cannot
    hundreds: bool = False  # whether a number without a point has three digits
    more: bool = False  # whether one has more

    @staticmethod
    def of(texts: Collection[str]) -> Marks:
        """Look at the different texts of a column, apart from currencies."""
        texts = [amount_of(text)[1] for text in texts]
        points = [text for text in texts if _NUMBER.fullmatch(text)]
        plain = [len(text.lstrip("+-")) for text in texts if _PLAIN.fullmatch(text)]
        return Marks(
            next(filter(is_grouped, points), ""),
            not all(map(is_grouped, points)),
            3 in plain,
            max(plain, default=0) > 3,
        )

    def beside(self, other: Marks) -> Marks:
        """Join the marks of two parts of a column."""
        each = (mine or theirs for mine, theirs in zip(self, other, strict=True))
        return Marks(*each)  # type: ignore[arg-type]

    @property
    def may(self) -> str:
        """A number whose point may separate thousands, if that of all may."""
        return "" if self.fraction else self.grouped

    @property
    def mixed(self) -> bool:
        """Whether whole numbers beside say that points separate thousands: some are of hundreds, and none is larger."""
        return bool(self.may) and self.hundreds and not self.more


_NO_MARKS = Marks()
POINT = "."  # between whole numbers and fractions, where nothing else is stated


def as_number(text: str, decimal: str = POINT) -> float:
    """Parse a text as a number, whose thousands may be separated where it has a fraction; NaN if it is not one.

    >>> as_number("1.5"), as_number("1,5", decimal=","), as_number("1_000"), as_number("1.5", decimal=",")
    (1.5, 1.5, nan, nan)
    >>> as_number("1,234.50"), as_number("1.234,50", decimal=","), as_number("1.234,50"), as_number("1,234")
    (1234.5, 1234.5, nan, nan)
    """
    if _AMOUNTS[decimal].fullmatch(text):
        text = text.replace(POINT if decimal != POINT else ",", "")
    if decimal != POINT:
        text = "" if POINT in text else text.replace(decimal, POINT)
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def amount_of(text: str) -> tuple[str, str]:
    """Split an amount into its currency and the rest; other texts have no currency.

    >>> amount_of("€ 64.48"), amount_of("-64,48 EUR"), amount_of("-$3"), amount_of("12 %")
    (('€', '64.48'), ('EUR', '-64,48'), ('$', '-3'), ('', '12 %'))
    """
    found = _AMOUNT.fullmatch(text)
    return ("", text) if found is None else (found[2] or found[5], found[1] + (found[3] or found[4]))


def with_sign(text: str, decimal: str = POINT) -> tuple[str, float]:
    """Parse a number that may have a currency or be a percentage, which is a fraction; also return that sign.

    >>> with_sign("12.5 %"), with_sign("12,5%", decimal=","), with_sign("€ 12.5"), with_sign("12.5"), with_sign("a €")
    (('%', 0.125), ('%', 0.125), ('€', 12.5), ('', 12.5), ('€', nan))
    """
    if text.endswith("%"):
        return "%", as_number(text[:-1].strip(), decimal) / 100.0
    sign, rest = amount_of(text)
    return sign, as_number(rest, decimal)


def as_numbers(texts: Sequence[str], decimal: str = POINT, times: Sequence[int] = ()) -> list[float]:
    """Parse the different texts of a column, which occur so many times: those with the sign that most have are numbers.

    >>> as_numbers(["12.5 %", "n/a"]), as_numbers(["12.5 %", "3"]), as_numbers(["€ 3", "$ 4"]), as_numbers(["€ 3", ""])
    ([0.125, nan], [nan, 3.0], [nan, nan], [3.0, nan])
    """
    each = [with_sign(text, decimal) for text in texts]
    counts = Counter[str]()
    for (sign, number), some in zip(each, times or [1] * len(each), strict=True):
        counts[sign] += some * bool(np.isfinite(number))
    most = main_sign(counts)
    return [number if its == most else np.nan for its, number in each]


def main_sign(counts: Mapping[str, int]) -> str:
    """Return the sign that the most numbers have, none if two are as frequent.

    >>> main_sign({"€": 99, "$": 1, "": 0}), main_sign({"€": 1, "$": 1})
    ('€', '')
    """
    (sign, most), *rest = sorted(counts.items(), key=lambda z: -z[1]) or [("", 0)]
    return "" if rest and rest[0][1] == most else sign


def with_its_sign(sign: str, number: float) -> str:
    """Write a number with a sign as a file would."""
    if not sign:
        return plain(number)
    return f"{100.0 * number:.12g} %" if sign == "%" else f"{sign} {number:.12g}"


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column that is read as numbers alone.

    Args:
        values: `(N)` the numbers, NaN if there is none; in the fewest bytes that hold them exactly, see `narrow`.
        odd: by row, what is there in place of a number; an empty text where nothing is.
        marks: of the texts that were read as numbers.
        sign: of all numbers: a currency, or that of percentages.
    """

    values: NDArray[Any]
    odd: Mapping[int, str]
    marks: Marks = _NO_MARKS
    sign: str = ""

    def text(self, row: int) -> str:
        return self.odd[row] if row in self.odd else plain(float(self.values[row]))

    def numbers(self, decimal: str = POINT) -> Floats:
        return self.values.astype(float, copy=False)

    def first(self, is_such: Callable[[str], bool]) -> int | None:
        """Return the first row whose text satisfies a condition, None if there is none."""
        return next((row for row, text in self.odd.items() if is_such(text)), None)

    def are(self, texts: Collection[str]) -> Bools:
        """Whether rows have one of some texts, such as those of missing values, `->(N)`."""
        found: Bools = np.zeros(len(self.values), bool)
        found[[row for row, text in self.odd.items() if text in texts]] = True
        return found

    def lacking(self, texts: Collection[str], decimal: str = POINT) -> Numbers:
        """Return the column without the numbers that stand for missing values.

        >>> Numbers(np.array([41.0, -99.0]), {}).lacking(["", "-99"]).numbers()
        array([41., nan])
        """
        marks = {as_number(text, decimal): text for text in texts}
        rows = np.flatnonzero(np.isin(self.values, [z for z in marks if np.isfinite(z)]))
        if not len(rows):
            return self
        values, odd = self.values.astype(float), dict(self.odd)
        values[rows] = np.nan
        odd |= {row: marks[float(self.values[row])] for row in rows.tolist()}
        return replace(self, values=narrow(values), odd=odd)


@dataclass(frozen=True, eq=False)
class Names:
    """A column that is read as texts, each stored once.

    Args:
        codes: `(N)` the number of every row's text.
        values: the different texts.
    """

    codes: Ints
    values: tuple[str, ...]

    @staticmethod
    def of(texts: Sequence[str]) -> Names:
        """Read the texts of all rows.

        >>> Names.of(["b", "a", "b"]).values
        ('b', 'a')
        """
        places: dict[str, int] = {}
        codes = [places.setdefault(text, len(places)) for text in texts]
        return Names(np.array(codes, np.int64), tuple(places))

    @property
    def marks(self) -> Marks:
        """The marks of its numbers."""
        return Marks.of(self.values)

    @property
    def sign(self) -> str:
        """The currency of its amounts, or the sign of its percentages, where it has some."""
        return next(filter(None, (with_sign(text)[0] for text in self.values)), "")

    def text(self, row: int) -> str:
        return self.values[int(self.codes[row])]

    def texts(self) -> list[str]:
        """The text of every row, `->(N)`."""
        found: list[str] = np.array(self.values, object)[self.codes].tolist()
        return found

    def numbers(self, decimal: str = POINT) -> Floats:
        """The number of every row; NaN if its text is not a number, `->(N)`."""
        times = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return np.array(as_numbers(self.values, decimal, times), float)[self.codes]

    def floats(self, of: Callable[[str], float]) -> Floats:
        """Compute a number from each different text, `->(N)`."""
        return np.array([of(text) for text in self.values], float)[self.codes]

    def first(self, is_such: Callable[[str], bool]) -> int | None:
        """Return the first row whose text satisfies a condition, None if there is none."""
        found = [code for code, text in enumerate(self.values) if is_such(text)]
        return int(np.isin(self.codes, found).argmax()) if found else None

    def are(self, texts: Collection[str]) -> Bools:
        """Whether rows have one of some texts, `->(N)`."""
        return np.array([text in texts for text in self.values], bool)[self.codes]

    def places(self, texts: Sequence[str]) -> Ints:
        """The number that every row's text has in a list, -1 where it is not there, `->(N)`."""
        where = {text: i for i, text in enumerate(texts)}
        return np.array([where.get(text, -1) for text in self.values], np.int64)[self.codes]

    def renamed(self, texts: Collection[str], name: str) -> Names:
        """Return the column with one name in place of some texts.

        >>> Names.of(["x", "", "x"]).renamed([""], "missing").texts()
        ['x', 'missing', 'x']
        """
        return self._as([name if text in texts else text for text in self.values])

    def alike(self, stated: Collection[str] = ()) -> Names:
        """Return the column by levels, those that are stated or else their texts.

        >>> Names.of(["121.0", "121", ""]).alike().texts(), Names.of(["0", "1.0"]).alike(["0.0", "1"]).texts()
        (['121', '121', ''], ['0.0', '1'])
        """
        own = {level_of(text): text for text in stated}
        each = ((text, level_of(text) or "") for text in self.values)
        return self._as([text if text in stated else own.get(level, level) for text, level in each])

    def _as(self, texts: Sequence[str]) -> Names:
        fresh = Names.of(texts)
        return self if fresh.values == self.values else Names(fresh.codes[self.codes], fresh.values)

    def counted(self) -> tuple[list[str], Ints, Ints]:
        """Return the sorted texts that occur, the number of every row's text among them, and how often each does.

        >>> found, where, counts = Names.of(["b", "a", "b"]).counted()
        >>> found, where.tolist(), counts.tolist()
        (['a', 'b'], [1, 0, 1], [1, 2])
        """
        times = np.bincount(self.codes, minlength=len(self.values))
        order = sorted(np.flatnonzero(times).tolist(), key=lambda code: self.values[code])
        place = np.zeros(len(self.values), np.int64)
        place[order] = np.arange(len(order))
        return [self.values[code] for code in order], place[self.codes], times[order]


Column = Numbers | Names


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """The columns of a log that were asked for.

    Args:
        each: by name.
        lines: `(N)` of every row in its file: lines counted from 1, or rows of files that have no lines.
        torn: lines of rows that cannot be read.
        damage: what such rows have.
        unit: what `lines` counts.
        files: the first row of each file and the file's name, where there are several.
        decimal: between whole numbers and fractions, in texts.
        stated: whether the problem file says so.
        cut: between the fields of a CSV file.
        notes: how the file is written, where that was found out.
    """

    each: Mapping[str, Column]
    lines: Ints
    torn: Sequence[int] = ()
    damage: str = "more or fewer fields than the header"
    unit: str = "line"
    files: Sequence[tuple[int, str]] = ()
    decimal: str = POINT
    stated: bool = False
    cut: str | None = None
    notes: Sequence[str] = field(default_factory=tuple)

    def __len__(self) -> int:
        return len(self.lines)

    def lacking(self, texts: Collection[str]) -> Columns:
        """Return the columns without the numbers that stand for missing values; texts stay as they are."""
        if all(np.isnan(as_number(text, self.decimal)) for text in texts):
            return self
        each = {c: z.lacking(texts, self.decimal) if isinstance(z, Numbers) else z for c, z in self.each.items()}
        return replace(self, each=each)

    def thousands(self, names: Collection[str]) -> dict[str, str]:
        """Return a number of each column whose points separate thousands, or may, of those that are read as numbers.

        They do where whole numbers of hundreds are beside, and none is larger. They may where three digits follow each
        of them, fields are separated by semicolons, and no other column has a point that cannot.
        """
        if self.stated or self.decimal != POINT:
            return {}
        marks = {name: self.each[name].marks for name in names}
        clear = self.cut != ";" or any(each.fraction for each in marks.values())
        return {name: each.may for name, each in marks.items() if each.may and (each.mixed or not clear)}

    def where(self, row: int) -> str:
        """Return the place of a row, for messages."""
        found = f"{self.unit} {self.lines[row]}"
        at = bisect_right([first for first, _ in self.files], row) - 1
        return f"{found} of {self.files[at][1]}" if self.files else found

    def numbers(self, name: str) -> Floats:
        """The numbers of a column, NaN if there is none, `->(N)`."""
        return self.each[name].numbers(self.decimal)

    def names(self, name: str) -> Names:
        """The texts of a column that was asked for as texts."""
        found = self.each[name]
        assert isinstance(found, Names), name
        return found


_WIDE = 10**6  # letters of all texts
_KINDS = (np.int8, np.int16, np.float32)
Rows = Ints | Bools | slice


class Packed(Mapping[str, Any]):
    """Columns by name: texts once each, and numbers in the fewest bytes that hold them exactly.

    Args:
        each: by name, numbers `(N)` or names.

    >>> columns = Packed({"age": np.array([30.0, 41.0]), "town": Names.of(["Ulm", "Bonn"])})
    >>> columns["age"].tolist(), columns["town"].tolist(), columns.size
    ([30.0, 41.0], ['Ulm', 'Bonn'], 4)
    """

    def __init__(self, each: Mapping[str, NDArray[Any] | Names]) -> None:
        self._texts = {name: _held(column.values) for name, column in each.items() if isinstance(column, Names)}
        self._held = {name: _codes(z) if isinstance(z, Names) else narrow(z) for name, z in each.items()}

    def __getitem__(self, name: str) -> Floats | Texts:
        held = self._held[name]
        return self._texts[name][held] if name in self._texts else held.astype(float)

    def numbers(self, name: str, rows: Rows = slice(None)) -> Floats:
        """Return some rows of a column of numbers, `->(n)`."""
        return self._held[name][rows].astype(float, copy=False)

    def names(self, name: str, rows: Rows = slice(None)) -> Names:
        """Return some rows of a column of texts."""
        return Names(self._held[name][rows], tuple(self._texts[name].tolist()))

    def of(self, rows: Rows) -> Packed:
        """Return some rows of all columns."""
        found = Packed({})
        found._texts, found._held = self._texts, {name: held[rows] for name, held in self._held.items()}
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size(self) -> int:
        """The bytes of all rows."""
        return sum(held.nbytes for held in self._held.values())


def _held(values: Sequence[str]) -> NDArray[Any]:
    """Hold texts, each in the bytes of the longest, or in its own where a long one would make that far more."""
    longest, total = max(map(len, values), default=0), sum(map(len, values))
    wide = len(values) * longest > _WIDE + 2 * total
    return np.array(values, np.dtypes.StringDType()) if wide else np.array(values)


def _codes(names: Names) -> NDArray[Any]:
    return names.codes.astype(np.min_scalar_type(max(len(names.values) - 1, 0)))


def narrow(z: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in the first kind that gives back the same bits, `(N)->(N)`; those in few bytes as they are.

    >>> narrow(np.array([1.0, 200.0])).dtype, narrow(np.array([0.5, np.nan])).dtype, narrow(np.array([0.1])).dtype
    (dtype('int16'), dtype('float32'), dtype('float64'))
    """
    if z.dtype in _KINDS:
        return z
    z = np.ascontiguousarray(z, float)
    for kind in _KINDS:
        if _same(z[:1000], kind) and _same(z, kind):
            return z.astype(kind)
    return z if z.base is None else z.copy()  # as what it is a part of may be large


def _same(z: Floats, kind: type) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.array_equal(z.astype(kind).astype(float).view(np.int64), z.view(np.int64))
