"""Allowances of spans of time are never exceeded: random worlds with late, partial, missing and cancelled outcomes."""

from typing import NamedTuple

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.models import Tabular
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.recipes import resolving, uniform

ACTIONS = ("nothing", "cheap", "dear", "bill")
STEPS, REPLICAS = 90, 3


class Entry(NamedTuple):
    """A use of an outcome that was charged to a time."""

    time: np.ndarray  # (R,)
    amount: np.ndarray  # (R,) used, or the most that may be


def drawn_budget(rng, outcome, most):
    """A budget of random spans, each with an allowance of at least the worst case of a play."""
    total = most * rng.uniform(1.0, 12.0)
    kind = rng.integers(5)
    if kind == 0:
        starts = np.sort(rng.uniform(0.0, STEPS, 3))
        return Budget(outcome, total=[(0, STEPS, 4 * total), *((a, a + rng.uniform(5, 40), total) for a in starts)])
    per = float(rng.uniform(5.0, 40.0))
    window = int(rng.integers(1, int(np.ceil(STEPS / per)) + 1)) if kind == 2 else 1
    return Budget(outcome, total=total, per=per, carry=bool(kind == 1), window=window)


def drawn_problem(rng):
    minutes = Outcome("minutes", high=2.0, free=("nothing",))
    letters = Outcome("letters", known={"cheap": 0.5, "dear": 1.5}, sure=bool(rng.integers(2)))
    constraints = [drawn_budget(rng, "minutes", 2.0)]
    if rng.integers(2):
        constraints.append(drawn_budget(rng, "letters", 1.5))
    if rng.integers(2):
        constraints.append(Budget("minutes", total=float(rng.uniform(5.0, 60.0))))
    return Problem(
        actions=ACTIONS,
        outcomes=(Outcome("gain", fallback=0.0), minutes, letters),
        maximize="gain",
        subject_to=tuple(constraints),
        until=float(STEPS),
        horizon=STEPS,
    )


def played_through(seed):
    """Play a random world, and return the uses with their times: what was used, or still may be."""
    rng = np.random.default_rng(seed)
    problem = drawn_problem(rng)
    model = Tabular(arms=4, n_outcomes=2, confidence=0.5)
    policy = uniform(problem, n_features=4) if seed % 2 else resolving(problem, model, contexts=20)
    state = policy.start(seed=seed, replicas=REPLICAS)
    times = np.sort(rng.uniform(0.0, STEPS, STEPS))
    waiting, minutes, letters = [], [], []
    features = np.tile(np.eye(4), (REPLICAS, 1, 1))
    for step in range(STEPS):
        time = times[step] * np.ones(REPLICAS)
        shift = rng.uniform(0.0, min(3.0, STEPS - times[step] - 1e-6), REPLICAS)
        time = time + shift  # replicas may be in different periods
        groups = np.zeros((REPLICAS, 1, 0), np.int64)
        context = Context(features, problem.declared[None], groups, np.ones((1, 4), bool), time)
        decision = policy.act(state, context)
        waiting.append(decision)
        rng.shuffle(waiting)
        while waiting and rng.uniform() < 0.45:
            settle(policy, state, waiting.pop(), rng, minutes, letters)
    for decision in waiting:  # what waits may use its worst case
        played = decision.plays[:, 0] >= 1
        minutes.append(Entry(decision.time, 2.0 * played))
        letters.append(Entry(decision.time, decision.known[:, 0, 0] * played))
    return problem, minutes, letters


def settle(policy, state, decision, rng, minutes, letters):
    """Settle a decision in one of the ways in which it can be, and note what it used."""
    way, played = rng.integers(10), decision.plays[:, 0] >= 1
    use = rng.uniform(0.0, 2.0, REPLICAS) * played
    known = decision.known[:, 0, 0] * played
    if way == 0:
        policy.cancel(state, decision)
        return
    if way == 1:  # overdue, so that its worst case stays held back
        policy.expire(state, decision)
        minutes.append(Entry(decision.time, 2.0 * played))
        letters.append(Entry(decision.time, known))
        return
    y = np.stack([rng.integers(0, 2, REPLICAS) * played, use], 1)[:, None]
    exposed = None
    if way == 2:
        exposed = rng.uniform(size=(REPLICAS, 1)) < 0.5
        y, use = y * exposed[:, :, None], use * exposed[:, 0]
        sure = policy.problem.sure[0]
        known = known if sure else known * exposed[:, 0]
    policy.learn(state, decision, y, exposed=exposed)
    minutes.append(Entry(decision.time, use))
    letters.append(Entry(decision.time, known))


def excess(problem, stated, entries):
    """The most by which any (replica, span) is exceeded, and how many there are."""
    time, amount = np.array([e.time for e in entries]), np.array([e.amount for e in entries])
    worst, spans = -np.inf, stated.spans
    if spans is None:
        return float((amount.sum(0) - stated.total).max()), REPLICAS
    for allowance, first, last in zip(spans.allowance, spans.first, spans.last, strict=True):
        inside = (time >= spans.edges[first]) & (time < spans.edges[last + 1])
        worst = max(worst, float(((amount * inside).sum(0) - allowance).max()))
    return worst, REPLICAS * len(spans.allowance)


def over_in(seeds):
    """The largest excess over the allowance of any (replica, span), how many there are, and how close use came."""
    worst, pairs = -np.inf, 0
    for seed in seeds:
        problem, minutes, letters = played_through(seed)
        for stated in problem.stated:
            over, count = excess(problem, stated, minutes if stated.outcome == "minutes" else letters)
            worst, pairs = max(worst, over), pairs + count
    return worst, pairs


def test_no_span_is_ever_exceeded():
    worst, pairs = over_in(range(16))
    assert pairs > 150
    assert -0.5 < worst < 1e-6  # allowances are nearly used up, so that the limits are at work


@pytest.mark.slow
def test_no_span_is_ever_exceeded_in_many_worlds():
    worst, pairs = over_in(range(1000, 1250))
    assert pairs > 2500
    assert worst < 1e-6


def test_an_allowance_below_every_play_is_refused_by_its_own_size():
    """The error states what a span allows, and not what all of them do together."""
    problem = Problem(
        actions=("call", "visit"),
        outcomes=(Outcome("gain"), Outcome("minutes", low=-2.0, high=2.0)),
        maximize="gain",
        subject_to=(Budget("minutes", total=1.5, per=5, window=3),),
        horizon=STEPS,
    )
    expected = "expected a total of at least 2: any single play may use that much, got 1.5"
    with pytest.raises(InvalidInput, match=expected):
        resolving(problem)
