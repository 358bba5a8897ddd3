"""A campaign in which everything happened that can: outcomes late, twice and never, budgets of every kind, groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import evenhand as eh
from evenhand.choices import InverseGap, Rate, Staged
from evenhand.live import Campaign
from evenhand.live.stores.memory import MemoryStore
from tests.polling import Clock

DAY = 86_400_000_000  # microseconds
START = 1_767_600_000_000_000

MAIL = eh.Problem(
    actions=("nothing", "letter", "call", "visit"),
    features=(eh.Numeric("age", 20, 80), eh.Categorical("channel", ("web", "phone"))),
    outcomes=(
        eh.Outcome("answer"),
        eh.Outcome("cents", known={"letter": 80, "call": 300, "visit": 900}),
        eh.Outcome("minutes", high=60, free=("nothing",)),
    ),
    maximize="answer",
    subject_to=(
        eh.Budget("cents", total=500_000, hard=True),
        eh.Budget("minutes", total=26_000, hard=True),
        eh.Parity("cents", by="zone", tolerance=20.0),
        eh.Floor("answer", rate=0.15, by="zone"),
    ),
    groups=(eh.Groups("zone", ("town", "suburb", "village", "farm")),),
    horizon=3000,
)
CHANCES = {"nothing": 0.05, "letter": 0.15, "call": 0.35, "visit": 0.55}
MINUTES = {"nothing": 0.0, "letter": 2.0, "call": 12.0, "visit": 45.0}


def worked(rounds=400, name="autumn mail", seed=0, on_expiry="hold", problem=MAIL):
    """A campaign of so many decisions: outcomes late, never, cancelled and revised."""
    clock, luck = Clock(START), np.random.default_rng(seed)
    policy = eh.pgd(problem, eh.PerAction.of(problem), warmup=80, hard=True)
    policy = replace(policy, choice=Staged(80, InverseGap(Rate(8.0, 0.5))), name="gaps")
    store = MemoryStore(clock)
    campaign = Campaign.open(store, name, policy, patience=DAY / 1e6, on_expiry=on_expiry)
    coming: list[tuple[int, int, dict]] = []
    seen = []
    zones = ("town", "suburb", "village", "farm")
    for i in range(rounds):
        clock.now += int(luck.exponential(900e6))
        due = sorted(z for z in coming if z[0] <= clock.now)
        coming = [z for z in coming if z[0] > clock.now]
        for _, number, y in due:
            campaign.observe(number, y)
            seen.append((number, y))
        zone = zones[int(luck.choice(4, p=[0.5, 0.2, 0.2, 0.1]))]
        case = {"age": int(luck.integers(20, 80)), "channel": ("web", "phone")[int(luck.integers(2))], "zone": zone}
        said = campaign.decide(case, key=f"customer-{i + 1}")
        if said.action is None:
            continue
        if i % 173 == 40:
            campaign.cancel(said.id)
            continue
        fate = luck.random()
        if fate < 0.04:
            continue  # it never comes
        wait = luck.exponential(8 * 3600e6) + (1.1 * DAY if fate > 0.97 else 0)
        lift = 1.5 if case["channel"] == "phone" else 0.8
        answer = int(luck.random() < CHANCES[said.action] * lift)
        minutes = min(MINUTES[said.action] * luck.exponential(), 60.0)
        coming.append((int(clock.now + wait), said.id, {"answer": answer, "minutes": round(minutes, 1)}))
    for number, y in seen[5::997]:
        campaign.observe(number, {**y, "answer": 1 - y["answer"]}, revise=True)
    campaign.refresh()
    return campaign
