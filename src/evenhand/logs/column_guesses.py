"""Guesses about the columns of a log: whether they have numbers, dates or names, and their probable roles."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from evenhand.logs.columns import (
    CURRENCY,
    POINT,
    Columns,
    Marks,
    amount_of,
    as_numbers,
    grouped,
    is_grouped,
    main_sign,
    with_sign,
)
from evenhand.logs.dates import ORDERS, days, slashed
from evenhand.logs.units import MOST_LEVELS

# Texts that may stand for missing values in English, German and Czech, in lower case and without spaces.
_GAPS = frozenset(("na", "n/a", "n.a.", "n.a", "#n/a", "#na", "#nv", "nan", "null", "none", "-", "--", "?",
                   "unknown", "notknown", "notavailable", "missing",
                   "k.a.", "k.a", "k/a", "keineangabe", "unbekannt", "fehlt",
                   "neuvedeno", "nezadáno", "neznámé", "neznámý", "neznámá"))  # fmt: skip
_COMMA = re.compile(r"[-+]?(\d+|[1-9]\d{0,2}(\.\d{3})+),\d+( ?%)?")
_FRACTION = re.compile(r"[-+]?\d+\.\d+( ?%)?")
_CODE = re.compile(r"0\d+")  # a whole number in which a 0 in front counts, as in 007
_WHOLE = re.compile(r"[-+]*\d+(\.0+)?")
UNCLEAR = "unclear"
MANY = f"it has more than {MOST_LEVELS} names"
MOST_ACTIONS = 100
LISTED = ("action", "probability", "held out")  # what a list has beside the columns of its cases
FORESEEN = "expected "  # and the name of an outcome
_MONTH = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zäř]*\.?"
_NO_DATES = (  # Nov 3, Nov 3rd, 2026; 3. November, 3-Nov-26; 3.11.
    rf"{_MONTH}[ -]\d{{1,2}}(st|nd|rd|th)?(,? \d{{2,4}})?",
    rf"\d{{1,2}}\.?[ -]?{_MONTH}([ -]\d{{2,4}})?",
    r"\d{1,2}\. ?\d{1,2}\.",
)
_NO_DATE = re.compile("|".join(_NO_DATES), re.IGNORECASE)
_MARKED = re.compile(
    rf"[-+]?((?:{CURRENCY}) ?)?(\d+|\d{{1,3}}([., '’\u00a0\u202f]\d{{3}})+)([.,]\d+)?( ?(%|{CURRENCY}))?"
)
YES_NO = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"), ("ja", "nein"),
          ("wahr", "falsch"), ("oui", "non"), ("si", "no"),
          ("sí", "no"), ("ano", "ne"), ("tak", "nie"), ("j", "n"))  # fmt: skip

_ACTION = ("action", "arm", "treatment", "variant", "offer", "offered", "letter", "assignment", "condition", "sent",
           "campaign", "decision", "choice", "creative", "item", "group",
           "massnahme", "aktion", "variante", "angebot", "behandlung", "entscheidung", "brief", "gruppe",
           "akce", "varianta", "nabidka", "zasah", "rozhodnuti", "skupina", "segment")  # fmt: skip
_PROPENSITY = ("propensity", "pscore", "probability", "prob", "chance", "p",
               "wahrscheinlichkeit", "ziehungswahrscheinlichkeit", "pravdepodobnost")  # fmt: skip
_OUTCOME = ("reward", "outcome", "click", "clicks", "clicked", "visit", "visits", "visited", "conversion", "converted",
            "purchase", "purchased", "bought", "sale", "sales", "sold", "revenue", "spend", "spent", "profit", "margin",
            "order", "orders", "ordered", "opened", "response", "responded", "answer", "answers", "answered", "churn",
            "churned", "stayed", "retained", "renewed", "cancelled", "canceled", "called", "label", "target", "y",
            "kauf", "gekauft", "verkauf", "bestellung", "bestellt", "klick", "geklickt", "besuch", "besucht", "umsatz",
            "erlos", "gewinn", "antwort", "reaktion", "ziel", "erfolg", "kundigung", "gekundigt",
            "nakup", "koupil", "koupeno", "prodej", "objednavka", "objednano", "klik", "kliknuti", "navsteva", "trzba",
            "vynos", "zisk", "odpoved", "cil")  # fmt: skip
# The words of columns, in English, German and Czech; without accents, as `Look.words` has them.
_MARK = ("id", "uuid", "guid", "key", "index", "rowid", "number", "nr", "no", "nummer", "cislo")
_MOMENT = ("at", "time", "timestamp", "datetime", "when")


def is_gap(text: str) -> bool:
    """Whether a text may stand for a missing value.

    >>> is_gap("k. A."), is_gap("Unknown"), is_gap(""), is_gap("Ulm")
    (True, True, True, False)
    """
    found = "".join(text.casefold().split())
    return not found or found in _GAPS


def words_of(name: str) -> list[str]:
    """The words of the name of a column, in lower case and without accents.

    >>> words_of("KundenNummer"), words_of("délka hovoru")
    (['kunden', 'nummer'], ['delka', 'hovoru'])
    """
    plain = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())
    plain = "".join(z for z in plain if not unicodedata.combining(z))
    return [word for word in re.split(r"[\W_]+", plain) if word]


class Look(NamedTuple):
    """The properties of a column in a sample of rows.

    Args:
        name, place: of the column in the header.
        kind: "number", "date", "name", "empty", or "unclear" for marks that may separate thousands or fractions.
        gaps: the rows without a value.
        rows: of the sample.
        values: the different texts, the most frequent first, without those of missing values.
        counts: how often each occurs.
    """

    name: str
    place: int
    kind: str
    gaps: int
    rows: int
    values: tuple[str, ...]
    counts: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether all values of the column are whole numbers."""
        return self.kind == "number" and all(map(_WHOLE.fullmatch, self.values))

    @property
    def sign(self) -> str:
        """The currency of its numbers, or the sign of percentages."""
        return with_sign(self.values[0])[0] if self.kind == "number" else ""

    @property
    def words(self) -> list[str]:
        """The words of its name, in lower case and without accents."""
        return words_of(self.name)

    @property
    def has_words(self) -> bool:
        """Whether most of its values are several words, as those of queries or titles are."""
        return 2 * sum(len(value.split()) > 1 for value in self.values) > len(self.values)

    @property
    def differs(self) -> bool:
        """Whether every row has a value of its own, as the numbers of customers."""
        return self.rows > 20 and len(self.values) == self.rows


