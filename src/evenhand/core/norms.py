"""L_q norms of vectors by name or by q, and their dual norms."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats

Named = Literal["euclidean", "sup", "one"]
Norm = Named | float
_ORDERS: dict[Named, float] = {"euclidean": 2.0, "sup": math.inf, "one": 1.0}
_NAMES: dict[float, Named] = {q: name for name, q in _ORDERS.items()}


def order(norm: Norm) -> float:
    """Return the q of a norm, from 1 to infinity.

    >>> order("sup"), order(3.0)
    (inf, 3.0)
    """
    return _ORDERS[norm] if isinstance(norm, str) else float(norm)


def dual_order(norm: Norm) -> float:
    """Return p with 1/p + 1/q = 1: the largest a.x over ||x||_q <= 1 is ||a||_p.

    >>> dual_order("one"), dual_order(3.0)
    (inf, 1.5)
    """
    q = order(norm)
    return math.inf if q == 1.0 else 1.0 if q == math.inf else q / (q - 1.0)


def norm_of(field: str, norm: Norm) -> Norm:
    """Return the norm by its name if it has one, else q.

    Raises:
        InvalidInput: something that is not a norm, such as a q below 1.

    >>> norm_of("norm", 2), norm_of("norm", 3)
    ('euclidean', 3.0)
    """
    is_number = isinstance(norm, int | float | np.number) and not isinstance(norm, bool)
    if not (norm in _ORDERS if isinstance(norm, str) else is_number and norm >= 1.0):
        expected = f"one of {tuple(_ORDERS)}, or a number q of at least 1 for the L_q norm"
        raise InvalidInput(field, expected, norm)
    q = order(norm)
    return _NAMES.get(q, q)


def length(z: Floats, norm: Norm) -> Floats:
    """Return the norm of every row, `(m)->()`.

    >>> z = np.array([[3.0, 4.0]])
    >>> length(z, "euclidean"), length(z, "sup"), length(z, 3.0).round(4)
    (array([5.]), array([4.]), array([4.4979]))
    """
    size, q = np.abs(z), order(norm)
    if q == math.inf:
        return np.asarray(size.max(-1))
    if q in (1.0, 2.0):
        return np.asarray(size.sum(-1) if q == 1.0 else np.sqrt((z * z).sum(-1)))
    most = size.max(-1, keepdims=True)  # powers of sizes of at most 1 do not overflow
    share = size / np.where(most > 0.0, most, 1.0)
    return np.asarray(most[..., 0] * (share**q).sum(-1) ** (1.0 / q))


def widest(m: int, norm: Norm) -> float:
    """Return the largest Euclidean norm of m numbers whose norm is 1.

    >>> widest(4, "sup"), widest(4, "one")
    (2.0, 1.0)
    """
    return float(m ** max(0.5 - 1.0 / order(norm), 0.0))
