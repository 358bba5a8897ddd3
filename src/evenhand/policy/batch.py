"""Batches of decisions at a state that is frozen but for rounds and budgets, in compiled calls if these pay.

The model, prices and plans stay as they were. The number of the round, which draws the luck, the frequencies of groups,
hard limits and what the choice follows take every decision in turn, as `Policy.enter` lets them. So no budget is
exceeded, and no two decisions draw the same luck.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple
from warnings import warn

import numpy as np

from evenhand.core.errors import EvenhandWarning
from evenhand.core.kernel import code_of, kernel, way
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.policy import entries
from evenhand.policy.kernels import loop
from evenhand.policy.kernels.events import StepEntry, Steps
from evenhand.policy.kernels.loop import CompiledPolicy
from evenhand.policy.kernels.views import views
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState, Waiting

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
def _decide(p: CompiledPolicy, contexts: Context, out: Choices, first: int, last: int) -> int:
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


class BatchDecider:
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
        """Whether kernels save more than they cost, given the number of cases to come."""
        if self._views is None or len(self._contexts.features) < _PAYS_LOADED:
            return False
        types = self._types(choices)
        return types not in _failed and (types in _loaded or (coming >= _PAYS_KEPT and code_of(_decide).has(types)))

    def run(self, choices: Choices, first: int, last: int) -> int:
        """Decide cases from one to before `last`; returns the first one that is left to Python, `last` if none is."""
        from evenhand.core.pointers import UNTYPED, pointer

        self._views = views(self._policy, self._at)
        if self._views is None:
            return first
        try:
            reached = code_of(_decide)(CompiledPolicy(*map(pointer, self._views)), self._contexts, choices, first, last)
        except UNTYPED as error:  # before anything ran
            warn(f"cases cannot be decided by compiled code, so Python does it: {error}", EvenhandWarning, 2)
            _failed.add(self._types(choices))
            self._views = None
            return first
        _loaded.add(self._types(choices))
        return int(reached)

    def _types(self, choices: Choices) -> tuple[Any, ...]:
        """The types of the arguments of the kernel."""
        from evenhand.core.pointers import record_type, type_of, type_of_pointer

        number, of_policy = type_of(0), record_type(CompiledPolicy, *map(type_of_pointer, self._views or ()))
        return of_policy, type_of(self._contexts), type_of(choices), number, number


_PART = 20


def most(policy: Policy, state: PolicyState) -> int:
    """Return how many rounds may be decided at one state of one replica: a twentieth of those so far, or left.

    The loss of objective is then that of prices which are at most a twentieth older than they could be.
    """
    if policy.problem.unit is not None:  # whose caps the decisions of a batch would not see
        return 0
    rounds = float(state.t[0])
    return max(int(min(rounds, policy.problem.horizon - rounds)) // _PART, 0)


def freeze(policy: Policy, state: PolicyState) -> PolicyState:
    """Return a state to decide at, while the given one stays as it is: the two share the model, prices and plans.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"), eh.Outcome("post", known={"yes": 1})),
    ...                   maximize="won", subject_to=(eh.Budget("post", total=2),), horizon=9)
    >>> policy = eh.resolving(shop)
    >>> state, context, found = policy.start(), policy.encode({}, offered=["yes"]), []
    >>> at = freeze(policy, state)
    >>> for _ in range(4):
    ...     decision = policy.decide(at, context)
    ...     pass_on(policy, at, context, decision)
    ...     found.append(decision.action)
    >>> found, state.t
    (['yes', 'yes', None, None], array([0.]))
    """
    limits = {i for i, _ in policy._assembly.can.limits}
    goals = [deepcopy(own) if i in limits else own for i, own in enumerate(state.goals)]
    found = replace(
        state,
        t=state.t.copy(),
        seen=state.seen.copy(),
        model=policy._assembly.delay.model_state(state),
        goals=goals,
        choice=deepcopy(state.choice),
        waiting=Waiting(),  # which the model of this state counts already
    )
    found.owner, found.recent.compared = state.owner, state.recent.compared
    return found


def pass_on(policy: Policy, state: PolicyState, context: Context, decision: Decision) -> None:
    """Let a frozen state advance to the next decision: count the round, and hold back the plays' worst case."""
    can = policy._assembly.can
    state.t += decision.counted
    if context.groups.shape[2]:
        entries.believe(context.groups, context.offered, decision.counted, state.seen)
    limits = {i for i, _ in can.limits}
    for i, goal in can.ahead:
        if i in limits:
            goal.on_decision(state.goals[i], decision, None)
    if can.follows is not None:
        can.follows.on_decision(state.choice, decision)


