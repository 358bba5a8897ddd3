"""Forecasts of plans: what is asked of a model, and rows at the means and at their ends in one pass."""

import numpy as np
import pytest

from evenhand.core.records import Context, Worth
from evenhand.planning import history
from evenhand.planning.forecast import forecast
from evenhand.problem import Floor, Groups, Outcome, Parity, Problem
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import Rows, select

FLOOR = Floor("sale", rate=0.1)
MEANS, WIDTHS = np.array([0.3, 0.5]), np.array([0.1, 0.2])


def look(problem, side, factors=None, worth=("gain",)):
    """The forecast of two contexts of three actions, and the prices that the model was asked at, `(K,1|S*A,M)`."""
    state, asked = history.start(1), []
    for x in ([1.0, 2.0, 3.0], [0.5, 1.5, 1.0]):
        known = problem.declared[None] if factors is None else np.array(factors)[None, :, None]
        context = Context(np.array(x)[None, :, None], known, np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool))
        history.keep(state, context, np.ones(1), 10, 1)

    def ask(x, w):
        asked.append(w)
        price = np.broadcast_to(w, (1, w.shape[1], x.shape[1], 2))
        mean = np.einsum("rkam,m,ra->rka", price, MEANS, x[:, :, 0])
        return Worth(mean, np.einsum("rkam,m->rka", abs(price), WIDTHS), False)

    rows, _ = constraint_rows(problem)
    worth = select(problem, worth), np.eye(len(worth))[None]
    return forecast(state, ask, problem.shares[None], worth, rows, np.array([side]), np.ones(1, bool)), asked[0]


def problem(*, subject_to=(FLOOR,), groups=(), **gain):
    return Problem(
        actions=("idle", "a", "b"),
        outcomes=(Outcome("gain", **gain), Outcome("sale", free=("idle",)), Outcome("price", known={"a": 1, "b": 1})),
        maximize="gain",
        subject_to=subject_to,
        groups=groups,
        horizon=9,
    )


@pytest.mark.parametrize("side", [0, 1, -1])
def test_an_idle_action_needs_no_readings_of_its_own(side):
    found, asked = look(problem(free=("idle",)), side)
    assert asked.shape[2] == 1
    x = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 1.0]])
    counts = np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(found.gain[0], counts * (0.3 * x + 0.1), atol=1e-15)
    np.testing.assert_allclose(found.bonus[0], counts * np.full((2, 3), 0.1), atol=1e-15)
    np.testing.assert_allclose(found.use[0, :, 0], -counts * 0.5 * x, atol=1e-15)
    np.testing.assert_allclose(found.hope[0, :, 0], -counts * (0.5 * x + side * 0.2), atol=1e-15)
    assert (found.hope is found.use) == (side == 0)


def test_prices_that_differ_between_actions_are_asked_for_each():
    found, asked = look(problem(times="price"), 1, [0.0, 2.0, 3.0])
    assert asked.shape[2] == 6
    x, price = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 1.0]]), np.array([0.0, 2.0, 3.0])
    np.testing.assert_allclose(found.gain[0], price * (0.3 * x + 0.1), atol=1e-15)


def test_every_reading_of_the_objective_has_a_bonus_of_its_own():
    """As in decisions: one of the sum would be less, and a plan would spend at another rate than its decisions."""
    both = Problem(
        actions=("idle", "a", "b"),
        outcomes=(Outcome("gain", free=("idle",)), Outcome("sale", free=("idle",))),
        maximize="gain",
        subject_to=(FLOOR,),
        horizon=9,
    )
    found, asked = look(both, 0, worth=("gain", "sale"))
    assert asked.shape[1:3] == (4, 1)
    x = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 1.0]])
    np.testing.assert_allclose(found.bonus[0], [[0.0, 0.3, 0.3]] * 2, atol=1e-15)
    np.testing.assert_allclose(found.gain[0], [0.0, 1.0, 1.0] * (0.8 * x + 0.3), atol=1e-15)
    np.testing.assert_allclose(found.use[0, :, 0], -np.array([0.0, 1.0, 1.0]) * 0.5 * x, atol=1e-15)


COUNTS = [2, 5, 3]  # contexts of three replicas


def several(replicas, due, side=1, **gain):
    """The forecast of some of three replicas with contexts of their own; the features and prices that were asked."""
    homes, state, asked = Groups("home", ["near", "far"]), history.start(len(replicas)), []
    stated = problem(subject_to=(Parity("sale", by="home", tolerance=0.1),), groups=(homes,), **gain)
    for s in range(max(COUNTS)):
        luck = [np.random.default_rng([r, s]) for r in replicas]
        x = np.array([z.uniform(0.5, 2.0, (3, 1)) for z in luck])
        known = np.array([np.array([[0.0], [2.0], [3.0]]) * z.uniform(0.5, 2.0) for z in luck])
        counted = np.array([float(s < COUNTS[r]) for r in replicas])
        groups = np.array([[[z.integers(2)]] for z in luck])
        offered = np.array([[True, True, z.uniform() < 0.5] for z in luck])
        history.keep(state, Context(x, known, groups, offered), counted, 10, 1)
    means = MEANS + 0.1 * np.array(replicas)[:, None]

    def ask(x, w):
        asked.append((x, w))
        price = np.broadcast_to(w, (len(x), w.shape[1], x.shape[1], 2))
        mean = np.einsum("rkam,rm,ra->rka", price, means, x[:, :, 0])
        return Worth(mean, np.einsum("rkam,m->rka", abs(price), WIDTHS), False)

    rows, _ = constraint_rows(stated)
    prices = 1.0 + 0.5 * np.array(replicas)[:, None, None]
    worth = select(stated, ("gain",)), prices
    shares = np.array([[0.2 + 0.1 * r, 0.8 - 0.1 * r] for r in replicas])
    found = forecast(state, ask, shares, worth, rows, np.full(len(rows), side), np.array(due))
    return found, *asked[0]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("gain", [{"free": ("idle",)}, {"times": "price"}])
@pytest.mark.parametrize("due", [[True, False, True], [False, False, True], [True, True, True]])
def test_a_replica_reads_what_it_reads_alone(side, gain, due):
    found, x, w = several([0, 1, 2], due, side, **gain)
    assert (found.hope is found.use) == (side == 0)
    for r, count in enumerate(COUNTS):
        if not due[r]:
            assert found.kept[r] == 0
            assert not x[r].any()
            assert not w[r].any()
            continue
        alone, x_alone, w_alone = several([r], [True], side, **gain)
        assert found.kept[r] == alone.kept[0] == count
        for a, b in zip(found[:-1], alone[:-1], strict=True):
            np.testing.assert_array_equal(a[r, :count], b[0])
        np.testing.assert_array_equal(x[r, : 3 * count], x_alone[0])
        np.testing.assert_array_equal(w[r, :, : 3 * count], w_alone[0])


def test_only_contexts_of_replicas_that_are_due_are_read(monkeypatch):
    """Of 50 replicas that plan one after the other, 49 would be read in vain."""
    pull, cases = Rows.pull, []

    def spy(rows, frame, shares, q):
        cases.append((len(frame.known), len(frame.groups), len(q)))
        return pull(rows, frame, shares, q)

    monkeypatch.setattr(Rows, "pull", spy)
    for due, read in (([True, False, True], 2 * 3), ([True, False, False], 2), ([True, True, True], 3 * 5)):
        cases.clear()
        _, x, _ = several([0, 1, 2], due)
        assert cases == [(read, read, read)] * 2
        assert x.shape == (3, 3 * read // sum(due), 1)