class Looks(NamedTuple):
    """The format of a log, and the properties of its columns."""

    columns: tuple[Look, ...]
    decimal: str
    missing: tuple[str, ...]
    dates: str | None  # the order of the numbers in dates with slashes, if these say it


def looks(columns: Columns, separator: str | None = None) -> Looks:
    """Look at columns that were read as texts.

    A mark that three digits follow in every number of a column may separate thousands. Where fields are separated by
    commas, a decimal comma therefore needs a number that rules thousands out; where they are separated by semicolons,
    a decimal point does.

    Args:
        columns: of the sample.
        separator: of the fields, if the log is a CSV file.

    >>> from evenhand.logs.columns import Names
    >>> read = Columns(each={"age": Names.of(["41", "NA", "30"]), "town": Names.of(["a", "b", ""])}, lines=np.arange(3))
    >>> [(look.name, look.kind, look.gaps) for look in looks(read).columns], looks(read).missing
    ([('age', 'number', 1), ('town', 'name', 1)], ('', 'NA'))
    """
    decimal, order = _decimal(columns, separator), _order(columns)
    gaps = sorted(set(_gaps(columns, decimal, order)))
    missing = ("", *gaps)
    found = [_look(columns, name, place, decimal, order, missing) for place, name in enumerate(columns.each)]
    clear = separator != ";" or any(z.kind == "number" and _rules_out(z.values, _FRACTION) for z in found)
    found = [z._replace(kind=UNCLEAR) if _unclear(z, clear) else z for z in found]
    return Looks(tuple(found), decimal, missing, order)


