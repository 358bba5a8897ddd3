"""What a budget has left and holds, and what averages and the model are told, whatever becomes of a decision.

One play of every kind of outcome meets every fate, by every door: alone, after a restart, while others wait, and as
the second part of a decision. All numbers are by hand, of a budget of 10.
"""

import numpy as np
import pytest

from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.goals import LinearReward
from evenhand.goals.hard_limits import hard_budget
from evenhand.models import Ridge
from evenhand.policy import Policy
from evenhand.problem import Budget, Outcome, Problem
from evenhand.problem.rows import select
from tests.rows import for_each


def each(x):
    """Of the actions that are offered; nothing of the others."""
    return {"a": x, "b": x}


NO = np.nan  # no average, as nothing was observed
FATES = ("learned", "unexposed", "unobserved", "expired", "cancelled")
# The outcome, and what comes of it where it is observed. Then what is left and held once it is decided, and what is
# left, held and the average after each fate.
KINDS = {
    "cost": (Outcome("x"), 0.25, (9, 1), [(9.75, 0, 0.25), (10, 0, 0), (9, 1, NO), (9, 1, NO), (10, 0, NO)]),
    "cost with a fallback": (
        *(Outcome("x", fallback=0.75), 0.25, (9, 1)),
        [(9.75, 0, 0.25), (10, 0, 0), (9, 1, NO), (9.25, 0, 0.75), (10, 0, NO)],
    ),
    "cost that gives back": (
        *(Outcome("x", low=-1.0), -1.0, (9, 1)),
        [(11, 0, -1), (10, 0, 0), (9, 1, NO), (9, 1, NO), (10, 0, NO)],
    ),
    "bill": (
        *(Outcome("x", mean=each(0.5)), 0.25, (9, 1)),
        [(9.75, 0, 0.25), (9.75, 0, 0.25), (9, 1, NO), (9, 1, NO), (10, 0, NO)],
    ),
    "bill with a fallback": (
        *(Outcome("x", mean=each(0.5), fallback=0.75), 0.25, (9, 1)),
        [(9.75, 0, 0.25), (9.75, 0, 0.25), (9, 1, NO), (9.25, 0, 0.75), (10, 0, NO)],
    ),
    "bill if exposed": (
        *(Outcome("x", mean=each(0.5), sure=False), 0.25, (9, 1)),
        [(9.75, 0, 0.25), (10, 0, 0), (9, 1, NO), (9, 1, NO), (10, 0, NO)],
    ),
    "fee": (Outcome("x", known=each(1.0)), None, (9, 0), [(9, 0, 1)] * 4 + [(10, 0, NO)]),
    "fee if exposed": (
        *(Outcome("x", known=each(1.0), sure=False), None, (9, 1)),
        [(9, 0, 1), (10, 0, 0), (9, 0, 1), (9, 1, NO), (10, 0, NO)],
    ),
    # Were a refund credited at once, cancelling it later would leave less than nothing.
    "refund": (Outcome("x", known=each(-5.0)), None, (10, 0), [(15, 0, -5)] * 4 + [(10, 0, NO)]),
    "refund if exposed": (
        *(Outcome("x", known=each(-5.0), sure=False), None, (10, 0)),
        [(15, 0, -5), (10, 0, 0), (15, 0, -5), (10, 0, NO), (10, 0, NO)],
    ),
}


def made(outcome, plays):
    problem = Problem(
        actions=("a", "b", "none", "nothing"),
        outcomes=(Outcome("gain"), outcome),
        maximize="gain",
        subject_to=(Budget("x", total=10),),
        horizon=50,
        n_plays=plays,
    )
    goals = LinearReward(rows=select(problem, ("gain",)), weights=np.ones(1)), hard_budget(problem)
    model = Ridge(n_features=4, n_outcomes=len(problem.learned))
    return Policy(problem=problem, model=model, goals=goals, choice=TopK(plays))


def act(policy, state):
    known, offered = policy.problem.declared[None], np.array([[True, True, False, False]])
    return policy.act(state, Context(np.eye(4)[None], known, np.zeros((1, 1, 0), np.int64), offered))


def meet(policy, state, decision, fate, value, place=0):
    """Let a fate befall the play of one place; those of other places arrived before."""
    if fate in ("cancelled", "expired"):
        (policy.cancel if fate == "cancelled" else policy.expire)(state, decision)
        return
    y = np.zeros((1, decision.plays.shape[1], len(policy.problem.observed)))
    y[0, place] = [1.0, value][: y.shape[2]]
    here = np.arange(y.shape[1]) == place
    if fate == "unexposed":
        sure = policy.problem.sure[policy.problem.is_noisy]
        y *= np.append(np.zeros(len(policy.problem.learned), bool), sure)
    policy.learn(
        state,
        decision,
        y,
        observed=None if fate != "unobserved" else np.broadcast_to(~here[:, None], y.shape),
        exposed=None if fate != "unexposed" else ~here[None],
    )


def stands(policy, state):
    status = policy.status(state)
    return status.accounts["x"].left, status.accounts["x"].held, status.averages["x"]


@for_each("door", ["alone", "restarted", "late", "in parts"])
@for_each("fate", FATES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_becomes_of_a_decision(kind, fate, door, tmp_path):
    outcome, value, before, afters = KINDS[kind]
    left, held, average = afters[FATES.index(fate)]
    plays, others = 1 + (door == "in parts"), 3 * (door == "late")
    policy = made(outcome, plays)
    state, taught = policy.start(), float(fate == "learned")
    decision = act(policy, state)
    for _ in range(others):
        act(policy, state)
    spent, waits = 10 - before[0], before[1]
    assert stands(policy, state)[:2] == (10 - (plays + others) * spent, (plays + others) * waits)
    if outcome.known:
        with pytest.raises(InvalidInput, match=r"^decision: expected the plays, groups, known outcomes"):
            policy.cancel(state, decision._replace(known=decision.known - 4.0))
    if door == "restarted":
        policy.save(state, tmp_path / "state")
        policy.save_decision(decision, tmp_path / "decision")
        state, decision = policy.load(tmp_path / "state"), policy.load_decision(tmp_path / "decision")
    if door == "in parts":
        y = np.array([[[1.0, value][: len(policy.problem.observed)], [np.nan] * len(policy.problem.observed)]])
        policy.learn(state, decision, y, pending=np.array([[False, True]]))
        if fate == "cancelled":
            with pytest.raises(InvalidInput, match="some outcomes arrived"):
                policy.cancel(state, decision)
            return
        first = afters[0]
        left, held, taught = left + first[0] - 10, held + first[1], taught + 1
        average = first[2] + (first[2] if np.isnan(average) else average)  # of two plays, the unseen as the other
    meet(policy, state, decision, fate, value, plays - 1)
    np.testing.assert_array_equal(stands(policy, state), (left - others * spent, held + others * waits, average))
    assert state.model.count[0] == taught
    for again in ("learned", "expired", "cancelled"):
        with pytest.raises(InvalidInput, match="settled before"):
            meet(policy, state, decision, again, value)
    assert policy.status(state).rounds == 1 + others  # cancelled ones stay counted
