import math
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernels
from evenhand.core.row_pairs import Packed, unpack
from evenhand.models import (
    BayesianRidge,
    DiagonalLogistic,
    DiagonalRidge,
    Memories,
    PerAction,
    Prior,
    Stacked,
    advised,
)
from evenhand.models.base import ROUND, ColumnGain
from evenhand.models.diagonal import posterior as diagonal
from evenhand.models.diagonal.logistic import log_odds_after
from evenhand.numerics.evidence import BELIEVED
from evenhand.problem import Budget, Categorical, Numeric, Outcome, Problem
from evenhand.problem.problem import Problem as ProblemClass
from tests.wide_worlds import INTERVALS, covered

POWERS = 4.0 ** np.arange(-3, 7)
ONE = np.ones((1, 1, 1, 1))


def start(model, horizon=1000):
    return model.start(1, np.zeros(model.n_outcomes), np.ones(model.n_outcomes), horizon)


def learn(model, state, x, y, weight=1.0):
    """Learn observations one at a time, `(N,n),(N,M)`."""
    for row, outcome in zip(x, y, strict=True):
        told = ROUND._replace(weight=weight)
        model.update(state, row[None, None], outcome[None, None], np.ones((1, 1, len(outcome)), bool), ONE, told)


def precision(state, r=0):
    """The penalty and the precisions of a replica's first action, `->(),(d)`."""
    rho = state.chosen[r] * state.size[r] / state.count[r]
    return rho, rho + state.factor[r] * state.information[r]


def means(state):
    """Theta less its origin, `->(M,d)`."""
    return (state.factor[0] * state.moment[0] / precision(state)[1][:, None]).T


def ridge_twin(x, y, weight):
    """Plain NumPy: information, moments, penalty and noise after all observations, `(N,n),(N,M)`."""
    n, m = x.shape[1], y.shape[1]
    info, h = np.zeros(n), np.zeros((n, m))
    losses, missed, chosen, size = np.zeros(10), np.zeros((10, m, m)), 1.0, 0.0
    for t, z in enumerate(x):
        size += weight * z @ z
        scale = size / (weight * (t + 1))
        for g, power in enumerate([*POWERS, chosen]):
            p = power * scale + info
            s = (z**2 / p).sum()
            error = y[t] - (z[:, None] * h / p[:, None]).sum(0)
            if g < 10:
                losses[g] += math.log(1.0 + weight * s)
                missed[g] += weight * np.outer(error, error) / (1.0 + weight * s)
        rest = 1.0 + weight * (s - z**2 / p)
        h = h + weight * (z / rest)[:, None] * (error + z[:, None] * h / p[:, None])
        info = info + weight * z**2 / rest
        count = weight * (t + 1)
        logs = np.log(BELIEVED + missed[:, range(m), range(m)]).sum(1)
        evidence = 0.5 * m * (np.log(POWERS) - POWERS) - 0.5 * (m * losses + (1.0 + count) * logs)
        best = int(evidence.argmax())
        chosen = POWERS[best]
    return info, h, chosen, (BELIEVED * np.eye(m) + missed[best]) / (1.0 + count)


