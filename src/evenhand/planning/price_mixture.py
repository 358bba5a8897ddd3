"""Plans over any number of contexts: a few price vectors with weights, which passes over the contexts find.

At prices of the rows every context has a best action. So a plan is a lottery over price vectors: one is drawn per
context, and its best action is played. No more of them are needed than there are rows, and one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError, InfeasibleProblem
from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning.moments import Block, Contexts, Memory, Policies, Terms, policies
from evenhand.planning.smoothed_dual import Scale, minimise, scale_of

_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Mixture(NamedTuple):
    """A lottery over policies."""

    weights: Floats  # (L,)
    value: float
    prices: Floats  # (M,) of the limits in the small program


class Excess(NamedTuple):
    """The least amount by which limits can be exceeded, all by the same fraction of their sizes."""

    part: float
    prices: Floats  # (M,) of which rows exclude each other


def sizes(bound: Floats, scale: Scale) -> Floats:
    """Return the sizes in which limits are kept, `(M)->(M)`: their own, or that of the rows if these are smaller.

    A limit of 0 is kept in units of the rows.
    """
    own = np.abs(bound)
    return np.where(own > 1e-9 * scale.rows, np.minimum(own, scale.rows), scale.rows)


def mix(found: Policies, bound: Floats, scale: Scale) -> Mixture | None:
    """Mix policies, `(L,M),(M)->(L),(),(M)`; None if no lottery keeps to the limits.

    Equation: max sum_l x_l value_l s.t. sum_l x_l used_l <= bound, sum_l x_l = 1, x >= 0. An optimum at a corner has
    at most M + 1 policies.
    """
    from scipy.optimize import linprog

    size = sizes(bound, scale)
    shift = found.values.mean()  # the tolerances of the solver are absolute
    result = linprog(  # type: ignore[call-overload]  # the stubs want the options of one method
        (shift - found.values) / scale.worth,
        A_ub=found.used.T / size[:, None],
        b_ub=bound / size,
        A_eq=np.ones((1, len(found.values))),
        b_eq=np.ones(1),
        method="highs-ds",
        options=_EXACT,
    )
    if result.status != 0:
        return None
    weights = np.maximum(result.x, 0.0)
    weights /= weights.sum()
    prices = np.maximum(-result.ineqlin.marginals, 0.0) * scale.worth / size
    return Mixture(weights, float(weights @ found.values), prices)


def excess(found: Policies, bound: Floats, scale: Scale) -> Excess:
    """Exceed limits by as little as possible, `(L,M),(M)->(),(M)`; prices add up to 1 in the sizes of the limits.

    Equation: min s s.t. sum_l x_l used_l <= bound + s size, sum_l x_l = 1, x >= 0.
    """
    from scipy.optimize import linprog

    size, count = sizes(bound, scale), len(found.values)
    result = linprog(  # type: ignore[call-overload]  # the stubs want the options of one method
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([found.used.T / size[:, None], -np.ones(len(bound))]),
        b_ub=bound / size,
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * count + [(None, None)],
        method="highs-ds",
        options=_EXACT,
    )
    if result.status != 0:
        raise EvenhandError(f"the small program of {count} policies was not solved: {result.message}")
    return Excess(float(result.fun), np.maximum(-result.ineqlin.marginals, 0.0) / size)


_SAMPLED = (0.3, 0.1, 0.03, 0.01, 0.003)  # temperatures for the sample; the last is that for all contexts
_PASSES = 8  # of Newton's method over all contexts; it ends sooner where it is close
_ROUNDS = 200  # of mixing
_TOWARDS = np.array([[0.3], [0.03], [0.1], [0.6], [1.0]])  # parts of the way between two price vectors
_NARROWER = 0.5  # from one round to the next
_PENALTIES = 4.0 ** np.arange(12)[:, None]  # for what exceeds limits, in units of the worth
_MENDINGS = 40  # passes that look for a policy within the limits
_WITHIN = 1e-10  # of their sizes, by which limits may be exceeded, as sums are rounded
_PROVEN = 1e-9  # the same, beyond which they are
_BLAMED = 1e-6  # the part of all prices that a row has at least


class PriceMixture(NamedTuple):
    """A lottery over price vectors, and a proof of how good it is."""

    prices: Floats  # (L,M)
    weights: Floats  # (L,)
    value: float  # per context
    bound: float  # what no plan exceeds
    used: Floats  # (M,) of the rows, per context
    dual: Floats  # (M,) what one more unit of every limit is worth

    @property
    def gap(self) -> float:
        """The possible distance from the optimum, as a fraction."""
        return relative_gap(self.value, self.bound)


def relative_gap(value: float, bound: float) -> float:
    """Return by how much a bound exceeds a value, as a fraction of the larger one.

    >>> relative_gap(0.9, 1.0), relative_gap(1.0, 1.0)
    (0.09999999999999998, 0.0)
    """
    return max(bound - value, 0.0) / max(abs(bound), abs(value), 1e-300)


def best_mixture(contexts: Contexts, sample: Block, terms: Terms, labels: Sequence[str], gap: float) -> PriceMixture:
    """Find a plan whose value is within a gap of the optimum, or else the best plan found.

    1. Newton's method on the smoothed dual: on the sample at falling temperatures, then on all contexts.
    2. One pass of the policies at these prices, and at prices a little to each side. A small program mixes them within
       the limits. The least value of the dual function at all prices that were met is a bound.
    3. While the gap is larger: the same at prices between those of the bound and those of the small program.

    Args:
        contexts: all of them.
        sample: some of them.
        terms: objective, rows and limits.
        labels: of the rows, for messages.
        gap: relative.

    Raises:
        InfeasibleProblem: no plan keeps to the limits; the message names rows that exclude each other.
    """
    if not len(terms.bound):
        best = policies(contexts, terms, np.zeros((1, 0)))
        value = float(best.values[0])
        return PriceMixture(best.prices, np.ones(1), value, value, best.used[0], np.zeros(0))
    scale, prices = scale_of(sample, terms), np.zeros(len(terms.bound))
    for temperature in _SAMPLED:
        prices, _ = minimise(Memory((sample,)), terms, scale, prices, temperature, 60)
    prices, least = minimise(contexts, terms, scale, prices, _SAMPLED[-1], _PASSES)
    sides, width = _sides(terms, scale), 0.5 * _SAMPLED[-1]
    found, centres = Policies.none(terms), prices[None]
    rounds = 0
    while True:
        rounds += 1
        around = np.vstack([centres, centres[0] + width * sides, centres[0] - width * sides])
        found = found.and_(policies(contexts, terms, around))
        mixture = mix(found, terms.bound, scale)
        if mixture is None:
            found, mixture = _mend(contexts, terms, scale, labels, found, prices)
        bounds = found.bounds(terms)
        least = min(least, float(bounds.min()))
        if relative_gap(mixture.value, least) <= gap or rounds == _ROUNDS:
            break
        proof = found.prices[bounds.argmin()]
        centres, width = proof + _TOWARDS * (mixture.prices - proof), _NARROWER * width
    some = np.flatnonzero(mixture.weights)
    weights, kept = mixture.weights[some], found.take(some)
    return PriceMixture(kept.prices, weights, float(weights @ kept.values), least, weights @ kept.used, mixture.prices)


def _sides(terms: Terms, scale: Scale) -> Floats:
    """Return directions of prices, `->(K,M)`: of rows that are not sums of others, on which policies depend alone."""
    from scipy.linalg import qr

    rows = np.moveaxis(terms.factors, 1, 0).reshape(len(terms.bound), -1) / scale.rows[:, None]
    _, triangle, order = qr(rows.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    kept: Ints = np.sort(order[: len(size)][size > 1e-9 * size.max(initial=0.0)])
    return np.asarray(np.diag(scale.prices)[kept])


def _mend(
    contexts: Contexts, terms: Terms, scale: Scale, labels: Sequence[str], found: Policies, prices: Floats
) -> tuple[Policies, Mixture]:
    """Add policies until a lottery over them keeps to the limits.

    The prices of the program that exceeds limits least say what to use less of.

    Raises:
        InfeasibleProblem: nothing does.
    """
    bare, size = terms.without_worth(), sizes(terms.bound, scale)
    for _ in range(_MENDINGS):
        at = excess(found, terms.bound, scale)
        if at.part <= _WITHIN and (mixture := mix(found, terms.bound, scale)) is not None:
            return found, mixture
        if _proofs(contexts, bare, size, at.prices[None])[0]:
            blamed = _shortest(contexts, bare, size, at.prices)
            raise InfeasibleProblem(f"no plan keeps to these limits at once: {_join_labels(labels, blamed)}")
        found = found.and_(policies(contexts, terms, prices + _PENALTIES * scale.worth * at.prices))
    blamed = np.flatnonzero(at.prices * size > _BLAMED)
    raise InfeasibleProblem(f"no plan was found that keeps to these limits at once: {_join_labels(labels, blamed)}")


def _proofs(contexts: Contexts, bare: Terms, size: Floats, prices: Floats) -> Bools:
    """Return at which prices a policy without worth uses more than the limits allow: nothing keeps to them (Farkas)."""
    unit = (prices * size).sum(1, keepdims=True)
    usable = unit[:, 0] > 0.0
    scaled = prices / np.where(unit > 0.0, unit, 1.0)
    return np.asarray(usable & (policies(contexts, bare, scaled).bounds(bare) < -_PROVEN))


def _shortest(contexts: Contexts, bare: Terms, size: Floats, prices: Floats) -> Ints:
    """Return the rows of a proof from which no row can be left out."""
    while True:
        rows = np.flatnonzero(prices * size > 0.0)
        without = np.repeat(prices[None], len(rows), 0)
        without[np.arange(len(rows)), rows] = 0.0
        enough = np.flatnonzero(_proofs(contexts, bare, size, without))
        if not len(enough):
            return rows
        least = enough[np.argmin((prices * size)[rows[enough]])]  # the row that matters least
        prices = without[least]


def _join_labels(labels: Sequence[str], rows: Ints) -> str:
    return ", ".join(dict.fromkeys(labels[j] for j in rows))
