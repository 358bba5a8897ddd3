"""The requests to a campaign within one transaction: decide, observe, cancel and find."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import has, value_text
from evenhand.live.fold.attribution import Attribution, decision_at, number_of, refuse_amounts
from evenhand.live.fold.cases import Case, Encoder, RangeEncoder, context_of, refuse
from evenhand.live.fold.changes import Ask, refuse_unerasable
from evenhand.live.fold.first_event import refuse_no_fallback
from evenhand.live.fold.fold import Earlier, NewDecision, window_of
from evenhand.live.fold.limits import refuse_late, refuse_soft
from evenhand.live.fold.phases import policies
from evenhand.live.log.events import Conflict, Event, Unknown, encode, is_erased, read, time_text
from evenhand.live.log.ids import Ids
from evenhand.live.log.packing import chances, known_outcomes, pack, preferred_action, split
from evenhand.live.log.replies import Reply, reply
from evenhand.live.log.segments import moved_error
from evenhand.live.log.store import DigestTransaction, Transaction, digest_of
from evenhand.live.worker.worker import Worker
from evenhand.policy import checks, outcome_names as named
from evenhand.policy.outcome_names import refuse_undeclared
from evenhand.problem.end import is_over
from evenhand.problem.problem import Problem


def warnings_of(encoder: Encoder, problem: Problem, body: Mapping[str, Any], at: int) -> tuple[str, ...]:
    """Return warnings of a decision by its body, made by this policy at a time in microseconds since 1970.

    It warns of values that count as others, of plays that give something back to a budget, and of the end of the run.
    """
    found: list[str] = []
    if has(encoder, RangeEncoder) and "case" in body:
        found += checks.substitutions(body["case"], encoder.outside(body["case"])).values()
    if "k" in body:
        found += checks.refunds(problem, np.array(body["k"], float)).values()
    time = problem.clock.of_micros(at)
    if "late" in body or is_over(problem, body.get("t", 0.0), time):
        found.append(checks.horizon_caution(problem))
    return tuple(found)


Outcomes = Mapping[str, float | None] | Sequence[Mapping[str, float | None] | None]
ASKEW = 60_000_000  # microseconds by which the clock of a client may be ahead of that of the store
_LONGEST = 200  # characters of a key or a name
_TEXT, _KINDS, _LARGE = frozenset((str,)), frozenset((str, bool, int, float)), 1e300


@dataclass(frozen=True)
class Verbs:
    """Serves requests within one transaction.

    Args:
        worker: the worker that decides.
        log: the transaction on the campaign's log, which locks out other writers.
    """

    worker: Worker
    log: Transaction

    @property
    def ids(self) -> Ids:
        """The ids of the decisions of the log."""
        return self.worker.fold.ids

    def decide(
        self,
        case: Case,
        key: str,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> Reply:
        """See `Campaign.decide`."""
        return self.decide_plain(self.request(case, key, offered, known), key)

    def request(
        self,
        case: Case,
        key: str,
        offered: Sequence[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
    ) -> dict[str, Any]:
        """Return a request to decide as it comes from the log."""
        check_text("key", key)  # before errors of the case
        asked: dict[str, Any] = {"case": case}
        if offered is not None:
            if isinstance(offered, str) or not isinstance(offered, Iterable):
                raise InvalidInput("offered", "a sequence of actions", value_text(offered))
            # the order of a set differs between processes, and a repeated request must equal the first
            asked["offered"] = sorted(offered, key=str) if isinstance(offered, Set) else list(offered)
        asked |= {} if known is None else {"known": known}
        return _plain(asked, "values that JSON has, without NaN")

    def decide_plain(self, plain: dict[str, Any], key: str) -> Reply:
        """Decide what is as it comes from the log: `case`, and `offered` and `known` if they are stated.

        Args:
            plain: of what JSON has, with the names of objects in order, so that encoders see live what they see later.
            key: as for `Campaign.decide`.
        """
        stored = self.find_reply(plain, key)
        if stored is not None:
            return stored
        refuse(self.worker.encoder, plain)
        context = context_of(self.worker.encoder, self.worker.policy.problem.clock, plain, self.log.now)
        fold = self.worker.fold
        refuse_late(self.worker.name, fold, context)
        decision = fold.decide(context)
        body = self.body(plain, context, decision, chances(fold.state))
        body |= {"late": 1} if decision.counted[0] and fold.is_late(context) else {}
        stays, own = (encode(part) for part in split(body))
        event = self.worker.enter(
            self.log,
            "decided",
            stays,
            key=key,
            own=own,
            made=NewDecision(context, decision, self.due, body.get("unit")),
        )
        return self.reply(event, body)

    def find_reply(self, plain: dict[str, Any], key: str) -> Reply | None:
        """Return the stored reply to a request, None if it is a new one that the campaign may decide.

        Raises:
            Conflict: the key was used for another case.
            Paused, Ended: new cases are not decided.
        """
        check_text("key", key)
        old = self.log.find(key)
        if old is None:
            self._refuse_moved(key)
            self.worker.fold.life.refuse(self.worker.name)
            return None
        body = read(old)
        if {k: body[k] for k in ("case", "offered", "known") if k in body} != plain:
            raise Conflict(f"key {key!r} was used for another case")
        return self.reply(old, body, repeated=True)

    def reply(self, event: Event, body: Mapping[str, Any], *, repeated: bool = False) -> Reply:
        """Return the reply of a decision, with warnings if this policy made it."""
        problem, own = self.worker.policy.problem, body["by"] == self.worker.mark
        warnings = warnings_of(self.worker.encoder, problem, body, event.at) if own else ()
        return reply(event, body, problem.actions, self.ids, repeated=repeated, warnings=warnings)

    @property
    def due(self) -> int:
        """When the outcomes of what is decided now are overdue, in microseconds."""
        return self.log.now + window_of(self.worker.policy.problem) + int(self.worker.fold.life.patience * 1e6)

    def body(
        self, plain: dict[str, Any], context: Context, decision: Decision, chances: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the body of the event of a decision."""
        body = {**plain, "by": self.worker.mark, "due": self.due, **pack(decision), **chances}
        body |= {"t": int(decision.time[0])} if context.time is None else {}  # a correction comes at a later round
        problem, choice = self.worker.policy.problem, self.worker.policy.choice
        if context.unit is not None and (window := window_of(problem)):
            body |= {"unit": int(context.unit[0]), "until": self.log.now + window}
        return body | preferred_action(choice, chances, len(problem.actions)) | known_outcomes(decision, problem)

    def number(self, decision: int | str) -> int:
        """Return the number of the event of a decision that is named by its id, or by its key.

        Raises:
            InvalidInput: the key is not a text of at most 200 characters.
            Unknown: no decision has the key, or it is no id.
            Lost: the decision was made after a backup that was restored since.
        """
        if not isinstance(decision, str):
            if not is_number(decision):
                raise self._unknown(decision)
            return self.ids.number(int(decision), self.log.last)
        check_text("key", decision)
        event = self.log.find(decision)
        if event is None:
            self._refuse_moved(decision)
            raise self._unknown(decision, "with the key ")
        return event.seq

    def observe(self, decision: int | str, outcomes: Outcomes, *, revise: bool = False) -> bool:
        """See `Campaign.observe`."""
        ref = self.number(decision)
        earlier = None if self._waits(ref) else self._earlier(ref)
        before = None if earlier is None else earlier.settled
        if before is not None and before.kind == "cancelled":
            raise Conflict(f"decision {self.ids.of(ref)} was cancelled")
        plain = _plain({"y": outcomes}, "names and finite numbers")
        if before is not None:
            if _each(read(before)["y"]) == _each(plain["y"]):
                return False
            if not revise:
                policy = self.worker.policy
                y, observed, _ = named.outcomes(policy.problem, policy.choice.n_plays, outcomes)
                refuse_undeclared(y, observed, policy.problem)  # no revision would help
                raise Conflict(f"decision {self.ids.of(ref)} has other outcomes: `revise` replaces them")
        if earlier is not None and is_erased(earlier.decided):
            raise Conflict(f"decision {self.ids.of(ref)} was erased: its outcome can no longer be entered or corrected")
        if earlier is not None and self._is_moved(ref):
            raise moved_error(self.worker.store, self.worker.name, ref, f"decision {self.ids.of(ref)}")
        self.worker.enter(self.log, "observed" if before is None else "revised", encode(plain), ref=ref, made=earlier)
        return True

    def observe_unit(self, unit: str | int, outcomes: Mapping[str, float], key: str, at: int | None) -> Attribution:
        """See `Campaign.observe_unit`; `at` is in microseconds since 1970."""
        problem, fold = self.worker.policy.problem, self.worker.fold
        number = number_of(problem, unit)
        check_text("key", key)
        refuse_amounts(problem, outcomes)
        if at is not None and at > self.log.now + ASKEW:
            raise InvalidInput("at", f"a time in the past, before {time_text(self.log.now)}", at)
        plain, digest = (
            _plain({"y": outcomes}, "names and finite numbers"),
            f"added {digest_of(self.worker.name, key).hex()}",
        )
        old = self.log.find(digest)
        if old is not None and old.ref is not None:
            if read(old)["y"] != plain["y"] or fold.pending.unit(old.ref) not in (None, number):
                raise Conflict(f"key {value_text(key)} was used for another event of a unit")
            return Attribution(self.ids.of(old.ref), new=False)
        ref = decision_at(fold, self.log, number, self.log.now if at is None else min(at, self.log.now))
        if ref is None or self._find_moved(digest):
            return Attribution(None, new=False)
        self.worker.enter(self.log, "added", encode(plain), ref=ref, key=digest)
        return Attribution(self.ids.of(ref), new=True)

    def cancel(self, decision: int | str) -> bool:
        """See `Campaign.cancel`."""
        ref = self.number(decision)
        if self.worker.fold.pending.unit(ref) is not None and self.log.about(ref):
            told = "has outcomes of its unit, which add up: observe what it brought instead"
            raise Conflict(f"decision {self.ids.of(ref)} {told}")
        if not self._waits(ref):
            before = self._earlier(ref).settled
            if before is None:
                raise Conflict(f"decision {self.ids.of(ref)} was settled when it expired")
            if before.kind != "cancelled":
                raise Conflict(f"decision {self.ids.of(ref)} already has its outcome")
            return False
        self.worker.enter(self.log, "cancelled", "{}", ref=ref)
        return True

    def change(self, ask: Ask) -> bool:
        """Pause, resume, end or change the campaign; see `Campaign.pause` and the others."""
        if ask.after == "go on":
            refuse_soft("after", self.worker.policy)
        if ask.on_expiry == "fallback":
            refuse_no_fallback(self.worker.policy)
        if ask.retention not in (None, "off"):
            refuse_unerasable(self.worker.store, self.worker.name, self.log, self.worker.fold.phase)
        body = ask.body(self.worker.fold.life)
        if body is None:
            return False
        self.worker.enter(self.log, ask.kind, body)
        return True

    def _waits(self, ref: int) -> bool:
        """Return whether a decision is pending in the fold, which is in step with the log."""
        return ref in self.worker.fold.pending

    def decision_event(self, ref: int) -> Event:
        """Return the event of a decision by its number.

        Raises:
            Unknown: there is none.
        """
        event = self.log.get(ref) if ref <= self.log.last else None
        if event is None and ref <= self.worker.fold.sealed:
            raise moved_error(self.worker.store, self.worker.name, ref, f"decision {self.ids.of(ref)}")
        if event is None or event.kind != "decided":
            raise self._unknown(self.ids.of(ref))
        return event

    def has(self, key: str) -> bool:
        """Return whether a decision has a key, in the log or in a segment."""
        return self.log.find(key) is not None or bool(self._find_moved(key))

    def _find_moved(self, key: str) -> int:
        """Return the decision of a key that a seal moved out of the store, 0 if there is none."""
        if not self.worker.fold.sealed or not isinstance(self.log, DigestTransaction):
            return 0
        return self.log.moved([key]).get(key, 0)

    def _is_moved(self, ref: int) -> bool:
        """Return whether a decision was settled in a segment; the store may still have it for what came afterwards."""
        end = self.worker.fold.sealed
        return ref <= end and any(event.seq <= end and event.kind != "added" for event in self.log.about(ref))

    def _refuse_moved(self, key: str) -> None:
        """Refuse a key of a decision that a seal moved out of the store.

        Raises:
            Conflict: the error names the decision and its segment.
        """
        if found := self._find_moved(key):
            told = f"key {value_text(key)} was used for decision {self.ids.of(found)}, which"
            raise moved_error(self.worker.store, self.worker.name, found, told)

    def _unknown(self, decision: object, how: str = "") -> Unknown:
        return Unknown(f"no decision {how}{value_text(decision)} in campaign {self.worker.name!r}{self.ids.note}")

    def _decision(self, ref: int) -> Event:
        """Return the event of a decision that has or had an outcome to wait for."""
        event = self.decision_event(ref)
        if not read(event)["n"]:
            raise Conflict(f"decision {self.ids.of(ref)} played nothing: it has no outcome")
        return event

    def _earlier(self, ref: int) -> Earlier:
        """Return a decision that does not wait, and what settled it."""
        decided = self._decision(ref)
        return Earlier.of(decided, self.log.about(decided.seq))


