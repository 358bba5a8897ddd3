"""Ridge regression on the outer products of two blocks of features: of whom a candidate is for, and of what it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import whole
from evenhand.models._shared import check_sizes, optimism, unit
from evenhand.models.base import Worth
from evenhand.models.ridge import RidgeState, drawn_worth
from evenhand.models.widths import Fixed, Width
from evenhand.numerics.precision import fresh


@inlined
def _fold(u: Floats, z: Floats, out: Floats) -> None:
    """(u x I)^T z, `(r),(r s)->(s)`."""
    s = len(out)
    out[:] = 0.0
    for j in range(len(u)):
        c = u[j]
        if c != 0.0:
            for i in range(s):
                out[i] += c * z[j * s + i]


@inlined
def _contract(inverse: Floats, u: Floats, half: Floats) -> None:
    """(u x I)^T V^-1, `(r s,r s),(r)->(s,r s)`, along rows."""
    s, n = half.shape
    half[:] = 0.0
    for j in range(len(u)):
        c = u[j]
        if c != 0.0:
            for i in range(s):
                for k in range(n):
                    half[i, k] += c * inverse[j * s + i, k]


@inlined
def _run(x: Floats, first: int, r: int) -> int:
    """The end of the run of candidates from `first` on that share u, `(A,r+s)->()`."""
    last, same = first + 1, True
    while last < len(x) and same:
        for j in range(r):
            same = same and x[last, j] == x[first, j]
        if same:
            last += 1
    return last


@inlined
def _squares(form: Floats, v: Floats, size: int, line: Floats, square: Floats) -> None:
    """v_a^T form v_a for each of the first candidates a, `(s,s),(s,A)->(A)`, in loops over a, which vectorise."""
    square[:size] = 0.0
    for i in range(len(form)):
        c = form[i, i]
        for a in range(size):
            line[a] = c * v[i, a]
        for j in range(i):
            c = 2.0 * form[i, j]
            for a in range(size):
                line[a] += c * v[j, a]
        for a in range(size):
            square[a] += line[a] * v[i, a]


@kernel
def bilinear_worth(
    theta: Floats, inverse: Floats, radius: Floats, low: Floats, high: Floats, x: Floats, w: Floats, r: int
) -> tuple[Floats, Floats]:
    """V^-1 is contracted once per run of equal u; after that a candidate costs s^2 + s M."""
    count, s, outcomes = x.shape[1], x.shape[2] - r, theta.shape[1]
    mean, bonus = np.zeros((len(x), w.shape[1], count)), np.zeros((len(x), w.shape[1], count))
    half, form, folded = np.empty((s, r * s)), np.empty((s, s)), np.empty(s)
    v, center, square, line = np.empty((s, count)), np.empty((outcomes, count)), np.zeros(count), np.empty(count)
    for b in range(len(x)):
        first = 0
        while first < count:
            last, u = _run(x[b], first, r), x[b, first, :r]
            size = last - first
            for a in range(size):
                for i in range(s):
                    v[i, a] = x[b, first + a, r + i]
            for m in range(outcomes):
                _fold(u, theta[b, m], folded)
                center[m, :size] = 0.0
                for i in range(s):
                    c = folded[i]
                    for a in range(size):
                        center[m, a] += c * v[i, a]
            if radius[b] > 0.0:
                _contract(inverse[b], u, half)
                for i in range(s):
                    _fold(u, half[i], form[i])
                _squares(form, v, size, line, square)
            for a in range(size):
                half_width = radius[b] * math.sqrt(max(square[a], 0.0))
                own = first + a if w.shape[2] > 1 else 0
                for m in range(outcomes):
                    wide = half_width * unit(low[m], high[m])
                    for k in range(w.shape[1]):
                        price = w[b, k, own, m]
                        mean[b, k, first + a] += price * center[m, a]
                        bonus[b, k, first + a] += optimism(center[m, a], wide, low[m], high[m], price)
            first = last
    return mean, bonus


@inlined
def _subtract(inverse: Floats, gains: Floats, used: int) -> None:
    """V^-1 less g g^T for the first `used` gains, in their order; four at a time, so that V^-1 is seldom read."""
    n, whole = len(inverse), used if used % 4 == 1 else used + 3
    whole -= whole % 4
    gains[used:whole] = 0.0
    for q in range(0, whole, 4):
        g0, g1, g2, g3 = gains[q], gains[q + 1], gains[q + 2], gains[q + 3]
        for i in range(n):
            c0, c1, c2, c3 = g0[i], g1[i], g2[i], g3[i]
            for k in range(n):
                inverse[i, k] = inverse[i, k] - c0 * g0[k] - c1 * g1[k] - c2 * g2[k] - c3 * g3[k]
    if whole < used:  # a single one is left
        gain = gains[whole]
        for i in range(n):
            c = gain[i]
            for k in range(n):
                inverse[i, k] -= c * gain[k]


@kernel
def absorb_runs(
    theta: Floats,
    inverse: Floats,
    log_det: Floats,
    count: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
    r: int,
) -> None:
    """The plays of a run of equal u are absorbed in one pass over V^-1, in which all gains are subtracted.

    With g = V^-1 x / sqrt(1 + x^T V^-1 x), a play takes g g^T from V^-1. What earlier plays of the run took from it is
    subtracted from the gain of a later one.
    """
    plays, s = x.shape[1], x.shape[2] - r
    n = r * s
    half, folded, fit = np.empty((s, n)), np.empty((plays, s)), np.empty((y.shape[2], s))
    gains, diagonal = np.empty((plays + 3, n)), np.empty(n)
    for b in range(len(x)):
        first = 0
        while first < plays:
            last, u, used = _run(x[b], first, r), x[b, first, :r], 0
            if seen[b, first:last].any():
                _contract(inverse[b], u, half)
                for i in range(n):
                    diagonal[i] = inverse[b, i, i]
                for m in range(y.shape[2]):
                    _fold(u, theta[b, m], fit[m])
            for p in range(first, last):
                if not seen[b, p].all():
                    continue
                count[b] += 1.0
                v, gain, own = x[b, p, r:], gains[used], folded[used]
                gain[:] = 0.0
                for i in range(s):
                    for k in range(n):
                        gain[k] += v[i] * half[i, k]
                for q in range(used):
                    taken, earlier = 0.0, gains[q]
                    for i in range(s):
                        taken += folded[q, i] * v[i]
                    for k in range(n):
                        gain[k] -= taken * earlier[k]
                _fold(u, gain, own)
                square = 0.0
                for i in range(s):
                    square += own[i] * v[i]
                sound, scale = square > 0.0, 1.0 / math.sqrt(1.0 + max(square, 0.0))
                for k in range(n):  # as in `absorb`: an inverse must stay positive definite
                    sound = sound and (gain[k] * scale) ** 2 < diagonal[k]
                if not sound:
                    continue
                log_det[b] += math.log1p(square)
                for m in range(y.shape[2]):
                    miss = y[b, p, m]
                    for i in range(s):
                        miss -= fit[m, i] * v[i]
                    miss /= 1.0 + square
                    for i in range(s):
                        fit[m, i] += miss * own[i]
                    for k in range(n):
                        theta[b, m, k] += miss * gain[k]
                for i in range(s):
                    own[i] *= scale
                for k in range(n):
                    gain[k] *= scale
                    diagonal[k] -= gain[k] * gain[k]
                used += 1
            _subtract(inverse[b], gains, used)
            first = last


@named(
    "C5", source="values u^T Theta v of users and items: Do et al. 2023, Section 5; shared contractions: evenhand's own"
)
@dataclass(frozen=True, kw_only=True)
class Bilinear:
    """Ridge regression of every outcome on u^T Theta v: u says of whom a candidate is for, and v of what it is.

    Equation: `Ridge` on flatten(u v^T), in n = r s dimensions. Candidates have the features (u, v), side by side.
    Consecutive candidates with the same u share the contraction V^-1 (u x I): a run of A of them costs n^2 + A s^2
    operations, where `Ridge` takes A n^2. In the same way, the plays of a run are absorbed in one pass over V^-1.

    Args:
        who: r, the length of u.
        what: s, the length of v.
        n_outcomes: M.
        ridge: the penalty, above 0; V starts at ridge I.
        width: the radius, in units of each outcome's range; `Fixed(0)` (the default) means no optimism.

    Raises:
        InvalidInput: a count below 1, or a ridge that is not a positive number.

    >>> model = Bilinear(who=1, what=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> play = np.array([[[2.0, 0.0, 0.5]]])  # u = (2), v = (0, 0.5)
    >>> model.update(state, play, one, one > 0, price)
    >>> model.value(state, play, price, luck).mean.item()
    0.5
    """

    who: int
    what: int
    n_outcomes: int = 1
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)

    def __post_init__(self) -> None:
        whole("Bilinear.who", self.who, 1)
        whole("Bilinear.what", self.what, 1)
        check_sizes("Bilinear", self.n_features, self.n_outcomes, self.ridge)

    @property
    def n_features(self) -> int:
        """r + s."""
        return self.who + self.what

    @property
    def n_parameters(self) -> int:
        """M r s."""
        return self.n_outcomes * self.who * self.what

    def draws(self, candidates: int) -> int:
        """No luck."""
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> RidgeState:
        """The state before any data, `(M),(M)->state`."""
        n = self.who * self.what
        return RidgeState(
            inverse=fresh(n_replicas, n, self.ridge),
            theta=np.zeros((n_replicas, self.n_outcomes, n)),
            log_det=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            low=low,
            high=high,
        )

    def value(self, state: RidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Mean worth and optimism, `(A,r+s),(K,1|A,M),()->(K,A),(K,A)`; O(n^2 + A (s^2 + s M)) per run of equal u."""
        radius = self.width.radius(state.count, state.log_det, self.ridge)
        return Worth(*bilinear_worth(state.theta, state.inverse, radius, state.low, state.high, x, w, self.who))

    def update(self, state: RidgeState, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Absorb plays whose outcomes are all seen, `(P,r+s),(P,M),(P,M),(K,1|P,M)`; O(n^2 P + n M P) per round."""
        absorb_runs(state.theta, state.inverse, state.log_det, state.count, x, y, seen, self.who)

    def sample(self, state: RidgeState, x: Floats, w: Floats, z: Floats) -> Floats:
        """Worth under drawn parameters as in `Ridge.sample`, `(A,r+s),(K,1|A,M),(U,Mn)->(K,A)`; O(n^3)."""
        flat = (x[:, :, : self.who, None] * x[:, :, None, self.who :]).reshape(*x.shape[:2], -1)
        return drawn_worth(state.theta, state.inverse, state.low, state.high, flat, w, z)
