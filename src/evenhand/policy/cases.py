"""Cases by name, as data frames and services have them, checked field by field and made into contexts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.levels import level_among
from evenhand.core.records import Context
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import number, wrong
from evenhand.models.base import Model, by_action
from evenhand.policy import checks
from evenhand.problem import features
from evenhand.problem.case_numbers import Coding, items
from evenhand.problem.clock import Time
from evenhand.problem.descriptions import crossed
from evenhand.problem.hashes import Hashing, is_hashed, reads
from evenhand.problem.problem import Problem
from evenhand.problem.unit import unit_number

BOOLEANS = frozenset((bool, np.bool_))
_NO_GROUPS = np.zeros((1, 1, 0), np.int64)


class StatedCase(NamedTuple):
    """A case with the actions and numbers that are stated with it; see `Policy.encode`."""

    case: Mapping[str, object]
    offered: Collection[str] | None = None
    known: Mapping[str, Mapping[str, float] | float] | None = None
    time: Time | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether it has true or false, or an action offered twice, which logs may have and requests may not."""
        has_booleans = isinstance(self.case, Mapping) and not BOOLEANS.isdisjoint(map(type, self.case.values()))
        return has_booleans or has_duplicates(self.offered)


def offer_mask(problem: Problem, offered: Collection[str] | None) -> Bools:
    """Mark the actions that may be played, all by default, `->(1,A)`."""
    if offered is None:
        return np.ones((1, len(problem.actions)), bool)
    if isinstance(offered, str) or not isinstance(offered, Iterable):
        raise InvalidInput("offered", "a collection of actions", repr(offered))
    mask = np.zeros((1, len(problem.actions)), bool)
    for action in offered:
        mask[0, _place(problem, "offered", action)] = True
    return mask


def has_duplicates(offered: object) -> bool:
    """Return whether an action is offered twice."""
    return isinstance(offered, tuple | list) and len({str(action) for action in offered}) < len(offered)


def refuse_duplicates(offered: object) -> None:
    """Refuse an action that is offered twice."""
    if isinstance(offered, tuple | list) and has_duplicates(offered):
        names = [str(action) for action in offered]
        expected = "a collection of different actions"
        raise InvalidInput("offered", expected, f"{next(z for z in names if names.count(z) > 1)!r} twice")


def refuse_boolean(name: str, value: object) -> None:
    """Refuse true or false where a case states a number.

    >>> refuse_boolean("age", True)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: age: expected a finite number, such as 1 for true and 0 for false, got True
    """
    if type(value) in BOOLEANS:
        raise InvalidInput(name, "a finite number, such as 1 for true and 0 for false", value)


def known_outcomes(
    problem: Problem, known: Mapping[str, Mapping[str, float] | float] | None, plain: Floats | None = None
) -> Floats:
    """Return a case's known outcomes, as declared or as in `plain`, unless it states others, `(1,A,L)->(1,A,L)`."""
    z = (problem.declared[None] if plain is None else plain).copy()
    if known is not None and not isinstance(known, Mapping):
        raise InvalidInput("known", "a mapping from outcomes to numbers", value_text(known))
    for name, values in (known or {}).items():
        if name not in problem.known:
            expected = f"one of the known outcomes {list(problem.known)}"
            raise InvalidInput("known", expected, f"{name!r}{suggestion(name, problem.known)}")
        column = problem.known.index(name)
        if not isinstance(values, Mapping):
            z[0, :, column] = number(f"known: {name}", values, "a finite number")
            continue
        for action, value in values.items():
            place = _place(problem, f"known: {name}", action)
            z[0, place, column] = number(f"known: {name}", value, "a finite number")
    return z


def group_of(problem: Problem, grouping: str, value: object) -> int:
    """Return the column of a group of cases."""
    names = next(g.names for g in problem.groups if g.name == grouping)
    if (found := level_among(value, names)) is None:
        raise InvalidInput(grouping, f"one of {names}", f"{value!r}{suggestion(value, names)}")
    return problem.columns.index((grouping, found))


def _place(problem: Problem, field: str, action: object) -> int:
    place = problem.action_places.get(action) if isinstance(action, str) else None
    if place is None:
        guess = suggestion(action, problem.actions)
        raise InvalidInput(field, f"one of the actions {problem.actions}", f"{action!r}{guess}")
    return place


def value_of(case: Mapping[str, object], name: str) -> object:
    """Return the value that a case states under a name; refuse a case without one."""
    try:
        return case[name]
    except KeyError:
        raise InvalidInput(name, "a value, as the problem names it", "none") from None


