import numpy as np
import pytest

from evenhand.environments import Court
from evenhand.problem import Budget, Numeric, Outcome, Problem
from evenhand.problem.constraints import constraint_rows
from evenhand.recipes import uniform
from evenhand.recipes.baselines import even_lottery
from evenhand.run import play
from tests.examples.problems import EVERYTHING, LITTLE
from tests.rows import for_each
from tests.worlds import Market


def entropy(p):
    return -(p * np.log(np.maximum(p, 1e-300))).sum(-1)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    a, d = rng.integers(2, 6), rng.integers(1, 4)
    actions = tuple(f"a{i}" for i in range(a))
    costs = rng.random((d, a)) * (rng.random((d, a)) < 0.8)
    costs[:, 0] = 0.0
    return Problem(
        actions=actions,
        outcomes=(
            Outcome("gain"),
            *(Outcome(f"c{j}", known=dict(zip(actions, costs[j].tolist(), strict=True))) for j in range(d)),
        ),
        maximize="gain",
        subject_to=tuple(Budget(f"c{j}", rate=float(rng.uniform(0.05, 0.6))) for j in range(d)),
        horizon=100,
    )


@for_each("seed", range(10))
def test_the_lottery_fits_and_no_other_that_fits_is_more_even(seed):
    problem = random_problem(seed)
    p = np.array(even_lottery(problem))
    rows, bound = constraint_rows(problem, (s for s in problem.stated if s.spends))
    cost = rows.known @ problem.declared.T
    assert p.sum() == pytest.approx(1.0)
    assert (p > 0).all()
    assert (cost @ p <= bound + 1e-6).all()
    others = np.random.default_rng(seed).dirichlet(np.full(len(p), 0.7), 20_000)
    near = 0.9 * p + 0.1 * others  # neighbours too, of which many fit
    fit = np.concatenate([z[(z @ cost.T <= bound).all(1)] for z in (others, near)])
    assert len(fit) > 50
    assert (entropy(fit) <= entropy(p) + 1e-5).all()


def test_the_courts_lottery_spends_its_budgets_and_no_more():
    np.testing.assert_allclose(even_lottery(Court().problem), [0.75, 0.2, 0.05], atol=1e-6)
    np.testing.assert_allclose(even_lottery(Court(ride=0.9, voucher=0.9).problem), [1 / 3] * 3, atol=1e-9)


def test_without_budgets_all_actions_are_alike():
    assert even_lottery(LITTLE) == (1.0,)
    assert uniform(LITTLE, n_features=3).choice.weights == (1.0,)


@pytest.mark.parametrize("problem", [EVERYTHING, Court(horizon=300).problem], ids=["learned costs", "court"])
def test_budgets_are_never_exceeded_and_propensities_are_those_of_what_fits(problem):
    policy = uniform(problem, n_features=3)
    world, state = Market(problem=problem).start(4, np.arange(20)), policy.start(seed=4, replicas=20)
    spent = np.zeros((20, len(problem.names)))
    for _, _, d, _, (arrival,) in play(policy, state, world, range(problem.horizon)):
        spent += (np.concatenate([arrival.y, d.known], 2) * d.counted[:, None, None]).sum(1)
        chance = np.array(policy.choice.weights)[d.plays[:, 0]]
        assert (d.propensities[:, 0] >= chance - 1e-12)[d.counted > 0].all()  # of fewer candidates, each is likelier
    for b in problem.spending:
        total = b.total_over(problem.horizon)
        assert (spent[:, problem.names.index(b.outcome)] <= total + 1e-9).all()


@pytest.mark.parametrize("features", [(), (Numeric("age", 20, 60),)])
def test_features_are_those_that_the_policy_encodes(features):
    problem = Problem(actions=("a", "b"), outcomes=(Outcome("gain"),), maximize="gain", features=features, horizon=3)
    policy = uniform(problem)
    state = policy.start(seed=1)
    assert policy.act(state, policy.encode(dict.fromkeys([f.name for f in features], 30))).action in problem.actions
