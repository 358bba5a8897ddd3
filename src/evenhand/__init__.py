"""evenhand decides, one case after another, who gets what: contextual bandits that keep to budgets and share fairly.

A user states a `Problem`, takes a recipe (or composes a `Policy` of a model, goals and a choice), and runs it with
`simulate`. Names are loaded when they are first used, so that `import evenhand` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from evenhand.version import __version__

# What type checkers see of this is `__init__.pyi`; a test holds the two together.
_HOMES = {
    "choices": (
        "Cycle",
        "EpsilonGreedy",
        "Gamma",
        "Gibbs",
        "GradientLottery",
        "InverseGap",
        "Lottery",
        "Random",
        "Staged",
        "TopK",
    ),
    "constraints": ("Budget", "Parity"),
    "environments": (
        "Court",
        "Delayed",
        "FixedContexts",
        "Lessons",
        "Logged",
        "MixedArms",
        "MixedContexts",
        "MultiObjective",
        "WithoutContexts",
    ),
    "errors": ("CannotSave", "EvenhandError", "InfeasibleProblem", "InvalidInput", "MissingExtra", "StateMismatch"),
    "logs": ("replay",),
    "models": (
        "Aggregation",
        "Beside",
        "Blank",
        "Cover",
        "Experts",
        "Fixed",
        "Glmtron",
        "Gradient",
        "Logarithmic",
        "Logistic",
        "OnlineToBatch",
        "Ridge",
        "Scalarised",
        "SelfNormalised",
        "Sklearn",
        "Tabular",
    ),
    "objectives": (
        "AlphaFair",
        "Concave",
        "EqualExposure",
        "GeneralizedGini",
        "Linear",
        "Moreau",
        "Randomized",
        "WeightedSum",
        "Within",
    ),
    "optimum": ("opt", "opt_without_contexts"),
    "policy": ("Policy",),
    "problem": ("Groups", "Outcome", "Problem"),
    "recipes": (
        "bwcr",
        "fw",
        "fw_dual",
        "fw_epsilon_greedy",
        "fw_linucb",
        "fw_squarecb",
        "lin_cbwk",
        "mixed_oracle",
        "molincb",
        "optimistic",
        "pgd",
        "pgd_adaptive",
        "primal_lp",
        "resolving",
        "square_cbwk",
        "two_stage_square_cbwk",
        "uniform",
    ),
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