def _look(columns: Columns, name: str, place: int, decimal: str, order: str | None, missing: Collection[str]) -> Look:
    names = columns.names(name)
    times = np.bincount(names.codes, minlength=len(names.values)).tolist()
    each = sorted(((n, text) for text, n in zip(names.values, times, strict=True)), key=lambda z: (-z[0], z[1]))
    there = [(n, text) for n, text in each if text not in missing]
    texts = tuple(text for _, text in there)
    kind = _kind(texts, decimal, order)
    counts = tuple(n for n, _ in there)
    return Look(name, place, kind, len(columns) - sum(counts), len(columns), texts, counts)


def _kind(texts: tuple[str, ...], decimal: str, order: str | None) -> str:
    if not texts:
        return "empty"
    if np.isfinite(as_numbers(texts, decimal)).all():
        return "name" if any(map(_CODE.fullmatch, texts)) else "number"
    return "date" if all(np.isfinite(days(text, order)) for text in texts) else "name"


def _decimal(columns: Columns, separator: str | None) -> str:
    """The decimal comma, if a column has numbers only with it, and they are not thousands."""
    for name in columns.each:
        texts = _there(columns, name)
        texts = tuple(amount_of(text)[1] for text in texts)
        commas = any(map(_COMMA.fullmatch, texts)) if separator == ";" else _rules_out(texts, _COMMA)
        if commas and np.isfinite(as_numbers(texts, ",")).all():
            return ","
    return POINT


def _rules_out(texts: Collection[str], fraction: re.Pattern[str]) -> bool:
    """Whether a text has a decimal mark that cannot separate thousands."""
    return any(fraction.fullmatch(z) and not is_grouped(z) for z in (amount_of(text)[1] for text in texts))


def _unclear(look: Look, clear: bool) -> bool:
    """Whether the marks of a column separate thousands, or may; `clear` if those of other numbers do not."""
    marks = Marks.of(look.values)
    return (look.kind == "name" and grouped([amount_of(text)[1] for text in look.values])) or (
        look.kind == "number" and bool(marks.may) and (marks.mixed or not clear)
    )


def _order(columns: Columns) -> str | None:
    """The order of dates with slashes or hyphens, if numbers above 12 say which is the day, and agree."""
    found: set[str] = set()
    for name in columns.each:
        each = [slashed(text) for text in _there(columns, name)]
        if None not in each:
            found |= {ORDERS[second > 12] for first, second in filter(None, each) if max(first, second) > 12}
    return found.pop() if len(found) == 1 else None


def _there(columns: Columns, name: str) -> tuple[str, ...]:
    """The texts of a column that cannot stand for missing values."""
    return tuple(text for text in columns.names(name).values if not is_gap(text))


def _gaps(columns: Columns, decimal: str, order: str | None) -> Iterator[str]:
    """Yield the texts for missing values in columns that else have numbers or dates alone."""
    for name in columns.each:
        if _kind(_there(columns, name), decimal, order) in ("number", "date"):
            yield from (text for text in columns.names(name).values if text and is_gap(text))


class LeftOut(NamedTuple):
    """A column that is not used, and why."""

    name: str
    why: str


