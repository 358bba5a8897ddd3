"""The catalogue of named systems: a mark on what implements one, and its discovery by walking the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant, snake

T = TypeVar("T")

# The folder or module of a system is its kind, so that there is no second list to keep in step.
KINDS = {
    "evenhand.recipes": "recipe",
    "evenhand.models": "model",
    "evenhand.goals": "goal",
    "evenhand.choices": "choice",
    "evenhand.objectives": "objective",
    "evenhand.problem.constraints": "constraint",
    "evenhand.environments": "environment",
    "evenhand.run.optimum": "benchmark",
    "evenhand.experiments": "experiment",
}

__all__ = ["System", "catalogue", "describe", "named"]


class System(NamedTuple):
    """One row of `evenhand systems`."""

    id: str
    name: str
    kind: str
    module: str
    source: str


def named(identifier: str, source: str) -> Callable[[T], T]:
    """Mark a class or function as the implementation of a named system.

    >>> @named("K0", source="an example")
    ... def nothing() -> None: ...
    >>> nothing.__named__
    ('K0', 'an example')
    """

    def mark(thing: T) -> T:
        thing.__named__ = (identifier, source)  # type: ignore[attr-defined]
        return thing

    return mark


def catalogue() -> list[System]:
    """List every marked class and function in the package, in the order of their ids.

    >>> [s.name for s in catalogue() if s.id == "K2"]
    ['pgd_adaptive']
    """
    return sorted(_marked(), key=lambda s: (s.id[:1], int(s.id[1:]), s.kind, s.name))


def _marked() -> Iterator[System]:
    for place, kind in KINDS.items():
        home = importlib.import_module(place)
        inside = pkgutil.walk_packages(home.__path__, f"{place}.") if hasattr(home, "__path__") else ()
        for name in (place, *(info.name for info in inside)):
            module = importlib.import_module(name)
            for thing in vars(module).values():
                mark = getattr(thing, "__named__", None)
                if isinstance(mark, tuple) and thing.__module__ == name:
                    yield System(mark[0], thing.__name__, kind, name, mark[1])


def describe(name: str) -> str:
    """What every system of this name or id does: its call, source and docstring.

    Raises:
        InvalidInput: there is no such system.

    >>> print(describe("pgd").splitlines()[0])
    K1 recipe pgd, by Chzhen et al. 2023, Box B; Lemmas 1 and 2
    """
    systems = catalogue()
    found = [s for s in systems if name.replace("-", "_").lower() in (s.id.lower(), s.name.lower(), snake(s.name))]
    if not found:
        names = sorted({snake(s.name) for s in systems})
        raise InvalidInput("system", "a name or an id from `evenhand systems`", f"{name}{meant(name, names)}")
    return "\n\n".join(_described(s) for s in found)


def _described(system: System) -> str:
    part = getattr(importlib.import_module(system.module), system.name)
    call = f"{system.module}.{system.name}{inspect.signature(part)}"
    return f"{system.id} {system.kind} {system.name}, by {system.source}\n{call}\n\n{inspect.getdoc(part) or ''}"