def is_number(number: object) -> bool:
    """Return whether a value is a possible event number."""
    return isinstance(number, Integral) and not isinstance(number, bool) and 0 < int(number) < 2**63


def check_text(field: str, value: object) -> None:
    """Refuse a value that is not a text that stores can hold."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST:
        raise InvalidInput(field, f"a text of 1 to {_LONGEST} characters", value_text(value))
    if not value.isprintable() and ("\0" in value or _has_halves(value)):
        raise InvalidInput(field, "a text in Unicode, without NUL or unpaired surrogates", value_text(value))


def _has_halves(text: str) -> bool:
    """Return whether a text contains halves of characters, which are surrogates in Unicode."""
    return not text.isascii() and any("\ud800" <= z <= "\udfff" for z in text)


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that stores can hold."""
    try:
        check_text("", value)
    except InvalidInput:
        return False
    return True


def _plain(body: dict[str, Any], expected: str) -> dict[str, Any]:
    """Convert a body to its form after a round trip through the log.

    Raises:
        InvalidInput: a value is not supported by JSON; the error names its field.
    """
    simple = {name: in_order(value) for name, value in body.items()}
    if None not in simple.values():
        return simple
    try:
        found: dict[str, Any] = json.loads(encode(body))
        return found
    except (TypeError, ValueError, RecursionError):
        name, value = next((name, value) for name, value in body.items() if _is_odd(value))
    field = "outcomes" if name == "y" else name
    if isinstance(value, Mapping):
        inner = next((name for name, z in value.items() if _is_odd(z)), None)
        field, value = (field, value) if inner is None else (f"{field}.{inner}", value[inner])
    raise InvalidInput(field, expected, value_text(value))