@runtime_checkable
class Frame(Protocol):
    """A data frame, as far as it is read: its columns, by name."""

    @property
    def columns(self) -> Collection[str]: ...

    def __getitem__(self, name: str, /) -> Collection[object]: ...

    def __len__(self) -> int: ...


Table: TypeAlias = Frame | Sequence[Mapping[str, object]]  # rows by name


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoder:
    """Makes contexts of one replica from cases that state features and groups by name.

    The layout of features is the one that the model reads: with n features of the case (`Problem.n_features`),
    `PerAction` reads the number of the action and then the case; a model of A n features, or of any number, has a block
    of n per action; one of n features is told the same of every action. Where actions are described, one of
    `Problem.n_described` features reads the case times the profile of each action (`problem.Actions`).
    """

    problem: Problem
    model: Model

    def one(self, stated: StatedCase) -> Context:
        """Return the context of a case; see `Policy.encode`."""
        offered = stated.offered
        if offered is not None and not isinstance(offered, str) and isinstance(offered, Iterable):
            stated = stated._replace(offered=tuple(offered))  # an iterator can be read once
        context, within = self._entered(stated)
        if not within or stated.offered is not None:
            self.refuse(stated)
        return self._warn(stated, context, within)

    def _warn(self, stated: StatedCase, context: Context, within: bool) -> Context:
        """Warn once by name of values that count as others, and of known outcomes that a budget gets back."""
        outside = () if within else self.outside(stated.case)
        if not outside and stated.known is None:
            return context
        found = {} if stated.known is None else checks.refunds(self.problem, context.known[0])
        for name, text in (found | checks.substitutions(stated.case, outside)).items():
            if name not in self._names_with_warnings:
                self._names_with_warnings.add(name)
                warnings.warn(f"{text} (said once)", EvenhandWarning, stacklevel=4)
        return context

    def outside(self, case: Mapping[str, object]) -> Sequence[str]:
        """Return the features whose value in a case that was encoded counts as another one."""
        return [feature.name for feature in self.ranged if feature.outside(case[feature.name])]

    @cached_property
    def ranged(self) -> tuple[features.Ranged, ...]:
        """The features of which some values count as others."""
        found = (f for f in self.problem.features if isinstance(f, features.Ranged))
        return tuple(f for f in found if not (isinstance(f, features.Categorical) and f.other is None))

    @cached_property
    def _names_with_warnings(self) -> set[str]:
        """The names that were warned of."""
        return set()

    def refuse(self, stated: StatedCase) -> None:
        """Refuse values that `entered` accepts: true and false as numbers, an action that is offered twice.

        Raises:
            InvalidInput: it names all fields that are wrong.
        """
        if stated.is_doubtful:
            self._raise(stated)

    def entered(self, stated: StatedCase) -> Context:
        """Return the context of a case of a log or a column of a data frame.

        Raises:
            InvalidInput: it names all fields that are wrong.
        """
        return self._entered(stated)[0]

    def _entered(self, stated: StatedCase) -> tuple[Context, bool]:
        """Do as `entered`, and tell whether no value counts as another one."""
        try:
            return self._context(stated)
        except InvalidInput:
            self._raise(stated)
            raise

    def _raise(self, stated: StatedCase) -> None:
        """Raise one error for all fields that are wrong."""
        found = wrong(self._checks(stated))
        if found is not None:
            raise found

    def _checks(self, stated: StatedCase) -> Iterator[Callable[[], object]]:
        """Yield a check of every field."""
        case = stated.case
        if isinstance(case, Mapping):
            yield from (partial(self._refuse_unknown, name) for name in case if name not in self._stated)
            for feature, size in zip(self.problem.features, self._sizes, strict=True):
                yield partial(self._check_feature, feature, size, case)
            for i in self._by_case:
                yield partial(self._check_group, self.problem.groups[i].name, case)
            yield partial(self._unit, case)
        else:
            yield partial(self._context, StatedCase(case))  # says what is wrong
        yield partial(refuse_duplicates, stated.offered)
        yield partial(offer_mask, self.problem, stated.offered)
        yield partial(known_outcomes, self.problem, stated.known)
        yield partial(self._time, stated.time)

    def _refuse_unknown(self, name: object) -> None:
        expected = f"one of {list(self.names)}, which the problem names"
        raise InvalidInput(str(name), expected, f"an unknown name{suggestion(name, self.names)}")

    def _check_feature(self, feature: features.Feature, size: int, case: Mapping[str, object]) -> None:
        if isinstance(feature, Hashing) and is_hashed(feature):
            feature.buckets(*[value_of(case, name) for name in feature.reads])
            return
        value = value_of(case, feature.name)
        if feature.name in self._numeric:
            refuse_boolean(feature.name, value)
        features.encode((feature,), (size,), [value])

    def _check_group(self, name: str, case: Mapping[str, object]) -> None:
        group_of(self.problem, name, value_of(case, name))

    def _context(self, stated: StatedCase) -> tuple[Context, bool]:
        case, offered, known, time = stated
        if type(case) is not dict and not isinstance(case, Mapping):
            raise InvalidInput("case", f"a mapping from {list(self.names)} to values", value_text(case))
        try:
            values = self._values(case)
        except KeyError:
            values = tuple(value_of(case, name) for name in self._read)  # refuses what is missing
        rows, packing = self._blank.copy(), self.problem.packing
        if packing is None:
            within = self._coding.fill(values, rows[0])
        else:
            exact = [case.get(f.name) for f in self.problem.features]
            units = packing.row(features.encode(self.problem.features, self._sizes, exact).tolist(), case)
            rows[0, : len(units)], within = units, False
        context = Context(
            self._arrange(rows),
            known_outcomes(self.problem, known),
            self._groups([case]),
            self._all.copy() if offered is None else offer_mask(self.problem, offered),
            self._time(time),
            self._unit(case),
        )
        for name in () if len(case) == len(self._stated) else case:  # as all that are to be stated were read
            if name not in self._stated:
                self._refuse_unknown(name)
        return context, within

    def stacked(self, cases: Sequence[Mapping[str, object]]) -> Context:
        """Return the contexts of cases that offer all actions, `(N)` before every shape, with the bits of `one`."""
        for case in cases:
            if not isinstance(case, Mapping) or not self._stated.issuperset(case):
                self.entered(StatedCase(case))  # says what is wrong
        try:
            units = self._rows(cases)
        except KeyError:
            [value_of(case, name) for name in self._read for case in cases]  # says what is wrong
            raise
        count, rows = len(cases), np.repeat(self._blank, len(cases), 0)
        rows[:, : units.shape[1]] = units
        x, groups = self._arrange(rows), self._groups(cases)
        known = np.repeat(known_outcomes(self.problem, None), count, 0)
        whose = [z for z in map(self._unit, cases) if z is not None]
        unit = np.concatenate(whose) if whose else None
        return Context(x, known, groups, np.ones((count, len(self.problem.actions)), bool), None, unit)

    def _rows(self, cases: Sequence[Mapping[str, object]]) -> Floats:
        """Return the numbers of cases, `(N)->(N,n)`."""
        named, packing = self.problem.features, self.problem.packing
        if packing is not None:
            return features.pack_all(named, self._sizes, packing, cases)
        return features.encode_all(named, self._sizes, [[case[f.name] for case in cases] for f in named], len(cases))

    def _unit(self, case: Mapping[str, object]) -> Ints | None:
        if (unit := self.problem.unit) is None:
            return None
        return np.array([unit_number(unit.name, value_of(case, unit.name))])

    def _time(self, time: Time | None) -> Floats | None:
        if time is None:  # a campaign adds that of its store
            return None
        return np.array([self.problem.clock.read("time", time)])

    def many(self, frame: Table, times: Sequence[Time] | None) -> list[Context]:
        """Return the contexts of the rows of a data frame, or of a sequence of cases; see `Policy.encode_frame`."""
        found, cases = [], rows_of(frame, self.names)
        if times is not None and len(times) != len(cases):
            raise InvalidInput("times", f"one for each of {len(cases)} cases", len(times))
        for i, case in enumerate(cases):
            try:
                stated = StatedCase(case, time=None if times is None else times[i])
                if cases is frame:  # a column of true and false has numbers
                    self.refuse(stated)
                found.append(self._warn(stated, *self._entered(stated)))
            except InvalidInput as error:
                raise error.at(f"row {i}") from None
        return found

    def _arrange(self, rows: Floats) -> Floats:
        """The features of every action in some cases, `(N,n+1+A)->(N,A,n')`."""
        if self._profiles is not None:
            return crossed(self._profiles, np.ascontiguousarray(rows[:, : self.problem.n_features]))
        return rows.take(self._layout, 1)

    def _groups(self, cases: Sequence[Mapping[str, object]]) -> Ints:
        if len(cases) == 1 and not self.problem.groups:
            return _NO_GROUPS
        names = [self.problem.groups[i].name for i in self._by_case]
        columns = [[group_of(self.problem, name, value_of(case, name)) for name in names] for case in cases]
        return self.problem.groups_of(np.array(columns, np.int64).reshape(len(cases), -1))

    @cached_property
    def _by_case(self) -> list[int]:
        return np.flatnonzero(~self.problem.by_action).tolist() if self.problem.groups else []

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that a case states: features, and groupings of cases."""
        groups = (self.problem.groups[i].name for i in self._by_case)
        unit = () if self.problem.unit is None else (self.problem.unit.name,)
        return tuple(dict.fromkeys([*self._read, *groups, *unit]))

    @cached_property
    def _read(self) -> tuple[str, ...]:
        """The names of the values that features are made of."""
        return reads(self.problem.features)

    @cached_property
    def _values(self) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
        """Read the values of the features."""
        return items(self._read)

    @cached_property
    def _numeric(self) -> tuple[str, ...]:
        """The names of the features that are numbers."""
        return tuple(f.name for f in self.problem.features if isinstance(f, features.Numeric))

    @cached_property
    def _blank(self) -> Floats:
        """A case's numbers, of which only the intercept is known; then 0, and the numbers of actions, `->(1,n+1+A)`."""
        numbers = np.arange(len(self.problem.actions), dtype=float)
        return np.concatenate([[1.0], np.zeros(self.problem.n_features), numbers])[None]

    @cached_property
    def _all(self) -> Bools:
        return offer_mask(self.problem, None)

    @cached_property
    def _stated(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _coding(self) -> Coding:
        return Coding(self.problem.features, self._sizes)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """The units of each feature."""
        return tuple(len(f.units) for f in self.problem.features)

    @cached_property
    def origins(self) -> tuple[tuple[str | None, ...], ...]:
        """The feature that each number of each action encodes, `(A,n)`; see `policy.reasons.origins`."""
        packing, none = self.problem.packing, [None] * (1 + len(self.problem.actions))
        names = ["", *(f.name for f in self.problem.features for _ in f.units), *none]
        if packing is not None:
            names = [*(name for name in packing.origins for _ in range(2)), *none]
        if self._profiles is not None:
            each = self._profiles.tolist()
            count = self.problem.n_features
            return tuple(tuple(None if p == 0.0 else name for p in row for name in names[:count]) for row in each)
        return tuple(tuple(names[i] for i in row) for row in self._layout.tolist())

    @cached_property
    def _profiles(self) -> Floats | None:
        return profiles_of(self.problem, self.model)

    @cached_property
    def _has_numbers(self) -> bool:
        return by_action(self.model) is not None

    @cached_property
    def _layout(self) -> Ints:
        """The positions of every action's features in a row of `_blank`, `->(A,n)`."""
        n, actions, read = self.problem.n_features, len(self.problem.actions), self.model.n_features
        if self._has_numbers and read == 1 + n:
            return np.column_stack([n + 1 + np.arange(actions), np.tile(np.arange(n), (actions, 1))])
        if not self._has_numbers and self.problem.packed is None and read in (0, actions * n):
            blocks = np.full((actions, actions * n), n)
            for a in range(actions):
                blocks[a, a * n : (a + 1) * n] = np.arange(n)
            return blocks
        if not self._has_numbers and read == n:
            return np.tile(np.arange(n), (actions, 1))
        if self.problem.packed is not None:
            expected = f"PerAction of a model of {self.problem.packed}, or such a model for all actions"
            raise InvalidInput("model.n_features", expected, read)
        expected = f"PerAction.of(problem), or a model of {actions * n} features, {n} for each of {actions} actions"
        if self.problem.described is not None:
            expected = f"a model of {self.problem.n_described} features, as actions are described, {expected}"
        raise InvalidInput("model.n_features", f"{expected}, or of {n} for all of them", read)


def profiles_of(problem: Problem, model: Model) -> Floats | None:
    """Return the profiles of described actions, None if the model reads another layout, `->(A,q)`."""
    if problem.described is None or model.n_features != problem.n_described or by_action(model) is not None:
        return None
    return problem.described.profiles


def rows_of(frame: Table, names: Sequence[str]) -> Sequence[Mapping[str, object]]:
    """Return the rows of a data frame with the columns of these names; a sequence of rows is left as it is.

    Raises:
        InvalidInput: neither of the two, or a column that is missing or there twice.
    """
    if isinstance(frame, Sequence) and not isinstance(frame, str):
        return frame
    if not isinstance(frame, Frame):
        raise InvalidInput("frame", "a data frame, or a sequence of cases", value_text(frame))
    read = {name: list(_column_of(frame, name)) for name in names}
    return [{name: column[i] for name, column in read.items()} for i in range(len(frame))]


def _column_of(frame: Frame, name: str) -> Collection[object]:
    found = list(frame.columns).count(name)
    if found != 1:
        expected, got = "a column, as the problem names it", f"only {list(frame.columns)}"
        raise InvalidInput(name, expected, got if found == 0 else f"{found} of this name")
    return frame[name]
