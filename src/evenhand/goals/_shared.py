"""Helpers of several goals: checked bounds, prices of rows by reading, and the entry of known rows."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.rows import Rows


def check_bound(name: str, bound: Floats, rows: Rows) -> None:
    """Require one finite bound per row, `(d)->`."""
    if bound.shape != (len(rows),) or not np.isfinite(bound).all():
        raise InvalidInput(f"{name}.bound", f"{len(rows)} finite numbers", bound)


@kernel
def row_prices(price: Floats, scale: float, bound: Floats, reading: Ints) -> tuple[Floats, Floats]:
    """-lam, each row in its reading, and lam.bound, with lam = scale times the first d prices, `->(k,d),()`."""
    d, k = len(bound), 1
    for j in range(d):
        k = max(k, reading[j] + 1)
    q, o = np.zeros((len(price), k, d)), np.zeros(len(price))
    for r in range(len(price)):
        for j in range(d):
            q[r, reading[j], j] = -scale * price[r, j]
            o[r] += scale * price[r, j] * bound[j]
    return q, o


@kernel
def enter_known(total: Floats, rounds: Floats, is_known: Bools, counted: Floats, v: Floats) -> None:
    """Enter the rows that a decision alone settles into books, `(d),(d),(d),(),(d)`, in place."""
    for r in range(len(v)):
        for j in range(v.shape[1]):
            if is_known[j]:
                total[r, j] += v[r, j]
                rounds[r, j] += counted[r]
