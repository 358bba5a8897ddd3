"""Entry of many past decisions and outcomes into a state of one replica, in compiled calls.

Kernels do what `Policy.enter` and `Policy.learn` do, in the same order on the same arrays, so that states are the same,
bit for bit. A check that fails is found before anything has changed: the caller then enters that step as usual, and
gets the usual error.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from warnings import warn

import numpy as np

from evenhand.core.errors import EvenhandWarning
from evenhand.core.kernel import code_of, kernel, way
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy import checks, entries
from evenhand.policy.delay import Plays
from evenhand.policy.kernels import loop
from evenhand.policy.kernels.views import Entry, entry_views
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

DECIDES, OBSERVES, OTHER = 0, 1, 2  # what a step does; others are for the caller
# Steps from which on kernels save more than they cost: where they are loaded, kept on disk, or neither.
_PAYS_LOADED, _PAYS_KEPT, _PAYS = 50, 4_000, 50_000
MOST_WAITED = _PAYS - 1  # as many steps to come as where others wait, so that nothing is compiled meanwhile


class Steps(NamedTuple):
    """Steps in their order, about N decisions; `(N)` stands before every shape.

    The contexts are those of the first decisions, which are made in these steps; the others were entered earlier.
    """

    what: Ints  # of each step, one of the three above
    row: Ints  # of each step: the decision
    decisions: Decision  # without names; `time` and `id` are filled in
    contexts: Context  # without times
    y: Floats  # (R, P, M+B) outcomes, all of them observed
    exposed: Bools  # (R, P)

    @staticmethod
    def of(what: Ints, row: Ints, decisions: Decision, contexts: Context, y: Floats, exposed: Bools) -> Steps:
        """Make steps of arrays without the axis of replicas, which they share."""
        made: Any = (z[:, None] for z in decisions[1:14])
        each: Any = (np.ascontiguousarray(z[:, None]) for z in contexts[:4])
        return Steps(what, row, Decision(decisions.id, *made), Context(*each), y[:, None], exposed[:, None])

    def decision(self, j: int, names: tuple[str, ...]) -> Decision:
        """Return one of the decisions, which shares nothing with the others."""
        own: Any = (z[j].copy() for z in self.decisions[:14])
        return Decision(*own)._replace(names=names)

    def context(self, j: int) -> Context:
        """Return the context of one of the decisions that are made, which shares nothing with the others."""
        own: Any = (z[j].copy() for z in self.contexts[:4])
        return Context(*own)


@kernel
def _of(d: Any, j: int) -> Decision:
    """One of many decisions, `()->()`."""
    made = d.id[j], d.plays[j], d.propensities[j], d.counted[j], d.forced[j], d.restricted[j], d.time[j]
    of_plays = d.features[j], d.known[j], d.groups[j], d.shares[j], d.prices[j], d.row_prices[j], d.carried[j]
    return Decision(*made, *of_plays, ())


@kernel
def _enter(entry: Entry, steps: Steps, shares: Floats, first: int, last: int) -> tuple[int, bool]:
    """Enter steps from `first` to before `last`, `(C)`.

    Returns the step that comes next, which is `last` or one for Python; and whether that is a decision of whose context
    goals are still to be told, at the shares that were filled in. Everything else of it was entered.
    """
    f = entry.facts.part
    for i in range(first, last):
        j = steps.row[i]
        if steps.what[i] == DECIDES:
            features, known, groups = steps.contexts.features[j], steps.contexts.known[j], steps.contexts.groups[j]
            context = Context(features, known, groups, steps.contexts.offered[j], None)
            if not checks.sound(features, known, groups, f.bounds):
                return i, False
            for r in range(len(f.t)):
                steps.decisions.time[j, r] = f.t[r]
            d = _of(steps.decisions, j)
            r, _, _, _, checksum = entries.check_commit(
                *(d.plays, d.counted, d.time, d.groups, d.known, features.shape[1], f.n_groups, f.t, f.last_round)
            )
            if r >= 0 or not entry.limits.part.fits(d):
                return i, False
            steps.decisions.id[j, 2] = checksum
            now = loop.count(entry, context, d)
            if entry.goals.part.plans(context, now, f.t):
                for g in range(shares.shape[1]):
                    shares[0, g] = now.shares[0, g]
                return i, True
            entry.goals.part.on_context(context, now, f.t)
        elif steps.what[i] == OBSERVES:
            d = _of(steps.decisions, j)
            if entry.model.part.grows(d):
                return i, False
            sound, answer = loop.check_arrival(entry, d, steps.y[j], steps.exposed[j])
            if not sound:
                return i, False
            loop.learn(entry, d, answer)
        else:
            return i, False
    return last, False


_loaded = set[Any]()  # the types of arguments for which machine code is loaded
_failed = set[Any]()  # those for which there is none


class StepEntry:
    """Enters steps into a state of one replica."""

    def __init__(self, policy: Policy, state: PolicyState) -> None:
        self._policy, self._state = policy, state
        self._key: tuple[Any, Any] | None = None  # types of arguments for which kernels pay
        self._entry: Any = None
        usual = len(state.t) == 1 and not len(state.receipts.split) and way() != "interpreted"
        self._views = entry_views(policy, state) if usual else None

    def pays(self, steps: Steps, coming: int) -> bool:
        """Whether kernels save more than they cost, for the expected number of steps."""
        if self._views is None or coming < _PAYS_LOADED:
            return False
        if self._key is None:
            from evenhand.core.pointers import record_type, type_of, type_of_pointer

            entry = record_type(Entry, *map(type_of_pointer, self._views))
            key = entry, type_of(steps)
            if key in _failed:
                self._views = None
                return False
            number = type_of(0)
            types = *key, type_of(self._state.nothing), number, number
            if not (key in _loaded or coming >= _PAYS or (coming >= _PAYS_KEPT and code_of(_enter).has(types))):
                return False
            self._key = key
            _loaded.add(key)
        return True

    def load(self, steps: Steps) -> bool:
        """Load or compile the kernel that enters such steps; returns whether there is one."""
        if not self.pays(steps, _PAYS) or not self._hold():
            return False
        code_of(_enter)(self._entry, steps, np.zeros((1, len(self._policy.problem.columns))), 0, 0)
        if self._policy._assembly.delay.counts:
            w = self._state.waiting
            own = Plays(np.full((1, 3), -1), w.features[None], w.plays[None], w.counted[None])
            self._policy._assembly.delay.follow(self._state, own, np.zeros(0, bool), np.zeros(0, np.int64))
        return True

    def is_of(self, policy: Policy, state: PolicyState) -> bool:
        """Whether this enters steps into this state of this policy."""
        return policy is self._policy and state is self._state

    def run(self, steps: Steps, first: int) -> int:
        """Enter steps from a given one; returns the number of the first one that must be entered as usual.

        Raises:
            InvalidInput: predictions that no plan can use; the decision is cancelled then.
        """
        from evenhand.core.pointers import UNTYPED

        policy, state, last = self._policy, self._state, len(steps.what)
        with policy._guard_of(state):
            while first < last:
                if self._views is None or (self._entry is None and not self._hold()):
                    return first
                shares = np.zeros((1, len(policy.problem.columns)))
                try:
                    reached, plans = code_of(_enter)(self._entry, steps, shares, first, last)
                except UNTYPED as error:  # before anything ran
                    warn(f"events cannot be entered by compiled code, so Python does it: {error}", EvenhandWarning, 2)
                    _loaded.discard(self._key)
                    _failed.add(self._key)
                    self._views = None
                    return first
                self._receive(steps, first, reached + plans)
                policy._assembly.payable.tell(state)
                state.recent.context = state.recent.decision = state.recent.chances = None
                if not plans:
                    return int(reached)
                self._plan(steps, int(steps.row[reached]), shares)
                first = reached + 1
        return last

    @property
    def works(self) -> bool:
        """Whether kernels can enter anything."""
        return self._views is not None

    @staticmethod
    def may_pay(coming: int) -> bool:
        """Whether kernels may save more than they cost for any policy, for the expected number of steps."""
        return coming >= (_PAYS_LOADED if _loaded else _PAYS_KEPT)

    def renew(self) -> None:
        """Look up the arrays of the state again, as others may have replaced them."""
        self._entry = None

    def _hold(self) -> bool:
        from evenhand.core.pointers import pointer

        self._views = entry_views(self._policy, self._state)
        if self._views is not None:
            self._entry = Entry(*map(pointer, self._views))
        return self._views is not None

    def _receive(self, steps: Steps, first: int, last: int) -> None:
        """Number the decisions of some steps, and settle those whose outcomes came."""
        receipts, d, row = self._state.receipts, steps.decisions, steps.row[first:last]
        counts = d.counted[row, 0] != 0.0
        d.id[row[~counts], 2] = -1
        row, settles = row[counts], steps.what[first:last][counts] != DECIDES
        for settled, j, checksum in zip(settles.tolist(), row.tolist(), d.id[row, 2].tolist(), strict=True):
            if settled:
                receipts.settle_number(d.id[j], checksum)
            else:
                receipts.number(d.id[j], checksum)
        if self._policy._assembly.delay.counts:
            own = Plays(d.id, d.features, d.plays, d.counted)
            self._policy._assembly.delay.follow(self._state, own, settles, row)

    def _plan(self, steps: Steps, j: int, shares: Floats) -> None:
        """Tell goals of the context of a decision that was entered otherwise."""
        loop, decision = self._policy._assembly.loop, steps.decision(j, self._policy.problem.actions)
        if loop.can.restating:
            decision = decision._replace(shares=shares)
        loop.plan(self._state, steps.context(j), decision, counts=bool(decision.counted[0] > 0.0))
        self.renew()  # a plan puts arrays of its own into the state
