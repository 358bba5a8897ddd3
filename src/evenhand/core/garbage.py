"""A pause of the search for garbage in cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for garbage cycles while thousands of objects are made that are all needed.

    It looks through all objects of the process every time that their number has grown by a part, which takes as long as
    to read the objects from JSON. Garbage without cycles is freed at once as ever.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    """
    was = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was:
            gc.enable()
