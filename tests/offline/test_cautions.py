"""What a log cannot tell has no error and no recommendation, but bounds."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from evenhand.objectives import Linear
from evenhand.offline import curve, from_bandit_feedback, value
from evenhand.offline.cautions import FEW, Bounds, doubter, ends
from evenhand.offline.scores import Average, Estimate, Z, weights
from evenhand.problem import Budget, Floor, Outcome, Problem
from evenhand.report import charts
from evenhand.report.intervals import BOUNDS, Interval
from tests.offline.hall import interval_of
from tests.offline.logs import draw, problem
from tests.offline.selection import measured
from tests.offline.test_value import valued


def blind(seed, rows=1000):
    """A log of two actions whose second one is never drawn where a feature is negative, and does harm there.

    It is worth .30 for everybody, as the first one is: .2 more where it was drawn, and .2 less elsewhere.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    p = np.where(x < 0, 0.0, 0.5)
    a = (rng.random(rows) < p).astype(int)
    y = (rng.random(rows) < 0.3 + 0.2 * a * np.sign(x)).astype(float)
    feedback = {"n_rounds": rows, "n_actions": 2, "context": x[:, None], "action": a, "reward": y}
    return from_bandit_feedback(feedback | {"position": None, "pscore": np.where(a, p, 1 - p)})


def hole(rows=6000, seed=11, **other):
    """A log of letters in which large ones never go to the third of rows with the lowest first trait."""
    log = draw(rows, seed, **other).evidence
    low = log.features[:, 1] < -0.43
    actions = np.where(low & (log.actions == 2), 0, log.actions)
    p = np.where(low, np.array([2 / 3, 1 / 3, 1.0])[actions], 1 / 3)
    return replace(log, actions=actions, propensities=p)


def late(rows=4000, seed=5):
    """A log of which a feature was written after the action."""
    log = draw(rows, seed).evidence
    return replace(log, features=np.column_stack([log.features, log.outcomes[:, 0] + (log.actions == 2)]))


def test_nothing_is_recommended_of_what_was_never_logged_and_bounds_hold():
    """200 logs; 95 % bounds miss the truth, which is inside of what nothing tells, in none."""
    for seed in range(200):
        found = value(blind(seed))
        guess = valued(found, "all 1")
        assert guess.doubt.is_guess
        assert guess.doubt.missing == pytest.approx(0.5, abs=0.11)
        assert all(math.isnan(z.se) for z in (guess.value, guess.by["ips"], guess.by["snips"], guess.beyond))
        assert guess.bounds.low <= 0.3 <= guess.bounds.high
        assert found.bands.value >= Z
        assert "'all 1'" not in found.headline()
        assert "the log says too little of 1 more" in found.headline()


def test_bounds_are_the_averages_with_unlogged_outcomes_at_the_ends():
    """By hand: sum_i w_i y_i / N, and 1 for each case that no row represents."""
    log = blind(3)
    guess = valued(value(log), "all 1")
    w = weights(np.eye(2)[np.ones(1000, int)], log.played, log.propensities)
    low, high = w * log.outcomes[:, 0], 1.0 - w * (1.0 - log.outcomes[:, 0])
    assert guess.bounds == pytest.approx((interval_of(low)[0], interval_of(high)[1]), rel=1e-9)
    beyond = [z - log.outcomes[:, 0] for z in (low, high)]
    assert guess.beyond_bounds == pytest.approx((interval_of(beyond[0])[0], interval_of(beyond[1])[1]), rel=1e-9)


