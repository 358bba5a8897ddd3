"""The constants of the theory of allocations, and that models take them as the theorems want."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from evenhand.choices import Staged
from evenhand.environments import Matching
from evenhand.models import Fixed, GeneralizedLinear, Logistic, Perturbed
from evenhand.recipes import cab_ts, cab_ucb
from evenhand.recipes.cab import theoretical_constants
from evenhand.run import simulate
from evenhand.welfare import Capped, Logarithmic, PerArm, Piecewise
from tests.calls import ask

USERS, ARMS, T, N = 8, 3, 60, 5


def written_out(norm, noise, delta, steep, kappa, returns):
    """Theorems D.4 and D.5 line by line."""
    start = noise**2 / kappa**2 * (N * math.log(1 + USERS * T / N) + 2 * math.log(1 / delta))
    inside = N * math.log(1 + USERS * T / (N * start)) + 2 * math.log(1 / delta)
    c1 = returns * steep / kappa * (noise * math.sqrt(inside) + kappa * norm * math.sqrt(start))
    return kappa * start, start, c1, c1 * math.sqrt(steep * USERS)


@pytest.mark.parametrize(("norm", "reach"), [(0.5, 2.0), (1.0, 3.0), (3.0, 9.0)])
def test_constants_are_those_of_the_theorems(norm, reach):
    """The slope of the logistic link is least where |u| is largest: |truth| + max(D + 1, 2 D)."""
    problem = Matching(users=USERS, arms=ARMS, horizon=T).problem
    kappa = expit(reach) * (1 - expit(reach))
    found = theoretical_constants(problem, N, norm_bound=norm, delta=0.01)
    assert found == pytest.approx(written_out(norm, 0.5, 0.01, 0.25, kappa, 1.0))
    other = theoretical_constants(problem, N, norm_bound=norm, kappa=0.2, steepest=1.0, noise=0.1, delta=0.3)
    assert other == pytest.approx(written_out(norm, 0.1, 0.3, 1.0, 0.2, 1.0))


def test_steep_returns_ask_for_more_exploration():
    double = Piecewise((1.0, 3.0), (2.0, 4.0))
    for curve, slope in ((Logarithmic(2.0), 1.0), (double, 2.0), (PerArm((Capped(1.0), double, Capped(2.0))), 2.0)):
        problem = Matching(users=USERS, arms=ARMS, horizon=T, curve=curve).problem
        found = theoretical_constants(problem, N, norm_bound=1.0, kappa=0.1)
        assert found == pytest.approx(written_out(1.0, 0.5, 0.05, 0.25, 0.1, slope))


def test_models_take_them_and_recipes_run_with_them():
    """The bonus of a pair is c1 ||x||_{V^-1} with V = lambda_0 I at first, and draws have a^2 / (kappa lambda_0)."""
    world = Matching(users=USERS, arms=ARMS, horizon=T)
    penalty, start, bonus, scale = theoretical_constants(world.problem, N, norm_bound=1.0)
    model = GeneralizedLinear(
        n_features=N, link="logistic", ridge=penalty, width_ridge=start, width=Fixed(bonus), clipped=False
    )
    x = np.random.default_rng(0).normal(size=(1, 4, N))
    state = model.start(1, np.zeros(1), np.ones(1), T)
    found = ask(model, state, x, np.ones((1, 1, 1)))[1]
    np.testing.assert_allclose(found.ravel(), bonus * np.linalg.norm(x[0], axis=1) / math.sqrt(start))
    z = np.ones((1, 1, N))
    np.testing.assert_allclose(scale * model.deviations(state, z).ravel(), scale / math.sqrt(penalty))
    for policy in (
        cab_ucb(world.problem, model),
        cab_ts(world.problem, Perturbed(inner=model, scale=scale, n_blocks=USERS)),
    ):
        assert (simulate(policy, world, seed=0, progress=False).average("match")[-1] > 0.0).all()


def test_a_start_at_random_takes_the_place_of_a_ridge():
    """A round of 20 users makes V of 5 features invertible; what is earned afterwards is the same, within 0.5 %."""
    world, earned = Matching(users=20, arms=ARMS, horizon=150), []
    for ridge, rounds in ((float(N), 0), (1e-6, 1)):
        model = Logistic(n_features=N, ridge=ridge, width=Fixed(N**0.5), clipped=False)
        policy = cab_ucb(world.problem, model)
        started = replace(policy, choice=Staged(rounds, policy.choice))
        earned.append(simulate(started, world, replicas=6, progress=False).in_expectation().average("satisfaction")[-1])
    assert np.abs(earned[1] - earned[0]).max() <= 0.03 * earned[0].mean()
    assert earned[1].mean() == pytest.approx(earned[0].mean(), rel=0.005)
    state, run = started.start(seed=0, replicas=3), world.start(0, np.arange(3))
    context = run.context(0)
    decision = started.decide(state, context)
    np.testing.assert_allclose(decision.propensities, 1.0 / ARMS)  # of every user's arm
    decision, (arrival,) = run.respond(0, context, decision)
    started.commit(state, context, decision)
    started.learn(state, arrival.decision, arrival.y)
    assert np.linalg.eigvalsh(np.linalg.inv(state.model.inverse))[:, 0].min() > 0.1  # ridge: 1e-6
