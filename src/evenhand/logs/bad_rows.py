"""Unusable rows of a log, each counted under its first reason, and rows without a value in a column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import InvalidInput
from evenhand.core.texts import few
from evenhand.core.types import Bools, Floats
from evenhand.logs import toml
from evenhand.logs.columns import Columns, Names, with_sign
from evenhand.logs.keys import DROP, REFUSE
from evenhand.logs.spec import Spec
from evenhand.logs.units import MISSING

Z = TypeVar("Z", bound=np.generic)
FEW = 0.01  # of all rows: that as many are bad changes no population


class Reason(NamedTuple):
    """A reason for leaving out rows, with their number and the first of them."""

    column: str
    expected: str
    rows: int
    where: str  # the first such row is
    got: str  # the text in this row
    vital: bool = False  # whether no row may have it: without such rows, what is left is selected by what followed

    def __str__(self) -> str:
        return f"{_rows(self.rows)}: {self.column!r} is not {self.expected} (first in {self.where}: {self.got!r})"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


@dataclass
class BadRows:
    """Keeps track of the usable rows of a log and of the reasons why others are left out."""

    columns: Columns
    good: Bools
    reasons: list[Reason] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)  # rows that the problem file drops, by column
    selections: dict[str, Bools] = field(default_factory=dict)  # of these, (N,) those that what followed decides
    cut: dict[str, Floats] = field(default_factory=dict)  # by how much an outcome of each row was clipped, (N,)
    allowed: float = 0.0  # the part of all rows that may be bad

    @staticmethod
    def none(columns: Columns) -> BadRows:
        """Start with all rows good, except those with another number of fields than the header."""
        return BadRows(columns, np.ones(len(columns), bool))

    def keep(self, column: str, good: Bools, expected: str) -> None:
        """Leave out the rows that are not in `good`, and note the reason."""
        bad = np.flatnonzero(self.good & ~good)
        if len(bad):
            first = int(bad[0])
            its, got = self.columns.each[column].sign, self.columns.each[column].text(first)
            sign, number = with_sign(got, self.columns.decimal)
            if sign != its and np.isfinite(number):
                expected += f" {f'with {its}' if its else f'without {sign}'}, as most rows have it"
            self.reasons.append(Reason(column, expected, len(bad), self.columns.where(first), got))
            self.good &= good

    def need(self, column: str, good: Bools, expected: str, rule: str = REFUSE) -> None:
        """Refuse a log with rows that are not in `good`, or drop them where the problem file asks for it.

        Rows that are left out for a feature are others; those that are left out for what was played, how likely that
        was, or what followed are selected by it.
        """
        bad = self.good & ~good
        if rule == DROP and bad.any():
            self.selections[column] = self.selections.get(column, np.zeros_like(bad)) | bad
            self.drop(column, bad)
            return
        self.keep(column, good, expected)
        if bad.any():
            self.reasons[-1] = self.reasons[-1]._replace(vital=True)

    def clip(self, column: str, before: Floats, after: Floats) -> None:
        """Note by how much an outcome was clipped in each row; one column may have two outcomes."""
        cut = np.abs(np.nan_to_num(before) - np.nan_to_num(after))
        self.cut[column] = np.maximum(self.cut.get(column, np.zeros(len(cut))), cut)

    def drop(self, column: str, missing: Bools) -> None:
        """Leave out rows without a value, as the problem file asks for; they do not count as bad."""
        count = int((self.good & missing).sum())
        if count:
            self.dropped[column] = self.dropped.get(column, 0) + count
            self.good &= ~missing

    def kept(self, values: NDArray[Z]) -> NDArray[Z]:
        """Return the numbers of usable rows, `(N,...)->(N',...)`: the same array where all rows are usable."""
        return values if self.good.all() else np.asarray(values[self.good])

    @property
    def total(self) -> int:
        """The number of rows in the file."""
        return len(self.columns) + len(self.columns.torn)

    @property
    def left_out(self) -> int:
        """The number of rows that are left out, bad or dropped."""
        return self.total - int(self.good.sum())

    @property
    def count(self) -> int:
        """The number of bad rows."""
        return self.left_out - sum(self.dropped.values())

    def messages(self) -> list[str]:
        found = [str(reason) for reason in self.reasons]
        if self.columns.torn:
            first = f"(first in line {self.columns.torn[0]})"
            found.append(f"{_rows(len(self.columns.torn))}: {self.columns.damage} {first}")
        return found

    def notes(self) -> list[str]:
        """Describe what leaving out rows changes."""
        bad = (
            []
            if self.count <= FEW * self.total
            else [
                f"{self.count:,} of {self.total:,} rows are bad and were left out, "
                f"as allow_bad = {self.allowed:g} allows: the results are for another population, of the other rows"
            ]
        )
        return bad + [
            f"{count:,} of {self.total:,} rows have no {column!r} and were dropped, as the problem file asks for: the "
            "results are for another population, of rows that have one"
            for column, count in self.dropped.items()
            if column not in self.selections
        ]

    def _dropped(self, column: str, rows: int) -> str:
        why = f"dropped for {column!r}" if column in self.selections else f"no {column!r}, dropped"
        return f"{_rows(rows)}: {why}"

    def checks(self, logged: Names, actions: Mapping[str, str], outcomes: Collection[str]) -> dict[str, str | None]:
        """Say how many rows of each action were dropped, and how many clipped, and how much of a total that is.

        Args:
            logged: what was played in all rows.
            actions: by what is logged, the names of actions.
            outcomes: the columns of outcomes.
        """
        dropped, clipped = self._selected(logged, actions, outcomes), self._cut(logged, actions)
        return {"dropped": "; ".join(dropped) or None, "clipped": "; ".join(clipped) or None}

    def _selected(self, logged: Names, actions: Mapping[str, str], outcomes: Collection[str]) -> Iterator[str]:
        for column, rows in self.selections.items():
            z, some = self.columns.numbers(column), int(rows.sum())
            part = _share(z[rows], z[rows | self.good]) if column in outcomes else ""
            told = "1 row was dropped for its" if some == 1 else f"{some:,} rows were dropped for their"
            told += f" {column!r} ({_by_action(rows, logged, actions)})" + (
                f", with {part} of its total" if part else ""
            )
            yield f"{told}: what is left is selected by it"

    def _cut(self, logged: Names, actions: Mapping[str, str]) -> Iterator[str]:
        for column, cut in self.cut.items():
            rows = (cut > 0.0) & self.good
            if rows.any():
                part = _share(cut[rows], self.columns.numbers(column)[self.good])
                told = f"{column!r} was clipped in {_rows(int(rows.sum()))} ({_by_action(rows, logged, actions)})"
                told += f", by {part} of its total" if part else ""
                yield f"{told}: results are of the clipped outcome"

    def check(self, name: str, allowed: float, empty: Sequence[str] = ()) -> None:
        """Refuse a log in which too many rows, or all, are bad.

        Args:
            name: of the log.
            allowed: the part of all rows that may be bad.
            empty: the features and groups without a value in bad rows.

        Raises:
            InvalidInput: too many rows are bad, or one has no action, propensity or outcome that can be used; the error
                lists the reasons.
        """
        self.allowed = allowed
        if self.total == 0:
            raise InvalidInput(name, "at least one row after the header", "none")
        vital = [reason for reason in self.reasons if reason.vital]
        if vital:
            columns = " or ".join(dict.fromkeys(f"outside.{toml.key(reason.column)}" for reason in vital))
            expected = "an action, a propensity and outcomes that can be used in every row"
            why = "; ".join(map(str, vital))
            raise InvalidInput(
                name, expected, f'{why}; {columns} says what else is done with such rows: "{DROP}" leaves them out'
            )
        if self.count > allowed * self.total or self.left_out == self.total:
            expected = f"at most {100 * allowed:g} % bad rows (allow_bad = {allowed:g})"
            told = [*self.messages(), *(self._dropped(c, n) for c, n in self.dropped.items())]
            if empty:
                told.append(f"features.missing says what is done with rows without {' or '.join(map(repr, empty))}")
            raise InvalidInput(name, expected, f"{self.count} of {self.total}; " + "; ".join(told))


def _by_action(rows: Bools, logged: Names, actions: Mapping[str, str]) -> str:
    """Return the numbers of some rows by action, in words, the most frequent first."""
    texts, counts = np.unique(logged.codes[rows], return_counts=True)
    found: dict[str, int] = {}
    for code, some in zip(texts.tolist(), counts.tolist(), strict=True):
        text = logged.values[code]
        name = actions.get(text, text)
        found[name] = found.get(name, 0) + some
    return few([f"{some:,} under {name!r}" for name, some in sorted(found.items(), key=lambda z: -z[1])])


def _share(part: Floats, whole: Floats) -> str:
    """Return the share of a part in a total of finite numbers, in words; an empty text where that is not known."""
    with np.errstate(over="ignore"):
        some, total = (float(np.abs(z[np.isfinite(z)]).sum()) for z in (part, whole))
    return f"{some / total:.1%}" if some > 0.0 and 0.0 < total < np.inf else ""


def drop(spec: Spec, columns: Columns, bad: BadRows) -> None:
    """Leave out the rows that the file drops."""
    for column, treatment in spec.missing.items():
        if treatment == "drop":
            bad.drop(column, missing(spec, columns, column))


def with_levels(spec: Spec, columns: Columns) -> Columns:
    """Give names the level that they are, also a level for missing values where the file asks for one."""
    each = dict(columns.each)
    stated = {c: spec.names_of(c) for c in spec.categorical}
    stated |= {g.column: tuple(g.shares) if isinstance(g.shares, Mapping) else () for g in spec.groups.values()}
    for column, names in (stated | {spec.logged: tuple(spec.actions)}).items():
        if isinstance(found := each.get(column), Names):
            each[column] = found.alike(names)
    for column, treatment in spec.missing.items():
        if treatment == "level":
            each[column] = replace(columns, each=each).names(column).renamed(spec.form.missing, MISSING)
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
