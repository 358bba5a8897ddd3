import numpy as np
import pytest
from scipy.special import expit, ndtr

from evenhand.models.links import LINKS, code, mean_of, mean_worth, predict

TRUTH = {"identity": lambda u: u, "logistic": expit, "probit": ndtr, "exponential": np.exp}
U = np.concatenate([np.linspace(-40.0, 30.0, 281), [-1e3, -1e-300, 0.0, 1e-300]])


@pytest.mark.parametrize("link", LINKS)
def test_links_are_those_of_scipy(link):
    """Relative, into both tails; 1e-300 allows for what is subnormal."""
    got = np.array([mean_of(code(link), u) for u in U])
    np.testing.assert_allclose(got, TRUTH[link](U), rtol=1e-12, atol=1e-300)


def test_the_exponential_stays_finite():
    assert mean_of(code("exponential"), 1e6) == pytest.approx(np.exp(30.0))


@pytest.mark.parametrize("link", LINKS)
def test_predictions_and_prices_are_products_with_the_link_between(link):
    rng = np.random.default_rng(4)
    theta, x, w = rng.normal(size=(3, 2, 4)), rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 2, 2))
    x[rng.random(x.shape) < 0.3] = 0.0
    means = TRUTH[link](np.einsum("rmn,ran->ram", theta, x))
    out = np.empty(2)
    predict(code(link), theta[1], x[1, 2], out)
    np.testing.assert_allclose(out, means[1, 2], rtol=1e-12)
    mean, bonus = mean_worth(code(link), theta, x, w[:, :, None])
    np.testing.assert_allclose(mean, np.einsum("rkm,ram->rka", w, means), rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(bonus, 0.0)
