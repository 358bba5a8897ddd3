"""What comes in a round is refused by name and leaves no trace, or it is converted and decides as it did before."""

from functools import partial

import numpy as np
import pytest

from evenhand.models import Ridge
from evenhand.policy.saving import flatten
from evenhand.problem import Groups, Outcome, Parity, Problem
from evenhand.recipes import pgd
from tests.malformed.rounds import POLICY, ROWS, TAKEN, WHOLE, Y, lived
from tests.malformed.tables import check, name
from tests.rows import for_each
from tests.states import alike, unchanged
from tests.worlds import Market


@for_each("row", ROWS, ids=name)
def test_what_cannot_be_used_is_named_and_leaves_no_trace(row):
    """Also where everything else is that of a context that was looked at just before."""
    call, message = row
    state, context, decision = lived()
    for _ in range(2):
        with unchanged(state):
            check(partial(call, state, context, decision), message)
        POLICY.decide(state, context)
    POLICY.learn(state, decision, Y)  # the state goes on
    POLICY.act(state, context)


def test_what_is_said_not_to_be_observed_may_be_anything():
    state, _, decision = lived()
    seen = np.array([[[True, True]], [[True, False]]])
    POLICY.learn(state, decision, np.array([[[0.5, 0.5]], [[0.5, np.nan]]]), seen)
    assert all(np.isfinite(z).all() for _, z in flatten(state))
    assert state.model.count[0] == state.model.count[1] + 1


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -1e308])
def test_an_unbounded_outcome_is_finite_all_the_same(value):
    problem = Problem(
        actions=("go",),
        outcomes=(Outcome("gain", low=-np.inf, high=np.inf),),
        maximize="gain",
        groups=(Groups("side", ["left", "right"]),),
        subject_to=(Parity("gain", by="side", tolerance=0.1),),
        horizon=5,
    )
    free = pgd(problem, Ridge(n_features=3), warmup=0)
    state, context = free.start(), Market(problem=problem).start(1, np.arange(1)).context(0)
    decision, y = free.act(state, context), np.full((1, 1, 1), value)
    check(lambda: free.learn(state, decision, y), "outcome 'gain': expected a finite number in [-1e+100, 1e+100]")
    free.learn(state, decision, y, observed=np.zeros((1, 1, 1), bool))
    free.learn(state, free.act(state, context), np.full((1, 1, 1), -1e6))
    assert all(np.isfinite(z).all() for path, z in flatten(state) if path not in (".model.low", ".model.high"))


@pytest.mark.parametrize("name", TAKEN)
def test_what_changes_no_number_is_converted(name):
    plain, given = lived(), lived()
    for _ in range(2):  # the second time, the last context was converted already
        want = POLICY.act(*plain[:2])
        context = given[1]._replace(**{k: f(getattr(given[1], k)) for k, f in TAKEN[name].items()})
        got = POLICY.decide(given[0], context)
        POLICY.commit(given[0], context, got)
        for field in ("plays", "propensities", "features", "known", "groups", "row_prices"):
            np.testing.assert_array_equal(getattr(want, field), getattr(got, field), err_msg=field)
    np.testing.assert_array_equal(POLICY.worth(plain[0], plain[1], want), POLICY.worth(given[0], context, got))
    assert POLICY.explain(plain[0], plain[1], want) == POLICY.explain(given[0], context, got)


@pytest.mark.parametrize("name", WHOLE)
def test_kinds_of_numbers_do_not_matter(name):
    whole = np.random.default_rng(0).integers(0, 3, (2, 4, 3)).astype(float)
    (plain, context, first), (given, _, second) = lived(), lived()
    one = POLICY.act(plain, context._replace(features=whole))
    two = POLICY.act(given, context._replace(features=whole.astype(WHOLE[name])))
    np.testing.assert_array_equal(one.plays, two.plays)
    np.testing.assert_array_equal(one.features, two.features)
    outcomes = np.ones((2, 1, 2))
    POLICY.learn(plain, first, outcomes)
    POLICY.learn(given, second, outcomes.astype(WHOLE[name]))
    alike(plain, given)
