"""Optional dependencies, imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import Any

from evenhand.core.errors import MissingExtra


def scikit_learn(module: str, what: str) -> Any:
    """Import a module of scikit-learn.

    Args:
        module: its name, such as "base".
        what: what needs it, for the message.

    >>> scikit_learn("base", "scikit-learn models").__name__
    'sklearn.base'
    """
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise MissingExtra(what, "sklearn") from error
