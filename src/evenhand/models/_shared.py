"""Functions that the kernels and the constructors of several models share."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.luck import box_muller
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import nonnegative, number
from evenhand.models.base import Lesson, Model, Parametric
from evenhand.numerics.newton import cholesky, invert

EVERYWHERE = np.zeros((0, 0, 0), bool)  # a mask that is true everywhere


@kernel
def unit(low: float, high: float) -> float:
    """The unit in which widths of an outcome are stated: the length of its range, or 1 if that is infinite."""
    return high - low if np.isfinite(high - low) else 1.0


@kernel
def ends(clipped: bool, low: float, high: float) -> tuple[float, float]:
    """The ends of intervals of an outcome: those of its range, or infinite ones."""
    return (low, high) if clipped else (-np.inf, np.inf)


@kernel
def optimism(mean: float, half: float, low: float, high: float, price: float) -> float:
    """price * (the end of [mean +- half], clipped to [low, high], that the price favours, minus the mean)."""
    if price > 0.0:
        return price * (min(max(mean + half, low), high) - mean)
    if price < 0.0:
        return price * (min(max(mean - half, low), high) - mean)
    return 0.0


@inlined
def count_round(lesson: Lesson, r: int, rounds: Floats, taught: Floats) -> None:
    """Count a round of a replica, or the lesson's part of one."""
    size = lesson.weight * lesson.share[r if len(lesson.share) > 1 else 0]
    rounds[r] += size
    if lesson.taught:
        taught[r] += size


def check_sizes(name: str, n_features: int, n_outcomes: int, ridge: float = 1.0) -> None:
    """Refuse sizes below 1 and a ridge that is not positive, because with ridge 0 early estimates need not exist."""
    if n_features < 1 or n_outcomes < 1:
        raise InvalidInput(f"{name}.n_features, n_outcomes", "at least 1 each", (n_features, n_outcomes))
    number(f"{name}.ridge", ridge, "a number above 0 (such as 1e-6 for next to none)", lambda x: 0 < x < math.inf)


def check_exploration(name: str, scale: float, growth: float) -> None:
    """Refuse a negative scale of the bonus, and a growth that would fit again at once."""
    nonnegative(f"{name}.scale", scale)
    number(f"{name}.growth", growth, "a finite number above 1", lambda x: 1 < x < math.inf)


def check_binary(name: str, low: Floats, high: Floats) -> None:
    """Refuse an outcome that has no odds, `(1),(1)`."""
    if low[0] < 0.0 or high[0] > 1.0:
        raise InvalidInput(name, "an outcome with a range within [0, 1]", (float(low[0]), float(high[0])))


def refuse_luck(name: str, inner: Model) -> None:
    """Refuse an inner model that uses luck, for wrappers that pass no luck on."""
    if inner.draws(1):
        expected = f"a model without luck of its own; wrap it in {type(inner).__name__}, not the other way round"
        raise InvalidInput(f"{name}.inner", expected, inner)


def check_parametric(name: str, inner: Model) -> None:
    """Refuse an inner model without parameters to draw."""
    if not isinstance(inner, Parametric):
        expected = "a model with parameters to draw, such as Logistic, GeneralizedLinear or OnePass"
        raise InvalidInput(f"{name}.inner", expected, inner)


def numbers_for(normals: int) -> int:
    """Return the number of uniform numbers that some normal ones need, which come in pairs."""
    return normals + normals % 2


def normals_by_block(u: Floats, n_blocks: int, size: int) -> Floats:
    """Make normal numbers for every block from uniform ones, `(numbers_for(U size))->(U,size)`."""
    return box_muller(u, n_blocks * size).reshape(len(u), n_blocks, size)


def check_blocks(name: str, n_blocks: int, candidates: int) -> None:
    """Refuse a number of candidates that does not divide into `n_blocks` blocks of equal length."""
    if candidates % n_blocks:
        raise InvalidInput("candidates", f"a multiple of {name}.n_blocks = {n_blocks}", candidates)


