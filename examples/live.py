"""One decision at a time, as a service makes them: outcomes come late, and the state survives a restart."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import evenhand as eh

problem = eh.Problem(
    actions=("wait", "call", "visit"),
    outcomes=(
        eh.Outcome("solved"),  # learned, in [0, 1]
        eh.Outcome("hours", known={"call": 0.5, "visit": 2}),  # known from the start
    ),
    maximize="solved",
    subject_to=(eh.Budget("hours", total=60), eh.Parity("hours", by="district", tolerance=0.05)),
    groups=(eh.Groups("district", ["north", "south"]),),  # shares unknown: estimated as cases come
    horizon=200,
)
policy = eh.pgd(problem, eh.models.Logistic(n_features=3, width=eh.models.Logarithmic(0.1)), hard=True)
state = policy.start(seed=1)
rng = np.random.default_rng(0)


def context(urgency: float, district: str) -> eh.Context:
    """One case: a row of features per action, and the case's group."""
    features = np.array([[[urgency, 0, 0], [urgency, 1, 0], [urgency, 0, 1]]], float)
    column = problem.columns.index(("district", district))
    return eh.Context(
        features=features,
        known=problem.declared[None],
        groups=np.array([[[column]]]),  # of the case; a row per candidate where they differ
        offered=np.array([[True, True, urgency > 0.2]]),  # no visits to the least urgent
    )


waiting = []  # decisions whose outcome has not come yet
for _ in range(100):
    case = context(rng.random(), rng.choice(["north", "south"]))
    decision = policy.act(state, case)
    waiting.append(decision)
    if len(waiting) > 5:
        first = waiting.pop(0)
        chance = 0.2 + 0.2 * first.plays[0, 0]
        policy.learn(state, first, np.array([[[float(rng.random() < chance)]]]))

print("the last decision, explained:")
print(policy.explain(state, case, decision))

with TemporaryDirectory() as folder:  # stop here, with five outcomes still to come; another process could go on
    policy.save(state, Path(folder) / "state.npz")
    for i, decision in enumerate(waiting):
        policy.save_decision(decision, Path(folder) / f"waiting-{i}.npz")
    again = policy.load(Path(folder) / "state.npz")
    for i, decision in enumerate(waiting):
        policy.learn(again, policy.load_decision(Path(folder) / f"waiting-{i}.npz"), np.ones((1, 1, 1)))
        policy.learn(state, decision, np.ones((1, 1, 1)))
    case = context(0.9, "north")
    assert policy.decide(again, case).plays == policy.decide(state, case).plays
print(f"hours left: {policy.status(state).accounts['hours'].left:.1f} of 60 after {state.t[0]:.0f} cases")