class DecisionDraft(NamedTuple):
    """A decision that is still to be entered; its arrays may be parts of those of others."""

    context: Context
    decision: Decision
    chances: Floats | None  # of all candidates at the first place, None where they are unknown, (1, A)


def decide_all(
    policy: Policy, state: PolicyState, contexts: Context, time: Floats | None = None, coming: int = 0
) -> list[DecisionDraft]:
    """Decide cases in order at one state of one replica, which stays as it is.

    Args:
        policy, state: as for `Policy.decide`.
        contexts: without times, `(N)` before every shape.
        time: of all cases, None where the problem has no dates.
        coming: about how many cases will come, these and later ones, by which machine code is loaded.

    Raises:
        InvalidInput: as for `Policy.decide`.
    """
    at, found, n = freeze(policy, state), list[DecisionDraft](), len(contexts.features)
    kernels = BatchDecider(policy, at, contexts) if time is None else None
    choices: Choices | None = None
    while len(found) < n:
        j = len(found)
        context = _one(contexts, j, time)
        decision = policy.decide(at, context)
        found.append(DecisionDraft(context, decision, at.recent.chances))
        pass_on(policy, at, context, decision)
        if choices is None and kernels is not None and at.recent.chances is not None:
            choices = Choices.like(decision, at.recent.chances, n)
            kernels = kernels if kernels.pays(choices, coming) else None
        if choices is not None and kernels is not None:
            reached = kernels.run(choices, j + 1, n)
            rows = range(j + 1, reached)
            made = (choices.decision(i, decision.names) for i in rows)
            found += [
                DecisionDraft(_one(contexts, i, time), d, choices.chances[i]) for i, d in zip(rows, made, strict=True)
            ]
    state.recent.compared = at.recent.compared
    return found


def _one(contexts: Context, j: int, time: Floats | None) -> Context:
    """The context of one of many cases."""
    own: Any = [z[j : j + 1] for z in contexts[:4]]
    return Context(own[0], own[1], own[2], own[3], time)


def compile_ahead(policy: Policy) -> bool:
    """Compile, or load, the kernels that decide many cases at one state and enter them; returns whether both can.

    It takes some 30 seconds where nothing is kept on disk.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("a", "b", "c"), withdrawn=("c",), outcomes=(eh.Outcome("gain"),), maximize="gain",
    ...                   horizon=9)
    >>> compile_ahead(eh.uniform(shop, 1))  # kernels know no withdrawn actions
    False
    """
    state, none = policy.start(), _decision()
    contexts = Context(_zeros(4), _zeros(4), _zeros(4, int), _zeros(3, bool))
    deciding = BatchDecider(
        policy, freeze(policy, state), Context(_zeros(3), _zeros(3), _zeros(3, int), _zeros(2, bool))
    )
    if not deciding.works:
        return False
    deciding.run(Choices(none, _zeros(3)), 0, 0)
    steps = Steps(_zeros(1, int), _zeros(1, int), none, contexts, _zeros(4), _zeros(3, bool))
    return StepEntry(policy, state).load(steps)


def _decision() -> Decision:
    """Decisions of no cases: kernels are compiled by the number of axes."""
    axes = 2, 3, 3, 2, 2, 2, 2, 4, 4, 4, 3, 5, 3, 3  # in the order of the fields
    kinds = int, int, *[float] * 7, int, *[float] * 4
    each: Any = (_zeros(n, kind) for n, kind in zip(axes, kinds, strict=True))
    return Decision(*each)


def _zeros(axes: int, kind: type = float) -> Any:
    return np.zeros((0,) * axes, kind)
