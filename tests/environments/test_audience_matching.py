"""Matching with an audience: who comes, what features say of chances, and what Last.fm gives."""

import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Audience, AudienceMatching, LastFM, Listeners
from evenhand.problem import Budget
from evenhand.welfare import Capped, Satisfaction, satisfaction_of
from tests.environments.test_last_fm import DATA, needs_data
from tests.rankings import decision

WORLD = AudienceMatching(audience=Listeners(users=6, items=5, factors=3).audience, users=4, arms=3, horizon=50)


def fit(world):
    """The share of the variance of chances that the best linear model in the features explains."""
    x, p = world.features.reshape(-1, world.n_features), world.chances.ravel()
    return 1.0 - ((x @ np.linalg.lstsq(x, p, rcond=None)[0] - p) ** 2).mean() / p.var()


def test_all_users_come_alike_and_bring_the_features_of_all_pairs():
    """Five standard errors, 20,000 replicas with four users each."""
    run = WORLD.start(1, np.arange(20_000))
    context = run.context(3)
    pairs = context.features.reshape(20_000, 4, 3, 4)
    who = (pairs[:, :, None, 0, 1] == WORLD.features[:, 0, 1]).argmax(2)
    np.testing.assert_array_equal(pairs, WORLD.features[who])
    np.testing.assert_array_equal(run.means(context), WORLD.chances[who])
    share = np.bincount(who.ravel(), minlength=6) / who.size
    assert (np.abs(share - 1 / 6) <= 5 * math.sqrt(5 / 36 / who.size)).all()


def test_outcomes_have_the_stated_chances():
    """Five standard errors, 20,000 replicas."""
    run, count = WORLD.start(2, np.arange(20_000)), 20_000
    context, plays = run.context(0), np.tile([11, -1, 4, 0], (20_000, 1))
    ((step, _, y, exposed, _),) = run.respond(0, context, decision(plays))[1]
    mean = run.expected(context, plays)
    assert (step, exposed, y.shape) == (0, None, (count, 4, 1))
    np.testing.assert_array_equal(mean[:, 0, 0], run.means(context)[:, 3, 2])
    np.testing.assert_array_equal(mean[:, 2, 0], run.means(context)[:, 1, 1])
    assert not mean[:, 1].any()
    assert not y[:, 1].any()
    off = (y - mean)[:, [0, 2, 3], 0].mean(0)
    assert (np.abs(off) <= 5 * np.sqrt((mean * (1 - mean))[:, [0, 2, 3], 0].mean(0) / count)).all()
    with pytest.raises(InvalidInput, match="context: expected the last one shown"):
        run.expected(WORLD.start(2, np.arange(20_000)).context(0), plays)


def test_a_linear_model_is_exact_and_features_are_of_one_size():
    assert WORLD.n_features == 4
    assert fit(WORLD) == pytest.approx(1.0)
    np.testing.assert_allclose((WORLD.features**2).mean((0, 1)), 1.0)
    idle = Audience(users=np.array([[1.0, 0.0], [0.5, 0.0]]), items=np.array([[0.5, 0.5], [0.2, 1.0]]))
    assert not AudienceMatching(audience=idle, users=1, arms=2).features[:, :, 2].any()


def test_the_problem_names_users_and_items_and_has_costs():
    world = replace(WORLD, costs=(0.0, 1.0, 2.0), subject_to=(Budget("cost", rate=1.0),), curve=Capped(1.5))
    assert world.problem.actions[4] == "user 1 item 1"
    np.testing.assert_array_equal(world.problem.declared[:, 0], np.tile([0.0, 1.0, 2.0], 4))
    assert satisfaction_of(world.problem) == Satisfaction(Capped(1.5), arms=3)


@needs_data
def test_last_fm_gives_what_the_page_says():
    world = AudienceMatching(audience=LastFM(path=DATA, users=500).audience)
    p = world.chances
    assert world.problem.actions[:2] == ("user 0 Britney Spears", "user 0 Depeche Mode")
    assert p.mean() == pytest.approx(0.161, abs=5e-4)
    assert (p.mean(0).min(), p.mean(0).max()) == (pytest.approx(0.072, abs=5e-4), pytest.approx(0.220, abs=5e-4))
    assert p.max(1).mean() == pytest.approx(0.397, abs=5e-4)
    sums = 50 * np.bincount(p.argmax(1), weights=p.max(1), minlength=10) / 500
    assert (sums > 2.0).sum() == 4
    assert sums.max() == pytest.approx(4.62, abs=5e-3)
    assert fit(world) == pytest.approx(1.0)
