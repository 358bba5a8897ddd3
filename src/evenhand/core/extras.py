"""Optional dependencies, imported when they are first needed."""

from __future__ import annotations

import importlib
import importlib.util
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