def in_order(value: object) -> dict[str, Any] | None:
    """Return a dictionary of texts and numbers as JSON would; None for anything else, which has to go through JSON.

    >>> in_order({"b": 0.5, "a": "town"}), in_order({"b": float("nan")})
    ({'a': 'town', 'b': 0.5}, None)
    """
    if type(value) is not dict or not _TEXT.issuperset(map(type, value)):
        return None
    each = value.values()
    if not _KINDS.issuperset(map(type, each)):
        return None
    texts, numbers = [*value], list[Any]()
    for z in each:
        (texts if type(z) is str else numbers).append(z)
    if not all(-_LARGE < z < _LARGE for z in numbers) or _has_halves("".join(texts)):
        return None  # of two halves JSON makes one character
    return {name: value[name] for name in sorted(value)}


def _each(outcomes: Any) -> list[Any]:
    """Return the outcomes as a list with one entry per play."""
    return outcomes if isinstance(outcomes, list) else [outcomes]


def _is_odd(value: object) -> bool:
    """Return whether JSON cannot represent a value."""
    try:
        encode({"": value})
    except (TypeError, ValueError, RecursionError):
        return True
    return False


def lookup(verbs: Verbs, decision: int | str) -> dict[str, Any]:
    """Return a decision, by its id or its key, with all its events in the log.

    Raises:
        Unknown: there is no such decision.
        Lost: it was made after a backup that was restored since.
    """
    number = verbs.number(decision)
    event, worker, ids = verbs.decision_event(number), verbs.worker, verbs.ids
    body, about, actions = read(event), verbs.log.about(number), worker.policy.problem.actions
    last, ends = [e for e in about if e.kind in ("observed", "revised")], [e for e in about if e.kind != "added"]
    return {
        **reply(event, body, actions, ids).to_dict(),
        "policy": policies(worker.store, worker.name).get(body["by"]),
        **{name: body[name] for name in ("case", "offered", "known") if name in body},
        # of the first play, None if the policy did not know them
        "chances": {name: dict(body["l"]).get(a, 0.0) for a, name in enumerate(actions)} if "l" in body else None,
        "outcomes": read(last[-1])["y"] if last else None,
        "state": "erased"
        if is_erased(event)
        else ends[-1].kind
        if ends
        else "waiting"
        if body["n"]
        else "played nothing",
        "events": [{"number": e.seq, "kind": e.kind, "at": e.at, "outcomes": read(e).get("y")} for e in about],
    }
