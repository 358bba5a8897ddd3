"""The best mixture of policies for a concave objective, by small linear programs over tangents and policies so far."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.types import Floats
from evenhand.objectives.base import Objective, point_and_slope
from evenhand.planning.program import Sample, best_plays, conflict_message, largest, solve
from evenhand.sets.base import ConvexSet

ROUNDS = 300
_EDGE = 100  # rounds after which averages that are still on the edge of a domain stay there
_INSIDE = 1e-6  # how far out of a set averages may be, in units of the largest of them
_RAISES = 4  # of the price of being outside of a set, before there is no way in


class Averages(NamedTuple):
    """The averages of a policy."""

    outcomes: Floats  # (m)
    rows: Floats  # (d) of what limits are on
    followed: tuple[Floats, ...] = ()  # (m') each, of the outcomes that a convex set is about


class Finder(Protocol):
    """Finds the best policies at prices, among those within its own limits."""

    @property
    def most(self) -> Floats:
        """The largest size of each outcome in one round, `()->(m)`."""

    @property
    def size(self) -> float:
        """The largest size of followed outcomes."""

    @property
    def rows(self) -> int:
        """The number of contexts."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The subjects of the limits, for messages."""

    def first(self, slope: Floats) -> Averages:
        """Return a policy within all limits, `(m)->`.

        Raises:
            InfeasibleProblem: there is none.
        """

    def best(self, q: Floats, lam: Floats, tilts: list[Floats]) -> tuple[Averages, float]:
        """Return the policy of the greatest mean q.y - lam.c - sum_i tilt_i.w_i, and that mean, `(m),(d)->`."""


class SetLimit(NamedTuple):
    """A convex set in which the average of followed outcomes must lie."""

    label: str
    within: ConvexSet


class Best(NamedTuple):
    """The optimum over static policies on a sample."""

    value: float
    prices: Floats  # (d,) of the constraint rows
    end: Floats  # (m,) its average outcomes
    gap: float  # an upper bound on what is missing to the optimum


class Mixture(NamedTuple):
    """A mixture of policies."""

    best: Best
    shares: Floats  # (i,) of the policies, in the order in which they were found; those found later have none


def mixture(
    objective: Objective,
    finder: Finder,
    limit: Floats,
    start: Floats,
    sets: tuple[SetLimit, ...] = (),
    *,
    tolerance: float = 1e-6,
) -> Mixture:
    """max f(z) over the averages z of mixtures of policies, within limits on their averages, by HiGHS, `(d),(m)->`.

    Equation: max s over s <= f(z_k) + g_k.(z - z_k) for tangents k, z = sum_i l_i y_i, sum_i l_i c_i <= limit over
    lotteries l of policies i. The duals of one program give the next policy, the best one at q.y - lam.c, and its
    optimum the next tangent (Dantzig & Wolfe 1960; Kelley 1960). With q = sum_k m_k g_k, any duals bound f* by
    sum_k m_k (f(z_k) - g_k.z_k) + lam.limit + max_i [q.y_i - lam.c_i]: the gap is to the least of these bounds.
    A convex set S adds cuts a.w - s <= h_S(a) on the average w of the outcomes it is about, one wherever w leaves it,
    with h_S its support function and s, the same in all cuts, at a price that rises until s is 0 at the optimum. Their
    duals nu enter prices and bounds as lam does.

    Args:
        objective: f; only its values and supergradients are used.
        finder: of policies.
        limit: upper bounds on the averages of rows, in units of about 1.
        start: a point in the domain of f.
        sets: one per array of followed outcomes.
        tolerance: of the gap, per unit of what a round can add to f by its slope at the start; units do not matter.

    Raises:
        InfeasibleProblem: no mixture keeps to the limits and sets; names the sets that have a price.
        InvalidInput: a start or all averages are outside the domain, or a gap stays above the tolerance.
    """
    slope = objective.supergradient(start)
    worth_unit = _worth(objective, slope, finder.most)
    tangents, slopes = [float(objective.value(start)) - slope @ start], [slope]
    steepest = 1e4 * float(np.abs(slope).max()) or np.inf  # steeper tangents are bad for a solver of numbers of order 1
    found = [finder.first(slope)]
    cuts = _Cuts(sets, 10.0 * worth_unit / finder.size, finder.size)
    best = Best(-np.inf, np.zeros(len(limit)), found[0].outcomes, np.inf)
    bound, shares = np.inf, np.ones(1)
    for i in range(ROUNDS):
        mix, m, lam, nu = _master(np.array(tangents), np.array(slopes), found, limit, cuts, worth_unit)
        z, q = mix @ np.array([y.outcomes for y in found]), m @ np.array(slopes)
        pure, most = finder.best(q, lam, [cuts.slope(nu, k) for k in range(len(sets))])
        above = float(m @ np.array(tangents)) + float(lam @ limit + nu @ cuts.bounds) + most
        if above < bound:
            bound, best = above, best._replace(prices=lam)
        averages = [mix @ np.array(w) for w in zip(*(y.followed for y in found), strict=True)]
        value, far = float(objective.value(z)), cuts.add(averages)
        if value > best.value and far <= _INSIDE * finder.size:
            best, shares = best._replace(value=value, end=z), mix
        if np.isfinite(best.value) and bound - best.value <= tolerance * worth_unit:
            return Mixture(best._replace(gap=max(bound - best.value, 0.0)), shares)
        if i >= _EDGE and value == -np.inf:
            objective.check(z, "the averages of the best policy")
        enough = tolerance * (worth_unit + cuts.price * far)
        if far > _INSIDE * finder.size and above - value + cuts.price * far <= enough:
            priced = [name for name, p in zip(finder.labels, lam, strict=False) if p > 0.0]
            cuts.raise_price(nu, priced, finder.rows)
        found.append(pure)
        z, slope = point_and_slope(objective.supergradient, z, start, steepest)
        tangents.append(float(objective.value(z)) - slope @ z)
        slopes.append(slope)
    expected = f"one that {ROUNDS} tangents describe to {tolerance}"
    raise InvalidInput("objective", expected, f"{type(objective).__name__}, with a gap of {bound - best.value}")


