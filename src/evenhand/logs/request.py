"""What a user asks of a log before there is a problem file: the action, what is maximised, budgets and known costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.texts import few
from evenhand.core.validate import number
from evenhand.logs.column_guesses import MOST_ACTIONS, Look, Looks, words_of, yes_no
from evenhand.logs.columns import Columns, Names, as_numbers

_NOTHING = ("no", "none", "nothing", "control", "null", "nobody", "holdout", "kein", "keine", "ohne",
            "nichts", "kontrolle", "kontrollgruppe", "nic", "bez", "žádný", "žádná", "kontrola")  # fmt: skip
_TERM = re.compile(r"\s*(?P<sign>[-+]?)\s*(?:(?P<times>\d+(?:\.\d+)?)\s*\*\s*)?(?P<name>[^-+\s].*?)\s*")
_BETWEEN = re.compile(r"\s(?=[-+]\s)")  # the sign of the next term
_FORM = 'outcomes joined by + and - with spaces around, such as "margin - cost" or "sale - 0.5 * letters"'


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a log, by the names of its columns.

    Args:
        action: the column of the action, None to guess it.
        weights: of the outcomes that are maximised; empty to guess one.
        budgets: for all rows of the log, by outcome.
        known: the values of outcomes that no column has, by action.
        unit: in which all outcomes that are maximised are counted; None if that is not said.
        names: of the outcomes, by their columns, once a log was read.
        free: by column, the texts of actions under which an outcome has no value, likewise.

    Raises:
        InvalidInput: a number is not finite, or a budget is below 0.
    """

    action: str | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    budgets: Mapping[str, float] = field(default_factory=dict)
    known: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    unit: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    free: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.unit is not None and not self.weights:
            raise InvalidInput("unit", "nothing, where `maximize` is guessed", self.unit)
        for name, total in self.budgets.items():
            number(f"budget {name!r}", total, "a finite number of at least 0", lambda x: 0.0 <= x < np.inf)
        for name, values in self.known.items():
            for action, value in values.items():
                number(f"known {name!r}: {action}", value, "a finite number")

    @property
    def outcomes(self) -> list[str]:
        """The outcomes that columns have, each once."""
        return [name for name in dict.fromkeys((*self.weights, *self.budgets)) if name not in self.known]

    @property
    def costs(self) -> set[str]:
        """The outcomes of which less is better."""
        return {*self.budgets, *(name for name, weight in self.weights.items() if weight < 0.0)}

    def action_among(self, looks: Sequence[Look]) -> Look | None:
        """Return the column of the action, None where it is to be guessed.

        Raises:
            InvalidInput: there is no such column, or it cannot be the action.
        """
        if self.action is None:
            return None
        found = column_of("action", self.action, looks)
        if not 2 <= len(found.values) <= MOST_ACTIONS:
            got = f"{found.name!r} with {len(found.values):,}"
            raise InvalidInput("action", f"a column of 2 to {MOST_ACTIONS} different values", got)
        return found

    def outcomes_among(self, looks: Looks) -> dict[str, Look]:
        """Return the columns of outcomes, by the names that they are asked by.

        Raises:
            InvalidInput: there is no such column, or it has no numbers.
        """
        found = {}
        for name in self.outcomes:
            where = "maximize" if name in self.weights else "budget"
            found[name] = column_of(
                where, name, looks.columns, "" if name in self.weights else f"; or state known {name!r}"
            )
            texts = found[name].values
            if not yes_no(texts) and not np.isfinite(as_numbers(texts, looks.decimal)).any():
                got = f"{found[name].name!r} with {few(map(repr, texts[:3])) or 'no value'}"
                raise InvalidInput(where, "a column of numbers, or of yes and no", got)
        return found

    def found_in(self, outcomes: Mapping[str, Look], actions: Names | None, whole: Columns, looks: Looks) -> Request:
        """Return the request with the costs that rows show to be known before acting, or free under some actions.

        Args:
            outcomes: the columns of outcomes, by name.
            actions: the logged actions, None if no column is the action yet.
            whole: the log.
            looks: at its columns.

        Raises:
            InvalidInput: values of an action that the log does not have.
        """
        names = {look.name: name for name, look in outcomes.items()}
        if actions is None:
            return replace(self, names=names)
        known, free = dict(self.known), dict[str, list[str]]()
        for name, values in known.items():
            for text in values:
                if text not in actions.values:
                    expected = f"values of the actions {few(map(repr, in_order(actions.values)))}"
                    raise InvalidInput(f"known {name!r}", expected, f"{text!r}{suggestion(text, actions.values)}")
        for name in sorted(self.costs & outcomes.keys()):
            column = whole.names(outcomes[name].name)
            fixed = values_by_action(actions, column, looks.missing, looks.decimal)
            if fixed is not None:
                known[name] = {text or "none": fixed[text] for text in in_order([*fixed]) if fixed[text]}
                continue
            empty = column.are(set(looks.missing))
            none = [text for i, text in enumerate(actions.values) if empty[actions.codes == i].all()]
            free |= {outcomes[name].name: in_order(none)} if none else {}
        return replace(self, known=known, free=free, names=names)


