"""Upkeep of served campaigns: a thread reads their logs now and then, so that they and the store are up to date."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Protocol

from evenhand.core.errors import EvenhandError
from evenhand.live.dashboard.tally import EVERY

_LOG = logging.getLogger("evenhand.live.http")
_PARTS = 10  # readings of the log until a tally is kept: a long reading would delay all requests meanwhile
INTERVAL = 5.0  # from one look at the log to the next, where nobody asks
_PAUSE = 0.01  # seconds between two turns of learning corrections, so that requests come first


class Updatable(Protocol):
    """An object that is brought up to date now and then, such as a campaign."""

    @property
    def name(self) -> str: ...

    def refresh(self) -> bool:
        """Do what is due; returns whether there is more."""


class Upkeep:
    """Reads logs in turn, so that no saved tally becomes too old.

    Args:
        read: begins to read the log, in another thread.

    >>> begun = []
    >>> upkeep = Upkeep(lambda: begun.append(Future()) or begun[-1])
    >>> for _ in range(3):
    ...     upkeep.count(EVERY)
    >>> len(begun)
    1
    >>> begun[0].set_result(None)
    >>> upkeep.count(1)
    >>> len(begun)
    2
    """

    def __init__(self, read: Callable[[], Future[object]]) -> None:
        self._read, self._count = read, 0
        self._under_way: Future[object] | None = None

    def count(self, verbs: int) -> None:
        """Count requests, from one thread."""
        self._count += verbs
        if self._count >= EVERY // _PARTS and (self._under_way is None or self._under_way.done()):
            self._count, self._under_way = 0, self._read()


@contextmanager
def update_thread(campaigns: Iterable[Updatable]) -> Iterator[None]:
    """Read the logs of campaigns every few seconds, in a thread of its own that ends with the block.

    A server that nobody asks thus expires what is overdue, learns corrections that are due, and goes on with a policy
    to which another worker switched.
    """
    over = threading.Event()
    thread = threading.Thread(target=_keep_up, args=(list(campaigns), over), name="evenhand upkeep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _keep_up(campaigns: list[Updatable], over: threading.Event) -> None:
    told = [""] * len(campaigns)
    while not over.wait(INTERVAL):
        told = [_look(campaign, over, before) for campaign, before in zip(campaigns, told, strict=True)]


def _look(campaign: Updatable, over: threading.Event, before: str) -> str:
    """Bring one campaign up to date; an error is logged once, as the next requests get it too."""
    try:
        while campaign.refresh() and not over.wait(_PAUSE):
            pass
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        if told != before:
            _LOG.warning("campaign %r is not up to date: %s", campaign.name, told, exc_info=_trace(error))
        return told
    return ""


def _trace(error: Exception) -> Exception | None:
    """Return an error whose traceback belongs in the log: any that is not an `EvenhandError`."""
    return None if isinstance(error, EvenhandError) else error
