"""The slope of the objective as the reward, against convex programs, scalar policies and ten rounds by hand."""

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest

from evenhand.choices import Staged, TopK
from evenhand.constraints import Budget
from evenhand.environments import FixedContexts, MixedArms, MultiObjective, mixture
from evenhand.errors import InvalidInput
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.models import Fixed, Ridge, Scalarised
from evenhand.objectives import (
    AlphaFair,
    EqualExposure,
    GeneralizedGini,
    Linear,
    Moreau,
    Randomized,
    WeightedSum,
    Within,
)
from evenhand.problem import Outcome, Problem
from evenhand.recipes import fw, fw_dual, fw_linucb, lin_cbwk, pgd, resolving
from evenhand.records import Context
from evenhand.rows import select
from evenhand.simulation import simulate

ARMS = np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.1]])


@dataclass(frozen=True)
class Truth:
    """Knows the means of four arms."""

    features: int = 4
    outcomes: int = 3
    unit: float = 1.0

    def start(self, replicas, low, high):
        return Ridge(features=4, outcomes=3).start(replicas, low, high)

    def value(self, state, x, w):
        mean = self.unit * w @ np.swapaxes(x @ ARMS, 1, 2)
        return mean, np.zeros_like(mean)

    def update(self, state, x, y, rounds, w):
        pass


def problem(objective, horizon=4000, subject_to=()):
    return Problem(
        actions=("a", "b", "c", "d"),
        outcomes=tuple(Outcome(n) for n in ("u", "v", "w")),
        maximize=objective,
        subject_to=subject_to,
        horizon=horizon,
    )


def averages(policy, horizon, unit=1.0):
    """The average of the true means, when outcomes are the means."""
    state, total = policy.start(), np.zeros(3)
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 0), np.int64), np.ones((1, 4), bool))
    for _ in range(horizon):
        decision = policy.act(state, context)
        if decision.plays[0, 0] < 0:
            continue
        y = unit * ARMS[decision.plays[0, 0]]
        policy.learn(state, decision, y[None, None])
        total += y
    return total / horizon


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
    policy = fw_linucb(problem(objective), Truth(), smoothing=smoothing)
    value, _ = best(objective)
    reached = float(objective.value(averages(policy, 4000)))
    assert value - 0.03 <= reached <= value + 1e-6
    early = float(objective.value(averages(policy, 60)))
    assert value - early > 2 * (value - reached)  # it gets better


def test_ten_rounds_by_hand():
    objective = AlphaFair(("u", "v", "w"), alpha=1.0, offset=0.05)
    policy = fw_linucb(problem(objective), Truth())
    state = policy.start()
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 0), np.int64), np.ones((1, 4), bool))
    z, seen = np.full(3, 0.5), []
    for t in range(1, 11):
        expected = int(np.argmax(ARMS @ (1.0 / (z + 0.05))))
        decision = policy.act(state, context)
        assert decision.plays[0, 0] == expected
        policy.learn(state, decision, ARMS[expected][None, None])
        z = (z if t > 1 else 0.0) + (ARMS[expected] - (z if t > 1 else 0.0)) / t
        seen.append(expected)
    assert len(set(seen)) == 3  # a mixture


@pytest.mark.parametrize("optimism", ["row", "net"])
def test_readings_add_up_to_the_tangent_where_its_constant_is_known(optimism):
    """Beyond bounds: phi.(bound - v), phi pointing from the bounds to the average; 0 within them."""
    within = Within(("u", "v", "w"), (0.3, 0.2, 0.9))
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
    world = MultiObjective(arms=5, outcomes=3, features=4, horizon=200)
    linear = Linear({n: 1.0 / (i + 1) for i, n in enumerate(world.problem.learned)})
    scalar = replace(world.problem, maximize=linear)
    model = Ridge(features=4, outcomes=3, width=Fixed(0.3))
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
    model = Ridge(features=6, outcomes=5, width=Fixed(0.5))
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
    policy = fw_dual(constrained, Truth(), smoothing=Moreau(0.05), gamma=0.02, margin=0.0, warmup=0)
    z = averages(policy, horizon)
    value, _ = best(objective, np.array([0.25, 0.30, 9.0]))
    assert z[0] <= 0.25 + 1e-9
    assert z[1] <= 0.30 + 1e-9
    assert float(objective.value(z)) >= 0.95 * value
    free, _ = best(objective)
    assert value < 0.9 * free  # the budgets do bind


def test_a_scalarised_ridge_learns_the_same_objective():
    world = MultiObjective(arms=10, outcomes=3, features=4, horizon=600)
    models = [m(features=4, outcomes=3, ridge=0.1, width=Fixed(0.1)) for m in (Ridge, Scalarised)]
    values = [
        simulate(fw_linucb(world.problem, m), world, replicas=8, progress=False).objective()[-1].mean() for m in models
    ]
    assert values[0] == pytest.approx(values[1], rel=0.01)


