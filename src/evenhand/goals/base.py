"""The abilities of a goal. Each goal has some of them; a policy asks each goal only for what it can do.

All states are dataclasses of arrays that lead with R and change in place. Every running total is a book of entries
(rounds, v) that add up: a stopped replica or a rejected log row is the entry (0, 0), and no goal needs to know.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats
from evenhand.models.base import Ask
from evenhand.problem.rows import Frame, Rows


@runtime_checkable
class Priced(Protocol):
    """Prices its rows."""

    @property
    def rows(self) -> Rows:
        """What it sees of the outcomes."""

    def start(self, n_replicas: int) -> Any:
        """The state before any round."""

    def price(self, state: Any) -> tuple[Floats, Floats]:
        """Prices q of the rows and a constant o, `->(k,d),()`; the goal is the sum over k of q.v, plus o.

        Each of the k readings gets an optimism of its own: k = 1 nets rows before optimism, k = d does not.
        """


class Sloped(Protocol):
    """An objective as a plan sees it: what its rows are worth depends on where their averages are to end."""

    @property
    def rows(self) -> Rows:
        """What it sees of the outcomes."""

    @property
    def passes(self) -> int:
        """How often a plan has to look at the slope."""

    @property
    def start_at(self) -> tuple[float, ...]:
        """Averages of the rows to begin with, where there is a slope."""

    def slope(self, z: Floats, t: Floats) -> Floats:
        """What the rows are worth where their averages over t rounds are z, `(d),()->(d)`."""


@runtime_checkable
class StepsAhead(Protocol):
    """Moves when a decision is made."""

    @property
    def rows(self) -> Rows:
        """What it sees of the outcomes."""

    def on_decision(self, state: Any, decision: Decision, estimate: Floats | None) -> None:
        """A decision was made; `estimate` is what the model says of its rows, `(d)`, where the goal `Estimates`."""


@runtime_checkable
class Estimates(Protocol):
    """Steps ahead on what the model says of the plays, and not on what is known of them alone."""

    @property
    def rows(self) -> Rows:
        """What it sees of the outcomes."""

    def likes(self, state: Any) -> Floats | None:
        """Signs: each row is estimated at the end of its interval that a price of this sign likes, `->(d)`.

        None where this goal takes no estimate, as it is set up.
        """


@runtime_checkable
class Plans(Protocol):
    """Looks at whole contexts, and may ask the model about them; plans for one play per round."""

    def on_context(self, state: Any, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        """A decision was made in this context, as the round that makes t decided ones."""


@runtime_checkable
class Learns(Protocol):
    """Moves when an outcome arrives."""

    @property
    def rows(self) -> Rows:
        """What it sees of the outcomes."""

    def on_outcome(self, state: Any, decision: Decision, counted: Floats, v: Floats) -> None:
        """Enter (counted, v), the rows of the outcomes of a decision, `(),(d)`.

        Rows that read an outcome which was not observed are NaN.
        """


@runtime_checkable
class Limits(Protocol):
    """Forbids candidates."""

    @property
    def rows(self) -> Rows:
        """What it sees of the outcomes."""

    def start(self, n_replicas: int) -> Any:
        """The state before any round."""

    def room(self, state: Any, frame: Frame) -> tuple[Floats, Floats]:
        """The most that each candidate can use of each row, `(R or 1, A, d)`, and what is left, `->(A,d),(d)`.

        A candidate fits if it uses at most what is left of every row; plays fit together if their sum does.
        """

    def fits(self, state: Any, decision: Decision) -> Bools:
        """Whether all plays of a decision still fit together, `->()`."""

    def over(self, state: Any) -> Bools:
        """Where nothing will ever be playable again, whatever comes, `->()`."""


@runtime_checkable
class Cancels(Protocol):
    """Takes back what it did when a decision was committed."""

    def on_cancel(self, state: Any, decision: Decision) -> None:
        """A committed decision was not carried out."""


Goal = Priced | Limits