def test_ends_follow_weights_factors_and_ranges_by_action():
    """What each action is worth at least and at most in every row, one by one."""
    outcomes = (
        Outcome("sale", times="price", high={"none": 1.0, "small": 3.0, "large": 1.0}),
        Outcome("return", low=-2.0, high=1.0),
        Outcome("price", known={"none": 1.0, "small": 2.0, "large": -4.0}),
        Outcome("cents", known={"small": 1.0, "large": 2.0}),
    )
    stated = Problem(
        actions=("none", "small", "large"),
        outcomes=outcomes,
        maximize=Linear({"sale": 2.0, "return": -1.0, "cents": -0.5}),
        horizon=1000,
        groups=problem().groups,
    )
    log = draw(40, 1).evidence
    log = replace(
        log, problem=stated, known=stated.declared[None], outcomes=np.column_stack([log.outcomes, -log.outcomes])
    )
    worst, best = ends(log)
    price, cents, most = np.array([1.0, 2.0, -4.0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 1.0])
    for i in range(40):
        for a in range(3):
            if a == log.actions[i]:
                continue
            sales = sorted((0.0, 2.0 * price[a] * most[a]))
            rest = -0.5 * cents[a]
            assert worst[i, a] == pytest.approx(sales[0] - 1.0 + rest)
            assert best[i, a] == pytest.approx(sales[1] + 2.0 + rest)
    for scored, side in ((worst, -1), (best, 1)):  # what was logged is worth what it was, if all were logged so
        own, a = scored[np.arange(40), log.actions], log.actions
        logged = 2.0 * log.outcomes[:, 0] * price[a] - log.outcomes[:, 1] - 0.5 * cents[a]
        sales = np.sort(np.stack([np.zeros(40), 2.0 * price[a] * most[a]]), 0)[(side + 1) // 2]
        end = sales + (2.0 if side > 0 else -1.0) - 0.5 * cents[a]
        assert own == pytest.approx(end + (logged - end) / log.propensities)


def test_a_range_without_an_end_has_no_bounds():
    log = hole(stated=problem(outcomes=(Outcome("sale", high=math.inf), Outcome("cents", known={"large": 2.0}))))
    found = value(log)
    assert valued(found, "all large").bounds is None
    assert "(guess)" in str(found)
    assert "bounds" not in str(found).split("value   ")[0]


def test_what_is_known_of_a_guess_keeps_its_error():
    """A budget on known cents is judged; a floor on sales, which nobody saw, is not."""
    log = hole(stated=problem(subject_to=(Budget("cents", rate=2.5), Floor("sale", rate=0.01))))
    found = value(log)
    guess = valued(found, "all large")
    assert guess.used["cents"].pair == (2.0, 0.0)
    budget, floor = guess.kept
    assert budget.confidence == 1.0
    assert math.isnan(floor.confidence)
    assert math.isnan(floor.used.se)
    assert "unknown" in str(found)
    assert "nan" not in str(found)


def test_results_say_that_there_is_no_error(tmp_path):
    found = value(hole(), out=tmp_path)
    guess = valued(found, "all large")
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    mine = {row["metric"]: row for row in rows if row["system"] == "all large"}
    assert mine["sale"]["se"] is None
    assert mine["sale, least"]["mean"] == guess.bounds.low
    assert mine["part of its plays that was never logged"]["mean"] == guess.doubt.missing
    page = (tmp_path / "report.html").read_text()
    assert "reach bounds" in page
    assert "(bounds: " in page
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)
    frame = found.to_frame().set_index("policy")
    assert frame.loc["all large", ["se", "low", "high"]].isna().all()
    assert tuple(frame.loc["all large", ["least", "most"]]) == guess.bounds
    assert frame.loc["all none", ["least", "most"]].isna().all()
    assert "'all large' plays in 3" in found.summary()


def test_a_log_whose_actions_were_all_certain_judges_what_was_logged_alone():
    log = draw(2000, 4).evidence
    found = value(replace(log, propensities=np.ones(2000)))
    assert [p.policy for p in found.policies if not p.doubt.is_guess] == ["as logged"]
    assert (
        found.headline().startswith("Within 800 cents in all (0.4 per case), ")
        or "keeps to 800 cents" in found.headline()
    )
    assert "highest value" not in found.summary()


