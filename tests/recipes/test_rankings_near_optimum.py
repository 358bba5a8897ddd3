"""Rankings under constraints come within a hundredth of their linear program, and keep what they are to keep.

Averages of T rounds vary by their standard errors; a floor or a parity may be missed by one, and a hard budget never.
"""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.environments import Listeners, Ranking
from evenhand.models import Bilinear, Fixed
from evenhand.problem import Budget, Floor, Parity
from evenhand.recipes import fairlearn_rank, fw_linucb_rank, linucb_rank, resolving, unbiased_linucb_rank
from evenhand.run import opt, simulate
from tests.rankings import optimum

LABELS = 5
MODEL = Bilinear(n_user_features=3, n_item_features=3, ridge=0.1, width=Fixed(0.1))


def world(horizon, items=20, **options):
    """Ten users; labels are in the order of popularity, so that some of them fall short, and every fourth item pays."""
    audience = Listeners(users=10, items=items, factors=3).audience
    labels = {name: f"label {i * LABELS // items}" for i, name in enumerate(audience.names)}
    fees = {name: 1.0 for i, name in enumerate(audience.names) if i % 4 == 0}
    return Ranking(audience=audience, horizon=horizon, slots=5, labels=labels, fees=fees, **options)


LOOKS = world(1).looked.sum()
FLOOR = Floor("exposure", rate=0.85 * LOOKS, by="label")  # 0.85 of an equal part for every label
PARITY = Parity("click", by="label", tolerance=0.02)
FEE = Budget("fee", rate=0.5)


def standard_error(constrained, trace, by_label):
    """That of the largest row: looks at a label, or clicks, over its share, are at most a count of 5 independent draws.

    Var(N) <= E(N) for the count N of one label, as a Bernoulli variance is at most its mean.
    """
    share = 1.0 / LABELS
    return np.sqrt(by_label.max() * share / constrained.horizon) / share


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "horizon"), [(fw_linucb_rank, 30_000), (resolving, 8_000)])
@pytest.mark.parametrize(
    "subject_to", [(FLOOR,), (PARITY,), (FEE,), (FLOOR, FEE)], ids=["floor", "parity", "fee", "floor and fee"]
)
def test_rankings_come_within_a_hundredth_of_their_linear_program(subject_to, recipe, horizon):
    free = world(horizon)
    constrained = replace(free, subject_to=subject_to)
    best = optimum(constrained)
    assert best < 0.99 * optimum(free)  # the constraints bind
    trace = simulate(recipe(constrained.problem, MODEL), constrained, replicas=3, progress=False)
    assert (trace.objective()[-1] >= 0.99 * best).all()
    problem = constrained.problem
    columns = [problem.columns.index(("label", f"label {i}")) for i in range(LABELS)]
    per_share = trace.group_totals[-1][:, columns] * LABELS / constrained.horizon
    if FLOOR in subject_to:
        error = standard_error(constrained, trace, per_share[:, :, 1])
        assert (trace.measure(FLOOR)[-1] >= FLOOR.rate - error).all()
    if PARITY in subject_to:
        error = standard_error(constrained, trace, per_share[:, :, 0])
        assert (trace.measure(PARITY)[-1] <= PARITY.tolerance + error).all()
    if FEE in subject_to:
        assert (trace.totals[:, :, 2] <= 0.5 * constrained.horizon + 1e-6).all()


@pytest.mark.slow
def test_without_constraints_the_ranking_of_utility_comes_near_the_optimum_and_the_fair_ones_pay():
    free = world(20_000)
    best, reached = optimum(free), {}
    for make in (linucb_rank, unbiased_linucb_rank, lambda p, m: fairlearn_rank(p, m, share=0.2)):
        policy = make(free.problem, MODEL)
        trace = simulate(policy, free, replicas=2, progress=False)
        reached[policy.name] = trace.objective()[-1] / best
        assert (reached[policy.name] <= 1.005).all()
    assert (reached["linucb_rank"] >= 0.99).all()
    assert (reached["unbiased_linucb_rank"] >= 0.97).all()
    assert (reached["fairlearn_rank"] <= 0.9).all()


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "horizon"), [(fw_linucb_rank, 30_000), (resolving, 8_000)])
def test_users_who_look_at_places_in_ways_of_their_own_are_ranked_as_well(recipe, horizon):
    """No policy is told how anybody looks; plans read how all together do."""
    own = -np.sort(-np.random.default_rng(1).uniform(0.05, 1.0, (10, 5)), 1)
    free = world(horizon, position=own)
    floor = Floor("exposure", rate=0.85 * free.looked.sum(), by="label")
    constrained = replace(free, subject_to=(floor, FEE))
    best = opt(constrained, replicas=1, progress=False).value
    assert best < 0.99 * opt(free, replicas=1, progress=False).value
    trace = simulate(recipe(constrained.problem, MODEL), constrained, replicas=3, progress=False)
    assert (trace.objective()[-1] >= 0.985 * best).all()
    assert (trace.total("fee") <= FEE.total_over(horizon) + 1e-9).all()
    missed = floor.limit(horizon) - floor.measure(trace)[-1]
    assert (missed <= LABELS * np.sqrt(floor.limit(horizon) / LABELS / horizon)).all()
