"""Transactions of a worker: its lock, group commit for its threads, and events that are written at once."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from evenhand.core.errors import ConcurrentUse, EvenhandError
from evenhand.live.log.events import Busy, Conflict, Event, Kind, next_event
from evenhand.live.log.store import BulkTransaction, DigestTransaction, Store, Transaction

PATIENCE = 0.2  # seconds that whoever waits for a store may have waited before, and still tries it


class Exclusive:
    """A fair lock: a waiting thread gets it before the thread that releases it can get it again.

    Args:
        name: of the campaign, for errors.

    >>> lock = Exclusive("autumn")
    >>> with lock.hold():
    ...     pass
    """

    def __init__(self, name: str) -> None:
        self._name, self._lock, self._gate = name, threading.Lock(), threading.Lock()
        self._process, self._holder = os.getpid(), 0  # `_holder`: the thread that holds the lock
        self._asked, self._told_at, self._told = 0.0, 0.0, ""  # when the holder asked; what the last one was told

    def check(self) -> None:
        """Refuse a thread that would wait for itself, or for one that does not exist.

        Raises:
            ConcurrentUse: this thread holds the lock already, and would wait for itself; or the process was forked
                while a thread held it, which is not there to release it.
        """
        if self._process != os.getpid():
            if self._lock.locked() or self._gate.locked():
                told = "was in use when this process was forked: open it in only one of the two"
                raise ConcurrentUse(f"campaign {self._name!r} {told}")
            self._process = os.getpid()
        if self._lock.locked() and self._holder == threading.get_ident():
            raise ConcurrentUse("a call within `many` uses the campaign: it has to use the verbs that it was given")

    def hold(self) -> AbstractContextManager[None]:
        """Hold the lock against other threads.

        Raises:
            ConcurrentUse: as for `check`.
        """
        return _LockHold(self)

    def take(self) -> None:
        """Wait for the lock."""
        self.check()
        asked, taken = monotonic(), False
        try:
            with self._gate:  # the next one waits here with the gate closed behind it
                taken = self._lock.acquire()
            self._holder, self._asked = threading.get_ident(), asked
        except BaseException:  # Ctrl-C
            if taken:
                self.release()
            raise

    def release(self) -> None:
        """Pass the lock to the next thread."""
        self._holder = 0
        self._lock.release()

    def tell(self, error: Busy) -> None:
        """Note that the holder could not begin a transaction, which it may have waited for."""
        self._told_at, self._told = monotonic(), str(error)

    def forget(self) -> None:
        """Note that the holder began a transaction, so that the store can be written again."""
        self._told_at = 0.0

    def pass_on(self) -> None:
        """Raise the error that another thread met while this one waited, which would otherwise wait as long once more.

        Raises:
            Busy: the store could not be written when this thread had waited for a while already.
        """
        if self._told_at > self._asked + PATIENCE:
            raise Busy(self._told)


class _LockHold:
    """An exclusive lock while it is held; a generator as a context takes three times as long."""

    def __init__(self, lock: Exclusive) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.take()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class TransactionStart:
    """Begins a transaction, and lets others know whether that fails.

    Args:
        lock: which this thread holds, and at which the others wait.
        store: the store.
        name: of the campaign.
    """

    def __init__(self, lock: Exclusive, store: Store, name: str) -> None:
        self._lock, self._store, self._name = lock, store, name

    def __enter__(self) -> Transaction:
        try:
            self._within = self._store.write(self._name)
            log = self._within.__enter__()
        except Busy as error:
            self._lock.tell(error)
            raise
        self._lock.forget()
        return log

    def __exit__(self, *error: object) -> bool | None:
        return self._within.__exit__(*error)  # type: ignore[arg-type]


C = TypeVar("C")  # what makes a call
T = TypeVar("T")
Run = Callable[[Sequence[C]], Sequence[T | EvenhandError]]  # makes calls in one transaction, as `Worker.run` does
_CALLS = 200  # calls per transaction: others wait for its end


class _Call(Generic[C, T]):
    """A call of one thread, with its result or its error."""

    def __init__(self, verb: C) -> None:
        self.verb, self.is_done, self.since = verb, False, monotonic()
        self._found: list[T] = []
        self._error: Exception | None = None

    def end(self, found: T | EvenhandError) -> None:
        if isinstance(found, EvenhandError):
            self.fail(found)
        else:
            self._found, self.is_done = [found], True

    def fail(self, error: Exception) -> None:
        self._error, self.is_done = error, True

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._found[0]


class GroupCommit(Generic[C, T]):
    """Lets threads share transactions: one of them makes the calls of all that wait, and the others get the results.

    A write to disk takes longer than many decisions. Results are returned only after the commit.

    Args:
        run: makes calls in one transaction.

    >>> GroupCommit(lambda verbs: [2 * z for z in verbs]).one(21)
    42
    """

    def __init__(self, run: Run[C, T]) -> None:
        self._run, self._changed = run, threading.Condition()
        self._waiting: deque[_Call[C, T]] = deque()
        self._leads: _Call[C, T] | None = None  # of the thread that makes calls now

    def one(self, verb: C) -> T:
        """Make a call, in a transaction of its own or with those of other threads, and return its result.

        If a call breaks a transaction, that was rolled back, and each of its calls is made in one of its own.

        Raises:
            EvenhandError: that of the call; or any other error that it raised, or that ended its transaction.
        """
        call = _Call[C, T](verb)
        try:
            with self._changed:
                self._waiting.append(call)
                while self._leads is not None and not call.is_done:
                    self._changed.wait()
                if not call.is_done:
                    self._leads = call
            while not call.is_done:
                self._make()
        finally:
            with self._changed:
                if self._leads is call:
                    self._leads = None
                if call in self._waiting:  # this thread was interrupted, and nobody asks for the call any more
                    self._waiting.remove(call)
                self._changed.notify_all()
        return call.result()

    def _make(self) -> None:
        """Make the calls that wait, the oldest first."""
        with self._changed:
            calls = [self._waiting.popleft() for _ in range(min(len(self._waiting), _CALLS))]
        try:
            self._run_group(calls)
        except BaseException:  # of this thread, such as Ctrl-C: the others make their calls themselves
            with self._changed:
                self._waiting.extendleft(call for call in reversed(calls) if not call.is_done)
            raise

    def _run_group(self, calls: Sequence[_Call[C, T]]) -> None:
        try:
            found = self._run([call.verb for call in calls])
        except Busy as error:
            for call in calls:
                call.fail(error)
            self._tell(error)
        except Exception as error:
            if len(calls) == 1:
                calls[0].fail(error)
            else:
                for call in calls:
                    self._run_group([call])
        else:
            for call, z in zip(calls, found, strict=True):
                call.end(z)

    def _tell(self, error: Busy) -> None:
        """Fail the calls that have waited for so long that they should not wait for another transaction to fail."""
        with self._changed:
            begun = monotonic() - PATIENCE
            for call in self._waiting:
                if call.since < begun:
                    call.fail(error)
            self._waiting = deque(call for call in self._waiting if not call.is_done)


_FRESH = 1_000  # events that wait to be written


class BufferedTransaction:
    """A transaction that writes what is appended when it is asked for, or when there is much of it.

    The events are those that single appends would write. An event that contradicts the log is refused when it is
    written, and the transaction has then to be rolled back, which undoes all that was appended in it.

    Args:
        log: the transaction.
        keys: that will be asked for.
    """

    def __init__(self, log: BulkTransaction, keys: Sequence[str]) -> None:
        self._moved: Mapping[str, int] | None
        self._log, self._fresh, self._hash, self.last = log, list[Event](), log.hash, log.last
        self._by_key: dict[str, Event | None] = dict.fromkeys(keys)
        self._keys, self._moved = list(self._by_key), None  # read when it is asked for
        for event in log.find_all(list(self._by_key)) if keys else ():
            self._by_key[str(event.key)] = event

    @property
    def now(self) -> int:
        return self._log.now

    def tail(self, after: int) -> Iterator[Event]:
        self.write()
        return self._log.tail(after)

    def find(self, key: str) -> Event | None:
        return self._by_key[key] if key in self._by_key else self._log.find(key)

    def moved(self, keys: Sequence[str]) -> Mapping[str, int]:
        if not isinstance(self._log, DigestTransaction):
            return {}
        if self._moved is None:
            self._moved = self._log.moved(self._keys)
        rest = [key for key in keys if key not in self._by_key]
        return {**{key: z for key, z in self._moved.items() if key in keys}, **(self._log.moved(rest) if rest else {})}

    def get(self, seq: int) -> Event | None:
        self.write()
        return self._log.get(seq)

    def about(self, ref: int) -> Sequence[Event]:
        self.write()
        return self._log.about(ref)

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        event = next_event(self.last, self._hash, self.now, kind, body, ref, key, own)
        if key is not None:
            if self.find(key) is not None:
                raise Conflict(f"key {key!r} is in the log")
            self._by_key[key] = event
        self._fresh.append(event)
        self.last, self._hash = event.seq, event.hash
        if len(self._fresh) >= _FRESH:
            self.write()
        return event

    def write(self) -> None:
        """Write what was appended.

        Raises:
            Conflict: an event contradicts the log.
            Busy: as for `Store.write`.
        """
        if self._fresh:
            fresh, self._fresh = self._fresh, []
            self._log.append_all(fresh)


def buffered_transaction(log: Transaction, keys: Iterable[str], calls: int) -> BufferedTransaction | None:
    """Return a transaction that collects the events of a number of calls; None if that is of no use."""
    asked = list(keys)
    return BufferedTransaction(log, asked) if max(calls, len(asked)) > 1 and isinstance(log, BulkTransaction) else None


class Folds(Protocol):
    """An object that keeps a fold in step with a log."""

    @property
    def fold(self) -> Any:
        """The fold."""


def each(log: Transaction, calls: Sequence[Callable[[Transaction], T]], worker: Folds) -> list[T | EvenhandError]:
    """Make calls in a transaction; each has its result or its own error.

    Raises:
        EvenhandError: of a call that had written something, or whose fold is out of step.
    """
    found: list[T | EvenhandError] = []
    for call in calls:
        before = log.last
        try:
            found.append(call(log))
        except Busy:
            raise
        except EvenhandError as error:
            if not before == log.last == worker.fold.seq:
                raise
            found.append(error)
    return found
