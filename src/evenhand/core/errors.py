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


class EvenhandError(Exception):
    """Any error that evenhand raises on purpose."""


class EvenhandWarning(UserWarning):
    """Input that can be used, but probably not as intended."""


class InvalidInput(EvenhandError, ValueError):
    """A value that was passed in cannot be used.

    >>> str(InvalidInput("horizon", "a whole number of at least 1", 0))
    'horizon: expected a whole number of at least 1, got 0'
    """

    def __init__(self, field: str, expected: str, got: object) -> None:
        super().__init__(field, expected, got)
        self.field, self.expected, self.got = field, expected, got

    def __str__(self) -> str:
        return f"{self.field}: expected {self.expected}, got {self.got}"


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
