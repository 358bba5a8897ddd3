"""The abilities of a goal. Each goal has some of them; a policy uses only those.

All states are dataclasses, mostly of arrays whose first axis is R, and change in place. Every running total is a book:
a sum of entries (rounds, v). A stopped replica or a rejected log row is the entry (0, 0), so goals need no special case
for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models.base import Ask
from evenhand.planning.growth import Appended
from evenhand.planning.pace import Pace, PaceState
from evenhand.problem.constraints.base import Constraint, Credit
from evenhand.problem.rows import Frame, Rows
from evenhand.problem.spans import Spans


@runtime_checkable
class Reads(Protocol):
    """Reads rows of the outcomes."""

    @property
    def rows(self) -> Rows: ...


@runtime_checkable
class Priced(Reads, Protocol):
    """Prices its rows."""

    def start(self, n_replicas: int) -> Any:
        """The state before any round."""

    def price(self, state: Any) -> tuple[Floats, Floats]:
        """Prices q of the rows and a constant o, `->(k,d),()`; the goal is the sum over k of q.v, plus o.

        Optimism is applied to each of the k readings separately: k = 1 nets rows before optimism, k = d does not.
        """


@runtime_checkable
class Weighs(Reads, Protocol):
    """Pursues a weighted sum of its rows: its prices are the same in every round."""

    @property
    def weights(self) -> tuple[float, ...]:
        """One weight per row."""


class Sloped(Reads, Protocol):
    """An objective for planning: the prices of its rows depend on their averages at the end of the run."""

    @property
    def passes(self) -> int:
        """The number of times that one solve of a plan evaluates the slope."""

    @property
    def start_at(self) -> tuple[float, ...]:
        """Initial averages of the rows; the slope exists there."""

    def slope(self, z: Floats, t: Floats) -> Floats:
        """The prices of the rows when their averages over t rounds are z, `(d),()->(d)`."""

    def read(self, slope: Floats) -> Floats:
        """The prices of `slope` by reading, as in decisions, so that plans are as optimistic as these, `(d)->(k,d)`."""


@runtime_checkable
class StepsAhead(Reads, Protocol):
    """Updates its state when a decision is committed."""

    def on_decision(self, state: Any, decision: Decision, estimate: Floats | None) -> None:
        """Enter a committed decision, and the model's `estimate` of its rows, `(d)`, if the goal `Estimates`."""


@runtime_checkable
class Estimates(Reads, Protocol):
    """Updates at commit from the model's estimates of the plays, and not only from their known outcomes."""

    @property
    def on_estimates(self) -> bool:
        """Whether the goal steps on estimates, as configured."""

    def ends(self, state: Any) -> Floats:
        """The end of each row's interval to estimate: 1 for the upper end, -1 for the lower end, `->(d)`.

        It is asked only if the rows read learned outcomes.
        """


