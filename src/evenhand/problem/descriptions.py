"""Descriptions of actions, by which models share what they learn between actions and know new ones by their like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.core.types import Floats, cached_property
from evenhand.core.validate import positive
from evenhand.problem.features import Feature, encode
from evenhand.problem.hashes import is_hashed

NAME = "action"  # the column of a table that has the names
OWN = 0.25
MANY = 1000  # coefficients above which covariances are kept of shared ones alone


@dataclass(frozen=True)
class Actions:
    """A table of actions: a row of each, and the features in it by which one action is like another.

    Equation: the numbers of action a in a case are p_a x, every number of p_a = (1, d_a, own e_a) times every number
    of the case x: d_a has the numbers of the features of a, and e_a is 1 at the place of a and 0 elsewhere. The
    coefficients of 1 and d_a are shared by all actions, and those of e_a are the own part of a. A regression with one
    penalty believes that the own parts spread by `own` times what the shared ones do, so a new action begins with what
    its like brought, and its own part is as uncertain as that of any other before its first play.

    Args:
        rows: a mapping from names to rows, a data frame, or a list of mappings; the last two name actions in the
            column "action". Ties between actions go to the one named first.
        features: `Numeric` and `Categorical` columns by which actions are alike; other columns are there for `column`.
        own: the spread of what is the action's own, in units of the spread of what is shared, above 0.

    Raises:
        InvalidInput: no rows, a name twice, no features, a value that one of them cannot have, or own is not above 0.

    >>> from evenhand.problem import Numeric
    >>> models = Actions({"small": {"price": 0.2}, "large": {"price": 2.0}}, features=(Numeric("price", 0, 2),))
    >>> models.names, models.column("price")
    (('small', 'large'), {'small': 0.2, 'large': 2.0})
    >>> models.profiles.round(1).tolist()
    [[1.0, -0.8, 0.2, 0.0], [1.0, 1.0, 0.0, 0.2]]
    """

    rows: Any
    features: tuple[Feature, ...]
    own: float = OWN

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", dict(_rows(self.rows)))
        if not self.rows:
            raise InvalidInput("Actions.rows", "at least one action", "none")
        if isinstance(self.features, str) or not isinstance(self.features, Sequence) or not self.features:
            expected = "at least one Numeric or Categorical column by which actions are alike"
            raise InvalidInput("Actions.features", expected, value_text(self.features))
        object.__setattr__(self, "features", tuple(self.features))
        for feature in self.features:
            if not isinstance(feature, Feature) or is_hashed(feature):
                raise InvalidInput("Actions.features", "Numeric or Categorical columns", value_text(feature))
        names = [f.name for f in self.features]
        if len(set(names)) < len(names):
            raise InvalidInput("Actions.features", "columns that differ from each other", names)
        positive("Actions.own", self.own)
        self.shared  # noqa: B018, refuses what a feature cannot have

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the actions, in order."""
        return tuple(self.rows)

    def column(self, name: str) -> dict[str, Any]:
        """Return a column by action, for what a problem declares by action: known outcomes, ranges, groups.

        Args:
            name: of the column.

        Raises:
            InvalidInput: a row lacks it.

        >>> from evenhand.problem import Groups, Numeric, Outcome
        >>> rows = [{"action": "a", "size": 1, "maker": "x"}, {"action": "b", "size": 2, "maker": "y"}]
        >>> table = Actions(rows, features=(Numeric("size", 0, 4),))
        >>> Outcome("weight", known=table.column("size")).known
        {'a': 1, 'b': 2}
        >>> Groups("maker", ["x", "y"], of=table.column("maker")).of
        {'a': 'x', 'b': 'y'}
        """
        return {action: _value(action, row, name) for action, row in self.rows.items()}

    def append(self, name: str, row: Mapping[str, object]) -> Actions:
        """Return the table with one action more, as its last.

        Args:
            name: of the new action.
            row: its columns.

        Raises:
            InvalidInput: a name that the table has, or a value that a feature cannot have.

        >>> from evenhand.problem import Numeric
        >>> table = Actions({"a": {"size": 1}}, features=(Numeric("size", 0, 4),))
        >>> table.append("b", {"size": 3}).names
        ('a', 'b')
        """
        if name in self.rows:
            raise InvalidInput("name", f"one that is none of {self.names}", name)
        return replace(self, rows={**self.rows, name: row})

    @cached_property
    def profiles(self) -> Floats:
        """The numbers p_a by which those of a case are multiplied, `->(A,1+d+A)`."""
        return np.concatenate([self.shared, self.own * np.eye(len(self.rows))], 1)

    @property
    def width(self) -> int:
        """How many numbers p_a has, 1+d+A."""
        return int(self.shared.shape[1]) + len(self.rows)

    def is_many(self, numbers: int) -> bool:
        """Return whether models of cases of n numbers have more than 1,000 coefficients, n (1 + d + A).

        By default they are `OwnParts` then, which read the number of an action and its case.
        """
        return numbers * self.width > MANY

    @cached_property
    def shared(self) -> Floats:
        """The numbers of p_a whose coefficients are shared, `->(A,1+d)`."""
        sizes = tuple(len(f.units) for f in self.features)
        described = []
        for action, row in self.rows.items():
            values = [_value(action, row, f.name) for f in self.features]
            try:
                described.append(encode(self.features, sizes, values))
            except InvalidInput as error:
                raise error.at(f"Actions.rows: {action!r}") from None
        return np.array(described)


