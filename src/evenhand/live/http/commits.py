"""Commits that waiting requests share."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from heapq import heapify, heappop, heappush
from time import monotonic
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from evenhand.core.errors import EvenhandError
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.http.bodies import Verb
from evenhand.live.log.events import Busy
from evenhand.live.worker.transactions import PATIENCE

T = TypeVar("T")


class Waiter(Generic[T]):
    """Stands for a coroutine that waits, as a `Future` of `concurrent` does, for a fraction of its time.

    Args:
        post: takes it to the loop of the coroutine.
    """

    def __init__(self, post: Post) -> None:
        self._post, self.future = post, post.loop.create_future()
        self._found: T | None = None
        self._error: BaseException | None = None

    def set_running_or_notify_cancel(self) -> bool:
        """Return whether the coroutine still waits."""
        return not self.future.cancelled()

    def set_result(self, found: T, /) -> None:
        """Let the coroutine continue with a result."""
        self._found = found
        self._post.send(self.settle)

    def set_exception(self, error: BaseException, /) -> None:
        """Let an error be raised in the coroutine."""
        self._error = error
        self._post.send(self.settle)

    def settle(self) -> None:
        """End the wait, in the thread of the loop."""
        if self.future.done():  # the coroutine was cancelled
            return
        if self._error is None:
            self.future.set_result(self._found)
        else:
            self.future.set_exception(self._error)


class Post:
    """A queue of calls in the thread of an event loop, which wakes up once for any number of them.

    Args:
        loop: the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._is_under_way = False

    def send(self, call: Callable[[], None]) -> None:
        """Call in the thread of the loop, in turn; from any thread."""
        self._calls.append(call)
        if not self._is_under_way:  # set before `_deliver` looks for the last time
            self._is_under_way = True
            with suppress(RuntimeError):  # the loop was closed, and nobody waits
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_under_way = False
        while self._calls:
            self._calls.popleft()()


Found = list[dict[str, Any] | EvenhandError]
_MOST = 200  # calls per group, unless one request has more: others wait for the end of the group


class _ResultWaiter(Protocol):
    """The interface of a waiter for results, such as a `Future`."""

    def set_running_or_notify_cancel(self) -> bool: ...

    def set_result(self, found: Found, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...


class _Job(NamedTuple):
    """The calls of one request, which go into one transaction; jobs are ordered by their turn."""

    turn: float
    number: int  # of the job, so that equal turns keep the order of arrival
    verbs: Sequence[Verb]
    found: _ResultWaiter
    since: float  # seconds of a clock
    client: Hashable


class Commits:
    """Runs the calls of requests on one thread, many requests per transaction.

    A write to disk takes longer than many decisions, so clients that wait for one share the next. Results are returned
    only after the commit. The thread starts with the first request.

    Turns are fair queueing: a job is due when its client's earlier ones and itself would end, if all clients were
    served at the same rate, counted in calls. A client with lists of 1,000 bodies delays others by the list that is
    under way, and not by those that wait.

    Args:
        campaign: the campaign that decides.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> commits = Commits(Campaign.open("memory://", "shop", eh.uniform(shop, 1)))
    >>> commits.submit([lambda verbs: {"rounds": verbs.log.last}]).result()
    [{'rounds': 1}]
    >>> commits.close()
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign, self._lock = campaign, threading.Lock()
        self._some = threading.Condition(self._lock)
        self._jobs: list[_Job] = []  # a heap
        self._ends: dict[Hashable, float] = {}  # the turn of the last job of every client that waits
        self._now, self._number, self._ending = 0.0, 0, False
        self._thread: threading.Thread | None = None
        self._post: Post | None = None  # to the loop that asked last

    def submit(self, verbs: Sequence[Verb], client: Hashable = None) -> Future[Found]:
        """Run calls in one transaction; the future has the result or the error of each after the commit.

        Args:
            verbs: the calls.
            client: who asks, such as a connection; clients take turns.
        """
        found = Future[Found]()
        self._enter(verbs, client, found)
        return found

    async def ask(self, verbs: Sequence[Verb], client: Hashable = None) -> Found:
        """Run calls as `submit` does, and wait in an event loop, which takes less time than to wait for its future."""
        loop = asyncio.get_running_loop()
        if self._post is None or self._post.loop is not loop:
            self._post = Post(loop)
        waiter: Waiter[Found] = Waiter(self._post)  # to state the type in the call takes longer than the call
        self._enter(verbs, client, waiter)
        found: Found = await waiter.future
        return found

    def _enter(self, verbs: Sequence[Verb], client: Hashable, found: _ResultWaiter) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="evenhand commits", daemon=True)
                self._thread.start()
            turn = max(self._now, self._ends.get(client, 0.0)) + max(len(verbs), 1)
            self._ends[client] = turn
            self._number += 1
            heappush(self._jobs, _Job(turn, self._number, verbs, found, monotonic(), client))
            self._some.notify()

    def n_waiting(self) -> int:
        """Return how many calls wait for a transaction."""
        with self._lock:
            return sum(len(job.verbs) for job in self._jobs)

    def close(self) -> None:
        """Finish the waiting requests and stop the thread; the next request starts it again."""
        with self._lock:
            thread, self._ending = self._thread, True
            self._some.notify()
        if thread is not None:
            thread.join()
        with self._lock:
            self._thread, self._ending = None, False

    def _work(self) -> None:
        while jobs := self._next():
            running = [job for job in jobs if job.found.set_running_or_notify_cancel()]  # False if the client left
            if running:
                self._commit(running)

    def _next(self) -> list[_Job]:
        """Take the jobs of the next transaction; none at the end."""
        with self._lock:
            while not self._jobs and not self._ending:
                self._some.wait()
            jobs: list[_Job] = []
            count = 0
            while self._jobs and (not jobs or count + len(self._jobs[0].verbs) <= _MOST):
                jobs.append(heappop(self._jobs))
                count += len(jobs[-1].verbs)
            if jobs:
                self._now = max(self._now, jobs[-1].turn - max(len(jobs[-1].verbs), 1))  # the last of them is served
                self._ends = {client: end for client, end in self._ends.items() if end > self._now}
            return jobs

    def _commit(self, jobs: Sequence[_Job]) -> None:
        """Run jobs in one transaction; if a job breaks it, it was rolled back, and each job gets its own."""
        try:
            found = iter(self._campaign.many([verb for job in jobs for verb in job.verbs]))
        except Busy as error:
            for job in [*jobs, *self._late()]:
                job.found.set_exception(error)
        except BaseException as error:
            if len(jobs) == 1:
                jobs[0].found.set_exception(error)
            else:
                for job in jobs:
                    self._commit([job])
        else:
            for job in jobs:
                job.found.set_result([next(found) for _ in job.verbs])

    def _late(self) -> list[_Job]:
        """Take out the jobs that have waited for so long that they should not wait for another transaction to fail."""
        with self._lock:
            begun = monotonic() - PATIENCE
            late = [job for job in self._jobs if job.since < begun]
            self._jobs = [job for job in self._jobs if job.since >= begun]
            heapify(self._jobs)
            gone = {job.client for job in late} - {job.client for job in self._jobs}  # none of theirs is in turn
            self._ends = {client: end for client, end in self._ends.items() if client not in gone}
        return [job for job in late if job.found.set_running_or_notify_cancel()]
