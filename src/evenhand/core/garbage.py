"""Contexts that pause the search for garbage cycles, and that shorten the turns of threads."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SHORT = 0.0005  # seconds; 0.005 by default: a decision takes the interpreter's lock some twenty times
_lock = threading.Lock()
_within, _usual = 0, 0.0


@contextmanager
def pause_collection() -> Iterator[None]:
    """Keep Python from looking for garbage cycles while thousands of objects are made that are all needed.

    It looks through all objects of the process every time that their number has grown by a part, which takes as long as
    to read the objects from JSON. Garbage without cycles is freed at once as ever.

    >>> with pause_collection():
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


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads run for at most half a millisecond while another one waits, until the last thread leaves the block.

    Turns are longer otherwise, as sixteen clients together would pay a fifth more for short ones.

    >>> import sys
    >>> usual = sys.getswitchinterval()
    >>> with short_turns():
    ...     sys.getswitchinterval() < usual
    True
    >>> sys.getswitchinterval() == usual
    True
    """
    global _within, _usual
    with _lock:
        if _within == 0:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(min(_SHORT, _usual))
        _within += 1
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if _within == 0:
                sys.setswitchinterval(_usual)
