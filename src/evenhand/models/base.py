"""The contract of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Worth as Worth
from evenhand.core.registry import exports
from evenhand.core.types import Bools, Floats, Ints

AHEAD = {"ahead": True}  # marks the part of the horizon that is to come and can be paid for, `()`; set by a policy
AFFORDABLE = {"affordable": True}  # marks the plays of each action that budgets can pay for, `(A)`; set by a policy
ZEROS = {"zeros": True}  # marks the number of observations in which each outcome was declared 0, `(M)`; set by a policy
COPIES = {"zeros": False}  # marks copies of states, which count nothing
_ROUNDED = 1e-9  # of a square, of which less remains as none
OWN_AHEAD = {"ahead": False}  # marks states whose `ahead` a wrapper sets by its own

# Candidates x and prices w -> their worth, without luck, `(A,n),(K,1|A,M)->(K,A),(K,A)`.
Ask = Callable[[Floats, Floats], Worth]


@dataclass(slots=True)
class AskBoth:
    """Asks a model at widths that count plays whose outcomes are to come; `arrived` asks at those without them."""

    expecting: Ask
    arrived: Ask

    def __call__(self, x: Floats, w: Floats) -> Worth:
        return self.expecting(x, w)


def of_arrived(ask: Ask) -> Ask:
    """Return the query at the widths of arrived outcomes: the given one itself, where it has no others."""
    return ask.arrived if isinstance(ask, AskBoth) else ask


class Lesson(NamedTuple):
    """The weights of the plays of an update."""

    share: Floats  # (R,), or (1,) for all replicas: the part of a round that the plays are
    weight: float  # how many observations, and rounds, each of them counts for
    taught: bool  # whether others made the plays, which then take no rounds from the horizon


ROUND = Lesson(share=np.ones(1), weight=1.0, taught=False)  # all plays of a round


class Model(Protocol):
    """Predicts the worth of candidates at given prices.

    Models take prices because some of them have no width per outcome, and because optimism is applied after pricing:
    upwards where a price is positive, downwards where it is negative. Prices are the same for all candidates,
    `(K,1,M)`, or per candidate, `(K,A,M)`; for a single candidate the two are the same.
    A model's state is a dataclass of arrays, except for settings such as ranges. Their first axis is R where all
    candidates share their coefficients. It is R A where each of A actions has coefficients of its own: row r A + a
    belongs to action a of replica r.

    Four more members are optional. `by_action` is A, or None for shared coefficients, as in a model without it; with
    A, the first feature of a candidate is the index of its action. `weighs` is True for a model that uses the weight of
    a `Lesson`; all others are taught at weight 1 only. `reads_once` is True for a model that reads features which
    all replicas share from `distinct(x)`; to all others they are handed as an array of their own per replica. `selects`
    is True for a model that names an action and knows no values, so that its worth is a mark.
    """

    @property
    def n_features(self) -> int:
        """The number of features of a candidate."""

    @property
    def n_outcomes(self) -> int:
        """The number of predicted outcomes."""

    def draws(self, candidates: int) -> int:
        """Return the number of uniform numbers for a round with this many candidates; 0 for a model without luck."""

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> Any:
        """Return the state before any data, for outcomes within [low, high], `(M),(M)->state`."""

    def value(self, state: Any, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute the worth of candidates x at prices w, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`; the state stays.

        Luck may change the bonus, never the mean. If u has width 0, the model answers without luck.
        """

    def update(self, state: Any, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Learn the outcomes y of plays x under prices w where they were seen, `(P,n),(P,M),(P,M),(K,1|P,M)`, in place.

        Where an outcome was not seen, y is 0 and means nothing. The plays may be a part of a round, whose other plays
        are not seen: a model that counts rounds adds `weight * share` of the lesson, and all others need not read it.
        """


def by_action(model: Model) -> int | None:
    """Return A if each of A actions has coefficients of its own, None if candidates share them."""
    return getattr(model, "by_action", None)


def weighs(model: Model) -> bool:
    """Return whether a model uses the weight of a `Lesson`."""
    return getattr(model, "weighs", False)


def reads_once(model: Model) -> bool:
    """Return whether a model reads features that all replicas share once, and not once per replica."""
    return getattr(model, "reads_once", False)


def reads_packed(model: object) -> bool:
    """Return whether a model reads packed rows (`core.row_pairs`); a model of models does if each of them does."""
    inside = getattr(model, "parts", None) or [z for z in [getattr(model, "inner", None)] if z is not None]
    return getattr(model, "reads_packed", False) or bool(inside and all(map(reads_packed, inside)))


def refuse_dense(model: object, field: str = "model") -> None:
    """Refuse a model that reads dense rows where features are hashed.

    Raises:
        InvalidInput: it names the models that can read such rows.
    """
    if not reads_packed(model):
        parts = exports("evenhand.models").values()
        able = [z.__name__ for z in parts if hasattr(z, "packed")]
        named = f", such as {' or '.join(able)}" if able else ""
        got = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InvalidInput(field, f"one that reads packed rows{named}, as features are hashed", got)


def fades(model: Model) -> bool:
    """Return whether a model can forget."""
    return isinstance(model, Fades) and model.fades


def waits(model: Model) -> bool:
    """Return whether a model's widths can count plays whose outcomes are to come."""
    return isinstance(model, Waits) and getattr(model, "waits", True)


def notes(model: Model, state: Any, replica: int) -> tuple[Note, ...]:
    """Return the notes of a model about a replica's state; most models have none."""
    return model.notes(state, replica) if isinstance(model, Notes) else ()


@dataclass(frozen=True)
class Note:
    """A sentence of a model about its state."""

    text: str
    alarm: bool = False  # whether somebody should look


class WithoutLuck(Protocol):
    """A model that uses no luck."""

    def draws(self, candidates: int) -> int:
        return 0


class Wraps(Protocol):
    """A wrapper that forwards to its inner model, whose state it has."""

    inner: Model

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    @property
    def n_outcomes(self) -> int:
        return self.inner.n_outcomes

    @property
    def by_action(self) -> int | None:
        return by_action(self.inner)

    @property
    def weighs(self) -> bool:
        return weighs(self.inner)

    @property
    def waits(self) -> bool:
        return waits(self.inner)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> Any:
        return self.inner.start(n_replicas, low, high, horizon)

    def update(self, state: Any, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        self.inner.update(state, x, y, seen, w, lesson)


@runtime_checkable
class Averageable(Model, Protocol):
    """A model that may be linear in its parameters; then predictions at mean parameters are mean predictions."""

    @property
    def is_linear(self) -> bool:
        """Whether an outcome's mean is x.theta and there is no optimism."""

    def parameters(self, state: Any) -> Floats:
        """Theta of every outcome, `->(M,n)`."""


@runtime_checkable
class Fades(Model, Protocol):
    """A model whose statistics are sums, so that it can forget."""

    @property
    def fades(self) -> bool:
        """Whether it can: a wrapper can if its inner model can."""

    def fade(self, state: Any, keep: Floats, ahead: Floats) -> None:
        """Multiply all sums over observations by `keep` in (0, 1], and estimate again, `(),()->`, in place.

        The penalty is not multiplied: a direction that is no longer tried falls back to what was believed before
        any data. `ahead` is the part of the horizon, in [0, 1], that is to come and in which what is learned now still
        counts; a model that explores by it takes it in place of that of a policy. Where `keep` is 1, only that changes.
        """


class Gain(NamedTuple):
    """The amount that plays will add to the precision V of an estimate: a curvature times z z^T each."""

    state: Any  # with `inverse`, V^-1, `(R A,n,n)`, which only widths read
    z: Floats  # (R, P, n), or (R, P, 1+n) if the first of them is the index of an action
    curvature: Callable[[Floats], Floats]  # at a mean z, `(R A,n)->(R A)`
    believed: float = 0.0  # z^T V^-1 z before any data, of a model whose V^-1 is 0 until then; 0 if V is never unknown

    def swap(self, inverse: Floats) -> Floats:
        """Put another inverse into the state, and return the one that it had."""
        before: Floats = self.state.inverse
        self.state.inverse = inverse
        return before


class ColumnGain(NamedTuple):
    """The squares that plays will add to each column, for a model that knows coefficients apart from each other."""

    state: Any  # with `expected`, sums of z_j^2 over plays to come, `(R A, d)` or none `(0, 0)`, which only widths read
    shape: tuple[int, ...]  # (R A, d)
    places: Ints  # (R, P, k) in an array of `(R A d)`
    squares: Floats  # (R, P, k)

    def swap(self, expected: Floats) -> Floats:
        """Put other sums into the state, and return those that it had."""
        before: Floats = self.state.expected
        self.state.expected = expected
        return before

    def add(self, sums: Floats, amount: Floats) -> None:
        """Add plays to sums, or take them away, `(R A,d),(P)`; where nothing is left, sums are exactly 0."""
        more = amount[:, :, None] * self.squares
        some, flat_sums = more != 0.0, sums.reshape(-1)
        places = self.places[some]
        np.add.at(flat_sums, places, more[some])
        left = flat_sums[places]
        flat_sums[places] = np.where(left > _ROUNDED * self.squares[some], left, 0.0)


def flat(z: Floats) -> Floats:
    """The curvature of a linear model, `(A,n)->(A)`."""
    return np.ones(len(z))


@runtime_checkable
class Waits(Model, Protocol):
    """A model whose bonus can count plays whose outcomes are to come: it knows what they will add to its precision.

    A wrapper whose inner model cannot says so by `waits`.
    """

    def gains(self, state: Any, x: Floats) -> Iterator[Gain | ColumnGain]:
        """Yield what plays x will add to each estimate in a state, `(P,n)->`; always as many, in the same order."""


@runtime_checkable
class Grows(Protocol):
    """A model, or a part of one, with data for every action, to which actions can be appended.

    Wrappers need nothing: `models.per_action.sized` looks into their fields. States grow by their arrays.
    """

    def of_actions(self, actions: int) -> Any:
        """Return the part for a given number of the first actions."""


@runtime_checkable
class Widens(Protocol):
    """A model, or a part of one, with coefficients per feature, to which features of appended actions can be added.

    They are 0 in all that was learned before. A model without this cannot grow where actions have features of their
    own, such as a block each; states grow by their arrays.
    """

    def of_features(self, features: int) -> Any:
        """Return the part for a given number of the first features."""


@runtime_checkable
class Begins(Protocol):
    """A state that estimates its penalty, by which an appended action is known before its first play."""

    def begin(self, rows: Ints) -> None:
        """Set the rows of appended actions to the belief about an action without data, `(rows)->`."""

    def widen(self, first: int) -> None:
        """Set the features from one on to the belief about features that were 0 in all data."""


@runtime_checkable
class Notes(Model, Protocol):
    """A model that has something to say about its state, for a status and a page."""

    def notes(self, state: Any, replica: int) -> tuple[Note, ...]:
        """Return sentences about a replica, `->`; they may be the same in every round."""


@runtime_checkable
class Explains(Model, Protocol):
    """A model that may say which features make two candidates differ in worth."""

    @property
    def explains(self) -> bool:
        """Whether it can: a wrapper can if its inner model can."""

    def contributions(self, state: Any, x: Floats, w: Floats) -> Floats:
        """Attribute the difference in mean worth of two candidates to features, `(2,n),(K,1|2,M)->(K,n)`.

        At common prices the parts of two candidates that have features add up to the difference of their means.
        """


def explains(model: Model) -> bool:
    """Return whether a model can attribute a difference in worth to features."""
    return isinstance(model, Explains) and model.explains


@runtime_checkable
class Divisible(Model, Protocol):
    """A model whose `value` and `update` read coefficients by action wherever its state has them.

    A is the number of rows of the state per replica. Candidates that have one feature more than the model lead with the
    index of their action, which the caller has checked.
    """

    def start_by_action(self, n_replicas: int, low: Floats, high: Floats, horizon: int, actions: int) -> Any:
        """Return the state before any data, with coefficients for each action of every replica, `(M),(M)->state`."""


@runtime_checkable
class Posterior(Model, Protocol):
    """A model that can draw its parameters from a normal posterior, or from a normal approximation of one."""

    @property
    def n_parameters(self) -> int:
        """The number of standard normal numbers of a draw."""

    def sample(self, state: Any, x: Floats, w: Floats, z: Floats) -> Floats:
        """Compute the worth under theta + root(S) z, S their covariance, `(A,n),(K,1|A,M),(U,n_parameters)->(K,A)`.

        Candidates come in U consecutive blocks of equal length, and each block has a draw z of its own.
        """


@runtime_checkable
class Parametric(Posterior, Protocol):
    """A model of one outcome whose mean is a known function of x.theta, with theta of n numbers, `n_parameters`."""

    def deviations(self, state: Any, z: Floats) -> Floats:
        """Compute deviations of theta drawn from the posterior: root(S) z, `(U,n)->(U,n)`."""

    def inside(self, state: Any, z: Floats) -> Floats:
        """Compute root(V^-1) z, V the matrix of the widths, `(U,n)->(U,n)`: a ball becomes an ellipsoid of theta."""

    def at(self, state: Any, x: Floats, w: Floats, d: Floats) -> Floats:
        """Compute the worth under theta + d, one per block of candidates, `(A,n),(K,1|A,1),(U,n)->(K,A)`."""
