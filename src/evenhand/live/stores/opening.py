"""Opens stores by URL: each module is named after the scheme of its store and has a function `connect`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from evenhand.core.errors import MissingExtra
from evenhand.live.stores.base import Store, unknown_url

_HERE = __name__.rpartition(".")[0]
_OTHER_NAMES = {"postgres": "postgresql"}


def kinds() -> list[str]:
    """List the schemes of all kinds of stores.

    >>> {"memory", "postgresql", "sqlite"} <= set(kinds())
    True
    """
    found = (info.name for info in iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in found if name not in ("base", "opening") and not name.startswith("_"))


def as_store(store: str | Store) -> Store:
    """Return a store as it is, or open that of a URL."""
    return connect(store) if isinstance(store, str) or not hasattr(store, "scan") else store


def connect(url: object) -> Store:
    """Open the store of a URL.

    Args:
        url: "sqlite:///FILE", "postgresql://USER:PASSWORD@HOST/DATABASE", or "memory://" for a store that ends with the
            process.

    Raises:
        InvalidInput: the kind of store is unknown, or the URL is invalid for its kind.
        MissingExtra: the database's driver is not installed, such as psycopg for PostgreSQL.
        Busy: the store cannot be opened.

    >>> type(connect("memory://")).__name__
    'MemoryStore'
    """
    scheme, mark, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    kind = _OTHER_NAMES.get(scheme, scheme)
    if not mark or kind not in kinds():
        raise unknown_url(url)
    try:
        module = import_module(f"{_HERE}.{kind}")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"stores at {kind}://", kind) from error
    store: Store = module.connect(url)
    return store
