"""What the log says beyond the status: the sums of a tally are those of the policy's books, whatever came late."""

import math
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.live.dashboard import uses
from evenhand.live.dashboard.counts import MOST, Span, Spans
from evenhand.live.dashboard.sections import Readings
from evenhand.live.dashboard.sections.budgets import budgets
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.uses import Uses
from tests.live.dashboard.worked import MAIL, worked
from tests.live.http_campaign import SHOP

PAID = replace(
    MAIL,
    outcomes=(
        eh.Outcome("answer", times="value", fallback=0.25),
        *MAIL.outcomes[1:2],
        eh.Outcome("minutes", high=60, free=("nothing",), times="wage", fallback=30.0),
        eh.Outcome("value", known={"nothing": 1, "letter": 3, "call": 2, "visit": 5}),
        eh.Outcome("wage", known={"letter": 0.4, "call": 0.5, "visit": 1.5}),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [MAIL, PAID], ids=["plain", "with factors"])
@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_a_tally_adds_up_to_the_status(on_expiry, problem):
    campaign = worked(rounds=260, on_expiry=on_expiry, problem=problem)
    tally, status = Tally(campaign), campaign.status()
    tally.update()
    assert status.waiting > 0
    for name, account in status.accounts.items():
        assert math.isclose(tally.spent(name)[-1], account.spent, rel_tol=1e-9)
    assert math.isclose(tally.objectives()[-1], status.objective)
    assert sum(span.rounds for span in tally.spans.all) == status.rounds
    events = list(campaign.events())
    for kind in ("observed", "expired", "cancelled", "revised"):
        assert tally.counts[kind] == sum(e.kind == kind for e in events)
    expired = {e.ref for e in events if e.kind == "expired"}
    late = sum(e.ref in expired for e in events if e.kind == "observed")
    assert tally.counts["late"] == late > 0
    settled = {e.ref for e in events if e.kind in ("observed", "cancelled")}
    assert tally.counts["overdue"] == len(expired - settled) > 0
    assert sum(tally.bins) + tally.unstated == sum(tally.played.values()) - tally.played[None]


def test_two_budgets_of_one_outcome_have_a_course_each():
    soft = eh.Budget("cents", total=900_000, hard=False)
    campaign = worked(rounds=60, problem=replace(MAIL, subject_to=(*MAIL.subject_to[:2], soft)))
    tally, status = Tally(campaign), campaign.status()
    tally.update()
    hard, arrived = (status.accounts[name] for name in ("cents in all", "cents in all, soft"))
    assert hard.spent > arrived.spent > 0
    assert math.isclose(tally.spent("cents in all")[-1], hard.spent)
    assert math.isclose(tally.spent("cents in all, soft")[-1], arrived.spent)
    drawn = [card.title for card in budgets(Readings(campaign, status, tally, linked=False)).cards]
    assert drawn == ["cents in all", "minutes", "cents in all, soft"]


def test_reading_on_is_the_same_as_reading_all(monkeypatch):
    campaign = worked(rounds=120)
    whole, parts = Tally(campaign), Tally(campaign)
    whole.update()
    scan, store = campaign._worker.store.scan, campaign._worker.store
    for last in range(0, 400, 7):
        monkeypatch.setattr(
            store,
            "scan",
            lambda name, after=0, kinds=(), last=last: (e for e in scan(name, after, kinds) if e.seq <= last),
        )
        parts.update()
    monkeypatch.undo()
    parts.update()
    for span, other in zip(whole.spans.all, parts.spans.all, strict=True):
        assert np.array_equal(span.moved, other.moved)
        assert span.plays.tolist() == other.plays.tolist()
    assert whole.recent.lines() == parts.recent.lines()
    assert whole.counts == parts.counts


def test_decisions_that_are_no_longer_in_memory_are_read_again(monkeypatch):
    campaign = worked(rounds=150)
    whole, short = Tally(campaign), Tally(campaign)
    whole.update()
    monkeypatch.setattr("evenhand.live.dashboard.tally._KEPT", 3)
    short.update()
    assert short.counts == whole.counts
    assert [s.moved.tolist() for s in short.spans.all] == [s.moved.tolist() for s in whole.spans.all]
    assert short.delays.quantile(0.5) == whole.delays.quantile(0.5)


@pytest.mark.parametrize("anew", [False, True])
def test_a_switch_is_read_on_from_where_decisions_count_the_same(monkeypatch, anew):
    campaign = worked(rounds=150)
    tally, problem = Tally(campaign), campaign.policy.problem
    tally.update()
    read_to, asked, scan = tally._last, [], campaign._worker.store.scan
    limits = (replace(problem.subject_to[0], total=400_000, hard=not anew), *problem.subject_to[1:])
    other = replace(problem, subject_to=limits)
    campaign.switch(eh.pgd(other, eh.PerAction.of(other), warmup=80, hard=True))
    monkeypatch.setattr(campaign._worker.store, "scan", lambda *a, **z: (asked.append(a[1:]), scan(*a, **z))[1])
    tally.update()
    assert [z for z in asked if z][-1] == ((0,) if anew else (read_to,))  # () of the events that begin policies
    whole = Tally(campaign)
    whole.update()
    assert [s.moved.tolist() for s in tally.spans.all] == [s.moved.tolist() for s in whole.spans.all]
    assert tally.reference() == whole.reference()
    assert (tally.objectives(), tally.switches) == (whole.objectives(), whole.switches)
    assert len(tally.switches) == 1


def test_spans_are_of_equal_length_and_lose_nothing():
    spans = Spans()
    for i in range(7001):
        spans.add(Span(1, i % 2, np.array([1, 0]), np.array([1.0])))
        spans.add(Span(0, 0, np.array([0, 0]), np.array([0.5])))
    assert MOST / 2 <= len(spans.all) <= MOST
    assert sum(s.rounds for s in spans.all) == 7001
    assert sum(s.moved[0] for s in spans.all) == 1.5 * 7001
    assert len({s.rounds for s in spans.all[:-1]}) == 1


def test_a_switch_to_another_objective_reads_the_log_again():
    campaign = worked(rounds=60)
    tally = Tally(campaign)
    tally.update()
    both = replace(MAIL, maximize=eh.objectives.Linear({"answer": 1.0, "minutes": -0.01}))
    campaign.switch(eh.pgd(both, eh.PerAction.of(both), warmup=80, hard=True))
    tally.update()
    random, others = tally.moments()
    assert random.sums.shape == (2,)
    assert round(random.rounds + others.rounds) == tally.n_with_outcomes() > 0


def test_increments_of_declared_outcomes_are_kept_and_never_shared(monkeypatch):
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP))
    found = Uses(SHOP, policy.status(policy.start()).accounts)
    monkeypatch.setattr(uses, "_MOST", 2)
    for plays in ([0], [1], [-1], [1], [0]):
        declared = np.array([[0.0 if plays[0] < 1 else 80.0]])
        for _ in range(2):
            known, now = found.plain(plays)
            np.testing.assert_array_equal(known, declared)
            np.testing.assert_array_equal(now, found.decided(plays, declared))
            known += 1.0
            now += 1.0
        assert len(found._plain) <= 2
