"""An objective written with cvxpy, and a budget: lessons for three schools, none of which should fall behind."""

from dataclasses import replace

import cvxpy as cp
import numpy as np

import evenhand as eh

SCHOOLS = ("east", "north", "south")


def goal(learned):
    """Diminishing returns for every school, plus half of the least average."""
    return cp.sum(cp.sqrt(learned + 0.01)) + 0.5 * cp.min(learned)


problem = eh.Problem(
    actions=("nothing", "tutor", "camp"),
    outcomes=(
        *(eh.Outcome(school) for school in SCHOOLS),  # what a pupil of that school learns, in [0, 1]
        eh.Outcome("hours", known={"tutor": 1, "camp": 3}),
    ),
    maximize=eh.objectives.Concave(SCHOOLS, goal),
    subject_to=(eh.Budget("hours", total=600),),
    horizon=600,
)
model = eh.Ridge(n_features=6, n_outcomes=3, width=eh.models.Fixed(0.1))
GAINS = np.array([[0.6, 0.9], [0.5, 0.6], [0.2, 0.5]])  # of a tutor or a camp, at each school


def run(policy: eh.Policy) -> np.ndarray:
    """Average learning per school, and hours."""
    state, rng, total = policy.start(seed=1), np.random.default_rng(2), np.zeros(4)
    for _ in range(problem.horizon):
        school, need = rng.integers(3), rng.random()
        x = np.zeros((3, 6))  # per action: zeros for "nothing", the need in the column of the school for the others
        x[1, school], x[2, 3 + school] = need, need
        context = eh.Context(x[None], problem.declared[None], np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool))
        decision = policy.act(state, context)
        a = int(decision.plays[0, 0])
        y = np.zeros(3)
        if a > 0:
            y[school] = float(rng.random() < GAINS[school, a - 1] * need)
        policy.learn(state, decision, y[None, None])
        total += [*y, problem.declared[a, 0]]
    return total / problem.horizon


print("learning per pupil " + "".join(f"{s:>8}" for s in (*SCHOOLS, "hours")))
plain = eh.objectives.Linear(dict.fromkeys(SCHOOLS, 1.0))
for name, objective in (("own goal", problem.maximize), ("plain sum", plain)):
    problem = replace(problem, maximize=objective)
    average = run(eh.recipes.fw_dual(problem, model))
    print(f"{name:19}" + "".join(f"{v:8.3f}" for v in average))
