"""Programs of cvxpy, for sets and objectives that a user writes with it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from evenhand.core.errors import MissingExtra
from evenhand.core.types import Floats


def cvxpy(what: str) -> Any:
    """Return cvxpy.

    Raises:
        MissingExtra: cvxpy is not installed; `what` needs it.
    """
    try:
        import cvxpy
    except ImportError as error:  # pragma: no cover
        raise MissingExtra(what, "convex") from error
    return cvxpy


def constant(value: Any) -> Floats:
    """Return a constant of an expression as a dense array."""
    return np.array(value.toarray() if hasattr(value, "toarray") else value, np.float64)


def attempt(problem: Any, step: float, best: float, enough: float) -> str:
    """Solve a program with Clarabel and return its status, or the solver's error as text.

    Args:
        problem: the program.
        step: a step as a fraction of the way to the edge of a cone; short steps keep more digits.
        best, enough: the accuracy to aim for, and the accuracy at which a result is accepted.
    """
    sought = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), best)
    reached = {f"reduced_{name}": enough for name in sought}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # cvxpy warns if a result misses the best accuracy
        try:
            problem.solve(solver="CLARABEL", warm_start=False, max_step_fraction=step, **sought, **reached)
        except cvxpy("programs").SolverError as error:
            return str(error)
    return str(problem.status)
