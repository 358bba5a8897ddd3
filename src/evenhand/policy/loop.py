"""The assembly of a policy, and the first half of its loop body: decide and commit. `settlement` is the second half."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput, StaleDecision
from evenhand.core.luck import Stream
from evenhand.core.records import Context, Decision, Worth, distinct
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals.base import Goal, Replans
from evenhand.models.base import AskBoth, Model, refuse_dense
from evenhand.policy import books, checks, entries
from evenhand.policy.books import ByPeriod
from evenhand.policy.cases import Encoder
from evenhand.policy.delay import Delay
from evenhand.policy.marked_arrays import Payable, Zeros
from evenhand.policy.queries import Abilities, Questions, abilities
from evenhand.policy.saving import flatten
from evenhand.policy.settlement import Settlement
from evenhand.policy.shares import ShareBooks
from evenhand.policy.state import PolicyState
from evenhand.policy.units import UnitBooks
from evenhand.problem.actions import present
from evenhand.problem.problem import Problem

_UNNUMBERED = np.full(3, -1)


@dataclass(frozen=True, eq=False)
class Loop:
    """Decides and commits for one policy."""

    problem: Problem
    model: Model
    choice: Choice
    can: Abilities
    questions: Questions
    restating: ShareBooks
    settlement: Settlement
    payable: Payable
    delay: Delay
    units: UnitBooks

    def read(self, state: PolicyState, context: Context) -> Context:
        """Return a context that kernels can read, checked once."""
        context = checks.context(context, len(state.t), self.model.n_features, self.problem, state.recent.context)
        if not state.recent.compared:
            state.recent.compared = checks.alike(context, self.model)
            if state.recent.compared and not state.t.any():
                checks.warn_of_greed(self.model, state.model, self.choice, context.features)
        state.recent.context = context = self._offer(state, context)
        return context

    def _offer(self, state: PolicyState, context: Context) -> Context:
        """Remove withdrawn actions from the offer of a context, and those that a cap of its unit forbids."""
        if self._present is not None:
            context = context._replace(offered=context.offered & self._present)
        return context if state.units is None else self.units.allow(state.units, context, state.t)

    @cached_property
    def _present(self) -> Bools | None:
        """The candidates that were not withdrawn, None if that is all of them, `->(A)`."""
        return present(self.problem)

    def _refuse_withdrawn(self, decision: Decision) -> None:
        """Refuse a decision that was made before one of its actions was withdrawn."""
        if self._present is not None:
            gone = ~self._present[decision.plays] & (decision.plays >= 0) & (decision.counted > 0.0)[:, None]
            if gone.any():
                name = self.problem.actions[decision.plays[gone][0]]
                raise StaleDecision(f"{name!r} was withdrawn since the decision was made: decide again")

    def check(self, state: PolicyState, context: Context, decision: Decision) -> Context:
        """Return a context that kernels can read; refuse one, or a decision, that is not of this policy."""
        own = context is state.recent.context
        if not own or self.can.planning:  # plans keep contexts, whose numbers may have been changed since
            last = state.recent.context if own else None
            context = checks.context(context, len(state.t), self.model.n_features, self.problem, last)
            context = self._offer(state, context)
        elif state.units is not None:  # others of the same unit may have been committed since
            context = self.units.allow(state.units, context, state.t)
        if decision is not state.recent.decision or decision is None:
            checks.decision(decision, len(state.t), self.choice.n_plays, self.model.n_features, self.problem)
            state.recent.decision = decision
        return context

    def decide(self, state: PolicyState, context: Context, *, late: bool = False) -> Decision:
        """Make a decision without changing the state; see `Policy.decide`, and with `late` `decide_late`."""
        ask, candidates = self.questions, context.features.shape[1]
        shares = ask.group_shares(state, context)
        offer = ask.offer(state, context, late=late)
        w, offset, row_prices, constant = ask.prices(state, context, shares)
        luck = state.luck(Stream.MODEL, self.model.draws(candidates))
        with self.delay.read(state):
            said = ask.worth(state, context.features, w, luck)
            mean = said.mean if self.can.fixed else said.mean + offset  # fixed prices have no offset
            worth = Worth(mean, said.bonus, said.random, constant)
            mix = None if self.can.mixes is None else ask.mix(state, context, shares, w, said, worth)
        if mix is not None:
            worth = Worth(mean, said.bonus, said.random, constant, mix)
        keep = None if state.units is None else self.units.keep(state.units, context, offer.playable, state.t)
        luck = state.luck(Stream.CHOICE, self.choice.draws(candidates))
        luck = luck if self.can.compares is None else self.units.side(state, context, luck)
        pick = self.choice.pick(state.choice, worth, offer, state.t, luck)
        propensities = pick.propensities
        if worth.random:
            drawn = (pick.forced[:, None] == 0.0) & (pick.plays >= 0)
            propensities = np.where(drawn, np.nan, propensities)
        if keep is not None:
            propensities = np.where(keep.actions >= 0, keep.chances, propensities[:, 0])[:, None]
            pick = pick._replace(forced=np.where(keep.actions >= 0, 1.0, pick.forced))
        known, offered = context.known, context.offered
        features, known, groups, counted, restricted, some = entries.take(
            distinct(context.features),
            known,
            context.groups,
            pick.plays,
            offered,
            offer.playable,
            state.t,
            ask.last_round(late),
        )
        if not some and not late:
            checks.warn_of_end(self.problem, state, context)
        prices = w if w.shape[2] == 1 else entries.take_prices(w, pick.plays)
        carried = state.nothing if pick.carried is None else pick.carried
        of_plays = features, known, groups, shares, prices, row_prices, carried
        names = self.problem.actions if candidates == len(self.problem.actions) else ()
        time = state.t.copy() if context.time is None else context.time + np.zeros(len(state.t))
        made = _UNNUMBERED.copy(), pick.plays, propensities, counted, pick.forced, restricted, time, *of_plays, names
        state.recent.decision = Decision(*made)  # in the order of its fields, as to name them would take a microsecond
        state.recent.chances = None if worth.random else pick.lottery
        state.recent.keeps = keep is not None
        return state.recent.decision

    def commit(self, state: PolicyState, context: Context, decision: Decision, *, done: bool = False) -> None:
        """Carry out a decision, or enter one that was already carried out; see `Policy.commit` and `Policy.enter`."""
        candidates, columns = context.features.shape[1], len(self.problem.columns)
        d = decision
        if context.time is not None and not np.array_equal(d.time, context.time + np.zeros(len(d.time))):
            raise InvalidInput("decision.time", f"that of the context, {context.time}", d.time)
        r, field, counts, late, checksum = entries.check_commit(
            d.plays, d.counted, d.time, d.groups, d.known, candidates, columns, state.t, self.problem.last_round
        )
        if r >= 0:
            raise checks.wrong_decision(decision, r, field, candidates, self.problem)
        if decision.id[0] >= 0:
            raise InvalidInput("decision", "one that was not committed yet", f"number {decision.id[0]}")
        if late and not done:
            raise StaleDecision(f"the horizon of {self.problem.horizon} rounds is over: this decision comes too late")
        if not done:
            self._refuse_withdrawn(decision)
            self.units.refuse(state.units, context, decision)
            self.questions.refuse_misfits(state, decision, timed=context.time is not None)
        estimates = self.questions.estimates(state, decision) if self.can.estimates else {}
        if counts:  # nothing can be refused any more
            state.receipts.number(decision.id, checksum)
            if self.delay.counts:
                self.delay.commit(state, d)
        before = self.restating.shares(state) if self.can.restating else None
        self.units.commit(state.units, context, decision, state.t)
        state.t += decision.counted
        books.commit(d.plays, d.counted, d.groups, d.known, self.problem.certain, 1.0, state.books)
        if state.periods is not None:
            self.settlement.by_period.commit(state.periods, d, 1.0)
        self.payable.tell(state)
        if context.groups.shape[2]:
            entries.believe(context.groups, context.offered, decision.counted, state.seen)
        if before is not None:
            decision = self.restating.commit(state, decision, before)
        for i, goal in self.can.ahead:
            goal.on_decision(state.goals[i], decision, estimates.get(i))
        if self.can.follows is not None:
            self.can.follows.on_decision(state.choice, decision)
        self.plan(state, context, decision, counts=counts)

    def go_on(self, state: PolicyState, before: Problem) -> None:
        """Prepare a state that was adopted from a policy of another problem for the next decision.

        Goals plan anew, unless actions were appended, of which nothing is known yet: then at the next commit, where a
        plan that cannot be made fails.
        """
        self.payable.tell(state)
        if before.actions != self.problem.actions:
            return
        shares = self.questions.shares(state)
        for i, goal in self.can.planning:
            if isinstance(goal, Replans):
                with suppress(InvalidInput), self.delay.read(state):  # of what the model says of earlier contexts
                    goal.plan_now(state.goals[i], shares, state.t, self._ask(state))

    def _ask(self, state: PolicyState) -> AskBoth:
        return AskBoth(partial(self.questions.worth, state), partial(self._ask_arrived, state))

    def _ask_arrived(self, state: PolicyState, x: Floats, w: Floats) -> Worth:
        with self.delay.unread(state):
            return self.questions.worth(state, x, w)

    def plan(self, state: PolicyState, context: Context, decision: Decision, *, counts: bool) -> None:
        """Tell planning goals of the context of a decision that was just counted; it is cancelled if they fail."""
        if not self.can.planning:
            return
        try:
            with self.delay.read_before(state):
                for i, planner in self.can.planning:
                    planner.on_context(state.goals[i], context, decision, state.t, self._ask(state))
        except InvalidInput:  # of what the model says of earlier contexts
            if counts:
                self.settlement.cancel(state, decision)
            raise


MANY = 10_000  # replicas, from which on their memory is reckoned up before they start


class Assembly(NamedTuple):
    """The workings of one policy."""

    can: Abilities
    encoder: Encoder
    questions: Questions
    payable: Payable
    zeros: Zeros
    delay: Delay
    restating: ShareBooks
    settlement: Settlement
    loop: Loop


def assemble(problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice) -> Assembly:
    """Assemble the workings of a policy from its parts."""
    can = abilities(problem, goals, choice)
    payable, delay = Payable(problem), Delay(model, problem.n_plays)
    questions = Questions(problem, model, can, delay)
    restating, zeros = ShareBooks(problem, can.restating), Zeros(problem.free[:, : len(problem.learned)])
    units = UnitBooks(problem)
    settlement = Settlement(problem, model, can, restating, payable, zeros, ByPeriod(problem), delay, units)
    loop = Loop(problem, model, choice, can, questions, restating, settlement, payable, delay, units)
    encoder = Encoder(problem=problem, model=model)
    return Assembly(can, encoder, questions, payable, zeros, delay, restating, settlement, loop)


def refuse_misfits(problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice, can: Abilities) -> None:
    """Refuse parts made for other outcomes or plays, or that no choice can follow; see `Policy`."""
    if model.n_outcomes != len(problem.learned):
        mend = f"give it n_outcomes={len(problem.learned)}, or leave the model out"
        raise InvalidInput("model", f"one of {problem.learned}", f"one of {model.n_outcomes} outcomes: {mend}")
    if problem.packed is not None:
        refuse_dense(model)
    if choice.n_plays != problem.n_plays:
        expected = f"one that plays {problem.n_plays} candidates, as problem.n_plays says"
        raise InvalidInput("choice", expected, f"{type(choice).__name__}, which plays {choice.n_plays}")
    for _, planner in can.planning:
        if planner.one_play and choice.n_plays > 1:
            expected = f"one that plays one candidate, as {type(planner).__name__} plans for one"
            raise InvalidInput("choice", expected, choice)
    if not can.priced:
        raise InvalidInput("goals", "at least one that prices outcomes", goals)
    if model.draws(1) and not choice.reads_bonus:
        expected = f"one that reads bonuses, as {type(model).__name__} explores by drawing them"
        raise InvalidInput("choice", expected, type(choice).__name__)


def fresh(
    problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice, assembly: Assembly, seed: int, ids: Ints
) -> PolicyState:
    """Return a state before any round, of the replicas with these numbers."""
    count = len(ids)
    state = PolicyState(
        seed=seed,
        replicas=ids,
        t=np.zeros(count),
        seen=np.zeros((count, len(problem.columns))),
        inside=assembly.restating.start(count),
        books=books.start(problem, count),
        model=model.start(count, problem.low, problem.high, problem.horizon),
        goals=[goal.start(count) for goal in goals],
        choice=choice.start(count),
        periods=ByPeriod(problem).start(count),
        units=assembly.loop.units.start(count),
    )
    assembly.payable.begin(state)
    assembly.delay.begin(state)
    return state


def refuse_too_many(one: PolicyState, replicas: int) -> None:
    """Refuse more replicas than fit into the memory of this machine, estimated from the state of one."""
    pages = {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} & set(getattr(os, "sysconf_names", ()))
    if len(pages) == 2:  # known on most systems
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (2 * sum(z.nbytes for _, z in flatten(one)))
        if replicas > most:
            raise InvalidInput("replicas", f"at most about {most:,}, given the memory of this machine", f"{replicas:,}")
