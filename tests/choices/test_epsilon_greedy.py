import numpy as np
from hypothesis import given, strategies as st

from evenhand.choices import EpsilonGreedy
from tests.choices import plain


@given(epsilon=st.floats(0, 1), u=st.floats(0, 0.999), seed=st.integers(0, 999))
def test_what_is_played_has_the_probability_that_is_stated(epsilon, u, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(1, 2, 5)), rng.random((1, 2, 5))
    got = plain.pick(EpsilonGreedy(epsilon), plain.worth(mean, bonus), plain.offer([True] * 5), u=u)
    best = int((mean + bonus).sum(1).argmax())
    expected = np.full(5, epsilon / 5)
    expected[best] += 1 - epsilon
    np.testing.assert_allclose(got.lottery[0], expected, atol=1e-15)
    assert got.lottery[0, got.plays[0, 0]] > 0
    edges = np.concatenate([[0.0], expected.cumsum()])
    assert edges[got.plays[0, 0]] - 1e-12 <= u <= edges[got.plays[0, 0] + 1] + 1e-12
