"""Tables of bad input: rows of (call, message), and the check that a call is refused with this message."""

import re
from functools import partial

import pytest

from evenhand.core.errors import EvenhandError

LONGEST = 500  # characters of a message


def wrong(make, message, **fields):
    """A row per field and value, which calls `make` with this field; {} in the message is the field."""
    return [(partial(make, **{f: v}), message.replace("{}", f)) for f, values in fields.items() for v in values]


def each(make, message, *values):
    """A row per value, which calls `make` with it alone."""
    return [(partial(make, value), message) for value in values]


def changes(make, *rows):
    """A row per pair of options and message, which calls `make` with these options."""
    return [(partial(make, **options), message) for options, message in rows]


def named(make):
    """The name of a class, also of one that is given some of its arguments."""
    return make.func.__name__ if isinstance(make, partial) else make.__name__


def name(row):
    """The name of the test of a row."""
    return row[-1][:70] if isinstance(row, tuple) else None


def check(call, message, kind=EvenhandError):
    """Call, and expect an error of one line that starts with the message, in which ... is any text."""
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert re.match(".*".join(map(re.escape, message.split("..."))), said), f"{said!r} is not {message!r}"
    assert "\n" not in said
    assert len(said) < LONGEST
    return caught.value
