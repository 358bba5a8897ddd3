"""The table of all keys of a problem file, from which the reader, its errors, the editors' schema and drafts come."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, Union

from evenhand.core.arguments import KIND, arguments, describe, finite, is_writable, kinds, read
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import exports
from evenhand.core.texts import clip
from evenhand.core.types import Floats
from evenhand.core.validate import LEAST_WEIGHT, MOST_WEIGHT
from evenhand.logs.dates import ORDERS, days
from evenhand.problem.clock import Time
from evenhand.problem.descriptions import OWN
from evenhand.problem.end import AFTERS
from evenhand.problem.hashes import COLUMNS
from evenhand.problem.traffic import Traffic
from evenhand.problem.unit import Unit

Schema = Mapping[str, Any]
_SCHEMAS: dict[Any, Schema] = {
    float: {"type": "number"},
    int: {"type": "integer"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    date: {"type": "string"},  # TOML has dates; editors check them as texts
}
_ARRAY: Schema = {"type": "array", "items": {"type": ["number", "array"]}}
OF_LOG = "log"  # the horizon of as many rounds as a log lasts for
TREATMENTS = ("indicator", "level", "drop", "refuse")


def schema_of(hint: Any) -> Schema:
    """Return the schema of a type.

    >>> schema_of(float | None), schema_of(tuple[str, ...])
    ({'type': 'number'}, {'type': 'array', 'items': {'type': 'string'}})
    """
    if hint in _SCHEMAS:
        return _SCHEMAS[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        each = [schema_of(h) for h in inner if h is not type(None) and (is_writable(h) or h in _SCHEMAS)]
        different = [schema for i, schema in enumerate(each) if schema not in each[:i]]
        return different[0] if len(different) == 1 else {"anyOf": different}
    if origin in (tuple, Sequence):
        items = [schema_of(h) for h in inner if h is not ...]
        return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    if bool(hint == Floats):
        return _ARRAY
    if inspect.isclass(hint) and hint.__module__.startswith("evenhand."):
        return _part(hint)
    return {}


def table_of(part: Any, given: Sequence[str] = ()) -> Schema:
    """Return the schema of a table whose keys are the arguments of a part.

    Args:
        part: a function or class with annotated arguments.
        given: the arguments that the program sets.
    """
    open_ = {n: a for n, a in arguments(part).items() if n not in given and is_writable(a.hint)}
    return {
        "type": "object",
        "description": about(part),
        "properties": {name: schema_of(a.hint) for name, a in open_.items()},
        "required": [name for name, a in open_.items() if a.needed],
        "additionalProperties": False,
    }


def about(part: Any) -> str:
    """The first sentence of the documentation of a part."""
    return (inspect.getdoc(part) or "").partition("\n\n")[0].replace("\n", " ")


def _part(hint: Any) -> Schema:
    """A table that names its kind, of which the arguments are those of a part; parts may have parts within."""
    named = list(kinds(hint))
    if len(named) > 1:
        return {"type": "object", "properties": {KIND: {"enum": named}}, "required": [KIND]}
    return table_of(next(iter(kinds(hint).values())))


V = TypeVar("V")


class Kind(NamedTuple):
    """A kind of values.

    Args:
        expected: in words, for messages.
        read: takes the full name of a key and its value.
        schema: JSON Schema.
    """

    expected: str
    read: Callable[[str, Any], Any]
    schema: Schema


def _kind(expected: str, reader: Callable[[Any], Any], schema: Schema) -> Kind:
    """Make a kind of a function that returns None for values of other kinds."""

    def taken(field: str, value: Any) -> Any:
        found = reader(value)
        if found is None:
            raise InvalidInput(field, expected, clip(repr(value)))
        return found

    return Kind(expected, taken, schema)


def of_hint(hint: Any) -> Kind:
    """The kind of a type in a signature."""
    return Kind(describe(hint), lambda field, value: read(field, value, hint, {}), schema_of(hint))


def fraction(expected: str, schema: Schema, holds: Callable[[float], bool]) -> Kind:
    """A finite number for which a condition holds, which its schema states as well."""

    def reader(value: Any) -> float | None:
        found = finite(value)
        return found if found is not None and holds(found) else None

    return _kind(expected, reader, {"type": "number", **schema})


def choice(*names: str) -> Kind:
    """One of some texts."""
    return _kind(f"one of {', '.join(names)}", lambda z: z if z in names else None, {"enum": list(names)})


def either(expected: str, *kinds: Kind) -> Kind:
    """A value of the first of some kinds that accepts it."""

    def reader(value: Any) -> Any:
        for kind in kinds:
            try:
                return kind.read("", value)
            except InvalidInput:
                continue
        return None

    return _kind(expected, reader, {"anyOf": [kind.schema for kind in kinds]})


def _text(z: Any) -> str | None:
    return z if isinstance(z, str) and z else None


def _texts(z: Any) -> tuple[str, ...] | None:
    good = isinstance(z, list) and all(_text(t) for t in z) and len(set(z)) == len(z)
    return tuple(z) if good else None


def _any_texts(z: Any) -> tuple[str, ...] | None:
    return tuple(z) if isinstance(z, list) and all(isinstance(t, str) for t in z) else None


def _mapping(z: Any, read: Callable[[Any], V | None]) -> dict[str, V] | None:
    values = {k: read(v) for k, v in z.items()} if isinstance(z, dict) else {"": None}
    return None if None in values.values() else {k: v for k, v in values.items() if v is not None}


def _pair(z: Any) -> tuple[float, float] | None:
    if not (isinstance(z, list) and len(z) == 2):
        return None
    low, high = (finite(end) if finite(end) is not None else finite(days(end)) for end in z)
    return (low, high) if low is not None and high is not None and low < high else None


def _pairs(z: Any) -> dict[str, tuple[float, float]] | None:
    return _mapping(z, _pair)


def _whole(z: Any) -> int | None:
    return z if type(z) is int else None


def _of(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


_A_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_A_NUMBER: Mapping[str, Any] = {"type": "number"}
_END: Mapping[str, Any] = {"type": ["number", "string"]}

WHOLE = _kind("a whole number", _whole, {"type": "integer"})
TEXT = _kind("a text", _text, _A_TEXT)
TEXTS = _kind("a list of different texts", _texts, {"type": "array", "items": _A_TEXT, "uniqueItems": True})
ANY_TEXTS = _kind("a list of texts", _any_texts, {"type": "array", "items": {"type": "string"}})
NUMBER = _kind("a finite number", finite, _A_NUMBER)
NUMBERS = _kind("a table of finite numbers", lambda z: _mapping(z, finite), _of(_A_NUMBER))
NAMES = _kind("a table of texts", lambda z: _mapping(z, _text), _of(_A_TEXT))
RANGE = _kind("[low, high] with low < high", _pair, {"type": "array", "items": _END, "minItems": 2, "maxItems": 2})
RANGES = either(
    "[low, high] with low < high, or a table of such by action", RANGE, _kind("", _pairs, _of(RANGE.schema))
)
TEXT_OR_NUMBERS = either("a text, or a table of finite numbers", TEXT, NUMBERS)
TEXT_OR_NAMES = either("a text, or a table of texts", TEXT, NAMES)
TABLE = _kind("a table", lambda z: z if isinstance(z, dict) else None, {"type": "object"})


class Needed:
    """Stands for the default of a key that a file has to have."""


NEEDED = Needed()


class Key(NamedTuple):
    """A key of a problem file.

    Args:
        name: of the key; in capitals where the user chooses it, as in `features.ranges.COLUMN`.
        about: what it states, in one sentence.
        kind: the kind of its value; None for a table of the keys `within`.
        default: the value where the key is missing.
        told: the default in words.
        within: the keys of a table; several entries of one name are tables of different kinds.
    """

    name: str
    about: str
    kind: Kind | None = None
    default: Any = None
    told: str = "none"
    within: tuple[Key, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the user chooses the name."""
        return self.name.isupper()


