"""An encoder of cases that state the columns of a log, as its problem file describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number, wrong
from evenhand.live.fold.cases import Case
from evenhand.live.fold.lease import Lease
from evenhand.live.log.events import Conflict
from evenhand.logs.bad_rows import marked
from evenhand.logs.columns import Names
from evenhand.logs.encoding import layout, scales_of, size_of
from evenhand.logs.keys import OF_LOG
from evenhand.logs.log import read_rows
from evenhand.logs.problem_file import parse, text_of
from evenhand.logs.settings import systems
from evenhand.logs.spec import Grouping, Spec
from evenhand.logs.units import MISSING, Units
from evenhand.policy.cases import StatedCase, group_of, known_outcomes, offer_mask, refuse_boolean, refuse_duplicates
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.unit import unit_number


class Text(NamedTuple):
    """The name and the text of a problem file."""

    name: str
    text: str

    @staticmethod
    def of(path: Path) -> Text:
        """Read a problem file.

        Raises:
            InvalidInput: the file cannot be read.
        """
        return Text(path.name, text_of(path))


@dataclass(frozen=True)
class ColumnEncoder:
    """Encodes cases that state the columns of a log, with the same bits as `evenhand replay` encodes its rows.

    Numbers outside the range of the log are clipped to it.

    Args:
        text: the problem file, which the campaign stores.
        spec: the parsed problem file.
        problem: its problem, with the groups and shares of the log.
        units: the encoding of columns as numbers.
        taught: whether the policy learned enough from a log to need no warm-up.
        lease: of the budgets that are not own ones, whose totals are not those of the file.
    """

    text: Text
    spec: Spec
    problem: Problem
    units: Units
    taught: bool = False
    lease: Lease | None = None

    def context(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> Context:
        """Return the context of one replica.

        Raises:
            InvalidInput: a column is missing or unknown, or has a value that it cannot have; it names all of them.
        """
        stated = StatedCase(case, offered, known)
        try:
            return self._context(stated)
        except InvalidInput:
            self._raise(stated)
            raise

    def contexts(self, cases: Sequence[Case]) -> Context:
        """Return the contexts of cases that offer all actions, `(N)` before every shape, with the bits of `context`.

        Raises:
            InvalidInput: as for `context`.
        """
        names = frozenset(self.names)
        try:
            for case in cases:
                if not isinstance(case, Mapping) or case.keys() != names:
                    self.context(case, None, None)  # says what is wrong
            return self._contexts(cases)
        except InvalidInput:
            for case in cases:
                self.context(case, None, None)
            raise

    def _contexts(self, cases: Sequence[Case]) -> Context:
        count = len(cases)
        rows = self.units.rows(cases)
        units = np.zeros((count, rows.shape[1] + 1))  # index -1 reads the appended 0
        units[:, :-1] = rows
        numbers = {c: np.array([number(c, case[c], "a finite number") for case in cases]) for c in self._known}
        declared = self.spec.known(self.problem, numbers)
        groups = [self._places(name, [self._group(case, g) for case in cases]) for name, g in self.spec.groups.items()]
        return Context(
            self._of_actions(units.take(self.layout, 1)),
            np.repeat(self.problem.declared[None], count, 0) if declared is None else declared,
            self.problem.groups_of(np.array(groups, np.int64).reshape(len(groups), count).T),
            np.ones((count, len(self.problem.actions)), bool),
            None,
            self._units_of(cases),
        )

    def _places(self, name: str, values: list[object]) -> list[int]:
        """The column of each case's group."""
        if set(map(type, values)) <= {str}:
            each = {value: group_of(self.problem, name, value) for value in set(values)}
            return [each[value] for value in values]
        return [group_of(self.problem, name, value) for value in values]

    def refuse(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> None:
        """Refuse true and false as numbers, and an action that is offered twice."""
        stated = StatedCase(case, offered, known)
        if stated.is_doubtful:
            self._raise(stated)

    def _raise(self, stated: StatedCase) -> None:
        """Raise one error for all fields that are wrong."""
        found = wrong(self._checks(stated))
        if found is not None:
            raise found

    def _checks(self, stated: StatedCase) -> Iterator[Callable[[], object]]:
        """Yield a check of every field."""
        case = stated.case
        if isinstance(case, Mapping):
            for name in self.names:
                yield partial(self._column, name, case)
            yield from (partial(self._refuse_unknown, name) for name in case if name not in self.names)
        else:
            yield partial(self._context, StatedCase(case))  # says what is wrong
        yield partial(refuse_duplicates, stated.offered)
        yield partial(offer_mask, self.problem, stated.offered)
        yield partial(known_outcomes, self.problem, stated.known)

    def _column(self, name: str, case: Case) -> None:
        """Refuse the value of a column that a case cannot have."""
        self._refuse_missing(name, case)
        if name in self._numbers:
            refuse_boolean(name, case[name])
        if name in self.units.numeric or name in self.units.indicated:
            self.units.number(case, name)
        if name in self.spec.known_columns:
            number(name, case[name], "a finite number")
        if name in self.units.texts:
            self.units.level(case, name)
        if self.problem.unit is not None and self.problem.unit.name == name:
            self._units_of([case])
        for grouped, grouping in self.spec.groups.items():
            if grouping.column == name:
                group_of(self.problem, grouped, self._group(case, grouping))

    def _refuse_missing(self, name: str, case: Case) -> None:
        if name not in case:
            raise InvalidInput(name, "a value, as the problem file names the column", "none")

    def _refuse_unknown(self, name: object) -> None:
        expected = f"one of {list(self.names)}, which the problem file names"
        raise InvalidInput(str(name), expected, f"an unknown name{suggestion(name, self.names)}")

    def _context(self, stated: StatedCase) -> Context:
        case, offered, known, _ = stated
        if not isinstance(case, Mapping):
            raise InvalidInput("case", f"a mapping from {list(self.names)} to values", value_text(case))
        for name in self.names:
            self._refuse_missing(name, case)
        for name in case:
            if name not in self.names:
                self._refuse_unknown(name)
        groups = [group_of(self.problem, name, self._group(case, g)) for name, g in self.spec.groups.items()]
        numbers = {c: np.array([number(c, case[c], "a finite number")]) for c in self._known}
        return Context(
            self.features(self.units.row(case)),
            known_outcomes(self.problem, known, self.spec.known(self.problem, numbers)),
            self.problem.groups_of(np.array([groups], np.int64).reshape(1, -1)),
            offer_mask(self.problem, offered),
            None,
            self._units_of([case]),
        )

    def _units_of(self, cases: Sequence[Case]) -> Ints | None:
        """The number of each case's unit, None without units, `->(N)`."""
        unit = self.problem.unit
        return None if unit is None else np.array([unit_number(unit.name, case[unit.name]) for case in cases])

    def _group(self, case: Case, grouping: Grouping) -> object:
        """The name of a case's group; None stands for a missing one where these are a group of their own."""
        value: object = case[grouping.column]
        return MISSING if value is None and self.spec.missing.get(grouping.column) == "level" else value

    @property
    def ranged(self) -> Sequence[str]:
        return [*self.units.numeric, *self.spec.texts]

    @property
    def declares(self) -> bool:
        return not self._known

    def outside(self, case: Case) -> Sequence[str]:
        return self.units.outside(case)

    def features(self, units: Floats) -> Floats:
        """Return the features of every action, `(u)->(1,A,n)`."""
        return self._of_actions(np.append(units, 0.0)[self.layout][None])  # index -1 reads the appended 0

    def _of_actions(self, x: Floats) -> Floats:
        """Write the number of each action before the row of its case, or multiply by its profile, `(A,n)->(A,n)`."""
        if self._numbered:
            x[:, :, 0] = np.arange(x.shape[1])
        return x if self.scales is None else x * self.scales

    @cached_property
    def layout(self) -> Ints:
        """The index of the case's number that is each feature of each action, -1 for a feature of 0, `->(A,n)`."""
        return layout(self.spec, self.units)

    @cached_property
    def _numbered(self) -> bool:
        return not isinstance(size_of(self.spec, self.units), int)

    @cached_property
    def scales(self) -> Floats | None:
        """What multiplies these numbers, of described actions, `->(A,n)`."""
        return scales_of(self.spec, self.units)

    @cached_property
    def origins(self) -> tuple[tuple[str | None, ...], ...]:
        """The column that each number of each action's features encodes, `(A,n)`; see `policy.reasons.origins`."""
        names: list[str | None] = [""] * (len(self.units.names) + 1)
        for column, places in self.units.of_column.items():
            for i in places:
                names[i] = column
        if self.units.packing is not None:
            names = [*(name for name in self.units.packing.origins for _ in range(2)), None]
        names[-1] = None  # index -1 reads the appended 0
        return tuple(tuple(names[i] for i in row) for row in self.layout.tolist())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that every case states."""
        grouped = (grouping.column for grouping in self.spec.groups.values())
        unit = () if self.spec.unit is None else (self.spec.unit.name,)
        features = *self.spec.numeric, *self.spec.categorical
        return tuple(dict.fromkeys([*features, *self.spec.known_columns, *grouped, *unit]))

    @cached_property
    def _known(self) -> tuple[str, ...]:
        """The columns that state known outcomes."""
        return self.spec.known_columns

    @cached_property
    def _numbers(self) -> tuple[str, ...]:
        """The columns of which cases state numbers or dates."""
        return (*self.spec.numeric, *self.spec.known_columns)

    def with_lease(self, lease: Mapping[str, Any] | None) -> ColumnEncoder:
        """Return this encoder under a lease of the same totals, as `to_dict` states it."""
        return replace(self, lease=None if lease is None else Lease.of(lease))

    def to_dict(self) -> dict[str, Any]:
        """Return the units and groups of the log, and the problem file, for JSON; lists keep the order of groups."""
        shares = {
            g.name: g.shares if isinstance(g.shares, Mapping) else dict.fromkeys(g.shares) for g in self.problem.groups
        }
        groups = [[name, [list(share) for share in each.items()]] for name, each in shares.items()]
        more: dict[str, Any] = {"taught": True} if self.taught else {}
        more |= {} if self.lease is None else {"lease": self.lease.to_dict()}
        return {"units": self.units.to_dict(), "groups": groups, "file": list(self.text), **more}


class FilePolicy(NamedTuple):
    """The policy of a problem file and the encoder of its cases."""

    policy: Policy
    coded: ColumnEncoder


def of_log(text: Text, log_path: Path, learn: bool | float = False, first: Sequence[str] | None = None) -> FilePolicy:
    """Build the policy of a problem file with the features and groups of a log.

    Args:
        text, log_path: the files.
        learn: whether the policy learns from the rows, or the weight of each; one that learns as much as in its warm-up
            has none.
        first: the actions that occur in the log: those with which the campaign was opened, by default all of the file.
    """
    spec = parse(text.text, text.name)
    if spec.weight is not None and learn is not False:
        raise InvalidInput("weight", "none where a campaign learns from a log, whose rows count alike", spec.weight)
    appended = () if first is None else set(spec.actions.values()).difference(first)
    encoded = read_rows(log_path, spec.untimed, appended).encoded
    weight = spec.log_weight if learn is True else float(learn)
    taught = learn is not False and weight * len(encoded.actions) >= spec.settings.warmup
    return _build(text, spec, encoded.levels, encoded.coding, taught)


def of_file(text: Text) -> FilePolicy:
    """Build the policy of a problem file that states ranges, levels and groups itself.

    Raises:
        InvalidInput: the file leaves one of them to a log.
    """
    spec = parse(text.text, text.name)
    ends, names = "the range of its usual values, [low, high]", 'the names that it can have, such as ["web", "phone"]'
    for kind, columns, stated, what in (
        ("ranges", spec.numeric, spec.ranges, ends),
        ("levels", spec.categorical, spec.levels, names),
    ):
        for column in columns:
            if column not in stated and column not in spec.hashed and column not in spec.texts:
                field = f"{text.name}: features.{kind}.{column}"
                raise InvalidInput(field, f"{what}, as there is no log to learn it from", "nothing")
    groups: dict[str, Mapping[str, float] | tuple[str, ...]] = {}
    for name, grouping in spec.groups.items():
        if isinstance(grouping.shares, Mapping):
            groups[name] = grouping.shares
        elif grouping.shares == "estimated" and grouping.column in spec.levels:
            groups[name] = spec.names_of(grouping.column)
        else:
            expected = 'the share of each group, or "estimated" and the levels of its column, as there is no log'
            got = "'log', as where nothing is stated" if grouping.shares == OF_LOG else repr(grouping.shares)
            raise InvalidInput(f"{text.name}: groups.{name}.shares", expected, got)
    none: Floats = np.zeros(0)
    texts = dict.fromkeys(spec.categorical, Names.of(()))
    numbers = dict.fromkeys(spec.numeric, none)
    marks = {"missing": marked(spec), "dates": spec.dates}
    units = Units.fit(numbers, texts, spec.ranges, spec.levels, **marks, hashed=spec.hashing)
    return _build(text, spec, groups, units)


def policy_of_campaign(kept: Mapping[str, Any], text: Text | None = None) -> FilePolicy:
    """Rebuild the policy of a campaign with the features and groups with which it was opened.

    Args:
        kept: the encoding that the campaign stored; see `ColumnEncoder.to_dict`.
        text: a problem file in place of the stored one.

    Raises:
        InvalidInput: as for `replay_log`.
        Conflict: the file has other columns, ranges, levels or groups than those by which the campaign encodes cases.
    """
    own = Text(*kept["file"])
    text = text or own
    spec = parse(text.text, text.name)
    before, now = _columns(parse(own.text, own.name)), _columns(spec)
    for what in before:
        if before[what] != now[what]:
            told = f"{what}: {now[what]}, the cases of the campaign state {before[what]}"
            raise Conflict(f"{text.name} has {told}: open another campaign for it")
    levels: dict[str, Mapping[str, float] | tuple[str, ...]] = {}
    for name, groups in kept["groups"]:
        known = all(share is not None for _, share in groups)
        levels[name] = {group: float(share) for group, share in groups} if known else tuple(g for g, _ in groups)
    lease = Lease.of(kept["lease"]) if "lease" in kept else None
    return _build(text, spec, levels, Units.of_dict(kept["units"]), kept.get("taught", False), lease)


def with_totals_of(stated: FilePolicy, lease: Lease) -> FilePolicy:
    """Return the policy of a problem file with the totals of a lease in place of those that it has."""
    coded = stated.coded
    return _policy_of(replace(coded, problem=lease.lent(coded.problem), lease=lease))


def _columns(spec: Spec) -> dict[str, list[str]]:
    """Return the columns of cases, and the stated ranges and levels, by the keys of a problem file."""
    groups = [f"{name} of {grouping.column}" for name, grouping in spec.groups.items()]
    return {
        "features.numeric": sorted(spec.numeric),
        "features.categorical": sorted(spec.categorical),
        "features.ranges": [f"{column} {list(ends)}" for column, ends in sorted(spec.ranges.items())],
        "features.levels": [f"{column} {list(levels)}" for column, levels in sorted(spec.levels.items())],
        "features.hashed": sorted(map(repr, spec.hashing)),
        "features.dates": sorted(spec.dates),
        "features.missing": [f"{column} {treatment}" for column, treatment in sorted(spec.missing.items())],
        "groups": sorted(groups),
        "unit": [] if spec.unit is None else [spec.unit.name],
        "outcomes": sorted(f"{name} {action} {c}" for name, by in spec.by_case.items() for action, c in by.items()),
    }


def _build(
    text: Text,
    spec: Spec,
    levels: Mapping[str, Mapping[str, float] | Sequence[str]],
    units: Units,
    taught: bool = False,
    lease: Lease | None = None,
) -> FilePolicy:
    problem = spec.problem(levels)
    return _policy_of(
        ColumnEncoder(text, spec, problem if lease is None else lease.lent(problem), units, taught, lease)
    )


def _policy_of(coded: ColumnEncoder) -> FilePolicy:
    """Return the policy of an encoder's problem, whose groups are then those of the policy's problem."""
    settings = coded.spec.settings.without_warmup() if coded.taught else coded.spec.settings
    policy = systems(coded.problem, settings, size_of(coded.spec, coded.units))[0]
    if coded.lease is not None:
        coded.lease.check(policy)
    return FilePolicy(policy, replace(coded, problem=policy.problem))
