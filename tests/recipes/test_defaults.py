"""`resolving` with models that nobody tunes: regret and lock-ins in worlds unlike each other, in random orders of arms.

Bounds are the measured mean over 100 replicas (40 for mixtures) plus three standard errors of the replicas run here.
"""

import math

import numpy as np
import pytest

from evenhand.choices import InverseGap, Rate, TopK
from evenhand.environments import FixedContexts, MixedArms, MixedContexts
from evenhand.experiments.lock_in import lock_in_share
from evenhand.models import BayesianRidge
from evenhand.objectives import Linear
from evenhand.problem import Budget, Categorical, Numeric, Outcome, Problem
from evenhand.recipes import resolving, uniform
from evenhand.run import simulate

REPLICAS = 20


def total(policy, world):
    trace = simulate(policy, world, replicas=REPLICAS, seed=11, progress=False)
    return trace.objective()[-1] * trace.elapsed[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "best", "regret", "deviation"),
    [
        (FixedContexts(arms=3, null_arm=True, orders=10), 0.5, 10.5, 11.0),
        (FixedContexts(arms=10, null_arm=True, orders=10), 0.5, 25.4, 12.0),
        (FixedContexts(arms=51, null_arm=True, orders=10), 0.5, 78.4, 16.0),
        (MixedArms(), 0.506897, 12.0, 19.0),
        (MixedContexts(), 0.38398, 51.0, 25.0),
    ],
    ids=["3 arms", "10 arms", "51 arms", "MixedArms", "MixedContexts"],
)
def test_regret_is_small_and_nothing_locks_in(world, best, regret, deviation):
    problem = world.problem
    model = BayesianRidge(n_features=world.n_features, n_outcomes=len(problem.learned))
    reward = total(resolving(problem, model), world)
    base = total(uniform(problem, world.n_features), world).mean()
    assert best * problem.horizon - reward.mean() <= regret + 3.0 * deviation / math.sqrt(REPLICAS)
    assert lock_in_share(reward, base) == 0.0
    assert np.isfinite(reward).all()


@pytest.mark.parametrize(("sites", "kind", "rank"), [(7, TopK, 0), (8, InverseGap, 64)])
def test_cases_of_many_hashed_values_have_directions_in_common_and_draws_by_gaps(sites, kind, rank):
    problem = Problem(
        actions=("a", "b"),
        features=tuple(Categorical(f"site {i}", hashed=64) for i in range(sites)),
        outcomes=(Outcome("sale", high=4.0),),
        maximize=Linear({"sale": 0.5}),
        horizon=100,
    )
    policy = resolving(problem)
    choice, directions = policy.choice.then, policy.start().model.directions
    assert type(choice) is kind
    assert (directions.lower.shape[1] if directions else 0) == rank
    if kind is InverseGap:
        assert choice.rate == Rate(5.0 * 2 / 2.0, 0.5)  # two actions, and a play is worth 2 at most


def test_a_budget_is_not_saved_until_bounds_of_cases_differ():
    """All plays bring the same; bounds of nearly all cases are at the end of the range for some hundred rounds."""
    problem = Problem(
        actions=("nothing", "mail", "call"),
        features=(Numeric("x", 0, 1),),
        outcomes=(Outcome("sale", free=("nothing",)), Outcome("plays", known={"mail": 1, "call": 1})),
        maximize="sale",
        subject_to=(Budget("plays", total=100),),
        horizon=400,
    )
    policy, rng, rounds = resolving(problem), np.random.default_rng(0), []
    state = policy.start(seed=0)
    for t in range(400):
        decision = policy.act(state, policy.encode({"x": rng.random()}))
        played = decision.action in ("mail", "call")
        policy.observe(state, decision, {"sale": float(played and rng.random() < 0.3)})
        rounds += [t] * played
    assert len(rounds) == 100
    assert np.histogram(rounds, 4, (0, 400))[0].min() >= 10