def test_algorithm_3_by_an_explicit_regression_on_kronecker_products():
    world = MultiObjective(arms=6, outcomes=3, features=4, horizon=80)
    alpha, ridge = 0.3, 0.5
    policy = fw_linucb(
        world.problem, Scalarised(features=4, outcomes=3, ridge=ridge, width=Fixed(alpha)), optimism="net"
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


def test_averages_are_over_what_was_observed_of_each_outcome():
    goal = frank_wolfe(problem(GeneralizedGini(("u", "v"))), GeneralizedGini(("u", "v")), Moreau(0.1))
    policy = fw_linucb(problem(GeneralizedGini(("u", "v"))), Truth())
    none = np.zeros((1, 0), np.int64)
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), none, np.ones((1, 4), bool))
    decision, state = policy.decide(policy.start(), context), goal.start(1)
    np.testing.assert_allclose(goal.average(state), [goal.start_at])
    for v in ([0.2, np.nan], [np.nan, np.nan], [0.4, 0.9], [0.9, np.nan]):
        goal.learned(state, decision, np.ones(1), np.array([v]))
    np.testing.assert_allclose(goal.average(state), [[0.5, 0.9]])
    goal.learned(state, decision, np.zeros(1), np.zeros((1, 2)))  # a round that does not count
    np.testing.assert_allclose(goal.average(state), [[0.5, 0.9]])


def test_optimistic_averages_take_the_end_of_each_interval_that_the_slope_likes():
    """By hand: the upper end of the interval for a positive slope, the lower one for a negative; clipped to [0, 1]."""
    objective = Linear({"u": 1.0, "v": -2.0})
    p = replace(problem(objective), outcomes=(Outcome("u"), Outcome("v"), Outcome("w")))
    goal = frank_wolfe(p, objective, on="optimistic")
    model = Ridge(features=4, outcomes=3, ridge=1.0, width=Fixed(0.25))
    policy = replace(fw_linucb(p, model), goals=(goal,))
    state = policy.start()
    none = np.zeros((1, 0), np.int64)
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), none, np.ones((1, 4), bool))
    policy.act(state, context)
    np.testing.assert_allclose(goal.average(state.goals[0]), [[0.25, 0.0]])  # 0 + 0.25, and 0 - 0.25 clipped to 0
    decision = policy.decide(state, context)
    policy.model.update(state.model, decision.features, np.array([[[0.8, 0.6, 0.0]]]), np.ones(1), decision.prices)
    policy.commit(state, context, decision)
    half = 0.25 / np.sqrt(2)  # one observation of weight 1 and a ridge of 1
    np.testing.assert_allclose(goal.average(state.goals[0]), [[(0.25 + 0.4 + half) / 2, (0.3 - half) / 2]])


def test_each_outcome_has_a_bonus_of_its_own_or_the_sum_has_one():
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 0), np.int64), np.ones((1, 4), bool))
    objective = GeneralizedGini(("u", "v", "w"))
    model = Ridge(features=4, outcomes=3, ridge=1.0, width=Fixed(0.25))
    for optimism, readings in (("row", 3), ("net", 1)):
        policy = fw_linucb(problem(objective), model, optimism=optimism)
        d = policy.decide(policy.start(), context)
        assert d.bonus.shape == (1, readings, 4)
        slope = policy.goals[0].slope(policy.goals[0].average(policy.start().goals[0]), np.zeros(1))
        np.testing.assert_allclose(d.bonus.sum(1), 0.25 * slope.sum(), rtol=1e-9)


def test_random_smoothing_draws_anew_each_round():
    goal = frank_wolfe(problem(GeneralizedGini(("u", "v"))), GeneralizedGini(("u", "v")), Randomized(1.0, samples=2))
    z = np.full((2, 2), 0.5)
    slopes = [tuple(goal.slope(z, np.full(2, float(t)))[0].round(9)) for t in range(12)]
    assert len(set(slopes)) > 1
    assert all((goal.slope(z, np.full(2, float(t)))[0] == goal.slope(z, np.full(2, float(t)))[1]).all() for t in (0, 5))


def test_bad_goals_are_refused():
    p = problem(GeneralizedGini(("u", "v")))
    with pytest.raises(InvalidInput, match=r"smoothing.*jumps"):
        FrankWolfe(rows=select(p, ("u", "v")), objective=p.objective, start_at=(0.0, 0.0))
    with pytest.raises(InvalidInput, match="rows"):
        FrankWolfe(rows=select(p, ("v", "u")), objective=p.objective, smoothing=Moreau(0.1), start_at=(0.0, 0.0))
    with pytest.raises(InvalidInput, match="start_at"):
        frank_wolfe(p, p.objective, Moreau(0.1), start_at=(0.0,))
    for name in ("on", "optimism"):
        with pytest.raises(InvalidInput, match=rf"FrankWolfe.{name}: expected one of .*got 'observd'"):
            frank_wolfe(p, p.objective, **{name: "observd"})
    for start in ((np.nan, 0.0), (np.inf, 0.0)):
        with pytest.raises(InvalidInput, match=r"FrankWolfe.start_at, outcome 'u'"):
            frank_wolfe(p, p.objective, start_at=start)
    unlimited = replace(p, outcomes=tuple(Outcome(n, low=-np.inf, high=np.inf) for n in ("u", "v", "w")))
    with pytest.raises(InvalidInput, match=r"start_at.*'u'.*offset"):  # smoothing does not hide it
        fw_linucb(replace(unlimited, maximize=AlphaFair(("u", "v"), alpha=1.0)), Truth())
    with pytest.raises(InvalidInput, match=r"start_at.*offset|offset.*start_at"):
        FrankWolfe(rows=select(p, ("u", "v")), objective=AlphaFair(("u", "v"), alpha=1.0), start_at=(0.0, 0.5))


