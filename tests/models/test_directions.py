"""Directions that cases have in common."""

import numpy as np
import pytest
from scipy.special import expit

import evenhand as eh
from evenhand.core.row_pairs import Packed, unpack
from evenhand.models import DiagonalLogistic, DiagonalRidge, PerAction, Prior
from tests.models.test_diagonal import ONE, learn, shop, start
from tests.wide_worlds import WORDS, covered

KINDS = [DiagonalRidge, DiagonalLogistic]
NO_LUCK, TOLD = np.zeros((1, 0)), np.ones((1, 1, 1), bool)
D, RANK = 12, 4


def cases(seed=0, count=60):
    """Packed rows of an intercept and up to four of eleven columns, `->(N,10)`."""
    rng, z = np.random.default_rng(seed), np.zeros((count, 10))
    z[:, 1] = 1.0
    for row in z:
        used = rng.integers(1, 5)
        row[2 : 2 + 2 * used : 2], row[3 : 3 + 2 * used : 2] = 1 + rng.permutation(D - 1)[:used], rng.normal(size=used)
    return z


def parts(x, v, stated=0):
    """Plain NumPy: the columns that are stated, coordinates, and what is left, `(d),(d,v)->(b+r+d)`."""
    tail = np.where(np.arange(D) < stated, 0.0, x)
    s = np.zeros(RANK)
    s[: v.shape[1]] = v.T @ tail
    return np.concatenate([x[:stated], s, np.where(tail != 0.0, tail - v @ (v.T @ tail), 0.0)])


def more(v, x, stated=0):
    """Directions after another case (Gram-Schmidt), `(d,v),(d)->(d,v|v+1)`."""
    tail = np.where(np.arange(D) < stated, 0.0, x)
    left = tail - v @ (v.T @ tail)
    if v.shape[1] == RANK or left @ left <= 0.1 * tail @ tail:
        return v
    return np.column_stack([v, left / np.sqrt(left @ left)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stated", [0, 2])
@pytest.mark.parametrize("packs", [True, False])
def test_it_is_a_block_of_coordinates_beside_what_they_leave(kind, stated, packs):
    """The twin is told coordinates and remainders as features of its own."""
    rng, z = np.random.default_rng(1), cases()
    x, b = unpack(z, D), stated + RANK
    rows = {"packed": Packed(D, 5)} if packs else {"n_features": D}
    model = PerAction(inner=kind(block=stated, rank=RANK, **rows), actions=2)
    twin = PerAction(inner=kind(n_features=b + D, block=b), actions=2)
    state, other, v = start(model), start(twin), np.zeros((D, 0))
    for t, (packed, plain) in enumerate(zip(z, x, strict=True)):
        lead, y = float(rng.integers(2)), np.full((1, 1, 1), float(rng.integers(2)))
        if t:
            for case in range(0, 60, 7):
                ask = np.array([[[a, *(z[case] if packs else x[case])] for a in (0.0, 1.0)]])
                same = np.array([[[a, *parts(x[case], v, stated)] for a in (0.0, 1.0)]])
                found, expected = model.value(state, ask, ONE, NO_LUCK), twin.value(other, same, ONE, NO_LUCK)
                np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-7, atol=1e-9)
            own = model.contributions(state, ask, ONE)[0, 0]
            assert own.sum() == pytest.approx(found.mean[0, 0, 0] - found.mean[0, 0, 1])
        v = more(v, plain, stated)
        model.update(state, np.array([[[lead, *(packed if packs else plain)]]]), y, TOLD, ONE)
        twin.update(other, np.array([[[lead, *parts(plain, v, stated)]]]), y, TOLD, ONE)
    assert state.directions.found[0] == v.shape[1] == RANK
    np.testing.assert_allclose(state.block.inverse, other.block.inverse, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(state.chosen, other.chosen)


def test_cases_that_are_sums_of_earlier_ones_make_no_directions():
    rng = np.random.default_rng(2)
    x = np.zeros((1, 40, 2 * 6))
    x[0, :, ::2], x[0, :, 1::2] = np.arange(6), rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6))
    model = DiagonalRidge(packed=Packed(columns=9, pairs=6), rank=RANK)
    state = start(model)
    for t in range(40):
        model.update(state, x[:, t : t + 1], np.full((1, 1, 1), 0.5), TOLD, ONE)
    assert state.directions.found[0] == 2
    assert "2 directions that cases have in common" in model.notes(state, 0)[0].text
    model.fade(state, np.array([1e-9]), np.ones(1))
    assert state.directions.found[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_within_two_standard_deviations_nearly_as_often_as_it_should_be(kind):
    assert 0.89 <= np.mean([covered(kind, WORDS, seed, rank=64) for seed in range(8)]) <= 0.975


@pytest.mark.parametrize("kind", KINDS)
def test_plays_that_waited_leave_nothing_although_directions_came_meanwhile(kind):
    policy = eh.ucb(shop(), PerAction(inner=kind(packed=Packed(D, 5), rank=RANK), actions=3))
    state, waiting = policy.start(seed=1), []
    for t, z in enumerate(cases(3)):
        x = np.concatenate([np.arange(3.0)[:, None], np.tile(z, (3, 1))], 1)[None]
        known = policy.problem.declared[None], np.zeros((1, 1, 0), int), np.ones((1, 3), bool)
        waiting.append(policy.act(state, eh.Context(x, *known)))
        if t > 8:
            policy.learn(state, waiting.pop(t % 4), np.full((1, 1, 1), t % 2.0))
        assert np.diagonal(state.waiting.sums[0].gram, 0, 1, 2).min() > -1e-6
    assert state.model.directions.found[0] == RANK
    for decision in waiting:
        policy.cancel(state, decision)
    for sums in state.waiting.sums:
        assert not sums.gram.any()


def test_what_was_forgotten_is_in_no_direction_of_later_cases_that_are_shorter():
    rng, model = np.random.default_rng(4), DiagonalRidge(n_features=40, rank=RANK)
    old, fresh, short = start(model), start(model), np.zeros((6, 40))
    np.put_along_axis(short, rng.integers(0, 40, (6, 5)), rng.normal(size=(6, 5)), 1)
    learn(model, old, rng.normal(size=(6, 40)), np.ones((6, 1)))
    model.fade(old, np.array([1e-9]), np.ones(1))
    for state in (old, fresh):
        learn(model, state, short, np.arange(6.0)[:, None] % 2)
    found, expected = (model.value(state, short[None], ONE, NO_LUCK).mean for state in (old, fresh))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_curvature_is_that_of_stated_columns_whose_coefficients_have_priors():
    model = DiagonalLogistic(packed=Packed(D, 5), prior=Prior(mean=np.full(D, 0.5)), block=2, rank=D)
    state = start(model)
    gain = next(model.gains(state, cases()[None, :1]))
    mean = np.append([1.0, 2.0], np.zeros(D))[None]
    np.testing.assert_allclose(gain.curvature(mean), expit(1.5) * expit(-1.5))
