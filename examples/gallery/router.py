"""Requests routed to language models: which of them gets a request, with 20 dollars for 2,000 requests?

The larger a model, the more hard requests it solves, and the more it costs. The length of a request and whether it has
code in it say how hard it is. A bill is random, its mean is known, and no bill may lead beyond 20 dollars. As many
requests as possible are to be solved; which model solves what is learned, one request after the other.
"""

import random

import numpy as np
from picture import finish, lines, table
from world import asked

import evenhand as eh

MODELS = {"small": 0.001, "large": 0.02, "expert": 0.08}  # dollars of a call, on average
WORST = {model: 5 * dollars for model, dollars in MODELS.items()}  # the largest bill of a call
FAILS = {"small": 0.9, "large": 0.3, "expert": 0.1}  # how often, where a request is as hard as can be
REQUESTS, DOLLARS = 2000, 20.0
problem = eh.Problem(
    actions=tuple(MODELS),
    features=(eh.Numeric("length", 0, 1), eh.Categorical("code", ("no", "yes"))),
    outcomes=(eh.Outcome("solved"), eh.Outcome("dollars", high=WORST, mean=MODELS)),
    maximize="solved",
    subject_to=(eh.Budget("dollars", total=DOLLARS),),
    horizon=REQUESTS,
)


def serve(seed: int, offered: list[str]) -> np.ndarray:
    """Return what was solved and billed in each request; nothing once the dollars are gone."""
    policy, luck, found = eh.resolving(problem), random.Random(seed), np.zeros((REQUESTS, 2))
    state = policy.start(seed=seed)
    for i in range(REQUESTS):
        length, code, answer, tokens = luck.random(), luck.random() < 0.3, luck.random(), min(luck.expovariate(1), 5)
        case = policy.encode({"length": length, "code": "yes" if code else "no"}, offered=offered)
        decision = policy.act(state, case)
        if decision.action is not None:  # else no model's worst bill fits any more
            hard = length if code else 0.3 * length
            found[i] = answer < 1 - hard * FAILS[decision.action], MODELS[decision.action] * tokens
            policy.observe(state, decision, {"solved": found[i, 0], "dollars": found[i, 1]})
    return found


replicas, rows, courses = asked(10), [], {}
for name, offered in (("routed", list(MODELS)), *((f"always {model}", [model]) for model in MODELS)):
    found = np.array([serve(seed, offered) for seed in range(replicas)])
    solved, dollars = found.sum(1).T
    assert (dollars <= DOLLARS).all()  # in every replica
    courses[name] = found[:, :, 0].cumsum(1).mean(0)
    answered = (found[:, :, 1] > 0).sum(1)
    rows.append([name, solved.mean(), solved.min(), answered.mean(), dollars.mean(), dollars.max()])
table("requests | solved | worst | answered | dollars | most", ".0f .0f .0f .2f .2f", rows)

axes = lines("requests so far", np.arange(1, REQUESTS + 1), "solved so far", courses, {})
routed, small, large = (courses[name][-1] for name in ("routed", "always small", "always large"))
finish(
    axes,
    "router",
    f"Routed, {DOLLARS:.0f} dollars solve {routed:,.0f} requests;\nsmall models {small:,.0f}, large {large:,.0f}",
    f"means of {replicas} replicas of {REQUESTS:,} requests; no replica cost more than {DOLLARS:.0f} dollars",
)
