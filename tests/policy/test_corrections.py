"""A correction leaves the table of outcomes and hard limits as if the last outcome had been the only one."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.policy.corrections import revise
from evenhand.policy.saving import flatten
from evenhand.problem import NeverWorse
from tests.rows import for_each
from tests.states import unchanged


def shop(*budgets):
    """Budgets of an observed outcome and of a known one; cases of two groups."""
    return eh.Problem(
        actions=("none", "letter", "call"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(
            eh.Outcome("answer", free=("none",)),
            eh.Outcome("cents", high=9.0, free=("none",), fallback=3.0),
            eh.Outcome("stamps", known={"letter": 1, "call": 0}),
        ),
        groups=(eh.Groups("zone", ("town", "land")),),
        maximize="answer",
        subject_to=budgets,
        horizon=400,
    )


TOTALS = shop(eh.Budget("cents", total=900), eh.Budget("stamps", total=90))
SPANS = shop(eh.Budget("cents", total=90, per=20), eh.Budget("stamps", total=90))
CREDIT = eh.Problem(
    actions=("old", "new"),
    outcomes=(eh.Outcome("sale"), eh.Outcome("usual", known=0.4)),
    maximize="sale",
    subject_to=(NeverWorse("sale", than="usual", alpha=0.2, slack=5),),
    horizon=400,
)


def exact(policy, state):
    """Everything that does not depend on the order of events: the table of outcomes, and the limits."""
    found = {"books": state.books}
    for i, _ in policy._assembly.can.limits:
        found |= {f"{i}{path}": z for path, z in flatten(state.goals[i])}
    return found


def drawn(problem, rng, action):
    """Random outcomes of a play, some of them not observed."""
    found = {}
    for name in problem.observed:
        value = float(rng.integers(0, 10 if name == "cents" else 2)) * (action != "none")
        found[name] = None if rng.random() < 0.2 else value
    return found


@pytest.mark.parametrize("problem", [TOTALS, SPANS, CREDIT], ids=["totals", "spans", "credit"])
@for_each("seed", range(3))
def test_a_correction_is_as_if_the_last_outcome_had_been_the_only_one(problem, seed):
    rng = np.random.default_rng(seed)
    policy = eh.uniform(problem, 3 * problem.n_features if problem.features else 1)
    one, other = policy.start(seed=seed), policy.start(seed=seed)
    settled = []
    for i in range(60):
        case = {"age": 20 + i % 40, "zone": ("town", "land")[i % 2]} if problem.features else {}
        context = policy.encode(case)
        decision = policy.decide(one, context)
        policy.enter(one, context, decision)
        again = decision._replace(id=np.full(3, -1))
        policy.enter(other, context, again)
        if not decision.counted[0]:
            continue
        fate, before, last = rng.random(), *(drawn(problem, rng, decision.action) for _ in range(2))
        if fate < 0.2:
            before = "cancelled"
            policy.cancel(one, decision)
        elif fate < 0.4:
            before = "expired"
            policy.expire(one, decision)
        else:
            policy.observe(one, decision, before)
        policy.observe(other, again, last)
        settled.append((decision, before, last))
    for k in rng.permutation(len(settled)):
        decision, before, last = settled[k]
        middle = drawn(problem, rng, decision.action)
        revise(policy, one, decision, before, middle)
        revise(policy, one, decision, middle, last)
    left, right = exact(policy, one), exact(policy, other)
    assert len(settled) > 20
    assert left.keys() == right.keys()
    for path, z in left.items():
        assert np.allclose(z, right[path], rtol=1e-12, atol=1e-9), path
    assert policy.status(one).averages == pytest.approx(policy.status(other).averages, nan_ok=True)


@pytest.mark.parametrize("first", [{"answer": None, "cents": 4}, "expired", "cancelled"], ids=str)
def test_the_model_learns_what_an_earlier_outcome_lacks_at_once_and_no_more(first):
    n, last = 3 * TOTALS.n_features, {"answer": 1, "cents": 4}
    policy = eh.resolving(TOTALS, eh.Stacked((eh.BayesianRidge(n_features=n), eh.BayesianRidge(n_features=n))))
    one, other = policy.start(seed=1), policy.start(seed=1)
    for age, action in ((30, "letter"), (50, "call")):  # alone, as prices differ once a decision was cancelled
        context = policy.encode({"age": age, "zone": "town"}, offered=[action])
        decision, again = policy.act(one, context), policy.act(other, context)
        policy.observe(other, again, last)
        if isinstance(first, str):
            {"expired": policy.expire, "cancelled": policy.cancel}[first](one, decision)
        else:
            policy.observe(one, decision, first)
        none, less = {"answer": None, "cents": 4}, {"answer": 0, "cents": 4}
        steps = (first, last), (last, last), (last, none), (none, last, last), (last, less)
        for before, outcomes, *taught in steps:
            revise(policy, one, decision, before, outcomes, taught)
        for (path, z), (_, told) in zip(flatten(one.model), flatten(other.model), strict=True):
            assert np.array_equal(z, told), path


def test_an_outcome_that_cannot_be_is_refused_and_changes_nothing():
    policy = eh.uniform(TOTALS, 3 * TOTALS.n_features)
    state = policy.start(seed=1)
    decision = policy.act(state, policy.encode({"age": 30, "zone": "town"}))
    zero = {"answer": 0, "cents": 0}
    policy.observe(state, decision, zero)
    for wrong in ({"answer": 0, "cents": 10}, {"answer": 0}, {"answer": float("nan"), "cents": 0}):
        with unchanged(state), pytest.raises(InvalidInput):
            revise(policy, state, decision, zero, wrong)
