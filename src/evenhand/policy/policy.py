"""A policy: a model, goals and a choice, with the loop body (decide, commit, learn)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evenhand.choices.base import Choice
from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import typed
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import file, indices, on_disk
from evenhand.goals.base import Goal
from evenhand.models.base import Model, notes
from evenhand.models.sklearn import as_model
from evenhand.policy import checks, outcome_names, saving
from evenhand.policy.adoption import adopt, learn_from, teach
from evenhand.policy.cases import StatedCase, Table
from evenhand.policy.explanation import explain
from evenhand.policy.loop import MANY, Assembly, assemble, fresh, refuse_misfits, refuse_too_many
from evenhand.policy.state import Guard, PolicyState
from evenhand.policy.status import Status, facts, status
from evenhand.problem.clock import Time
from evenhand.problem.problem import Problem


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Policy:
    """Decides one case after another, and learns from outcomes.

    Each round the goals name prices, the model says what every candidate is worth at these prices, hard limits mask
    candidates, the choice picks among the rest, and outcomes move goals and model.

    Args:
        problem: what is decided; gives names, ranges, shares and the horizon.
        model: predicts the learned outcomes; noisy and known ones need none. An estimator of scikit-learn is wrapped.
        goals: priced ones add up to the worth of a candidate; limits forbid candidates.
        choice: turns worth into plays.
        name: for tables and plots.

    Raises:
        InvalidInput: the model predicts another number of outcomes than the problem has; the choice plays another
            number of candidates, or reads no bonus where the model explores by drawing one; no goal prices outcomes;
            or a goal plans for one play while several are made.
        ConcurrentUse: from any method, another thread is using the state.
    """

    problem: Problem
    model: Model
    goals: tuple[Goal, ...]
    choice: Choice
    name: str = "policy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model, len(self.problem.learned)))
        refuse_misfits(self.problem, self.model, self.goals, self.choice, self._assembly.can)

    def __repr__(self) -> str:
        return texts.text(f"Policy {self.name!r}", facts(self.problem, self.model, self.goals, self.choice))

    def _repr_html_(self) -> str:
        return texts.table(f"Policy {self.name!r}", facts(self.problem, self.model, self.goals, self.choice))

    def start(self, *, seed: int = 0, replicas: int | Sequence[int] = 1) -> PolicyState:
        """Return the state before the first round, for replicas 0 to R - 1 or for the ones that are named."""
        ids = indices("replicas", replicas)
        check_seed(seed)
        if len(ids) > MANY:
            refuse_too_many(self.start(), len(ids))
        state = fresh(self.problem, self.model, self.goals, self.choice, self._assembly, seed, ids)
        if "_owner" not in self.__dict__:  # here, for a model that has a certain number of replicas only
            self.__dict__["_owner"] = saving.owner(self, state)
        state.owner = self._owner
        return state

    def encode(
        self,
        case: Mapping[str, object],
        *,
        offered: Collection[str] | None = None,
        known: Mapping[str, Mapping[str, float] | float] | None = None,
        time: Time | None = None,
    ) -> Context:
        """Return the context of one case, which states the problem's features and groups by name.

        Args:
            case: a value for every feature and for every grouping of cases; a feature and a grouping may share a name.
            offered: the actions that may be played, each once; all by default.
            known: known outcomes that differ from the declared ones in this case, by name: a number for all actions,
                or numbers by action.
            time: when the case came: a date with a time of day where the problem has dates (`Problem.since`), a number
                elsewhere; by default the number of the round, where the problem has no `until`.

        Raises:
            InvalidInput: it names all wrong fields: names that are missing or unknown, values that features cannot
                have, actions unknown or offered twice; or a model of another number of features.
        """
        return self._assembly.encoder.one(StatedCase(case, offered, known, time))

    def encode_frame(self, frame: Table, *, times: Sequence[Time] | None = None) -> list[Context]:
        """Return the contexts of the rows of a data frame, whose columns include the problem's features and groups.

        Other columns are not read; true counts as 1, false as 0. A sequence of cases, each as `encode` takes it,
        does as well. `times` has the time of each row, as for `encode`.

        Raises:
            InvalidInput: a column that is missing; or as for `encode`, with the number of the row.
        """
        return self._assembly.encoder.many(frame, times)

    def decide(self, state: PolicyState, context: Context) -> Decision:
        """Return a decision, and leave the state as it is.

        A replica in which nothing is playable, or whose horizon is over, plays -1 and its round does not count.

        Raises:
            InvalidInput: a context of the wrong shape, with features that are not finite, or with unknown groups; or a
                model whose predictions have the wrong shape, are not finite or far outside of what was declared.
        """
        with self._guard_of(state):
            return self._assembly.loop.decide(state, self._assembly.loop.read(state, context))

    def commit(self, state: PolicyState, context: Context, decision: Decision) -> None:
        """Carry out a decision: number it, hold back its worst case and count its round where `counted` is 1.

        Raises:
            StaleDecision: others were committed since, and its plays no longer fit the horizon or a hard limit.
            InvalidInput: a decision of another policy, or one that was committed before; a context that does not fit
                the problem; or predictions that no plan can use, in which case the decision is cancelled.
        """
        with self._guard_of(state):
            loop = self._assembly.loop
            loop.commit(state, loop.check(state, context, decision), decision)

    def enter(self, state: PolicyState, context: Context, decision: Decision) -> None:
        """Enter a decision that was carried out already, such as one of a log, as `commit` does.

        It is not refused if it does not fit the horizon or a hard limit: what is left is then below 0, and nothing that
        uses it is played any longer.

        Raises:
            InvalidInput: as for `commit`.
        """
        with self._guard_of(state):
            loop = self._assembly.loop
            loop.commit(state, loop.check(state, context, decision), decision, done=True)

    def act(self, state: PolicyState, context: Context | None = None) -> Decision:
        """Decide and commit.

        Raises:
            InvalidInput: no context, as where the state was left out.
        """
        if context is None:
            raise InvalidInput("act", "a state and a context, as in act(state, context)", "one of them alone")
        with self._guard_of(state):
            context = self._assembly.loop.read(state, context)
            decision = self._assembly.loop.decide(state, context)
            self._assembly.loop.commit(state, context, decision)
        return decision

    def learn(
        self,
        state: PolicyState,
        decision: Decision,
        y: Floats,
        observed: Bools | None = None,
        exposed: Bools | None = None,
        pending: Bools | None = None,
    ) -> None:
        """Take in the outcomes of a committed decision, now or later; those of every play once.

        The outcomes of a decision with several plays may arrive in parts: all but the last one say what is `pending`. A
        part enters the books like a round of its own that counts as the share of the plays that it has, and the model
        learns from it at once.

        Args:
            state, decision: as they were committed; replicas in which it does not count are ignored.
            y: outcomes of the plays, in the order of `problem.observed`: learned ones, then noisy ones, `(P,M+B)`.
                Learned ones are as they are, before any factor (`Outcome.times`). At an empty place, where the play is
                -1, 0 and NaN are ignored, and anything else is refused.
            observed: which of them were seen at all, `(P,M+B)`. An unobserved outcome teaches nothing: rows that
                read it move no price, and it stays held back from limits.
            exposed: which plays took effect, `(P)`; all by default. A play that was not exposed has outcome 0 in
                all books, and teaches the model nothing; known and noisy outcomes that are `sure` count nevertheless.
            pending: plays whose outcomes are still to come, `(P)`; none by default. Of these plays, and of those that
                were settled by an earlier call, outcomes of 0 and NaN are ignored, and anything else is refused.

        Raises:
            InvalidInput: outcomes of the wrong shape, not finite where observed, outside their declared range, or of a
                play that is pending or settled; a pending play that is settled, or nothing that arrives; or a decision
                that does not wait for its outcome in this state.
        """
        with self._guard_of(state):
            self._assembly.settlement.learn(state, decision, y, observed, exposed, pending)

    def observe(
        self,
        state: PolicyState,
        decision: Decision,
        outcomes: outcome_names.Named | Sequence[outcome_names.Named | None],
    ) -> None:
        """Take in the outcomes of a committed decision by name, as `learn` does, in a state of one replica.

        Args:
            state, decision: as they were committed.
            outcomes: every outcome in `problem.observed` with its value, or None if it was not observed. With
                several plays a sequence of these, in the order of `decision.actions`, with None in place of a play
                that was not exposed, as when people did not look so far down.

        Raises:
            InvalidInput: an outcome that is missing, unknown or no number; or as for `learn`.
        """
        y = outcome_names.usual(self.problem, self.choice.n_plays, outcomes)
        if y is not None:
            self.learn(state, decision, y)
        else:
            self.learn(state, decision, *outcome_names.outcomes(self.problem, self.choice.n_plays, outcomes))

    def teach(
        self, state: PolicyState, context: Context, action: str, outcomes: outcome_names.Named, *, weight: float = 1.0
    ) -> None:
        """Teach the model the outcome of an action that this policy did not choose, such as one of a log.

        Books, limits and prices stay as they are, and no round counts: the horizon is not used up. The state has one
        replica.

        Args:
            state: as it was started or loaded.
            context: of the case.
            action: that was played.
            outcomes: every outcome in `problem.observed` with its value, or None if it was not observed.
            weight: how many of its own observations this one counts as for the model. Below 1, such as 0.05, for logs
                that may be out of date: what the policy sees itself soon outweighs them. The Bayesian models weigh.

        Raises:
            InvalidInput: a context that does not fit the problem, an unknown action, or outcomes that are missing,
                unknown or out of range; a weight outside of [1e-6, 1e6], or one but 1 for a model that cannot
                weigh.
        """
        with self._guard_of(state):
            teach(self._assembly.questions, self._assembly.zeros, state, context, action, outcomes, weight)

    def learn_from(self, state: PolicyState, frame: Table, *, weight: float = 0.05, action: str = "action") -> None:
        """Teach the model every row of a log, in order, as `teach` does, before the first decision.

        Args:
            state, weight: as for `teach`. A weight of 1 is for a log that certainly comes from the same world.
            frame: a data frame, or a sequence of mappings, with all columns of `encode_frame`, the action and every
                outcome in `problem.observed`; None and NaN are outcomes that were not observed.
            action: the column of the action that was played.

        Raises:
            InvalidInput: as for `teach`, with the number of the row, and nothing is learned; or a missing column.
        """
        with self._guard_of(state):
            learn_from(self._assembly, state, frame, weight, action)

    def cancel(self, state: PolicyState, decision: Decision) -> None:
        """Take back a committed decision that was not carried out: limits get back the amount held.

        Books remove what they have of it. Its round stays counted, and prices stay where they moved. Nothing can be
        learned from it afterwards.

        Raises:
            InvalidInput: a decision that does not wait for its outcome in this state, or of which some outcomes have
                arrived, as these are in the books.
        """
        with self._guard_of(state):
            self._assembly.settlement.cancel(state, decision)

    def expire(self, state: PolicyState, decision: Decision) -> None:
        """Settle a committed decision whose outcome will never arrive, or the plays of it that still wait.

        Books enter, for every play, the `fallback` of each learned or noisy outcome that declares one, 0 where the
        action is free, and known outcomes that are `sure`. Everything else is not observed: learned and noisy outcomes
        without a fallback, and known ones that depend on exposure. Rows that read it move no price, and limits keep
        its worst case for good. The model and the choice are told nothing. The round stays counted, prices that moved
        at commit stay, and nothing can be learned from the decision afterwards. A decision that does not count in any
        replica is ignored, as by `learn`.

        Raises:
            InvalidInput: a decision that does not wait for its outcome in this state.
        """
        with self._guard_of(state):
            self._assembly.settlement.expire(state, decision)

    def over(self, state: PolicyState) -> Bools:
        """Return a mask of the replicas that never play again: past the horizon, or with a limit used up, `->()`."""
        self._guard_of(state)  # asked between rounds, and changes nothing
        return self._assembly.questions.over(state)

    def worth(self, state: PolicyState, context: Context, decision: Decision) -> Floats:
        """Return the worth of every candidate, with its bonus, at the prices of a decision, `->(A)`.

        It is what the model says at present, without luck. Constants of the goals, which are the same for all
        candidates, are left out. Where prices differ between candidates, readings are netted before optimism.

        Raises:
            InvalidInput: a context or decision that does not fit the problem, or not the other.
        """
        with self._guard_of(state):
            return self._assembly.questions.net_worth(state, context, decision)

    def status(self, state: PolicyState, replica: int = 0) -> Status:
        """Return the standing of a replica: rounds, averages, budgets, constraints and prices, by name.

        Raises:
            InvalidInput: no such replica.
        """
        with self._guard_of(state):
            checks.replica(replica, len(state.t))
            return status(self.problem, self._assembly.can, state, replica, notes(self.model, state.model, replica))

    def explain(self, state: PolicyState, context: Context, decision: Decision, replica: int = 0) -> str:
        """Explain a decision in numbers: prices, worths and masks.

        Prices are those of the decision; worth and limits are what the model and the budgets say at present.

        Raises:
            InvalidInput: a context or decision that does not fit the problem, or not the other; or no such replica.
        """
        with self._guard_of(state):
            return explain(self._assembly.questions, self.choice, state, context, decision, replica)

    def fingerprint(self) -> str:
        """Return a hash of the whole configuration, its name included: policies that share one act alike."""
        return saving.fingerprint(self)

    def save(self, state: PolicyState, path: str | Path) -> None:
        """Write a state as `.npz`, with the shape and the settings that it belongs to."""
        with self._guard_of(state):
            place = file("path", path)
            with on_disk(str(place), "a file that can be written"):
                saving.save(state, self._mark, place)

    def load(self, path: str | Path, *, allow: tuple[str, ...] = ()) -> PolicyState:
        """Read a state back; the policy then continues with the same actions.

        Args:
            path: of the file.
            allow: names of settings that may differ from those under which it was saved, such as ("horizon", "name").
                Hard limits count what was used so far against the totals of this policy.

        Raises:
            MissingFile: there is no such file.
            InvalidInput: a file that cannot be read.
            StateMismatch: the state has another shape, or was saved under other settings, which are named.
        """
        place = file("path", path)
        with on_disk(str(place), "a file that can be read"):
            state = saving.load(self.start, self._mark, place, allow)
        self._assembly.payable.tell(state)  # by these budgets and this horizon
        return state

    def adopt(self, state: PolicyState, *, of: Policy) -> PolicyState:
        """Return a state of this policy that continues from that of another one, such as one with other budgets.

        Sums, the model, contexts and receipts are copied; totals, weights and settings are those of this policy, and
        plans are made anew. Decisions of the other policy that wait can be settled in the new state. The actions are
        the same, or these with others appended, of which the model knows nothing yet.

        Raises:
            InvalidInput: the policies differ in more than amounts, weights, settings, `withdrawn` and appended actions,
                or something in the state cannot grow; it names in what.
        """
        with of._guard_of(state):
            adopted = adopt(self, of, state)
        self._assembly.loop.go_on(adopted, of.problem)
        return adopted

    def save_decision(self, decision: Decision, path: str | Path) -> None:
        """Write a decision that waits for its outcome; save it beside the state, which holds back its worst case."""
        place = file("path", path)
        checks.receipt(decision)
        with on_disk(str(place), "a file that can be written"):
            saving.save_decision(decision, self._mark, place)

    def load_decision(self, path: str | Path, *, allow: tuple[str, ...] = ()) -> Decision:
        """Read a waiting decision back, to learn its outcome when it arrives.

        Raises:
            StateMismatch: the file is not a decision, or one of a policy of another shape or under other settings.
        """
        place = file("path", path)
        with on_disk(str(place), "a file that can be read"):
            return saving.load_decision(self._mark, place, allow, self.problem.actions)

    @cached_property
    def _mark(self) -> saving.Mark:
        return saving.mark(self, self.start(), (self.problem.actions, self.problem.names, self.problem.columns))

    def _guard_of(self, state: PolicyState) -> Guard:
        if state.__class__ is not PolicyState or state.owner != self._owner:
            checks.state(state, self._owner)
        return state.guard

    @cached_property
    def _owner(self) -> str:
        return self.start().owner

    @cached_property
    def _assembly(self) -> Assembly:
        return assemble(self.problem, self.model, self.goals, self.choice)
