"""In which settings two policies differ, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from evenhand.policy.policy import Policy

_MOST = 5  # differences that are told
_HASH = re.compile(r"[0-9a-f]{16}")  # stands for a setting that is not a number or a name


def differences(there: Policy, here: Policy) -> str:
    """List the settings in which two policies differ: those of the problem, or else those of the recipe.

    >>> import evenhand as eh
    >>> from dataclasses import replace
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"), eh.Outcome("post", known={"yes": 1})),
    ...                   maximize="won", subject_to=(eh.Budget("post", rate=0.3),), horizon=90)
    >>> less = replace(shop, subject_to=(eh.Budget("post", rate=0.2),), withdrawn=("no",))
    >>> differences(eh.resolving(shop), eh.resolving(less))
    "budget post: rate 0.3 there, 0.2 here; withdrawn: () there, ('no',) here"
    >>> differences(eh.resolving(shop, warmup=4), eh.resolving(shop, warmup=5))
    'choice.rounds: 4.0 there, 5.0 here'
    """
    found = list(_of_problem(there.problem, here.problem)) or list(_of_parts(there, here))
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more


def _of_problem(there: Any, here: Any) -> Iterator[str]:
    for f in fields(there):
        before, now = getattr(there, f.name), getattr(here, f.name)
        if before == now:
            continue
        if isinstance(before, Sequence) and any(is_dataclass(z) for z in (*before, *now)):
            yield from _of_named(_named(before), _named(now))
        else:
            yield f"{f.name}: {before!r} there, {now!r} here"


def _named(parts: Sequence[Any]) -> dict[str, Any]:
    """The parts by their kind and the name that they state first, such as "budget post"."""
    found: dict[str, Any] = {}
    for part in parts:
        first = getattr(part, fields(part)[0].name) if is_dataclass(part) and fields(part) else part
        name = f"{type(part).__name__.lower()} {first}"
        found[name if name not in found else f"{name}, number {len(found) + 1}"] = part
    return found


def _of_named(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    for name in {**there, **here}:
        before, now = there.get(name), here.get(name)
        if before is None or now is None:
            yield f"{name}: {'here alone' if before is None else 'there alone'}"
        elif before != now and type(before) is type(now) and is_dataclass(before):
            each = ((f.name, getattr(before, f.name), getattr(now, f.name)) for f in fields(before))
            yield f"{name}: " + ", ".join(f"{field} {a!r} there, {b!r} here" for field, a, b in each if a != b)
        elif before != now:
            yield f"{name}: others there and here"


def _of_parts(there: Policy, here: Policy) -> Iterator[str]:
    """The settings of parts by their paths, without those that say again what the problem says."""
    before, now = there._mark.settings, here._mark.settings
    for path in {**before, **now}:
        a, b = before.get(path), now.get(path)
        told = a is None or b is None or not (_HASH.fullmatch(a) and _HASH.fullmatch(b))
        if a != b and told and "problem" not in path.split(".") and path != "name":
            yield f"{path}: {'none' if a is None else a} there, {'none' if b is None else b} here"
