"""The objective beside its reference: the difference is that of the averages in the log, with an honest interval."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.dashboard.contrast import Contrast, contrast, contrast_of
from evenhand.live.dashboard.page import head_line, head_tiles
from evenhand.live.dashboard.sections import Readings
from evenhand.live.dashboard.sections.outcomes import outcomes
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.uses import Moments
from evenhand.live.dashboard.view import digits
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from evenhand.objectives import Linear
from tests.live.dashboard.worked import MAIL, worked


def readings(campaign):
    status, tally = campaign.status(), Tally(campaign)
    tally.update()
    return Readings(campaign, status, tally, linked=False)


def found(campaign):
    now = readings(campaign)
    return contrast(campaign.policy.problem, now.status, now.tally)


def moments(z):
    return Moments(float(len(z)), z.sum(0), z.T @ z)


def sides(campaign, of):
    """A number of the last outcome of every decision, of those at random and of the others, read off the log."""
    forced = {e.seq: read(e)["f"] for e in campaign.events() if e.kind == "decided"}
    last = {e.ref: read(e)["y"] for e in campaign.events() if e.kind in ("observed", "revised")}
    cancelled = {e.ref for e in campaign.events() if e.kind == "cancelled"}
    rows = [(forced[ref], of(y)) for ref, y in last.items() if ref not in cancelled]
    return [np.array([y for f, y in rows if bool(f) is which]) for which in (True, False)]


def play(y):
    return y[0] if isinstance(y, list) else y


def test_the_difference_and_its_interval_are_those_of_welch_on_the_outcomes_in_the_log():
    campaign = worked(rounds=200)
    random, others = sides(campaign, lambda y: play(y)["answer"])
    ours = found(campaign)
    assert (ours.of, ours.rounds) == ("at random", len(random))
    assert math.isclose(ours.reference, random.mean())
    assert math.isclose(ours.decided, others.mean())
    whole = stats.ttest_ind(others, random, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose((ours.low, ours.high), whole, rtol=1e-9)


def test_a_sum_of_outcomes_is_compared_with_their_covariance():
    both = replace(MAIL, maximize=eh.objectives.Linear({"answer": 1.0, "minutes": -0.01}))
    campaign = worked(rounds=200, problem=both)
    random, others = sides(campaign, lambda y: play(y)["answer"] - 0.01 * play(y)["minutes"])
    ours = found(campaign)
    whole = stats.ttest_ind(others, random, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose((ours.difference, ours.low, ours.high), (others.mean() - random.mean(), *whole))


def test_the_interval_covers_the_difference_as_often_as_it_says():
    rng, inside, tries = np.random.default_rng(3), 0, 2000
    f = Linear({"a": 1.0, "b": 2.0})
    for _ in range(tries):
        b = (rng.random(340) < 0.3).astype(float)
        z = np.stack([(rng.random(340) < 0.2 + 0.1 * b), b], 1).astype(float)
        ours = contrast_of(f, moments(z[:40]), moments(z[40:]))
        inside += ours.low <= 0.0 <= ours.high
    assert abs(inside / tries - 0.95) < 3 * math.sqrt(0.05 * 0.95 / tries) + 0.01  # not quite normal at 40 rounds


def test_few_rounds_or_outcomes_that_do_not_vary_have_no_interval():
    z = (np.arange(60) % 2).astype(float)[:, None]
    f = Linear({"a": 1.0})
    assert math.isnan(contrast_of(f, moments(z[:19]), moments(z)).low)
    assert contrast_of(f, moments(z[:20]), moments(z)).verdict == "no clear difference"
    same = contrast_of(f, moments(np.zeros((30, 1))), moments(np.zeros((30, 1))))
    assert (math.isnan(same.low), same.verdict) == (True, "too few rounds to tell")
    assert contrast_of(f, moments(np.zeros((0, 1))), moments(z)) is None


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.1, 0.2, "better"), (-0.2, -0.1, "worse")])
def test_the_verdict_is_that_of_the_interval(low, high, verdict):
    one = Contrast(of="at random", rounds=50, reference=0, decided=0, difference=(low + high) / 2, low=low, high=high)
    assert one.verdict == verdict


def test_rounds_that_are_held_out_are_the_reference_where_there_are_any():
    shop = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=2000)
    policy = eh.resolving(shop, eh.PerAction.of(shop), holdout=0.25)
    campaign, luck = Campaign.open("memory://", "held", policy), np.random.default_rng(1)
    for i in range(300):
        reply = campaign.decide({}, key=f"{i}")
        campaign.observe(reply.id, {"won": int(luck.random() < (0.8 if reply.action == "b" else 0.3))})
    ours, kept = found(campaign), campaign.status().held_out["won"]
    assert (ours.of, ours.rounds) == ("held out", round(kept.rounds))
    assert (ours.difference, ours.low, ours.high) == (kept.difference, kept.low, kept.high)
    tile = head_tiles(readings(campaign), [])[0]
    assert tile.note.startswith("better: +0.13 (+0.012 to +0.24, 95%)")
    assert tile.note.endswith(f"against {ours.rounds} rounds held out")


@pytest.mark.parametrize(("rounds", "few"), [(60, True), (300, False)])
def test_the_head_and_the_card_agree_on_whether_held_out_rounds_are_too_few(rounds, few):
    shop = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=2000)
    campaign = Campaign.open("memory://", "held", eh.resolving(shop, eh.PerAction.of(shop), holdout=0.25))
    for i in range(rounds):
        campaign.observe(campaign.decide({}, key=f"{i}").id, {"won": i % 3 == 0})
    now = readings(campaign)
    (card,) = (card for card in outcomes(now).cards if card.name == "held-out")
    held = now.status.held_out["won"]
    assert (10 < held.rounds < 20) == few
    assert held.high > held.low
    (row,) = card.tables[0].rows
    assert ("too few rounds to tell" in head_tiles(now, [])[0].note) == few
    assert (row[-1] == "too few rounds to tell") == few
    assert few or row[-1] == f"{digits(held.low)} to {digits(held.high)}"


def test_the_head_says_how_it_goes():
    campaign = worked(rounds=200)
    now = readings(campaign)
    objective, budget, alarms, decided, waiting = head_tiles(now, ["Late.", "Gone."])
    assert objective.value == f"{now.status.objective:.4g}"
    accounts = now.status.accounts
    tight = max(accounts, key=lambda name: accounts[name].pace)
    assert budget.name == f"{tight} against plan (of 2 budgets)"
    assert budget.value == f"{accounts[tight].pace:.0%}"
    assert (alarms.value, alarms.note, alarms.alarming) == ("2", "Late.", True)
    assert (decided.value, decided.note) == ("200", "of 3,000 rounds, 1 cancelled")
    assert waiting.value == str(now.status.waiting)
    assert head_tiles(now, [])[2].note == "no alarms"
    assert head_line(now).startswith("gaps, began 2026-01-05 08:00:00 UTC; the latest event at 2026-01-0")


def test_a_new_campaign_has_no_reference_and_says_so():
    shop = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=20)
    campaign = Campaign.open(MemoryStore(lambda: 0), "new", eh.uniform(shop, 1))
    tiles = head_tiles(readings(campaign), [])
    assert [tile.name for tile in tiles] == ["Average won", "Alarms", "Decided", "Waiting"]
    assert (tiles[0].value, tiles[0].note) == ("–", "no reference yet")
    assert head_line(readings(campaign)) == "uniform, began 1970-01-01 00:00:00 UTC"