def weights_of(text: str) -> dict[str, float]:
    """Read what is maximised: outcomes joined by signs, with factors in front.

    Raises:
        InvalidInput: a name is missing, or stands twice.

    >>> weights_of("margin - cost"), weights_of("-2 * cost (€)")
    ({'margin': 1.0, 'cost': -1.0}, {'cost (€)': -2.0})
    """
    found: dict[str, float] = {}
    for part in _BETWEEN.split(text):
        term = _TERM.fullmatch(part)
        if term is None or term["name"] in found:
            raise InvalidInput("maximize", _FORM, repr(text))
        found[term["name"]] = float(f"{term['sign']}{term['times'] or 1}")
    return found


def column_of(where: str, name: str, looks: Sequence[Look], more: str = "") -> Look:
    """Return the column of a name, which may leave out signs and capitals: `cost` is the column "Cost (€)".

    Args:
        where: the name stands, for the error.
        name: what is looked for.
        looks: at all columns.
        more: what else the name may be, for the error.

    Raises:
        InvalidInput: no column, or more than one, has the name.
    """
    names = [look.name for look in looks]
    alike = [look for look in looks if look.name == name] or [z for z in looks if z.words == words_of(name)]
    if len(alike) == 1:
        return alike[0]
    hint = suggestion(name, names)
    if not hint and re.search(r"\S[-+*]\S", name):
        hint = f": it is {_FORM}"
    raise InvalidInput(where, f"one of the columns {few(map(repr, names), 400)}{more}", f"{name!r}{hint}")


def values_by_action(action: Names, column: Names, gaps: Iterable[str], decimal: str) -> dict[str, float] | None:
    """Return the number that a column has under each action, without those that have none; None if rows of one differ.

    >>> cost = Names.of(["7.1", "", "7.10"])
    >>> values_by_action(Names.of(["call", "none", "call"]), cost, [""], ".")
    {'call': 7.1}
    """
    numbers, empty, found = column.numbers(decimal), column.are(set(gaps)), dict[str, float]()
    for code, text in enumerate(action.values):
        here = action.codes == code
        if empty[here].all():
            continue
        each = np.unique(numbers[here])  # NaN where there is none
        if len(each) != 1 or not np.isfinite(each[0]):
            return None
        found[text] = float(each[0])
    return found


def in_order(texts: Sequence[str]) -> list[str]:
    """Put what does nothing first, as ties go to it, and numbers by their size."""

    def place(text: str) -> tuple[bool, float, str]:
        words = text.lower().replace("-", " ").replace("_", " ").split()
        nothing = not words or words[0] in _NOTHING
        return not nothing, int(text) if text.isdecimal() else 0.0, text

    return sorted(texts, key=place)
