"""How long no outcome has arrived although some were due."""

from __future__ import annotations


class Silence:
    """Decisions that were due while no outcome arrived for longer than the patience of the campaign.

    >>> silence = Silence()
    >>> silence.decided(0)
    >>> silence.expired(100, patience=100)
    >>> silence.due, silence.last
    (1, None)
    >>> silence.came(110)
    >>> silence.expired(150, patience=100)  # decided before that outcome
    >>> silence.due, silence.last
    (0, 110)
    """

    def __init__(self) -> None:
        self.due = 0
        self.last: int | None = None  # the time of the last outcome, in microseconds since 1970
        self._first: int | None = None  # that of the first decision

    def decided(self, at: int) -> None:
        """Enter a decision that waits for its outcome."""
        self._first = at if self._first is None else self._first

    def came(self, at: int) -> None:
        """Enter an outcome."""
        self.due, self.last = 0, at

    def expired(self, at: int, patience: float) -> None:
        """Enter a decision whose outcome is overdue, with the microseconds that are waited for one."""
        since = self._first if self.last is None else self.last
        self.due += since is not None and at - since >= patience

    def set_back(self, at: int) -> None:
        """Forget what came after a time to which the clock was set back."""
        self.last = None if self.last is None else min(self.last, at)
        self._first = None if self._first is None else min(self._first, at)
