"""What holds for every objective: concavity, supergradients, proxes, envelopes, conjugates; alone and in batches."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from evenhand.objectives import Conjugate, EqualExposure, GeneralizedGini, Linear, Proximal, Tangential
from evenhand.objectives.base import conjugate
from evenhand.objectives.smoothing import moreau_gradient
from tests.examples.objectives import OBJECTIVES, SUMS, WRITTEN
from tests.objectives import twins
from tests.objectives.envelopes import envelope
from tests.rows import for_each

CLOSED = [f for f in OBJECTIVES if isinstance(f, Proximal)]
CONJUGATES = [f for f in OBJECTIVES if isinstance(f, Conjugate)]
TANGENTS = [f for f in OBJECTIVES if isinstance(f, Tangential)]
EVERY = pytest.mark.parametrize("objective", OBJECTIVES + SUMS, ids=repr)
WITH_TWIN = pytest.mark.parametrize("objective", [*filter(twins.written, OBJECTIVES + SUMS)], ids=repr)
WITH_PROX = pytest.mark.parametrize("objective", CLOSED, ids=repr)
WITH_PROX_AND_TWIN = pytest.mark.parametrize("objective", [*filter(twins.written, CLOSED)], ids=repr)
WITH_CONJUGATE = pytest.mark.parametrize("objective", CONJUGATES, ids=repr)
WITH_CONJUGATE_AND_TWIN = pytest.mark.parametrize("objective", [*filter(twins.written, CONJUGATES)], ids=repr)
BETAS = (1e-4, 0.03, 0.7, 20.0)

grid = st.integers(1, 64).map(lambda k: k / 64)  # ties are common
averages = st.one_of(grid, st.floats(1e-3, 1.0))


def point(data, objective, numbers=averages):
    return data.draw(arrays(np.float64, len(objective.outcomes), elements=numbers))


@EVERY
@given(data=st.data())
def test_supergradients_support_it_from_above(objective, data):
    y, z = point(data, objective), point(data, objective)
    g = objective.supergradient(z)
    bound = objective.value(z) + g @ (y - z)
    assert objective.value(y) <= bound + 1e-12 * (1 + abs(bound) + np.abs(g).sum())


@EVERY
@given(data=st.data())
def test_it_is_as_steep_as_it_says(objective, data):
    y, z, steep = point(data, objective), point(data, objective), min(objective.lipschitz, 1e300)
    assert abs(objective.value(y) - objective.value(z)) <= steep * np.linalg.norm(y - z) * (1 + 1e-12) + 1e-12
    assert np.linalg.norm(objective.supergradient(z)) <= steep * (1 + 1e-12)


@WITH_TWIN
def test_its_value_is_what_cvxpy_says(objective):
    for z in np.random.default_rng(1).random((20, len(objective.outcomes))) + 0.01:
        written = twins.expression(objective, twins.cp.Constant(z)).value
        assert objective.value(z) == pytest.approx(float(written), rel=1e-12)


@EVERY
@for_each("shape", [(1,), (7,), (3, 4), (0,)])
def test_a_batch_has_bit_for_bit_what_each_has_alone(objective, shape):
    rng = np.random.default_rng(2)
    m = len(objective.outcomes)
    z, theta = 0.01 + rng.random((*shape, m)), rng.normal(size=(*shape, m))
    beta = 0.1 + rng.random(shape)
    asked = {"value": (z,), "supergradient": (z,)}
    if objective in OBJECTIVES:
        asked |= {"prox": (z, beta)} if isinstance(objective, Proximal) else {}
        asked |= {"maximizer": (theta,)} if isinstance(objective, Conjugate) else {}
        asked |= {"intercept": (objective.supergradient(z),)} if isinstance(objective, Tangential) else {}
    for name, given_ in asked.items():
        ask = getattr(objective, name)
        together, fortran = ask(*given_), ask(*(np.asfortranarray(a) for a in given_))
        assert together.shape == (shape if name in ("value", "intercept") else z.shape)
        np.testing.assert_array_equal(together, fortran)
        for i in np.ndindex(shape):
            np.testing.assert_array_equal(together[i], ask(*(a[i] for a in given_)))
            np.testing.assert_array_equal(together[i], ask(*(a[i][None] for a in given_))[0])


@pytest.mark.parametrize("build", [EqualExposure, GeneralizedGini, lambda names: Linear(dict.fromkeys(names, 0.1))])
def test_sums_of_many_outcomes_have_one_order(build):
    """NumPy adds in pairs along what is contiguous: the layout of a batch must not decide what that is."""
    objective, z = build(tuple(map(str, range(100)))), np.random.default_rng(6).random((9, 100))
    for ask in (objective.value, objective.supergradient, lambda rows: objective.prox(rows, 0.3)):
        together = ask(z)
        np.testing.assert_array_equal(together, ask(np.asfortranarray(z)))
        np.testing.assert_array_equal(together, np.array([ask(row) for row in z]))


@WITH_PROX_AND_TWIN
@for_each("beta", BETAS)
def test_the_prox_is_that_of_cvxpy(objective, beta):
    rng = np.random.default_rng(3)
    for _ in range(3):
        z = np.round(rng.random(len(objective.outcomes)) * 1.4 - 0.2, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the last digits are out of its reach
            expected = twins.prox(objective, z, beta)
        np.testing.assert_allclose(objective.prox(z, beta), expected, atol=3e-5 * max(1.0, beta))


@WITH_PROX
@given(data=st.data(), beta=st.sampled_from(BETAS))
def test_nothing_near_the_prox_is_better(objective, data, beta):
    z = point(data, objective, st.floats(-0.5, 1.5))
    best, value = objective.prox(z, beta), envelope(objective, z, beta)
    assert np.isfinite(best).all()
    other = best + 0.01 * point(data, objective, st.floats(-1, 1))
    assert objective.value(other) - ((other - z) ** 2).sum() / (2 * beta) <= value + 1e-9 * (1 + abs(value))


@WITH_PROX
@for_each("beta", [0.03, 0.7])
def test_the_gradient_of_the_envelope_is_its_slope(objective, beta):
    rng = np.random.default_rng(4)
    m, h = len(objective.outcomes), 1e-6
    for z in (rng.random(m), np.full(m, 0.5), rng.random(m) - 0.5):
        steps = h * np.eye(m)
        slope = (envelope(objective, z + steps, beta) - envelope(objective, z - steps, beta)) / (2 * h)
        np.testing.assert_allclose(moreau_gradient(objective, z, beta), slope, rtol=1e-5, atol=1e-6)


@WITH_PROX
@given(data=st.data(), beta=st.sampled_from(BETAS), less=st.floats(0.1, 1))
def test_envelopes_keep_to_lemma_15(objective, data, beta, less):
    z = point(data, objective)
    value, smooth, closer = objective.value(z), envelope(objective, z, beta), envelope(objective, z, beta * less)
    slack, steep = 1e-9 * (1 + abs(smooth)), min(objective.lipschitz, 1e100)
    assert value <= smooth + slack
    assert smooth <= value + steep**2 * beta / 2 + slack
    # f_beta - f_beta' <= L^2 beta/2 (beta/beta' - 1): the bound that Lemma 16 follows from.
    assert -slack <= smooth - closer <= steep**2 * beta / 2 * (1 / less - 1) + slack
    assert np.linalg.norm(moreau_gradient(objective, z, beta)) <= steep * (1 + 1e-9) + 1e-9


@WITH_PROX
@given(data=st.data(), beta=st.sampled_from(BETAS))
def test_gradients_of_the_envelope_are_lipschitz(objective, data, beta):
    y, z = point(data, objective), point(data, objective)
    apart = moreau_gradient(objective, y, beta) - moreau_gradient(objective, z, beta)
    assert np.linalg.norm(apart) <= np.linalg.norm(y - z) / beta * (1 + 1e-9) + 1e-9


@WITH_CONJUGATE_AND_TWIN
def test_the_conjugate_is_that_of_cvxpy(objective):
    rng = np.random.default_rng(5)
    for theta in [*rng.normal(size=(4, len(objective.outcomes))), *(3 * rng.normal(size=(2, len(objective.outcomes))))]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            expected = twins.conjugate(objective, theta)
        assert conjugate(objective, theta) == pytest.approx(expected, abs=1e-6)


@WITH_CONJUGATE
@given(data=st.data())
def test_fenchel_and_young_agree(objective, data):
    y, theta = point(data, objective), point(data, objective, st.floats(-4, 4))
    assert theta @ y + objective.value(y) <= conjugate(objective, theta) + 1e-12
    # Equality where theta is minus a supergradient, and at the maximizer.
    g = objective.supergradient(y)
    assert conjugate(objective, -g) == pytest.approx(objective.value(y) - g @ y, rel=1e-9, abs=1e-9)
    # The maximizer is a subgradient of the conjugate.
    other = point(data, objective, st.floats(-4, 4))
    rise = objective.maximizer(theta) @ (other - theta)
    assert conjugate(objective, other) >= conjugate(objective, theta) + rise - 1e-9


@pytest.mark.parametrize("objective", TANGENTS, ids=repr)
@given(data=st.data(), beta=st.sampled_from(BETAS))
def test_tangents_touch_it_and_are_nowhere_below(objective, data, beta):
    y, z = point(data, objective), point(data, objective)
    for touched, g in ((z, objective.supergradient(z)), (objective.prox(z, beta), moreau_gradient(objective, z, beta))):
        c = objective.intercept(g)
        assert objective.value(touched) == pytest.approx(g @ touched + c, abs=1e-9)
        assert objective.value(y) <= g @ y + c + 1e-9


@pytest.mark.parametrize("objective", WRITTEN, ids=repr)
@settings(max_examples=10)
@given(data=st.data())
def test_what_a_user_wrote_has_its_supergradients_and_envelopes(objective, data):
    y, z = (point(data, objective, st.floats(0.1, 1)) for _ in range(2))
    assert objective.value(y) <= objective.value(z) + objective.supergradient(z) @ (y - z) + 1e-4
    smooth = envelope(objective, z, 0.01)
    assert objective.value(z) - 1e-9 <= smooth
    steps = 1e-3 * np.eye(len(z))
    slope = (envelope(objective, z + steps, 0.1) - envelope(objective, z - steps, 0.1)) / 2e-3
    np.testing.assert_allclose(moreau_gradient(objective, z, 0.1), slope, rtol=2e-2, atol=2e-3)
