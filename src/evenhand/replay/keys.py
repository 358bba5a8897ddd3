"""All keys of a problem file, in one table: from it come the reader, its errors, the schema for editors, and drafts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from evenhand.core.registry import exported
from evenhand.core.validate import LEAST_WEIGHT, MOST_WEIGHT
from evenhand.problem.clock import Time
from evenhand.problem.ended import AFTERS
from evenhand.problem.traffic import Traffic
from evenhand.replay.dates import ORDERS
from evenhand.replay.kinds import (
    ANY_TEXTS,
    NAMES,
    NUMBER,
    NUMBERS,
    RANGE,
    RANGES,
    TABLE,
    TEXT,
    TEXT_OR_NAMES,
    TEXT_OR_NUMBERS,
    TEXTS,
    WHOLE,
    Kind,
    choice,
    either,
    fraction,
    of_hint,
    table_of,
)

OF_LOG = "log"  # the horizon of as many rounds as a log lasts for
TREATMENTS = ("indicator", "level", "drop", "refuse")


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
    Key("decimal", "The character between whole numbers and fractions.", choice(".", ","), None, '"."'),
    Key("missing", "The texts that stand for a missing value.", ANY_TEXTS, ("",), '[""]'),
    Key("dates", "The order of numbers in dates with slashes or hyphens.", choice(*ORDERS), None, "they are refused"),
)
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
    Key("missing", "What is done if a column has no value.", within=(
        Key("COLUMN", "An indicator beside a number, a level of names, the row dropped, or refused as a bad row.",
            choice(*TREATMENTS), "refuse", '"refuse"'),
    )),
)  # fmt: skip
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
)
KNOWN = (
    Key("known", "The value under each action, 0 where it is not named.", NUMBERS),
    Key("column", "The column of the case that has the value, or one per action.", TEXT_OR_NAMES, None, "as in known"),
    Key("range", "The range of the values that clients of a server may state, [low, high].", RANGE, None, "none"),
)
_ACTIONS = either("a table of names by logged value, or a list of different names", NAMES, TEXTS)
ACTION = (
    Key("column", "The column of the logged action.", TEXT, None, "needed where a log is read"),
    Key("values", "The names of actions by what is logged, or a list of them; ties go to the one named first.",
        _ACTIONS, NEEDED, "needed"),
)  # fmt: skip
PROPENSITY = (
    Key("column", "The column of the probability with which the logged action was drawn.", TEXT),
    Key("constant", "The same probability for all rows, or one per action, such as { mail = 0.1, control = 0.9 }.",
        either("a number in (0, 1], or a table of them by action", _SHARE, NUMBERS)),
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
_PLAIN = (
    Key("maximize", f"What is maximised: {_AIM}.", TEXT_OR_NUMBERS, NEEDED, "needed, or minimize"),
    Key("minimize", "What is minimised, in place of maximize: an outcome, or a table of weights.", TEXT_OR_NUMBERS),
    Key("minimise", "Another spelling of minimize.", TEXT_OR_NUMBERS),
    Key("horizon", 'The number of accepted rounds, [earliest, latest], or "log", whose rows totals are then for.',
        _HORIZON, NEEDED, "needed without traffic"),
    Key("since", "The start of the run: a date.", of_hint(Time)),
    Key("until", "The end of the run: a date, or a number where there is no since.", of_hint(Time)),
    Key("traffic", "A forecast of the rounds accepted per period.", of_hint(Traffic)),
    Key("withdrawn", "Actions that are no longer played.", TEXTS, ()),
    Key("time", "The column of the times of cases, in whose order rows are read.", TEXT),
    Key("cluster", "The column of whom rows are about, such as a customer, whose rows are not independent.", TEXT, None,
        "each row is"),
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
    Key("propensity", "The probability with which it was chosen.", within=PROPENSITY, told="needed without a campaign"),
    Key("outcomes", "What follows from an action.", within=(
        Key("NAME", "An outcome that is learned, or noisy.", within=LEARNED),
        Key("NAME", "An outcome that is known before acting.", within=KNOWN),
    ), told="needed"),
    Key("groups", "Groups of cases.", within=(Key("NAME", "A grouping of cases.", within=GROUP),), told="by column"),
    Key("policy", "A recipe and a model, by name, with their arguments.", TABLE, told="pgd"),
)  # fmt: skip


def constraint_kinds() -> dict[str, Any]:
    """Return every constraint that `evenhand.problem` exports, by the name of its tables.

    >>> {"budget", "floor", "parity", "within"} <= set(constraint_kinds())
    True
    """
    return exported("evenhand.problem.constraints")


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
