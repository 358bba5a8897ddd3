"""Every answer is that of `BayesianRidge` on flatten(u v^T)."""

from dataclasses import fields

import numpy as np
from hypothesis import given, strategies as st

from evenhand.environments import Listeners, Ranking
from evenhand.models import BayesianBilinear, BayesianRidge, Bilinear, SelfNormalised
from evenhand.recipes import fw_linucb_rank
from evenhand.run import simulate
from tests.models.test_bilinear import NONE, SIZES, candidates, flat, teach
from tests.properties import drawn
from tests.rankings import optimum


def pair(r, s, m, **options):
    return BayesianBilinear(n_user_features=r, n_item_features=s, n_outcomes=m, **options), BayesianRidge(
        n_features=r * s, n_outcomes=m, **options
    )


@given(**SIZES, plays=st.integers(1, 9), growth=st.sampled_from([1.3, 3.0]), seed=st.integers(0, 10_000))
def test_the_state_is_that_of_a_ridge_on_products(r, s, m, replicas, plays, growth, seed):
    models = pair(r, s, m, growth=growth)
    fill = np.nan if seed % 2 else 0.0  # what was not seen may be anything
    mine, flats = teach(np.random.default_rng(seed), models, replicas, 20, plays, r, s, m, fill)
    for name in ("count", "fitted", "rounds"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(flats, name))
    for field in fields(flats):
        np.testing.assert_allclose(
            getattr(mine, field.name), getattr(flats, field.name), rtol=1e-7, atol=1e-8, err_msg=field.name
        )


@drawn(**SIZES, count=8, rounds=[0, 1, 15], k=3, each=bool, told=bool, scale=[0.0, 0.7])
def test_worth_and_bonus_are_those_of_a_ridge_on_products(r, s, m, replicas, count, rounds, k, each, told, scale, seed):
    rng, models = np.random.default_rng(seed), pair(r, s, m, scale=scale)
    states = teach(rng, models, replicas, rounds, 5, r, s, m)
    x = candidates(rng, replicas, count, r, s)
    if count > 1:
        x[:, -1, r:] = 0.0  # doing nothing
    w = rng.normal(size=(replicas, k, count if each else 1, m))
    for state in states if told else ():
        state.affordable = np.tile(np.arange(count) / 2.0, (replicas, 1))
    mine, flats = models[0].value(states[0], x, w, NONE), models[1].value(states[1], flat(x, r), w, NONE)
    np.testing.assert_allclose(mine.mean, flats.mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(mine.bonus, flats.bonus, rtol=1e-6, atol=1e-7)
    if count > 1:
        assert not mine.bonus[:, :, -1].any()


def test_it_needs_no_width_to_come_near_the_optimum():
    """In 3,000 rounds, nothing being tuned, where widths with a proof are still exploring."""
    world = Ranking(audience=Listeners(users=10, items=20, factors=4).audience, horizon=3000, slots=5)
    best, reached = optimum(world), []
    for model in (
        BayesianBilinear(n_user_features=4, n_item_features=4),
        Bilinear(n_user_features=4, n_item_features=4, ridge=0.1, width=SelfNormalised(delta=0.1)),
        Bilinear(n_user_features=4, n_item_features=4, ridge=0.1),
    ):
        trace = simulate(fw_linucb_rank(world.problem, model), world, replicas=4, progress=False)
        reached.append(trace.in_expectation().objective()[-1] / best)
    assert (reached[0] >= 0.97).all()
    assert reached[0].mean() >= reached[1].mean() + 0.02
    assert reached[0].min() >= reached[2].min()
