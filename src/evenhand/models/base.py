"""The contract of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from evenhand.core.records import Worth
from evenhand.core.types import Bools, Floats

__all__ = ["AHEAD", "COPIES", "ROUNDS", "TAUGHT", "ZEROS", "Ask", "Averageable", "Model", "Worth"]

ROUNDS = {"rounds": True}  # marks the fields of a state that count rounds
TAUGHT = {"taught": True}  # marks how many of these rounds were taught, `()`: each takes nothing from the horizon
AHEAD = {"ahead": True}  # marks what part of the horizon is to come that budgets can pay for, `()`; a policy says it
ZEROS = {"zeros": True}  # marks in how many observations each outcome was declared 0, `(M)`; a policy says it
COPIES = {
    "rounds": False,
    "taught": False,
    "zeros": False,
}  # marks fields of copies of states, which count no rounds themselves

# Candidates x and prices w -> their worth, without luck, `(A,n),(K,1|A,M)->(K,A),(K,A)`.
Ask = Callable[[Floats, Floats], Worth]


class Model(Protocol):
    """Answers one question: what are the outcomes of these candidates worth at these prices?

    Models take prices because some of them have no width per outcome, and because optimism is applied after pricing:
    upwards where a price is positive, downwards where it is negative. Prices are the same for all candidates,
    `(K,1,M)`, or per candidate, `(K,A,M)`; for a single candidate the two are the same.
    A model's state is a dataclass of arrays whose first axis is R, except for settings such as ranges.
    """

    @property
    def n_features(self) -> int:
        """How many features it reads."""

    @property
    def n_outcomes(self) -> int:
        """How many outcomes it predicts."""

    def draws(self, candidates: int) -> int:
        """How many uniform numbers it can use in a round with this many candidates; 0 for a model without luck."""

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> Any:
        """The state before any data, for outcomes within [low, high], `(M),(M)->state`."""

    def value(self, state: Any, x: Floats, w: Floats, u: Floats) -> Worth:
        """Worth of candidates x at prices w, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`; leaves the state as it is.

        Luck may change the bonus, never the mean. If u has width 0, the model answers without luck.
        """

    def update(self, state: Any, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Learn the outcomes y of plays x under prices w where they were seen, `(P,n),(P,M),(P,M),(K,1|P,M)`, in place.

        Where an outcome was not seen, y is 0 and means nothing. An update may be a part of a round, whose other plays
        are not seen. A field of the state that counts rounds is `field(metadata=ROUNDS)`: the part is then counted as
        its share of the round.
        """


@runtime_checkable
class Weighs(Model, Protocol):
    """A model that may learn more, or less, from a play than one observation."""

    def weigh(self, state: Any, x: Floats, y: Floats, seen: Bools, w: Floats, weight: float) -> None:
        """`update` by plays each of which counts as `weight` observations and rounds, `(P,n),(P,M),(P,M),(K,1|P,M)`.

        Raises:
            InvalidInput: an inner model that cannot weigh what it learns.
        """


@runtime_checkable
class Averageable(Model, Protocol):
    """A model that may be linear in its parameters; then predictions at mean parameters are mean predictions."""

    @property
    def is_linear(self) -> bool:
        """Whether an outcome's mean is x.theta and there is no optimism."""

    def parameters(self, state: Any) -> Floats:
        """Theta of every outcome, `->(M,n)`."""


@runtime_checkable
class InBlocks(Model, Protocol):
    """A model of several blocks of features, of which each candidate has one, as replicas that have the rest in common.

    It saves the matrices between blocks, which are 0.
    """

    def in_blocks(self, blocks: int) -> Model:
        """The model of which so many consecutive replicas are one, with coefficients of their own."""


@runtime_checkable
class ByAction(Model, Protocol):
    """A model without luck that finds the rows of its state by itself, where each action of a replica has one.

    Row r A + a belongs to action a of replica r. The first feature of a candidate is a, and is refused if it is no
    action; the others are the features of the model.
    """

    def value_by_action(self, state: Any, x: Floats, w: Floats, actions: int) -> Worth:
        """`value` by the row of each candidate's action, `(C,1+n),(K,1|C,M),()->(K,C),(K,C)`."""

    def update_by_action(self, state: Any, x: Floats, y: Floats, seen: Bools, actions: int) -> None:
        """`update` of the row of each play's action, `(P,1+n),(P,M),(P,M),()`."""


@runtime_checkable
class Posterior(Model, Protocol):
    """A model that can draw its parameters from a normal posterior, or from a normal approximation of one."""

    @property
    def n_parameters(self) -> int:
        """How many standard normal numbers one draw needs."""

    def sample(self, state: Any, x: Floats, w: Floats, z: Floats) -> Floats:
        """Worth under the parameters theta + root(S) z, S their covariance, `(A,n),(K,1|A,M),(U,n_parameters)->(K,A)`.

        Candidates come in U consecutive blocks of equal length, and each block has a draw z of its own.
        """


@runtime_checkable
class Parametric(Posterior, Protocol):
    """A model of one outcome whose mean is a known function of x.theta, with theta of n numbers, `n_parameters`."""

    def deviations(self, state: Any, z: Floats) -> Floats:
        """What draws from the posterior add to theta: root(S) z, `(U,n)->(U,n)`."""

    def inside(self, state: Any, z: Floats) -> Floats:
        """Root(V^-1) z, V the matrix of the model's widths, `(U,n)->(U,n)`: a ball becomes an ellipsoid of theta."""

    def at(self, state: Any, x: Floats, w: Floats, d: Floats) -> Floats:
        """Worth under theta + d, one d per consecutive block of candidates, `(A,n),(K,1|A,1),(U,n)->(K,A)`."""