@pytest.mark.parametrize(("seed", "m", "weight"), [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 2.5)])
def test_a_ridge_regression_is_its_twin(seed, m, weight):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.7)
    x[:, 0] = 1.0
    y = 0.5 + 0.1 * x @ rng.normal(size=(6, m)) + 0.1 * rng.normal(size=(60, m))
    model = DiagonalRidge(n_features=6, n_outcomes=m)
    state = start(model)
    learn(model, state, x, y, weight)
    info, h, chosen, sigma = ridge_twin(x, y, weight)
    np.testing.assert_allclose(state.information[0], info, rtol=1e-9)
    np.testing.assert_allclose(state.moment[0], h, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(state.sigma[0], sigma, rtol=1e-8, atol=1e-12)
    assert state.chosen[0] == chosen
    z = rng.normal(size=6)
    rho = chosen * (x**2).sum() / len(x)
    q, theta = (z**2 / (rho + info)).sum(), h / (rho + info)[:, None]
    w = rng.random((1, 1, 1, m))
    mean, bonus, _ = model.value(state, z[None, None], w, np.zeros((1, 0)))[:3]
    assert mean.item() == pytest.approx(w[0, 0, 0] @ (z @ theta))
    more = (1000 - state.rounds[0]) * (1.0 + weight * 60) / (1.0 + state.rounds[0])
    n = max(int(state.touched[0] + more * state.novel[0]), 1)
    noise = math.sqrt(w[0, 0, 0] @ sigma @ w[0, 0, 0])
    far = (w[0, 0, 0] * (1.0 - z @ theta)).sum()
    assert bonus.item() == pytest.approx(min(noise * math.sqrt(q * math.log1p((more * q / n) ** 2)), far))


def test_one_level_of_many_is_exact():
    """Features that never overlap: precision and means of the exact posterior at the same penalty."""
    rng = np.random.default_rng(3)
    x = np.eye(8)[rng.integers(8, size=100)] * rng.uniform(0.5, 2.0, (100, 1))
    y = 0.5 + 0.2 * rng.normal(size=(100, 2))
    model = DiagonalRidge(n_features=8, n_outcomes=2)
    state = start(model)
    learn(model, state, x, y)
    rho, found = precision(state)
    v = rho * np.eye(8) + x.T @ x
    np.testing.assert_allclose(found, np.diag(v), rtol=1e-12)
    np.testing.assert_allclose(means(state), np.linalg.solve(v, x.T @ y).T, rtol=1e-10)
    exact = BayesianRidge(n_features=8, n_outcomes=2, prior=Prior(sd=math.sqrt(BELIEVED / state.chosen[0])))
    dense = start(exact)
    learn(exact, dense, x, y)
    assert np.sqrt(dense.sigma[0, 0, 0]) == pytest.approx(np.sqrt(state.sigma[0, 0, 0]), rel=0.05)


@pytest.mark.parametrize("kind", [DiagonalRidge, DiagonalLogistic])
def test_each_observation_leaves_variances_and_means_of_the_exact_step(kind):
    """From a diagonal prior, an observation leaves the diagonal of the exact posterior, for any correlation."""
    rng = np.random.default_rng(4)
    model = kind(n_features=5)
    state = start(model)
    learn(model, state, rng.normal(size=(20, 5)), rng.integers(0, 2, (20, 1)).astype(float))
    z, y = 2.0 * rng.normal(size=5), 1.0
    size, count = state.size[0] + z @ z, state.count[0] + 1.0
    rho = state.chosen[0] * size / count  # at which this observation is learned
    before = rho + state.information[0]
    theta = state.moment[0, :, 0] / before
    learn(model, state, z[None], np.array([[y]]))
    if kind is DiagonalRidge:
        v = np.diag(before) + np.outer(z, z)
        best = theta + np.linalg.solve(v, z) * (y - z @ theta)
    else:
        s = (z**2 / before).sum()
        u = brentq(lambda u: (u - z @ theta) / s - (y - expit(u)), -50.0, 50.0, xtol=1e-13)
        v = np.diag(before) + expit(u) * expit(-u) * np.outer(z, z)
        best = theta + z / before * (y - expit(u))
    np.testing.assert_allclose(1.0 / (rho + state.information[0]), np.diag(np.linalg.inv(v)), rtol=1e-9)
    np.testing.assert_allclose(state.moment[0, :, 0] / (rho + state.information[0]), best, rtol=1e-8)


@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("variance", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("before", [-30.0, -1.0, 5.0])
def test_the_most_probable_log_odds(before, variance, y):
    found = log_odds_after(before, variance, y, 2.0)
    ends = before - 2.0 * variance - 1.0, before + 2.0 * variance + 1.0
    root = brentq(lambda u: (u - before) - variance * 2.0 * (y - expit(u)), *ends, xtol=1e-12)
    assert found == pytest.approx(root, abs=1e-10 * (1.0 + abs(root)))


@pytest.mark.parametrize("kind", [DiagonalRidge, DiagonalLogistic])
def test_packed_rows_are_read_as_the_rows_that_they_stand_for(kind):
    rng = np.random.default_rng(5)
    packed, dense = Packed(columns=12, pairs=4), kind(n_features=12)
    models = [PerAction(inner=z, actions=3) for z in (kind(packed=packed), dense)]
    states = [start(model) for model in models]

    def rows(count):
        z = np.zeros((1, count, 8))
        z[:, :, 1] = 1.0
        for c in range(count):
            used = rng.integers(1, 4)
            z[0, c, 2 : 2 + 2 * used : 2] = 1 + rng.permutation(11)[:used]
            z[0, c, 3 : 3 + 2 * used : 2] = rng.normal(size=used)
        lead = rng.integers(3, size=(1, count, 1)).astype(float)
        return [np.concatenate([lead, own], 2) for own in (z, unpack(z, 12))]

    for _ in range(40):
        y = rng.integers(0, 2, (1, 2, 1)).astype(float)
        for model, state, x in zip(models, states, rows(2), strict=True):
            model.update(state, x, y, np.ones((1, 2, 1), bool), ONE)
    asked = rows(5)
    worth = [m.value(s, x, ONE, np.zeros((1, 0))) for m, s, x in zip(models, states, asked, strict=True)]
    np.testing.assert_allclose(worth[0].mean, worth[1].mean, rtol=1e-10)
    np.testing.assert_allclose(worth[0].bonus, worth[1].bonus, rtol=1e-10)
    parts = [m.contributions(s, x[:, :2], ONE)[0, 0] for m, s, x in zip(models, states, asked, strict=True)]
    means = worth[0].mean[0, 0]
    assert parts[0].sum() == pytest.approx(means[0] - means[1])
    assert parts[1].sum() == pytest.approx(means[0] - means[1])
    assert not parts[0][1::2].any()  # an index has no part


def test_rows_of_mostly_zeros_are_read_by_their_other_numbers_with_the_same_bits(monkeypatch):
    rng = np.random.default_rng(8)
    x = np.zeros((2, 30, 41))
    x[:, :, 0] = rng.integers(2, size=(2, 30))
    x[:, :, 1] = 1.0
    np.put_along_axis(x, rng.integers(2, 41, (2, 30, 5)), rng.normal(size=(2, 30, 5)), 2)
    y = rng.random((2, 30, 1))

    def worth():
        model = PerAction(inner=DiagonalRidge(n_features=40), actions=2)
        state = model.start(2, np.zeros(1), np.ones(1), 100)
        model.update(state, x, y, np.ones((2, 30, 1), bool), np.ones((2, 1, 1, 1)))
        return model.value(state, x, np.ones((2, 1, 1, 1)), np.zeros((2, 0)))

    short = worth()
    monkeypatch.setattr(diagonal, "_SPARSE", 0)
    whole = worth()
    np.testing.assert_array_equal(short.mean, whole.mean)
    np.testing.assert_array_equal(short.bonus, whole.bonus)
    assert short.mean.all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DiagonalRidge, DiagonalLogistic])