@runtime_checkable
class Plans(Protocol):
    """Reads whole contexts, and may ask the model about them."""

    @property
    def one_play(self) -> bool:
        """Whether it plans for a single play per round."""

    def on_context(self, state: Any, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        """Enter the context of a committed decision; t counts the decided rounds, this one included."""


@runtime_checkable
class Replans(Protocol):
    """Keeps a plan, which may be out of date."""

    def replan(self, state: Any) -> None:
        """Plan again at the next decision that is committed."""

    def plan_now(self, state: Any, shares: Floats, t: Floats, ask: Ask) -> None:
        """Plan again for the next decision, if there is a plan.

        Args:
            state: of the goal.
            shares: of the groups at present, as of `Decision.shares`.
            t: rounds so far, `()`.
            ask: as for `Plans.on_context`.
        """


@runtime_checkable
class Foresees(Reads, Protocol):
    """Knows where its rows will end."""

    def outlook(self, state: Any, t: Floats) -> Floats:
        """The averages of its rows over the whole run by its plan after t rounds, NaN where it has none, `()->(d)`."""


@runtime_checkable
class Forecasts(Protocol):
    """Follows a forecast of cases."""

    def pace_books(self, state: Any) -> tuple[Pace, PaceState] | None:
        """The pace of its rows, and the books of cases by which it goes; None if it follows no pace."""


@runtime_checkable
class Remembers(Protocol):
    """Keeps contexts of earlier cases."""

    def append(self, state: Any, appended: Appended) -> None:
        """Add appended actions to all contexts that are kept."""


@runtime_checkable
class Keeps(Remembers, Protocol):
    """Keeps contexts of earlier cases, also of those that another policy decided."""

    def keep(self, state: Any, context: Context, counted: Floats) -> None:
        """Keep the context of a case, without a plan, `()`."""


class Past(NamedTuple):
    """The decisions of another policy so far, in the rows of a goal."""

    decided: Floats  # (R,) rounds that were not cancelled
    cancelled: Floats  # (R,)
    arrived: Floats  # (R,) rounds whose outcomes arrived
    sums: Floats  # (R, d) of rows: known rows of all decisions, others of the outcomes that arrived
    seen: Floats  # (R, d) rounds in these sums in which all was observed that a row reads
    taken: Mapping[str, Floats]  # by the names of rows, what hard limits used and hold, as in their states, (4, R)
    waiting: Sequence[Decision]  # whose outcomes are to come
    periods: Sequence[tuple[float, Floats, Floats, Floats]]  # when each begins, and its `decided`, `arrived` and `sums`


@runtime_checkable
class Continues(Reads, Protocol):
    """Can begin with the sums of another policy's decisions, at its own first prices."""

    def go_on(self, state: Any, past: Past) -> None:
        """Enter the past into a state of no rounds."""


@runtime_checkable
class Nets(Protocol):
    """Prices the trade-off of a plan with the other goals, so that optimism should apply to the sum of them all."""

    @property
    def nets(self) -> bool:
        """Whether the goal nets its prices, as configured."""


@runtime_checkable
class Mixes(Protocol):
    """Plans lotteries, and so knows the proportions in which to play candidates of equal gain."""

    def heat(self, state: Any) -> Floats:
        """The temperature of the lottery, proportional to exp(worth / temperature); 0 where no gains tie, `->()`."""


@runtime_checkable
class Learns(Reads, Protocol):
    """Updates its state when an outcome arrives."""

    def on_outcome(self, state: Any, decision: Decision, counted: Floats, v: Floats) -> None:
        """Enter (counted, v), the rows of the outcomes of a decision, `(),(d)`.

        Rows that read an outcome that was not observed are NaN. Where the outcomes of a decision arrive in parts, each
        part is an entry: the other places of the decision are empty, and `counted` is the share of the plays.
        """


@runtime_checkable
class Splits(Protocol):
    """Settles decisions in parts, where settling the parts differs from settling their sum."""

    def on_part(self, state: Any, decision: Decision, waits: Bools, rest: Bools, v: Floats) -> None:
        """Enter rows of some plays of a decision, in place of `on_outcome`, `(P),(P),(d)`.

        They are those that waited before and are not in the rest, which waits now. Where this is a whole round, it must
        do what `on_outcome` does, bit for bit.
        """


@runtime_checkable
class Watches(Protocol):
    """Needs to know which plays were exposed."""

    def on_exposure(self, state: Any, decision: Decision, exposed: Bools | None) -> None:
        """Take note of an outcome that arrived; `exposed` says which plays were exposed, `(P)`, None if all were."""


@runtime_checkable
class Restates(Reads, Protocol):
    """Keeps books of rows that may divide by estimated shares, which move."""

    @property
    def enters_forced(self) -> bool:
        """Whether its books have the rounds in which values did not make the choice."""

    def on_shares(self, state: Any, decision: Decision, v: Floats) -> None:
        """Enter the change of the rows so far by new shares, before the decision that moves the shares, `(d)`."""


@runtime_checkable
class Limits(Reads, Protocol):
    """Forbids candidates."""

    def start(self, n_replicas: int) -> Any:
        """The state before any round."""

    def room(self, state: Any, frame: Frame) -> tuple[Floats, Floats]:
        """The most that each candidate can use of each row, `(R or 1, A, d)`, and the amount left, `->(A,d),(d)`.

        A candidate fits if it uses at most what is left of every row; plays fit together if their sum does.
        """

    def fits(self, state: Any, decision: Decision) -> Bools:
        """Whether all plays of a decision still fit together, `->()`."""

    def over(self, state: Any) -> Bools:
        """The replicas in which no candidate can ever be playable again, `->()`."""


@runtime_checkable
class Timed(Limits, Protocol):
    """Forbids candidates by the time of the case, which `room` reads from the frame."""

    @property
    def by_time(self) -> bool:
        """Whether the goal forbids candidates by time, as configured; the time of a frame may be None otherwise."""


@runtime_checkable
class Accounts(Limits, Protocol):
    """States the amount of its rows that is left, and the amount held for future outcomes."""

    @property
    def total(self) -> Floats:
        """The amount of each row at the start, `->(d)`."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraint of each row, d of them; none if rows belong to no constraint."""

    def account(self, state: Any) -> tuple[Floats, Floats]:
        """The amounts left and held, `->(d),(d)`."""


@runtime_checkable
class Spanned(Accounts, Protocol):
    """Keeps the allowances of spans of time."""

    @property
    def spans(self) -> Spans:
        """The spans, with an allowance each."""

    def used(self, state: Any) -> Floats:
        """The amount that the decisions of every period used or may use, `->(P)`."""

    def held(self, state: Any) -> Floats:
        """The part of `used` that is held for future outcomes, `->(P)`."""

    def period(self, state: Any) -> Ints:
        """The period of the latest decision, `->()`."""


@runtime_checkable
class Credits(Limits, Protocol):
    """Keeps a credit that some plays earn and others use."""

    @property
    def credit(self) -> Credit:
        """The limit, as its constraint states it."""

    @property
    def label(self) -> str:
        """The name of its line in a status."""

    def left(self, state: Any) -> Floats:
        """The remaining credit, if waiting outcomes turn out worst, `->()`."""


@runtime_checkable
class Cancels(Protocol):
    """Takes back its entry of a committed decision."""

    def on_cancel(self, state: Any, decision: Decision) -> None:
        """Take back the entry of a committed decision that was not carried out."""


@runtime_checkable
class Reverses(Learns, Protocol):
    """Takes back its entry of an outcome, so that another one can replace it."""

    def on_reversal(self, state: Any, decision: Decision, counted: Floats, v: Floats) -> None:
        """Undo `on_outcome` with the same arguments: the decision waits again, as when it was committed, `(),(d)`.

        A limit without it is corrected only when everything is learned again from the start.
        """


@runtime_checkable
class Returns(Cancels, Protocol):
    """Takes back the cancellation of a decision that was carried out after all."""

    def on_return(self, state: Any, decision: Decision) -> None:
        """Undo `on_cancel`: enter the decision as `on_decision` did, but not as the latest one."""


@runtime_checkable
class Compares(Learns, Protocol):
    """Keeps separate sums of its rows for held-out rounds and for the others."""

    def start(self, n_replicas: int) -> Any:
        """The state before any round."""

    def compared(self, state: Any) -> Floats:
        """Rounds in which a row was observed, its sum, its sum of squares: held out, and the others, `->(2,d,3)`."""


Goal = Priced | Limits | Compares
