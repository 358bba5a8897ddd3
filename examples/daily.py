"""A shop that may spend 40 dollars a day until Christmas: what a day leaves is lost, and no day ever gets more."""

from datetime import datetime, timedelta

import numpy as np

import evenhand as eh

HOURS = (1, 1, 1, 1, 1, 2, 4, 6, 8, 9, 10, 10, 11, 10, 9, 9, 9, 10, 11, 10, 8, 5, 3, 2)  # when customers come
problem = eh.Problem(
    actions=("nothing", "voucher", "call"),
    outcomes=(
        eh.Outcome("sale", free=("nothing",)),  # learned, as is its cost
        eh.Outcome("dollars", free=("nothing",)),
    ),
    features=(eh.Numeric("visits", 0, 10),),
    maximize="sale",
    subject_to=(eh.Budget("dollars", total=40, per="day"),),
    since="2026-12-14",
    until="2026-12-24",
    traffic=eh.problem.Traffic(200, per="day", shape=HOURS),
)
CHANCES = np.array([[0.0, 0.0], [0.2, 0.5], [0.5, 0.1]])  # of a sale: constant and visits
COSTS = np.array([[0.0, 0.0], [0.3, 0.2], [0.4, 0.3]])

policy = eh.resolving(problem)
state, rng = policy.start(seed=1), np.random.default_rng(2)
start, chance = datetime(2026, 12, 14), np.array(HOURS) / sum(HOURS)
print("day          customers  sales  dollars")
for day in range(10):
    customers = rng.poisson(200 * rng.uniform(0.6, 1.4))  # more or fewer than was forecast
    hours = np.sort(rng.choice(24, size=customers, p=chance) + rng.random(customers))
    sales, dollars = 0.0, 0.0
    for hour in hours.tolist():
        visits = rng.random()
        time = start + timedelta(days=day, hours=hour)
        decision = policy.act(state, policy.encode({"visits": 10 * visits}, time=time))
        of = problem.actions.index(decision.action or "nothing")
        sale = float(rng.random() < CHANCES[of] @ (1.0, visits))
        cost = float(min(2.0 * rng.random() * (COSTS[of] @ (1.0, visits)), 1.0))
        policy.observe(state, decision, {"sale": sale, "dollars": cost})
        sales, dollars = sales + sale, dollars + cost
    print(f"{start + timedelta(days=day):%Y-%m-%d} {customers:11d} {sales:6.0f} {dollars:8.2f}")
print(policy.status(state))
