"""The slope of the objective as the reward, against convex programs, scalar policies and ten rounds by hand."""

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest

from evenhand.choices import Cycle, Staged, TopK
from evenhand.core.errors import InvalidInput
from evenhand.environments import FixedContexts, MixedArms, MultiObjective, mixture
from evenhand.goals import FrankWolfe
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models import Fixed, Ridge, Scalarised, SelfNormalised
from evenhand.objectives import AlphaFair, DistancePenalty, GeneralizedGini, Linear, Moreau, Randomized
from evenhand.problem import Budget, Outcome
from evenhand.recipes import fw, fw_dual, fw_linucb, lin_cbwk, pgd, resolving, ucb
from evenhand.run import simulate
from evenhand.sets import Box
from tests.goals.arms import ARMS, CASE, averages, problem, truth


def best(objective, bounds=None):
    p = cp.Variable(4, nonneg=True)
    z = ARMS.T @ p
    constraints = [cp.sum(p) == 1] if bounds is None else [cp.sum(p) <= 1, z <= bounds]
    if isinstance(objective, AlphaFair):
        value = cp.sum(cp.log(z + 0.05))
    else:
        w = np.array(objective.weights)
        value = sum((w[k] - (w[k + 1] if k < 2 else 0.0)) * cp.sum_smallest(z, k + 1) for k in range(3))
    cp.Problem(cp.Maximize(value), constraints).solve()
    return float(objective.value(z.value)), z.value


OBJECTIVES = [
    (AlphaFair(("u", "v", "w"), alpha=1.0, offset=0.05), None),
    (GeneralizedGini(("u", "v", "w")), Moreau(0.05)),
    (GeneralizedGini(("u", "v", "w")), Randomized(0.05)),
]


@pytest.mark.parametrize(("objective", "smoothing"), OBJECTIVES, ids=["fair", "moreau", "randomised"])
def test_with_a_known_truth_the_average_tends_to_the_convex_programs(objective, smoothing):
    """f* - f(z_t) is at most (2 beta_0 L^2 + D^2 / beta_0) / sqrt(t) or so: 0.03 at t = 4,000 for a kinked f."""
    policy = fw_linucb(problem(objective), truth(), smoothing=smoothing)
    value, _ = best(objective)
    reached = float(objective.value(averages(policy, 4000)))
    assert value - 0.03 <= reached <= value + 1e-6
    early = float(objective.value(averages(policy, 60)))
    assert value - early > 2 * (value - reached)  # it gets better


def test_ten_rounds_by_hand():
    objective = AlphaFair(("u", "v", "w"), alpha=1.0, offset=0.05)
    policy = fw_linucb(problem(objective), truth())
    state = policy.start()
    z, seen = np.full(3, 0.5), []
    for t in range(1, 11):
        expected = int(np.argmax(ARMS @ (1.0 / (z + 0.05))))
        decision = policy.act(state, CASE)
        assert decision.plays[0, 0] == expected
        policy.learn(state, decision, ARMS[expected][None, None])
        z = (z if t > 1 else 0.0) + (ARMS[expected] - (z if t > 1 else 0.0)) / t
        seen.append(expected)
    assert len(set(seen)) == 3  # a mixture


@pytest.mark.parametrize("optimism", ["row", "net"])
def test_readings_add_up_to_the_tangent_where_its_constant_is_known(optimism):
    """Beyond bounds: phi.(bound - v), phi pointing from the bounds to the average; 0 within them."""
    within = DistancePenalty(("u", "v", "w"), Box.below((0.3, 0.2, 0.9)))
    goal = frank_wolfe(problem(within), within, Moreau(0.01), start_at=(0.0, 0.0, 0.0), optimism=optimism)
    state, v = goal.start(2), np.random.default_rng(1).random((5, 3))
    for q in goal.price(state):
        assert not q.any()
    goal.enter(state, np.ones((2, 3)), np.array([[0.6, 0.6, 0.1], [0.1, 0.1, 0.1]]))
    q, o = goal.price(state)
    np.testing.assert_allclose(q[0].sum(0) @ v.T + o[0], np.array([0.6, 0.8, 0.0]) @ (np.array([0.3, 0.2, 0.9]) - v).T)
    assert not q[1].any()
    assert o[1] == 0.0


def test_with_a_linear_objective_it_is_the_scalar_policy_action_by_action():
    world = MultiObjective(arms=5, n_outcomes=3, n_features=4, horizon=200)
    linear = Linear({n: 1.0 / (i + 1) for i, n in enumerate(world.problem.learned)})
    scalar = replace(world.problem, maximize=linear)
    model = Ridge(n_features=4, n_outcomes=3, width=Fixed(0.3))
    concave = fw_linucb(scalar, model)
    goal = concave.goals[0]
    assert isinstance(goal, FrankWolfe)
    plain = replace(concave, goals=(frank_wolfe(scalar, linear, Moreau(0.5)),))
    state, twin = concave.start(replicas=2), plain.start(replicas=2)
    environment = world.start(0, state.replicas)
    for step in range(200):
        context = environment.context(step)
        one, two = concave.act(state, context), plain.act(twin, context)
        np.testing.assert_array_equal(one.plays, two.plays)
        y = environment.respond(step, context, one)[1][0].y
        concave.learn(state, one, y)
        plain.learn(twin, two, y)


