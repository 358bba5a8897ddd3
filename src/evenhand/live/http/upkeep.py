"""Reading the log now and then, also where nobody asks for the page, so that the store has a recent tally."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from evenhand.live.dashboard.tally import EVERY


class Upkeep:
    """Reads the log once for so many requests as a tally in the store may be old by, one time after the other.

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
        if self._count >= EVERY and (self._under_way is None or self._under_way.done()):
            self._count, self._under_way = 0, self._read()
