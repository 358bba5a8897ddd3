"""evenhand decides, one case after another, who gets what: contextual bandits that keep to budgets and share fairly.

A user states a `Problem`, takes a recipe (or composes a `Policy` of a model, goals and a choice), and runs it with
`simulate`. Names are loaded when they are first used, so that `import evenhand` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.version import __version__

if TYPE_CHECKING:
    from evenhand.constraints import Budget as Budget, Parity as Parity
    from evenhand.environments import Court as Court, Delayed as Delayed, Logged as Logged
    from evenhand.errors import (
        EvenhandError as EvenhandError,
        InfeasibleProblem as InfeasibleProblem,
        InvalidInput as InvalidInput,
        MissingExtra as MissingExtra,
        StateMismatch as StateMismatch,
    )
    from evenhand.logs import replay as replay
    from evenhand.models import (
        Beside as Beside,
        Blank as Blank,
        Fixed as Fixed,
        Logarithmic as Logarithmic,
        Logistic as Logistic,
        Ridge as Ridge,
        SelfNormalised as SelfNormalised,
    )
    from evenhand.objectives import Linear as Linear
    from evenhand.optimum import opt as opt
    from evenhand.policy import Policy as Policy
    from evenhand.problem import Groups as Groups, Outcome as Outcome, Problem as Problem
    from evenhand.recipes import (
        mixed_oracle as mixed_oracle,
        optimistic as optimistic,
        pgd as pgd,
        pgd_adaptive as pgd_adaptive,
        uniform as uniform,
    )
    from evenhand.records import Context as Context, Decision as Decision
    from evenhand.simulation import play as play, simulate as simulate
    from evenhand.system import discover as discover
    from evenhand.trace import Trace as Trace

_HOMES = {
    "constraints": ("Budget", "Parity"),
    "environments": ("Court", "Delayed", "Logged"),
    "errors": ("EvenhandError", "InfeasibleProblem", "InvalidInput", "MissingExtra", "StateMismatch"),
    "logs": ("replay",),
    "models": ("Beside", "Blank", "Fixed", "Logarithmic", "Logistic", "Ridge", "SelfNormalised"),
    "objectives": ("Linear",),
    "optimum": ("opt",),
    "policy": ("Policy",),
    "problem": ("Groups", "Outcome", "Problem"),
    "recipes": ("mixed_oracle", "optimistic", "pgd", "pgd_adaptive", "uniform"),
    "records": ("Context", "Decision"),
    "simulation": ("play", "simulate"),
    "system": ("discover",),
    "trace": ("Trace",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOME:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evenhand.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