class Describes(Protocol):
    """A problem with descriptions of its actions, or none."""

    @property
    def actions(self) -> tuple[str, ...]: ...

    @property
    def features(self) -> tuple[Feature, ...]: ...

    @property
    def described(self) -> Actions | None: ...


def check_described(problem: Describes) -> None:
    """Refuse descriptions of other actions than those of the problem, and beside features that are hashed."""
    if problem.described is not None and problem.described.names != tuple(problem.actions):
        raise InvalidInput("described", f"a row of each of {tuple(problem.actions)}, in order", problem.described.names)
    hashed = [f.name for f in problem.features if is_hashed(f)] if problem.described is not None else []
    if hashed:
        raise InvalidInput("features", "none that is hashed where actions are described", hashed)


def refuse_other_descriptions(old: Describes, new: Describes, field: str) -> None:
    """Refuse a problem that describes the actions of an earlier one differently."""
    before, now = old.described, new.described
    if before is None or now is None:
        if before is not now:
            told = ["none" if z is None else "descriptions of actions" for z in (before, now)]
            raise InvalidInput(f"{field}: problem.described", f"{told[0]}, as in the state", told[1])
        return
    if before.features != now.features or before.own != now.own:
        expected = f"the features {before.features} and own={before.own:g}, as in the state"
        raise InvalidInput(f"{field}: problem.described", expected, f"{now.features} and own={now.own:g}")
    same = (before.shared == now.shared[: len(before.rows)]).all(1)
    if not same.all():
        name = before.names[int(same.argmin())]
        expected = f"the row of {name!r} as in the state (append an action for what changed, and withdraw this one)"
        raise InvalidInput(f"{field}: problem.described", expected, now.rows[name])


def crossed(profiles: Floats, cases: Floats) -> Floats:
    """Return every number of every action's profile times every number of a case, `(A,q),(...,n)->(...,A,q n)`.

    >>> crossed(np.array([[1.0, 0.5]]), np.array([1.0, 3.0])).tolist()
    [[1.0, 3.0, 0.5, 1.5]]
    """
    x = profiles[:, :, None] * cases[..., None, None, :]
    return x.reshape(*x.shape[:-2], -1)


def _rows(stated: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows by action of a mapping, a data frame or a list."""
    if isinstance(stated, Mapping):
        pairs = list(stated.items())
    elif hasattr(stated, "columns") and hasattr(stated, "__getitem__"):
        columns = {str(name): list(stated[name]) for name in stated.columns}
        pairs = [(None, dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)]
    elif isinstance(stated, Sequence) and not isinstance(stated, str):
        pairs = [(None, row) for row in stated]
    else:
        expected = "a mapping from actions to rows, a data frame, or a list of mappings"
        raise InvalidInput("Actions.rows", expected, value_text(stated))
    seen = set[str]()
    for i, (name, row) in enumerate(pairs):
        if not isinstance(row, Mapping):
            raise InvalidInput(f"Actions.rows[{i}]", "a mapping from columns to values", value_text(row))
        action = row.get(NAME) if name is None else name
        if not isinstance(action, str) or not action:
            raise InvalidInput(f"Actions.rows[{i}].{NAME}", "the name of an action", value_text(action))
        if action in seen:
            raise InvalidInput("Actions.rows", "names that differ from each other", f"{action!r} twice")
        seen.add(action)
        yield action, {str(key): _plain(z) for key, z in row.items() if name is not None or key != NAME}


def _plain(z: Any) -> Any:
    """A value of a data frame as Python has it."""
    return z.item() if isinstance(z, np.generic) else z


def _value(action: str, row: Mapping[str, Any], name: str) -> Any:
    if name not in row:
        got = f"only {list(row)}{suggestion(name, tuple(row))}"
        raise InvalidInput(f"Actions.rows: {action!r}", f"a value of {name!r}", got)
    return row[name]
