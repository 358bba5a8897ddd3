"""Look-up of parts by name among the exports of a package, so that there is no second list to maintain."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from evenhand.core.errors import InvalidInput

T = TypeVar("T")
_SAMPLING = ("thompson", "posteriorsampling")
_OPPOSITE = ("minimize", "minimise")
_CLOSE = 0.65  # the least similarity of a name that is proposed


def snake(name: str) -> str:
    """Return a class's name as files and command lines write it.

    >>> snake("GeneralizedGini"), snake("pgd_adaptive"), snake("TopK")
    ('generalized_gini', 'pgd_adaptive', 'top_k')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def samples(name: str) -> bool:
    """Return whether a name is that of posterior sampling, which is a recipe elsewhere, and a model here.

    >>> samples("thompson_sampling"), samples("PosteriorSampling"), samples("sampled")
    (True, True, False)
    """
    return name.lower().replace("_", "").replace("-", "").startswith(_SAMPLING)


def public(package: str) -> list[str]:
    """Return the names that a package imports from its modules, as its `__all__`: an import there is an export.

    >>> "TopK" in public("evenhand.choices")
    True
    """
    found = vars(sys.modules[package]).items()
    return sorted(name for name, z in found if not name.startswith("_") and not isinstance(z, ModuleType))


def exports(package: str) -> dict[str, Any]:
    """Return the public classes and functions of a package by the names that files use, without protocols.

    >>> exports("evenhand.choices")["top_k"].__name__
    'TopK'
    """
    module = importlib.import_module(package)
    found = {name: getattr(module, name) for name in module.__all__}
    return {snake(n): z for n, z in found.items() if callable(z) and not getattr(z, "_is_protocol", False)}


def closest(field: str, known: Mapping[str, T], name: str) -> T:
    """Return the entry with this name.

    Raises:
        InvalidInput: nothing has; the message lists the names that exist, or some and the one that was probably meant.

    >>> closest("recipe", {"pgd": 1, "uniform": 2}, "unifrom")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: recipe: expected one of pgd, uniform, got unifrom (did you mean uniform?)
    """
    if name not in known:
        from evenhand.core.texts import few  # not above, as it needs NumPy

        guess = suggestion(name, known)
        raise InvalidInput(field, f"one of {few(known) if guess else ', '.join(known)}", f"{name}{guess}")
    return known[name]


def unknown_key(field: str, known: Iterable[str], key: str) -> InvalidInput:
    """Return the error of an unknown key.

    >>> str(unknown_key("budget.totl", ("rate", "total"), "totl"))
    'budget.totl: expected one of the keys rate, total, got an unknown key (did you mean total?)'
    """
    known = tuple(known)
    return InvalidInput(field, f"one of the keys {', '.join(known)}", f"an unknown key{suggestion(key, known)}")


def suggestion(name: object, known: Iterable[object], *, minimise: str = "maximize = {cost = -1}") -> str:
    """Return the known name closest to `name`, worded for a message; an empty text if none is close.

    Args:
        name: what was written.
        known: what could have been.
        minimise: how one minimises where `maximize` is known, as the closest name has the opposite sense.

    >>> suggestion("rigde", ["ridge", "logistic"]), suggestion("tree", ["ridge", "logistic"])
    (' (did you mean ridge?)', '')
    >>> suggestion("RIDGE", ["ridge"])
    ' (did you mean ridge?)'
    >>> suggestion("minimize", ["maximize", "horizon"])
    ': to minimise, give a weight of -1: maximize = {cost = -1}'
    """
    names = [str(k) for k in known]
    if str(name).lower() in _OPPOSITE and "maximize" in names and "minimize" not in names:
        return f": to minimise, give a weight of -1: {minimise}"
    folded = {k.casefold(): k for k in reversed(names)}
    found = difflib.get_close_matches(str(name), names, n=1, cutoff=_CLOSE)
    found = found or [folded[k] for k in difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=_CLOSE)]
    return f" (did you mean {found[0]}?)" if found else ""
