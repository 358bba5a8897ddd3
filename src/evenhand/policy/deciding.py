"""Many decisions at a frozen state of one replica (`frozen`), in one compiled call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.core.views import held
from evenhand.policy import compiled, entries
from evenhand.policy.compiled import Compiled
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.policy.viewing import views


class Choices(NamedTuple):
    """Decisions of N cases, `(N)` before every shape, to be filled in."""

    decisions: Decision  # without names
    chances: Floats  # (R, A) of every candidate at the first place

    @staticmethod
    def like(decision: Decision, chances: Floats, n: int) -> Choices:
        """Make room for n decisions of the shapes of one."""
        made: Any = (np.empty((n, *z.shape), z.dtype) for z in decision[:14])
        return Choices(Decision(*made), np.empty((n, *chances.shape)))

    def decision(self, j: int, names: tuple[str, ...]) -> Decision:
        """Return one of the decisions, which shares nothing with the others."""
        own: Any = (z[j].copy() for z in self.decisions[:14])
        return Decision(*own)._replace(names=names)


@kernel
def _decide(p: Compiled, contexts: Context, out: Choices, first: int, last: int) -> int:
    """Decide cases from `first` to before `last`; returns the one that comes next, which is `last` or one for Python.

    Between two of them the state goes on as by `frozen.pass_on`.
    """
    f, o = p.facts.part, out.decisions
    for j in range(first, last):
        c = Context(contexts.features[j], contexts.known[j], contexts.groups[j], contexts.offered[j], None)
        if not compiled.can_decide(p, c):
            return j
        sound, d, chances = compiled.choose(p, c)
        if not (sound and p.limits.part.fits(d)):
            return j
        o.id[j], o.plays[j], o.propensities[j], o.counted[j] = d.id, d.plays, d.propensities, d.counted
        o.forced[j], o.restricted[j], o.time[j], o.features[j] = d.forced, d.restricted, d.time, d.features
        o.known[j], o.groups[j], o.shares[j], o.prices[j] = d.known, d.groups, d.shares, d.prices
        o.row_prices[j], o.carried[j], out.chances[j] = d.row_prices, d.carried, chances
        for r in range(len(f.t)):
            f.t[r] += d.counted[r]
        if c.groups.shape[2] > 0:
            entries.believe(c.groups, c.offered, d.counted, f.seen)
        p.limits.part.on_decision(d)
    return last
