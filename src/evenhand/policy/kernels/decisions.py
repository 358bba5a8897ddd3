"""Many decisions at a frozen state of one replica (`frozen`), in one compiled call."""

from __future__ import annotations

from typing import Any, NamedTuple
from warnings import warn

import numpy as np

from evenhand.core.errors import EvenhandWarning
from evenhand.core.kernel import code_of, kernel, way
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.policy import entries
from evenhand.policy.kernels import loop
from evenhand.policy.kernels.loop import Compiled
from evenhand.policy.kernels.views import views
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

_PAYS_LOADED, _PAYS_KEPT = 20, 4_000  # cases from which on machine code pays that is loaded, or on disk


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
        """Return one of the decisions, as a part of the arrays of all."""
        return Decision._make([*[z[j] for z in self.decisions[:14]], names])


@kernel
def _decide(p: Compiled, contexts: Context, out: Choices, first: int, last: int) -> int:
    """Decide cases from `first` to before `last`; returns the one that comes next, which is `last` or one for Python.

    Between two of them the state goes on as by `ahead.pass_on`.
    """
    f, o = p.facts.part, out.decisions
    for j in range(first, last):
        c = Context(contexts.features[j], contexts.known[j], contexts.groups[j], contexts.offered[j], None)
        if not loop.can_decide(p, c):
            return j
        sound, d, chances = loop.choose(p, c)
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


_loaded = set[Any]()  # the types of arguments for which machine code is loaded
_failed = set[Any]()  # those for which there is none


class Deciding:
    """Decides cases at a frozen state in compiled calls, as far as all parts have views.

    Nothing is compiled here, as others wait for who decides: machine code is loaded, or kept on disk (`ahead`).

    Args:
        policy: the policy.
        at: the state, which advances.
        contexts: without times, `(N)` before every shape without replicas.
    """

    def __init__(self, policy: Policy, at: PolicyState, contexts: Context) -> None:
        self._policy, self._at = policy, at
        each: Any = (np.ascontiguousarray(z[:, None]) for z in contexts[:4])
        self._contexts = Context(*each)
        self._views = views(policy, at) if len(at.t) == 1 and way() != "interpreted" else None

    @property
    def works(self) -> bool:
        """Whether kernels can decide anything."""
        return self._views is not None

    def pays(self, choices: Choices, coming: int) -> bool:
        """Whether kernels save more than they cost, where so many cases are to come, these and later ones."""
        if self._views is None or len(self._contexts.features) < _PAYS_LOADED:
            return False
        types = self._types(choices)
        return types not in _failed and (types in _loaded or (coming >= _PAYS_KEPT and code_of(_decide).has(types)))

    def run(self, choices: Choices, first: int, last: int) -> int:
        """Decide cases from one to before `last`; returns the first one that is left to Python, `last` if none is."""
        from evenhand.core.held import UNTYPED, held

        self._views = views(self._policy, self._at)
        if self._views is None:
            return first
        try:
            reached = code_of(_decide)(Compiled(*map(held, self._views)), self._contexts, choices, first, last)
        except UNTYPED as error:  # before anything ran
            warn(f"cases cannot be decided by compiled code, so Python does it: {error}", EvenhandWarning, 2)
            _failed.add(self._types(choices))
            self._views = None
            return first
        _loaded.add(self._types(choices))
        return int(reached)

    def _types(self, choices: Choices) -> tuple[Any, ...]:
        """The types of the arguments of the kernel."""
        from evenhand.core.held import type_of, type_of_held, type_together

        number, of_policy = type_of(0), type_together(Compiled, *map(type_of_held, self._views or ()))
        return of_policy, type_of(self._contexts), type_of(choices), number, number