def _worth(objective: Objective, slope: Floats, most: Floats) -> float:
    """The most that a round can add to f by a slope, or by any slope where this one is 0, `(m),(m)->()`."""
    steep = objective.lipschitz * float(np.sqrt(most @ most))
    return float(np.abs(slope) @ most) or (steep if 0.0 < steep < np.inf else 1.0)


class _Cuts:
    """Tangents of convex sets so far, and the price of being beyond them."""

    def __init__(self, sets: tuple[SetLimit, ...], price: float, size: float):
        self.sets, self.price, self.size, self.raised = sets, price, size, 0
        self.of: list[int] = []  # the set of every cut
        self.normals: list[Floats] = []
        self.bounds = np.zeros(0)

    def slope(self, nu: Floats, i: int) -> Floats:
        """The prices of the outcomes of set i at duals of cuts, `(c)->(m')`."""
        out = np.zeros(self.sets[i].within.dim)
        for j, normal, dual in zip(self.of, self.normals, nu, strict=False):  # cuts since then have no dual
            if j == i:
                out += dual * normal
        return out

    def against(self, found: list[Averages]) -> Floats:
        """Every cut's normal times the averages of every policy, `->(c,i)`."""
        pairs = zip(self.of, self.normals, strict=True)
        rows = [np.array([y.followed[j] for y in found]) @ normal for j, normal in pairs]
        return np.array(rows).reshape(len(rows), len(found))

    def add(self, averages: list[Floats]) -> float:
        """Add a cut for every set that its average is not in; returns the largest distance."""
        furthest = 0.0
        for i, (w, s) in enumerate(zip(averages, self.sets, strict=True)):
            near = s.within.project(w)
            far = float(np.sqrt(((w - near) ** 2).sum()))
            if far > 1e-12 * self.size:
                self.of.append(i)
                self.normals.append((w - near) / far)
                self.bounds = np.append(self.bounds, (w - near) @ near / far)
            furthest = max(furthest, far)
        return furthest

    def raise_price(self, nu: Floats, rows: list[str], contexts: int) -> None:
        """Raise the price, because the best policy at the present price violates a set.

        Raises:
            InfeasibleProblem: the price is high already; at that price duals tell which constraints exclude each other.
        """
        self.price, self.raised = 30.0 * self.price, self.raised + 1
        if self.raised > _RAISES:
            beyond = [s.label for i, s in enumerate(self.sets) if self.slope(nu, i).any()]
            raise InfeasibleProblem(conflict_message([*beyond, *rows], contexts))