@pytest.mark.parametrize("kind", ["propensities", "features"])
def test_nothing_is_recommended_from_a_log_that_fails_a_check(kind, tmp_path):
    log = draw(4000, 5).evidence
    wrong = replace(log, propensities=np.where(log.actions == 1, 0.8, 1.0) * log.propensities)
    wrong = late() if kind == "features" else wrong
    found = value(wrong)
    said = f"No policy can be recommended, as the log fails the check of its {kind}"
    same = (
        ", and a rule of several columns by which actions are never drawn looks the same"  # as where a feature is late
    )
    assert found.headline() == said + same * (kind == "features")
    assert "highest value" not in found.summary()
    assert curve(wrong, budgets=3).summary().startswith("What targeting brings cannot be told, as the log fails the ")
    assert "Beyond" not in curve(wrong, budgets=3).summary()


def rare():
    """A log in which large letters, which sell for certain, were drawn with a chance of .01: about 30 of 3,000."""
    log = draw(3000, 5).evidence
    rng = np.random.default_rng(0)
    actions = np.where(rng.random(3000) < 0.01, 2, rng.integers(0, 2, 3000))
    sales = np.where(actions == 2, 1.0, log.outcomes[:, 0])[:, None]
    stated = problem(subject_to=(Budget("cents", rate=2.0),))
    return replace(log, problem=stated, actions=actions, propensities=np.array([0.495, 0.495, 0.01])[actions],
                   outcomes=sales)  # fmt: skip


def test_policies_that_few_rows_agree_with_are_not_recommended():
    """They were logged everywhere, and keep their errors."""
    log = rare()
    found = value(log)
    few = valued(found, "all large")
    assert few.doubt.cases < FEW
    assert not few.doubt.is_guess
    assert few.value.se >= 0.0
    assert "'all large'" not in found.headline()
    assert "'all large' has the highest" not in found.summary()
    assert "Too few cases agree with 'all large'" in found.summary()
    told = curve(log, budgets=(0.5, 2.0))
    assert told.doubt.any
    assert "cannot be told, as the log says too little of such plays" in told.headline()
    assert "Beyond" not in told.summary()


def test_plays_in_place_of_certain_ones_are_unlogged_whatever_chance_explains():
    """In 5 % of 1,000 rows the first action was certain, which is what chance explains of the others' weights."""
    rng = np.random.default_rng(1)
    certain = rng.random(1000) < 0.05
    p = np.where(certain, 0.0, 0.5)
    a = (rng.random(1000) < p).astype(int)
    ask = doubter(np.where(a, p, 1 - p), 3)
    assert ask(np.where(a == 1, 2.0, 0.0)).missing >= certain.mean() - 1e-12
    assert ask(np.where(certain, 1.0, np.where(a == 1, 2.0, 0.0))).missing == 0.0


def test_known_objectives_are_no_guesses():
    """What all large letters cost is known, wherever they were sent."""
    log = hole(stated=problem(maximize="cents", subject_to=()))
    guess = valued(value(log), "all large")
    assert guess.value.pair == (2.0, 0.0)
    assert not guess.doubt.is_guess
    assert guess.bounds is None


def test_what_is_used_of_a_learned_budget_is_a_guess_as_well():
    log = hole(stated=problem(subject_to=(Budget("sale", rate=0.3),), maximize="cents"))
    found = curve(log, budgets=(0.2, 0.3))
    large = next(line for line in found.lines if line.name == "only large")
    assert math.isnan(large.used[-1].se)
    assert "unknown" in str(found)


def test_sentences_say_what_rows_and_outcomes_they_are_of():
    log = replace(draw(2000, 4).evidence, selection={"dropped": "9 rows were dropped", "clipped": None})
    for found in (value(log), curve(log, budgets=3)):
        assert found.checks["dropped"] == "9 rows were dropped"
        assert found.headline().startswith("Of the rows that were kept: ")
    log = replace(log, selection={"dropped": None, "clipped": "'sale' was clipped"})
    assert value(log).headline().startswith("With outcomes clipped to their range: ")


