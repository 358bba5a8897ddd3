"""Checks that a decision is of this policy, and that outcomes are of a decision."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats
from evenhand.policy.checks.arrays import NUMBERS, mask, readable
from evenhand.problem.problem import Problem

_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)
_AXES = [1, 2, 2, 1, 1, 1, 1, 3, 3, 3, 2, 4, 2, 2]  # of the arrays of a decision
_USUAL = [_INT if f in ("id", "plays", "groups") else _FLOAT for f in Decision._fields[:-1]]


def receipt(d: object) -> None:
    """Refuse anything but a decision made of arrays of numbers."""
    if not isinstance(d, Decision):
        raise InvalidInput("decision", "a Decision, as `decide` and `act` return them", shown(d))
    arrays: tuple[Any, ...] = d[:-1]  # the last field is names
    try:
        if [z.dtype for z in arrays] == _USUAL:
            return
    except AttributeError:  # of something that is not an array
        pass
    for field, z in zip(d._fields, arrays, strict=False):
        if readable(f"decision.{field}", z) is not z:
            raise InvalidInput(f"decision.{field}", "an array as `decide` and `act` return them", z.dtype)


def decision(d: Decision, replicas: int, plays: int, features: int, problem: Problem) -> None:
    """Refuse a decision of another state or policy: kernels do not look."""
    receipt(d)
    if [z.ndim for z in d[:-1]] != _AXES:
        found = [getattr(d, field).ndim for field in d._fields[:-1]]
        i = next(i for i, axes in enumerate(_AXES) if found[i] != axes)
        raise InvalidInput(f"decision.{d._fields[i]}", f"an array of {_AXES[i]} axes", f"one of {found[i]}")
    if d.id.shape != (3,):
        raise InvalidInput("decision.id", "shape (3,)", d.id.shape)
    shape, x, z, groups = d.plays.shape, d.features.shape, d.known.shape, d.groups.shape
    each = len(d.counted) == len(d.forced) == len(d.time) == groups[0] == replicas
    if not each or not shape == x[:2] == z[:2] == (replicas, plays) or groups[1] not in (1, plays):
        raise InvalidInput("decision", f"one of this state, with plays of shape {(replicas, plays)}", shape)
    widths = x[2], z[2], d.prices.shape[3], groups[2]
    expected = features or x[2], len(problem.known), len(problem.learned), len(problem.groups)
    if widths != expected:
        names = "features, known outcomes, learned outcomes and groupings"
        raise InvalidInput("decision", f"one of this policy, with {expected} {names}", widths)


def wrong_decision(d: Decision, r: int, field: int, candidates: int, problem: Problem) -> InvalidInput:
    """Return the error of a decision that was changed before it was committed, by the field that `standing` found."""
    if field == 0:
        return InvalidInput(f"decision.counted[{r}]", "0 or 1, and 0 where nothing is played", d.counted[r])
    if field == 1:
        return InvalidInput(f"decision.plays[{r}]", f"different candidates below {candidates}, or -1", d.plays[r])
    return InvalidInput(f"decision.groups[{r}]", f"columns below {len(problem.columns)}", d.groups[r])


def pair(c: Context, d: Decision, n_rows: int) -> None:
    """Refuse a context in which a decision cannot have been made."""
    if d.plays.max() >= c.features.shape[1]:
        raise InvalidInput("decision", f"plays among the {c.features.shape[1]} candidates of the context", d.plays)
    if d.row_prices.shape != (len(d.plays), n_rows):
        raise InvalidInput("decision", f"one of this policy, with {n_rows} priced rows", d.row_prices.shape)


def outcomes(y: Floats, observed: Bools | None, exposed: Bools | None, d: Decision, problem: Problem) -> Floats:
    """Return outcomes that kernels can read, `(P,M+B)`; refuse those that do not belong to a decision."""
    expected = (*d.plays.shape, len(problem.observed))
    if type(y) is not np.ndarray or y.dtype not in NUMBERS:
        y = readable("outcomes", y)
    if y.shape != expected:
        raise InvalidInput("outcomes", f"shape {expected}, a column for each of {problem.observed}", y.shape)
    if observed is not None:
        mask("observed", observed, expected)
    if exposed is not None:
        mask("exposed", exposed, d.plays.shape)
    return y
