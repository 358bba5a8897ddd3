import math
import typing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.choices import InverseGap, OracleRate, Rate, Schedule
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import exports
from evenhand.environments import FixedContexts
from evenhand.models import Ridge
from evenhand.policy.saving import fingerprint
from evenhand.recipes import fw_squarecb, lagrange_cbw, square_cbwk, two_stage_square_cbwk
from tests import twins
from tests.choices import plain

SHAPES = {
    "replicas": st.integers(1, 5),
    "readings": st.integers(1, 3),
    "candidates": st.integers(1, 8),
    "chance": st.sampled_from([0.0, 0.4, 1.0]),
    "ties": st.booleans(),
    "scale": st.sampled_from([1e-6, 1.0, 1e3, 1e300]),
    "gamma": st.sampled_from([1e-9, 2.0, 400.0, 1e12]),
    "seed": st.integers(0, 10_000),
}


def pick(mean, playable, gamma=2.0, u=0.5, power=0.0, t=0.0):
    bonus = np.full(mean.shape, 0.7)
    bonus[..., 0] = 1e6  # bonuses are not read
    return plain.pick(InverseGap(Rate(gamma, power)), plain.worth(mean, bonus), plain.offer(playable), t, u)


@given(**SHAPES)
def test_probabilities_are_the_formula(replicas, readings, candidates, chance, ties, scale, gamma, seed):
    rng = np.random.default_rng(seed)
    mean = scale * rng.normal(size=(replicas, readings, candidates)).round(0 if ties else 9)
    playable = rng.random((replicas, candidates)) < chance
    got = pick(mean, playable, gamma, u=rng.random())
    # Sums of up to 3 readings cancel to within 3 eps of their largest; gamma times that moves 1 / (A + gamma gap).
    atol = 1e-12 + min(1.0, 3e-16 * 9 * gamma * scale) if readings > 1 else 1e-12
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(got.lottery, twins.inverse_gap(mean, playable, np.full(replicas, gamma)), atol=atol)


@given(**SHAPES)
def test_probabilities_are_probabilities(replicas, readings, candidates, chance, ties, scale, gamma, seed):
    """Never negative, 0 where nothing may be played, and they sum to one; the best has at least its even share."""
    rng = np.random.default_rng(seed)
    mean = scale * rng.normal(size=(replicas, readings, candidates)).round(0 if ties else 9)
    playable = rng.random((replicas, candidates)) < chance
    p = pick(mean, playable, gamma).lottery
    assert p.shape == (replicas, candidates)
    assert (p >= 0.0).all()
    assert (p[~playable] == 0.0).all()
    np.testing.assert_allclose(p.sum(1), playable.any(1), atol=1e-15 * candidates)
    even = 1.0 / np.maximum(playable.sum(1), 1)
    assert (p.max(1) >= np.where(playable.any(1), even, 0.0) - 1e-15 * candidates).all()


@pytest.mark.parametrize(
    ("scale", "power", "t", "rate"), [(3.0, 0.0, 99.0, 3.0), (3.0, 0.5, 99.0, 30.0), (2.0, 1.0, 0.0, 2.0)]
)
def test_the_rate_grows_with_the_rounds_that_were_decided(scale, power, t, rate):
    assert Rate(scale, power).at(t) == pytest.approx(rate)
    p = pick(np.array([[[0.0, 1.0]]]), np.ones((1, 2), bool), scale, power=power, t=t).lottery
    assert p[0, 0] == pytest.approx(1 / (2 + rate))


def test_a_number_is_a_fixed_rate():
    assert InverseGap(3) == InverseGap(Rate(3.0)) == InverseGap(rate=np.float64(3.0))
    assert fingerprint(InverseGap(3)) == fingerprint(InverseGap(Rate(3.0)))


def test_wherever_a_rate_of_choosing_is_meant_a_number_is_taken():
    parts = {**exports("evenhand.recipes"), **exports("evenhand.choices")}
    hints = {name: typing.get_type_hints(part).get("rate") for name, part in parts.items()}
    taking = {name for name, hint in hints.items() if Schedule in (hint, *typing.get_args(hint))}
    assert taking == {"fw_squarecb", "lagrange_cbw", "square_cbwk", "two_stage_square_cbwk", "inverse_gap"}
    assert all({*typing.get_args(hints[name])} - {type(None)} == {Rate, Schedule, float} for name in taking)
    world = FixedContexts(arms=3, dimension=6, horizon=40)
    model = Ridge(n_features=6, n_outcomes=5)
    free = replace(world.problem, subject_to=())
    for build in (
        lambda rate: square_cbwk(world.problem, model, rate=rate),
        lambda rate: lagrange_cbw(world.problem, model, rate=rate),
        lambda rate: two_stage_square_cbwk(world.problem, model, rate=rate, explore=1, radius=0.1),
        lambda rate: fw_squarecb(free, model, rate=rate),
    ):
        assert build(10).fingerprint() == build(Rate(10.0)).fingerprint()


def gamma(t, arms, regret, delta, steep, size):
    """Theorem 20 by the route of its proof: 2 sqrt(2 t K / R'), R' the bound on the errors of all estimates."""
    errors = 2 * steep**2 * regret + 16 * steep**2 * size**2 * math.log(2 * t**2 / (delta / 2))
    return 2 * math.sqrt(2 * t * arms / errors)


@given(
    t=st.integers(1, 10**6),
    arms=st.integers(1, 60),
    regret=st.sampled_from([0.0, 3.0, 1e4]),
    growth=st.sampled_from([0.0, 2.0]),
    delta=st.sampled_from([0.01, 0.3]),
    steep=st.sampled_from([0.1, 1.0, 7.0]),
    size=st.sampled_from([0.5, 1.0, 20.0]),
)
def test_the_rate_of_an_oracle_is_that_of_the_theorem(t, arms, regret, growth, delta, steep, size):
    rate = OracleRate(regret=regret, growth=growth, delta=delta, lipschitz=steep, diameter=size)
    expected = gamma(t, arms, regret + growth * math.log(1 + t), delta, steep, size)
    np.testing.assert_allclose(rate.rates(np.array([t - 1.0]), arms), expected, rtol=1e-12)


def test_the_draw_takes_the_rate_of_its_round_and_all_candidates():
    rate = OracleRate(regret=2.0, delta=0.1)
    mean, playable = np.tile([[[0.0, 1.0, 5.0]]], (2, 1, 1)), np.tile([[True, True, False]], (2, 1))
    got = plain.pick(InverseGap(rate), plain.worth(mean), plain.offer(playable), [0.0, 999.0], 0.0)
    expected = [1 / (2 + gamma(t, 3, 2.0, 0.1, 1.0, 1.0)) for t in (1, 1000)]
    np.testing.assert_allclose(got.lottery[:, 0], expected, rtol=1e-12)


def test_a_number_is_a_fixed_rate_and_a_schedule_stays_what_it_is():
    rate = OracleRate(regret=1.0, delta=0.1)
    assert Rate.of(rate) is rate
    assert Rate.of(3) == Rate.of(np.float32(3.0)) == Rate(3.0)
    with pytest.raises(InvalidInput, match=r"^Rate\.scale: expected"):
        Rate.of("3")
