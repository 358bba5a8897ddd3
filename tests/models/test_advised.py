"""The model that docs/choosing.md advises, by the outcomes and features of a problem."""

import pytest

import evenhand as eh
from evenhand.models import NullModel, advised

AGE = (eh.Numeric("age", 20, 60),)  # with an intercept: two numbers per case
YES, PAYS, HOURS, COST = (
    eh.Outcome("answers"),
    eh.Outcome("pays"),
    eh.Outcome("hours", high=12),
    eh.Outcome("cents", known={"b": 80}),
)


def stated(*outcomes, features=()):
    goal = outcomes[0].name
    return eh.Problem(actions=("a", "b", "c"), features=features, outcomes=outcomes, maximize=goal, horizon=50)


def yes(n):
    return eh.BayesianLogistic(n_features=n)


def other(n, outcomes=1):
    return eh.BayesianRidge(n_features=n, n_outcomes=outcomes)


def each(model):
    return eh.PerAction(inner=model, actions=3)


TABLE = [
    (stated(YES, COST), yes(3)),  # no features: one per action
    (stated(HOURS), other(3)),
    (stated(YES, PAYS), other(3, 2)),
    (stated(YES, HOURS), eh.Stacked((yes(3), other(3)))),
    (stated(YES, COST, features=AGE), each(yes(2))),
    (stated(HOURS, features=AGE), each(other(2))),
    (stated(YES, PAYS, features=AGE), each(other(2, 2))),
    (stated(YES, HOURS, features=AGE), eh.Stacked((each(yes(2)), each(other(2))))),
    (stated(HOURS, eh.Outcome("dollars", high=9), YES, PAYS), eh.Stacked((other(3, 2), yes(3), yes(3)))),
    (stated(COST, features=AGE), NullModel(n_features=2, n_outcomes=0)),
]


@pytest.mark.parametrize(("problem", "model"), TABLE)
def test_the_model_is_that_of_the_table_and_decides(problem, model):
    assert advised(problem) == model
    policy = eh.resolving(problem)
    assert policy.model == model
    case = {f.name: 30 for f in problem.features}
    state = policy.start(seed=0)
    decision = policy.act(state, policy.encode(case))
    assert decision.action in problem.actions
    policy.observe(state, decision, dict.fromkeys(problem.observed, 0.5))


@pytest.mark.parametrize(("named", "words", "block"), [(1, 0, 3), (62, 0, 64), (63, 0, 0), (0, 0, 0), (1, 8, 0)])
def test_exact_columns_beside_hashed_ones_are_a_block_where_there_are_no_directions(named, words, block):
    levels = [eh.Categorical("kind", tuple(map(str, range(1 + named)))), *AGE] if named else []
    texts = [eh.problem.Hashed("query", hashed=64, at_most=words)] if words else []
    features = *levels, *texts, eh.Categorical("site", hashed=64)
    problem = stated(YES, features=features)
    assert advised(problem).inner == eh.models.DiagonalLogistic(packed=problem.packed, block=block)
    assert eh.PerAction.of(problem).inner == eh.models.DiagonalRidge(packed=problem.packed, block=block)


def test_the_features_of_the_caller_have_shared_coefficients():
    assert advised(stated(YES, features=AGE), 7) == yes(7)
