"""How models predict and learn that know coefficients apart from each other: what their kernels share (`posterior`)."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats, Ints
from evenhand.models.diagonal.block import Block, Inner, adopt, look
from evenhand.numerics.precision import dot


class Known(NamedTuple):
    """How much is known, and for how long it is of use."""

    factor: Floats
    touched: Floats
    novel: Floats
    chosen: Floats
    seen: Floats  # observations
    size: Floats
    rounds: Floats
    taught: Floats
    horizon: Floats
    ahead: Floats
    affordable: Floats


class Cells(NamedTuple):
    """The coefficients of candidates, of k features each: where they are, and what is known of them."""

    places: Ints  # (R, C, k) in arrays of `(R A d)`
    z: Floats  # (R, C, k) the features
    information: Floats  # (R, C, k)
    moment: Floats  # (R, C, k, M)
    origin: Floats  # (R, C, k, M), or (R, C, 1, M)
    expected: Floats  # (R, C, k), or (R, C, 0) where nothing is on its way
    inner: Inner


@inlined
def penalty(scale: float, size: float, count: float, square: float) -> float:
    """The penalty, for a sum `size` of |x|^2 over observations; before any, by that of a candidate."""
    return scale * (size / count if count > 0.0 else square)


@inlined
def open_directions(known: Known, block: Block, r: int, new: float, apart: float, weight: float) -> None:
    """Count coefficients that an observation was the first to give data to; `novel`, and T, are of late most of all."""
    known.touched[r] += new
    step = min(2.0 * weight / (known.seen[r] + weight), 1.0)
    known.novel[r] += step * (new / weight - known.novel[r])
    if block.gram.shape[1] > 0:
        block.apart[r] += step * (apart - block.apart[r])


@inlined
def directions(touched: float, novel: float, more: float) -> int:
    """The number of coefficients that observations to come are spread over: those with data, and new ones."""
    return max(int(touched + more * novel), 1)


@inlined
def predict(
    f: float, cells: Cells, at: tuple[int, int], rho: float, precision: Floats, center: Floats, gain: Floats, g: int
) -> tuple[float, float]:
    """Fill in the precision of each coefficient and the mean of each outcome, `(k),(M),(b)`; returns S and T.

    T is the part of S without the block. `at` is a replica and a candidate, f the factor of its sums, and g a penalty's
    place, or -1 for the one that widths are told by; `gain` is filled in as by `block.look`.
    """
    (r, a), total = at, 0.0
    for m in range(len(center)):
        center[m] = 0.0
    for i in range(len(precision)):
        z = cells.z[r, a, i]
        precision[i] = rho + f * cells.information[r, a, i]
        if z != 0.0:
            total += z * z / precision[i]
            for m in range(len(center)):
                off = f * cells.moment[r, a, i, m] / precision[i]
                center[m] += z * (cells.origin[r, a, min(i, cells.origin.shape[2] - 1), m] + off)
    return look(cells.inner, at, g, rho, f, gain, center) + total, total


@inlined
def width(z: Floats, precision: Floats, expected: Floats, parts: tuple[float, float], curve: float) -> float:
    """Compute s^T B^-1 s + sum z_j^2 / P_j with plays on their way, `(k),(k),(k),(2),()->()`; `parts` are S and T.

    As of an observation of the candidate itself, the other features' variance counts as noise to each.
    """
    total, apart = parts
    if len(expected) == 0:
        return total
    found = max(total - apart, 0.0)
    for i in range(len(z)):
        if z[i] != 0.0:
            own = z[i] * z[i] / precision[i]
            more = curve * expected[i] / (1.0 + curve * max(total - own, 0.0))
            found += z[i] * z[i] / (precision[i] + more)
    return found


@inlined
def square_of(cells: Cells, r: int, a: int) -> float:
    """Compute |x|^2 of a candidate."""
    return dot(cells.z[r, a], cells.z[r, a]) + dot(cells.inner.z[r, a], cells.inner.z[r, a])


@inlined
def place_of(scales: Floats, chosen: float) -> int:
    """The place of the penalty that is chosen."""
    for g in range(len(scales)):
        if scales[g] == chosen:
            return g
    return 0


@inlined
def move_to(known: Known, scales: Floats, block: Block, r: int, g: int) -> None:
    """Choose a penalty of a replica by its place, for the block as well."""
    if known.seen[r] > 0.0 and known.chosen[r] != scales[g]:
        adopt(block, g, r, known.factor[r])
    known.chosen[r] = scales[g]


@kernel
def first_best(evidence: Floats) -> int:
    """The place of the largest number, the first of several."""
    best = 0
    for g in range(len(evidence)):
        if evidence[g] > evidence[best]:
            best = g
    return best