def test_an_average_that_leaves_the_domain_names_round_and_outcome():
    objective = AlphaFair(("u", "v", "w"), alpha=1.0, offset=0.05)
    signed = replace(
        problem(objective), outcomes=(Outcome("u", low=-1.0), Outcome("v", low=-1.0), Outcome("w", low=-1.0))
    )
    policy = fw_linucb(signed, Truth())
    state = policy.start()
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 0), np.int64), np.ones((1, 4), bool))
    policy.learn(state, policy.act(state, context), np.array([[[0.5, -0.5, 0.5]]]))
    with pytest.raises(InvalidInput, match=r"average after round 1.*v"):
        policy.decide(state, context)


def test_smoothing_bears_the_edge_of_the_domain_and_nothing_outside():
    objective = AlphaFair(("u", "v"), alpha=1.0)
    signed = replace(problem(objective), outcomes=(*(Outcome(n, low=-0.5) for n in ("u", "v")), Outcome("w")))
    policy = fw_linucb(signed, Truth())
    state = policy.start()
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 0), np.int64), np.ones((1, 4), bool))
    for y in ([0.5, 0.0, 0.5], [0.5, -0.01, 0.5]):
        decision = policy.act(state, context)
        policy.learn(state, decision, np.array([[y]]))
    with pytest.raises(InvalidInput, match=r"average after round 2, outcome 'v'.*offset"):
        policy.decide(state, context)
    near = replace(signed, maximize=AlphaFair(("u", "v"), alpha=1.0, offset=0.05))
    policy = fw_linucb(near, Truth(), smoothing=Randomized(0.25))
    state = policy.start()
    policy.learn(state, policy.act(state, context), np.array([[[0.5, 0.0, 0.5]]]))
    with pytest.raises(InvalidInput, match=r"random points around the average after round 1.*smaller beta"):
        policy.decide(state, context)


def test_recipes_for_linear_objectives_say_so():
    p = problem(GeneralizedGini(("u", "v")), subject_to=(Budget("u", rate=0.5),))
    with pytest.raises(InvalidInput, match="a Linear objective"):
        pgd(p, Truth())
    with pytest.raises(InvalidInput, match="no constraints; fw_dual"):
        fw_linucb(p, Truth())
    with pytest.raises(InvalidInput, match="do not plan"):
        fw(p, lambda q: resolving(q, Truth()))
    with pytest.raises(InvalidInput, match=r"recipe: expected one whose reward is a linear goal.*got fw_dual"):
        fw(p, lambda q: fw_dual(q, Truth()))
    with pytest.raises(InvalidInput, match="recipe: expected a function from a problem to a policy, got 3"):
        fw(p, lambda q: 3)


def test_a_reduced_recipe_keeps_its_other_parts():
    p = problem(GeneralizedGini(("u", "v")), subject_to=(Budget("u", rate=0.5),))
    policy = fw(p, lambda q: pgd(q, Truth(), hard=True))
    assert [type(g).__name__ for g in policy.goals] == ["FrankWolfe", "DualGradient", "HardBudget"]
    assert isinstance(policy.choice, Staged)
    assert isinstance(policy.choice.then, TopK)


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
    def features(self):
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
    """Theorem 3: O(1/sqrt t). The slope of log(f* - f(average)) over log t, t in [100, 20,000], of 20 replicas."""
    world = Arms(objective)
    model = Ridge(features=4, outcomes=3, width=Fixed(0.5))
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
    here, there = recipe(scaled, Truth(unit=unit)), recipe(plain, Truth())
    gini = GeneralizedGini(("u", "v", "w"))
    reached = gini.value(averages(here, 1000, unit)) / unit
    assert reached == pytest.approx(gini.value(averages(there, 1000)), rel=0.02)


def test_sums_whose_parts_share_outcomes_are_smoothed_by_random_points():
    names = ("u", "v", "w")
    shared = WeightedSum(((1.0, GeneralizedGini(names)), (0.5, EqualExposure(names))))
    policy = fw_linucb(problem(shared), Truth())
    assert isinstance(policy.goals[0].smoothing, Randomized)
    p = problem(shared, 40, (Budget("u", rate=0.4),))
    assert shared.value(averages(resolving(p, Truth()), 40)) > shared.value(np.zeros(3))
