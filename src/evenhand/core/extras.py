"""Optional dependencies, imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import MissingExtra

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


def data_frame(rows: Any, columns: list[str] | None = None) -> pd.DataFrame:
    """Make a data frame as pandas does.

    Raises:
        MissingExtra: pandas is not installed.
    """
    found: pd.DataFrame = _load("pandas", "data frames", "data").DataFrame(rows, columns=columns)
    return found


def _load(module: str, what: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(what, extra) from error
