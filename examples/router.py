"""Requests routed to four language models: quality is learned, bills are random, latency is kept on average."""

import heapq
import random

import evenhand as eh

MODELS = {"nano": 0.001, "small": 0.004, "large": 0.02, "expert": 0.08}  # dollars of a call, on average
SECONDS = {"nano": 0.5, "small": 1.0, "large": 2.5, "expert": 8.0}
TRAITS = [f"trait {i}" for i in range(16)]
problem = eh.Problem(
    actions=tuple(MODELS),
    features=tuple(eh.Numeric(trait, 0, 1) for trait in TRAITS),
    outcomes=(
        eh.Outcome("quality"),
        eh.Outcome("dollars", high=0.4, mean=MODELS, fallback=0.1),  # a bill that is lost counts as 10 cents
        eh.Outcome("seconds", high=60),
    ),
    maximize="quality",
    subject_to=(eh.Budget("dollars", total=45), eh.Budget("seconds", rate=1.5, hard=False)),
    horizon=3000,
)
policy = eh.resolving(problem, eh.PerAction.of(problem))
state, luck, arriving = policy.start(seed=1), random.Random(0), []  # a heap of (when, number, decision, outcomes)
for second in range(problem.horizon):
    case = {trait: luck.random() for trait in TRAITS}
    decision = policy.act(state, policy.encode(case))
    if decision.action is not None:  # else nothing fits the budget any more
        quality = 1 - case["trait 0"] * {"nano": 1.0, "small": 0.8, "large": 0.4, "expert": 0.1}[decision.action]
        bill = MODELS[decision.action] * min(luck.expovariate(1), 5)
        wait = min(SECONDS[decision.action] * luck.expovariate(1), 60)
        outcomes = {"quality": float(luck.random() < quality), "dollars": bill, "seconds": wait}
        heapq.heappush(arriving, (second + luck.uniform(1, 60), second, decision, outcomes))
    while arriving and arriving[0][0] <= second:
        _, number, decision, outcomes = heapq.heappop(arriving)
        if number % 50:
            policy.observe(state, decision, outcomes)
        else:  # one in fifty gets lost
            policy.expire(state, decision)
print(policy.status(state))
