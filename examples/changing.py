"""A campaign whose boss changes the budget half way, and then takes the letter off the list and adds a visit."""

from dataclasses import replace

import numpy as np

import evenhand as eh

problem = eh.Problem(
    actions=("nothing", "letter", "call"),
    outcomes=(eh.Outcome("sale", free=("nothing",)), eh.Outcome("dollars", free=("nothing",))),
    features=(eh.Numeric("visits", 0, 1),),
    maximize="sale",
    subject_to=(eh.Budget("dollars", total=180),),
    horizon=1500,
)
CHANCES = np.array([[0.0, 0.0], [0.1, 0.5], [0.4, 0.1], [0.7, 0.2]])  # of a sale: constant and visits
COSTS = np.array([[0.0, 0.0], [0.2, 0.1], [0.3, 0.3], [0.1, 0.1]])
rng = np.random.default_rng(2)


def run(policy: eh.Policy, state: eh.policy.PolicyState, rounds: int) -> None:
    """Decide for some customers, and learn from all of them."""
    for _ in range(rounds):
        visits = rng.random()
        decision = policy.act(state, policy.encode({"visits": visits}))
        of = policy.problem.actions.index(decision.action or "nothing")
        sale = float(rng.random() < CHANCES[of] @ (1.0, visits))
        dollars = float(min(2.0 * rng.random() * (COSTS[of] @ (1.0, visits)), 1.0))
        policy.observe(state, decision, {"sale": sale, "dollars": dollars})
    so_far = policy.status(state)
    money = so_far.accounts["dollars"]
    print(
        f"after {so_far.rounds:,} rounds: {money.spent:.1f} of {money.total:.0f} dollars spent, pace {money.pace:.0%}"
    )


policy = eh.resolving(problem)
state = policy.start(seed=1)
run(policy, state, 500)

less = eh.resolving(replace(problem, subject_to=(eh.Budget("dollars", total=120),)))
state = less.adopt(state, of=policy)  # what was spent stays spent, and what was learned stays learned
run(less, state, 500)

without = eh.resolving(replace(less.problem, withdrawn=("letter",), actions=(*problem.actions, "visit")))
state = without.adopt(state, of=less)  # the actions so far keep their places
run(without, state, 500)
print(without.status(state))
