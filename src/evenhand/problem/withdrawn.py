"""Actions that are not played any longer."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.core.types import Bools


class Withdraws(Protocol):
    """A problem with its actions."""

    @property
    def actions(self) -> tuple[str, ...]: ...

    @property
    def withdrawn(self) -> tuple[str, ...]: ...


def check_withdrawn(problem: Withdraws) -> None:
    """Refuse withdrawn actions that the problem does not have, and a problem without remaining actions."""
    for action in problem.withdrawn:
        if action not in problem.actions:
            got = f"{action}{meant(action, problem.actions)}"
            raise InvalidInput("withdrawn", f"some of the actions {problem.actions}", got)
    if set(problem.withdrawn) == set(problem.actions):
        raise InvalidInput("withdrawn", "fewer than all actions", problem.withdrawn)


def present(problem: Withdraws) -> Bools | None:
    """Return a mask of the actions that may still be played, None if that is all of them, `->(A)`."""
    return np.array([a not in problem.withdrawn for a in problem.actions]) if problem.withdrawn else None


def refuse_return(old: Withdraws, new: Withdraws, field: str) -> None:
    """Refuse a problem that would play an action again which an earlier one had withdrawn."""
    if back := sorted(set(old.withdrawn) - set(new.withdrawn)):
        expected = f"also {back}, as an action that was withdrawn does not come back"
        raise InvalidInput(f"{field}: problem.withdrawn", expected, new.withdrawn)
