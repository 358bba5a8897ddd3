from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.objectives import GeneralizedGini
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem, Rows
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import Cases, select, stack
from tests import twins
from tests.examples.problems import COURT, EVERYTHING, LITTLE
from tests.problems import pose


@st.composite
def frames(draw):
    """Rows of any kind, and the cases that they see: any number of replicas, candidates, outcomes, groups and rows."""
    counts = {name: draw(st.integers(low, 4)) for name, low in (("r", 1), ("a", 1), ("d", 0), ("k", 1))}
    m, known, groupings = draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.integers(0, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    r, a, d = counts["r"], counts["a"], counts["d"]
    sizes = rng.integers(2, 4, groupings)
    first = np.cumsum(sizes) - sizes
    grouping = rng.integers(-1, groupings, d) if groupings else np.full(d, -1)
    column = np.array([first[g] + rng.integers(sizes[g]) if g >= 0 else -1 for g in grouping], np.int64)
    rows = Rows(
        names=tuple(f"row {j}" for j in range(d)),
        learned=rng.normal(size=(d, m)) * (rng.random((d, m)) < 0.7),
        known=rng.normal(size=(d, known)) * (rng.random((d, known)) < 0.7),
        always=rng.choice([-1.0, 0.0, 1.0], d),
        inside=np.where(grouping >= 0, rng.choice([-1.0, 1.0], d), 0.0),
        grouping=grouping,
        column=column,
        by_share=rng.random(d) < 0.5,
        sure=rng.random(known) < 0.7,
        noisy=np.zeros(known, bool),
    )
    same = draw(st.booleans())
    lead = 1 if same else r
    context = Context(
        features=np.zeros((r, a, 1)),
        known=rng.normal(size=(lead, a, known)),
        groups=(first + (rng.random((r, draw(st.sampled_from([1, a])), groupings)) * sizes)).astype(np.int64),
        offered=np.ones((1, a), bool),
    )
    shares = rng.uniform(0.05, 0.9, size=(1 if draw(st.booleans()) else r, int(sizes.sum())))
    return rows, context, shares, rng.normal(size=(r, a, m)), rng.normal(size=(r, counts["k"], d))


@given(frames())
def test_post_and_pull_are_their_twins(frame):
    rows, context, shares, y, q = frame
    z = np.broadcast_to(context.known, (len(y), *context.known.shape[1:])).copy()
    expected = twins.post(rows, context.groups, shares, y, z)
    np.testing.assert_allclose(rows.post(context, shares, y, z), expected, rtol=1e-12, atol=1e-11)
    prices, offset = rows.pull(context, shares, q)
    priced, expected = twins.pull(rows, context.groups, shares, context.known, q)
    np.testing.assert_allclose(np.broadcast_to(prices, priced.shape), priced, atol=1e-11)
    np.testing.assert_allclose(offset, expected, atol=1e-11)


@given(frames())
def test_pull_is_the_adjoint_of_post(frame):
    """Every candidate played alone, and all of them together, as rows sum over plays."""
    rows, context, shares, y, q = frame
    prices, offset = rows.pull(context, shares, q)
    z = np.broadcast_to(context.known, (len(y), *context.known.shape[1:])).copy()
    worth = (prices * y[:, None]).sum(3) + offset
    together = np.einsum("rkd,rd->rk", q, rows.post(context, shares, y, z))
    np.testing.assert_allclose(together, worth.sum(2), rtol=1e-9, atol=1e-9)
    for a in range(z.shape[1]):
        one = Cases(z[:, a : a + 1], context.groups[:, a : a + 1] if context.groups.shape[1] > 1 else context.groups)
        alone = np.einsum("rkd,rd->rk", q, rows.post(one, shares, y[:, a : a + 1], z[:, a : a + 1]))
        np.testing.assert_allclose(alone, worth[:, :, a], rtol=1e-9, atol=1e-9)


def test_prices_are_per_candidate_only_where_a_row_by_group_of_candidates_reads_a_learned_outcome():
    labels = Groups("label", ["x", "y"], of={"a": "x", "b": "y", "c": "y"})
    problem = pose("click", Outcome("shown", known=1.0, sure=False), actions="abc", groups=(labels,), horizon=9)
    groups = problem.groups_of(np.zeros((1, 0), np.int64))
    frame = Cases(problem.declared[None], groups)
    for constraint, wide in ((Parity("shown", "label", 0.1), 1), (Parity("click", "label", 0.1), 3)):
        rows, _ = constraint_rows(replace(problem, subject_to=(constraint,)))
        prices, _ = rows.pull(frame, problem.shares[None], np.ones((1, 1, len(rows))))
        assert prices.shape == (1, 1, wide, 1)
        alike = Cases(problem.declared[None], groups[:, :1])
        assert rows.pull(alike, problem.shares[None], np.ones((1, 1, len(rows))))[0].shape == (1, 1, 1, 1)


def test_the_sum_of_each_group_is_a_row_of_its_own_without_a_share():
    of = {"a": "x", "b": "y", "c": "y"}
    problem = Problem(
        actions=("a", "b", "c"),
        outcomes=(Outcome("click"), Outcome("shown", known=1.0, sure=False)),
        maximize=GeneralizedGini(("shown label=y", "shown label=x", "click")),
        groups=(Groups("label", ["x", "y"], of=of), Groups("age", ["young", "old"])),
        horizon=9,
        n_plays=3,
    )
    assert problem.each("shown", by="label") == ("shown label=x", "shown label=y")
    rows = select(problem, problem.objective.outcomes)
    groups = problem.groups_of(np.array([[3]]))
    np.testing.assert_array_equal(groups, [[[0, 3], [1, 3], [1, 3]]])
    z, y = np.array([[[1.0], [1.0], [0.0]]]), np.array([[[1.0], [0.0], [0.5]]])
    v = rows.post(Cases(z, groups), np.full((1, 4), 0.01), y, z)
    np.testing.assert_array_equal(v, [[1.0, 1.0, 1.5]])
    np.testing.assert_array_equal(rows.is_known, [False, False, False])
    low, high = problem.ranges(rows.names)
    np.testing.assert_array_equal(low, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(high, [2.0, 1.0, 3.0])  # two actions of label y, one of x, three plays
    with pytest.raises(InvalidInput, match=r"^maximize: expected one of the outcomes"):
        replace(problem, maximize=GeneralizedGini(("shown label=z",)))
    with pytest.raises(InvalidInput, match=r"^each: by: expected one of"):
        problem.each("shown", by="mood")


def test_rows_of_known_outcomes_need_no_reading_of_their_own():
    rows = stack([select(EVERYTHING, ("letters", "gain", "miles")), select(EVERYTHING, ("hours",))])
    np.testing.assert_array_equal(rows.readings(by_row=True), [0, 0, 0, 1])
    np.testing.assert_array_equal(rows.readings(by_row=False), [0, 0, 0, 0])
    np.testing.assert_array_equal(rows.is_known, [True, False, True, False])
    np.testing.assert_array_equal(rows.is_sure, [True, False, True, False])


def test_select_reads_one_outcome_per_row_learned_or_known():
    rows = select(EVERYTHING, ("miles", "hours"))
    frame = Context(np.zeros((1, 1, 1)), np.zeros((1, 1, 2)), np.array([[[0, 3]]]), np.ones((1, 1), bool))
    v = rows.post(frame, np.ones((1, 5)), np.array([[[0.5, 1.25]]]), np.array([[[2.0, 3.5]]]))
    assert rows.names == ("miles", "hours")
    np.testing.assert_array_equal(v, [[3.5, 1.25]])
    assert rows.reads_learned
    assert not select(EVERYTHING, ("miles",)).reads_learned


def test_no_constraints_are_no_rows():
    rows, bound = constraint_rows(LITTLE, ())
    assert (len(rows), bound.shape) == (0, (0,))
    frame = Context(np.zeros((1, 1, 1)), np.zeros((1, 1, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 1), bool))
    prices, offset = rows.pull(frame, np.zeros((1, 0)), np.zeros((1, 1, 0)))
    np.testing.assert_array_equal(prices, np.zeros((1, 1, 1, 1)))
    np.testing.assert_array_equal(offset, np.zeros((1, 1, 1)))


def test_stack_puts_rows_below_each_other():
    a, b = select(EVERYTHING, ("gain",)), constraint_rows(EVERYTHING)[0]
    both = stack([a, b])
    assert both.names == a.names + b.names
    rng = np.random.default_rng(1)
    frame = Context(np.zeros((2, 1, 1)), np.zeros((1, 1, 2)), np.array([[[0, 4]], [[2, 3]]]), np.ones((1, 1), bool))
    shares, y, z = rng.uniform(0.1, 1, (2, 5)), rng.normal(size=(2, 1, 2)), rng.normal(size=(2, 1, 2))
    parts = [r.post(frame, shares, y, z) for r in (a, b)]
    np.testing.assert_array_equal(both.post(frame, shares, y, z), np.concatenate(parts, 1))


def test_the_court_has_two_budgets_and_eight_signed_parities():
    rows, bound = constraint_rows(COURT.problem)
    assert len(rows) == 10
    assert rows.names[:4] == ("ride", "voucher", "ride group=0 above", "ride group=0 below")
    np.testing.assert_allclose(bound, [0.05, 0.2] + [1e-7] * 8)
    assert not rows.reads_learned


def test_the_courts_parity_rows_are_those_of_the_paper():
    """+-(2 1{a} 1{group = g} - 1{a}) for rides, then for vouchers, g = 0 and 1."""
    rows, _ = constraint_rows(COURT.problem)
    shares = COURT.problem.shares[None]
    for group in (0, 1):
        for action, z in (("nothing", [0, 0]), ("ride", [1, 0]), ("voucher", [0, 1])):
            frame = Context(np.zeros((1, 1, 1)), np.zeros((1, 1, 2)), np.array([[[group]]]), np.ones((1, 1), bool))
            v = rows.post(frame, shares, np.zeros((1, 1, 1)), np.array([[z]], float))[0]
            ride, voucher = float(action == "ride"), float(action == "voucher")
            expected = [ride, voucher]
            for c in (ride, voucher):
                for g in (0, 1):
                    row = 2 * c * (group == g) - c
                    expected += [row, -row]
            np.testing.assert_array_equal(v, expected)


SHARES = {"a": 0.2, "b": 0.3, "c": 0.5}


def parity_problem(learned, known_shares=True):
    cost = Outcome("cost", high=2.0) if learned else Outcome("cost", known={"give": 2.0, "some": 0.5})
    return Problem(
        actions=("hold", "give", "some"),
        outcomes=(Outcome("gain"), cost),
        maximize="gain",
        subject_to=(Parity("cost", by="side", tolerance=0.1), Parity("cost", by="place", tolerance=0.2)),
        groups=(Groups("side", {"left": 0.4, "right": 0.6}), Groups("place", SHARES if known_shares else list(SHARES))),
        horizon=100,
    )


@pytest.mark.parametrize("learned", [False, True])
def test_parity_columns_sum_to_a_direct_count_of_what_each_group_was_given(learned):
    """sum_t v_t = sum_t c_t 1{g_t = g} / share_g - sum_t c_t, counted group by group."""
    problem = parity_problem(learned)
    rows, bound = constraint_rows(problem)
    np.testing.assert_allclose(bound, [0.1] * 4 + [0.2] * 6)
    rng = np.random.default_rng(2)
    side, place = rng.integers(0, 2, 500), 2 + rng.choice(3, 500, p=list(SHARES.values()))
    c = rng.choice([0.0, 0.5, 2.0], 500)
    y = np.stack([rng.random(500), c], 1) if learned else rng.random((500, 1))
    z = np.zeros((500, 0)) if learned else c[:, None]
    frame = Context(np.zeros((500, 1, 1)), z[:, None], np.stack([side, place], 1)[:, None], np.ones((1, 1), bool))
    total = rows.post(frame, problem.shares[None], y[:, None], z[:, None]).sum(0)
    expected = []
    for groups, shares, first in ((side, [0.4, 0.6], 0), (place, list(SHARES.values()), 2)):
        for g, share in enumerate(shares):
            gap = c[groups == first + g].sum() / share - c.sum()
            expected += [gap, -gap]
    np.testing.assert_allclose(total, expected, rtol=1e-10)


def test_parity_columns_with_estimated_shares_use_what_was_believed_at_the_time():
    problem = parity_problem(learned=False, known_shares=False)
    rows, _ = constraint_rows(problem, problem.stated[1:])
    rng = np.random.default_rng(3)
    place, c = rng.choice(3, 200, p=list(SHARES.values())), rng.choice([0.0, 2.0], 200)
    total, expected = np.zeros(6), np.zeros(3)
    for t in range(200):
        believed = np.bincount(place[: t + 1], minlength=3) / (t + 1)  # the case at hand included
        shares = np.concatenate([[0.4, 0.6], believed])[None]
        groups = np.array([[[0, 2 + place[t]]]])
        frame = Context(np.zeros((1, 1, 1)), np.array([[[c[t]]]]), groups, np.ones((1, 1), bool))
        total += rows.post(frame, shares, np.zeros((1, 1, 1)), np.array([[[c[t]]]]))[0]
        expected[place[t]] += c[t] / believed[place[t]]
        expected -= c[t]
    np.testing.assert_allclose(total, np.stack([expected, -expected], 1).ravel(), rtol=1e-9)


def test_a_group_of_which_nothing_is_known_divides_by_no_share():
    problem = parity_problem(learned=False, known_shares=False)
    rows, _ = constraint_rows(problem, problem.stated[1:])
    shares = np.array([[0.4, 0.6, 1.0, 0.0, 0.0]])  # the first case was of group a, the other groups are yet to come
    frame = Context(np.zeros((1, 1, 1)), np.array([[[2.0]]]), np.array([[[0, 2]]]), np.ones((1, 1), bool))
    v = rows.post(frame, shares, np.zeros((1, 1, 1)), np.array([[[2.0]]]))
    np.testing.assert_array_equal(v, [[0, 0, -2, 2, -2, 2]])


def test_a_margin_is_taken_off_budgets_only():
    problem = COURT.problem
    _, plain = constraint_rows(problem)
    _, tight = constraint_rows(problem, margin=0.005)
    np.testing.assert_allclose(plain - tight, [0.005, 0.005] + [0.0] * 8, atol=1e-15)


def test_totals_and_rates_mean_the_same_bound():
    spent = (Outcome("gain"), Outcome("cost", known={"go": 1}))
    for budget in (Budget("cost", total=25), Budget("cost", rate=0.25)):
        problem = Problem(actions=("stay", "go"), outcomes=spent, maximize="gain", subject_to=(budget,), horizon=100)
        assert constraint_rows(problem, (s for s in problem.stated if s.spends))[1] == pytest.approx([0.25])
