"""Any scikit-learn model under hard budgets: a tree learns whom to call and whom to visit."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

import evenhand as eh

problem = eh.Problem(
    actions=("nothing", "call", "visit"),
    # both are learned: nobody knows how long a visit takes, but doing nothing takes no time
    outcomes=(eh.Outcome("kept"), eh.Outcome("hours", high=3.0, free=("nothing",))),
    maximize="kept",
    subject_to=(eh.Budget("hours", total=300),),
    horizon=1000,
)
tree = DecisionTreeRegressor(max_depth=4, min_samples_leaf=10)
model = eh.models.Sklearn(estimator=tree, n_features=5, n_outcomes=2)
# a tree has no widths: inverse-gap weighting explores instead
policy = eh.resolving(problem, model, warmup=60, choice=eh.choices.InverseGap(eh.choices.Rate(30.0, 0.5)))
state = policy.start(seed=0)
rng = np.random.default_rng(0)

kept = hours = 0.0
for _ in range(problem.horizon):
    age, owed = rng.random(2)  # who keeps an appointment is not a linear function of these
    features = np.array([[[age, owed, 1, 0, 0], [age, owed, 0, 1, 0], [age, owed, 0, 0, 1]]])
    context = eh.Context(features, np.zeros((1, 3, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool))
    decision = policy.act(state, context)
    a = decision.plays[0, 0]
    chance = (0.2, 0.8 if age < 0.5 else 0.3, 0.9 if owed > 0.6 else 0.4)[a]
    y = np.array([float(rng.random() < chance), (0.0, 0.2, 0.5 + 1.5 * age)[a] * rng.uniform(0.5, 1.5)])
    policy.learn(state, decision, y[None, None])
    kept, hours = kept + y[0], hours + y[1]

print(f"{kept:.0f} of {problem.horizon} kept their appointment, for {hours:.1f} of 300 hours")
print(policy.explain(state, context, decision))
