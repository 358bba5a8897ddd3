"""The errors that users see. `InvalidInput` names the field, the expectation and the value given."""

from __future__ import annotations

__all__ = [
    "CannotErase",
    "CannotSave",
    "ConcurrentUse",
    "EvenhandError",
    "EvenhandWarning",
    "InfeasibleProblem",
    "InvalidInput",
    "MissingExtra",
    "MissingFile",
    "StaleDecision",
    "StateMismatch",
]


_MOST = 300  # characters of a value that is no text, as data of callers stay out of messages
_LONGEST = 2000  # characters of a text in a message


class EvenhandError(Exception):
    """Any error that evenhand raises on purpose."""


class EvenhandWarning(UserWarning):
    """Input that can be used, but probably not as intended."""


class InvalidInput(EvenhandError, ValueError):
    """A value that was passed in cannot be used.

    An input whose parts are checked one by one, such as a case, names all that are wrong: the first is the error, and
    `others` has the rest.

    >>> str(InvalidInput("horizon", "a whole number of at least 1", 0))
    'horizon: expected a whole number of at least 1, got 0'
    """

    def __init__(self, field: str, expected: str, got: object) -> None:
        super().__init__(field, expected, got)
        self.field, self.expected, self.got = field, expected, got
        self.others: tuple[InvalidInput, ...] = ()

    def __str__(self) -> str:
        each = ((e.field, e.expected, e.got) for e in (self, *self.others))
        return "; ".join("{}: expected {}, got {}".format(*map(_cut, parts)) for parts in each)

    def at(self, place: str) -> InvalidInput:
        """Return the error with a place before the name of every field.

        >>> str(InvalidInput("age", "a finite number", None).at("row 3"))
        'row 3: age: expected a finite number, got None'
        """
        found = InvalidInput(f"{place}: {self.field}", self.expected, self.got)
        found.others = tuple(other.at(place) for other in self.others)
        return found


def _cut(value: object) -> str:
    text, most = str(value), _LONGEST if isinstance(value, str | Exception) else _MOST
    return text if len(text) <= most else f"{text[:most]}..."


class MissingFile(InvalidInput, FileNotFoundError):
    """A file that does not exist."""


class InfeasibleProblem(EvenhandError, ValueError):
    """Constraints that no policy can satisfy."""


class MissingExtra(EvenhandError, ImportError):
    """An optional dependency is missing.

    >>> str(MissingExtra("plots", "plot"))
    "plots need an optional dependency: pip install 'evenhand[plot]'"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what, self.extra = what, extra

    def __str__(self) -> str:
        return f"{self.what} need an optional dependency: pip install 'evenhand[{self.extra}]'"


class StateMismatch(EvenhandError, ValueError):
    """A saved state belongs to a policy that is configured differently."""


class CannotSave(EvenhandError, TypeError):
    """A part of a state belongs to another library and cannot be written as arrays."""


class CannotErase(EvenhandError, TypeError):
    """A part of a state keeps single cases and cannot remove one."""


class StaleDecision(EvenhandError, ValueError):
    """A decision was overtaken by others: its plays no longer fit the hard limits. Decide again."""


class ConcurrentUse(EvenhandError, RuntimeError):
    """Two threads use one state at the same time, but a state has a single writer."""
