"""A gateway to two models: dollars by day and by month for each tier, in local time, over a change of the clock."""

from collections import defaultdict
from datetime import datetime, timedelta

import numpy as np

import evenhand as eh

problem = eh.Problem(
    actions=("small", "large"),
    outcomes=(
        eh.Outcome("good"),  # rated by the user
        eh.Outcome("usd", high={"small": 0.02, "large": 0.2}),  # known after the call
    ),
    features=(eh.Numeric("words", 0, 1000),),
    groups=(eh.Groups("tier", {"free": 0.7, "pro": 0.3}),),
    maximize="good",
    subject_to=(
        eh.Budget("usd", total={"free": 3, "pro": 8}, by="tier", per="day"),
        eh.Budget("usd", total={"free": 15, "pro": 60}, by="tier", per="month"),
    ),
    since="2026-10-22",
    until="2026-11-01",
    zone="Europe/Prague",
    traffic=eh.problem.Traffic(300, per="day"),
)
policy = eh.resolving(problem)
state, rng = policy.start(seed=1), np.random.default_rng(2)
spent: dict[str, dict[str, float]] = defaultdict(lambda: {"free": 0.0, "pro": 0.0})
for day in range(10):
    midnight = datetime(2026, 10, 22) + timedelta(days=day)
    for hour in np.sort(7 + 6 * rng.random(300)).tolist():  # most people write in the morning, as nobody stated
        words, tier = 1000 * rng.random() ** 2, "free" if rng.random() < 0.7 else "pro"
        case = {"words": words, "tier": tier}
        decision = policy.act(state, policy.encode(case, time=midnight + timedelta(hours=hour)))
        if decision.action is None:
            continue
        large = decision.action == "large"
        usd = (0.15 if large else 0.01) * (0.3 + words / 1500)
        good = rng.random() < (0.9 if large else 0.85 - 0.5 * words / 1000)
        policy.observe(state, decision, {"good": float(good), "usd": usd})
        spent[f"{midnight:%Y-%m-%d}"][tier] += usd
print("day          free    pro")
for date, by in spent.items():
    print(f"{date} {by['free']:6.2f} {by['pro']:6.2f}")
print(f"month      {sum(z['free'] for z in spent.values()):6.2f} {sum(z['pro'] for z in spent.values()):6.2f}")
print(policy.status(state))