@pytest.mark.parametrize("name", [name for name in INTERVALS if "correlation" not in name])
def test_the_truth_is_within_two_standard_deviations_as_often_as_it_should_be(kind, name):
    assert 0.93 <= np.mean([covered(kind, name, seed) for seed in range(20)]) <= 0.975


@pytest.mark.parametrize("kind", [DiagonalRidge, DiagonalLogistic])
def test_what_fades_is_believed_less_and_at_last_not_at_all(kind):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(30, 4)), rng.integers(0, 2, (30, 1)).astype(float)
    model = kind(n_features=4)
    state = start(model)
    learn(model, state, x, y)
    once = state.information.copy(), state.count.copy(), state.losses.copy()
    model.fade(state, np.array([0.25]), np.ones(1))
    assert state.information[0].tolist() == once[0][0].tolist()  # not a pass over all columns
    np.testing.assert_allclose([state.factor[0], state.count[0]], [0.25, 0.25 * once[1][0]])
    np.testing.assert_allclose(state.losses, 0.25 * once[2])
    kept = 1.0
    for _ in range(160):  # until the factor is multiplied into the sums
        model.fade(state, np.array([0.5]), np.ones(1))
        learn(model, state, x[:1], y[:1])
        kept = 0.5 * kept
        assert state.factor[0] > 1e-31
    total = state.factor[0] * state.information[0]
    assert (total <= 2.0 * x[0] ** 2 + 1e-9).all()
    assert (total > 0.0).all()
    model.fade(state, np.array([1e-9]), np.ones(1))
    assert (state.count[0], state.factor[0]) == (0.0, 1.0) or not state.information.any()
    assert model.value(state, x[None, :1], ONE, np.zeros((1, 0))).mean.item() == (0.0 if kind is DiagonalRidge else 0.5)