def test_one_outcome_and_the_identity_give_exactly_the_scalar_algorithms_actions():
    world = FixedContexts(arms=3, dimension=6, horizon=300)
    model = Ridge(n_features=6, n_outcomes=5, width=Fixed(0.5))
    scalar = lin_cbwk(world.problem, model)
    concave = fw(world.problem, lambda p: lin_cbwk(p, model))
    a, b = (simulate(p, world, replicas=3, record="all", progress=False) for p in (scalar, concave))
    assert a.plays is not None
    assert b.plays is not None
    np.testing.assert_array_equal(a.plays.actions, b.plays.actions)


def test_objective_and_constraints_together_reach_the_constrained_optimum_and_never_overspend():
    """X2 on four arms with known means: budgets on two of the outcomes, which are valued as well."""
    objective, horizon = GeneralizedGini(("u", "v", "w")), 4000
    budgets = (Budget("u", rate=0.25), Budget("v", rate=0.30))
    constrained = problem(objective, horizon, budgets)
    policy = fw_dual(constrained, truth(), smoothing=Moreau(0.05), step=0.02, margin=0.0, warmup=0)
    z = averages(policy, horizon)
    value, _ = best(objective, np.array([0.25, 0.30, 9.0]))
    assert z[0] <= 0.25 + 1e-9
    assert z[1] <= 0.30 + 1e-9
    assert float(objective.value(z)) >= 0.95 * value
    free, _ = best(objective)
    assert value < 0.9 * free  # the budgets do bind


def test_a_scalarised_ridge_learns_the_same_objective():
    world = MultiObjective(arms=10, n_outcomes=3, n_features=4, horizon=600)
    models = [m(n_features=4, n_outcomes=3, ridge=0.1, width=Fixed(0.1)) for m in (Ridge, Scalarised)]
    values = [
        simulate(fw_linucb(world.problem, m), world, replicas=8, progress=False).objective()[-1].mean() for m in models
    ]
    assert values[0] == pytest.approx(values[1], rel=0.01)


def test_algorithm_3_by_an_explicit_regression_on_kronecker_products():
    world = MultiObjective(arms=6, n_outcomes=3, n_features=4, horizon=80)
    alpha, ridge = 0.3, 0.5
    policy = fw_linucb(
        world.problem, Scalarised(n_features=4, n_outcomes=3, ridge=ridge, width=Fixed(alpha)), optimism="net"
    )
    state = policy.start(seed=3)
    environment = world.start(3, state.replicas)
    v, b, z = ridge * np.eye(12), np.zeros(12), np.zeros(3)
    for t in range(80):
        context = environment.context(t)
        x = context.features[0]
        w, beta = 0.5 ** np.arange(3), 0.01 / np.sqrt(t + 1)
        prox = cp.Variable(3)
        value = sum((w[k] - (w[k + 1] if k < 2 else 0.0)) * cp.sum_smallest(prox, k + 1) for k in range(3))
        g = policy.goals[0].slope(z[None], np.array([float(t)]))[0]
        if t % 20 == 0:  # the slope is the envelope's
            cp.Problem(cp.Maximize(value - cp.sum_squares(prox - z) / (2 * beta))).solve()
            np.testing.assert_allclose(g, (prox.value - z) / beta, atol=2e-3)
        extended = np.array([np.kron(g, xa) for xa in x])
        inverse = np.linalg.inv(v)
        score = extended @ inverse @ b + alpha * np.sqrt(np.einsum("ai,ij,aj->a", extended, inverse, extended))
        decision = policy.act(state, context)
        a = int(decision.plays[0, 0])
        assert score[a] >= score.max() - 1e-9
        y = environment.respond(t, context, decision)[1][0].y
        policy.learn(state, decision, y)
        v += np.outer(extended[a], extended[a])
        b += (g @ y[0, 0]) * extended[a]
        z += (y[0, 0] - z) / (t + 1)


def test_a_reduced_recipe_keeps_its_other_parts():
    p = problem(GeneralizedGini(("u", "v")), subject_to=(Budget("u", rate=0.5),))
    policy = fw(p, lambda q: pgd(q, truth(), hard=True), warmup=50)
    assert [type(g).__name__ for g in policy.goals] == ["FrankWolfe", "DualGradient", "HardBudget"]
    assert isinstance(policy.choice, Staged)
    assert isinstance(policy.choice.then, TopK)
    assert policy.choice.rounds == 50


