"""Helpers of several goals: checked bounds, prices of rows by reading, and the entry of known rows."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Floats, Ints
from evenhand.problem.rows import Rows


def check_bound(name: str, bound: Floats, rows: Rows) -> None:
    """Refuse anything but one finite bound per row, `(d)->`."""
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


def known_entry(rows: Rows, decision: Decision) -> tuple[Floats, Floats]:
    """Return the entry (counted, v) of the rows that a decision alone settles, (0, 0) for other rows, `->(d),(d)`.

    >>> from evenhand.environments import Court
    >>> from evenhand.problem.rows import select
    >>> from evenhand.recipes import uniform
    >>> policy, world = uniform(Court().problem, n_features=5), Court().start(0, np.arange(1))
    >>> decision = policy.decide(policy.start(), world.context(0))
    >>> decision.plays  # a voucher
    array([[1]])
    >>> known_entry(select(Court().problem, ("appears", "ride", "voucher")), decision)
    (array([[0., 1., 1.]]), array([[0., 0., 1.]]))
    """
    return decision.counted[:, None] * rows.is_known, np.where(rows.is_known, rows.post_known(decision), 0.0)
