"""Many requests in one transaction: decisions at one state, in compiled calls where these pay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from evenhand.core.errors import EvenhandError
from evenhand.core.garbage import pause_collection
from evenhand.core.records import Context, Decision
from evenhand.live.fold.cases import Case, contexts_of, refuse, time_at
from evenhand.live.fold.fold import Fold, NewDecision
from evenhand.live.fold.runs import fold_new
from evenhand.live.log.events import Busy, Event, encode
from evenhand.live.log.packing import probabilities, split
from evenhand.live.log.replies import Reply
from evenhand.live.log.store import Transaction
from evenhand.live.worker.requests import Verbs, is_text
from evenhand.live.worker.transactions import each
from evenhand.live.worker.worker import Worker
from evenhand.policy.batch import DecisionDraft, decide_all, most
from evenhand.problem.end import is_over


@dataclass(frozen=True)
class Deciding:
    """A call for `Campaign.many` that decides a case; the keys of all such calls are looked up together.

    Args:
        case, key, offered, known: as for `Campaign.decide`.
        frozen: whether it may be decided at the state before the calls in a row that are frozen, which takes less time.
            Rounds and budgets carry over from one to the next; the model and prices wait for the end, or for a
            twentieth of the rounds so far, or of those that are left.

    >>> import evenhand as eh
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> campaign = eh.Campaign.open("memory://", "coins", eh.uniform(coin, 1))
    >>> len(campaign.many([Deciding({}, f"coin {i}") for i in range(10)]))
    10
    """

    case: Case
    key: str
    offered: Sequence[str] | None = None
    known: Mapping[str, Mapping[str, float] | float] | None = None
    frozen: bool = False

    def __call__(self, verbs: Verbs) -> Reply:
        """Decide within a transaction."""
        return verbs.decide(self.case, self.key, self.offered, self.known)

    def request(self, verbs: Verbs) -> dict[str, Any]:
        """Return the request as it comes from the log."""
        return verbs.request(self.case, self.key, self.offered, self.known)

    def result(self, reply: Reply) -> Reply:
        """Return the result of the call."""
        return reply


def keys_of(calls: Iterable[object]) -> list[str]:
    """Return the keys that calls ask for, of those that have a `key`, as far as it can be one."""
    return [key for key in (getattr(call, "key", None) for call in calls) if is_text(key)]


class New(NamedTuple):
    """A request that the log does not have."""

    place: int  # among the calls
    key: str
    plain: dict[str, Any]


def size(verbs: Verbs) -> int:
    """Return how many requests may be decided at the present state."""
    fold = verbs.worker.fold
    now = time_at(fold.policy.problem.clock, verbs.log.now)
    over = is_over(fold.policy.problem, float(fold.state.t[0]), None if now is None else float(now[0]))
    return 0 if over else most(fold.policy, fold.state)


def decide(verbs: Verbs, some: Sequence[New]) -> list[Reply]:
    """Decide requests at the present state, and append them to the log.

    Raises:
        EvenhandError: nothing was decided, as a case does not fit the problem, or a prediction cannot be used.
    """
    worker, log = verbs.worker, verbs.log
    for new in some:
        refuse(worker.encoder, new.plain)
    contexts = contexts_of(worker.encoder, [new.plain for new in some])
    time = time_at(worker.policy.problem.clock, log.now)
    worker.together += len(some)
    found = decide_all(worker.policy, worker.fold.state, contexts, time, worker.together)
    as_of, events, bodies = {"as_of": log.last}, list[Event](), list[dict[str, Any]]()
    for new, chosen in zip(some, found, strict=True):
        body = verbs.body(new.plain, chosen.context, chosen.decision, probabilities(chosen.chances)) | as_of
        stays, own = (encode(part) for part in split(body))
        events.append(Event(log.last + 1 + len(events), "decided", None, new.key, log.now, stays, own=own))
        bodies.append(body)
    try:
        if not fold_new(worker.fold, events, bodies, contexts, worker.together):
            _enter(worker.fold, events, found, verbs.due)
    except EvenhandError:
        worker.refold(log)
        raise
    for event in events:
        log.append(event.kind, event.body, key=event.key, own=event.own)
    return [verbs.reply(event, body) for event, body in zip(events, bodies, strict=True)]


def _enter(fold: Fold, events: Sequence[Event], found: Sequence[DecisionDraft], due: int) -> None:
    """Apply decisions to a fold one by one; each gets arrays of its own, as it may wait for longer than the others."""
    for event, (context, decision, _) in zip(events, found, strict=True):
        own = Decision._make([*(z.copy() for z in decision[:14]), decision.names])
        fold.apply(event, NewDecision(context, own, due, None))


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Asks(Protocol[T_co]):
    """A call for a decision, which may be made at the state before the calls that come with it."""

    @property
    def key(self) -> str:
        """The key, by which it is decided once."""

    def request(self, verbs: Verbs) -> dict[str, Any]:
        """Return the request as it comes from the log.

        Raises:
            InvalidInput: it is refused.
        """

    def result(self, reply: Reply) -> T_co:
        """Return the result of the call."""


class CallSequence(Generic[T]):
    """Calls for decisions in a row, as one call.

    Of those that are new, a twentieth of the rounds so far, or of those that are left, are decided at one state, and
    then as many at the state after these. Events state as `as_of` the last event of that state. Where that is less than
    two, decisions are made one by one. A key that comes twice has the reply of the first.

    Args:
        calls: in order.
    """

    def __init__(self, calls: Sequence[Asks[T]]) -> None:
        self._calls = calls

    def __call__(self, verbs: Verbs) -> list[T | EvenhandError]:
        """Decide within a transaction; each call has its result or its own error."""
        found: list[Any] = self._each(verbs, _look_up, range(len(self._calls)))
        first = dict[str, New]()
        again = [z.place for z in found if isinstance(z, New) and first.setdefault(z.key, z) is not z]
        rest = list(first.values())
        while rest:
            count = max(size(verbs), 1)
            some, rest = rest[:count], rest[count:]
            for new, answer in zip(some, _decide(verbs, some), strict=True):
                found[new.place] = answer
        for place, answer in zip(again, self._each(verbs, _whole, again), strict=True):
            found[place] = answer
        each_ = zip(self._calls, found, strict=True)
        return [call.result(z) if isinstance(z, Reply) else z for call, z in each_]

    def _each(self, verbs: Verbs, what: Callable[..., Any], places: Sequence[int]) -> list[Any]:
        """Apply a function to some of the calls; each has its result or its own error."""
        asks = [partial(what, verbs, self._calls[place], place) for place in places]
        return each(verbs.log, asks, verbs.worker)


def _look_up(verbs: Verbs, call: Asks[Any], place: int, _: Transaction) -> Reply | New:
    """Look up a call in the log."""
    plain = call.request(verbs)
    return verbs.find_reply(plain, call.key) or New(place, call.key, plain)


def _whole(verbs: Verbs, call: Asks[Any], place: int, _: Transaction) -> Reply:
    """Decide a call alone."""
    return verbs.decide_plain(call.request(verbs), call.key)


def _one_by_one(verbs: Verbs, some: Sequence[New]) -> list[Reply | EvenhandError]:
    """Decide requests one by one."""

    def one(new: New, _: Transaction) -> Reply:
        return verbs.decide_plain(new.plain, new.key)

    return each(verbs.log, [partial(one, new) for new in some], verbs.worker)


def _decide(verbs: Verbs, some: Sequence[New]) -> Sequence[Reply | EvenhandError]:
    """Decide requests at the present state, or one by one where a model or a plan fails."""
    if len(some) < 2:
        return _one_by_one(verbs, some)
    try:
        with pause_collection():
            return decide(verbs, some)
    except Busy:
        raise
    except EvenhandError:
        if not verbs.log.last == verbs.worker.fold.seq:
            raise
    wrong = [isinstance(z, EvenhandError) for z in _encode(verbs, some)]
    if not any(wrong):
        return _one_by_one(verbs, some)
    sound, others = ([new for new, z in zip(some, wrong, strict=True) if z is is_wrong] for is_wrong in (False, True))
    answers = iter(_decide(verbs, sound)), iter(_one_by_one(verbs, others))
    return [next(answers[z]) for z in wrong]


def _encode(verbs: Verbs, some: Sequence[New]) -> list[Context | EvenhandError]:
    """Encode the cases of requests one by one."""
    encoder = verbs.worker.encoder

    def one(new: New, _: Transaction) -> Context:
        refuse(encoder, new.plain)
        return encoder.context(new.plain["case"], new.plain.get("offered"), new.plain.get("known"))

    return each(verbs.log, [partial(one, new) for new in some], verbs.worker)


def run(worker: Worker, calls: Sequence[Callable[[Verbs], Any]]) -> list[Any]:
    """Make calls in one transaction, those in a row that are frozen as one; each has its result or its own error."""

    def within(part: Callable[[Verbs], Any]) -> Callable[[Transaction], Any]:
        return lambda log: part(Verbs(worker, log))

    parts = in_parts(calls)
    return spread(parts, worker.run([within(part) for part in parts], keys_of(calls)))


def in_parts(calls: Sequence[Callable[[Verbs], T]]) -> list[Callable[[Verbs], Any]]:
    """Return calls in order, with frozen ones in a row joined into one."""
    found = list[Callable[[Verbs], Any]]()
    for is_frozen, some in groupby(calls, lambda call: getattr(call, "frozen", False) is True):
        row = list(some)
        found += [CallSequence(cast("list[Asks[T]]", row))] if is_frozen and len(row) > 1 else row
    return found


def spread(parts: Sequence[Callable[[Verbs], Any]], found: Sequence[Any]) -> list[Any]:
    """Return the results of calls, by those of their parts."""
    each_ = zip(parts, found, strict=True)
    return [z for part, some in each_ for z in (some if isinstance(part, CallSequence) else [some])]
