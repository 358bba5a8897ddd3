"""Averages in which few rows have most of the total."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from evenhand.logs.clusters import Clusters
from evenhand.objectives import Linear
from evenhand.offline import curve, value
from evenhand.offline.cautions import kept
from evenhand.offline.events import FEW_EVENTS, Occurrences
from evenhand.offline.scores import Average, Estimate, Tails, Z
from evenhand.problem import Budget, Floor, Groups, Outcome, Parity
from tests.offline.hall import confidence_of, interval_of, share_confidence
from tests.offline.logs import draw, problem


def spending(rng, rows, *, bought=0.12, spread=1.8):
    return np.where(rng.random(rows) < bought, np.exp(spread * rng.standard_normal(rows)), 0.0)


@pytest.mark.parametrize("terms", [spending(np.random.default_rng(0), 500), np.random.default_rng(1).normal(size=200)])
def test_intervals_are_those_of_the_transformation(terms):
    found = Average.of(terms).estimate
    assert found.interval == pytest.approx(interval_of(terms), rel=1e-9)
    assert (-terms).mean() == pytest.approx(found.negative().value)
    assert found.negative().interval == pytest.approx(Average.of(-terms).estimate.interval)
    assert str(found._replace(value=0.0).negative().value) == "0.0"  # as of a floor that a policy has nothing of
    assert found.error == found.se


def test_confidences_are_those_of_one_sided_intervals():
    terms = spending(np.random.default_rng(3), 800)
    found = Average.of(terms).estimate
    for bound in (0.4 * terms.mean(), terms.mean(), 1.5 * terms.mean()):
        assert found.below(bound) == pytest.approx(confidence_of(terms, bound), abs=1e-9)


def test_symmetric_rows_have_symmetric_intervals():
    terms = np.tile([-1.0, 1.0], 50)
    found = Average.of(terms).estimate
    assert found.tails == Tails(0.0, 99.0)  # a kurtosis of 1: the variance is known as well as that of 100 rows can be
    assert found.interval == pytest.approx((-1.984217 * found.se, 1.984217 * found.se), rel=1e-6)


def test_what_folds_add_to_the_error_is_as_skewed_as_rows_are():
    terms = spending(np.random.default_rng(5), 400)
    alone = Average.of(terms).estimate
    both = Estimate.of(terms - terms.mean(), terms.mean(), np.diag([alone.se**2, 0.0]) ** 0.5)
    assert both.se == pytest.approx(2**0.5 * alone.se)
    assert both.tails == pytest.approx(alone.tails)


@pytest.mark.parametrize(("rows", "spread"), [(2000, 1.8), (600, 1.0)])
def test_intervals_of_spending_hold(rows, spread):
    """At least 92.5 % less two standard errors; normal ones hold in 79 and 91 %."""
    rng, truth, held, normal = np.random.default_rng(7), 0.12 * math.exp(spread**2 / 2), 0, 0
    for _ in range(400):
        found = Average.of(np.where(rng.random(rows) < 1 / 3, 3.0 * spending(rng, rows, spread=spread), 0.0)).estimate
        held += found.interval[0] <= truth <= found.interval[1]
        normal += abs(found.value - truth) <= 1.96 * found.se
    assert held / 400 >= 0.925 - 2 * (0.075 * 0.925 / 400) ** 0.5
    assert normal / 400 < 0.925


def sold(rows, events, *, amounts=(3.0, 80.0, 4.0, 9.0, 200.0)):
    """A log in which so many of the rows with a large letter have an amount, and all rows of the others one of two."""
    log = draw(rows, 4, stated=problem(outcomes=(Outcome("sale", high=1000.0), COSTS), subject_to=())).evidence
    y = np.zeros(rows)
    for action in range(3):
        at = np.flatnonzero(log.actions == action)[: events if action == 2 else 40]
        y[at] = np.resize(amounts, len(at)) + np.arange(len(at)) / 100
    return replace(log, outcomes=y[:, None])


COSTS = Outcome("cents", known={"small": 1.0, "large": 2.0})


@pytest.mark.parametrize("events", [0, 3, 7])
def test_too_few_amounts_have_no_interval(events):
    log = sold(900, events)
    found = value(log)
    *_, large = found.policies
    assert large.policy == "all large"
    assert large.doubt.events == pytest.approx(events)
    assert all(math.isnan(z.se) for z in (large.value, large.by["ips"], large.by["snips"], large.beyond))
    assert large.bounds is None
    assert f"'all large' rests on {events} effective rows with another outcome than most" in str(
        found.checks["support"]
    )
    assert "Fewer than 8 cases say what 'all large' would bring" in found.summary()
    assert "'all large'" not in found.headline()
    assert found.to_frame()["effective events"].tolist()[-1] == pytest.approx(events)


def test_enough_amounts_have_one():
    found = value(sold(900, math.ceil(FEW_EVENTS)))
    assert found.checks["support"] is None
    assert not any(p.doubt.any for p in found.policies)


def test_few_rows_of_two_values_are_shares_and_not_amounts():
    log = sold(900, 3, amounts=(5.0,))
    y = np.where(log.outcomes > 0.0, 5.0, 0.0)
    found = value(replace(log, outcomes=y))
    assert all(p.doubt.events == math.inf for p in found.policies)
    assert not math.isnan(found.policies[-1].value.se)


@pytest.mark.parametrize(("least", "most"), [(0.0, 17.3), (0.0, 100.0), (0.0, math.inf), (-1.0, 100.0)])
def test_a_single_amount_is_no_share_of_its_own_size(least, most):
    """One purchase of 17.3 does not say that others are as large: its range does, if 0 is one of two ends."""
    y, log = np.zeros(900), draw(900, 4).evidence
    y[np.flatnonzero(log.actions == 2)[0]] = 17.3
    stated = problem(outcomes=(Outcome("sale", low=least, high=most), COSTS))
    none, *_, large = value(replace(log, problem=stated, outcomes=y[:, None])).policies[1:]
    n = large.doubt.cases
    if math.isinf(most) or least < 0.0:
        assert math.isnan(large.value.se)
        assert math.isnan(none.value.se)
        return
    for p in (none, large):
        assert p.value.interval[1] > 0.9 * most * Z**2 / (n + Z**2)  # what no event in n cases leaves possible


def test_amounts_that_a_policy_hardly_plays_tell_little_of_it():
    """Nine rows with amounts, of an action that it plays one time in ten, are worth two of its own."""
    log = sold(900, 9)
    log = replace(log, outcomes=np.where(log.actions[:, None] == 2, log.outcomes, 0.0))
    seldom = np.full((900, 3), [0.5, 0.4, 0.1])
    found = {p.policy: p for p in value(log, policies={"seldom": seldom}).policies}
    cases = found["seldom"].doubt.cases
    part = 0.9 / (0.5 * (log.actions == 0).sum() + 0.4 * (log.actions == 1).sum() + 0.1 * (log.actions == 2).sum())
    assert found["seldom"].doubt.events == pytest.approx(cases * part)
    assert math.isnan(found["seldom"].value.se)
    assert found["all large"].doubt.events == pytest.approx(9.0)
    assert not math.isnan(found["all large"].value.se)


@pytest.mark.parametrize("p", [0.5, 1 / 3, 0.3, 0.1])
def test_eight_rows_are_enough_in_logs_of_any_length(p):
    """Rounding makes fewer of them, by 1e-15, in some lengths."""
    for rows in range(20, 400):
        far = Occurrences(None, np.arange(rows) < 8, None)
        assert not far.are_few(np.full(rows, 1.0 / p), Clusters.of(np.arange(rows)))


def test_no_weight_at_all_is_no_amount():
    far = Occurrences(None, np.ones(9, bool), None)
    assert far.effective(np.zeros(9), Clusters.of(np.arange(9))) == 0.0


def test_a_constraint_on_rare_events_is_not_sure_without_one():
    """No complaint in 300 letters is no proof that there are less than one in 500: (1 - 1/500)^300 is .55."""
    limits = (Budget("sale", rate=0.002), Floor("sale", rate=0.002))
    log = draw(900, 4, stated=problem(outcomes=(Outcome("sale"), COSTS), subject_to=limits, maximize="cents")).evidence
    y = np.zeros(900)
    y[np.flatnonzero(log.actions == 1)[:20]] = 1.0
    log = replace(log, outcomes=y[:, None])
    *_, large = value(log).policies
    budget, floor = large.kept
    n = large.doubt.cases
    assert budget.used.events.cases == pytest.approx(n)
    share = max(min(budget.used.value, 1.0), 0.0)
    assert share < 0.001
    assert budget.confidence == pytest.approx(share_confidence(share, budget.used.se, n, 0.002))
    assert 0.6 < budget.confidence < 0.9
    assert floor.confidence == pytest.approx(1.0 - budget.confidence)


def test_a_constraint_on_few_amounts_is_unknown():
    log = sold(900, 3)
    stated = problem(outcomes=log.problem.outcomes, subject_to=(Budget("sale", rate=5.0),), maximize="cents")
    log = replace(log, problem=stated)
    unknown = {p.policy: math.isnan(p.kept[0].confidence) for p in value(log).policies}
    assert [unknown[name] for name in ("as logged", "all none", "all small", "all large")] == [
        False,
        False,
        False,
        True,
    ]


FREE = Outcome("sale", free=("none",))


@pytest.mark.parametrize("amount", [1.0, 40.0])
def test_what_is_declared_0_is_known(amount):
    """Letters that are not sent bring nothing for sure, whether letters bring clicks or amounts."""
    outcomes = (replace(FREE, high=1000.0), COSTS)
    stated = problem(outcomes=outcomes, subject_to=(Budget("sale", rate=0.2 * amount),))
    log = draw(900, 4, stated=stated).evidence
    y = log.outcomes * np.where(log.actions > 0, amount, 0.0)[:, None]
    y = y if amount == 1.0 else y * (1.0 + np.arange(900)[:, None] / 900)
    log = replace(log, outcomes=y)
    none = next(p for p in value(log).policies if p.policy == "all none")
    assert none.value.interval == (0.0, 0.0)
    assert none.kept[0].confidence == 1.0
    assert not math.isnan(none.beyond.se)
    assert not none.doubt.any


def test_a_declared_0_of_one_outcome_leaves_others_shares():
    log = draw(900, 4, stated=problem(outcomes=(Outcome("sale"), Outcome("call", free=("none",)), COSTS))).evidence
    calls = log.outcomes[:, :1] * (log.actions > 1)[:, None]
    log = replace(log, outcomes=np.hstack([log.outcomes, calls]))
    assert value(log).policies[0].value.events[3:] == (0.0, 1.0)
    assert log.occurrences["call"].ends == (0.0, 1.0)


def test_noise_around_most_rows_does_not_hide_how_few_have_amounts():
    log = sold(900, 3)
    noise = 1e-3 * np.random.default_rng(0).standard_normal((900, 1))
    found = value(replace(log, outcomes=np.abs(log.outcomes + noise)))
    assert found.policies[-1].doubt.events == pytest.approx(3)
    assert math.isnan(found.policies[-1].value.se)


def test_a_sum_with_an_outcome_without_events_is_as_unsure_as_that_is():
    """No complaint in 300 letters is at most one in 80, each of which costs ten sales."""
    outcomes = (Outcome("sale"), Outcome("complaint"), COSTS)
    stated = problem(outcomes=outcomes, maximize=Linear({"sale": 1.0, "complaint": -10.0}), subject_to=())
    log = draw(900, 4, stated=problem(subject_to=())).evidence
    log = replace(log, problem=stated, outcomes=np.hstack([log.outcomes, np.zeros((900, 1))]))
    alone = replace(log, problem=replace(stated, maximize="sale"))
    for both, sale in zip(value(log).policies[1:], value(alone).policies[1:], strict=True):
        assert both.value.value == pytest.approx(sale.value.value)
        low, high = both.value.interval
        complaints = 10.0 * share_end(both.doubt.cases)
        down = math.hypot(sale.value.value - sale.value.interval[0], complaints)
        assert low == pytest.approx(both.value.value - down, rel=1e-6)
        assert high == pytest.approx(sale.value.interval[1], rel=0.05)


def share_end(cases):
    """The upper end of the interval of a share without an event."""
    z2 = 1.959963984540054**2
    return z2 / (cases + z2)


def test_groups_without_rows_or_with_few_amounts_have_no_confidence():
    limits = (Floor("sale", by="area", rate=0.1), Parity("sale", by="area", tolerance=0.06))
    log = draw(900, 4, stated=problem(subject_to=limits)).evidence
    empty = replace(log, groups={"area": np.minimum(log.groups["area"], 1)})
    each = [k for p in value(empty).policies for k in p.kept]
    assert all(math.isnan(k.confidence) and math.isnan(k.used.se) for k in each)  # the row that is shown, too
    noisy = replace(log, outcomes=log.outcomes + np.random.default_rng(0).random((900, 1)))
    alone = replace(noisy, groups={"area": np.where(np.arange(900) == 7, 2, np.arange(900) % 2)})
    assert all(math.isnan(p.kept[0].confidence) for p in value(alone).policies)
    priced = sold(900, 40)
    at = (log.groups["area"] == 2) & (np.cumsum(log.groups["area"] == 2) > 3)
    y = np.where(at[:, None], 0.0, priced.outcomes)
    stated = problem(outcomes=priced.problem.outcomes, subject_to=(Floor("sale", by="area", rate=0.2),))
    assert all(math.isnan(p.kept[0].confidence) for p in value(replace(priced, problem=stated, outcomes=y)).policies)


def test_parities_on_rare_events_are_not_sure_without_one():
    """No event in a group of 15 rows: a share of .11 has none with probability .17."""
    stated = problem(subject_to=(Parity("sale", by="area", tolerance=0.06),), groups=(Groups("area", ("a", "b")),))
    log = draw(900, 4, stated=stated).evidence
    y, area = np.zeros((900, 1)), np.zeros(900, int)
    y[::20], area[1:300:20] = 1.0, 1
    first = value(replace(log, outcomes=y, groups={"area": area})).policies[0]
    assert first.kept[0].confidence < 0.9


def test_uses_of_few_amounts_have_no_error_in_values_and_curves():
    log = sold(900, 3)
    stated = problem(outcomes=(*log.problem.outcomes, Outcome("visit")), maximize="visit",
                     subject_to=(Budget("sale", rate=1.0),))  # fmt: skip
    visits = (np.arange(900) % 3 == 0).astype(float)[:, None]
    log = replace(log, problem=stated, outcomes=np.hstack([log.outcomes, visits]))
    assert math.isnan(next(p for p in value(log).policies if p.policy == "all large").used["sale"].se)
    used = [z for line in curve(log, budgets=(0.5, 9.0)).lines for z in line.used]
    assert any(math.isnan(z.se) for z in used)
    assert not any(math.isnan(z.se) and z.events is not None for z in used)


def test_confidences_of_differences_end_where_intervals_do():
    one, two = (
        Average.of(spending(np.random.default_rng(1), 300)),
        Average.of(np.random.default_rng(2).normal(size=300)),
    )
    found = one.beyond(one.estimate, two, two.estimate)
    for errors, end in ((1.2, 1), (0.7, 0)):
        bound = found.within(errors)[end]
        assert found.below(bound) == pytest.approx(norm.cdf(errors if end else -errors), abs=1e-9)
        assert found.negative().within(errors)[1 - end] == pytest.approx(-bound)


def test_an_outcome_of_weight_0_changes_nothing():
    outcomes = (Outcome("sale"), Outcome("call"), COSTS)
    stated = problem(outcomes=outcomes, maximize=Linear({"sale": 1.0, "call": 0.0}), subject_to=())
    log = draw(300, 1, stated=problem(subject_to=())).evidence
    alone = replace(log, problem=problem(subject_to=()))
    both = replace(log, problem=stated, outcomes=np.hstack([log.outcomes, log.outcomes[::-1]]))
    for one, other in zip(value(both).policies[1:], value(alone).policies[1:], strict=True):
        assert one.value.interval == pytest.approx(other.value.interval, rel=1e-3)


def test_rare_events_of_a_group_are_counted_among_its_cases():
    """No event in a group of 60, and 84 in the 840 others, which are surely above the floor."""
    stated = problem(subject_to=(Floor("sale", by="area", rate=0.02),), groups=(Groups("area", ("a", "b")),))
    area = np.zeros(900, int)
    area[:60] = 1
    y = ((np.arange(900) % 10 == 0) & (area == 0)).astype(float)[:, None]
    log = replace(draw(900, 4, stated=stated).evidence, outcomes=y, groups={"area": area})
    (found,) = kept(log, lambda name: y[:, 0], np.ones(900))
    below = share_confidence(0.0, 0.0, 60, 0.02) + share_confidence(0.1, SE, 840, 0.02)
    assert found.row == "sale area=b at least"
    assert found.confidence == pytest.approx(1.0 - below)


SE = 0.3 / 840**0.5  # of 84 events in 840 cases


def test_differences_of_amounts_reach_as_far_as_both_sides_do():
    """Of independent averages that is the root of both squares, or what the rows of the difference say if more."""
    rng = np.random.default_rng(4)
    one, two = np.zeros(800), np.zeros(800)
    one[:400], two[400:] = 2.0 * spending(rng, 400), 2.0 * spending(rng, 400, spread=1.2)
    v, w = Average.of(one), Average.of(two)
    found = v.beyond(v.estimate, w, w.estimate)
    common = -float(np.cov(one, two)[0, 1]) / 800  # below 0, and taken for 0
    assert common > 0.0
    both, z2 = (v.estimate, w.estimate), 1.959963984540054**2
    more = z2 * (found.se**2 - both[0].se ** 2 - both[1].se ** 2)
    (low, high), (k, h) = interval_of(one), interval_of(two)
    own = interval_of(one - two)
    d = v.value - w.value
    down = max(d - own[0], math.sqrt((v.value - low) ** 2 + (h - w.value) ** 2 + more))
    up = max(own[1] - d, math.sqrt((high - v.value) ** 2 + (w.value - k) ** 2 + more))
    assert found.interval == pytest.approx((d - down, d + up), rel=1e-9)
    assert up > own[1] - d or down > d - own[0]


def test_policies_that_differ_in_few_rows_are_as_unsure_as_these():
    """What both have in common cancels; the three rows that differ have tails of their own."""
    one = 5.0 + np.random.default_rng(2).normal(size=600)
    two = one.copy()
    two[:3] += (0.4, 0.9, 3.0)
    v, w = Average.of(two), Average.of(one)
    found = v.beyond(v.estimate, w, w.estimate)
    (low, high), own = found.interval, interval_of(two - one)
    assert high == pytest.approx(own[1], rel=1e-9)
    assert low <= own[0] + 1e-12
    assert high - found.value > 3.0 * found.se


def test_a_log_with_few_amounts_says_nothing_of_itself():
    """Its average rests on them as well, and so do all differences to it."""
    log = sold(900, 3)
    few = np.where(np.cumsum(log.outcomes > 0.0)[:, None] > 5, 0.0, log.outcomes)
    first, *others = value(replace(log, outcomes=few)).policies
    assert first.doubt.events == pytest.approx(5)
    assert math.isnan(first.value.se)
    assert all(math.isnan(p.beyond.se) for p in others)


def test_lines_of_a_curve_count_amounts_as_values_do():
    """Rows come one fold after the other there: three amounts of large letters remain three."""
    log = sold(900, 3)
    stated = problem(outcomes=log.problem.outcomes, subject_to=(Budget("cents", rate=2.0),))
    lines = {z.name: z for z in curve(replace(log, problem=stated), budgets=(1.0, 2.0)).lines}
    assert math.isnan(lines["only large"].value[-1].se)
    assert not math.isnan(lines["only small"].value[-1].se)
