"""evenhand decides, one case after another, who gets what: contextual bandits that keep to budgets and share fairly.

A user states a `Problem`, takes a recipe (or composes a `Policy` of a model, goals and a choice), and runs it with
`simulate`. Names are loaded when they are first used, so that `import evenhand` is fast.
"""

from __future__ import annotations

import importlib
from typing import Any

from evenhand.core.registry import meant
from evenhand.version import __version__ as __version__

# Folders whose exports are public names. Type checkers read the same list in `__init__.pyi`; a test compares the two.
HOMES = (
    "problem",
    "objectives",
    "sets",
    "models",
    "choices",
    "environments",
    "recipes",
    "policy",
    "run",
    "replay",
    "live",
    "core.errors",
    "core.records",
    "core.catalogue",
    "core.luck",
)


def __getattr__(name: str) -> Any:
    """Load a public name from the module that exports it."""
    if not name.startswith("_"):
        for home in HOMES:
            module = importlib.import_module(f"evenhand.{home}")
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}{meant(name, __dir__())}")
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all public names."""
    return sorted({"__version__", *(n for h in HOMES for n in importlib.import_module(f"evenhand.{h}").__all__)})
