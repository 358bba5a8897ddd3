"""The catalogue of named systems: a decorator marks the implementations, and a walk over the package finds them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import exported, meant, snake

T = TypeVar("T")

# The folder or module of a system determines its kind, so that no second list has to be kept up to date.
KINDS = {
    "evenhand.recipes": "recipe",
    "evenhand.models": "model",
    "evenhand.goals": "goal",
    "evenhand.choices": "choice",
    "evenhand.welfare": "welfare",
    "evenhand.objectives": "objective",
    "evenhand.sets": "set",
    "evenhand.problem.constraints": "constraint",
    "evenhand.environments": "environment",
    "evenhand.run.optimum": "benchmark",
    "evenhand.run.optimum_of_satisfaction": "benchmark",
    "evenhand.offline": "estimate",
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
    """Mark a class or function as the implementation of a named system, and check its arguments by its signature.

    >>> @named("K0", source="an example")
    ... def nothing() -> None: ...
    >>> nothing.__named__
    ('K0', 'an example')
    """

    def mark(thing: T) -> T:
        thing.__named__ = (identifier, source)  # type: ignore[attr-defined]
        return checked(thing)

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


def of_name(name: str) -> list[System]:
    """Return every part with this name or id, also exported ones that are no named systems.

    Raises:
        InvalidInput: there is none.

    >>> [s.id for s in of_name("pgd")]
    ['K1']
    """
    parts = [*catalogue(), *_unmarked()]
    wanted = name.replace("-", "_").lower()
    found = [p for p in parts if wanted in (p.id.lower(), p.name.lower(), snake(p.name))]
    if not found:
        guess = meant(name, sorted({snake(p.name) for p in parts}))
        raise InvalidInput("system", "a name or an id from `evenhand systems`", f"{name}{guess}")
    return found


def describe(name: str) -> str:
    """Describe every part with this name or id: its call, source and docstring.

    Raises:
        InvalidInput: there is none.

    >>> print(describe("pgd").splitlines()[0])
    recipe pgd (K1), by Chzhen et al. 2023, Box B; Lemmas 1 and 2
    """
    return "\n\n".join(_described(p) for p in of_name(name))


def _unmarked() -> Iterator[System]:
    """Exported parts that are not named systems, such as choices."""
    for place, kind in KINDS.items():
        if hasattr(importlib.import_module(place), "__all__") and kind != "experiment":
            for part in exported(place).values():
                if not hasattr(part, "__named__") and inspect.getdoc(part):
                    yield System("", part.__name__, kind, part.__module__, "")


def _described(system: System) -> str:
    part = getattr(importlib.import_module(system.module), system.name)
    origin = f" ({system.id}), by {system.source}" if system.id else ""
    arguments = ", ".join(_argument(p) for p in inspect.signature(part).parameters.values())
    return (
        f"{system.kind} {system.name}{origin}\n{system.module}.{system.name}({arguments})\n\n"
        f"{inspect.getdoc(part) or ''}"
    )


def _argument(p: inspect.Parameter) -> str:
    hint = p.annotation if isinstance(p.annotation, str) else inspect.formatannotation(p.annotation)
    return f"{p.name}: {hint}" + ("" if p.default is inspect.Parameter.empty else f" = {p.default!r}")
