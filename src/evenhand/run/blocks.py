"""Blocks of rounds in one compiled call, where policy, world and recorder have views (`core.views`).

Everything else is done by the ordinary loop: a round in which a part pauses or a check fails, and a run in which a
part has no view. Luck is a pure function of the round, so results do not depend on which loop played a round.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from warnings import warn

from evenhand.core.errors import EvenhandWarning
from evenhand.core.kernel import code_of, kernel, way
from evenhand.core.views import alike, view_of
from evenhand.environments.base import World
from evenhand.policy.kernels import loop
from evenhand.policy.kernels.views import views
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState, Receipts
from evenhand.run.recorder import Recorder

# Least rounds x replicas at which blocks pay: if cached, and if they must be compiled.
_PAYS_KEPT, _PAYS = 2_000, 300_000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class _Run(NamedTuple):
    """All that a block reads and writes, behind one pointer: to look at the types of ten takes 30 microseconds."""

    policy: loop.CompiledPolicy
    world: Any  # held
    record: Any


@kernel
def _rounds(run: Any, first: int, last: int) -> tuple[int, int, bool]:
    """Play steps from `first` to before `last`.

    Returns the step that comes next, which is `last` or one for the ordinary loop; the number of decisions that were
    committed; and whether all true means were known.
    """
    p, world, record = run.part
    committed, truth, f = 0, True, p.facts.part
    for step in range(first, last):
        context, hidden = world.part.context(step)
        if not loop.can_decide(p, context):
            return step, committed, truth
        sound, decision = loop.decide(p, context)
        if not sound:
            return step, committed, truth
        y, exposed, means = world.part.respond(step, context, hidden, decision)  # one that is rejected counts 0
        fine, counts = loop.may_commit(p, context, decision)
        sound, answer = loop.check_arrival(p, decision, y, exposed)
        if not (fine and sound):
            return step, committed, truth
        loop.commit(p, context, decision)
        if counts:
            committed += 1
            loop.learn(p, decision, answer)
        truth = record.enter(decision, f.t, world.part.cases(step), means) and truth
    return last, committed, truth


class _Views(NamedTuple):
    policy: tuple[Any, ...]
    world: Any
    record: Any


class Blocks:
    """Runs blocks of rounds of a policy in a world, as far as that can be done."""

    def __init__(self, policy: Policy, state: PolicyState, world: World, recorder: Recorder) -> None:
        self._policy, self._state, self._world, self._recorder = policy, state, world, recorder
        self._views = self._look()
        self._held: Any = None
        self._renew = True
        self.played = 0  # rounds in blocks
        self.works = self._views is not None and way() != "interpreted"

    def pays(self, steps: int) -> bool:
        """Whether loading or compiling blocks takes less time than they save in the given number of steps."""
        if self._views is None or not self.works:
            return False
        rounds = steps * len(self._state.t)
        if rounds >= _PAYS or rounds < _PAYS_KEPT:
            return rounds >= _PAYS
        from evenhand.core.pointers import UNTYPED, pointer_type, record_type, type_of, type_of_pointer

        v, step = self._views, type_of(steps)
        try:
            of_policy = record_type(loop.CompiledPolicy, *map(type_of_pointer, v.policy))
            run = record_type(_Run, of_policy, type_of_pointer(v.world), type_of(v.record))
        except UNTYPED as error:
            self._give_up(error)
            return False
        return bool(code_of(_rounds).has((pointer_type(run), step, step)))

    def renew(self) -> None:
        """Look up the parts again, as the ordinary loop may have replaced arrays of the state."""
        self._renew = True

    @property
    def next_views(self) -> _Views | None:
        """The views that the next block will use, None if they have to be rebuilt."""
        return None if self._renew else self._views

    def run(self, first: int, last: int) -> int:
        """Play steps up to `last` as far as possible, and return the step that comes next."""
        from evenhand.core.pointers import UNTYPED

        state, recorder = self._state, self._recorder
        while self.works and first < last and state.recent.compared and not state.receipts.waiting().size:
            if self._renew and not self._hold():
                break
            stop = min(last, recorder.next_step)
            try:
                reached, committed, truth = code_of(_rounds)(self._held, first, stop)
            except UNTYPED as error:  # before anything ran
                self._give_up(error)
                break
            _skip(state.receipts, committed)
            if reached > first:
                recorder.skip_to(reached, truth)
            self.played += reached - first
            first = reached
            if reached < stop:
                break
        return first

    def _look(self) -> _Views | None:
        of_policy, of_world = views(self._policy, self._state), view_of(self._world)
        of_record = self._recorder.view()
        if of_policy is None or of_world is None or of_record is None:
            return None
        return _Views(of_policy, of_world, of_record)

    def _hold(self) -> bool:
        """Look at the parts as kernels take them, if these still have views; the views themselves keep the arrays."""
        from evenhand.core.pointers import UNTYPED, hold, pointer

        v, self._renew = self._look(), False
        self.works = v is not None
        if v is None:
            self._views = None
        elif self._held is None or not alike(v, self._views):
            self._views = v
            try:
                self._held = hold(_Run(loop.CompiledPolicy(*map(pointer, v.policy)), pointer(v.world), v.record))
            except UNTYPED as error:
                self._give_up(error)
        return self.works

    def _give_up(self, error: Exception) -> None:
        plain = _COLOUR.sub("", str(error))  # Numba colours its messages where it can
        lines = [line.strip().removeprefix("- argument 0: ") for line in plain.splitlines()]
        untyped = [line for line in lines if line.startswith("Cannot determine Numba type")]
        places = [line for line in lines if line.startswith('File "')]
        said = [*(f": {line}" for line in untyped), *(f"; see {line.rstrip(':')}" for line in places)]
        place = said[0] if said else ""  # the innermost comes first
        warn(f"rounds cannot be compiled, so Python does them{place}", EvenhandWarning, stacklevel=2)
        self.works = False


def _skip(receipts: Receipts, n: int) -> None:
    """Advance a book without waiting decisions by n decisions that were entered and settled."""
    while receipts.count + n - receipts.base > len(receipts.tokens):
        n -= receipts.base + len(receipts.tokens) - receipts.count
        receipts.count = receipts.base = receipts.base + len(receipts.tokens)
    receipts.count += n
