"""Own coefficients per action: the block layout with an inverse for each action, and models side by side."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.records import Context
from evenhand.environments.logged import blocks
from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Fixed,
    Logistic,
    OnlineToBatch,
    PerAction,
    Ridge,
    Sampled,
    SelfNormalised,
)
from evenhand.policy.saving import flatten
from evenhand.problem import Outcome, Problem
from evenhand.recipes import ucb
from tests.calls import ask, tell

ACTIONS, N = 4, 3
PROBLEM = Problem(actions=tuple("abcd"), outcomes=(Outcome("gain"),), maximize="gain", horizon=200)


def cases(rng, index, n=N, alike=False):
    """Features of candidates with these actions, by action and in blocks, `(R,C)->(R,C,1+n),(R,C,A n)`."""
    x = np.ones((*index.shape, n)) if alike else rng.normal(size=(*index.shape, n))
    wide = np.zeros((*index.shape, ACTIONS, n))
    np.put_along_axis(wide, index[:, :, None, None], x[:, :, None], 2)
    return np.concatenate([index[:, :, None], x], 2), wide.reshape(*index.shape, ACTIONS * n)


def orders(rng, replicas):
    """All actions in order; two cases one after the other, as in forecasts; and any actions, any number of times."""
    yield np.tile(np.arange(ACTIONS), (replicas, 1))
    yield np.tile(np.arange(ACTIONS), (replicas, 2))
    yield np.tile(np.arange(ACTIONS)[::-1], (replicas, 1))
    yield rng.integers(0, ACTIONS, size=(replicas, ACTIONS))
    yield rng.integers(0, ACTIONS, size=(replicas, 7))


BLOCKS = {
    "ridge": (Ridge(n_features=N, n_outcomes=2, ridge=0.7, width=Fixed(0.3)), 1e-12),
    "bayesian_ridge": (BayesianRidge(n_features=N, n_outcomes=2, growth=1.1), 1e-9),
    # each fit ends within .01 deviations of theta, of at most 2 a priori: p may be .01 2 / 4 off
    "bayesian_logistic": (BayesianLogistic(n_features=N), 5e-3),
    "short memory": (BayesianLogistic(n_features=N, scale=0.5, growth=1.01), 5e-3),
}


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("plays", [1, 3])
@pytest.mark.parametrize("name", BLOCKS)
def test_it_is_the_block_layout(name, plays, alike):
    """In bonuses as well where all cases are alike, or where the width does not know what cases have in common."""
    inner, close = BLOCKS[name]
    own, wide = PerAction(inner=inner, actions=ACTIONS), replace(inner, n_features=ACTIONS * N)
    rng, m, replicas = np.random.default_rng(1), inner.n_outcomes, 3
    low, high = -np.arange(m) * 1.0, np.arange(m) + 1.0
    states = [model.start(replicas, low, high, 60) for model in (own, wide)]
    for t in range(50):
        for index in orders(rng, replicas):
            x, z = cases(rng, index, alike=alike)
            w = rng.normal(size=(replicas, 2, index.shape[1] if t % 2 else 1, m))
            said, expected = (
                model.value(s, q, w, np.zeros((replicas, 0)))
                for model, s, q in zip((own, wide), states, (x, z), strict=True)
            )
            np.testing.assert_allclose(said.mean, expected.mean, rtol=close, atol=close)
            if alike or not isinstance(inner, BayesianLogistic):
                np.testing.assert_allclose(said.bonus, expected.bonus, rtol=close, atol=close)
        x, z = cases(rng, rng.integers(0, ACTIONS, size=(replicas, plays)), alike=alike)
        y = low + (high - low) * (rng.random((replicas, plays, m)) < 0.4)
        seen, w = rng.random((replicas, plays, m)) < 0.9, np.ones((replicas, 2, 1, m))
        for model, s, q in zip((own, wide), states, (x, z), strict=True):
            model.update(s, q, np.where(seen, y, 0.0), seen, w)


def test_a_bonus_is_of_what_plays_in_other_cases_will_not_correct():
    """q sqrt(|c| / a) in place of q; c and a sum V^-1 x . x_i over all cases, a with every product's absolute value."""
    own, rng, parts = PerAction(inner=BayesianLogistic(n_features=N), actions=ACTIONS), np.random.default_rng(4), []
    state, past, w = own.start(1, np.zeros(1), np.ones(1), 10**6), np.zeros((0, N)), np.ones((1, 1, 1, 1))
    state.ends[:] = [[-np.inf], [np.inf]]  # so that nothing is clipped
    for _ in range(40):
        x, _ = cases(rng, rng.integers(0, ACTIONS, size=(1, 1)))
        center = own.value(state, x, w, np.zeros((1, 0))).mean.item()
        v, action = x[0, 0, 1:], int(x[0, 0, 0])
        q, part, curve = 4.0, 1.0, center * (1 - center)
        if len(past):
            product = state.inverse[action] @ v
            q = v @ product
            part = math.sqrt(abs((past @ product).sum() + q) / ((abs(past) @ abs(product)).sum() + q))
        reduced, more = curve * q * part, (10**6 - len(past)) / (ACTIONS * N)
        half = math.sqrt(curve * reduced * math.log1p((more * reduced) ** 2))
        assert own.value(state, x, w, np.zeros((1, 0))).bonus.item() == pytest.approx(half, rel=1e-9)
        parts.append(part)
        own.update(state, x, np.array([[[rng.random() < 0.5]]]) * 1.0, np.ones((1, 1, 1), bool), w)
        past = np.vstack([past, v])
    assert min(parts) < 0.2 < 0.9 < max(parts)


