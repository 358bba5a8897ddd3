"""A shop that keeps a control group, and a log that can say what another rule would have brought."""

import numpy as np

import evenhand as eh

problem = eh.Problem(
    actions=("nothing", "letter", "call"),
    outcomes=(
        eh.Outcome("sale", free=("nothing",)),  # learned
        eh.Outcome("dollars", known={"letter": 1, "call": 4}),
    ),
    features=(eh.Numeric("visits", 0, 10),),
    maximize="sale",
    subject_to=(eh.Budget("dollars", total=3000),),
    horizon=2000,
)
CHANCES = np.array([[0.0, 0.0], [0.1, 0.3], [0.2, 0.6]])  # of a sale: 1, and visits


def serve(policy: eh.Policy) -> None:
    """Serve the customers of one season, and say what was held out and what the log knows."""
    state, rng, value = policy.start(seed=1), np.random.default_rng(2), 0.0
    for _ in range(problem.horizon):
        visits = rng.random()
        decision = policy.act(state, policy.encode({"visits": 10 * visits}))
        a = problem.actions.index(decision.action)
        sale = float(rng.random() < CHANCES[a] @ (1.0, visits))
        policy.observe(state, decision, {"sale": sale})
        value += sale / decision.probability if decision.action == "letter" else 0.0
    status = policy.status(state)
    for name, compared in status.held_out.items():
        print(f"  {name}: {compared.text}")
    dollars = status.accounts["dollars"]
    print(f"  {dollars.spent:,.0f} of {dollars.total:,.0f} dollars spent; always a letter, by the log: ", end="")
    print(f"{value / problem.horizon:.3f} sales a customer (in truth 0.25)")


print("5 % of the customers get nothing, and every action has a chance of at least 3 %:")
serve(eh.resolving(problem, holdout=eh.Holdout(0.05, lottery={"nothing": 1}), explore=0.03))
