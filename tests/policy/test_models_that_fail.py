"""A model that diverges or does not keep its contract is named with the round; one that is wrong never overspends."""

from dataclasses import dataclass

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Worth
from evenhand.environments import FixedContexts, MixedArms, MixedContexts
from evenhand.models import Fixed, Glmtron, Gradient, NullModel, Ridge
from evenhand.problem import Outcome, Problem
from evenhand.recipes import lin_cbwk, primal_lp, resolving, square_cbwk, two_stage_square_cbwk, ucb
from evenhand.recipes.primal_lp import Program
from evenhand.run import simulate


@dataclass(frozen=True)
class Oracle:
    """Right for a while, then not."""

    fault: str
    n_features: int = 9
    n_outcomes: int = 3

    def start(self, replicas, low, high, horizon):
        return NullModel(n_features=9, n_outcomes=3).start(replicas, low, high, horizon)

    def draws(self, candidates):
        return 0

    def value(self, state, x, w, u):
        shape = (len(x), w.shape[1], x.shape[1])
        mean, bonus = np.zeros(shape), np.zeros(shape)
        if x[0, 1, 1] > 0.9:
            if self.fault == "nan":
                mean[0, 0, 2] = np.nan
            if self.fault == "nan bonus":
                bonus[0, 0, 2] = np.nan
            if self.fault == "infinite":
                mean[0, 0, 2] = -np.inf
            if self.fault == "far":
                mean[0, 0, 2] = 1.1e5
            if self.fault == "shape":
                return Worth(mean[:, :, :2], bonus[:, :, :2])
        return Worth(mean, bonus)

    def update(self, state, x, y, seen, w, lesson=None):
        pass


@pytest.mark.parametrize("fault", ["nan", "nan bonus", "infinite", "far", "shape"])
def test_an_oracle_that_fails_is_named_with_the_round(fault):
    world = MixedContexts(horizon=200)
    assert simulate(square_cbwk(world.problem, Oracle(""), rate=5.0), world, replicas=2, progress=False).finished
    where = r"Oracle in round \d+:" if fault == "shape" else r"Oracle in round \d+ of replica 0, candidate 2:"
    with pytest.raises(InvalidInput, match=where):
        simulate(square_cbwk(world.problem, Oracle(fault), rate=5.0), world, replicas=2, progress=False)


@dataclass(frozen=True)
class Planned(Oracle):
    """Right for one context, wrong for many: only who plans asks about so many candidates."""

    def draws(self, candidates):
        return 0

    def value(self, state, x, w, u):
        mean, bonus = np.zeros((len(x), w.shape[1], x.shape[1])), np.zeros((len(x), w.shape[1], x.shape[1]))
        if x.shape[1] > 80:
            mean[0, 0, 2] = np.nan if self.fault == "nan" else 1e9
            if self.fault == "shape":
                return Worth(mean[:, :, :2], None)
        return Worth(mean, bonus)


@pytest.mark.parametrize("fault", ["nan", "far", "shape"])
@pytest.mark.parametrize("recipe", [primal_lp, resolving])
def test_an_oracle_that_fails_in_planning_is_named_too(fault, recipe):
    world = MixedContexts(horizon=200)
    with pytest.raises(InvalidInput, match=r"Planned in round \d+"):
        simulate(recipe(world.problem, Planned(fault)), world, replicas=2, progress=False)


def test_a_ridge_of_next_to_nothing_may_interpolate():
    """As many observations as features and noise: predictions of more than 1,000, and no reason to stop."""
    rng, n = np.random.default_rng(0), 10
    problem = Problem(actions=tuple("abcdefghij"), outcomes=(Outcome("gain"),), maximize="gain", horizon=30)
    policy = ucb(problem, Ridge(n_features=n, ridge=1e-6), warmup=30)
    state, largest = policy.start(replicas=400), 0.0
    for _ in range(30):
        x = rng.normal(size=(400, 10, n))
        c = Context(x, np.zeros((1, 10, 0)), np.zeros((400, 1, 0), np.int64), np.ones((1, 10), bool))
        decision = policy.act(state, c)
        said = policy.model.value(state.model, x, decision.prices, np.zeros((400, 0)))
        largest = max(largest, float(np.abs(said.mean).max()))
        policy.learn(state, decision, rng.integers(0, 2, (400, 1, 1)).astype(float))
    assert largest > 500.0


def test_an_oracle_whose_steps_are_too_long_is_stopped_before_it_is_nan():
    world = MixedContexts(horizon=400)
    model = Gradient(n_features=9, n_outcomes=3, step=50.0, power=0.0)
    with pytest.raises(InvalidInput, match=r"Gradient in round \d+"):
        simulate(square_cbwk(world.problem, model, rate=5.0), world, replicas=2, progress=False)


WRONG = [
    NullModel(n_features=9, n_outcomes=3),  # knows nothing, ever
    Glmtron(n_features=9, n_outcomes=3, link="logistic", step=9.0, radius=0.1),  # the wrong link, too small a ball
    Ridge(n_features=9, n_outcomes=3, ridge=1e4, width=Fixed(0.0)),  # says 0 for hundreds of rounds
    Ridge(n_features=9, n_outcomes=3, ridge=1e-6, width=Fixed(100.0)),  # sure that everything is free
]


@pytest.mark.parametrize("model", WRONG, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("replicas", [1, 4])
def test_with_a_misspecified_model_nothing_overspends(model, replicas):
    world = MixedContexts(horizon=400)
    p = world.problem
    for policy in (
        square_cbwk(p, model, rate=5.0),
        two_stage_square_cbwk(p, model, rate=5.0, explore=5, radius=0.01),
        lin_cbwk(p, model),
        primal_lp(p, model, hard=True, warmup=0, program=Program(temperature=0.05)),
        resolving(p, model, warmup=0),
    ):
        trace = simulate(policy, world, replicas=replicas, seed=2, progress=False)
        for b in p.spending:
            assert (trace.total(b.outcome) <= b.total).all()


@pytest.mark.parametrize("horizon", [1, 2, 7])
def test_tiny_horizons_and_budgets_are_survived(horizon):
    for world in (MixedArms(horizon=horizon), MixedContexts(horizon=horizon)):
        model = Ridge(n_features=world.n_features, n_outcomes=3, width=Fixed(0.3))
        for policy in (square_cbwk(world.problem, model, rate=2.0), resolving(world.problem, model, warmup=0)):
            trace = simulate(policy, world, replicas=2, progress=False)
            for b in world.problem.spending:
                assert (trace.total(b.outcome) <= b.total).all()


def test_one_arm_and_one_replica():
    world = FixedContexts(arms=1, dimension=5, horizon=80)
    model = Glmtron(n_features=5, n_outcomes=5)
    for policy in (square_cbwk(world.problem, model, rate=2.0), resolving(world.problem, model, warmup=0)):
        trace = simulate(policy, world, replicas=1, progress=False)
        assert trace.total("cost 1")[0] <= 20
