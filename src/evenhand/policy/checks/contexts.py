"""Checks of contexts against the problem and its model."""

from __future__ import annotations

import warnings

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Context, distinct
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import LARGEST
from evenhand.models.base import Model
from evenhand.models.tabular import NullModel
from evenhand.policy.checks.arrays import readable
from evenhand.problem.problem import Problem

_FLOAT, _INT, _BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


@kernel
def _bad_value(z: Floats) -> int:
    """Position of the first number that cannot be reckoned with, -1 where all can."""
    flat = z.ravel()
    for i in range(len(flat)):
        if not abs(flat[i]) <= LARGEST:
            return i
    return -1


@kernel
def _bad_group(groups: Ints, bounds: Ints) -> tuple[int, int, int]:
    """Replica, candidate and grouping of the first group that there is not, (-1, -1, -1) where all are sound."""
    for r in range(len(groups)):
        for a in range(max(groups.shape[1], len(bounds))):
            here, own = a if groups.shape[1] > 1 else 0, a if len(bounds) > 1 else 0
            for g in range(groups.shape[2]):
                if not bounds[own, g, 0] <= groups[r, here, g] < bounds[own, g, 1]:
                    return r, a, g
    return -1, -1, -1


@kernel
def sound(features: Floats, known: Floats, groups: Ints, bounds: Ints) -> bool:
    """Whether a context passes all checks of values: a single call if nothing is wrong, without a search."""
    x, z, bad = features.ravel(), known.ravel(), 0
    for i in range(len(x)):
        bad += not abs(x[i]) <= LARGEST
    for i in range(len(z)):
        bad += not abs(z[i]) <= LARGEST
    return bad == 0 and _bad_group(groups, bounds)[0] < 0


def context(c: Context, replicas: int, features: int, problem: Problem, last: Context | None = None) -> Context:
    """Return a context that kernels can read; refuse one that does not fit the problem and its model.

    Args:
        c: as it was given.
        replicas, features, problem: what it must fit; 0 features for a model that takes any number of them.
        last: a context that was returned before.
    """
    if last is None or type(c) is not Context or not _alike(c, last):
        if not _is_usual(c):
            c = _readable(c)
        _shapes(c, replicas, features, problem)
    if c.time is not None or problem.until is not None:
        problem.clock.check("context.time", c.time, replicas)
    if problem.noisy:
        _means(c.known[:, :, : len(problem.noisy)], problem)
    if sound(distinct(c.features), c.known, c.groups, problem.bounds):
        if problem.edges is not None:
            problem.edges.check(c.known, c.offered)
        return c
    for field, values in (("features", c.features), ("known", c.known)):
        bad = _bad_value(values)
        if bad >= 0:
            where = tuple(int(i) for i in np.unravel_index(bad, values.shape))
            expected = f"a finite number, of size at most {LARGEST:g}"
            raise InvalidInput(f"context.{field}{list(where)}", expected, values[where])
    r, a, i = _bad_group(c.groups, problem.bounds)
    columns = list(range(*problem.bounds[a if len(problem.bounds) > 1 else 0, i]))
    expected = f"columns {columns} of {problem.groups[i].name!r}"
    if problem.by_action[i]:
        expected += f" for {problem.actions[a]!r}"
    place = [r, a if c.groups.shape[1] > 1 else 0, i]
    raise InvalidInput(f"context.groups{place}", expected, c.groups[tuple(place)])


def _alike(c: Context, last: Context) -> bool:
    """Whether a context has the arrays of another one, apart from features, and features of the same kind and shape."""
    x, before = c.features, last.features
    same = c.known is last.known and c.groups is last.groups and c.offered is last.offered
    return same and type(x) is np.ndarray and x.shape == before.shape and x.dtype == before.dtype


def _is_usual(c: Context) -> bool:
    """Whether arrays are of the usual types: to check each by itself takes 3 us."""
    if type(c) is not Context:
        return False
    x, z, groups, offered, _ = c
    arrays = type(x) is np.ndarray and type(z) is np.ndarray and type(groups) is np.ndarray
    if not (arrays and type(offered) is np.ndarray):
        return False
    return x.dtype == _FLOAT and z.dtype == _FLOAT and groups.dtype == _INT and offered.dtype == _BOOL


def _readable(c: Context) -> Context:
    if not isinstance(c, Context):
        raise InvalidInput("context", "a Context of features, known, groups and offered", shown(c))
    x, known = readable("context.features", c.features), readable("context.known", c.known)
    groups, offered = readable("context.groups", c.groups, "iu"), readable("context.offered", c.offered, "b")
    time = None if c.time is None else readable("context.time", c.time)
    if x is c.features and known is c.known and groups is c.groups and offered is c.offered and time is c.time:
        return c
    return Context(x, known, groups, offered, time)


def _shapes(c: Context, replicas: int, features: int, problem: Problem) -> None:
    x, z, may = c.features.shape, c.known.shape, c.offered.shape
    if len(x) != 3 or x[0] != replicas or features not in (0, x[2]):
        raise InvalidInput("context.features", f"shape ({replicas}, A, {features or 'n'})", x)
    if z[1:] != (x[1], len(problem.known)) or z[0] not in (1, replicas):
        raise _misshapen("context.known", z, (replicas, x[1], len(problem.known)))
    if may[1:] != (x[1],) or may[0] not in (1, replicas):
        raise _misshapen("context.offered", may, (replicas, x[1]))
    if x[1] != len(problem.actions) and problem.names_candidates:
        why = "as some actions are free, have ranges of their own, or are divided into groups"
        expected = f"{len(problem.actions)} candidates, {why}"
        raise InvalidInput("context.features", expected, x)
    g = c.groups.shape
    if len(g) != 3 or g[0] != replicas or g[1] not in (1, x[1]) or g[2] != len(problem.groups):
        shapes = f"shape {(replicas, 1, len(problem.groups))} or {(replicas, x[1], len(problem.groups))}"
        raise InvalidInput("context.groups", shapes, g)


def alike(c: Context, model: Model) -> bool:
    """Warn of candidates with the same features, `(A,n)`, which no model tells apart, if outcomes have to be learned.

    It calls for a look at the first context that offers two candidates. Returns whether this was it, or none is needed.
    """
    if model.n_outcomes == 0 or isinstance(model, NullModel) or getattr(model, "selects", False):
        return True
    if c.offered.sum(1).max() < 2:
        return False
    x = distinct(c.features)
    if (x == x[:, :1]).all():
        text = (
            f"all {x.shape[1]} candidates have the same features, so {type(model).__name__} predicts the same learned "
            "outcomes for all of them: wrap the model in PerAction, which gives actions coefficients of their own, or "
            "give each candidate features of its own"
        )
        warnings.warn(text, EvenhandWarning, stacklevel=4)
    return True


def _means(z: Floats, problem: Problem) -> None:
    low, high = problem.span_by_action[:, :, len(problem.learned) :]
    outside = (z < low) | (z > high)
    if problem.free.any():
        outside &= ~problem.free[:, len(problem.learned) :]
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        ends = problem.span_by_action[:, where[1] if len(low) > 1 else 0, len(problem.learned) + where[2]]
        expected = f"a mean of {problem.noisy[where[2]]!r} in [{ends[0]:g}, {ends[1]:g}], its range"
        raise InvalidInput(f"context.known{list(where)}", expected, z[where])


def _misshapen(field: str, got: tuple[int, ...], expected: tuple[int, ...]) -> InvalidInput:
    return InvalidInput(field, f"shape {expected} or {(1, *expected[1:])}", got)
