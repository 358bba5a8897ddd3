"""evenhand decides, one case after another, who gets what: contextual bandits that keep to budgets and share fairly.

State a problem, take a recipe, and let the policy that it makes decide. These names are enough to start:

==========================  ============================================================================
`Problem`                   actions, features, groups, outcomes, an objective, constraints and a horizon
`Numeric`, `Categorical`    features of a case
`Groups`                    groups of cases, or of actions
`Outcome`                   what follows from an action: learned, or known
`Budget`                    the most that may be spent of an outcome
`Parity`                    how far groups may differ
`resolving`                 the recipe to start with: makes a policy of a problem
`PerAction`                 a model with own coefficients for every action
`simulate`                  runs a policy in a simulated environment
`Campaign`                  serves decisions for real, from one log that survives crashes
==========================  ============================================================================

>>> import evenhand as eh
>>> problem = eh.Problem(
...     actions=("nothing", "letter"),
...     features=(eh.Numeric("age", 20, 60),),
...     outcomes=(eh.Outcome("answers"), eh.Outcome("cents", known={"letter": 80})),
...     maximize="answers",
...     subject_to=(eh.Budget("cents", total=4000),),
...     horizon=100,
... )
>>> policy = eh.resolving(problem)
>>> state = policy.start(seed=0)
>>> decision = policy.act(state, policy.encode({"age": 41}))
>>> decision.action in problem.actions
True
>>> policy.observe(state, decision, {"answers": 0})

`dir(evenhand)` lists all names of this module. Everything else is in its folders: `evenhand.recipes`, `models`,
`choices`, `goals`, `objectives`, `sets`, `problem`, `environments`, `welfare`, `policy`, `run`, `replay`, `offline`,
`live`, `testing` and `core`. A policy composed by hand is `Policy(problem=, model=, goals=, choice=)`. Folders and
names are loaded when they are first used, so that `import evenhand` is fast.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from evenhand.version import __version__ as __version__

# The public names, by the place that exports them. Type checkers read them in `__init__.pyi`; a test compares the two.
NAMES = {
    "problem": (
        "Budget",
        "Categorical",
        "Floor",
        "Groups",
        "Holdout",
        "Numeric",
        "Outcome",
        "Parity",
        "Problem",
        "Ratio",
        "Within",
    ),
    "recipes": ("lyapunov", "pgd", "resolving", "ucb", "uniform"),
    "models": ("BayesianBilinear", "BayesianLogistic", "BayesianRidge", "PerAction", "Ridge", "Stacked"),
    "policy": ("Policy",),
    "run": ("Wrapped", "compare", "opt", "simulate", "sweep"),
    "replay": ("replay_log",),
    "offline": ("assign", "curve", "value"),
    "live": ("Campaign",),
    "core.records": ("Context",),
    "core.errors": ("EvenhandError",),
}
# Folders and modules with public names.
PLACES = (
    "problem",
    "objectives",
    "sets",
    "models",
    "choices",
    "goals",
    "welfare",
    "environments",
    "recipes",
    "policy",
    "run",
    "replay",
    "offline",
    "live",
    "testing",
    "core.errors",
    "core.records",
    "core.catalogue",
    "core.luck",
)
_FOLDERS = {place.partition(".")[0] for place in PLACES}
_PLACE = {name: place for place, names in NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name or a folder."""
    if name in _FOLDERS:
        return importlib.import_module(f"evenhand.{name}")
    if name in _PLACE:
        value = globals()[name] = getattr(importlib.import_module(f"evenhand.{_PLACE[name]}"), name)
        return value
    if not name.startswith("_"):
        if places := [f"evenhand.{p}" for p in PLACES if name in importlib.import_module(f"evenhand.{p}").__all__]:
            raise AttributeError(f"module 'evenhand' has no attribute {name!r}: {name} is in {' and '.join(places)}")
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}{_suggestion(name)}")
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names and the folders."""
    return sorted({"__version__", *_PLACE, *_FOLDERS})


def _suggestion(name: str) -> str:
    """Return a hint with the closest public name and where it is."""
    registry = importlib.import_module("evenhand.core.registry")
    if registry.samples(name):
        return ": Thompson sampling is a model here, for any recipe: evenhand.models.Sampled(inner=evenhand.Ridge(...))"
    found = {n: f"evenhand.{p}.{n}" for p in reversed(PLACES) for n in importlib.import_module(f"evenhand.{p}").__all__}
    guess = difflib.get_close_matches(name, found, n=1)
    return f" (did you mean {guess[0] if guess[0] in _PLACE else found[guess[0]]}?)" if guess else ""
