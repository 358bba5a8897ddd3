"""What is wrong with what is asked of a log: budgets that decide nothing, and lists beyond its range."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.offline.evidence import Tables
from evenhand.offline.scores import doubly_robust
from evenhand.replay.clusters import Clusters
from evenhand.replay.units import Units

_ERRORS = 3.0  # standard errors that chance is allowed
_SMALL = 0.01  # part of the rows


def idle(
    worth: Floats, tables: Mapping[str, Tables], limits: Mapping[str, float], clusters: Clusters | None = None
) -> str | None:
    """Say that budgets never bind: without limits, the best policy by the models uses less of all of them.

    Where it uses more of one of them, another one may bind within it or not, of which nothing is said.

    Args:
        worth: `(N,A)` what is predicted of the objective.
        tables: what is predicted of every outcome, and its scores.
        limits: budgets per case, by outcome.
        clusters: of the rows.
    """
    best, said = worth >= worth.max(1, keepdims=True), list[tuple[str, str]]()
    for name, limit in limits.items():
        cost = np.where(best, tables[name].predicted, np.inf)  # of actions that are worth the same, the cheapest
        used = doubly_robust(np.eye(worth.shape[1])[cost.argmin(1)], tables[name].scores, clusters)
        if used.value + _ERRORS * used.se > limit * (1.0 + 1e-9):
            return None
        said.append((f"{amount(limit)} {name}", amount(used.value)))
    if len(said) == 1:
        return f"the budget of {said[0][0]} per case never binds: the best policy uses {said[0][1]} without it"
    if said:
        budgets, uses = (" and ".join(each) for each in zip(*said, strict=True))
        return f"the budgets of {budgets} per case never bind: the best policy uses {uses} without them"
    return None


def outside(numbers: Mapping[str, Floats], coding: Units) -> str | None:
    """Say which number of a list lies outside the range of the log, where it is clipped; None if hardly any does.

    One that is beyond by more than the range is wide is reported, such as an amount in other units, and otherwise what
    more than 1 % of the cases have.
    """
    found = []
    for name, scale in coding.numeric.items():
        z = numbers[name]
        beyond = np.maximum(scale.low - z, z - scale.high)
        part = float((beyond > 0.0).mean())
        if part > _SMALL or (beyond > scale.high - scale.low).any():
            found.append((-part, name))
    if not found:
        return None
    part, name = min(found)
    scale, z = coding.numeric[name], numbers[name]
    others = f", and so for {len(found) - 1} other columns" if len(found) > 1 else ""
    return (
        f"{-part:.1%} of the cases lie beyond the log in {name!r}, which counts as its end: "
        f"{coding.said(name, scale.low)} to {coding.said(name, scale.high)} there, "
        f"{coding.said(name, float(np.nanmin(z)))} to {coding.said(name, float(np.nanmax(z)))} in the list{others}"
    )