REFUSE, DROP, CLIP = "refuse", "drop", "clip"  # what is done with rows whose action or outcome cannot be used

_HORIZON = either('a whole number, a list of two, or "log"', WHOLE, of_hint(tuple[int, int]), choice(OF_LOG))
_AIM = "an outcome, a table of weights, or any objective by its kind"
_SHARE = fraction("a number in (0, 1]", {"exclusiveMinimum": 0, "maximum": 1}, lambda x: 0.0 < x <= 1.0)
_PART = fraction("a fraction in [0, 1)", {"minimum": 0, "exclusiveMaximum": 1}, lambda x: 0.0 <= x < 1.0)
_WEIGHT = fraction(
    f"a number in [{LEAST_WEIGHT:g}, {MOST_WEIGHT:g}]",
    {"minimum": LEAST_WEIGHT, "maximum": MOST_WEIGHT},
    lambda x: LEAST_WEIGHT <= x <= MOST_WEIGHT,
)

LOG = (
    Key("separator", "The character between fields.", TEXT, None, "found out from the header"),
    Key("encoding", "The encoding of the text.", TEXT, None, "by its mark, or UTF-8, or Windows-1252"),
    Key("decimal", "The decimal mark; unless it is stated, numbers whose points may separate thousands are refused.",
        choice(".", ","), None, '"."'),
    Key("missing", "The texts that stand for a missing value.", ANY_TEXTS, ("",), '[""]'),
    Key("dates", "The order of numbers in dates with slashes or hyphens.", choice(*ORDERS), None, "they are refused"),
)  # fmt: skip
FEATURES = (
    Key("numeric", "Columns of numbers.", TEXTS, ()),
    Key("categorical", "Columns of names: an indicator per name, except for the most frequent.", TEXTS, ()),
    Key("dates", "Columns of dates, such as 2026-11-23 or 23.11.2026, which are numeric: days.", TEXTS, ()),
    Key("ranges", "Ranges of numbers or dates, whatever the log has.", within=(
        Key("COLUMN", "[low, high] of a column; low becomes -1, high 1.", RANGE, told="standardised by the log"),
    )),
    Key("levels", "Names of categorical columns, whatever the log has.", within=(
        Key("COLUMN", "The names of a column; the first has no indicator.", TEXTS, told="as in the log"),
    )),
    Key("hashed", "Categorical columns of many names, such as sites, which are hashed.", within=(
        Key("COLUMN", "Into how many columns, such as 262144; \"site x device\" crosses two columns.", WHOLE),
    ), told="none"),
    Key("texts", "Columns of texts, such as queries, whose words are hashed.", within=(
        Key("COLUMN", "The numbers by which words are hashed.", within=(
            Key("hashed", "The number of columns that all words share.", WHOLE, COLUMNS, f"{COLUMNS}"),
            Key("words", "The most words that are read as one: 2 for pairs of neighbours as well.", WHOLE, 1, "1"),
            Key("at_most", "The most columns that one text sets.", WHOLE, 32, "32"),
        )),
    ), told="none"),
    Key("missing", "What is done if a column has no value.", within=(
        Key("COLUMN", "An indicator beside a number, a level of names, the row dropped, or refused as a bad row.",
            choice(*TREATMENTS), "refuse", '"refuse"'),
    )),
)  # fmt: skip
_UNIT = Key("unit", "What it is counted in, such as euros, for reports of a log.", TEXT)
LEARNED = (
    Key("column", "The column of the outcome.", TEXT, None, "NAME"),
    Key(
        "range",
        "The range of the outcome, [low, high], or a table of them by action, free ones left out.",
        RANGES,
        (0.0, 1.0),
        "[0, 1]",
    ),
    Key("values", "The numbers that texts stand for, such as { yes = 1, no = 0 }.", NUMBERS, None, "numbers are read"),
    Key("mean", "The mean under each action, of an outcome that is noisy and not learned.", NUMBERS),
    Key("free", "The actions under which it is always 0, so that no budget on it masks them.", TEXTS, ()),
    Key("fallback", "What counts where it never comes, if a campaign settles overdue decisions by it.", NUMBER),
    Key("times", "The known outcome that multiplies it, such as a price.", TEXT),
    _UNIT,
)
KNOWN = (
    Key(
        "known",
        "The value under each action, 0 where it is not named; or a column of [actions].",
        either("a table of finite numbers, or a column of [actions]", NUMBERS, TEXT),
    ),
    Key("column", "The column of the case that has the value, or one per action.", TEXT_OR_NAMES, None, "as in known"),
    Key("range", "The range of the values that clients of a server may state, [low, high].", RANGE, None, "none"),
    _UNIT,
)
_ACTIONS = either("a table of names by logged value, or a list of different names", NAMES, TEXTS)
ACTION = (
    Key("column", "The column of the logged action.", TEXT, None, "needed where a log is read"),
    Key("values", "The names of actions by what is logged, or a list of them; ties go to the one named first.",
        _ACTIONS, NEEDED, "needed without rows of actions"),
)  # fmt: skip
ACTIONS = (
    Key("numeric", "Columns of numbers by which actions are alike.", within=(
        Key("COLUMN", "[low, high] of a column; low becomes -1, high 1.", RANGE),
    )),
    Key("categorical", "Columns of names by which actions are alike.", within=(
        Key("COLUMN", "The names of a column; the first has no indicator.", TEXTS),
    )),
    Key("own", "The spread of what is the action's own, in units of the spread of what is shared.",
        fraction("a number above 0", {"exclusiveMinimum": 0}, lambda x: x > 0.0), OWN, f"{OWN:g}"),
    Key("table", 'A CSV file beside this one with a row of each action, named in its column "action".', TEXT, None,
        "rows"),
    Key("rows", "The rows themselves.", within=(Key("ACTION", "The columns of an action.", TABLE),)),
)  # fmt: skip
PROPENSITY = (
    Key("column", "The column of the probability with which the logged action was drawn.", TEXT),
    Key("constant", "The same probability for all rows, or one per action, such as { mail = 0.1, control = 0.9 }.",
        either("a number in (0, 1], or a table of them by action", _SHARE, NUMBERS)),
    Key("estimated", "Whether it is estimated from the features, as no column states it; results say so.",
        of_hint(bool), False, "false"),
    Key(
        "unchecked",
        "Whether probabilities are used that are far from the shares of the log.",
        of_hint(bool),
        False,
        "false",
    ),
)  # fmt: skip
GROUP = (
    Key("column", "The column of the groups.", TEXT, None, "NAME"),
    Key("shares", 'The share of each group, "log" for those of the log, or "estimated" as cases come.',
        TEXT_OR_NUMBERS, OF_LOG, '"log"'),
)  # fmt: skip
EXPORTED = (  # how a file reads what `evenhand export` writes
    'it is propensity.column = "probability", with action.column = "action" and column = "outcome NAME" of outcomes'
)
OF_POLICY = ("holdout", "explore", "warmup", "model")  # which stand under [policy] and not at the top level
_PLAIN = (
    Key("maximize", f"What is maximised: {_AIM}.", TEXT_OR_NUMBERS, NEEDED, "needed, or minimize"),
    Key("minimize", "What is minimised, in place of maximize: an outcome, or a table of weights.", TEXT_OR_NUMBERS),
    Key("minimise", "Another spelling of minimize.", TEXT_OR_NUMBERS),
    Key("horizon", 'The number of accepted rounds, [earliest, latest], or "log", whose rows totals are then for.',
        _HORIZON, NEEDED, "needed without traffic"),
    Key("since", "The start of the run: a date.", of_hint(Time)),
    Key("until", "The end of the run: a date, or a number where there is no since.", of_hint(Time)),
    Key("zone", 'The time zone of days and hours by its name, such as "Europe/Prague".', TEXT, None,
        "the offset of since, or UTC"),
    Key("traffic", "A forecast of the rounds accepted per period.", of_hint(Traffic)),
    Key("unit", "Whom cases are about: caps on what each gets, and actions that each keeps. Its rows are a cluster.",
        of_hint(Unit)),
    Key("withdrawn", "Actions that are no longer played.", TEXTS, ()),
    Key("time", "The column of the times of cases, in whose order rows are read.", TEXT),
    Key("cluster", "The column of whom rows are about, such as a customer, whose rows are not independent.", TEXT, None,
        "each row is"),
    Key("weight", "The column of how many cases a row counts as, in any unit, as in a log of some of the cases.", TEXT,
        None, "all rows count alike"),
    Key("outside", "What is done with rows whose action, propensity or outcome cannot be used.", within=(
        Key("COLUMN", "Dropped, or an outcome clipped to its range, and a check counts them; or the log refused.",
            choice(DROP, CLIP, REFUSE), REFUSE, f'"{REFUSE}"'),
    )),
    Key("allow_bad", "The fraction of rows that may be left out for a feature, a price or a group.", _PART, 0.01,
        "0.01"),
    Key("log_weight", "The number of observations that a row learned before the first decision counts as.", _WEIGHT,
        1.0, "1"),
    Key("after", "What a new campaign answers after the horizon; a replay ends there.", choice(*AFTERS),
        told='"nothing"'),
    Key("log", "How the log is written.", within=LOG),
    Key("features", "What is known about a case before acting.", within=FEATURES),
    Key("interactions", "Columns whose effect differs by action.", within=(
        Key("ACTION", "The columns whose effect differs under this action.", TEXTS),
    ), told="a block per action"),
    Key("action", "What was done.", within=ACTION, told="needed"),
    Key("actions", "What actions are like, by which models share what they learn of them.", within=ACTIONS),
    Key("propensity", "The probability with which it was chosen.", within=PROPENSITY, told="needed without a campaign"),
    Key("outcomes", "What follows from an action.", within=(
        Key("NAME", "An outcome that is learned, or noisy.", within=LEARNED),
        Key("NAME", "An outcome that is known before acting.", within=KNOWN),
    ), told="needed"),
    Key("groups", "Groups of cases.", within=(Key("NAME", "A grouping of cases.", within=GROUP),), told="by column"),
    Key("policy", "A recipe and a model, by name, with their arguments.", TABLE, told="pgd, as in earlier files"),
)  # fmt: skip


def constraint_kinds() -> dict[str, Any]:
    """Return every constraint that `evenhand.problem` exports, by the name of its tables.

    >>> {"budget", "floor", "parity", "within"} <= set(constraint_kinds())
    True
    """
    return exports("evenhand.problem.constraints")


@cache
def keys() -> tuple[Key, ...]:
    """Return all keys of the top level; those of constraints are read by the signatures of their classes."""
    return (*_PLAIN, *(_constraint(name, part) for name, part in constraint_kinds().items()))


def _constraint(name: str, part: Any) -> Key:
    table = table_of(part)
    kind = TABLE._replace(schema={"type": "array", "items": table})
    return Key(name, str(table["description"]), kind, told="none")


def named(within: tuple[Key, ...]) -> Mapping[str, Key]:
    """Return keys by name."""
    return {key.name: key for key in within}