def test_the_headline_has_the_interval_of_all_policies():
    found = value(draw(2000, 4).evidence)
    best = next(
        p for p in found.policies if repr(p.policy) in found.headline().partition(" has ")[0].partition(" is ")[0]
    )
    low, high = best.value.within(found.bands.value)
    count = sum(not p.doubt.any for p in found.policies)
    assert f"(95 % for all {count} at once: {low:.4f} to {high:.4f})" in found.headline()
    assert low < best.value.interval[0]


def test_a_curve_has_no_bands_where_it_plays_what_was_never_logged():
    """A third of large letters were never logged: of the first budget, less than 1 % of the cases."""
    log = hole(stated=problem(subject_to=(Budget("cents", rate=2.0),)))
    log = replace(log, outcomes=np.where(log.actions == 2, 1.0, log.outcomes[:, 0])[:, None])
    found = curve(log, budgets=(0.05, 1.0, 2.0))
    lines = {line.name: line for line in found.lines}
    for name in ("targeted", "only large"):
        assert [math.isnan(z.se) for z in lines[name].value] == [False, True, True]
    assert not any(math.isnan(z.se) for z in lines["only small"].value)
    assert [math.isnan(z.se) for z in lines["only small"].less] == [False, True, True]
    assert all(found.bands[name].value >= Z for name in lines)
    assert found.bands["only small"].less == Z  # of the one difference that has an error
    alone = replace(found, checks={}).headline()
    said = "what targeting brings cannot be told, as the log says too little of such plays"
    assert alone == f"At {2 * log.rows:,} cents in all (2 per case), {said}"
    assert "(guess)" in str(found)
    assert not re.search(r"\bnan\b", f"{found} {found.page().html()} {found.plot().svg()}", re.IGNORECASE)


def test_the_best_of_many_alike_is_not_told_from_chance():
    """Of 200 logs of 14 policies that are alike; the bounds are 5 % and three standard errors."""
    said = measured(200)
    most = 200 * 0.05 + 3 * math.sqrt(200 * 0.05 * 0.95)
    assert said.best <= most
    assert said.beyond <= most
    assert said.recommended == 0
    assert said.alone > most  # what an interval for a policy alone would say


def test_one_difference_alone_has_its_own_interval():
    log = draw(2000, 4).evidence
    log = replace(log, problem=replace(log.problem, actions=("none", "small", "large"), withdrawn=("none", "small")))
    found = value(replace(log, problem=replace(log.problem, subject_to=())))
    assert found.bands.less == Z


def test_targeting_is_compared_with_lines_that_the_log_can_tell():
    """The best single action by its value is a guess, so that the headline takes the next one."""
    found = curve(draw(2000, 4).evidence, budgets=(0.4,))
    lines = tuple(
        line._replace(value=(Estimate(9.0, math.nan),)) if line.name == "only large" else line for line in found.lines
    )
    assert "beyond only small" in replace(found, lines=lines).headline()


def test_bounds_beyond_a_picture_are_cut_at_its_ends():
    """With a range of a million nothing would be seen of what is known."""
    near = Interval("near", 0.1, 0.0, 0.2)
    with_bounds = charts.intervals([near, Interval("near", 0.1, -1e6, 1e6, BOUNDS)])
    without = charts.intervals([near, Interval("near", 0.1)])
    assert re.findall(r'<line class="reach \w+"[^>]*>', with_bounds) == re.findall(
        r'<line class="reach \w+"[^>]*>', without
    )
    assert with_bounds.count("reach bounds") == without.count("<svg")


def test_bounds_are_outer_ends_of_intervals():
    low, high = Average.of(np.array([0.0, 1.0])), Average.of(np.array([2.0, 2.0]))
    assert Bounds.of(low, high) == pytest.approx((0.5 - 12.7062047 * 0.5, 2.0))  # of two rows, by t with one degree
