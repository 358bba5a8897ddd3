"""Directions that all actions share, learned from cases: what cases of many features have in common.

Equation: V has orthonormal columns, at most r of them, which span the first cases that were learned and are not nearly
sums of earlier ones, l_1, l_2, ...: V = [l_1 l_2 ...] L^-T with L L^T the products of these cases with each other. A
case x has the coordinates s = V^T x, and t = x - V s in place of x in the columns in which x is not 0.
Source: the cases are chosen as in kernel recursive least squares (Engel, Mannor & Meir 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.numerics.precision import FAINT, norm2

_NEW = 0.1  # the part of a case's square that no direction has, above which it makes a new one
UNUSED = np.iinfo(np.int64).max  # the column of a pair that is not used


@dataclass
class DirectionState:
    """The cases that directions are made of, k pairs each."""

    columns: Ints  # (R, r, k) in order
    values: Floats  # (R, r, k)
    lower: Floats  # (R, r, r) L^-1
    found: Floats  # (R,) how many there are


class Directions(NamedTuple):
    """The arrays of a `DirectionState`."""

    columns: Ints
    values: Floats
    lower: Floats
    found: Floats


def start(replicas: int, rank: int, pairs: int) -> DirectionState:
    """Return no directions, of at most r."""
    shape = replicas, rank, pairs
    return DirectionState(np.full(shape, UNUSED), np.zeros(shape), np.zeros((replicas, rank, rank)), np.zeros(replicas))


def arrays(state: DirectionState) -> Directions:
    """Return the arrays of a state."""
    return Directions(*vars(state).values())


def ordered(columns: Ints, z: Floats) -> tuple[Ints, Ints]:
    """Return the order in which columns rise, and them in it, those of zeros last, `(C,k),(C,k)->(C,k),(C,k)`."""
    used = np.where(z != 0.0, columns, UNUSED)
    order = np.argsort(used, axis=2, kind="stable")
    return order, np.take_along_axis(used, order, 2)


@kernel
def spread(known: Directions, r: int, weights: Floats, columns: Ints, room: Floats, out: Floats) -> None:
    """Compute the entries of V times some weights in columns that rise, `(r),(k),(r)->(k)`."""
    out[:] = 0.0
    for a in range(int(known.found[r])):
        room[a] = 0.0
        for i in range(a, int(known.found[r])):
            room[a] += known.lower[r, i, a] * weights[i]
    for a in range(int(known.found[r])):
        own, i, j = known.columns[r, a], 0, 0
        while i < len(own) and j < len(columns) and columns[j] < UNUSED and own[i] < UNUSED:
            if own[i] == columns[j]:
                out[j] += room[a] * known.values[r, a, i]
                i += 1
                j += 1
            elif own[i] < columns[j]:
                i += 1
            else:
                j += 1


@kernel
def project(known: Directions, columns: Ints, z: Floats, s: Floats, t: Floats) -> None:
    """Compute coordinates, and what is left of features, `(C,k),(C,k)->(C,r),(C,k)`; columns rise."""
    rank = s.shape[2]
    products, room = np.empty(rank), np.empty(rank)
    for r in range(len(z)):
        for c in range(z.shape[1]):
            same = c > 0
            for j in range(z.shape[2]):
                same = same and columns[r, c, j] == columns[r, c - 1, j] and z[r, c, j] == z[r, c - 1, j]
            if same:  # as a case is for each action
                s[r, c], t[r, c] = s[r, c - 1], t[r, c - 1]
                continue
            s[r, c] = 0.0
            for a in range(int(known.found[r])):
                own, i, j = known.columns[r, a], 0, 0
                products[a] = 0.0
                while i < len(own) and j < z.shape[2] and columns[r, c, j] < UNUSED and own[i] < UNUSED:
                    if own[i] == columns[r, c, j]:
                        products[a] += known.values[r, a, i] * z[r, c, j]
                        i += 1
                        j += 1
                    elif own[i] < columns[r, c, j]:
                        i += 1
                    else:
                        j += 1
                for b in range(a + 1):
                    s[r, c, a] += known.lower[r, a, b] * products[b]
            spread(known, r, s[r, c], columns[r, c], room, t[r, c])
            for j in range(z.shape[2]):
                t[r, c, j] = z[r, c, j] - t[r, c, j]


@kernel
def grow(known: Directions, columns: Ints, z: Floats, s: Floats) -> None:
    """Let cases that are about to be learned make directions, one per replica, in place, `(1,k),(1,k),(1,r)`."""
    for r in range(len(z)):
        n, square = int(known.found[r]), norm2(z[r, 0])
        left = square - norm2(s[r, 0])
        if n == s.shape[2] or not (square > FAINT and left > _NEW * square):
            continue
        root = np.sqrt(left)
        for a in range(n):
            off = 0.0
            for i in range(a, n):
                off += known.lower[r, i, a] * s[r, 0, i]
            known.lower[r, n, a] = -off / root
        known.lower[r, n, n] = 1.0 / root
        known.columns[r, n], known.values[r, n] = UNUSED, 0.0  # of a longer case, before all was forgotten
        for j in range(z.shape[2]):
            known.columns[r, n, j], known.values[r, n, j] = columns[r, 0, j], z[r, 0, j]
        known.found[r] = n + 1.0
