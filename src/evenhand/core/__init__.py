"""Foundations: array types, errors, checks of input, per-round records, luck and the catalogue."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.core import catalogue as catalogue, errors as errors, luck as luck, records as records


def __getattr__(name: str) -> ModuleType:
    """Load a module with public names, such as `evenhand.core.records`, when it is first used."""
    if name in ("catalogue", "errors", "luck", "records"):
        return importlib.import_module(f"evenhand.core.{name}")
    raise AttributeError(f"module 'evenhand.core' has no attribute {name!r}")
