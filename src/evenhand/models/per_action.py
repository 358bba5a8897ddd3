"""Separate coefficients per action, as many small models as there are actions; and models that get more actions."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked, lacks, value_text
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole
from evenhand.core.views import view_of
from evenhand.models._shared import EVERYWHERE
from evenhand.models.base import (
    ROUND,
    Begins,
    ColumnGain,
    Divisible,
    Gain,
    Grows,
    Lesson,
    Model,
    Note,
    Widens,
    Worth,
    Wraps,
    explains,
    fades,
    notes,
)
from evenhand.models.bayesian_ridge import BayesianRidge
from evenhand.models.diagonal.posterior import block_of, is_wide
from evenhand.models.diagonal.ridge import DiagonalRidge

if TYPE_CHECKING:
    from evenhand.problem.problem import Problem

T = TypeVar("T")


def resize(part: T, actions: int) -> T:
    """Return a model, or a part of one, for another number of actions; itself if it has nothing of single actions.

    >>> from evenhand.models.per_action import PerAction
    >>> from evenhand.models.ridge import Ridge
    >>> resize(PerAction(inner=Ridge(n_features=2), actions=4), 3).actions
    3
    """
    return _rebuilt(part, lambda z: z.of_actions(actions) if isinstance(z, Grows) else None)


def narrow(part: T, features: int) -> T:
    """Return a model, or a part of one, for the first so many features; itself if a part cannot grow by features.

    >>> from evenhand.models.ridge import Ridge
    >>> narrow(Ridge(n_features=6), 4).n_features
    4
    """
    try:
        return _rebuilt(part, lambda z: z.of_features(features) if isinstance(z, Widens) else None)
    except InvalidInput:  # one of its parts cannot
        return part


def _rebuilt(part: T, change: Callable[[Any], Any]) -> T:
    """Return a part, with every part in it replaced for which a function returns another one."""
    if (made := change(part)) is not None:
        return cast(T, made)
    if isinstance(part, tuple) and type(part) is tuple:
        found = tuple(_rebuilt(z, change) for z in part)
        return part if all(a is b for a, b in zip(found, part, strict=True)) else cast(T, found)
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    old = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.init}
    new = {name: _rebuilt(z, change) for name, z in old.items()}
    changed = {name: z for name, z in new.items() if z is not old[name]}
    return dataclasses.replace(part, **changed) if changed else part


def take_over(state: Any, old: Any, replicas: int, features: int | None = None) -> None:
    """Copy the state of a model of fewer actions into a state before any data, in which appended actions stay fresh.

    An array that has more rows has rows by action; what has a longer axis behind the first one has an entry per action.
    Arrays that have grown with the data are as long as they were. `features` is how many the old state has, if it has
    fewer: those that follow were 0 in all data.
    """
    begun = None
    for f in dataclasses.fields(state):
        if f.metadata.get("setting"):
            continue
        here, there = getattr(state, f.name), getattr(old, f.name)
        if isinstance(here, list):
            for one, other in zip(here, there, strict=True):
                take_over(one, other, replicas, features)
        elif dataclasses.is_dataclass(here):
            take_over(here, there, replicas, features)
        elif isinstance(here, np.ndarray) and here.ndim:
            if len(here) != len(there):
                rows = np.arange(len(here)).reshape(replicas, -1)
                begun = rows[:, len(there) // replicas :].ravel()
            setattr(state, f.name, _with(here, there, replicas))
        else:
            setattr(state, f.name, there)
    if begun is not None and isinstance(state, Begins):
        state.begin(begun)
    if features is not None and isinstance(state, Begins):
        state.widen(features)


def _with(fresh: np.ndarray[Any, Any], old: np.ndarray[Any, Any], replicas: int) -> np.ndarray[Any, Any]:
    """Return a fresh array with the entries of an old one, whose axes may be shorter."""
    if len(fresh) != len(old):
        by_action, before = (z.reshape(replicas, len(z) // replicas, *z.shape[1:]) for z in (fresh, old))
        rows = _with(by_action, before, replicas)
        return rows.reshape(len(fresh), *rows.shape[2:])
    found = np.zeros(np.maximum(fresh.shape, old.shape), fresh.dtype)
    for z in (fresh, old):
        found[tuple(slice(0, n) for n in z.shape)] = z
    return found


@kernel
def _wrong_action(x: Floats, seen: Bools, actions: int) -> tuple[int, int]:
    """Find the first candidate whose index of an action is out of range, `(C,1+n),(C,M)->(),()`; -1 without one.

    Candidates without observed outcomes are skipped. An empty mask is true everywhere.
    """
    for r in range(len(x)):
        for c in range(x.shape[1]):
            index = x[r, c, 0]
            if not (0.0 <= index < actions and index == np.floor(index)) and (len(seen) == 0 or seen[r, c].any()):
                return r, c
    return -1, -1


def refuse_actions(x: Floats, seen: Bools, actions: int) -> None:
    """Refuse candidates with an outcome that lead with an index that no action has, `(C,1+n),(C,M)->`."""
    r, c = _wrong_action(x, seen, actions)
    if r >= 0:
        expected = f"the index of an action, a whole number from 0 to {actions - 1}"
        raise InvalidInput(f"features[{r}, {c}, 0]", expected, x[r, c, 0])


@kernel
def _spread(x: Floats, w: Floats, seen: Bools, actions: int) -> tuple[Ints, Floats, Floats]:
    """The place of every candidate among those of its action, and features and prices by action.

    `(C,1+n),(K,1|C,M),(C,M)->(C)`, then `(R A, most, n)` and `(R A, K, 1|most, M)`, 0 where an action has fewer
    candidates than the most. Candidates without observed outcomes have place -1. An empty mask is true everywhere.
    """
    replicas, each = len(x), w.shape[2] > 1
    places, count, most = np.full(x.shape[:2], -1), np.zeros(replicas * actions, np.int64), 1
    for r in range(replicas):
        for c in range(x.shape[1]):
            if len(seen) == 0 or seen[r, c].any():
                row = r * actions + int(x[r, c, 0])
                places[r, c] = count[row]
                count[row] += 1
                most = max(most, count[row])
    z = np.zeros((replicas * actions, most, x.shape[2] - 1))
    prices = np.zeros((replicas * actions, w.shape[1], most if each else 1, w.shape[3]))
    for r in range(replicas):
        for c in range(x.shape[1]):
            place = places[r, c]
            if place >= 0:
                row = r * actions + int(x[r, c, 0])
                for i in range(z.shape[2]):
                    z[row, place, i] = x[r, c, 1 + i]
                for k in range(w.shape[1] if each or place == 0 else 0):
                    for m in range(w.shape[3]):
                        prices[row, k, place if each else 0, m] = w[r, k, c if each else 0, m]
    return places, z, prices


@kernel
def _gather(x: Floats, places: Ints, actions: int, mean: Floats, bonus: Floats) -> tuple[Floats, Floats]:
    """Put means and bonuses by action in the order of the candidates, `(C,1+n),(C)->(K,C),(K,C)`."""
    shape = len(x), mean.shape[1], x.shape[1]
    center, more = np.empty(shape), np.empty(shape)
    for r in range(len(x)):
        for c in range(x.shape[1]):
            row, place = r * actions + int(x[r, c, 0]), places[r, c]
            for k in range(mean.shape[1]):
                center[r, k, c] = mean[row, k, place]
                more[r, k, c] = bonus[row, k, place]
    return center, more


@kernel
def _by_action(x: Floats, y: Floats, seen: Bools, w: Floats, actions: int) -> tuple[Floats, Floats, Bools, Floats]:
    """Sort plays, outcomes, masks and prices by action, `(P,1+n),(P,M),(P,M),(K,1|P,M)->...`.

    They lead with `(R A, most)`, most the largest number of plays of an action of which something was seen.
    """
    places, z, prices = _spread(x, w, seen, actions)
    most = z.shape[1]
    outcomes, told = np.zeros((len(z), most, y.shape[2])), np.zeros((len(z), most, y.shape[2]), np.bool_)
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if places[r, p] >= 0:
                row = r * actions + int(x[r, p, 0])
                outcomes[row, places[r, p]] = y[r, p]
                told[row, places[r, p]] = seen[r, p]
    return z, outcomes, told, prices


class _PerActionView(NamedTuple):
    inner: Any
    actions: int

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        if _wrong_action(x, np.zeros((0, 0, 0), np.bool_), self.actions)[0] >= 0:
            nothing = np.full((len(x), w.shape[1], x.shape[1]), np.nan)  # which no check lets pass
            return nothing, nothing
        return self.inner.value(x, w)  # type: ignore[no-any-return]

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        self.inner.update(x, y, seen, w)

    @kernel
    def pauses(self, t: Floats, candidates: int) -> bool:
        return self.inner.pauses(t, candidates)  # type: ignore[no-any-return]

    @kernel
    def grows(self, d: Decision) -> bool:
        return self.inner.grows(d)  # type: ignore[no-any-return]


@checked
@dataclass(frozen=True, kw_only=True)
class PerAction(Wraps):
    """Give every action coefficients of its own: a copy of a model for each, which learns from its plays alone.

    Equation: candidate (a, x) is worth what the inner model of action a says about x. The first feature of a candidate
    is the index a of the action, a whole number from 0 to A - 1; the others are the features x of the case. Candidates
    may come in any order, and an action several times or not at all.
    With `Ridge` of a fixed width this is exactly ridge regression on a block of features per action
    (`environments.logged.blocks`), because V is then block-diagonal: the A inverses of n x n take the place of one of
    A n x A n. `BayesianRidge` and `BayesianLogistic` equal their block layouts, too: actions have the
    penalty, the noise and the counts of observations and rounds in common, and estimate them together. If each action
    estimated its noise for itself, from its few plays, it would often be far too small at first, and the policy would
    lock in. Under all other models, actions have nothing in common: neither widths that depend on the data, such as
    `SelfNormalised`, nor fits, draws or rounds. Their horizon is T / A, as if actions were to be played equally often.

    Args:
        inner: any model of n features.
        actions: A, at least 1.

    Raises:
        InvalidInput: fewer than one action; from `value` and `update`, an index that no action has.

    >>> from evenhand.models.ridge import Ridge
    >>> model = PerAction(inner=Ridge(n_features=1), actions=2)
    >>> state, price, luck = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> play = np.array([[[1.0, 1.0]]])  # action 1, in a case whose only feature is 1
    >>> model.update(state, play, np.ones((1, 1, 1)), np.ones((1, 1, 1), bool), price)
    >>> model.value(state, np.array([[[0.0, 1.0], [1.0, 1.0]]]), price, luck).mean.tolist()
    [[[0.0, 0.5]]]
    """

    inner: Model
    actions: int

    def __post_init__(self) -> None:
        whole("PerAction.actions", self.actions, 1)
        if lacks(self.inner, Model):
            expected = "a model of n features (`Sklearn` makes one of an estimator)"
            raise InvalidInput("PerAction.inner", expected, value_text(self.inner))

    @staticmethod
    def of(problem: Problem, kind: Callable[..., Model] | None = None) -> PerAction:
        """Make a model with coefficients per action, for the named features and all learned outcomes of a problem.

        Args:
            problem: with named features, which `Policy.encode` makes contexts of.
            kind: of the model that every action has, such as `BayesianLogistic` for a single outcome; by default
                `BayesianRidge`, or `DiagonalRidge` of packed rows, of many levels and of more than 1,000 numbers.

        >>> from evenhand.problem import Numeric, Outcome, Problem
        >>> mail = Problem(actions=("none", "letter"), features=(Numeric("age", 20, 60),),
        ...                outcomes=(Outcome("answer"),), maximize="answer", horizon=100)
        >>> PerAction.of(mail).n_features, PerAction.of(mail).actions
        (3, 2)
        """
        lacking = [name for name in ("actions", "learned", "n_features") if not hasattr(problem, name)]
        if lacking:
            raise InvalidInput("problem", "a Problem", value_text(problem))
        packed = problem.packed
        if kind is None:
            kind = DiagonalRidge if is_wide(problem) else BayesianRidge
        if not callable(kind):
            raise InvalidInput("kind", "a class of models, such as BayesianRidge", value_text(kind))
        sizes: dict[str, Any] = {"n_features": problem.n_features}
        if packed is not None and "packed" in inspect.signature(kind).parameters:
            sizes |= {"packed": packed, "block": block_of(problem)}
        if len(problem.learned) != 1:
            sizes["n_outcomes"] = len(problem.learned)
            if "n_outcomes" not in inspect.signature(kind).parameters:
                expected = f"a model of several outcomes, such as BayesianRidge, as the problem has {problem.learned}"
                raise InvalidInput("kind", expected, f"{value_text(kind)}, which has one")
        try:
            inner = kind(**sizes)
        except TypeError:
            expected = "a class of models of n_features, such as BayesianRidge (`Sklearn` makes one of an estimator)"
            raise InvalidInput("kind", expected, value_text(kind)) from None
        return PerAction(inner=inner, actions=len(problem.actions))

    @property
    def n_features(self) -> int:
        return 1 + self.inner.n_features

    def draws(self, candidates: int) -> int:
        return self.actions * self.inner.draws(candidates)

    @property
    def by_action(self) -> int:
        return self.actions

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> Any:
        if isinstance(self.inner, Divisible):
            return self.inner.start_by_action(n_replicas, low, high, horizon, self.actions)
        return self.inner.start(n_replicas * self.actions, low, high, max(1, horizon // self.actions))

    def value(self, state: Any, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute the worth by the coefficients of actions, `(C,1+n),(K,1|C,M),(draws)->(K,C),(K,C)`."""
        refuse_actions(x, EVERYWHERE, self.actions)
        if self._divides:
            return self.inner.value(state, x, w, u)
        places, z, prices = _spread(x, w, EVERYWHERE, self.actions)
        said = self.inner.value(state, z, prices, self._luck(u, z.shape[1]))
        return Worth(*_gather(x, places, self.actions, said.mean, said.bonus), said.random)

    def update(self, state: Any, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Update the coefficients of every action by its own plays, `(P,1+n),(P,M),(P,M),(K,1|P,M)`."""
        refuse_actions(x, seen, self.actions)
        if self._divides:
            self.inner.update(state, x, y, seen, w, lesson)
            return
        if len(lesson.share) > 1:
            lesson = lesson._replace(share=np.repeat(lesson.share, self.actions))
        self.inner.update(state, *_by_action(x, y, seen, w, self.actions), lesson)

    def view(self, state: Any) -> _PerActionView | None:
        inner = view_of(self.inner, state) if self._divides else None
        return None if inner is None else _PerActionView(inner, self.actions)

    def of_actions(self, actions: int) -> PerAction:
        """Return the same model for the first so many actions."""
        return replace(self, inner=resize(self.inner, actions), actions=actions)

    @property
    def fades(self) -> bool:
        return fades(self.inner)

    def fade(self, state: Any, keep: Floats, ahead: Floats) -> None:
        """Let the coefficients of all actions fade alike, `(),()->`."""
        inner: Any = self.inner
        rows = (keep, ahead) if self._divides else (np.repeat(z, self.actions) for z in (keep, ahead))
        inner.fade(state, *rows)

    def gains(self, state: Any, x: Floats) -> Iterator[Gain | ColumnGain]:
        """Yield what plays will add to the coefficients of their actions, `(P,1+n)->`."""
        inner: Any = self.inner
        return inner.gains(state, x)  # type: ignore[no-any-return]

    def notes(self, state: Any, replica: int) -> tuple[Note, ...]:
        """Return the notes of a model that has one state for all actions."""
        return notes(self.inner, state, replica) if self._divides else ()

    @property
    def explains(self) -> bool:
        return self._divides and explains(self.inner)

    def contributions(self, state: Any, x: Floats, w: Floats) -> Floats:
        """Attribute a difference to features by the coefficients of both actions, `(2,1+n),(K,1|2,M)->(K,1+n)`."""
        inner: Any = self.inner
        found: Floats = inner.contributions(state, x, w)
        return found

    @cached_property
    def _divides(self) -> bool:
        return isinstance(self.inner, Divisible)

    def _luck(self, u: Floats, most: int) -> Floats:
        """Return the luck of every action, for a number of candidates at most, `(draws)->(R A, inner draws)`."""
        own = u.reshape(len(u) * self.actions, u.shape[1] // self.actions)
        return np.ascontiguousarray(own[:, : self.inner.draws(most)]) if u.shape[1] else own
