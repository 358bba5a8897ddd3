"""Every answer is that of `Ridge` on flatten(u v^T)."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import exports
from evenhand.logs.settings import Settings
from evenhand.models import Bilinear, Fixed, Logarithmic, Ridge, Sampled, SelfNormalised
from evenhand.numerics.precision import fresh
from tests.calls import tell
from tests.examples.problems import LITTLE

NONE = np.zeros((1, 0))


def flat(x, r):
    return (x[..., :r, None] * x[..., None, r:]).reshape(*x.shape[:-1], -1)


def pair(r, s, m, **options):
    return Bilinear(n_user_features=r, n_item_features=s, n_outcomes=m, **options), Ridge(
        n_features=r * s, n_outcomes=m, **options
    )


def candidates(rng, replicas, count, r, s):
    """Runs of candidates for the same u, of random lengths; zeros in some features."""
    users = rng.normal(size=(replicas, 3, r)) * (rng.random((replicas, 3, r)) < 0.8)
    of = np.sort(rng.integers(0, 3, (replicas, count)))
    items = rng.normal(size=(replicas, count, s)) * (rng.random((replicas, count, s)) < 0.8)
    return np.concatenate([np.take_along_axis(users, of[:, :, None], 1), items], 2)


def teach(rng, models, replicas, rounds, plays, r, s, m, fill=0.0):
    """States of a bilinear and of a flat model after the same plays, of which some were not seen."""
    states = [model.start(replicas, np.full(m, -5.0), np.linspace(5.0, 9.0, m), 100) for model in models]
    for _ in range(rounds):
        x, y = candidates(rng, replicas, plays, r, s), rng.normal(size=(replicas, plays, m))
        y[rng.random((replicas, plays)) < 0.3] = np.nan
        y[rng.random(y.shape) < 0.05] = np.nan  # one outcome of several
        counted, w = (rng.random(replicas) < 0.9).astype(float), np.zeros((replicas, 1, m))
        tell(models[1], states[1], flat(x, r), y, counted, w)
        x[np.isnan(y).any(2)] += fill
        tell(models[0], states[0], x, y, counted, w)
    return states


SIZES = {"r": st.integers(1, 5), "s": st.integers(1, 5), "m": st.integers(1, 3), "replicas": st.integers(1, 3)}


@given(**SIZES, plays=st.integers(1, 9), ridge=st.sampled_from([1.0, 0.1]), seed=st.integers(0, 10_000))
def test_the_state_is_that_of_a_ridge_on_products(r, s, m, replicas, plays, ridge, seed):
    models = pair(r, s, m, ridge=ridge)
    fill = np.nan if seed % 2 else 0.0  # what was not seen may be anything
    mine, flats = teach(np.random.default_rng(seed), models, replicas, 20, plays, r, s, m, fill)
    for field in fields(flats):
        mine_, flat_ = getattr(mine, field.name), getattr(flats, field.name)
        np.testing.assert_allclose(mine_, flat_, rtol=1e-9, atol=1e-9, err_msg=field.name)
    np.testing.assert_array_equal(mine.count, flats.count)
    np.testing.assert_array_equal(mine.inverse, np.swapaxes(mine.inverse, 1, 2))


@given(
    **SIZES,
    count=st.integers(1, 8),
    k=st.integers(1, 3),
    each=st.booleans(),
    width=st.sampled_from([Fixed(), Fixed(0.4), Logarithmic(0.2), SelfNormalised(delta=0.1)]),
    clipped=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_values_and_draws_are_those_of_a_ridge_on_products(r, s, m, replicas, count, k, each, width, clipped, seed):
    rng = np.random.default_rng(seed)
    models = pair(r, s, m, width=width, clipped=clipped)
    mine, flats = teach(rng, models, replicas, 8, 3, r, s, m)
    x, w = candidates(rng, replicas, count, r, s), rng.normal(size=(replicas, k, count if each else 1, m)).round(1)
    found, expected = models[0].value(mine, x, w, NONE), models[1].value(flats, flat(x, r), w, NONE)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.bonus, expected.bonus, rtol=1e-7, atol=1e-7)
    z = rng.normal(size=(replicas, 1, r * s * m))
    drawn, other = models[0].sample(mine, x, w, z), models[1].sample(flats, flat(x, r), w, z)
    np.testing.assert_allclose(drawn, other, rtol=1e-8, atol=1e-8)


def test_draws_from_the_posterior_take_the_same_luck():
    mine, flats = (Sampled(inner=model, scale=0.3) for model in pair(2, 3, 2))
    assert mine.draws(4) == flats.draws(4) == 12
    rng = np.random.default_rng(0)
    states = [model.start(2, np.zeros(2), np.ones(2), 100) for model in (mine, flats)]
    x, w, u = candidates(rng, 2, 4, 2, 3), rng.normal(size=(2, 1, 1, 2)), rng.random((2, 12))
    first, again = mine.value(states[0], x, w, u), flats.value(states[1], flat(x, 2), w, u)
    np.testing.assert_allclose(first.bonus, again.bonus, rtol=1e-12)
    assert first.random


def test_replicas_and_candidates_do_not_touch_one_another():
    """A replica alone and candidates in another order, which splits runs, have the same worth bit for bit."""
    rng = np.random.default_rng(1)
    model, other = pair(3, 4, 2, width=SelfNormalised(delta=0.1))
    state, _ = teach(rng, (model, other), 3, 15, 6, 3, 4, 2)
    x, w = candidates(rng, 3, 12, 3, 4), rng.normal(size=(3, 2, 12, 2))
    worth, order = model.value(state, x, w, NONE), rng.permutation(12)
    shuffled = model.value(state, x.take(order, 1), w.take(order, 2), NONE)
    for r in range(3):
        alone = model.start(1, state.low, state.high, 100)
        for field in ("inverse", "theta", "log_det", "count"):
            setattr(alone, field, getattr(state, field)[r : r + 1])
        solo = model.value(alone, x[r : r + 1], w[r : r + 1], NONE)
        for z, one, mixed in zip(worth[:2], solo[:2], shuffled[:2], strict=True):
            np.testing.assert_array_equal(z[r], one[0])
            np.testing.assert_array_equal(z[r][:, order], mixed[r])


def test_the_order_of_plays_changes_nothing_but_rounding():
    rng = np.random.default_rng(2)
    model = Bilinear(n_user_features=3, n_item_features=4, ridge=0.1)
    first, again = (model.start(1, np.zeros(1), np.ones(1), 100) for _ in range(2))
    for _ in range(30):
        x, y, order = candidates(rng, 1, 7, 3, 4), rng.random((1, 7, 1)), rng.permutation(7)
        tell(model, first, x, y, np.ones(1), np.zeros((1, 1, 1)))
        tell(model, again, x[:, order], y[:, order], np.ones(1), np.zeros((1, 1, 1)))
    for field in ("inverse", "theta", "log_det"):
        np.testing.assert_allclose(getattr(first, field), getattr(again, field), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("zero", ["u", "v", "both"])
def test_a_candidate_of_zeros_has_no_bonus_and_teaches_nothing(zero):
    model = Bilinear(n_user_features=2, n_item_features=2, width=Fixed(1.0))
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    one, x = np.ones((1, 1, 1)), np.ones((1, 2, 4))
    x[0, 0, {"u": slice(0, 2), "v": slice(2, 4), "both": slice(0, 4)}[zero]] = 0.0
    model.update(state, x[:, :1].copy(), one, one > 0, one[None])
    np.testing.assert_array_equal(state.inverse, fresh(1, 4, 1.0))
    np.testing.assert_array_equal(state.theta, 0.0)
    worth = model.value(state, x, one[None], NONE)
    np.testing.assert_array_equal(worth.mean, 0.0)
    np.testing.assert_array_equal(worth.bonus, [[[0.0, 1.0]]])


def test_features_of_any_scale_keep_the_state_finite_and_the_inverse_positive():
    rng = np.random.default_rng(2)
    model = Bilinear(n_user_features=2, n_item_features=3, ridge=1e-6, width=SelfNormalised(delta=0.1))
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    for _ in range(1000):
        u, z = rng.normal(size=(1, 1, 2)) * 1e6, rng.normal(size=(1, 4, 1)) * 1e6
        x = np.concatenate([np.repeat(u, 4, 1), z, z, np.ones((1, 4, 1))], 2)
        tell(model, state, x, rng.random((1, 4, 1)), np.ones(1), np.ones((1, 1, 1)))
        worth = model.value(state, x, np.ones((1, 1, 1, 1)), NONE)
        assert np.isfinite(worth.mean).all()
        assert np.isfinite(worth.bonus).all()
        assert (np.diagonal(state.inverse[0]) > 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("r", [5, 10])
def test_a_hundred_thousand_rounds_leave_the_inverse_that_of_all_plays(r):
    """Half of the plays of a round are seen: 450,000 plays."""
    rng, n, plays = np.random.default_rng(3), r * r, 9
    users, items = rng.random((50, r)), rng.random((50, r))
    model, v = Bilinear(n_user_features=r, n_item_features=r, ridge=0.1), 0.1 * np.eye(n)
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    w, products = np.ones((1, 1, 1, 1)), np.zeros((50, n, n))
    outer = flat(np.concatenate([np.repeat(users, 50, 0), np.tile(items, (50, 1))], 1), r).reshape(50, 50, n)
    shown = np.zeros((50, 50))
    for _ in range(100_000):
        user, chosen = rng.integers(50), rng.permutation(50)[:plays]
        x = np.concatenate([np.broadcast_to(users[user], (plays, r)), items[chosen]], 1)[None]
        seen = rng.random((1, plays, 1)) < 0.5
        model.update(state, x, np.where(seen, 1.0, 0.0), seen, w)
        shown[user, chosen] += seen[0, :, 0]
    for user in range(50):
        products[user] = (outer[user] * shown[user][:, None]).T @ outer[user]
    v += products.sum(0)
    exact = np.linalg.inv(v)
    assert np.abs(state.inverse[0] - exact).max() <= 1e-9 * np.abs(exact).max()
    assert state.log_det[0] == pytest.approx(np.linalg.slogdet(v)[1] - n * np.log(0.1), abs=1e-7)


def test_files_find_it_by_name():
    assert exports("evenhand.models")["bilinear"] is Bilinear
    wide = Settings(
        model="bilinear",
        model_arguments={"n_user_features": 2, "n_item_features": 1, "width": {"kind": "fixed", "value": 0.2}},
    )
    assert wide.build_model(LITTLE, 3) == Bilinear(n_user_features=2, n_item_features=1, width=Fixed(0.2))
    narrow = Settings(model="bilinear", model_arguments={"n_user_features": 2, "n_item_features": 1, "width": 0.2})
    assert narrow.build_model(LITTLE, 3) == Bilinear(n_user_features=2, n_item_features=1, width=Fixed(0.2))
    with pytest.raises(
        InvalidInput, match=r"policy.model.n_item_features: expected a whole number, as Bilinear needs one"
    ):
        Settings(model="bilinear", model_arguments={"n_user_features": 2}).build_model(LITTLE, 3)
