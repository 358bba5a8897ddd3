import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InvalidInput
from evenhand.environments import FixedContexts, MixedContexts
from evenhand.models import Fixed, Glmtron, Ridge
from evenhand.problem import Budget, Outcome
from evenhand.recipes import two_stage_square_cbwk
from evenhand.recipes.square_cbwk import linear_exploration, linear_radius, smooth_exploration, square_cbwk_rate
from evenhand.run import play, simulate
from tests.calls import ask
from tests.problems import pose

EXPLORE, RADIUS = 30, 0.02


def two_stage(environment, **options):
    model = Ridge(n_features=environment.n_features, n_outcomes=3, ridge=1.0, width=Fixed(0.5))  # widths are not read
    options = {"rate": 20.0, "explore": EXPLORE, "radius": RADIUS} | options
    return two_stage_square_cbwk(environment.problem, model, **options)


def scale(y):
    """Z = T/B (OPT_hat + M) of means, `(S,A,M)->`, with OPT_hat by a linear program of our own."""
    rounds, arms, _ = y.shape
    found = linprog(
        -y[:, :, 0].ravel() / rounds,
        A_ub=y[:, :, 1:].reshape(-1, 2).T / rounds,
        b_ub=np.array([0.15, 0.12]) + 2 * RADIUS,
        A_eq=np.kron(np.eye(rounds), np.ones(arms)),
        b_eq=np.ones(rounds),
    )
    return pytest.approx((-found.fun + RADIUS) / 0.12, rel=1e-6)


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_scale_is_that_of_its_definition(replicas):
    """OPT_hat is of the contexts of the collecting rounds."""
    env = MixedContexts(horizon=4000)
    policy, arms = two_stage(env), 4
    state = policy.start(seed=5, replicas=replicas)
    first, last = arms * EXPLORE, (arms + 1) * EXPLORE
    contexts, model = [], None
    for r in play(policy, state, env.start(5, state.replicas), range(last)):
        assert r.step >= last - 1 or (state.goals[1].max_price == 0).all()
        np.testing.assert_array_equal(r.decision.plays[:, 0], r.step % arms)
        if r.step >= first:
            contexts.append(r.context.features.copy())
        if r.step == last - 2:  # what the model knows when the last decision is made
            model = np.concatenate([ask(policy.model, state.model, np.eye(9)[None].repeat(replicas, 0), w)[0]
                                    for w in np.tile(np.eye(3)[:, None, None], (1, replicas, 1, 1))], 1)  # fmt: skip
    for r in range(replicas):
        assert state.goals[1].max_price[r] == scale(np.array([x[r] @ model[r].T for x in contexts]))


def test_the_second_stage_has_what_the_paper_leaves_it():
    env = MixedContexts(horizon=4000)
    hedge = two_stage(env).goals[1].hedge
    length = 5 * EXPLORE
    np.testing.assert_allclose(hedge.bound, (np.array([600.0, 480.0]) - length) / (4000 - length))
    assert hedge.step == pytest.approx(np.sqrt(np.log(3) / (4000 - length)))


def test_nothing_is_overspent_and_prices_start_after_the_first_stage():
    env = MixedContexts(horizon=2000)
    trace = simulate(two_stage(env), env, replicas=5, seed=1, progress=False)
    for b in env.problem.spending:
        assert (trace.total(b.outcome) <= b.total).all()
    assert trace.objective()[-1].min() > 0.0


def test_phases_as_long_as_the_horizon_are_refused():
    problem = pose(
        "gain", Outcome("cost", high=10.0), actions="abc", subject_to=(Budget("cost", total=2000),), horizon=400
    )
    with pytest.raises(InvalidInput, match="below the horizon of 400"):
        two_stage_square_cbwk(problem, Ridge(n_features=2, n_outcomes=2), rate=5.0, explore=100, radius=0.1)