def shop():
    outcomes = (Outcome("won"), Outcome("post", known={"letter": 1.0, "call": 1.0, "none": 0.0}))
    return Problem(
        actions=("none", "letter", "call"),
        outcomes=outcomes,
        maximize="won",
        subject_to=(Budget("post", total=60),),
        horizon=200,
    )


def packed_case(policy, level, value=1.0):
    row = np.array([0.0, 1.0, 1.0 + level, value])
    x = np.stack([np.concatenate([[float(a)], row]) for a in range(3)])[None]
    problem = policy.problem
    return eh.Context(x, problem.declared[None], np.zeros((1, 1, 0), int), np.ones((1, 3), bool))


@pytest.mark.parametrize("kind", [DiagonalRidge, DiagonalLogistic])
def test_plays_whose_outcomes_wait_make_bonuses_less_until_they_come(kind):
    problem = shop()
    policy = eh.resolving(problem, PerAction(inner=kind(packed=Packed(columns=64, pairs=2), scale=0.2), actions=3))
    state, context = policy.start(), packed_case(policy, 3)

    def bonus():
        loop = policy._assembly.loop
        with loop.delay.read(state):
            return loop.questions.worth(state, context.features, ONE).bonus[0, 0].copy()

    waiting, seen = [], [bonus()]
    for value in (0.1, 0.7, 0.3, 0.9):
        waiting.append(policy.act(state, packed_case(policy, 3, value)))
        own = state.waiting.sums[0].gram.copy()
        seen.append(bonus())
        np.testing.assert_array_equal(own, state.waiting.sums[0].gram)  # a question changes nothing
    for earlier, later, decision in zip(seen, seen[1:], waiting, strict=False):
        assert later[decision.plays.item()] < earlier[decision.plays.item()]
    arrived = policy.model.value(state.model, context.features, ONE, np.zeros((1, 0))).bonus[0, 0]
    assert (arrived[[d.plays.item() for d in waiting]] > seen[-1][[d.plays.item() for d in waiting]]).all()
    for decision in waiting:
        policy.cancel(state, decision)
    assert not state.waiting.sums[0].gram.any()
    assert not state.waiting.sums[0].plays.any()
    own = policy.model.value(state.model, context.features, ONE, np.zeros((1, 0))).bonus[0, 0]
    np.testing.assert_array_equal(bonus(), own)


def test_sums_of_plays_that_no_longer_wait_are_exactly_0():
    sums, one = np.zeros((2, 3)), np.ones((1, 1))
    first, second = (ColumnGain(None, (2, 3), np.array([[[3, 4, 3]]]), np.array([[[z, 1.0, 0.0]]])) for z in (0.1, 0.2))
    for gain, amount in ((first, one), (second, one), (first, -one)):
        gain.add(sums, amount)
    np.testing.assert_allclose(sums, [[0.0, 0.0, 0.0], [0.2, 1.0, 0.0]])
    second.add(sums, -one)
    assert not sums.any()