def test_a_reduced_recipe_warms_up_only_where_that_is_said():
    """With 50 rounds at random, `ucb` loses 4.7 % of the objective at T = 400; without, it is `fw_linucb`."""
    world = MultiObjective(arms=5, n_outcomes=3, n_features=4, horizon=120)
    model = Ridge(n_features=4, n_outcomes=3, width=Fixed(0.3))
    with pytest.raises(InvalidInput, match=r"^warmup: expected a number of rounds, 0 for none, .*own of 50 rounds"):
        fw(world.problem, lambda p: ucb(p, model))
    told = fw_linucb(world.problem, model), fw(world.problem, lambda p: ucb(p, model), warmup=0)
    silent = fw(world.problem, lambda p: ucb(p, model, warmup=0))
    plays = [simulate(p, world, replicas=3, record="all", progress=False).plays.actions for p in (*told, silent)]
    np.testing.assert_array_equal(plays[1], plays[0])
    np.testing.assert_array_equal(plays[2], plays[0])
    early = fw(world.problem, lambda p: replace(ucb(p, model), choice=TopK(1)), warmup=7).choice
    assert early == fw(world.problem, lambda p: ucb(p, model, warmup=50), warmup=7).choice == Staged(7, TopK(1))


def test_a_first_stage_that_is_not_a_uniform_warm_up_stays():
    stages = Staged(9, TopK(1), warmup=Cycle(1))
    for rounds, expected in ((None, stages), (0, stages), (4, Staged(4, stages))):
        staged = fw(
            problem(GeneralizedGini(("u", "v"))), lambda p: replace(ucb(p, truth()), choice=stages), warmup=rounds
        )
        assert staged.choice == expected


@dataclass(frozen=True)
class Arms:
    """The arms of MixedArms, all three of whose outcomes are wanted."""

    objective: object
    horizon: int = 20_000

    @property
    def inner(self):
        return MixedArms(horizon=self.horizon)

    @property
    def problem(self):
        return replace(self.inner.problem, maximize=self.objective, subject_to=())

    @property
    def n_features(self):
        return 4

    def start(self, seed, replicas):
        return self.inner.start(seed, replicas)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "smoothing"),
    [
        (AlphaFair(("reward", "cost 1", "cost 2"), alpha=1.0, offset=0.05), None),
        (GeneralizedGini(("reward", "cost 1", "cost 2")), Moreau(0.05)),
    ],
    ids=["smooth", "kinked"],
)
def test_the_regret_of_learning_decays_at_least_like_the_root_of_time(objective, smoothing):
    """Theorem 3: O(1/sqrt t). The slope of log(f* - f(average)) over log t, t in [100, 20,000], of 20 replicas.

    The theorem is about intervals that hold: with a fixed width of 0.5, one or two of the 20 replicas lock in.
    """
    world = Arms(objective)
    model = Ridge(n_features=4, n_outcomes=3, width=SelfNormalised(delta=0.1))
    trace = simulate(fw_linucb(world.problem, model, smoothing=smoothing), world, replicas=20, progress=False)
    p = cp.Variable(4, nonneg=True)
    z = mixture.ARMS.T @ p
    if smoothing is None:
        value = cp.sum(cp.log(z + 0.05))
    else:
        value = 0.5 * cp.sum_smallest(z, 1) + 0.25 * cp.sum_smallest(z, 2) + 0.25 * cp.sum(z)
    cp.Problem(cp.Maximize(value), [cp.sum(p) == 1]).solve()
    best = float(objective.value(z.value))
    regret = best - trace.objective()  # (G, R)
    late = trace.times >= 100
    slopes = [
        np.polyfit(np.log(trace.times[late]), np.log(np.maximum(regret[late][:, half].mean(1), 1e-9)), 1)[0]
        for half in (slice(0, 10), slice(10, 20))
    ]
    assert -max(slopes) >= 0.45  # in either half of the replicas


@pytest.mark.parametrize("recipe", [fw_linucb, fw_dual, resolving])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_defaults_have_the_units_of_the_outcomes(recipe, unit):
    """In other units the same is reached, to 2 % at T = 1,000: all arms, ranges and the budget times the unit."""
    budget = () if recipe is fw_linucb else (Budget("u", rate=0.4 * unit),)
    scaled = replace(
        problem(GeneralizedGini(("u", "v", "w")), 1000, budget),
        outcomes=tuple(Outcome(n, low=0.0, high=unit) for n in ("u", "v", "w")),
    )
    plain = problem(GeneralizedGini(("u", "v", "w")), 1000, () if recipe is fw_linucb else (Budget("u", rate=0.4),))
    here, there = recipe(scaled, truth(unit=unit)), recipe(plain, truth())
    gini = GeneralizedGini(("u", "v", "w"))
    reached = gini.value(averages(here, 1000, unit)) / unit
    assert reached == pytest.approx(gini.value(averages(there, 1000)), rel=0.02)
