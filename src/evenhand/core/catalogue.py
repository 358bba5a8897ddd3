"""The catalogue of named systems: a decorator marks implementations, which are found among the exports of packages."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from evenhand.core.errors import InvalidInput
from evenhand.core.kinds import KINDS, Fit, fit
from evenhand.core.registry import exports, samples, snake, suggestion
from evenhand.core.signatures import checked

T = TypeVar("T")

_SAMPLED = ": Thompson sampling is a model here, for any recipe: `evenhand systems sampled`"
_RESULTS = ("benchmark", "estimate")  # kinds whose other exported classes are what they return

__all__ = ["System", "catalogue", "describe", "named", "parts"]


class System(NamedTuple):
    """A named system. Its id sorts the catalogue, and is not shown to users."""

    id: str
    name: str
    kind: str
    module: str
    source: str
    says: str  # the first sentence of its docstring
    fit: Fit | None  # of recipes


def named(identifier: str, source: str, use: str = "", fits: str = "") -> Callable[[T], T]:
    """Mark a class or function as the implementation of a named system, and check its arguments by its signature.

    Args:
        identifier: sorts the catalogue.
        source: authors and year, and the theorem or section.
        use: of a recipe, one of `core.kinds.USES`.
        fits: of a recipe, words of `core.kinds.WORDS` with commas between; a condition follows in brackets.

    >>> @named("K0", source="an example")
    ... def nothing() -> None: ...
    >>> nothing.__named__
    ('K0', 'an example')
    """

    def mark(thing: T) -> T:
        thing.__named__ = (identifier, source)  # type: ignore[attr-defined]
        if use or fits:
            thing.__fit__ = fit(use, fits)  # type: ignore[attr-defined]
        return checked(thing)

    return mark


def catalogue(kind: str = "") -> list[System]:
    """List every marked class and function of a kind, or of all kinds.

    >>> [s.name for s in catalogue("recipe")][:2]
    ['cab_ucb', 'cab_ts']
    """
    return sorted(_systems(kind), key=lambda s: (s.id[:1], int(s.id[1:]), s.kind, s.name))


def parts(kind: str) -> list[System]:
    """List the parts of a kind in the order of their names, including exported classes without a source.

    >>> "TopK" in [s.name for s in parts("choice")]
    True
    """
    plain = () if kind in _RESULTS else (s for s in _other_parts(kind) if _is_part(s))
    return sorted([*catalogue(kind), *plain], key=lambda s: s.name.lower())


def _is_part(system: System) -> bool:
    thing = _thing(system)
    return inspect.isclass(thing) and not issubclass(thing, tuple)


def _systems(only: str = "") -> Iterator[System]:
    for place, kind in KINDS.items():
        if only not in ("", kind):
            continue
        home = importlib.import_module(place)
        inside = pkgutil.iter_modules(getattr(home, "__path__", ()), f"{place}.")
        folders = [info.name for info in inside if info.ispkg and info.name not in KINDS]
        for module in (home, *map(importlib.import_module, folders)):
            for thing in vars(module).values():
                mark = getattr(thing, "__named__", None)
                if isinstance(mark, tuple) and f"{thing.__module__}.".startswith(f"{place}."):
                    yield System(mark[0], thing.__name__, kind, thing.__module__, mark[1], says(thing), _fit(thing))


def says(part: object) -> str:
    """Return the first sentence of a docstring.

    >>> says(says)
    'Return the first sentence of a docstring.'
    """
    first = " ".join((inspect.getdoc(part) or "").split("\n\n")[0].split())
    return re.sub(r"; arguments as for `\w+`", "", first)


def of_name(name: str) -> list[System]:
    """Return every part with this name, including exported ones that are not named systems.

    Raises:
        InvalidInput: there is none.

    >>> [s.kind for s in of_name("pgd")]
    ['recipe']
    """
    there = [*catalogue(), *_other_parts()]
    wanted = name.replace("-", "_").lower()
    found = [p for p in there if wanted in (p.name.lower(), snake(p.name))]
    if not found:
        guess = _SAMPLED if samples(name) else suggestion(name, sorted({snake(p.name) for p in there}))
        raise InvalidInput("system", "a name from `evenhand systems`", f"{name}{guess}")
    return found


def describe(name: str) -> str:
    """Describe every part with this name: its call, source and docstring.

    Raises:
        InvalidInput: there is none.

    >>> print(describe("pgd").splitlines()[0])
    recipe pgd, by Chzhen et al. 2023, Box B; Lemmas 1 and 2
    """
    return "\n\n".join(_describe(p) for p in of_name(name))


def _other_parts(only: str = "") -> Iterator[System]:
    """Exported parts that are not named systems, such as choices."""
    for place, kind in KINDS.items():
        if only in ("", kind) and hasattr(importlib.import_module(place), "__all__") and kind != "experiment":
            for part in exports(place).values():
                if not hasattr(part, "__named__") and inspect.getdoc(part):
                    yield System("", part.__name__, kind, part.__module__, "", says(part), None)


def _describe(system: System) -> str:
    origin = f", by {system.source}" if system.source else ""
    fits = f"fits: {system.fit}\n\n" if system.fit else ""
    part = _thing(system)
    arguments = ", ".join(_argument(p) for p in inspect.signature(part).parameters.values())
    return (
        f"{system.kind} {system.name}{origin}\n{system.module}.{system.name}({arguments})\n\n"
        f"{fits}{inspect.getdoc(part) or ''}"
    )


def _thing(system: System) -> Any:
    return getattr(importlib.import_module(system.module), system.name)


def _fit(thing: object) -> Fit | None:
    found: Fit | None = getattr(thing, "__fit__", None)
    return found


def _argument(p: inspect.Parameter) -> str:
    hint = p.annotation if isinstance(p.annotation, str) else inspect.formatannotation(p.annotation)
    return f"{p.name}: {hint}" + ("" if p.default is inspect.Parameter.empty else f" = {p.default!r}")
