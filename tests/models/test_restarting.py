"""A model that begins anew: when it does, what it then is, and that it does not where nothing changes."""

import numpy as np
import pytest

from evenhand.models import BayesianRidge, Memories, Restarting, Ridge
from evenhand.policy.saving import flatten
from tests.calls import ask, tell
from tests.drift_worlds import WORLDS, Drifting, share

ONE = np.ones((1, 1, 1))
INNER = BayesianRidge(n_features=9, n_outcomes=2)


def test_the_challenger_wins_by_the_errors_that_it_saves():
    """By hand, ridge 1 on a feature of 1: means are sum y / (1 + n).

    The noise is the champion's mean squared error, or the challenger's where the two differ.
    """
    young, every, nats = 5, 20, 2.0
    model = Restarting(inner=Ridge(n_features=1), young=young, every=every, nats=nats)
    y = np.random.default_rng(0).random(100) * 0.3 + 0.6 * (np.arange(100) >= 50)
    champion, challenger = np.zeros(2), np.zeros(2)  # sum and number
    errors, judged, age, lead, anew, sums = np.zeros(2), np.zeros(2), 0, 0.0, [], np.zeros(3)
    state = model.start(1, np.zeros(1), np.ones(1), 500)
    for t, value in enumerate(y):
        assert ask(model, state, ONE, ONE)[0].item() == pytest.approx(champion[0] / (1.0 + champion[1]))
        tell(model, state, ONE, value * ONE, np.ones(1), ONE)
        e, f = (value - z[0] / (1.0 + z[1]) for z in (champion, challenger))
        grown = age >= young
        errors += np.array([e**2, f**2]) * (1, grown)
        judged += (1, grown)
        sums += grown * np.array([e**2 - f**2, (e - f) ** 2, (e - f) ** 2 * f**2])
        noise = max((1.0 / 16.0 + errors[0]) / (1.0 + judged[0]), sums[2] / max(sums[1], 1e-9))
        lead = 0.5 * sums[0] / noise
        age += 1
        champion, challenger = (z + np.array([value, 1.0]) for z in (champion, challenger))
        if lead > nats:
            champion, errors[0], judged[0] = challenger, errors[1], judged[1]
            anew.append(t + 1.0)
        if lead > nats or age >= every:
            challenger, errors[1], judged[1], age, lead = np.zeros(2), 0.0, 0.0, 0, 0.0
            sums[:] = 0.0
    assert len(anew) == state.restarts.item() > 0
    assert state.since.item() == anew[-1] > 50
    np.testing.assert_allclose([model.lead(state).item(), state.age.item()], [lead, age], rtol=1e-8, atol=1e-12)


def test_after_a_win_the_model_is_the_one_that_began_lately():
    """And from then on it has learned what a new model has that is told the same outcomes, bit for bit."""
    inner = BayesianRidge(n_features=1)
    model = Restarting(inner=inner, nats=3, young=10, every=40)
    y, began = np.repeat([0.0, 1.0], 60), []
    state = model.start(1, np.zeros(1), np.ones(1), 500)
    for t, value in enumerate(y):
        tell(model, state, ONE, value * ONE, np.ones(1), ONE)
        if state.age.item() == 0.0:
            began.append(t + 1)  # the challenger learns the next outcome first
    last = began.index(state.since.item())
    new = inner.start(1, np.zeros(1), np.ones(1), 500)
    for value in y[began[last - 1] :]:
        tell(inner, new, ONE, value * ONE, np.ones(1), ONE)
    new.ahead[:] = state.members[0].ahead
    assert state.restarts.item() > 0.0
    assert all((a == b).all() for (_, a), (_, b) in zip(flatten(new), flatten(state.members[0]), strict=True))


def test_it_does_not_begin_anew_where_nothing_changes():
    """At most exp(-9) per challenger: 30 replicas of 3,000 rounds have 180 of them, in all .02."""
    rng, model, count = np.random.default_rng(4), Restarting(inner=BayesianRidge(n_features=2)), 30
    state, w = model.start(count, np.zeros(1), np.ones(1), 3000), np.ones((count, 1, 1))
    for _ in range(3000):
        x = rng.random((count, 1, 2))
        tell(model, state, x, (rng.random((count, 1, 1)) < x.mean(2, keepdims=True)) * 1.0, np.ones(count), w)
    assert state.restarts.sum() == 0.0


def test_noise_that_differs_between_plays_is_no_change():
    """Plays of the second feature, one in ten, have 16 times the variance: 40 replicas with 120 challengers.

    In units of the average noise alone, the model begins anew three times.
    """
    rng, model, count = np.random.default_rng(5), Restarting(inner=Ridge(n_features=2)), 40
    state, w = model.start(count, np.zeros(1), np.ones(1), 1500), np.ones((count, 1, 1))
    for _ in range(1500):
        rare = rng.random((count, 1, 1)) < 0.1
        y = 0.5 + rng.normal(size=(count, 1, 1)) * np.where(rare, 0.2, 0.05)
        tell(model, state, np.concatenate([~rare, rare], 2) * 1.0, y, np.ones(count), w)
    assert state.restarts.sum() == 0.0


def test_rounds_that_teach_nothing_do_not_count_for_the_challenger():
    model = Restarting(inner=Ridge(n_features=1), young=1, every=3)
    state = model.start(1, np.zeros(1), np.ones(1), 500)
    for x, y in ((0.0, 1.0), (1.0, np.nan), (0.0, 0.0)):
        tell(model, state, x * ONE, y * ONE, np.ones(1), ONE)
    assert (state.age.item(), state.judged.sum(), state.rounds.item()) == (0.0, 0.0, 2.0)


def test_notes_say_when_it_began_anew_and_raise_an_alarm_for_a_while():
    model = Restarting(inner=Ridge(n_features=1), nats=3, young=5, every=20, alarm=30)
    state = model.start(1, np.zeros(1), np.ones(1), 500)
    said = []
    for value in np.repeat([0.0, 1.0], 60):
        tell(model, state, ONE, value * ONE, np.ones(1), ONE)
        said.append(model.notes(state, 0))
    assert [n.text[:18] for n in said[59]] == ["began anew: never;"]
    since = int(state.since.item())
    assert said[since - 1][0].text == f"began anew: in round {since} of those learned, 1 in all"
    assert [any(n.alarm for n in z) for z in said] == [since <= t + 1 <= since + 30 for t in range(120)]


@pytest.mark.slow
def test_it_wins_back_most_of_what_sudden_changes_cost():
    """Shares of the oracle, 4 replicas, of which standard errors are about .004."""
    world = Drifting(effects=WORLDS["abrupt, twice"], horizon=6000)
    best = world.best(4)
    plain, anew = (share(world, model, 4, best=best)[0].mean() for model in (INNER, Restarting(inner=INNER)))
    assert anew - plain > 0.06


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("abrupt, twice", 0.06), ("slow", 0.04), ("nothing drifts", -0.004)])
def test_restarting_memories_follow_sudden_and_slow_change_alike(name, least):
    """Shares of the oracle, 4 replicas, of which standard errors are about .004."""
    world = Drifting(effects=WORLDS[name], horizon=6000)
    best = world.best(4)
    both = Restarting(inner=Memories(inner=INNER))
    plain, found = (share(world, model, 4, best=best)[0].mean() for model in (INNER, both))
    assert found - plain > least
