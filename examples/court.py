"""Share 100 rides and 400 vouchers among 2,000 people of two groups, learning who benefits."""

import evenhand as eh

# Simulated people; court.problem states what is to be decided.
court = eh.environments.Court(tolerance=0.01, horizon=2000)
model = eh.models.Logistic(n_features=5, width=eh.models.Logarithmic(0.025))
best = eh.opt(court, contexts=2000, replicas=3)

for policy in (eh.uniform(court.problem, n_features=5), eh.pgd(court.problem, model, hard=True)):
    trace = eh.simulate(policy, court, replicas=10, seed=1)
    print(trace.summary())
    print(f"what the best policy could reach: {best.value:.4f}\n")
    assert (trace.total("ride") <= 100).all()  # a hard budget, kept in every replica

trace.plot().savefig("court.png")
print(trace.to_frame().tail(3).to_string(index=False))
