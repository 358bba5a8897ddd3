"""Optional dependencies, imported when they are first needed."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import MissingExtra
from evenhand.core.types import Floats

if TYPE_CHECKING:
    import pandas as pd


def scikit_learn(module: str, what: str) -> Any:
    """Import a module of scikit-learn.

    Args:
        module: its name, such as "base".
        what: what needs it, for the message.

    >>> scikit_learn("base", "scikit-learn models").__name__
    'sklearn.base'
    """
    return _load(f"sklearn.{module}", what, "sklearn")


def data_frame(
    rows: Any, columns: list[str] | None = None, *, levels: Mapping[str, Sequence[str]] | None = None
) -> pd.DataFrame:
    """Make a data frame as pandas does, with some columns as categories of the levels that they have.

    Raises:
        MissingExtra: pandas is not installed.
    """
    found: pd.DataFrame = _load("pandas", "data frames", "data").DataFrame(rows, columns=columns)
    for name, each in (levels or {}).items():
        found[name] = found[name].astype("category").cat.set_categories(list(each))
    return found


def has_parquet() -> bool:
    """Whether data frames can be written as Parquet: pandas and pyarrow are installed."""
    return all(importlib.util.find_spec(module) is not None for module in ("pandas", "pyarrow"))


def has_matplotlib() -> bool:
    """Whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def no_picture() -> str:
    """Say that a picture was left out, and how to get it; an empty text where pictures can be drawn."""
    return "" if has_matplotlib() else f"the picture was left out: {MissingExtra('plots', 'plot')}"


def _load(module: str, what: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(what, extra) from error


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