def _master(
    tangents: Floats, slopes: Floats, found: list[Averages], limit: Floats, cuts: _Cuts, unit: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """The best lottery of policies under the tangents, and duals, `(k),(k,m)->(i),(k),(d),(c)`.

    The tolerances of the solver are absolute, so f is in the given unit, and averages in sets in units of their size.
    """
    from scipy.optimize import linprog

    outcomes, rows = np.array([y.outcomes for y in found]), np.array([y.rows for y in found])
    c = len(cuts.bounds)
    beyond = 1 if c else 0  # how far out of the sets: a column for it only if there are cuts
    under = np.column_stack([-slopes @ outcomes.T / unit, np.ones(len(tangents)), np.zeros((len(tangents), beyond))])
    within = np.column_stack([rows.T, np.zeros((len(limit), 1 + beyond))])
    inside = np.column_stack([cuts.against(found) / cuts.size, np.zeros((c, 1)), -np.ones((c, beyond))])
    result = linprog(
        np.concatenate([np.zeros(len(found)), [-1.0], np.full(beyond, cuts.price * cuts.size / unit)]),
        A_ub=np.concatenate([under, within, inside]),
        b_ub=np.concatenate([tangents / unit, limit, cuts.bounds / cuts.size]),
        A_eq=np.concatenate([np.ones(len(found)), np.zeros(1 + beyond)])[None],
        b_eq=np.ones(1),
        bounds=[(0, None)] * len(found) + [(None, None)] + [(0, None)] * beyond,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.x is None:  # pragma: no cover  # the first policy is feasible, and tangents bound the value
        raise InvalidInput("objective", "one whose tangents can be solved with", result.message)
    duals = np.maximum(-result.ineqlin.marginals, 0.0)
    k, d = len(tangents), len(limit)
    mixture = np.asarray(result.x)[: len(found)]
    return mixture, duals[:k], duals[k : k + d] * unit, duals[k + d :] * unit / cuts.size


class Truth(NamedTuple):
    """Sampled contexts, with the expected outcomes and constraint rows of all candidates."""

    outcomes: Floats  # (S, A, m) expected outcomes of every candidate that the objective reads
    rows: Floats  # (S, A, d) expected constraint rows
    offered: Floats  # (S, A) 1 where a candidate may be played
    n_plays: int = 1  # in every context, or all offered candidates if they are fewer
    followed: tuple[Floats, ...] = ()  # (S, A, m') each: expected outcomes that a convex set is about
    labels: tuple[str, ...] = ()  # of the rows, for messages


def maximize(
    objective: Objective,
    truth: Truth,
    limit: Floats,
    start: Floats,
    sets: tuple[SetLimit, ...] = (),
    *,
    tolerance: float = 1e-6,
) -> Best:
    """max f(z) over the averages z that static policies within the limits can reach, by HiGHS, `(d),(m)->`.

    Equation: that of `mixture`, where the best policy at prices is argmax_a q.y - lam.c in every context.

    Args:
        objective: f; only its values and supergradients are used.
        truth: the sample, `(S,A,m),(S,A,d),(S,A)`.
        limit: upper bounds on the averages of rows.
        start: a point in the domain of f.
        sets: one per array in `truth.followed`.
        tolerance: of the gap, per unit of what a round can add to f by its slope at the start; units do not matter.

    Raises:
        InfeasibleProblem: no static policy keeps to the limits and sets on this sample; names the sets that have a
            price.
        InvalidInput: a start outside the domain, or a gap that stays above the tolerance.

    >>> from evenhand.objectives import GeneralizedGini
    >>> outcomes = np.array([[[1.0, 0.0], [0.0, 0.5]]])  # one context, two candidates that serve one outcome each
    >>> truth = Truth(outcomes, np.zeros((1, 2, 0)), np.ones((1, 2)))
    >>> maximize(GeneralizedGini(("a", "b"), (1.0, 0.0)), truth, np.zeros(0), np.zeros(2)).end.round(3)
    array([0.333, 0.333])
    """
    units = largest(truth.rows.transpose(2, 0, 1).reshape(len(limit), truth.offered.size))
    contexts = _Contexts(truth._replace(rows=truth.rows / units), limit / units)
    found = mixture(objective, contexts, limit / units, start, sets, tolerance=tolerance).best
    return found._replace(prices=found.prices / units)


class _Contexts:
    """Finds the best policies of sampled contexts."""

    def __init__(self, truth: Truth, limit: Floats) -> None:
        self.truth, self.limit, self.labels, self.rows = truth, limit, truth.labels, len(truth.outcomes)
        self.most = np.abs(truth.outcomes).max((0, 1))
        self.size = max((float(np.abs(w).max()) for w in truth.followed), default=1.0) or 1.0

    def first(self, slope: Floats) -> Averages:
        t = self.truth
        sample = Sample(t.outcomes @ slope, t.rows, t.offered, t.n_plays, t.labels)
        return self._policy(solve(sample, self.limit).lottery)

    def best(self, q: Floats, lam: Floats, tilts: list[Floats]) -> tuple[Averages, float]:
        worth = self.truth.outcomes @ q - self.truth.rows @ lam
        for outcomes, tilt in zip(self.truth.followed, tilts, strict=True):
            worth -= outcomes @ tilt
        worth = np.where(self.truth.offered > 0, worth, -np.inf)
        pure = best_plays(worth, self.truth.n_plays)
        return self._policy(pure), float(np.where(pure > 0, worth, 0.0).sum(1).mean())

    def _policy(self, lottery: Floats) -> Averages:
        each = (self.truth.outcomes, self.truth.rows, *self.truth.followed)
        y, c, *w = (np.einsum("sa,sai->i", lottery, z) / len(lottery) for z in each)
        return Averages(y, c, tuple(w))