def test_the_phases_of_the_theory():
    problem = FixedContexts(arms=3, dimension=52, horizon=2000).problem
    assert linear_exploration(problem, 52) == round((52 * 4) ** (1 / 3) * np.sqrt(2000 / 3))
    assert smooth_exploration(problem, 1.0) == round(4 ** (3 / 8) * 3 ** (-1 / 3) * 2000 ** (2 / 3))
    e = 52 * np.log(2000) / 40
    assert linear_radius(problem, 52, 40) == pytest.approx(np.sqrt(3 * (e + 16 * e) + 4 * np.log(8000) / 40))


@pytest.mark.slow
def test_it_takes_the_scale_of_what_is_to_be_had():
    """T OPT / B is 2 here; M = 0.1 makes it 4 of at most 4 (1 + M)."""
    env = FixedContexts(arms=3, dimension=10, horizon=4000)
    model = Glmtron(n_features=10, n_outcomes=5, ridge=1.0)
    policy = two_stage_square_cbwk(env.problem, model, rate=40.0, explore=40, radius=0.1)
    state = policy.start(seed=0, replicas=10)
    for _ in play(policy, state, env.start(0, state.replicas), range(160)):
        pass
    z = state.goals[1].max_price
    # with slack 0.2 the program is worth (1/4 + 0.2) / (1/2) = 0.9, plus M: 4 (0.9 + 0.1) = 4, up to noise in the means
    assert np.abs(z.mean() - 4.0) <= 4 * 4 * 0.2 / np.sqrt(40 * 10) * 2


def test_the_program_reads_an_oracle_that_only_the_pulls_of_the_first_stage_taught():
    """Assumption 4.1: Z from a regression of our own on the T0 pulls of each arm, whatever the online model says."""
    env, arms = MixedContexts(horizon=4000), 4
    other = Ridge(n_features=9, n_outcomes=3, ridge=50.0)  # which is far off
    policy = two_stage_square_cbwk(
        env.problem,
        other,
        rate=20.0,
        explore=EXPLORE,
        radius=RADIUS,
        statistical=Ridge(n_features=9, n_outcomes=3, ridge=0.5),
    )
    state = policy.start(seed=5, replicas=2)
    first, last = arms * EXPLORE, (arms + 1) * EXPLORE
    x, y, contexts = [], [], []
    for r in play(policy, state, env.start(5, state.replicas), range(last + 20)):
        rows = np.arange(2)[:, None], r.decision.plays
        if r.step < first:
            x.append(r.context.features[rows][:, 0])
            y.append(r.arrivals[0].y[:, 0])
        elif r.step < last:
            contexts.append(r.context.features.copy())
        elif r.step == last:  # from now on the online model answers
            said = ask(policy.model, state.model, r.context.features, np.ones((2, 1, 3)))[0]
            alone = ask(other, state.model.online, r.context.features, np.ones((2, 1, 3)))[0]
            np.testing.assert_array_equal(said, alone)
    for r in range(2):
        features, outcomes = np.array(x)[:, r], np.array(y)[:, r]
        theta = np.linalg.solve(features.T @ features + 0.5 * np.eye(9), features.T @ outcomes)
        assert state.goals[1].max_price[r] == scale(np.array([c[r] @ theta for c in contexts]))


def test_the_rate_of_the_theory_has_its_factor():
    """c = T/B + 1 = 5 on the paper's instance (T/B = 4), whatever range the rewards are declared to have."""
    problem = FixedContexts(horizon=2000).problem
    assert square_cbwk_rate(problem, 3, 7.0, 11.0) == pytest.approx(
        np.sqrt(3 * 2000 / (7.0 + 25.0 * 11.0 + 4 * np.log(4000)))
    )
    assert square_cbwk_rate(problem, 3, 7.0, 11.0, max_price=2.0) == pytest.approx(
        np.sqrt(3 * 2000 / (7.0 + 4.0 * 11.0 + 4 * np.log(4000)))
    )
