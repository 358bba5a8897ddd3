"""Bounds that a plan aims at where a learned row was overspent: sooner than the end, and within reach of the means.

A ratio is overspent while it is learned, and the rest of a run has to earn that back. Two things go wrong if a plan
aims at just what the rest of the bound asks for:

- It plans at means of which it picks the best, and decisions explore beside it: less comes back than planned, time
  after time, until what is left to be earned back is more than the rest can.
- Then no plan keeps the row. Its price ends at the cap, and only what uses nothing is played: gains are lost for good,
  and nothing more is learned.
"""

from __future__ import annotations

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.planning.fluid import Fluid

_SOONER = 8.0  # how much more a plan aims at, per share of what can be earned back that the rest of the bound needs
_RETAINED = 0.1  # of what the means could earn back, a plan does not aim at, at the start of a run


@kernel
def _exposed(first: float, further: Floats | None, r: int) -> float:
    """The mean number of places that are exposed."""
    if further is not None:
        for exposed in further[r]:
            first += exposed
    return first


@kernel
def ends(fluid: Fluid, u: Floats, r: int, i: int) -> tuple[float, float, float, float]:
    """The least and the most use of a direction by any lottery, its largest size, and the weight of all contexts.

    `.,(S,k,A),i->(),(),(),()`: sums over contexts, to be divided by the weight.
    """
    weight, g, exposed = fluid.weight, fluid.gain, _exposed(fluid.places.first[r], fluid.places.further, r)
    least, most, size, total = 0.0, 0.0, 0.0, 0.0
    for s in range(fluid.kept[r]):
        bottom, top = float("inf"), -float("inf")
        for a in range(u.shape[3]):
            if g[r, s, a] > -float("inf"):
                bottom, top = min(bottom, u[r, s, i, a]), max(top, u[r, s, i, a])
        if top > -float("inf"):
            least += weight[r, s] * exposed * bottom
            most += weight[r, s] * exposed * top
            size = max(size, abs(bottom), abs(top))
        total += weight[r, s]
    return least, most, size, total


@kernel
def _aim(bound: float, least: float, rest: float) -> float:
    """What a plan aims at in place of a bound below 0, where it can use `least` on average; see `within_reach`."""
    if least >= 0.0:
        return least
    needed = bound / least
    return least * min(needed + _SOONER * needed * needed, 1.0 - _RETAINED * rest)


@kernel
def within_reach(fluid: Fluid, plain: Floats, due: Bools, upper: Bools, lower: Bools, rest: Floats) -> None:
    """Move bounds of overspent directions to what a plan should aim at, `.,(S,k,A),(),(k),(k),(k)->`, in place.

    Equation: with b < 0 the rest of an upper bound per round to come, and m = mean_s min_a u_sa the least use at the
    means, -m is what a round can earn back, and c = b / m the share of it that the bound needs. The plan aims at
    m min(c + 8 c^2, 1 - rest / 10) in place of c m; at m itself where m >= 0. A lower bound above 0 is that of -u. A
    bound never passes the other one.

    Args:
        fluid: the fluid problem, whose bounds are moved.
        plain: uses at the means.
        due: replicas that solve.
        upper, lower: directions whose upper or lower bound may be moved; others, and those without overspending, stay.
        rest: the share of the rounds that is left.

    Source: evenhand's own. The square leaves small deviations to the end, as before; the constants were chosen on two
    worlds (docs/design/decisions.md).
    """
    low, high = fluid.low, fluid.high
    for r in range(len(due)):
        for i in range(len(upper)):
            over, under = upper[i] and high[r, i] < 0.0, lower[i] and low[r, i] > 0.0
            if not due[r] or not (over or under):
                continue
            least, most, _, total = ends(fluid, plain, r, i)
            if total > 0.0 and over:
                high[r, i] = max(_aim(high[r, i], least / total, rest[r, i]), low[r, i])
            if total > 0.0 and under:
                low[r, i] = min(-_aim(-low[r, i], -most / total, rest[r, i]), high[r, i])
