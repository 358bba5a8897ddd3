"""A policy: a model, goals and a choice; and the only loop body there is (decide, commit, learn)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.choices.base import Choice, Follows
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream, uniform
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals.base import Goal, Learns, Limits, Plans, Priced, StepsAhead
from evenhand.models.base import Model
from evenhand.policy import checks, saving
from evenhand.policy.explain import explain
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, stack


@dataclass
class PolicyState:
    """Everything a policy has to remember, for R replicas."""

    seed: int
    replicas: Ints  # (R,) which replicas these are: their luck depends on it, not on their place in the batch
    t: Floats  # (R,) decided rounds
    seen: Floats  # (R, C) decided rounds per group
    model: Any
    goals: list[Any]
    choice: Any


@kernel
def _take(features: Floats, known: Floats, plays: Ints) -> tuple[Floats, Floats, Floats]:
    """Features and known outcomes of the plays, and whether anything is played."""
    x = np.zeros((len(plays), plays.shape[1], features.shape[2]))
    z = np.zeros((len(plays), plays.shape[1], known.shape[2]))
    rounds = np.zeros(len(plays))
    for r in range(len(plays)):
        rounds[r] = 1.0 if plays[r, 0] >= 0 else 0.0
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                x[r, p] = features[r, plays[r, p]]
                z[r, p] = known[r if len(known) > 1 else 0, plays[r, p]]
    return x, z, rounds


@kernel
def _enter(q: Floats, o: Floats, k: int, d: int, part: Floats, constant: Floats) -> None:
    """Put the prices of one goal at readings from k and rows from d on, `(K,D),(K),(),(),(k,d),()`, in place."""
    for r in range(len(part)):
        o[r, k] = constant[r]
        for i in range(part.shape[1]):
            for j in range(part.shape[2]):
                q[r, k + i, d + j] = part[r, i, j]


@kernel
def _totals(plays: Ints, rounds: Floats, known: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Sums over the plays that count, of outcomes that were observed and of known ones."""
    total, declared = np.zeros((len(y), y.shape[2])), np.zeros((len(y), known.shape[2]))
    for r in range(len(y)):
        if rounds[r] == 0.0:
            continue
        for p in range(y.shape[1]):
            if plays[r, p] < 0:
                continue
            for m in range(y.shape[2]):
                if not np.isnan(y[r, p, m]):
                    total[r, m] += y[r, p, m]
            for m in range(known.shape[2]):
                declared[r, m] += known[r, p, m]
    return total, declared


@kernel
def _count(groups: Ints, rounds: Floats, seen: Floats) -> None:
    for r in range(len(groups)):
        for g in range(groups.shape[1]):
            seen[r, groups[r, g]] += rounds[r]


