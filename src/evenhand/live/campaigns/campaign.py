"""A campaign: live decisions by any number of workers on one event log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from evenhand.core import texts
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.signatures import value_text
from evenhand.live.campaigns.history import History
from evenhand.live.campaigns.seals import Seal, seal
from evenhand.live.dashboard.file import write_file
from evenhand.live.dashboard.report import report
from evenhand.live.fold.attribution import Attribution
from evenhand.live.fold.cases import Case, Encoder, Teacher
from evenhand.live.fold.changes import Ask
from evenhand.live.fold.first_event import Terms, warn_of_jams
from evenhand.live.fold.lags import Lags
from evenhand.live.fold.switch import Switch
from evenhand.live.log.events import Event, micros_of
from evenhand.live.log.life import Life, OnExpiry
from evenhand.live.log.proof import Head
from evenhand.live.log.replies import Reply
from evenhand.live.log.segments import every
from evenhand.live.log.store import CloseableStore, Store
from evenhand.live.stores.opening import whole
from evenhand.live.worker.batches import run
from evenhand.live.worker.erasure import Erasure, Retention, erase
from evenhand.live.worker.explanation import Explanation, explain_decision, recall
from evenhand.live.worker.requests import Outcomes, Verbs, lookup
from evenhand.live.worker.start import DAY, New, begin
from evenhand.live.worker.worker import Worker
from evenhand.policy.policy import Policy
from evenhand.policy.status import Status
from evenhand.problem.end import After

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Campaign:
    """Makes live decisions and learns from their outcomes; its event log is the only source of its state.

    The state of a worker is a fold over the log. Every call takes the lock of the store, reads the events of other
    workers, asks the policy, appends the result, and commits. Budgets that hold in simulation therefore hold with any
    number of workers. Requests that the policy refuses leave no event.

    It is thread-safe; calls of several threads share transactions. A decision that is not in the log raises `Unknown`,
    or `Lost` if a restore lost it. `Busy`, if the store cannot be written, asks for a retry with the same key.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("none", "letter"), features=(eh.Numeric("age", 20, 60),), horizon=1000,
    ...                   outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80})),
    ...                   maximize="answer", subject_to=(eh.Budget("cents", total=8000),))
    >>> campaign = Campaign.open("memory://", "autumn", eh.resolving(shop, eh.PerAction.of(shop)))
    >>> decision = campaign.decide({"age": 33}, key="customer-17")
    >>> decision.action in shop.actions, campaign.observe(decision.id, {"answer": 1})
    (True, True)
    """

    def __init__(self, worker: Worker, terms: Terms, *, owner: bool = False) -> None:
        self._worker, self.terms, self._owner = worker, terms, owner  # `owner`: of the store, which closes with it
        self._rule = Retention(worker)

    def __enter__(self) -> Campaign:
        return self

    def __repr__(self) -> str:
        return f"Campaign {self.name!r}: decided by {self.policy.name!r}, {texts.count(self._worker.fold.seq, 'event')}"

    def _repr_html_(self) -> str:
        try:
            title, rows = self.status().shown()
        except EvenhandError as error:  # such as after `close`: what it was is still shown
            title, rows = str(error), []
        return texts.table(f"{self!r}: {title}", rows)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store if `open` was given its URL, which completes its file; later calls raise `InvalidInput`."""
        if self._owner and isinstance(self.store, CloseableStore):
            self._worker.close()

    @property
    def name(self) -> str:
        return self._worker.name

    @property
    def store(self) -> Store:
        return self._worker.store

    @property
    def ahead(self) -> float:
        """The seconds by which the log was ahead of the clock at the last call, while time stands still; 0 usually."""
        return self._worker.ahead

    @property
    def lags(self) -> Lags:
        return Lags.of(self._worker.folding, self._worker.fold)

    @property
    def waiting_bytes(self) -> int:
        """The memory that waiting decisions take, in bytes."""
        return self._worker.fold.pending.bytes

    @property
    def encoder(self) -> Encoder:
        """The encoder that turns cases into contexts of the policy."""
        return self._worker.encoder

    @property
    def policy(self) -> Policy:
        return self._worker.policy

    @staticmethod
    def open(
        store: str | Store,
        name: str,
        policy: Policy | Sequence[Policy],
        *,
        seed: int = 0,
        patience: float = DAY,
        on_expiry: OnExpiry = "hold",
        encoder: Encoder | None = None,
        teacher: Teacher | None = None,
    ) -> Campaign:
        """Open a campaign: start a new one, or continue one that is in the store.

        Args:
            store: such as "sqlite:///shop.db", "postgresql://shop@db.example/shop", or "memory://".
            name: the campaign's name; a store can hold several campaigns.
            policy: the policy that decides; for an existing campaign, the one that it runs under. Of a campaign that
                was switched, a list of all its policies, the present one last: see `switch`.
            seed: the seed of all random numbers of a new campaign.
            patience: for a new campaign, the seconds after which an outcome is overdue, above 0.
            on_expiry: for a new campaign, the fate of the hard budget that an overdue decision reserves. "hold" keeps
                it reserved until an outcome arrives, "fallback" settles it as `Policy.expire` does, "release" frees it.
            encoder: turns cases into contexts; by default it reads the problem's features by name.
            teacher: teaches the policy before the first decision; it must be the same whenever the campaign is opened.

        Raises:
            InvalidInput: a setting is out of its range.
            Conflict: the campaign runs under another policy, an earlier one is needed and was not given, or a later
                version of evenhand decides for it.
            Damaged, Busy: the store is damaged, cannot be written, or its clock is far ahead; see `accept_clock`.
        """
        new = New(seed=seed, patience=patience, on_expiry=on_expiry)
        worker = begin(store, name, policy, new, encoder, teacher)
        return Campaign(worker, worker.terms, owner=worker.store is not store)

    def decide(
        self,
        case: Case,
        key: str,
        *,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> Reply:
        """Decide a case, once per key: a repeated request with the same key and case gets the stored reply.

        Raises:
            InvalidInput: the case does not fit the problem, or the key is not a text of at most 200 characters.
            Conflict: the key was used for another case.
        """
        return self._worker.soon(lambda log: Verbs(self._worker, log).decide(case, key, offered, known))

    def observe(self, decision: int | str, outcomes: Outcomes, *, revise: bool = False) -> bool:
        """Record the outcomes of a decision; returns False if they were recorded before.

        Args:
            decision: its `id`, or its key.
            outcomes: as for `Policy.observe`.
            revise: whether they may replace outcomes that were recorded before. Budgets are corrected accordingly.

        Raises:
            Conflict: other outcomes were observed, the decision was cancelled, or it played nothing.
            InvalidInput: outcomes are missing, unknown or out of range.
        """
        return self._worker.soon(lambda log: Verbs(self._worker, log).observe(decision, outcomes, revise=revise))

    def observe_unit(
        self, unit: str | int, outcomes: Mapping[str, float], key: str, *, at: datetime | None = None
    ) -> Attribution:
        """Add an event of a unit, such as a purchase, to the outcome of the decision for which it counts.

        That is the latest decision of the unit that waits and whose window of attribution contains the time. Amounts
        add up; when the window is over, and `patience` more has passed, the sums are the outcome of the decision. A sum
        beyond the range of an outcome counts as its end.

        Args:
            unit: its name, as cases state it.
            outcomes: the amounts of one or several outcomes; negative ones take back.
            key: of the event, by which it counts once.
            at: when it happened, in UTC if it has no zone; by default now.

        Raises:
            InvalidInput: the problem states no attribution, or an amount exceeds the range of its outcome.
            Conflict: the key was used for another event.
        """
        if at is not None and not isinstance(at, datetime):
            raise InvalidInput("at", "a datetime", value_text(at))
        time = None if at is None else micros_of(at)
        return self._worker.soon(lambda log: Verbs(self._worker, log).observe_unit(unit, outcomes, key, time))

    def find(self, decision: int | str) -> dict[str, Any]:
        """Return a decision, by its `id` or its key, with its case, its state and all its events."""
        return self._worker.one(lambda log: lookup(Verbs(self._worker, log), decision))

    def cancel(self, decision: int | str) -> bool:
        """Cancel a decision that was not carried out, by its `id` or its key; returns False if that was done before.

        Raises:
            Conflict: its outcome was observed, or it played nothing.
        """
        return self._worker.soon(lambda log: Verbs(self._worker, log).cancel(decision))

    def erase(
        self,
        keys: Collection[str] = (),
        *,
        units: Collection[str | int] = (),
        before: date | None = None,
        by: str = "",
        why: str = "",
        segments: str | Path | None = None,
    ) -> Erasure:
        """Erase the cases and keys of decisions, by key, unit or date, from the log and the store's files.

        Sums, outcomes and hashes stay, and a state from which folds begin. Without any of these, files are cleaned.

        Args:
            keys: of the decisions, all of which are erased or none.
            units: such as customers, all of whose decisions are erased, or none.
            before: a past date or time, in UTC if it has no zone. What waits is left and counted.
            by, why: who asks for it and why, for the log; no personal data of the erased.
            segments: the folder of the segments, if decisions in them are to be erased by key or unit: see `seal`.

        Raises:
            Unknown, Conflict: a key or a unit has no decision; or one waits.
            CannotErase, CannotSave: the policy has a state from which no case can be taken, or that cannot be kept.
            Busy: the store cannot be written, or another process reads the file, so that it cannot be cleaned now.
        """
        folder = None if segments is None else Path(segments)
        return erase(self._worker, keys, units, before, {"by": by, "why": why}, folder)

    def seal(self, folder: str | Path, *, by: str, why: str, before: date | int | None = None) -> Seal:
        """Move old events out of the store to a read-only file, a segment, which is checked before they go.

        The state and the counts at its end stay in the log, as do decisions that wait, or about which something came
        later, so that decisions and reports are as before. Keys stay used; settled decisions take no corrections.

        Args:
            folder: where the segment is written, for audits, exports and whatever else reads the whole log.
            by, why: as for `pause`.
            before: the date or time, or the number of an event, before which events go; by default a day ago.
        """
        return seal(self, self._worker, folder, before, by, why)

    def pause(self, *, by: str, why: str) -> bool:
        """Make no decisions until `resume`; outcomes still count. Returns False if it is paused already.

        New keys raise `Paused`; a repeated one gets its stored reply. `by` and `why` have at most 200 characters.
        """
        return self._change(Ask("paused", by, why))

    def resume(self, *, by: str, why: str) -> bool:
        """Resume decisions after `pause`; returns False if the campaign already runs."""
        return self._change(Ask("resumed", by, why))

    def end(self, *, by: str, why: str) -> bool:
        """Stop making decisions for good: new keys raise `Ended`. Returns False if it has ended already."""
        return self._change(Ask("ended", by, why))

    def change(
        self,
        *,
        by: str,
        why: str,
        patience: float | None = None,
        on_expiry: OnExpiry | None = None,
        after: After | None = None,
        retention: float | Literal["off"] | None = None,
    ) -> bool:
        """Change settings from now on; returns False if they already have these values.

        Args:
            by, why: as for `pause`.
            patience: for decisions from now on; those that wait keep their deadline.
            on_expiry: for whatever expires from now on, whenever it was decided.
            after: the horizon or the last day: "nothing" is played then, new keys raise `Ended` ("stop"), or decisions
                "go on" with what is left of the budgets, all of which have to be hard.
            retention: the days after which servers, and `refresh`, erase cases and keys, as `erase(before=...)` does.

        Raises:
            InvalidInput: an invalid setting, "go on" with a soft budget, or "fallback" with a hard one without any.
            CannotErase: a retention, and a policy from whose state no case can be taken, or that cannot be kept.
        """
        if on_expiry is not None:
            warn_of_jams(on_expiry, self.policy)
        return self._change(Ask("changed", by, why, patience, on_expiry, after, retention))

    def _change(self, ask: Ask) -> bool:
        return self._worker.one(lambda log: Verbs(self._worker, log).change(ask))

    @property
    def life(self) -> Life:
        """Whether the campaign runs, is paused or has ended, who decided so, and its present settings."""
        return self._worker.look(lambda fold: fold.life)

    @property
    def retention(self) -> dict[str, Any] | None:
        """The state of the rule of retention: its last and next run, and what is due; None without a rule."""
        return self._rule.status()

    def switch(
        self,
        policy: Policy,
        encoder: Encoder | None = None,
        *,
        by: str | None = None,
        why: str | None = None,
        expected: str | None = None,
    ) -> None:
        """Continue with another policy, which adopts the state: what was spent stays spent, and what was learned stays.

        Where it cannot, such as one with another model, the log is folded anew: the policy learns from all outcomes in
        it; after an erasure, it adopts the books and learns from what is left. Workers of problem files continue with
        the new file by themselves. Those of policies in Python fail with `Conflict`, and have to open the campaign with
        the new one, from a snapshot that is saved now, or with all since the last switch that did not adopt.

        Args:
            policy: the policy that decides from now on.
            encoder: turns cases into contexts; by default as before.
            by, why: who switches and the reason, for the log; texts of at most 200 printable characters.
            expected: the fingerprint of the policy from which this switches, by default that of the last request.

        Raises:
            InvalidInput: the policy has other outcomes or numbers of plays, other actions than those so far and
                appended ones, or would play a withdrawn action; its horizon or end is over; or a text is none.
            Ended: the campaign has ended.
            Conflict: somebody else switched first; or something was erased, and the policy cannot go on with the books.
        """
        self._worker.switch(Switch.of(self._worker.fold.phase, policy, encoder, expected, by, why))

    def many(self, verbs: Sequence[Callable[[Verbs], T]]) -> list[T | EvenhandError]:
        """Run several calls in one transaction, which costs one write to disk; each has its result or its own error.

        The keys of those with an attribute `key`, as `evenhand.live.worker.batches.Deciding`, are looked up together,
        and those in a row that are `frozen` are decided at one state.

        >>> import evenhand as eh
        >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
        >>> campaign = Campaign.open("memory://", "coins", eh.uniform(coin, 1))
        >>> first, second = campaign.many([lambda z: z.decide({}, "one"), lambda z: z.observe(7, {"gain": 1})])
        >>> first.action in coin.actions, second
        (True, Unknown("no decision 7 in campaign 'coins'"))

        Raises:
            InvalidInput: an entry is no function, such as a case.
        """
        for i, verb in enumerate(verbs):
            if not callable(verb):
                expected = "a function of the verbs, or a Deciding of evenhand.live.worker.batches"
                raise InvalidInput(f"verbs[{i}]", expected, repr(verb))
        return run(self._worker, verbs)

    def explain(self, decision: int) -> str:
        """Explain a decision in numbers: the prices, values and limits at the time it was made.

        Raises:
            Conflict: another policy made it before the log was folded anew or is not known, or it was erased.
        """
        fold, context, made = recall(self._worker, decision)
        return fold.policy.explain(fold.state, context, made)

    def why(self, decision: int) -> Explanation:
        """Return the explanation of `explain`, the features that mattered, and the expected outcomes of every action.

        The features are those that made the play worth more than the best other action; they are None if the model
        cannot say, features have no names, or nothing else could be played.

        Raises:
            Conflict: another policy made it.
        """
        return explain_decision(self._worker, decision)

    def status(self) -> Status:
        """Return the current status of the campaign: rounds, averages, budgets, constraints and prices."""
        return self._worker.look(lambda fold: fold.status())

    def report(self) -> dict[str, Any]:
        """Make a report for JSON: the status, counts of outcomes, delays, actions and alarms."""
        return report(self)

    def save_report(self, path: str | Path) -> None:
        """Write the dashboard as one self-contained HTML file.

        Raises:
            InvalidInput, MissingExtra: the file cannot be written, or Jinja is not installed.
        """
        write_file(self, path)

    def refresh(self) -> bool:
        """Read new events, expire overdue decisions, learn corrections, erase what is too old; True if more is due."""
        return self._worker.keep_up() or self._rule.go_on()

    def head(self) -> Head:
        """Return the number and the hash of the last event; kept elsewhere, a later audit compares it with the log."""
        event = self._worker.one(lambda log: log.get(log.last))
        assert event is not None  # it was opened
        return Head(event.seq, event.hash)

    def relearn(self) -> bool:
        """Let prices and the model learn all corrections now; returns whether any were new to them.

        Otherwise they do so once enough events have followed, a little at every request. Other workers can decide
        meanwhile. An audit folds the log again, from the earliest decision that was corrected, for every such call.
        """
        return self._worker.relearn()

    def snapshot(self) -> int:
        """Store a snapshot of the state, which makes opening fast; returns its size in bytes."""
        return self._worker.keep()

    def decisions(self, segments: str | Path | None = None) -> pd.DataFrame:
        """Return a data frame of all decisions, with cases and outcomes; `segments` is the folder of those moved there.

        Raises:
            MissingExtra, Conflict, MissingFile: pandas is not installed; or some are in segments that are not given.
        """
        found = History.of(whole(self._worker.store, segments), self.name)
        return data_frame(list(found), list(found.columns))

    def events(self, segments: str | Path | None = None) -> Iterator[Event]:
        """Iterate over all events of the log; see `decisions` for `segments`."""
        return every(whole(self._worker.store, segments), self.name)
