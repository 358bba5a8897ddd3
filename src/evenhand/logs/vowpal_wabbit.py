"""Logs of bandits that Vowpal Wabbit reads, as text or as JSON of the decision service: a row for each choice."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.logs.column_guesses import Guess, Looks
from evenhand.logs.columns import Column, Columns, Names, Numbers, plain
from evenhand.logs.files import start, unpacked
from evenhand.logs.reading import Form, check_columns, held

FIRST = 2**16  # bytes that tell a file's kind
MOST = 1_000  # features
ACTION, PROBABILITY, COST, TAG = "action", "probability", "cost", "tag"
EVENT, TIME, POSITION, WEIGHT = "event_id", "time", "position", "weight"
_BESIDE = (EVENT, TIME, POSITION, WEIGHT, ACTION, PROBABILITY, COST)  # the features, which come first
_FORM = Form()
_SHARED = rb"[ \t]*shared[ \t][^\n|]*\|"
_BARE = rb"(?:[ \t]*\r?\n|(?:'\S*)?\|[^|,;\s]*(?:[ \t][^\n]*)?\n)*"  # lines without a label that come first
_CASE = rb"(?:'\S*)?\|[^|,;\s]*[ \t]+[^|\s]*[:=]"  # a line that has none and surely is no header
_LABEL = rb"[ \t]*\d+:[-+]?[\d.]+(?:[eE][-+]?\d+)?:[\d.]+(?:[eE][-+]?\d+)?(?:[ \t][^\n|]*)?\|"
_TEXT = re.compile(_BARE + rb"(?:" + _SHARED + rb"|" + _LABEL + rb"|" + _CASE + rb")")
_JSON = re.compile(rb'\s*\{\s*"[^\n]*"(?:_label_cost|_multi|_outcomes)"\s*:')
_HEAD = re.compile(
    r"(?P<shared>shared\b)? ?(?:(?P<action>\d+):(?P<cost>[^ :]+):(?P<probability>[^ :]+))? ?'?(?P<tag>[^ :]*)"
)
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)

Feature = tuple[str, float | str]  # a number, or one of several names
Lines = Sequence[tuple[int, str]]  # with their numbers


class Choice(NamedTuple):
    """A choice, or that in one slot: the texts of the columns above, and the features of the slot."""

    line: int
    stated: Mapping[str, str]
    features: Sequence[Feature] = ()


class Interaction(NamedTuple):
    """The features that all actions share, what was chosen, and the actions that have features, as they are written."""

    features: Sequence[Feature]
    choices: Sequence[Choice]
    offered: Sequence[Any] = ()


def is_log(first: bytes) -> bool:
    r"""Whether a file that begins so is a log of a bandit.

    >>> is_log(b"2:-1:0.5 | age:33\n"), is_log(b"|Action a\n0:1:0.5 |Action b\n"), is_log(b"age|town\n1:2:3|x\n")
    (True, True, False)
    """
    return bool(_TEXT.match(first) or _JSON.match(first))


def interactions(first: bytes, lines: Iterable[bytes]) -> Iterator[Interaction | int]:
    """Yield the interactions of a file that begins so; of those that are damaged, the number of the first line."""
    blocks = re.split(rb"\n\s*\n", first.strip())
    several = re.match(_SHARED, first.lstrip()) or (len(blocks) > 1 and any(b"\n" in block for block in blocks))
    parse = _of_json if _JSON.match(first) else _of_block if several else _of_line
    parts = (list(part) for has_text, part in groupby(enumerate(lines, 1), lambda z: bool(z[1].strip())) if has_text)
    for part in parts if parse is _of_block else ([line] for block in parts for line in block):
        try:
            yield parse([(number, line.decode().strip()) for number, line in part])
        except _DAMAGE:
            yield part[0][0]


def _of_line(lines: Lines) -> Interaction:
    """Parse a line whose actions have no features of their own, `ACTION:COST:PROBABILITY | FEATURES`."""
    ((number, text),) = lines
    line = _parts(text)
    label = _label(int(line["action"]) - 1, line["cost"], line["probability"]) if line["action"] else {}
    return Interaction(list(_features(line["features"])), [Choice(number, label)])


def _of_block(lines: Lines) -> Interaction:
    """Parse a line of what is shared, if there is one, and one for each action: that of the chosen one has a label."""
    each = [_parts(text) for _, text in lines]
    shared, actions = [z for z in each if z["shared"]], [z for z in each if not z["shared"]]
    chosen, tags = [i for i, line in enumerate(actions) if line["action"]], [line["tag"] for line in actions]
    if len(shared) > 1 or len(chosen) > 1 or not actions:
        raise ValueError
    choice = Choice(lines[0][0], {})
    for i in chosen:
        choice = Choice(lines[i + len(shared)][0], _label(i, actions[i]["cost"], actions[i]["probability"], tags))
    features = [z for line in shared for z in _features(line["features"])]
    return Interaction(features, [choice], [line["features"] for line in actions])


def _parts(text: str) -> dict[str, str]:
    head, bar, features = text.partition("|")
    found = _HEAD.fullmatch(" ".join(head.split()))
    if found is None or not bar:
        raise ValueError
    return found.groupdict("") | {"features": features}


def _label(place: Any, cost: Any, probability: Any, tags: Sequence[str] = ()) -> dict[str, str]:
    """State which of the actions was chosen, from 0 on, and what followed."""
    i = int(place)
    if i < 0:
        raise ValueError
    return {ACTION: str(i + 1), PROBABILITY: str(probability), COST: str(cost), TAG: tags[i] if tags else ""}


def _features(text: str) -> Iterator[Feature]:
    """Yield the features of a line: `NAME:NUMBER`, `NAME` for 1, and `NAME=TEXT`, by namespaces.

    >>> list(_features("user:2 age:16.5 new | town=Ulm"))
    [('user.age', 33.0), ('user.new', 2.0), ('town', 'Ulm')]
    """
    for part in text.split("|"):
        words, space, scale = part.split(), "", 1.0
        if part[:1].strip():
            name, colon, number = words.pop(0).partition(":")
            space, scale = f"{unquote(name)}.", _finite(number) if colon else 1.0
        for word in words:
            name, colon, number = word.partition(":")
            value = scale * _finite(number) if colon else scale
            key, _, level = name.partition("=")
            yield (space + unquote(key), unquote(level)) if level and value == 1.0 else (space + unquote(name), value)


def _finite(value: Any) -> float:
    found = float(value)
    if not math.isfinite(found):
        raise ValueError
    return found


def _of_json(lines: Lines) -> Interaction:
    """Parse an interaction of the decision service."""
    ((number, text),) = lines
    found = json.loads(text)
    context, rest = found["c"], 1.0 - float(found.get("pdrop", 0.0))
    offered, slots = context.get("_multi", []), context.get("_slots", [])
    if not 0.0 < rest <= 1.0 or any("_inc" in slot for slot in slots):
        raise ValueError
    tags = [str(action.get("_tag", "")) for action in offered]
    event = {
        EVENT: str(found.get("EventId", f"line {number}")),
        TIME: str(found.get("Timestamp", "")),
        WEIGHT: plain(1.0 / rest),
    }
    if slots:
        labels = [
            [z.get(key) for key in ("_a", "_label_cost", "_p")] for z in found.get("_outcomes", [{}] * len(slots))
        ]
    else:
        labels = [[found.get(key) for key in ("_labelIndex", "_label_cost", "_label_probability")]]
    choices = []
    for i, (slot, label) in enumerate(zip(slots or [{}], labels, strict=True), 1):
        stated = event | {POSITION: str(i) if slots else ""}
        if label[1] is not None and not found.get("_skipLearn"):
            place, cost, chance = (z[0] if isinstance(z, list) else z for z in label)  # lists begin with the choice
            stated |= _label(place, cost, chance, tags)
        choices.append(Choice(number, stated, list(_values("slot", slot))))
    return Interaction(list(_values("", context)), choices, offered)


def _values(name: str, value: Any) -> Iterator[Feature]:
    """Yield the features of a value of JSON, those of tables and lists by their path; `_tag` and the like are none.

    >>> list(_values("", {"user": {"age": 41, "town": "Ulm", "new": True}, "days": [0.5, 2], "_tag": "x"}))
    [('user.age', 41.0), ('user.town', 'Ulm'), ('user.new', 1.0), ('days.0', 0.5), ('days.1', 2.0)]
    """
    if isinstance(value, Mapping):
        for key in value:
            if not key.startswith("_"):
                yield from _values(f"{name}.{key}" if name else key, value[key])
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from _values(name if isinstance(one, str | Mapping) else f"{name}.{i}", one)
    elif value:  # as nothing, false and 0 are all 0
        yield name, value if isinstance(value, str) else _finite(value)


@dataclass(frozen=True, eq=False)
class VowpalWabbit:
    """Files of interactions, as text or as JSON; see `interactions`.

    The columns are the features, `NAMESPACE.NAME`, and what is stated of `event_id`, `time`, `position`, `weight`,
    `action`, `probability` and `cost`. A feature of one of these names gets a dot in front. A number that a row does
    not have is 0, as in Vowpal Wabbit; a name is missing.
    """

    name: str
    paths: Sequence[Path]

    def header(self, places: Mapping[str, str], form: Form = _FORM) -> list[str]:
        """Return the names of all columns.

        Raises:
            InvalidInput: there are too many features.
        """
        features = [name for name in self.rows.columns if name not in _BESIDE]
        if len(features) > MOST:
            spaces = Counter(name.rpartition(".")[0] for name in features).most_common(3)
            told = ", ".join(f"{count:,} in {space!r}" for space, count in spaces)
            expected = f"at most {MOST:,} features, or a problem file that names those to use"
            raise InvalidInput(self.name, expected, f"{len(features):,}; the largest namespaces have {told}")
        return list(self.rows.columns)

    def read(
        self, places: Mapping[str, str], *, numbers: Collection[str] = (), form: Form = _FORM, most: int | None = None
    ) -> Columns:
        """Read the columns named by the keys of `places`; see `read_csv`."""
        rows = self.rows
        check_columns(self.name, list(rows.columns), places)
        found = Columns(
            each={name: rows.column(name, most, number=name in numbers) for name in places},
            lines=held(rows.lines)[:most],
            torn=rows.torn,
            damage="no interaction that can be read",
            files=rows.files if len(self.paths) > 1 else (),
            stated=True,
            notes=rows.notes(self.name),
        )
        return found.lacking(form.missing)

    def form(self, places: Mapping[str, str], form: Form = _FORM) -> Form:
        return form

    def arrow(self) -> None:
        """Return no table, as columns of texts have no types."""

    def guess(self, found: Looks) -> Guess:
        """Return the roles of the columns, by how these look; a feature is a number or a name as it is written.

        Raises:
            InvalidInput: nothing has a label.
        """
        columns, each = self.rows.columns, {c.name: c for c in found.columns}
        if COST not in each:
            raise InvalidInput(self.name, "labels, such as 2:-1:0.5, or _label_cost and others", "none")
        for name, c in each.items():
            each[name] = c if c.kind == "date" else c._replace(kind="name" if columns[name].places else "number")
        stated = {"minimize": COST}
        if WEIGHT in each:
            stated["weight"] = WEIGHT
        if POSITION in each:
            stated["cluster"] = EVENT
        roles = Guess(
            action=each[ACTION],
            propensity=each[PROBABILITY],
            outcomes=(each[COST]._replace(kind="number"),),
            stated=stated,
        )
        return roles.with_features(c for name, c in each.items() if name not in (ACTION, PROBABILITY, COST, WEIGHT))

    @cached_property
    def rows(self) -> Rows:
        """What the files have."""
        found = Rows()
        with Work(f"reading {self.name}", "interaction") as work:
            for path in self.paths:
                found.files.append((len(found.lines), path.name))
                with unpacked(path) as data:
                    for each in interactions(start(path, FIRST), data):
                        found.add(each)
                        work.update()
        return found


class Growing:
    """A column that grows by the rows that have a value, which are numbers, or names by their places."""

    def __init__(self) -> None:
        self.rows, self.values, self.places = array("q"), array("d"), dict[str, int]()

    def add(self, row: int, value: float | str) -> None:
        self.rows.append(row)
        self.values.append(self.places.setdefault(value, len(self.places)) if isinstance(value, str) else value)

    def columns(self, name: str) -> Iterator[tuple[str, Growing]]:
        """Yield the column, or one of numbers for each name if a row has several names."""
        if not self.places or len(np.unique(held(self.rows))) == len(self.rows):
            yield name, self
            return
        for text, place in self.places.items():
            part = Growing()
            part.rows.extend(held(self.rows)[held(self.values) == place].tolist())
            part.values.extend([1.0] * len(part.rows))
            yield f"{name}={text}", part

    def names(self, count: int) -> Names:
        """Return the texts of all rows, `->(N)`."""
        if self.places:
            codes = np.zeros(count, np.int64)
            codes[held(self.rows)] = held(self.values) + 1
            return Names(codes, ("", *self.places))
        values, codes = np.unique(np.bincount(held(self.rows), held(self.values), count), return_inverse=True)
        return Names(codes, tuple(map(plain, values.tolist())))


class Rows:
    """The rows of all files, which grow by interactions."""

    def __init__(self) -> None:
        self.lines, self.torn, self.files = array("q"), list[int](), list[tuple[int, str]]()
        self._features, self._beside = dict[str, Growing](), {name: Growing() for name in (*_BESIDE, TAG)}
        self._offered: Sequence[object] | None = None
        self._differ = False  # whether interactions offer different actions

    def add(self, each: Interaction | int) -> None:
        """Add an interaction, or the line of one that is damaged."""
        if isinstance(each, int):
            self.torn.append(each)
            return
        self._offered = each.offered if self._offered is None else self._offered
        self._differ |= each.offered != self._offered
        for choice in each.choices:
            for name, value in (*each.features, *choice.features):
                self._add(f".{name}" if name in _BESIDE else name, value)
            for name, text in choice.stated.items():
                if text:
                    self._beside[name].add(len(self.lines), text)
            self.lines.append(choice.line)

    def _add(self, name: str, value: float | str) -> None:
        """Add a feature; one that is a number in some rows and a name in others has two columns."""
        if name in self._features and isinstance(value, str) != bool(self._features[name].places):
            name += ":name" if isinstance(value, str) else ":number"
        if name not in self._features:
            self._features[name] = Growing()
        self._features[name].add(len(self.lines), value)

    @cached_property
    def _tagged(self) -> bool:
        """Whether each action that was chosen has a tag."""
        return 0 < len(self._beside[ACTION].rows) == len(self._beside[TAG].rows)

    @cached_property
    def columns(self) -> dict[str, Growing]:
        """The features by name, and after them what else is stated."""
        found = {name: z for feature, whole in self._features.items() for name, z in whole.columns(feature)}
        beside = self._beside | ({ACTION: self._beside[TAG]} if self._tagged else {})
        return found | {n: beside[n] for n in _BESIDE if set(beside[n].places) - ({"1"} if n == WEIGHT else set())}

    def column(self, name: str, most: int | None, *, number: bool) -> Column:
        """Return the first rows of a column, as numbers or as texts."""
        whole = self.columns[name].names(len(self.lines))
        names = Names(whole.codes[:most], whole.values)
        if not number:
            return names
        values = names.numbers()
        return Numbers(values, {row: names.text(row) for row in np.flatnonzero(np.isnan(values)).tolist()})

    def notes(self, name: str) -> list[str]:
        """Say how the files are read, and what is left out."""
        found = [f"{name} is a log of Vowpal Wabbit: costs keep their sign, and numbers that a row lacks are 0"]
        if self._offered:
            named = "tags" if self._tagged else "numbers, as they are listed"
            found.append(f"actions are called by their {named}, and features of their own are left out")
        if self._differ and not self._tagged:
            found.append("lists of actions differ, so that a number may stand for several: tags would tell them apart")
        if POSITION in self.columns:
            found.append("rows are the slots of an event, of which later ones could not show the same action again")
        return found
