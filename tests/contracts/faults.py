"""Parts that break a promise: a sound part, some of whose members are others."""

import pytest


class Twisted:
    """The members of another part, but for those that are named."""

    def __init__(self, inner, **members):
        own = {name: getattr(inner, name) for name in dir(inner) if not name.startswith("_")}
        self.__dict__.update(own | members)


def after(call, change):
    """The call, and what a change makes of its answer: it is handed the answer and the arguments."""
    return lambda *args: change(call(*args), *args)


def caught(check, part, promise, *args, kind=AssertionError, **options):
    """A check fails for this part, and names the promise."""
    with pytest.raises(kind, match=promise):
        check(part, *args, **options)
