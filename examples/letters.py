"""Letters to customers who return: at most three a week and one call a month to each, and one offer for two weeks."""

from collections import Counter
from datetime import datetime, timedelta

import numpy as np

import evenhand as eh
from evenhand.problem import Cap, Unit

CAPS = Cap("letter", at_most=3, within=7), Cap("call", at_most=1, within=30)
problem = eh.Problem(
    actions=("nothing", "letter", "call"),
    outcomes=(
        eh.Outcome("visit"),
        eh.Outcome("letter", known={"letter": 1}),
        eh.Outcome("call", known={"call": 1}),
    ),
    features=(eh.Numeric("age", 20, 80),),
    maximize="visit",
    subject_to=(eh.Budget("letter", total=40, per="day"),),
    since="2026-12-01",
    until="2026-12-31",
    traffic=eh.problem.Traffic(60, per="day"),
    unit=Unit("customer", caps=CAPS, sticky=14),
)
policy = eh.resolving(problem, explore=0.05)
state, rng = policy.start(seed=1), np.random.default_rng(2)
ages, start = rng.integers(20, 80, 90), datetime(2026, 12, 1)
had: dict[int, list[tuple[float, str]]] = {}
for day in range(30):
    for hour in np.sort(24 * rng.random(60)).tolist():
        customer, time = int(rng.integers(90)), start + timedelta(days=day, hours=hour)
        case = {"age": ages[customer], "customer": f"no. {customer}"}
        decision = policy.act(state, policy.encode(case, time=time))
        action = decision.action or "nothing"
        chance = {"nothing": 0.05, "letter": 0.15, "call": 0.3 if ages[customer] > 50 else 0.1}[action]
        policy.observe(state, decision, {"visit": float(rng.random() < chance)})
        had.setdefault(customer, []).append((day + hour / 24, action))
for action, within in (("letter", 7), ("call", 30)):
    most = max(sum(a == action and t - within < s <= t for s, a in each) for each in had.values() for t, _ in each)
    print(f"most {action}s to one customer within {within} days: {most}")
print("actions:", dict(Counter(action for each in had.values() for _, action in each)))
print(policy.status(state))
