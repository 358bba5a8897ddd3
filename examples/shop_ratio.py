"""A shop with a target cost per sale: offers as long as they earn their cost, whatever that costs in all."""

from dataclasses import replace

import numpy as np

import evenhand as eh
from evenhand.policy.status import Status

problem = eh.Problem(
    actions=("nothing", "letter", "call", "visit"),
    outcomes=(
        eh.Outcome("sale", free=("nothing",)),  # learned, as is its cost
        eh.Outcome("dollars", free=("nothing",)),
    ),
    features=(eh.Numeric("age", 20, 80), eh.Numeric("visits", 0, 10)),
    maximize="sale",
    subject_to=(eh.Ratio("dollars", over="sale", at_most=0.3),),
    horizon=1500,
)
CHANCES = np.array([[0.0, 0.0, 0.0], [0.4, 0.05, 0.05], [0.25, 0.1, 0.55], [0.2, 0.6, 0.1]])  # 1, age and visits
COSTS = np.array([[0.0, 0.0, 0.0], [0.15, 0.05, 0.05], [0.05, 0.1, 0.0], [0.3, 0.15, 0.0]])


def run(policy: eh.Policy) -> Status:
    """Serve the customers of one season."""
    state, rng = policy.start(seed=1), np.random.default_rng(2)
    for _ in range(problem.horizon):
        age, visits = rng.random(2)
        decision = policy.act(state, policy.encode({"age": 20 + 60 * age, "visits": 10 * visits}))
        a, of = problem.actions.index(decision.action), np.array([1.0, age, visits])
        sale, dollars = float(rng.random() < CHANCES[a] @ of), 2.0 * (COSTS[a] @ of) * rng.random()
        policy.observe(state, decision, {"sale": sale, "dollars": dollars})
    return policy.status(state)


print(f"{'':14}sales  dollars  dollars / sale")
for name, stated in (("with a target", problem), ("without", replace(problem, subject_to=()))):
    status = run(eh.resolving(stated))
    sales, dollars = (problem.horizon * status.averages[z] for z in ("sale", "dollars"))
    print(f"{name:14}{sales:5.0f}  {dollars:7.0f}  {dollars / sales:14.3f}")
    for label, standing in status.standings.items():  # the last lines that `print(status)` shows
        print(f"{'':14}{label}: {standing.shown} ({standing.side} {standing.limit}), {standing.text}")
