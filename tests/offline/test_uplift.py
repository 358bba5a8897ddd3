"""Qini, AUUC and RATE: by hand, by the formula of another package, by leaving rows out, and their coverage."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.objectives import AlphaFair
from evenhand.offline import RidgeByErrors, curve, value
from evenhand.offline.curve_table import Curve
from evenhand.offline.scores import Estimate, Z, scores
from evenhand.offline.uplift import RATES, Ranking
from evenhand.problem import Budget, Outcome
from tests.offline.curve_coverage import drawn, measures
from tests.offline.folds import folds_of
from tests.offline.logs import draw, problem

BUDGETS, PARTS = (0.0, 0.1, 0.4, 1.0), np.array([0.05, 0.2, 0.45, 0.3])  # half the steps to either side


def of(found, name):
    return next(z.value for z in found.measures.each if z.name == name)


def line(found, name):
    return next(z for z in found.lines if z.name == name)


@pytest.fixture(scope="module")
def two():
    """A log of two actions with equal chances."""
    return drawn(np.random.default_rng(3), 4000, 2, 0.2, 0.05)


@pytest.fixture(scope="module")
def found(two) -> Curve:
    return curve(two, budgets=BUDGETS)


def by_hand(log):
    """By fold: its rows from the greatest predicted effect on, and the score of both actions in every row."""
    fold, x, y = folds_of(log.rows, 5, 0), log.features, log.outcomes[:, 0]
    q = np.empty((log.rows, 2))
    for k in range(5):
        for a in range(2):
            seen = (fold != k) & (log.actions == a)
            q[fold == k, a] = RidgeByErrors().fit(x[seen], y[seen]).predict(x[fold == k]).clip(0.0, 1.0)
    effect = q[:, 1] - q[:, 0]
    ranks = [rows[np.argsort(-effect[rows])] for rows in (np.flatnonzero(fold == k) for k in range(5))]
    return ranks, effect, scores(q, log.actions, log.propensities, y)


def test_areas_are_those_of_two_actions_by_hand(two, found):
    ranks, effect, g = by_hand(two)
    gain, least, area, psi = g[:, 1] - g[:, 0], g[:, 0].mean(), 0.0, np.zeros(two.rows)
    for budget, part in zip(BUDGETS, PARTS, strict=True):
        treated, price = np.zeros(two.rows), np.zeros(two.rows)
        for rows in ranks:
            useful = min(budget * len(rows), float((effect[rows] > 0.0).sum()))
            treated[rows] = np.clip(useful - np.arange(len(rows)), 0.0, 1.0)
            price[rows] = effect[rows][int(useful)] if useful == budget * len(rows) < len(rows) else 0.0
        area += part * (g[:, 0] + treated * gain).mean()
        psi += part * (treated * gain - budget * gain - price * (treated - budget))
    at_random = least + (PARTS @ np.array(BUDGETS)) * gain.mean()
    assert of(found, "AUUC").value == pytest.approx(area - least, abs=1e-12)
    qini = of(found, "Qini beyond only small")
    assert qini.value == pytest.approx(area - at_random, abs=1e-12)
    assert qini.se >= (1.0 - 1e-9) * psi.std(ddof=1) / np.sqrt(two.rows)
    assert qini.se < 1.3 * psi.std(ddof=1) / np.sqrt(two.rows)
    measure = next(z for z in found.measures.each if z.name == "AUUC")
    assert f"{measure.value.value * measure.width:.4f}" in str(found)


def test_the_area_is_that_of_scikit_uplift_but_for_predictions(two):
    """Its curve at k treated rows is (y_t / n_t - y_c / n_c) k of the first k; ours corrects predictions as well."""
    budgets = tuple(np.linspace(0.0, 1.0, 21).tolist())
    ours, (ranks, _, _) = curve(two, budgets=budgets), by_hand(two)
    theirs = 0.0
    for rows in ranks:
        y, treated = two.outcomes[rows, 0], two.actions[rows] == 1
        n_t, n_c = np.maximum(np.cumsum(treated), 1), np.maximum(np.cumsum(~treated), 1)
        lift = np.cumsum(y * treated) / n_t - np.cumsum(y * ~treated) / n_c
        k = np.arange(1, len(rows) + 1) / len(rows)
        theirs += len(rows) / two.rows * ((lift * k).mean() - lift[-1] * k.mean())
    qini = of(ours, "Qini beyond only small")
    assert qini.value > 4.0 * qini.se
    assert abs(qini.value - theirs) < qini.se


def test_rates_are_those_of_their_definition(two, found):
    ranks, _, g = by_hand(two)
    gain, autoc, weighted = g[:, 1] - g[:, 0], 0.0, 0.0
    for rows in ranks:
        toc = [gain[rows[:k]].mean() - gain[rows].mean() for k in range(1, len(rows) + 1)]
        autoc += len(rows) / two.rows * np.mean(toc)
        weighted += len(rows) / two.rows * np.mean(np.arange(1, len(rows) + 1) / len(rows) * toc)
    assert [of(found, name).value for name in RATES] == pytest.approx([autoc, weighted], abs=1e-12)


def test_influences_are_what_leaving_out_a_row_changes():
    rng = np.random.default_rng(0)
    worth = np.round(rng.standard_normal((300, 3)), 1)  # many rows rank the same
    table, cost = worth + rng.standard_normal((300, 3)), np.array([[0.0, 1.0, 2.0]])

    def rates(rows):
        ranking = Ranking.of(worth[rows], cost)
        return ranking.rates(ranking.gains(table[rows]))

    terms, influence = rates(np.arange(300))
    left = np.stack([rates(np.delete(np.arange(300), i))[0].mean(1) for i in range(300)], 1)
    apart = 299.0 * (terms.mean(1, keepdims=True) - left)
    for mine, theirs, least in zip(influence, apart, (0.99, 1.0 - 1e-9), strict=True):  # a logarithm bends at the top
        assert np.corrcoef(mine, theirs)[0, 1] > least
        assert mine.std() == pytest.approx(theirs.std(), rel=0.01)


def test_the_order_of_rows_does_not_matter_where_they_rank_the_same():
    rng = np.random.default_rng(1)
    worth, table, order = (
        np.round(rng.standard_normal((200, 2)), 1),
        rng.standard_normal((200, 2)),
        rng.permutation(200),
    )
    one, other = (Ranking.of(worth[rows], np.array([[0.0, 1.0]])) for rows in (np.arange(200), order))
    both = one.rates(one.gains(table)), other.rates(other.gains(table[order]))
    for mine, theirs in zip(*both, strict=True):
        assert theirs == pytest.approx(mine[:, order], abs=1e-12)


def test_units_of_money_and_of_outcomes_do_not_matter(two, found):
    """Costs in hundredths, and outcomes per thousand."""
    cents = replace(two.problem.outcomes[1], known={"small": 100.0})
    sale = replace(two.problem.outcomes[0], high=1000.0)
    stated = replace(two.problem, outcomes=(sale, cents), subject_to=(Budget("cents", rate=40.0),))
    log = replace(two, problem=stated, known=stated.declared[None], outcomes=1000.0 * two.outcomes)
    other = curve(log, budgets=tuple(100.0 * b for b in BUDGETS))
    for mine in (z for z in found.measures.each if not z.name.startswith("Qini beyond fair")):  # of another tolerance
        theirs = next(z for z in other.measures.each if z.name == mine.name)
        assert theirs.value.pair == pytest.approx([1000.0 * z for z in mine.value.pair], rel=1e-9)
        assert np.isnan(mine.width) or theirs.width == pytest.approx(100.0 * mine.width)
    assert other.pays().split(" budgets")[0] == found.pays().split(" budgets")[0]


def test_what_was_logged_is_thinned_up_to_what_it_cost(two):
    used = float((two.actions == 1).mean())
    found, valued = curve(two, budgets=(0.0, 0.25 * used, used, 1.0)), value(two)
    logged, own = line(found, "as logged"), valued.policies[0]
    assert own.policy == "as logged"
    for at in logged.value[2:]:
        assert at.value == pytest.approx(own.value.value, abs=1e-12)
    assert logged.value[3].se == pytest.approx(own.value.se, rel=1e-9)
    g, y, played = by_hand(two)[2][:, 0], two.outcomes[:, 0], two.actions == 1
    psi = 0.75 * g + 0.25 * y - (y.mean() - g.mean()) / used * 0.25 * played  # the log says how much it cost, too
    assert logged.value[1].value == pytest.approx(0.75 * g.mean() + 0.25 * y.mean(), abs=1e-12)
    assert logged.value[1].se == pytest.approx(psi.std(ddof=1) / np.sqrt(two.rows), rel=1e-9)
    assert logged.spent == pytest.approx((0.0, 0.25 * used, used, used))


@pytest.mark.slow
def test_what_was_logged_beside_withdrawn_actions_factors_and_other_objectives():
    both = (Outcome("sale"), Outcome("cents", known={"small": 1.0, "large": 2.0}))
    fair = problem(
        outcomes=(*both, Outcome("calls")), maximize=AlphaFair(("sale", "calls"), alpha=0.5), withdrawn=("large",)
    )
    log = draw(3000, 6).evidence
    calls = (np.random.default_rng(0).random(3000) < 0.3).astype(float)
    log = replace(log, problem=fair, outcomes=np.column_stack([log.outcomes[:, 0], calls]), known=fair.declared[None])
    found = curve(log, budgets=(0.2, 2.0))
    mean = fair.objective.value(log.outcomes.mean(0))
    assert line(found, "as logged").value[1].value == pytest.approx(float(mean), rel=1e-12)
    assert line(found, "as logged").spent[1] == pytest.approx(float(fair.declared[log.actions, 0].mean()))
    assert not any(z.name in RATES for z in found.measures.each)  # what a row is worth depends on all others


def test_to_play_a_harmful_action_seldom_does_not_pay(two):
    harm = np.random.default_rng(3).random(two.rows) < np.where(two.actions == 1, 0.3, 0.6)
    log = replace(two, outcomes=np.column_stack([harm.astype(float), *two.outcomes.T[1:]]))
    found = curve(log, budgets=BUDGETS)
    assert line(found, "only small").less[3].value > 0.2  # more than everybody's harm
    assert found.pays() == "Targeting does not pay at any of 4 budgets: the log cannot tell it from 'all none'"
    assert "beyond all none" in found.headline()
    assert curve(log, budgets=(0.4,)).pays().startswith("Targeting does not pay at any of 1 budgets")
    assert curve(two, budgets=(0.4,)).pays() == "Targeting pays at 1 of 1 budgets (0.4 cents per case)"


def test_the_line_of_the_cheapest_actions_is_what_they_bring(two, found):
    g = by_hand(two)[2]
    assert [z.value for z in line(found, "all none").value] == pytest.approx([g[:, 0].mean()] * 4, abs=1e-12)
    costs = np.where(np.arange(two.rows)[:, None] % 2, [[0.0, 1.0]], [[1.0, 0.0]])  # in each row another one
    some = curve(replace(two, known=costs[:, :, None]), budgets=(0.1, 0.3))
    mixed = line(some, "all cheapest")
    assert mixed.value[0].value == pytest.approx(g[np.arange(two.rows), costs.argmin(1)].mean(), abs=1e-12)
    assert mixed.spent == (0.0, 0.0)


def test_a_sentence_says_where_targeting_stops_to_pay(two, found):
    assert found.pays() == "Targeting pays at 3 of 4 budgets (0.1 to 1 cents per case)"
    only = line(found, "only small")
    near = only._replace(name="only large", less=(*only.less[:3], Estimate(0.001, 0.01)))
    bands = {**found.bands, "only large": found.bands["only small"]}
    ends = replace(found, lines=(*found.lines, near), bands=bands).pays()
    assert ends == (
        "Targeting pays at 2 of 4 budgets (0.1 to 0.4 cents per case), "
        "and from 1 on, it cannot be told from 'only large'"
    )
    wide = replace(found, bands={name: z._replace(less=1e6) for name, z in found.bands.items()})
    assert wide.pays() == "Targeting does not pay at any of 4 budgets: the log cannot tell it from 'only small'"
    assert f"{found.pays()}." in str(found)
    assert found.summary().split(". ")[2] == found.pays()
    faulty = replace(found, checks={"propensities": "they do not add up"})
    assert faulty.pays() == "Whether targeting pays cannot be told from this log"


def test_a_plan_that_the_log_says_too_little_of_has_no_error(two):
    """Where the dear action was hardly logged, areas and ranks are guesses."""
    kept = np.flatnonzero((two.actions == 0) | (np.cumsum(two.actions == 1) <= 8))
    rare = replace(
        two, **{z: getattr(two, z)[kept] for z in ("features", "actions", "outcomes", "propensities")},
        groups={"area": two.groups["area"][kept]},
    )  # fmt: skip
    found = curve(rare, budgets=BUDGETS, folds=3)
    assert all(np.isnan(of(found, name).se) for name in ("Qini beyond only small", *RATES))


@pytest.mark.slow
def test_intervals_of_measures_hold_in_as_many_logs_as_they_say():
    """Of 200 logs, 95 % within 2.5 standard errors of 1.5 %."""
    missed = (np.abs(measures(200, spread=0.1)) > Z).mean(0)
    assert (np.abs(missed - 0.05) < 0.0385).all(), missed
