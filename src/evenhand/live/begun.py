"""A transaction of a worker, whose beginning may fail for all who wait."""

from __future__ import annotations

from evenhand.live.events import Busy
from evenhand.live.exclusive import Exclusive
from evenhand.live.stores.base import Store, Transaction


class Begun:
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
