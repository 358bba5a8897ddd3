"""Averages in which few rows have most of the total."""

import math

import numpy as np
import pytest

from evenhand.offline import Evidence, value
from evenhand.offline.doubts import FEW_EVENTS
from evenhand.offline.scores import Average, Estimate
from evenhand.offline.tails import Tails
from evenhand.problem import Budget, Floor, Outcome
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
    assert found.error == pytest.approx((found.interval[1] - found.interval[0]) / 2 / 1.959963984540054)


def test_confidences_are_those_of_one_sided_intervals():
    terms = spending(np.random.default_rng(3), 800)
    found = Average.of(terms).estimate
    for bound in (0.4 * terms.mean(), terms.mean(), 1.5 * terms.mean()):
        assert found.below(bound) == pytest.approx(confidence_of(terms, bound), abs=1e-9)


def test_symmetric_rows_have_symmetric_intervals():
    terms = np.tile([-1.0, 1.0], 50)
    found = Average.of(terms).estimate
    assert found.tails == Tails()  # a kurtosis of 1: the variance of such rows is known
    assert found.interval == pytest.approx((-1.96 * found.se, 1.96 * found.se), rel=1e-4)


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
    return Evidence(**{f: getattr(log, f) for f in KEEP} | {"outcomes": y[:, None]})


COSTS = Outcome("cents", known={"small": 1.0, "large": 2.0})
KEEP = ("log", "problem_file", "problem", "features", "columns", "actions", "propensities", "known", "groups")


@pytest.mark.parametrize("events", [0, 3, 7])
def test_too_few_amounts_have_no_interval(events):
    log = sold(900, events)
    found = value(log)
    *_, large = found.policies
    assert large.policy == "all large"
    assert large.doubt.events == pytest.approx(events)
    assert all(math.isnan(z.se) for z in (large.value, large.inverse, large.normalised, large.beyond))
    assert large.bounds is None
    assert f"'all large' rests on {events} effective rows with an amount" in str(found.checks["support"])
    assert "Fewer than 8 amounts say what 'all large' would bring" in found.summary()
    assert "'all large'" not in found.headline()
    assert found.to_frame()["effective events"].tolist()[-1] == pytest.approx(events)


def test_enough_amounts_have_one():
    found = value(sold(900, math.ceil(FEW_EVENTS)))
    assert found.checks["support"] is None
    assert not any(p.doubt.any for p in found.policies)


def test_few_rows_of_two_values_are_shares_and_not_amounts():
    log = sold(900, 3, amounts=(5.0,))
    y = np.where(log.outcomes > 0.0, 5.0, 0.0)
    found = value(Evidence(**{f: getattr(log, f) for f in KEEP} | {"outcomes": y}))
    assert all(p.doubt.events == math.inf for p in found.policies)
    assert not math.isnan(found.policies[-1].value.se)


def test_a_constraint_on_rare_events_is_not_sure_without_one():
    """No complaint in 300 letters is no proof that there are less than one in 500: (1 - 1/500)^300 is .55."""
    limits = (Budget("sale", rate=0.002), Floor("sale", rate=0.002))
    log = draw(900, 4, stated=problem(outcomes=(Outcome("sale"), COSTS), subject_to=limits, maximize="cents")).evidence
    y = np.zeros(900)
    y[np.flatnonzero(log.actions == 1)[:20]] = 1.0
    log = Evidence(**{f: getattr(log, f) for f in KEEP} | {"outcomes": y[:, None]})
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
    log = Evidence(**{f: getattr(log, f) for f in KEEP} | {"outcomes": log.outcomes, "problem": stated})
    unknown = {p.policy: math.isnan(p.kept[0].confidence) for p in value(log).policies}
    assert [unknown[name] for name in ("as logged", "all none", "all small", "all large")] == [
        False,
        False,
        False,
        True,
    ]
