"""Group commit: requests that arrive during a commit share the next one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from evenhand.core.errors import EvenhandError
from evenhand.live.campaign import Campaign
from evenhand.live.events import Busy
from evenhand.live.http.asked import Verb

Found = list[dict[str, Any] | EvenhandError]
_MOST = 1_000  # calls per group: its duration stays well below the timeout of other workers


class _Job(NamedTuple):
    """The calls of one request, which go into one transaction."""

    verbs: Sequence[Verb]
    found: Future[Found]


class Commits:
    """Runs the calls of requests on one thread, many requests per transaction.

    A write to disk takes longer than many decisions, so clients that wait for one share the next. Results are returned
    only after the commit. The thread starts with the first request.

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
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, verbs: Sequence[Verb]) -> Future[Found]:
        """Run calls in one transaction; the future has the result or the error of each after the commit."""
        job = _Job(verbs, Future())
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="evenhand commits", daemon=True)
                self._thread.start()
            self._queue.put(job)
        return job.found

    def close(self) -> None:
        """Finish the waiting requests and stop the thread; the next request starts it again."""
        with self._lock:
            if self._thread is not None:
                self._queue.put(None)
                self._thread.join()
                self._thread = None

    def _work(self) -> None:
        last = False
        while not last:
            job = self._queue.get()
            jobs: list[_Job] = []
            try:
                while job is not None:
                    if job.found.set_running_or_notify_cancel():  # False if the client left before it began
                        jobs.append(job)
                    if sum(len(z.verbs) for z in jobs) >= _MOST:
                        break
                    job = self._queue.get_nowait()
                last = job is None
            except Empty:
                pass
            if jobs:
                self._commit(jobs)

    def _commit(self, jobs: Sequence[_Job]) -> None:
        """Run jobs in one transaction; if a job breaks it, it was rolled back, and each job gets its own."""
        try:
            found = iter(self._campaign.many([verb for job in jobs for verb in job.verbs]))
        except Busy as error:
            for job in jobs:
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