class Guess(NamedTuple):
    """The guessed roles of the columns of a log; None or empty if no column fits.

    Args:
        action, propensity: the columns, if one looks like it more than others.
        actions: the columns among which the user has to choose, where several look like the action.
        outcomes: the columns of outcomes, in the order of the header.
        numeric, categorical, dates: the columns of features.
        left_out: other columns.
        stated: columns by the keys of a problem file that name them, where the source says so and nothing is guessed.
    """

    action: Look | None
    propensity: Look | None
    outcomes: tuple[Look, ...]
    actions: tuple[str, ...] = ()
    numeric: tuple[Look, ...] = ()
    categorical: tuple[Look, ...] = ()
    dates: tuple[Look, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    stated: Mapping[str, str] = MappingProxyType({})

    def with_features(self, columns: Iterable[Look], several: Sequence[Look] = ()) -> Guess:
        """Return the guess with some columns as features, or left out; `several` may be the action."""
        why = [(c, _unusable(c, several)) for c in columns]
        used = [c for c, told in why if not told]
        return self._replace(
            numeric=tuple(c for c in used if c.kind == "number"),
            categorical=tuple(c for c in used if c.kind == "name"),
            dates=tuple(c for c in used if c.kind == "date"),
            left_out=(*self.left_out, *(LeftOut(c.name, told) for c, told in why if told)),
        )

    def without(self, names: Collection[str], why: str) -> Guess:
        """Return the guess without some features."""
        return self._replace(
            numeric=tuple(c for c in self.numeric if c.name not in names),
            categorical=tuple(c for c in self.categorical if c.name not in names),
            dates=tuple(c for c in self.dates if c.name not in names),
            left_out=(*self.left_out, *(LeftOut(name, why) for name in names)),
        )

    @property
    def features(self) -> tuple[Look, ...]:
        """The columns of features, of any kind."""
        return (*self.numeric, *self.categorical, *self.dates)


def guess(
    found: Looks, fits: Callable[[Look, Look], bool], action: Look | None = None, stated: Sequence[Look] = ()
) -> Guess:
    """Guess the roles of columns.

    Args:
        found: how they look.
        fits: whether the values of a column occur as often as a column of their probabilities says.
        action: the column of the action, if it is stated.
        stated: the columns of outcomes that are stated.
    """
    ours = _ours(found.columns)
    columns = [c for c in found.columns if c not in (*ours, *stated)]
    chances = [c for c in columns if c is not action and c.kind == "number" and _is_chance(c, found.decimal)]
    propensity = _best(chances, _PROPENSITY)
    rest = [c for c in columns if c is not (propensity[0] if propensity else None)]
    several = _actions(rest, propensity, fits) if action is None else [action]
    action = several[0] if len(several) == 1 else None
    rest = [c for c in rest if c is not action]
    named = [c for c in rest if c not in several and _is_outcome(c)]
    # Before the action in the header, an outcome is plainly named, and the only one: the sales of a customer are known.
    after = [c for c in named if action is None or c.place > action.place]
    outcomes = tuple(after or [c for c in named if not stated and "_".join(c.words) in _OUTCOME])
    left = [LeftOut(c.name, "evenhand wrote it into a list, before outcomes were known") for c in ours]
    whole = Guess(
        action=action,
        actions=tuple(c.name for c in several),
        propensity=propensity[0] if len(propensity) == 1 else None,
        outcomes=(*stated, *outcomes),
        left_out=tuple(left),
    )
    return whole.with_features([c for c in rest if c not in outcomes], several)


def _actions(columns: Sequence[Look], propensity: Sequence[Look], fits: Callable[[Look, Look], bool]) -> list[Look]:
    """The columns that may be the action; one if it looks like it more than others."""
    codes = [c for c in columns if 2 <= len(c.values) <= MOST_ACTIONS and _is_code(c)]
    several = _best(codes, _ACTION)
    if len(propensity) == 1:
        named = [c for c in codes if c in several or (_is_named(c, _ACTION) and not _is_outcome(c))]
        clear = len(several) == 1 and [c for c in named if fits(c, propensity[0])] == several
        several = several if clear or len(named) == 1 else named
        if len(several) == 1 and not fits(several[0], propensity[0]):  # another column may be meant
            several += [c for c in codes if c not in several and not _is_outcome(c) and fits(c, propensity[0])]
    return several


def _ours(columns: Sequence[Look]) -> list[Look]:
    """The columns of the plan, where the log is a list that evenhand wrote, with outcomes added."""
    if not {c.name for c in columns}.issuperset(LISTED):
        return []
    return [c for c in columns if c.name == LISTED[-1] or c.name.startswith(FORESEEN)]


def yes_no(values: Sequence[str]) -> dict[str, float]:
    """Return the numbers of texts that mean yes and no; empty for other texts.

    >>> yes_no(["No", "Yes"]), yes_no(["a", "b"])
    ({'Yes': 1.0, 'No': 0.0}, {})
    """
    by = {value.lower(): value for value in values}
    for yes, no in YES_NO:
        if len(by) == len(values) and set(by) <= {yes, no} and by:
            return {by[word]: number for word, number in ((yes, 1.0), (no, 0.0)) if word in by}
    return {}


def _best(columns: Iterable[Look], words: Sequence[str]) -> list[Look]:
    """The columns that are named like one of some words: as a whole, or else by the first or last word."""
    listed = list(columns)
    whole = [c for c in listed if "_".join(c.words) in words]
    if whole:
        first = min(words.index("_".join(c.words)) for c in whole)
        return [c for c in whole if "_".join(c.words) == words[first]]
    return [c for c in listed if _is_named(c, words)]


def _is_named(column: Look, words: Sequence[str]) -> bool:
    """Whether the first or the last word of a column is one of some words."""
    return bool(column.words) and not {column.words[0], column.words[-1]}.isdisjoint(words)


def _is_chance(column: Look, decimal: str) -> bool:
    return all(0.0 < value <= 1.0 for value in as_numbers(column.values, decimal))


def _is_code(column: Look) -> bool:
    return column.kind == "name" or column.whole


def _is_outcome(column: Look) -> bool:
    """Whether a column is named like an outcome, and has numbers or yes and no."""
    named = bool(set(column.words) & set(_OUTCOME)) and not set(column.words) & set(_MARK)
    return named and (column.kind == "number" or bool(yes_no(column.values)))


def _unusable(column: Look, several: Sequence[Look]) -> str:
    if column.kind == "empty":
        return "it is empty"
    if column.kind == UNCLEAR:
        return (
            "three digits follow every mark of its numbers, which may separate thousands or fractions: remove the "
            "separators of thousands (1515 for 1,515)"
        )
    if column in several:
        return "it may be the action"
    if column.gaps == 0 and len(column.values) == 1:
        return "it is the same in every row"
    is_code = column.whole or column.kind == "name"
    if is_code and (column.differs or {*column.words[:1], *column.words[-1:]} & set(_MARK)):
        return "it identifies rows, as the number of a customer does"
    if column.kind == "date" and set(column.words) & set(_MOMENT):
        return "it is a moment, perhaps that of the action"
    return _no_names(column) if column.kind == "name" else ""


def _no_names(column: Look) -> str:
    """Say why a column that has no numbers or dates cannot be names either; nothing if it can."""
    texts = [text for text in column.values if not is_gap(text)]
    if texts and all(map(slashed, texts)):
        declared = f'dates = "{ORDERS[0]}" or "{ORDERS[1]}" under [log], and the column in dates of [features]'
        return f"its dates do not say which number is the day: state {declared}"
    if texts and all(map(_NO_DATE.fullmatch, texts)):
        return "its dates have no year, or the name of a month: write 2026-11-23 or 23.11.2026"
    many = len(column.values) > MOST_LEVELS
    if many and all(map(_MARKED.fullmatch, texts)):
        signs = [with_sign(text)[0] for text in texts]
        most = main_sign(Counter(signs))
        odd = next((f", {z!r} unlike most" for z, sign in zip(texts, signs, strict=True) if sign != most), "")
        return (
            f"its numbers have units, separators of thousands, or signs in some rows alone{odd}: write "
            "1850.38, or 1850,38 in a log with decimal commas"
        )
    return MANY if many else ""
