"""What a decision settles by itself: known outcomes, which need not wait until others arrive."""

from __future__ import annotations

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Floats
from evenhand.problem.rows import Rows


def known_entry(rows: Rows, decision: Decision) -> tuple[Floats, Floats]:
    """The entry (rounds, v) of the rows that read known outcomes only, (0, 0) of the others, `->(d),(d)`.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> from evenhand.problem.rows import select
    >>> policy, world = uniform(Court().problem, n_features=5), Court().start(0, np.arange(1))
    >>> decision = policy.decide(policy.start(), world.context(0))
    >>> decision.plays  # a voucher
    array([[1]])
    >>> known_entry(select(Court().problem, ("appears", "ride", "voucher")), decision)
    (array([[0., 1., 1.]]), array([[0., 0., 1.]]))
    """
    unread = np.zeros((len(decision.rounds), rows.learned.shape[1]))
    total = decision.known.sum(1) * decision.rounds[:, None]
    v = rows.post(decision, decision.shares, unread, total)
    return decision.rounds[:, None] * rows.is_known, np.where(rows.is_known, v, 0.0)
