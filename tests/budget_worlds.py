"""Hard budgets in random worlds with everything mixed: `python -m tests.budget_worlds COUNT SEED` runs many.

Worlds by group have budgets of one group and of each group as well, and states that are saved and loaded in between.

A world has a random problem, policy and course: plays come one by one, in lists and in allocations; budgets are kept
in all, per period, carried over, in windows and in spans of their own, by rounds or by a clock; outcomes come late, in
parts, expire or are of plays that nobody saw, and decisions are cancelled. Its books are its own: what every play
really uses counts at the time of its decision, from then on.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import evenhand as eh
from evenhand import recipes as r
from evenhand.choices import InverseGap, TopK
from evenhand.core.errors import EvenhandError, EvenhandWarning
from evenhand.core.records import Context
from evenhand.models import BayesianLogistic, BayesianRidge, Fixed, Ridge
from evenhand.objectives import AlphaFair
from evenhand.problem import Between, NeverWorse, Traffic
from evenhand.welfare import Capped, Linear, Satisfaction

REPLICAS, FEATURES = 2, 2
TOLERANCE = 1e-9  # of an allowance
FULL = 0.5  # of an allowance, from which on a span counts as used


class Span(NamedTuple):
    """A part of a run, from its begin to before its end, in which plays may use so much of an outcome."""

    outcome: str  # or its sum over a group, as `Problem.each` names it
    begin: float
    end: float
    allowance: float


@dataclass(frozen=True, kw_only=True)
class World:
    """A problem with a policy, the spans that its budgets allow, and how outcomes come."""

    problem: eh.Problem
    policy: eh.Policy
    spans: tuple[Span, ...]
    kind: str  # "single", "list" or "allocation"
    end: float  # of the clock, infinite where rounds are counted
    cases: int
    late: int  # the most steps that an outcome takes
    greedy: bool  # whether every play brings the upper end of what it may use
    chances: dict[str, float]  # of a decision to be cancelled, to expire and so on


class Found(NamedTuple):
    """What came of a world."""

    over: float  # the most by which a span was exceeded, as a part of its allowance; below 0 if none was
    plays: int
    full: int  # spans of which at least half was used
    events: Counter[str]


def draw(rng: np.random.Generator, by_group: bool = False) -> World:
    """Draw a world.

    Raises:
        EvenhandError: its parts do not go together.
    """
    kind = str(rng.choice(["single", "single", "list", "list" if by_group else "allocation"]))
    clocked = bool(rng.random() < 0.35)
    length = int(rng.integers(60, 121))
    end = float(rng.integers(3, 8)) if clocked else math.inf
    if kind == "allocation":
        actions, plays, outcomes, more = _allocation(rng)
    else:
        actions, plays, outcomes, more = _plays(rng, kind)
    named = {o.name: o for o in outcomes}
    spent = [name for name in ("cost", "sold", "bill", "fee") if name in named]
    spent = [name for name in spent if rng.random() < 0.7] or spent[:1]
    budgets, spans = list[eh.Budget](), list[Span]()
    for name in [*spent, *(spent[:1] if rng.random() < 0.25 else ())]:
        unit = _most(named[name], named, actions) * plays * float(rng.uniform(0.03, 0.4))
        budget, allowed = _budget(rng, name, unit, length, end)
        budgets.append(budget)
        spans += allowed
        if by_group:
            budget, allowed = _of_groups(rng, *_budget(rng, name, 0.5 * unit, length, end))
            budgets.append(budget)
            spans += allowed
    stated: dict[str, Any] = {"horizon": length}
    if clocked:
        traffic = Traffic(length / end * float(rng.choice([0.6, 1.0, 1.6])), per=1, trust=float(rng.choice([5, 100])))
        stated = {"until": end, "horizon": length} if rng.random() < 0.3 else {"until": end, "traffic": traffic}
    elif rng.random() < 0.6 and not any(b.per or isinstance(b.total, tuple) for b in budgets):
        stated = {"horizon": Between(length // 2, length)}
    groups = (eh.Groups("town", {"east": 0.5, "west": 0.5} if rng.random() < 0.6 else ("east", "west")),)
    objective = more.pop("maximize", "sale")
    if kind == "single" and rng.random() < 0.1:
        objective = AlphaFair(("sale", "other"), alpha=0.5)
        outcomes = (*outcomes, eh.Outcome("other", low=0.1))
    problem = eh.Problem(
        actions=actions,
        outcomes=outcomes,
        maximize=objective,
        subject_to=(*budgets, *_soft(rng, kind, named, actions)),
        groups=groups if kind != "allocation" else (),
        n_plays=plays,
        **more,
        **stated,
    )
    factor = float(rng.choice([0.8, 1.0, 1.4])) if clocked else 1.0
    return World(
        problem=problem,
        policy=_policy(rng, kind, problem),
        spans=tuple(spans),
        kind=kind,
        end=end,
        cases=int(length * factor) + 5,
        late=int(rng.choice([0, 0, 3, 30])),
        greedy=bool(rng.random() < 0.5),
        chances={z: float(rng.choice([0.0, 0.1])) for z in ("cancel", "expire", "part", "hide", "absent")}
        | {"restart": 0.05 * by_group},
    )


def _of_groups(rng: np.random.Generator, budget: eh.Budget, spans: list[Span]) -> tuple[eh.Budget, list[Span]]:
    """Make a budget one of a group, or of both groups, of which the other has another part of it."""
    east = [span._replace(outcome=f"{span.outcome} town=east") for span in spans]
    if rng.random() < 0.4:
        return replace(budget, outcome=f"{budget.outcome} town=east"), east
    field, part = "total" if budget.rate is None else "rate", float(rng.uniform(0.6, 1.5))
    stated = getattr(budget, field)
    other = [(*ends, part * z) for *ends, z in stated] if isinstance(stated, tuple) else part * stated
    west = [s._replace(outcome=f"{s.outcome} town=west", allowance=part * s.allowance) for s in spans]
    both = bool(rng.random() < 0.5)
    each = {"east": stated, "west": other} if both else {"east": stated}
    return replace(budget, **{field: each}, by="town"), east + west * both


def _plays(rng: np.random.Generator, kind: str) -> tuple[tuple[str, ...], int, tuple[eh.Outcome, ...], dict[str, Any]]:
    """Draw actions and outcomes of single plays and of lists."""
    count = int(rng.integers(2, 6))
    actions = tuple(f"act {i}" for i in range(count))
    idle = bool(rng.random() < 0.7)
    free = actions[:1] if idle else ()
    high: Any = float(rng.choice([0.5, 1.0, 2.5]))
    low: Any = float(rng.choice([0.0, 0.0, -0.5]))
    if rng.random() < 0.3:  # ranges by action, in which refunds are possible too
        paid = [a for a in actions if a not in free]
        high = {a: float(rng.uniform(0.2, 2.5)) for a in paid}
        low = {a: min(0.0, float(rng.choice([low, 0.0]))) for a in paid}
    fallback = None if rng.random() < 0.5 else 0.2
    outcomes = [eh.Outcome("sale", free=free), eh.Outcome("cost", low=low, high=high, free=free, fallback=fallback)]
    fees = {a: float(z) for a, z in zip(actions, rng.choice([0.0, 0.5, 1.0, 2.0], count), strict=True)}
    fees |= dict.fromkeys(free, 0.0)
    outcomes.append(eh.Outcome("fee", known=fees, sure=bool(kind == "single" or rng.random() < 0.6)))
    if rng.random() < 0.3:
        outcomes += [eh.Outcome("price", known=1.0), eh.Outcome("sold", times="price", free=free)]
    if rng.random() < 0.25:
        means = {a: float(rng.uniform(0.1, 0.6)) for a in actions if a not in free}
        outcomes.append(eh.Outcome("bill", high=1.5, mean=means))
    if idle and rng.random() < 0.3:
        outcomes.append(eh.Outcome("usual", known=0.2))
    return actions, 1 if kind == "single" else int(rng.integers(2, count + 1)), tuple(outcomes), {}


def _allocation(rng: np.random.Generator) -> tuple[tuple[str, ...], int, tuple[eh.Outcome, ...], dict[str, Any]]:
    """Draw users and arms, each pair of which is a candidate; the first arm costs nothing."""
    users, arms = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    actions = tuple(f"user {i} arm {j}" for i in range(users) for j in range(arms))
    fees = [0.0, *rng.choice([0.5, 1.0, 2.0], arms - 1).tolist()]
    idle = tuple(a for a in actions if a.endswith("arm 0"))
    outcomes = [
        eh.Outcome("sale"),
        eh.Outcome("fee", known={a: fees[i % arms] for i, a in enumerate(actions)}),
    ]
    if rng.random() < 0.6:
        outcomes.append(eh.Outcome("cost", high=float(rng.choice([0.5, 2.0])), free=idle))
    curve = Capped(1.5) if rng.random() < 0.5 else Linear()
    return actions, users, tuple(outcomes), {"measures": (Satisfaction(curve, arms, of="sale"),)}


def _most(outcome: eh.Outcome, named: dict[str, eh.Outcome], actions: tuple[str, ...]) -> float:
    """About the most that a play may use."""
    return max(outcome.declared(actions)) if outcome.is_known else outcome.widest[1]


def _budget(rng: np.random.Generator, name: str, unit: float, rounds: int, end: float) -> tuple[eh.Budget, list[Span]]:
    """Draw a budget of about one unit per round, and the spans that it allows."""
    form = str(rng.choice(["total", "rate", "per", "carry", "window", "window", "own", "own"]))
    last = rounds if end == math.inf else end
    unit = max(unit, 0.05)
    if form == "total":
        total = unit * rounds
        return eh.Budget(name, total=total, hard=True), [Span(name, -math.inf, math.inf, total)]
    if form == "rate" and end == math.inf:
        return eh.Budget(name, rate=unit, hard=True), [Span(name, -math.inf, math.inf, unit * rounds)]
    if form == "own":
        cut, back = last * float(rng.uniform(0.2, 0.8)), last * float(rng.uniform(0.0, 0.2))
        if end == math.inf:
            cut, back = float(max(int(cut), 1)), float(int(back))
        first, second = (unit * rounds * rng.uniform(0.2, 0.8, 2)).tolist()
        stated = [(0.0, cut, first), (back, last, second)]
        return eh.Budget(name, total=stated, hard=True), [Span(name, *each) for each in stated]
    per = float(rng.choice([0.5, 1.0, 2.0])) if end < math.inf else int(rng.integers(2, rounds // 4))
    count, total = math.ceil(last / per - 1e-12), unit * rounds * per / last + 0.3
    if form == "carry":
        budget = eh.Budget(name, total=total, per=per, carry=True, hard=True)
        return budget, [Span(name, -math.inf, (p + 1) * per, (p + 1) * total) for p in range(count)]
    window = min(int(rng.integers(2, 4)), count) if form == "window" else 1
    budget = eh.Budget(name, total=total, per=per, window=window, hard=True)
    return budget, [Span(name, p * per, (p + window) * per, total) for p in range(count - window + 1)]


def _soft(rng: np.random.Generator, kind: str, named: dict[str, eh.Outcome], actions: tuple[str, ...]) -> Iterator[Any]:
    """Draw limits that are kept on average, or by a credit."""
    if rng.random() < 0.3:
        yield eh.Floor("sale", rate=float(rng.uniform(0.01, 0.08)))
    if rng.random() < 0.3 and kind != "allocation":
        yield eh.Parity("sale", by="town", tolerance=0.05)
    if rng.random() < 0.3 and "cost" in named and named["cost"].widest[0] >= 0.0 and kind != "allocation":
        yield eh.problem.Ratio("cost", over="sale", at_most=float(rng.uniform(0.3, 2.0)))
    if "usual" in named and kind == "single":
        yield NeverWorse("sale", than="usual", alpha=0.2, slack=5.0, action=actions[0])


def _policy(rng: np.random.Generator, kind: str, problem: eh.Problem) -> eh.Policy:
    """Draw a recipe, a model and their arguments; a recipe that refuses the problem gives way to `resolving`."""
    m, every = len(problem.learned), int(rng.choice([3, 20, 100]))
    ridge = Ridge(n_features=FEATURES, n_outcomes=m, ridge=0.3, width=Fixed(0.5))
    models = [BayesianRidge(n_features=FEATURES, n_outcomes=m), ridge]
    if all(o.widest == (0.0, 1.0) for o in problem.outcomes if o.is_learned) and m == 1:
        models.append(BayesianLogistic(n_features=FEATURES))
    model = models[int(rng.integers(len(models)))]
    warmup, p = int(rng.choice([0, 5])), problem
    if kind == "allocation":
        stay = bool(rng.random() < 0.4)
        by = rng.integers(4)
        if by == 0:
            return r.random_allocation(p, FEATURES)
        if by == 1:
            return r.pgd_allocation(p, model, may_stay=stay)
        return r.resolving_allocation(p, model, may_stay=stay, every=every)
    recipes: list[Callable[[], eh.Policy]] = [
        lambda: r.pgd(p, model, warmup=warmup, hard=True),
        lambda: r.fw_dual(p, model, warmup=warmup),
        lambda: r.lyapunov(p, model),
        lambda: r.primal_lp(p, model, warmup=warmup, hard=True),
        lambda: r.uniform(p, FEATURES),
    ]
    if kind == "list":
        recipes.append(lambda: r.fw_rank(p, model, TopK(p.n_plays)))
    else:
        recipes += [
            lambda: r.pgd_adaptive(p, model, warmup=warmup, hard=True),
            lambda: r.square_cbwk(p, model, rate=10.0),
            lambda: r.lagrange_cbw(p, model, rate=10.0),
            lambda: r.lin_cbwk(p, model),
            lambda: r.ucb_bwk(p, model),
            lambda: r.bwcr(p, model),
            lambda: r.ucb_bwcr(p, model, every=5),
            lambda: r.greedy_bwk(p, model),
        ]
    if rng.random() < 0.5:
        try:
            return recipes[int(rng.integers(len(recipes)))]()
        except EvenhandError:  # it needs what this problem has not
            pass
    if kind == "list":
        return r.resolving(p, model, every=every, warmup=warmup)
    apart = rng.random()
    try:
        if apart < 0.25:
            share = float(rng.uniform(0.02, 0.15))
            held = eh.Holdout(share, lottery={p.actions[0]: 1}) if rng.random() < 0.5 else share
            return r.resolving(p, model, every=every, holdout=held, explore=float(rng.choice([0.0, 0.01])))
        if apart < 0.5:
            return r.resolving(p, model, every=every, explore=float(rng.uniform(0.002, 0.05)))
    except EvenhandError:  # a budget cannot pay for what is drawn
        pass
    choice = InverseGap(10.0) if apart > 0.9 else None
    return r.resolving(p, model, every=every, warmup=warmup, choice=choice)


class Course:
    """A run of a world, with books of its own.

    Args:
        world: the world.
        rng: the luck of its cases and outcomes.
        seed: of the policy.
    """

    def __init__(self, world: World, rng: np.random.Generator, seed: int) -> None:
        self._world, self._rng = world, rng
        self._state = world.policy.start(seed=seed, replicas=REPLICAS)
        self._used = np.zeros((REPLICAS, len(world.spans)))
        self._most = np.full((REPLICAS, len(world.spans)), -np.inf)
        self._rounds = np.zeros(REPLICAS)
        self._due = defaultdict[int, list[Callable[[], None]]](list)
        self._plays, self.events = 0, Counter[str]()
        named = {o.name: o for o in world.problem.outcomes}
        self._observed = [named[name] for name in world.problem.observed]  # "sale" is the first

    def run(self) -> Found:
        """Decide all cases, and let all outcomes come."""
        world, rng = self._world, self._rng
        when = np.sort(rng.uniform(0.0, world.end, world.cases)) if world.end < math.inf else None
        for step in range(world.cases):
            self._settle(step)
            if world.policy.over(self._state).all():
                break
            if world.chances["restart"] > 0.0 and rng.random() < world.chances["restart"]:
                self._restart()
            self._decide(step, None if when is None else float(when[step]))
        for step in sorted(self._due):
            self._settle(step)
        allowance = np.array([span.allowance for span in world.spans])
        return Found(
            over=float(((self._most - allowance) / allowance).max()),
            plays=self._plays,
            full=int((self._most >= FULL * allowance).sum()),
            events=self.events,
        )

    def _restart(self) -> None:
        """Go on with a state that was saved and loaded."""
        with tempfile.TemporaryDirectory() as folder:
            self._world.policy.save(self._state, Path(folder) / "state.npz")
            self._state = self._world.policy.load(Path(folder) / "state.npz")
        self.events["restarted"] += 1

    def _settle(self, step: int) -> None:
        for settle in self._due.pop(step, ()):
            settle()

    def _decide(self, step: int, time: float | None) -> None:
        world, rng, problem = self._world, self._rng, self._world.problem
        count = len(problem.actions)
        known = np.repeat(problem.declared[None], REPLICAS, 0)
        if "price" in problem.known:
            known[:, :, problem.known.index("price")] = rng.choice([0.3, 1.0, 4.0], (REPLICAS, 1))
        offered = rng.random((REPLICAS, count)) >= world.chances["absent"]
        offered[:, 0] = True
        if world.kind == "allocation":
            offered[:] = True
        groups = rng.integers(0, 2, (REPLICAS, 1, len(problem.groups)))
        times = None if time is None else np.full(REPLICAS, time)
        context = Context(rng.random((REPLICAS, count, FEATURES)), known, groups, offered, times)
        decision = world.policy.act(self._state, context)
        y = self._outcomes(decision.plays)
        at = self._rounds.copy() if times is None else times
        counts = decision.counted > 0.0
        assert (decision.time[counts] == at[counts]).all()
        self._rounds += decision.counted
        played = decision.plays >= 0
        assert (offered[np.arange(REPLICAS)[:, None], np.maximum(decision.plays, 0)] | ~played).all()
        self._plays += int(played.sum())
        shown = played & ~(rng.random(played.shape) < (world.chances["hide"] if world.kind == "list" else 0.0))
        y *= shown[:, :, None]
        self._book(at, self._uses(decision, y, shown))
        self._come(step, decision, at, y, shown)

    def _come(self, step: int, decision: Any, at: Any, y: Any, shown: Any) -> None:
        """Draw what comes of a decision, and when."""
        world, rng = self._world, self._rng
        policy, chances = world.policy, world.chances
        later = step + int(rng.integers(0, world.late + 1)) + 1
        if not (decision.counted > 0.0).any():
            return
        uses = self._uses(decision, y, shown)
        roll = rng.random()
        if roll < chances["cancel"]:
            self._due[later].append(lambda: (policy.cancel(self._state, decision), self._book(at, uses, -1.0)))
            self.events["cancelled"] += 1
        elif roll < chances["cancel"] + chances["expire"]:
            after = self._uses(decision, self._fallen_back(decision.plays, y), decision.plays >= 0)
            change = {name: after[name] - uses[name] for name in uses}
            self._due[later].append(lambda: (policy.expire(self._state, decision), self._book(at, change)))
            self.events["expired"] += 1
        elif world.kind == "list" and rng.random() < chances["part"] and (shown.sum(1) > 1).all():
            last = np.zeros_like(shown)
            last[:, 1:] = decision.plays[:, 1:] >= 0
            first = np.where(last[:, :, None], 0.0, y)
            rest = np.where(last[:, :, None], y, 0.0)
            self._due[step + 1].append(lambda: policy.learn(self._state, decision, first, exposed=shown, pending=last))
            self._due[later + 1].append(lambda: policy.learn(self._state, decision, rest, exposed=shown))
            self.events["in parts"] += 1
        else:
            self._due[later].append(lambda: policy.learn(self._state, decision, y, exposed=shown))

    def _outcomes(self, plays: Any) -> Any:
        """Draw outcomes of plays, `(P)->(P,M+B)`."""
        problem, rng = self._world.problem, self._rng
        y = np.zeros((*plays.shape, len(problem.observed)))
        for i, p in np.argwhere(plays >= 0):
            for j, outcome in enumerate(self._observed):
                low, high = outcome.ends(problem.actions[plays[i, p]])
                kind, u = rng.random(2) if not self._world.greedy or j == 0 else (1.0, 0.0)
                y[i, p, j] = low if kind < 0.3 else high if kind > 0.7 else low + u * (high - low)
        return y

    def _fallen_back(self, plays: Any, y: Any) -> Any:
        """The outcomes that the books have of plays that expired: their fallbacks, or what came of them really."""
        problem, found = self._world.problem, y.copy()
        for j, outcome in enumerate(self._observed):
            if outcome.fallback is not None:
                free = [outcome.is_free(problem.actions[a]) for a in np.maximum(plays, 0).ravel()]
                found[:, :, j] = np.where(np.array(free).reshape(plays.shape), 0.0, outcome.fallback)
        return found

    def _uses(self, decision: Any, y: Any, shown: Any) -> dict[str, Any]:
        """What a decision uses of every outcome, in each replica."""
        problem, found = self._world.problem, dict[str, Any]()
        played = decision.plays >= 0
        for o in problem.outcomes:
            if o.is_known:
                amount = decision.known[:, :, problem.known.index(o.name)]
            else:
                amount = y[:, :, problem.observed.index(o.name)]
                if o.times is not None:
                    amount = amount * decision.known[:, :, problem.known.index(o.times)]
            counts = played if o.sure and not o.is_learned else shown
            used = np.where(counts, amount, 0.0)
            found[o.name] = used.sum(1)
            for group, (by, town) in enumerate(problem.columns):
                found[f"{o.name} {by}={town}"] = (used * (decision.groups == group).any(2)).sum(1)
        return found

    def _book(self, at: Any, uses: dict[str, Any], times: float = 1.0) -> None:
        """Enter what a decision uses in the spans that contain its time."""
        for s, span in enumerate(self._world.spans):
            inside = (span.begin <= at) & (at < span.end)
            self._used[:, s] += np.where(inside, times * uses[span.outcome], 0.0)
        np.maximum(self._most, self._used, out=self._most)


def world(number: int, seed: int, by_group: bool = False) -> tuple[World, np.random.Generator]:
    """Return a world by its number and the seed, and its luck; where parts do not go together, it is drawn again."""
    rng = np.random.default_rng([seed, number])
    while True:
        try:
            return draw(rng, by_group), rng
        except EvenhandError:
            continue


def check(number: int, seed: int, by_group: bool = False) -> tuple[World, Found]:
    """Run a world.

    Raises:
        AssertionError: a hard budget was exceeded; it names the world.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvenhandWarning)
        made, rng = world(number, seed, by_group)
        found = Course(made, rng, number).run()
    said = f"world {number} of seed {seed} ({made.policy.name}, {made.kind}) exceeds a hard budget by {found.over:.3g}"
    assert found.over <= TOLERANCE, said
    return made, found


def main(count: int, seed: int, seconds: float = math.inf) -> int:
    """Run worlds and print what was seen; returns 1 if any failed."""
    began, seen, failed = time.process_time(), Counter[str](), 0
    worst, done = -math.inf, 0
    for number in range(count):
        if time.process_time() - began > seconds:
            break
        try:
            made, found = check(number, seed)
        except Exception as error:
            failed += 1
            print(f"world {number} of seed {seed}: {type(error).__name__}: {error}", flush=True)
            continue
        done, worst = done + 1, max(worst, found.over)
        seen.update(
            {made.kind: 1, made.policy.name.partition("(")[0]: 1, "plays": found.plays, "spans": len(made.spans)}
        )
        seen["spans used to half or more, times replicas"] += found.full
        seen.update(found.events)
        seen.update({type(c).__name__ for c in made.problem.subject_to})
        if done % 100 == 0:
            print(f"{done} worlds, {failed} failed, {time.process_time() - began:.0f} CPU s", flush=True)
    print(f"{done} worlds, {failed} failed, largest excess {worst:.3g} of an allowance (below 0: something is left)")
    print(", ".join(f"{name} {n:,}" for name, n in seen.most_common()))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:4])))