def wider(first: int, ridge: Floats, inverse: Floats) -> None:
    """Set features from one on to the inverse of the penalty alone, where there is one, `(),(),(A,n,n)->`."""
    each = np.repeat(ridge, len(inverse) // len(ridge))
    more = np.arange(first, inverse.shape[1])
    inverse[:, more, more] = np.divide(1.0, each, out=np.zeros_like(each), where=each > 0.0)[:, None]


@kernel
def without_data(rows: Ints, ridge: Floats, inverse: Floats) -> None:
    """Set rows by action to the inverse of the penalty alone, where there is one, `(rows),(),(A,n,n)->`."""
    n, actions = inverse.shape[1], len(inverse) // len(ridge)
    for row in rows:
        rho = ridge[row // actions]
        if rho > 0.0:
            matrix = np.zeros((n, n))
            for i in range(n):
                matrix[i, i] = rho
            cholesky(matrix)
            invert(matrix, inverse[row])


def copy_where(source: Any, target: Any, where: Bools) -> None:
    """Copy the replicas `where` from one state of a model to another, by action too.

    Settings, such as ranges, never change, so copying parts of them does no harm.
    """
    for f in dataclasses.fields(source):
        old, new = getattr(target, f.name), getattr(source, f.name)
        if isinstance(new, list):
            for a, b in zip(new, old, strict=True):
                copy_where(a, b, where)
        elif dataclasses.is_dataclass(new):
            copy_where(new, old, where)
        elif isinstance(new, np.ndarray) and new.ndim and len(new) % len(where) == 0:
            rows = np.repeat(where, len(new) // len(where))
            shape = tuple(np.maximum(old.shape, new.shape))
            if old.shape != shape:  # a history that has grown since
                grown = np.zeros(shape, new.dtype)
                grown[tuple(slice(0, n) for n in old.shape)] = old
                setattr(target, f.name, grown)
                old = grown
            old[(rows, *(slice(0, n) for n in new.shape[1:]))] = new[rows]


def linear_parts(theta: Floats, x: Floats, w: Floats) -> Floats:
    """Attribute the difference in w.(theta x) of two candidates to features, `(M,n),(2,n),(K,1|2,M)->(K,n)`.

    Candidates that have one feature more lead with the index of an action, which says whose row of theta they read, and
    has no part.
    """
    replicas, lead = len(x), x.shape[2] - theta.shape[2]
    found = np.zeros((replicas, w.shape[1], x.shape[2]))
    for side, sign in enumerate((1.0, -1.0)):
        rows = np.arange(replicas) * (len(theta) // replicas) + (x[:, side, 0].astype(np.int64) if lead else 0)
        prices = w[:, :, side if w.shape[2] > 1 else 0]
        found[:, :, lead:] += sign * np.einsum("rkm,rmn,rn->rkn", prices, theta[rows], x[:, side, lead:])
    return found


def logistic_parts(theta: Floats, x: Floats, w: Floats) -> Floats:
    """Attribute the difference in w sigmoid(theta.x) of two candidates to features, `(n),(2,n),(K,1|2,1)->(K,n)`.

    Equation: on the straight way from the one log-odds to the other every feature has the same share of the difference
    of probabilities as of that of log-odds (the integral of gradients along it).
    """
    own = linear_parts(theta[:, None], x, np.ones((len(x), 1, 1, 1)))
    step, first = own.sum(2, keepdims=True), _log_odds(theta, x)
    p = 1.0 / (1.0 + np.exp(-np.stack([first, first - step[:, 0, 0]])))
    near = np.abs(step[:, 0, 0]) < 1e-9
    slope = np.where(near, p[0] * (1.0 - p[0]), (p[0] - p[1]) / np.where(near, 1.0, step[:, 0, 0]))
    return np.asarray(w.mean(2) * slope[:, None, None] * own)


def _log_odds(theta: Floats, x: Floats) -> Floats:
    """The log-odds of the first candidate, `(n),(2,n)->()`."""
    own = x[:, :1].repeat(2, 1)
    own[:, 1, x.shape[2] - theta.shape[1] :] = 0.0
    return np.asarray(linear_parts(theta[:, None], own, np.ones((len(x), 1, 1, 1))).sum((1, 2)))
