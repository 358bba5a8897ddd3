import numpy as np
import pytest

from evenhand.models import DiagonalLogistic, DiagonalRidge, Fixed, Logistic, NullModel, Ridge, Stacked
from tests.calls import ask, tell

LOW, HIGH = np.zeros(3), np.ones(3)


@pytest.mark.parametrize("shared", [True, False])
def test_the_parts_learn_and_predict_as_they_do_apart(shared):
    parts = (Logistic(n_features=2, width=Fixed(0.1)), Ridge(n_features=2, n_outcomes=2, width=Fixed(0.3)))
    both = Stacked(parts, shared=shared)
    assert (both.n_features, both.n_outcomes) == (2 if shared else 4, 3)
    rng = np.random.default_rng(1)
    state = both.start(2, LOW, HIGH, 100)
    apart = [parts[0].start(2, LOW[:1], HIGH[:1], 100), parts[1].start(2, LOW[1:], HIGH[1:], 100)]
    for _ in range(40):
        x, w = rng.normal(size=(2, 2, both.n_features)), rng.normal(size=(2, 2, 3))
        y, rounds = (rng.random((2, 2, 3)) < 0.5).astype(float), (rng.random(2) < 0.8).astype(float)
        y[rng.random(y.shape) < 0.1] = np.nan
        second = x if shared else x[..., 2:]
        mean, bonus = ask(both, state, x, w)
        one = ask(parts[0], apart[0], x[..., :2].copy(), w[..., :1].copy())
        other = ask(parts[1], apart[1], second.copy(), w[..., 1:].copy())
        np.testing.assert_array_equal(mean, one[0] + other[0])
        np.testing.assert_array_equal(bonus, one[1] + other[1])
        tell(both, state, x, y, rounds, w)
        tell(parts[0], apart[0], x[..., :2].copy(), y[..., :1].copy(), rounds, w[..., :1].copy())
        tell(parts[1], apart[1], second.copy(), y[..., 1:].copy(), rounds, w[..., 1:].copy())


def test_an_outcome_that_is_not_observed_keeps_only_its_own_part_from_learning():
    both = Stacked((Ridge(n_features=1), Ridge(n_features=1)))
    state = both.start(1, LOW[:2], HIGH[:2], 100)
    tell(both, state, np.ones((1, 1, 1)), np.array([[[1.0, np.nan]]]), np.ones(1), np.ones((1, 1, 2)))
    assert [s.count[0] for s in state.parts] == [1.0, 0.0]


def test_each_part_has_the_ranges_of_its_own_outcomes():
    both = Stacked((Ridge(n_features=1, width=Fixed(9.0)), Ridge(n_features=1, n_outcomes=2, width=Fixed(9.0))))
    state = both.start(1, np.array([-1.0, -2.0, -3.0]), np.array([1.0, 2.0, 3.0]), 100)
    for m in range(3):
        w = np.zeros((1, 2, 3))
        w[0, :, m] = 1.0, -1.0
        mean, bonus = ask(both, state, np.ones((1, 1, 1)), w)
        np.testing.assert_allclose((mean + bonus)[0, :, 0], [m + 1.0, m + 1.0])


def test_what_all_parts_say_is_said_once():
    model = Stacked((DiagonalLogistic(n_features=2), DiagonalRidge(n_features=2)), shared=True)
    (said,) = model.notes(model.start(1, np.zeros(2), np.ones(2), 10), 0)
    assert "0 of 2 have data" in said.text


def test_blank_values_everything_at_nothing_and_learns_nothing():
    blank = NullModel(n_features=2, n_outcomes=2)
    state = blank.start(3, np.zeros(2), np.ones(2), 100)
    tell(blank, state, np.ones((3, 1, 2)), np.ones((3, 1, 2)), np.ones(3), np.ones((3, 1, 2)))
    for z in ask(blank, state, np.ones((3, 5, 2)), np.ones((3, 2, 2))):
        np.testing.assert_array_equal(z, np.zeros((3, 2, 5)))
