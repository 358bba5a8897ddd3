"""The kernels' view of a policy in a state, of goals asked one after the other, and of mixtures of plans."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision, Mix
from evenhand.core.types import Bools, Floats
from evenhand.core.views import pointers, view_of
from evenhand.policy import checks, entries
from evenhand.policy.kernels.loop import Facts
from evenhand.policy.marked_arrays import NoZeros, Untold
from evenhand.policy.policy import Policy
from evenhand.policy.shares import Declared, Estimated, GoalChain
from evenhand.policy.state import PolicyState
from evenhand.problem.factors import stated_by_cases
from evenhand.problem.problem import Problem

_UNNUMBERED = np.full(3, -1)  # kernels do not number decisions


class NoGoals(NamedTuple):
    """The empty list of goals, from which `in_turn` starts, and that of goals that are told about shares."""

    replicas: int

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        return np.zeros((self.replicas, 0, 0)), np.zeros((self.replicas, 0))

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        """Do nothing."""


@pointers("others", "goal")
class InTurn(NamedTuple):
    """A goal after others."""

    others: Any
    goal: Any

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        q, o = self.others.part.price()
        part, constant = self.goal.part.price()
        return entries.below(q, o, part, constant)

    @kernel
    def on_decision(self, d: Decision) -> None:
        self.others.part.on_decision(d)
        self.goal.part.on_decision(d)

    @kernel
    def plans(self, c: Context, d: Decision, t: Floats) -> bool:
        return bool(self.others.part.plans(c, d, t) or self.goal.part.plans(c, d, t))

    @kernel
    def on_context(self, c: Context, d: Decision, t: Floats) -> None:
        self.others.part.on_context(c, d, t)
        self.goal.part.on_context(c, d, t)

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        self.others.part.on_outcome(d, y, z)
        self.goal.part.on_outcome(d, y, z)

    @kernel
    def on_exposure(self, d: Decision, exposed: Bools) -> None:
        self.others.part.on_exposure(d, exposed)
        self.goal.part.on_exposure(d, exposed)

    @kernel
    def defers(self, c: Context, d: Decision, t: Floats) -> bool:
        return bool(self.others.part.defers(c, d, t) or self.goal.part.defers(c, d, t))

    @kernel
    def pauses(self, t: Floats, candidates: int) -> bool:
        return bool(self.others.part.pauses(t, candidates) or self.goal.part.pauses(t, candidates))


class Unlimited(NamedTuple):
    """No limits."""

    replicas: int

    @kernel
    def room(self, c: Context) -> tuple[Floats, Floats]:
        return np.zeros((1, c.features.shape[1], 0)), np.zeros((self.replicas, 0))

    @kernel
    def fits(self, d: Decision) -> bool:
        return True


def in_turn(goals: list[Any], replicas: int) -> Any:
    """The views of goals as that of one."""
    found: Any = NoGoals(replicas)
    for goal in goals:
        found = InTurn(found, goal)
    return found


@kernel
def _empty_mix() -> Mix:
    return Mix(np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0))


class WithoutPlan(NamedTuple):
    """No goal mixes candidates."""

    replicas: int

    @kernel
    def mix(self, c: Context, shares: Floats, model: Any, mean: Floats, bonus: Floats) -> tuple[bool, Mix]:
        return True, _empty_mix()


class NoGains(NamedTuple):
    """The empty list of goals beside a plan."""

    replicas: int

    @kernel
    def add_gain(self, c: Context, shares: Floats, model: Any, gain: Floats) -> bool:
        return True


@pointers("others", "goal")
class Gains(NamedTuple):
    """A goal after others, with its rows, and the largest size of each outcome, by which predictions are checked."""

    others: Any
    goal: Any
    rows: Any
    reach: Floats

    @kernel
    def add_gain(self, c: Context, shares: Floats, model: Any, gain: Floats) -> bool:
        """Add what candidates gain at the prices of these goals alone; False where a prediction cannot be right."""
        if not self.others.part.add_gain(c, shares, model, gain):
            return False
        q, _ = self.goal.part.price()
        w, offset, _ = self.rows.pull(c.groups, shares, c.known, q, np.zeros((len(q), 1)))
        mean, bonus = model.value(c.features, w)
        if checks.bad_worth(mean, bonus, w, self.reach)[0] >= 0:
            return False
        net = entries.net(mean, bonus)
        for r in range(len(net)):
            for a in range(net.shape[1]):
                total = 0.0
                for k in range(offset.shape[1]):
                    total += offset[r, k, a]
                gain[r, a] += net[r, a] + total
        return True


@pointers("plan", "others")
class WithPlan(NamedTuple):
    """A goal that plans, with the gains at the prices of all others."""

    plan: Any
    others: Any

    @kernel
    def mix(self, c: Context, shares: Floats, model: Any, mean: Floats, bonus: Floats) -> tuple[bool, Mix]:
        """Whether predictions are sound, and the mixture of a worth, as `Questions.mix`, `(K,A),(K,A)`."""
        heat = self.plan.part.heat()
        if not heat.any():
            return True, _empty_mix()
        gain = np.zeros((len(mean), mean.shape[2]))
        sound = self.others.part.add_gain(c, shares, model, gain)
        return sound, Mix(gain, entries.net(mean, bonus), heat)


def views(policy: Policy, state: PolicyState) -> tuple[Any, ...] | None:
    """A view for each field of `CompiledPolicy`; None if a part has none, or the compiled loop lacks what they need."""
    parts, problem, count = policy._assembly, policy.problem, len(state.t)
    can = parts.can
    if type(policy) is not Policy:
        return None
    special = can.follows or can.hears or can.timed or can.compares
    if special or len(can.limits) > 1 or not _plain(problem):
        return None
    if state.periods is not None:
        return None
    if policy.model.draws(len(problem.actions)):
        return None
    goals = [view_of(goal, own) for goal, own in zip(policy.goals, state.goals, strict=True)]
    choice, model = view_of(policy.choice, state.choice), view_of(policy.model, state.model)
    rows = parts.questions.rows.view()
    if rows is None or choice is None or model is None or any(goal is None for goal in goals):
        return None
    limits = goals[can.limits[0][0]] if can.limits else Unlimited(count)
    priced = in_turn([goals[i] for i, _ in can.priced], count)
    restated, mixture = _view_by_shares(policy, state, goals), _mixture(policy, state, goals)
    if restated is None or mixture is None:
        return None
    told = parts.payable.view(state), parts.zeros.view(state.model, count)
    return _facts(policy, state), rows, model, priced, limits, in_turn(goals, count), restated, choice, mixture, *told


class Entry(NamedTuple):
    """A view for each part that is told about decisions and outcomes, whichever policy made the decisions."""

    facts: Any
    model: Any
    limits: Any
    goals: Any
    restated: Any
    ahead: Any
    zeros: Any


def entry_views(policy: Policy, state: PolicyState) -> Entry | None:
    """The views by which kernels enter decisions that are made and outcomes; None if a part has none."""
    parts, problem = policy._assembly, policy.problem
    can = parts.can
    special = can.follows or can.hears or can.compares or len(can.limits) > 1 or not _plain(problem)
    if type(policy) is not Policy or special or problem.clock.since is not None:
        return None
    if parts.zeros._some or state.periods is not None:
        return None
    goals = [view_of(goal, own) for goal, own in zip(policy.goals, state.goals, strict=True)]
    model = view_of(policy.model, state.model)
    if model is None or any(goal is None for goal in goals):
        return None
    limits = goals[can.limits[0][0]] if can.limits else Unlimited(len(state.t))
    restated = _view_by_shares(policy, state, goals)
    if restated is None:
        return None
    told = Untold(len(state.t)), NoZeros(len(state.t))  # Python tells the model, which nobody asks until then
    return Entry(_facts(policy, state), model, limits, in_turn(goals, len(state.t)), restated, *told)


def _view_by_shares(policy: Policy, state: PolicyState, views: list[Any]) -> Any:
    """The view of goals with rows by estimated shares, None if one of them cannot be told of shares."""
    restating = policy._assembly.restating
    if not restating.goals:
        return Declared(len(state.t))
    found = in_turn([], len(state.t))
    last, rows = 0, restating._insides
    for i, goal in restating.goals:
        if not hasattr(views[i], "on_shares"):
            return None
        first, last = last, last + len(goal.rows)
        found = GoalChain(found, views[i], first, last)
    shares, own = policy.problem.shares, rows.view()
    masks = rows.is_known, restating._always, rows.column
    return None if own is None else Estimated(state.inside, shares, own, *masks, found)


def _mixture(policy: Policy, state: PolicyState, views: list[Any]) -> Any:
    """The view of a plan and of the priced goals beside it, None if one of them lacks the needed kernels."""
    can, count = policy._assembly.can, len(state.t)
    if can.mixes is None:
        return WithoutPlan(count)
    others: Any = NoGains(count)
    place = can.mixes[0]
    if not hasattr(views[place], "heat"):
        return None
    for i, goal in can.priced:
        if i != place:
            rows = goal.rows.view()
            if rows is None:
                return None
            others = Gains(others, views[i], rows, _reach(policy))
    return WithPlan(views[place], others)


def _reach(policy: Policy) -> Floats:
    return np.ascontiguousarray(policy._assembly.questions._reach)


def _plain(problem: Problem) -> bool:
    """Whether a problem has nothing that only the ordinary loop knows."""
    timed = problem.until is not None or problem.edges is not None
    states = stated_by_cases(problem.factors)
    return not (timed or problem.noisy or problem.measures or states or problem.withdrawn or problem.unit)


def _facts(policy: Policy, state: PolicyState) -> Facts:
    problem, read = policy.problem, np.ascontiguousarray
    return Facts(
        seed=np.uint64(state.seed),
        replicas=state.replicas,
        t=state.t,
        seen=state.seen,
        books=state.books,
        last_round=problem.last_round,
        shares=read(problem.shares[None]),
        estimates_shares=bool(np.isnan(problem.shares).any()),
        bounds=read(problem.bounds),
        reach=_reach(policy),
        sure=read(problem.sure),
        certain=read(problem.certain),
        span=read(problem.span_by_action),
        n_noisy=len(problem.noisy),
        n_groups=len(problem.columns),
        draws=policy.choice.draws(len(problem.actions)),
        netted_from=len(policy._assembly.can.priced) if policy._assembly.can.nets else 0,
        everywhere=checks.EVERYWHERE,
        unnumbered=_UNNUMBERED,
    )
