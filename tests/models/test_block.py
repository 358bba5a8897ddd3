"""Models that know covariances of their first columns alone."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import Packed, unpack
from evenhand.models import DiagonalLogistic, DiagonalRidge, PerAction
from evenhand.models.diagonal import posterior
from evenhand.models.per_action import take_over
from tests.models.test_diagonal import ONE, learn, packed_case, shop, start
from tests.wide_worlds import NUMBERS, covered

KINDS = [DiagonalRidge, DiagonalLogistic]
NO_LUCK = np.zeros((1, 0))


def observations(seed, n=6, count=40, outcomes=1):
    """Correlated features, and outcomes 0 and 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, n)) + rng.normal(size=(count, 1))
    return x, rng.integers(0, 2, (count, outcomes)).astype(float)


def whole(state, row=0, r=0):
    """Covariance of all coefficients, and coefficients less their origin, `->(d,d),(d,M)`."""
    b = state.block.gram.shape[1]
    tail = state.chosen[r] * state.size[r] / state.count[r] + state.factor[r] * state.information[row]
    cov, theta = np.diag(1.0 / tail), state.factor[r] * state.moment[row] / tail[:, None]
    cov[:b, :b], theta[:b] = state.block.inverse[row], state.block.theta[row]
    return cov, theta


@pytest.mark.parametrize(("m", "weight"), [(1, 1.0), (2, 1.0), (2, 2.5)])
def test_a_block_of_all_columns_is_ridge_regression(m, weight):
    x, y = observations(0, count=70, outcomes=m)
    model = DiagonalRidge(n_features=6, n_outcomes=m, block=6)
    state = start(model)
    learn(model, state, x, y, weight)
    ridge = state.block.penalty[0]
    v = ridge * np.eye(6) + weight * x.T @ x
    best = np.linalg.solve(v, weight * x.T @ y)
    np.testing.assert_allclose(state.block.inverse[0], np.linalg.inv(v), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(state.block.theta[0], best, rtol=1e-8, atol=1e-12)
    price = np.ones((1, 1, 1, m))
    assert model.value(state, x[None, :1], price, NO_LUCK).mean.item() == pytest.approx((x[0] @ best).sum())
    assert 1 / 1.2 <= ridge / (state.chosen[0] * (x**2).sum(1).mean()) <= 1.2  # no refit for a smaller change


@pytest.mark.parametrize("kind", KINDS)
def test_an_observation_leaves_the_exact_covariance_of_the_block_and_variances_of_all_else(kind):
    x, y = observations(1)
    model = kind(n_features=6, block=3)
    state = start(model)
    learn(model, state, x, y)
    z, told = x[0] + 1.0, 1.0
    rho = state.chosen[0] * (state.size[0] + z @ z) / (state.count[0] + 1.0)  # at which this observation is learned
    before, theta = whole(state)
    tail = rho + state.information[0, 3:]
    before[3:, 3:], theta[3:] = np.diag(1.0 / tail), state.moment[0, 3:] / tail[:, None]
    s, center = z @ before @ z, z @ theta[:, 0]
    if kind is DiagonalRidge:
        curve, slope = 1.0, (told - center) / (1.0 + s)
    else:
        u = brentq(lambda u: (u - center) / s - (told - expit(u)), -50.0, 50.0, xtol=1e-13)
        curve, slope = expit(u) * expit(-u), told - expit(u)
    after = before - curve * np.outer(before @ z, before @ z) / (1.0 + curve * s)
    learn(model, state, z[None], np.array([[told]]))
    np.testing.assert_allclose(state.block.inverse[0], after[:3, :3], rtol=1e-8)
    np.testing.assert_allclose(1.0 / (rho + state.information[0, 3:]), np.diag(after)[3:], rtol=1e-9)
    best = theta[:, 0] + before @ z * slope
    np.testing.assert_allclose(state.block.theta[0, :, 0], best[:3], rtol=1e-8)
    np.testing.assert_allclose(state.moment[0, 3:, 0] / (rho + state.information[0, 3:]), best[3:], rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_inverses_are_those_of_sums_at_each_penalty_while_data_come_and_fade(kind, monkeypatch):
    monkeypatch.setattr(posterior, "_SMALL", 0.2)  # so that factors are multiplied into sums
    x, y = observations(2, count=90)
    x[60:] *= 3.0
    model = PerAction(inner=kind(n_features=6, block=4), actions=2)
    state = start(model)
    for t in range(90):
        learn(model, state, np.append(t % 2, x[t])[None], y[t : t + 1])
        if t % 9 == 8:
            model.fade(state, np.array([0.5]), np.ones(1))
        own, f = state.block, state.factor[0]
        for row in range(2):
            for g, penalty in enumerate(own.penalties[0]):
                exact = np.linalg.inv(penalty * np.eye(4) + own.gram[row])
                np.testing.assert_allclose(own.rivals[row, g], exact, rtol=1e-6, atol=1e-9 * exact.max())
            v = own.penalty[0] * np.eye(4) + f * own.gram[row]
            np.testing.assert_allclose(own.inverse[row], np.linalg.inv(v), rtol=1e-6, atol=1e-12)
            np.testing.assert_allclose(own.theta[row], np.linalg.solve(v, f * own.moment[row]), rtol=1e-6, atol=1e-9)
    assert state.factor[0] > 0.2
    model.fade(state, np.array([1e-9]), np.ones(1))
    for z in (state.count, own.inverse, own.theta, own.penalty):
        assert not z.any()


@pytest.mark.parametrize("kind", KINDS)
def test_packed_rows_are_read_as_the_rows_that_they_stand_for(kind):
    rng = np.random.default_rng(5)
    models = [
        PerAction(inner=kind(block=3, **rows), actions=2) for rows in ({"packed": Packed(9, 4)}, {"n_features": 9})
    ]
    states = [start(model) for model in models]
    z = np.zeros((40, 8))
    z[:, 1] = 1.0
    for row in z:
        used = rng.integers(1, 4)
        row[2 : 2 + 2 * used : 2], row[3 : 3 + 2 * used : 2] = 1 + rng.permutation(8)[:used], rng.normal(size=used)
    lead, y = rng.integers(2, size=(40, 1)), rng.integers(0, 2, (40, 1)).astype(float)
    both = [np.concatenate([lead, own], 1) for own in (z, unpack(z, 9))]
    for model, state, x in zip(models, states, both, strict=True):
        learn(model, state, x, y)
    worth = [m.value(s, x[None], ONE, NO_LUCK) for m, s, x in zip(models, states, both, strict=True)]
    np.testing.assert_allclose(worth[0].mean, worth[1].mean, rtol=1e-10)
    np.testing.assert_allclose(worth[0].bonus, worth[1].bonus, rtol=1e-10)
    for model, state, x in zip(models, states, both, strict=True):
        parts = model.contributions(state, x[None, :2], ONE)[0, 0]
        assert parts.sum() == pytest.approx(worth[0].mean[0, 0, 0] - worth[0].mean[0, 0, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_an_appended_action_is_believed_to_be_one_without_data(kind):
    x, y = observations(3)
    rows = np.concatenate([np.arange(40)[:, None] % 2, x], 1)
    few, more = (PerAction(inner=kind(n_features=6, block=4), actions=a) for a in (2, 3))
    old, grown, fresh = start(few), start(more), start(more)
    learn(few, old, rows, y)
    learn(more, fresh, rows, y)
    take_over(grown, old, 1)
    ask = np.concatenate([np.arange(3)[:, None], x[:3]], 1)[None]
    found, expected = (more.value(state, ask, ONE, NO_LUCK) for state in (grown, fresh))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.bonus, expected.bonus, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_plays_whose_outcomes_wait_make_bonuses_less_until_they_come(kind):
    policy = eh.resolving(shop(), PerAction(inner=kind(packed=Packed(64, 2), scale=0.2, block=2), actions=3))
    state, context = policy.start(), packed_case(policy, 0)

    def bonus():
        loop = policy._assembly.loop
        with loop.delay.read(state):
            return loop.questions.worth(state, context.features, ONE).bonus[0, 0].copy()

    first = policy.act(state, context)
    policy.learn(state, first, np.ones((1, 1, 1)))
    waiting = []
    for _ in range(4):
        earlier = bonus()
        waiting.append(policy.act(state, context))
        assert bonus()[waiting[-1].plays.item()] < earlier[waiting[-1].plays.item()]
    for decision in waiting:
        policy.cancel(state, decision)
    own = policy.model.value(state.model, context.features, ONE, NO_LUCK).bonus[0, 0]
    np.testing.assert_array_equal(bonus(), own)


@pytest.mark.parametrize("kind", [DiagonalRidge, DiagonalLogistic])
def test_what_waits_without_data_is_believed_as_alone_whatever_other_replicas_chose(kind):
    model, rng = kind(n_features=3, block=2), np.random.default_rng(8)
    batch, alone = (model.start(n, np.zeros(1), np.ones(1), 1000) for n in (2, 1))
    seen = np.array([[[True]], [[False]]])
    for _ in range(60):
        x = rng.normal(size=(2, 1, 3))
        model.update(batch, x, (rng.random((2, 1, 1)) < 0.5) * 1.0, seen, np.ones((2, 1, 1, 1)))
    assert batch.chosen[0] != batch.chosen[1] == alone.chosen[0]
    own, both = (next(model.gains(z, x[: len(z.chosen)])) for z in (alone, batch))
    assert own.believed == both.believed


def test_what_is_no_block_is_refused():
    for block, rows in ((-1, {"n_features": 3}), (4, {"n_features": 3}), (9, {"packed": Packed(8, 2)})):
        with pytest.raises(InvalidInput, match=r"DiagonalRidge\.block"):
            DiagonalRidge(block=block, **rows)
    policy = eh.ucb(shop(), PerAction(inner=DiagonalRidge(packed=Packed(64, 2), block=2), actions=3))
    assert "beside the first 2: 0 of 192 have data" in str(policy.status(policy.start()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NUMBERS)
def test_the_truth_of_correlated_numbers_is_within_two_standard_deviations_as_often_as_it_should_be(kind, name):
    assert 0.925 <= np.mean([covered(kind, name, seed, block=21) for seed in range(20)]) <= 0.975
