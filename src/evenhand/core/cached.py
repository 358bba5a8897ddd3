"""A property that is computed once, which type checkers read as a plain property."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING:  # as Pyright refuses a cached property where a protocol has a property
    from builtins import property as cached_property
else:
    from functools import cached_property
