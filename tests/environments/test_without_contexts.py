from dataclasses import dataclass

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court, Delayed, FixedContexts, Lessons, MixedArms, WithoutContexts
from evenhand.models import Tabular
from evenhand.recipes import pd_bwk
from tests.environments.test_court import decide
from tests.examples.environments import UNEVEN_LOG
from tests.examples.problems import EVERYTHING
from tests.worlds import Market

IDS = np.array([0, 2, 5])
ENVIRONMENTS = [
    Lessons(horizon=40),
    FixedContexts(arms=4, dimension=6, horizon=40, null_arm=True, noise=0.5),  # whose noise depends on features
    Market(problem=EVERYTHING),
    Delayed(Court(horizon=40), delay=3),
    UNEVEN_LOG,
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: type(e).__name__)
def test_the_same_plays_have_the_same_outcomes_and_expectations(environment):
    hidden = WithoutContexts(environment)
    assert hidden.problem is environment.problem
    arms = len(hidden.problem.actions)
    assert hidden.n_features == arms
    blind, sighted = hidden.start(3, IDS), environment.start(3, IDS)
    assert (blind.steps, blind.counts_idle_steps) == (sighted.steps, sighted.counts_idle_steps)
    for step in range(min(40, blind.steps)):
        shown, whole = blind.context(step), sighted.context(step)
        np.testing.assert_array_equal(shown.features, np.tile(np.eye(arms), (3, 1, 1)))
        for name in ("known", "groups", "offered"):
            np.testing.assert_array_equal(getattr(shown, name), getattr(whole, name))
        taken, arrivals = blind.respond(step, shown, decide(shown, step % arms))
        expected, originals = sighted.respond(step, whole, decide(whole, step % arms))
        np.testing.assert_array_equal(taken.counted, expected.counted)
        np.testing.assert_array_equal(taken.features[:, 0], np.tile(np.eye(arms)[step % arms], (3, 1)))
        assert [a.step for a in arrivals] == [a.step for a in originals]
        for a, b in zip(arrivals, originals, strict=True):
            np.testing.assert_array_equal(a.y, b.y)
            np.testing.assert_array_equal(a.decision.features[:, 0], np.tile(np.eye(arms)[a.step % arms], (3, 1)))
        means, truth = blind.expected(shown, taken.plays), sighted.expected(whole, taken.plays)
        if truth is None:
            assert means is None
        else:
            np.testing.assert_array_equal(means, truth)


def test_what_was_not_played_has_no_features_on_either_side():
    """This market's outcomes depend on the features of the receipt that it is handed."""
    market = Market(problem=EVERYTHING)
    blind, sighted = WithoutContexts(market).start(0, IDS), market.start(0, IDS)
    shown, whole = blind.context(0), sighted.context(0)
    plays = np.array([[-1], [2], [-1]])
    x = np.where(plays[:, :, None] >= 0, whole.features[:, 2:3], 0.0)
    made = decide(shown, 0)._replace(plays=plays, counted=np.array([0.0, 1.0, 0.0]))
    taken, (arrival,) = blind.respond(0, shown, made)
    np.testing.assert_array_equal(taken.features[:, 0], [np.zeros(4), np.eye(4)[2], np.zeros(4)])
    _, (original,) = sighted.respond(0, whole, made._replace(features=x))
    np.testing.assert_array_equal(arrival.y, original.y)


def test_only_the_last_context_can_be_asked_about():
    world = WithoutContexts(Lessons(horizon=5)).start(0, IDS)
    first = world.context(0)
    world.context(1)
    with pytest.raises(InvalidInput, match=r"^context: expected the last one shown"):
        world.expected(first, np.zeros((3, 1), np.int64))
    with pytest.raises(InvalidInput, match=r"^context: expected the last one shown"):
        world.respond(0, first, decide(first, 1))


@dataclass(frozen=True)
class Fewer:
    """Shows only two of the candidates."""

    environment: Lessons

    @property
    def problem(self):
        return self.environment.problem

    @property
    def n_features(self):
        return self.environment.n_features

    def start(self, seed, replicas):
        world, inner = self.environment.start(seed, replicas), self.environment.start(seed, replicas)
        world.context = lambda step: inner.context(step)._replace(features=inner.context(step).features[:, :2])
        return world


def test_candidates_have_to_be_the_actions():
    expected = r"^WithoutContexts\.environment: expected one whose candidates are its 5 actions, got 2 candidates"
    with pytest.raises(InvalidInput, match=expected):
        WithoutContexts(Fewer(Lessons(horizon=5))).start(0, IDS).context(0)


def test_replicas_share_their_features_which_changes_nothing():
    world = WithoutContexts(MixedArms(horizon=50))
    policy = pd_bwk(world.problem, Tabular(arms=5, n_outcomes=3, confidence=0.5))
    shared, copied = policy.start(replicas=3), policy.start(replicas=3)
    of_shared, of_copied = (world.start(0, np.arange(3)) for _ in range(2))
    for step in range(50):
        context = of_shared.context(step)
        assert context.features.strides[0] == 0
        other = of_copied.context(step)
        decision = policy.act(shared, context)
        same = policy.act(copied, other._replace(features=other.features.copy()))
        np.testing.assert_array_equal(decision.plays, same.plays)
        np.testing.assert_array_equal(decision.features, same.features)
        for arrival in of_shared.respond(step, context, decision)[1]:
            policy.learn(shared, decision, arrival.y)
            policy.learn(copied, same, arrival.y)
