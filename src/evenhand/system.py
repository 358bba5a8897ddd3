"""Named systems: a mark on what implements one, and their discovery by walking the package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# The folder or module a system lives in is its kind: nothing to keep in step.
KINDS = {
    "recipes": "recipe",
    "models": "model",
    "goals": "goal",
    "choices": "choice",
    "objectives": "objective",
    "constraints": "constraint",
    "environments": "environment",
    "optimum": "benchmark",
    "papers": "reproduction",
}


class System(NamedTuple):
    """One row of `evenhand systems`."""

    id: str
    name: str
    kind: str
    module: str
    source: str


def system(identifier: str, source: str) -> Callable[[T], T]:
    """Mark a class or function as the implementation of a named system.

    >>> @system("K0", source="an example")
    ... def nothing() -> None: ...
    >>> nothing.__system__
    ('K0', 'an example')
    """

    def mark(thing: T) -> T:
        thing.__system__ = (identifier, source)  # type: ignore[attr-defined]
        return thing

    return mark


def discover() -> list[System]:
    """List every marked class and function in the package, in the order of their ids.

    >>> [s.name for s in discover() if s.id == "K2"]
    ['pgd_adaptive']
    """
    return sorted(_marked(), key=lambda s: (s.id[:1], int(s.id[1:]), s.kind, s.name))


def _marked() -> Iterator[System]:
    package = importlib.import_module("evenhand")
    for info in pkgutil.walk_packages(package.__path__, "evenhand."):
        place = info.name.split(".")[1]
        if place not in KINDS:
            continue
        module = importlib.import_module(info.name)
        for thing in vars(module).values():
            mark = getattr(thing, "__system__", None)
            if isinstance(mark, tuple) and thing.__module__ == info.name:
                yield System(mark[0], thing.__name__, KINDS[place], info.name, mark[1])
