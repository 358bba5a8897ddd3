"""Requests for language models: the mean cost of a call is known, and its bill comes later, or never."""

import numpy as np

import evenhand as eh

problem = eh.Problem(
    actions=("search", "small", "large"),
    outcomes=(
        eh.Outcome("solved"),  # learned, in [0, 1]
        # a bill is planned at its mean, held back at 0.24, and settled as it comes; a search is free
        eh.Outcome("dollars", high=0.24, mean={"small": 0.002, "large": 0.03}),
    ),
    maximize="solved",
    subject_to=(eh.Budget("dollars", total=30),),
    horizon=2000,
)
policy = eh.resolving(problem, eh.Ridge(n_features=6, width=eh.models.Fixed(0.3)))  # which predicts `solved` alone
state, rng = policy.start(seed=1), np.random.default_rng(0)
waiting, billed, lost, solved = [], 0.0, 0, 0.0


def context(length: float) -> eh.Context:
    """One request: a constant and a slope per action. Means may differ by request; here they are as declared."""
    features = np.kron(np.eye(3), [1.0, length])[None]
    return eh.Context(features, problem.declared[None], np.zeros((1, 1, 0), int), np.ones((1, 3), bool))


for _ in range(problem.horizon):
    length = rng.random()
    decision = policy.act(state, context(length))
    action = decision.plays[0, 0]
    chance = [0.2, 0.8 - 0.6 * length, 0.9 - 0.1 * length][action]
    tokens = min(rng.exponential(), 8.0)  # of the mean, and at most 8 times as many
    waiting.append((decision, float(rng.random() < chance), tokens * decision.known[0, 0, 0]))
    if len(waiting) > 20:
        oldest, found, bill = waiting.pop(0)
        if rng.random() < 0.01:
            policy.expire(state, oldest)  # nobody will ever know: 0.24 stays charged, as no fallback is declared
            lost += oldest.plays[0, 0] > 0
        else:
            policy.learn(state, oldest, np.array([[[found, bill]]]))  # in the order of problem.observed
            billed, solved = billed + bill, solved + found

left, held = policy.status(state).accounts["dollars"].left, 0.24 * sum(d.plays[0, 0] > 0 for d, _, _ in waiting)
print(f"{solved:.0f} of {problem.horizon:,} requests solved")
print(f"{billed:.2f} dollars billed, {0.24 * lost:.2f} charged for {lost} lost bills, {held:.2f} held, {left:.2f} left")
assert abs(30 - billed - 0.24 * lost - held - left) < 1e-6