def test_a_decision_allocates_nothing_of_the_size_of_all_columns():
    """10 MB of coefficients per action: no copy and no pass that makes one, with plays that wait and drift."""
    inner = DiagonalRidge(packed=Packed(columns=2**20, pairs=2))
    policy = eh.resolving(shop(), Memories(inner=PerAction(inner=inner, actions=3), half_lives=(50,), every=2))
    state = policy.start()
    decision = policy.act(state, packed_case(policy, 0))
    with kernels("interpreted"):  # which copies what it is given
        tracemalloc.start()
        for t in range(6):
            policy.learn(state, decision, np.array([[[0.5]]]))
            policy.act(state, packed_case(policy, t))
            decision = policy.act(state, packed_case(policy, t))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 2_000_000


def test_the_default_keeps_no_covariances_of_packed_or_very_wide_rows(monkeypatch):
    problem = shop()
    assert isinstance(advised(problem, 1001), DiagonalLogistic)
    assert not isinstance(advised(problem, 1000), DiagonalLogistic)
    numbers = tuple(Numeric(f"x{i}", 0, 1) for i in range(1000))
    assert PerAction.of(replace(problem, features=numbers)).inner == BayesianRidge(n_features=1001)
    levels = Categorical("site", tuple(map(str, range(302))))
    assert PerAction.of(replace(problem, features=(levels,))).inner == DiagonalRidge(n_features=302)
    of = SimpleNamespace(
        actions=("a", "b"), learned=("won",), n_features=6, packed=Packed(64, pairs=3), packing=None, features=()
    )
    assert PerAction.of(of) == PerAction(inner=DiagonalRidge(packed=of.packed), actions=2)
    of.packed, of.n_features = None, 1002
    assert PerAction.of(of) == PerAction(inner=DiagonalRidge(n_features=1002), actions=2)
    packed = Packed(columns=64, pairs=1)
    monkeypatch.setattr(ProblemClass, "packed", packed, raising=False)
    outcomes = (Outcome("won"), Outcome("spent", low=0.0, high=9.0))
    wide = Problem(
        actions=("a", "b"),
        features=(eh.Numeric("age", 0, 9),),
        outcomes=outcomes,
        maximize="won",
        horizon=9,
    )
    found = advised(wide)
    assert isinstance(found, Stacked)
    kinds = [part.inner for part in found.parts]
    assert kinds == [DiagonalLogistic(packed=packed), DiagonalRidge(packed=packed)]
    assert advised(shop(), packed) == DiagonalLogistic(packed=packed)
    policy = eh.ucb(shop(), PerAction(inner=DiagonalRidge(packed=packed), actions=3))
    assert "each coefficient by itself, without covariances: 0 of 192" in str(policy.status(policy.start()))


def test_what_cannot_be_read_is_refused():
    model = DiagonalRidge(packed=Packed(columns=8, pairs=2))
    state = start(model)
    for index in (8.0, -1.0, 2.5):
        x = np.array([[[0.0, 1.0, index, 1.0]]])
        with pytest.raises(InvalidInput, match=r"features\[0, 0, 2\].*from 0 to 7"):
            model.value(state, x, ONE, np.zeros((1, 0)))
    with pytest.raises(InvalidInput, match="twice the pairs"):
        DiagonalRidge(n_features=5, packed=Packed(columns=8, pairs=2))
    with pytest.raises(InvalidInput, match="n_features"):
        DiagonalLogistic()


def test_a_narrow_prior_is_given_up_once_the_evidence_is_against_it():
    rng = np.random.default_rng(7)
    x = np.eye(10)[rng.integers(10, size=300)]
    y = x @ rng.uniform(0.1, 0.9, (10, 1)) + 0.05 * rng.normal(size=(300, 1))
    model = DiagonalRidge(n_features=10, prior=Prior(mean=0.5, sd=0.002))
    state = start(model)
    assert state.chosen[0] == pytest.approx((0.25 / 0.002) ** 2)
    learn(model, state, x, y)
    assert state.chosen[0] == 1.0
