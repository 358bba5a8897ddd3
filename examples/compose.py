"""A policy made of parts: a model of outcomes, goals that state prices, limits that always hold, and a choice."""

import evenhand as eh

court = eh.environments.Court(tolerance=0.01, horizon=2000)  # who gets a ride, who a voucher?
problem = court.problem
model = eh.BayesianLogistic(n_features=5)

gain = eh.goals.objective_goal(problem)  # the objective: every appearance is worth 1
limits = eh.goals.hard_limits(problem, hard=True)  # no budget is ever exceeded
rows, bound = eh.problem.constraints.constraint_rows(problem)  # two budgets, two parities
gradient = eh.goals.DualGradient(rows=rows, bound=bound, step=eh.goals.Steady(0.02))  # prices of the rows
weights = eh.goals.DualHedge(rows=rows, bound=bound, step=0.05, max_price=4.0, optimism="row")  # other prices

parts = {
    "gradient, best": ((gain, gradient, *limits), eh.choices.TopK(1)),
    "gradient, greedy": ((gain, gradient, *limits), eh.choices.EpsilonGreedy(0.05)),
    "weights, best": ((gain, weights, *limits), eh.choices.TopK(1)),
}
policies = [eh.Policy(problem=problem, model=model, goals=g, choice=c, name=n) for n, (g, c) in parts.items()]
print(policies[0])
print()
print(eh.compare([*policies, eh.resolving(problem, model)], court, replicas=5))
