"""Stores by name that end with the process, for `process://NAME`."""

from evenhand.live.log.store import unknown_url
from evenhand.live.stores.memory import MemoryStore

_STORES: dict[str, MemoryStore] = {}


def connect(url: str) -> MemoryStore:
    """Open the store of a name, which all of this process share.

    >>> connect("process://one") is connect("process://one")
    True
    """
    name = url.removeprefix("process://")
    if not name:
        raise unknown_url(url)
    return _STORES.setdefault(name, MemoryStore())