def test_the_layout_of_logs_is_that_of_blocks():
    index = np.tile(np.arange(ACTIONS), (1, 1))
    x, z = cases(np.random.default_rng(0), index)
    layout = blocks(ACTIONS, N)
    for a in range(ACTIONS):
        np.testing.assert_array_equal(np.where(layout[a] >= 0, x[0, a, 1:][layout[a]], 0.0), z[0, a])


@pytest.mark.parametrize(
    "inner", [Logistic(n_features=N, width=Fixed(0.2)), Sampled(inner=Ridge(n_features=N))], ids=repr
)
def test_other_models_learn_and_draw_for_each_action_as_they_do_alone(inner):
    own, rng, replicas = PerAction(inner=inner, actions=ACTIONS), np.random.default_rng(2), 2
    state = own.start(replicas, np.zeros(1), np.ones(1), 80)
    apart = [inner.start(replicas, np.zeros(1), np.ones(1), 20) for _ in range(ACTIONS)]
    assert own.draws(ACTIONS) == ACTIONS * inner.draws(1)
    for index in [np.tile(np.arange(ACTIONS), (replicas, 1)), np.tile([[2, 0, 3, 1]], (replicas, 1))] * 20:
        x, _ = cases(rng, index)
        w, u = rng.normal(size=(replicas, 2, 1, 1)), rng.random((replicas, own.draws(ACTIONS)))
        said, y = own.value(state, x, w, u), (rng.random((replicas, 1, 1)) < 0.5) * 1.0
        assert said.random == (inner.draws(1) > 0)
        for a in range(ACTIONS):
            here = int(np.flatnonzero(index[0] == a)[0])
            case, luck = x[:, here : here + 1, 1:].copy(), u.reshape(replicas, ACTIONS, -1)[:, a].copy()
            alone = inner.value(apart[a], case, w, luck)
            np.testing.assert_array_equal(said.mean[:, :, here], alone.mean[:, :, 0])
            np.testing.assert_array_equal(said.bonus[:, :, here], alone.bonus[:, :, 0])
            if a == index[0, 0]:
                inner.update(apart[a], case, y, y >= 0, w)
        own.update(state, x[:, :1].copy(), y, y >= 0, w)


