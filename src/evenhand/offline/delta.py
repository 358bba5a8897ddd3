"""The objective of several averages, with its error by the delta method, and of sums of shares by their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.objectives.base import Objective
from evenhand.offline.events import Occurrences, scaled
from evenhand.offline.scores import STILL, Average, Estimate
from evenhand.replay.clusters import Clusters

_ROUGH = 0.1  # of a standard error, by how much the delta method may be off


def objective_of(objective: Objective, averages: Sequence[Average]) -> Average:
    """Return the objective of averages of its outcomes.

    Equation: f(z) with the influence psi_i = f'(z) . psi_i(z), where f' is a supergradient (the delta method). The
    influence is NaN if f has none, as on the edge of its domain, where f(z) may be -inf.

    >>> from evenhand.objectives import AlphaFair
    >>> one, two = Average.of(np.array([1.0, 3.0])), Average.of(np.array([1.0, 0.0]))
    >>> found = objective_of(AlphaFair(("a", "b"), alpha=1.0), [one, two])
    >>> round(found.value, 4), found.psi.tolist()
    (0.0, [0.5, -0.5])
    """
    z = np.array([average.value for average in averages])
    value, nothing = float(objective.value(z)), np.full(len(averages[0].psi), np.nan)
    try:
        slope = objective.supergradient(z)
    except InvalidInput:
        return averages[0]._replace(value=value, psi=nothing, moves=STILL)
    each = list(zip(slope.tolist(), averages, strict=True))
    psi = sum((g * average.psi for g, average in each), np.zeros(len(nothing)))
    moved = np.asarray(sum(g * average.moves for g, average in each))
    return averages[0]._replace(value=value, psi=psi, moves=moved)


def add_shares(
    parts: Iterable[tuple[str, float, Average]], occurrences: Mapping[str, Occurrences], w: Floats, clusters: Clusters
) -> Estimate:
    """Estimate a sum of parts by name, weight and weighted average, of which outcomes of two values are shares.

    Effective cases are those of the weights of rows, `(N)`.
    """
    cases, found = clusters.effective(w), list[tuple[Average, Estimate]]()
    for name, weight, part in parts:
        own = occurrences.get(name)
        ends = own.ends if own is not None and own.risks(w) else None
        found.append((part, part.counted(cases, None if ends is None else scaled(ends, weight))))
    total, value = found[0]
    for part, estimate in found[1:]:
        less = part.times(-1.0)
        total, value = total.less(less), total.beyond(value, less, estimate.negative())
    return value


def trouble(objective: Objective, averages: Sequence[Average], policy: str) -> str | None:
    """Say why an objective has no value or no valid standard error at some averages.

    The delta method follows a tangent. It is compared with what f itself does over an error of the averages: at the 2 m
    points z +- sqrt(m) l_j, where l_j are the columns of a root of their covariance (a cubature rule of degree 3).
    """
    z = np.array([average.value for average in averages])
    try:
        objective.check(z, f"the averages of {policy!r}")
    except InvalidInput as error:
        return f"{policy!r} has no value: {error}"
    psi = np.stack([average.psi for average in averages], 1)
    values, vectors = np.linalg.eigh(psi.T @ psi / len(psi) ** 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0) * len(z))
    around = objective.value(np.concatenate([z + root.T, z - root.T]))
    straight = float(np.sqrt((objective.supergradient(z) @ root) ** 2 @ np.ones(len(z)) / len(z)))
    bent = float(around.std()) if np.isfinite(around).all() else np.inf
    if abs(bent - straight) <= _ROUGH * straight + 1e-12 * float(np.abs(around[np.isfinite(around)]).max(initial=0.0)):
        return None
    return f"the objective bends within the error of {policy!r}: its standard error, by a tangent, is rough"