@kernel
def _start(offered: Bools, t: Floats, horizon: float, replicas: int) -> Bools:
    playable = np.empty((replicas, offered.shape[1]), np.bool_)
    for r in range(replicas):
        for a in range(offered.shape[1]):
            playable[r, a] = offered[r if len(offered) > 1 else 0, a] and t[r] < horizon
    return playable


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy:
    """Decides case after case, and learns from what follows.

    Each round the goals name prices, the model says what every candidate is worth at these prices, hard limits switch
    off candidates, the choice picks among the rest, and outcomes move goals and model.

    Args:
        problem: what is decided; gives names, ranges, shares and the horizon.
        model: predicts the learned outcomes.
        goals: priced ones add up to the worth of a candidate; limits forbid candidates.
        choice: turns worth into plays.
        name: for tables and plots.

    Raises:
        InvalidInput: the model predicts another number of outcomes than the problem has, no goal prices outcomes, the
            choice plays another number of candidates than the problem says, or a goal plans for one play of several.
    """

    problem: Problem
    model: Model
    goals: tuple[Goal, ...]
    choice: Choice
    name: str = "policy"

    def __post_init__(self) -> None:
        if self.model.n_outcomes != len(self.problem.learned):
            raise InvalidInput("model", f"one of {self.problem.learned}", f"one of {self.model.n_outcomes} outcomes")
        if self._planning and self.choice.n_plays > 1:
            name = type(self.goals[self._planning[0][0]]).__name__
            raise InvalidInput("choice", f"one that plays one candidate, as {name} plans for one", self.choice)
        if self.choice.n_plays != self.problem.n_plays:
            expected = f"one that plays problem.n_plays = {self.problem.n_plays} per round"
            raise InvalidInput("choice", expected, f"{self.choice!r}, which plays {self.choice.n_plays}")
        if not self._priced:
            raise InvalidInput("goals", "at least one that prices outcomes", self.goals)

    def start(self, *, seed: int = 0, replicas: int | Sequence[int] = 1) -> PolicyState:
        """The state before the first round, for replicas 0 to R - 1 or for the ones that are named."""
        ids = np.arange(replicas) if isinstance(replicas, int | np.integer) else np.array(replicas)
        if ids.ndim != 1 or len(ids) < 1 or ids.dtype.kind not in "iu" or (ids < 0).any():
            raise InvalidInput("replicas", "at least one, numbered from 0", replicas)
        ids = ids.astype(np.int64)
        Luck(seed=seed, replicas=ids)
        count = len(ids)
        return PolicyState(
            seed=seed,
            replicas=ids,
            t=np.zeros(count),
            seen=np.zeros((count, len(self.problem.columns))),
            model=self.model.start(count, self.problem.low, self.problem.high),
            goals=[g.start(count) for g in self.goals],
            choice=self.choice.start(count),
        )

    def decide(self, state: PolicyState, context: Context) -> Decision:
        """Say what would be played, changing nothing.

        A replica in which nothing is playable, or whose horizon is over, plays -1 and its round does not count.

        Raises:
            InvalidInput: a context of the wrong shape, with features that are not finite, or with unknown groups; or a
                model whose predictions have the wrong shape, are not finite or far outside of what was declared.
        """
        checks.context(context, len(state.t), self.model.n_features, self.problem)
        shares = self._believed(state, context.groups)
        playable = _start(context.offered, state.t, float(self.problem.horizon), len(state.t))
        for i, limits in self._limits:
            limits.limit(state.goals[i], context, shares, self.choice.n_plays, playable)
        row_prices = [goal.price(state.goals[i]) for i, goal in self._priced]
        w, offset = self._readings(context, shares, row_prices)
        mean, bonus = self._ask(state, context.features, w)
        mean = mean + offset
        pick = self.choice.pick(state.choice, mean, bonus, playable, state.t, self._draw(state))
        features, known, rounds = _take(context.features, context.known, pick.plays)
        return Decision(
            plays=pick.plays,
            probabilities=pick.probabilities,
            rounds=rounds,
            steered=pick.steered,
            features=features,
            known=known,
            groups=context.groups,
            shares=shares,
            prices=w,
            row_prices=tuple([q for q, _ in row_prices]),
            mean=mean,
            bonus=bonus,
            playable=playable,
        )

    def commit(self, state: PolicyState, context: Context, decision: Decision) -> None:
        """A decision is carried out: hold back its worst case and count its round where `rounds` is 1."""
        checks.decision(decision, len(state.t), self.choice.n_plays)
        for i, goal in self._ahead:
            goal.on_decision(state.goals[i], decision, partial(self._estimate, state, decision, goal.rows))
        state.t += decision.rounds
        _count(decision.groups, decision.rounds, state.seen)
        if self._follows is not None:
            self._follows.on_decision(state.choice, decision)
        for i, planner in self._planning:
            planner.on_context(state.goals[i], context, decision, state.t, partial(self._ask, state))

    def act(self, state: PolicyState, context: Context) -> Decision:
        """Decide and commit."""
        decision = self.decide(state, context)
        self.commit(state, context, decision)
        return decision

    def learn(self, state: PolicyState, decision: Decision, y: Floats, observed: Bools | None = None) -> None:
        """Take in the outcomes of a decision, now or later, once, `(P,M)`; `observed` says which were seen at all.

        What was not observed teaches nothing: rows that read it move no price, and it stays held back from limits.

        Raises:
            InvalidInput: outcomes of the wrong shape, not finite where observed, or outside their declared range.
        """
        checks.decision(decision, len(state.t), self.choice.n_plays)
        checks.outcomes(y, observed, decision, self.problem)
        if observed is not None:
            y = np.where(observed, y, np.nan)
        if y.shape[1] > 1:  # where fewer plays fitted, there is no outcome to learn from
            y = np.where(decision.plays[:, :, None] >= 0, y, np.nan)
        total, declared = _totals(decision.plays, decision.rounds, decision.known, y)
        for i, goal in self._learning:
            v = goal.rows.post(decision, decision.shares, total, declared)
            if observed is not None:
                missing = np.isnan(y) & (decision.plays >= 0)[:, :, None]  # (R, P, M)
                v = np.where((missing[:, :, None] & (goal.rows.learned != 0.0)).any((1, 3)), np.nan, v)
            goal.on_outcome(state.goals[i], decision, decision.rounds, v)
        self.model.update(state.model, decision.features, y, decision.rounds, decision.prices)

    def over(self, state: PolicyState) -> Bools:
        """Replicas that will never play again: their horizon is over, or a limit leaves nothing, `->()`."""
        over = state.t >= self.problem.horizon
        for i, limits in self._limits:
            over |= limits.over(state.goals[i])
        return over

    def explain(self, decision: Decision, replica: int = 0) -> str:
        """Say in numbers why a decision was made: prices, values, and what was masked."""
        return explain(self.problem, [g.rows for _, g in self._priced], decision, replica)

    def fingerprint(self) -> str:
        """A hash of the whole configuration, its name included: policies that share one act alike."""
        return saving.fingerprint(self)

    def save(self, state: PolicyState, path: str | Path) -> None:
        """Write a state as `.npz`, with the fingerprint of the configuration."""
        saving.save(state, self.fingerprint(), Path(path))

    def load(self, path: str | Path) -> PolicyState:
        """Read a state back; the policy then goes on with the same actions.

        Raises:
            StateMismatch: the state was saved by a policy that is configured differently.
        """
        return saving.load(self.start, self.fingerprint(), Path(path))

    def save_decision(self, decision: Decision, path: str | Path) -> None:
        """Write a decision that waits for its outcome; save it beside the state, which holds back what it may cost."""
        saving.save_decision(decision, self.fingerprint(), Path(path))

    def load_decision(self, path: str | Path) -> Decision:
        """Read a waiting decision back, to learn its outcome when that comes.

        Raises:
            StateMismatch: the file is no decision, or one of a policy that is configured differently.
        """
        return saving.load_decision(self.fingerprint(), Path(path))

    def _readings(
        self, context: Context, shares: Floats, row_prices: list[tuple[Floats, Floats]]
    ) -> tuple[Floats, Floats]:
        """What all goals' prices say of learned outcomes and of candidates, one reading below the other."""
        q = np.zeros((len(row_prices[0][0]), sum([q.shape[1] for q, _ in row_prices]), len(self._quoted)))
        o = np.zeros(q.shape[:2])
        k = d = 0
        for part, constant in row_prices:
            _enter(q, o, k, d, part, constant)
            k, d = k + part.shape[1], d + part.shape[2]
        return self._quoted.read(context, shares, q, o)

    def _believed(self, state: PolicyState, groups: Ints) -> Floats:
        if self._known_shares is not None:
            return self._known_shares
        seen = state.seen.copy()
        _count(groups, np.ones(len(seen)), seen)
        return np.asarray(np.where(np.isnan(self.problem.shares), seen / (state.t + 1.0)[:, None], self.problem.shares))

    def _ask(self, state: PolicyState, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """What the model says, if it can be meant."""
        mean, bonus = self.model.value(state.model, x, w)
        checks.worth(type(self.model).__name__, mean, bonus, w, self._reach, x.shape[1], state.t)
        return mean, bonus

    def _draw(self, state: PolicyState) -> Floats:
        if self.choice.draws == 0:
            return np.zeros((len(state.t), 0))
        return uniform(state.seed, Stream.CHOICE, state.replicas, state.t, self.choice.draws)

    def _estimate(self, state: PolicyState, decision: Decision, rows: Rows, sign: Floats) -> Floats:
        """Every row of the plays, at the end of its interval that a price of this sign likes."""
        count, d = sign.shape
        if not rows.reads_learned:
            unseen = np.zeros((count, self.choice.n_plays, len(self.problem.learned)))
            total, declared = _totals(decision.plays, decision.rounds, decision.known, unseen)
            return rows.post(decision, decision.shares, total, declared)
        q = sign[:, :, None] * np.eye(d)
        w, offset = rows.pull(decision, decision.shares, q)
        mean, bonus = self._ask(state, decision.features, w)
        value = offset + mean + bonus
        played = (decision.plays >= 0)[:, None, :] * decision.rounds[:, None, None]
        return np.asarray(sign * (value * played).sum(2)).reshape(count, d)

    @cached_property
    def _known_shares(self) -> Floats | None:
        shares = self.problem.shares[None]
        return None if np.isnan(shares).any() else shares

    @cached_property
    def _priced(self) -> list[tuple[int, Priced]]:
        return [(i, g) for i, g in enumerate(self.goals) if isinstance(g, Priced)]

    @cached_property
    def _reach(self) -> Floats:
        """The largest size of every learned outcome, by its declared range."""
        return np.maximum(np.abs(self.problem.low), np.abs(self.problem.high))

    @cached_property
    def _quoted(self) -> Rows:
        """The rows of all priced goals."""
        return stack([goal.rows for _, goal in self._priced])

    @cached_property
    def _follows(self) -> Follows | None:
        return self.choice if isinstance(self.choice, Follows) else None

    @cached_property
    def _limits(self) -> list[tuple[int, Limits]]:
        return [(i, g) for i, g in enumerate(self.goals) if isinstance(g, Limits)]

    @cached_property
    def _ahead(self) -> list[tuple[int, StepsAhead]]:
        return [(i, g) for i, g in enumerate(self.goals) if isinstance(g, StepsAhead)]

    @cached_property
    def _planning(self) -> list[tuple[int, Plans]]:
        return [(i, g) for i, g in enumerate(self.goals) if isinstance(g, Plans)]

    @cached_property
    def _learning(self) -> list[tuple[int, Learns]]:
        return [(i, g) for i, g in enumerate(self.goals) if isinstance(g, Learns)]