@pytest.mark.parametrize("index", [-1.0, 4.0, 0.5, np.nan])
def test_an_index_that_no_action_has_is_named(index):
    own = PerAction(inner=Ridge(n_features=1), actions=ACTIONS)
    state = own.start(1, np.zeros(1), np.ones(1), 10)
    x = np.ones((1, ACTIONS, 2))
    x[0, 2, 0] = index
    message = r"features\[0, 2, 0\]: expected the index of an action, a whole number from 0 to 3, got"
    with pytest.raises(InvalidInput, match=message):
        ask(own, state, x, np.ones((1, 1, 1)))
    with pytest.raises(InvalidInput, match=message):
        tell(own, state, x, np.ones((1, ACTIONS, 1)), np.ones(1), np.ones((1, 1, 1)))
    tell(own, state, x, np.full((1, ACTIONS, 1), np.nan), np.ones(1), np.ones((1, 1, 1)))  # nothing is read there
    assert (state.count == 0).all()


def test_models_that_share_nothing_plan_for_a_part_of_the_rounds(monkeypatch):
    told, start = [], Logistic.start

    def note(self, n_replicas, low, high, horizon):
        told.append((n_replicas, horizon))
        return start(self, n_replicas, low, high, horizon)

    monkeypatch.setattr(Logistic, "start", note)
    PerAction(inner=Logistic(n_features=1), actions=ACTIONS).start(3, np.zeros(1), np.ones(1), 1000)
    assert told == [(3 * ACTIONS, 1000 // ACTIONS)]


def world(rng, rounds, replicas, n=N):
    """Cases with an intercept, and means that differ by action, `(T,R,n),(T,R,A)`."""
    theta, x = rng.normal(size=(replicas, ACTIONS, n)), rng.normal(size=(rounds, replicas, n))
    x[:, :, 0] = 1.0
    return x, np.clip(0.5 + 0.15 * np.einsum("ran,trn->tra", theta, x), 0.02, 0.98)


def context(x, layout="by action"):
    """A context that describes the same case for every action, `(n)->`."""
    replicas, n = x.shape
    features = np.empty((replicas, ACTIONS, 1 + n))
    features[:, :, 0], features[:, :, 1:] = np.arange(ACTIONS), x[:, None]
    if layout == "blocks":
        features = np.einsum("ab,rn->rabn", np.eye(ACTIONS), x).reshape(replicas, ACTIONS, -1)
    elif layout == "alike":
        features = features[:, :, 1:].copy()
    return Context(
        features, np.zeros((1, ACTIONS, 0)), np.zeros((replicas, 1, 0), np.int64), np.ones((1, ACTIONS), bool)
    )


def quality(model, layout="by action", replicas=30):
    """What `ucb` gains over random play, as a share of what the best does, `->(R)`."""
    rng = np.random.default_rng(5)
    x, mean = world(rng, PROBLEM.horizon, replicas)
    luck, each, policy = rng.random(mean.shape), np.arange(replicas), ucb(PROBLEM, model, warmup=0)
    state, gained = policy.start(replicas=replicas), np.zeros(replicas)
    for t in range(PROBLEM.horizon):
        d = policy.act(state, context(x[t], layout))
        a = d.plays[:, 0]
        gained += mean[t, each, a]
        policy.learn(state, d, (luck[t, each, a] < mean[t, each, a])[:, None, None] * 1.0)
    random = mean.mean(2).sum(0)
    return (gained - random) / (mean.max(2).sum(0) - random)


@pytest.mark.parametrize("kind", [BayesianRidge, BayesianLogistic])
def test_it_plays_as_well_as_blocks(kind):
    own = quality(PerAction(inner=kind(n_features=N), actions=ACTIONS))
    wide = quality(kind(n_features=ACTIONS * N), "blocks")
    gap = own - wide
    assert gap.mean() >= -2.0 * gap.std(ddof=1) / len(gap) ** 0.5 - 1e-9
    assert own.mean() > 0.6


def test_what_the_same_features_for_all_actions_cost():
    shared = Ridge(n_features=N, width=Fixed(0.3))
    with pytest.warns(EvenhandWarning, match="the same features"):
        blind = quality(shared, "alike")
    assert abs(blind.mean()) < 0.1
    assert quality(PerAction(inner=shared, actions=ACTIONS)).mean() > 0.6


@pytest.mark.parametrize(
    "inner", [Ridge(n_features=N, width=SelfNormalised(delta=0.1)), BayesianRidge(n_features=N)], ids=repr
)
def test_a_state_is_copied_saved_and_loaded(inner, tmp_path):
    policy = ucb(PROBLEM, PerAction(inner=inner, actions=ACTIONS), warmup=5)
    x, _ = world(np.random.default_rng(3), 40, 3)
    y = np.random.default_rng(4).random((40, 3, 1, 1))
    state = policy.start(replicas=[4, 0, 7], seed=2)
    for t in range(20):
        policy.learn(state, policy.act(state, context(x[t])), y[t])
    policy.save(state, tmp_path / "state.npz")
    others = [copy.deepcopy(state), policy.load(tmp_path / "state.npz")]
    for t in range(20, 40):
        decisions = [policy.act(s, context(x[t])) for s in (state, *others)]
        for s, d in zip((state, *others), decisions, strict=True):
            np.testing.assert_array_equal(d.plays, decisions[0].plays)
            policy.learn(s, d, y[t])
    alone = policy.start(replicas=[0], seed=2)
    for t in range(40):
        d = policy.act(alone, context(x[t, 1:2]))
        policy.learn(alone, d, y[t, 1:2])
    np.testing.assert_array_equal(d.plays[0], decisions[0].plays[1])
    rows = slice(ACTIONS, 2 * ACTIONS)
    np.testing.assert_array_equal(alone.model.theta, state.model.theta[rows])
    np.testing.assert_array_equal(alone.model.inverse, state.model.inverse[rows])


def test_iterates_of_it_are_kept_for_each_replica():
    model = OnlineToBatch(inner=PerAction(inner=Ridge(n_features=N, width=Fixed(0.2)), actions=ACTIONS), snapshots=4)
    inside = PerAction(inner=OnlineToBatch(inner=Ridge(n_features=N, width=Fixed(0.2)), snapshots=4), actions=ACTIONS)
    assert inside.n_features == model.n_features == 1 + N
    rng, state = np.random.default_rng(6), model.start(2, np.zeros(1), np.ones(1), 50)
    for _ in range(20):
        index = rng.integers(0, ACTIONS, size=(2, 1))
        counts = np.array([1.0, 0.0]) if rng.random() < 0.5 else np.ones(2)
        tell(model, state, cases(rng, index)[0], rng.random((2, 1, 1)), counts, np.ones((2, 1, 1)))
    kept = dict(flatten(state.past[0]))
    assert kept[".count"].sum() == 0.0  # the first iterate has learned nothing
    later = dict(flatten(state.past[1]))[".count"].reshape(2, ACTIONS).sum(1)
    np.testing.assert_array_equal(later, state.stride)


def test_outcomes_in_parts_leave_the_sums_of_the_same_plays_at_once():
    policy = ucb(replace(PROBLEM, n_plays=2), PerAction(inner=BayesianRidge(n_features=N), actions=ACTIONS))
    x, _ = world(np.random.default_rng(7), 15, 3)
    y, whole = np.random.default_rng(8).random((15, 3, 2, 1)), policy.start(replicas=3)
    decisions = [policy.act(whole, context(x[t])) for t in range(15)]
    parts, later = copy.deepcopy(whole), np.tile([False, True], (3, 1))
    for t, d in enumerate(decisions):
        policy.learn(whole, d, y[t])
        policy.learn(parts, d, np.where(later[:, :, None], np.nan, y[t]), pending=later)
        policy.learn(parts, d, np.where(~later[:, :, None], np.nan, y[t]))
    for name in ("gram", "moment", "squares", "count", "rounds"):
        a, b = (getattr(state.model, name) for state in (parts, whole))
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)
    assert (whole.model.rounds == 15).all()


@pytest.mark.parametrize("model", [BayesianRidge, BayesianLogistic])
def test_nobody_else_can_say_of_how_many_blocks_a_model_is(model):
    """Kernels would read beyond the replicas."""
    with pytest.raises(InvalidInput, match="blocks"):
        model(n_features=2, blocks=7)
    assert "blocks" not in repr(model(n_features=2))
