"""Ads with a budget for each day and a target cost per sale: to whom does a shop show which ad?

Two weeks with some 200 visitors on a workday, and 400 on a day of the weekend. The shop may spend 25 dollars a day;
what a day leaves is lost. A sale may cost 35 cents on average over both weeks. Visitors with more interest buy more
often, and their ads are dearer. As many sales as possible are to come of it; sales and costs of ads are learned.
Another target is tried by `python examples/gallery/ads.py 20 0.30`, after the number of replicas.
"""

import sys
from dataclasses import replace

import numpy as np
from picture import finish, lines, table
from world import World, arrivals, asked

import evenhand as eh

DAYS, ALLOWANCE = 14, 25.0
TARGET = float(sys.argv[2]) if len(sys.argv) > 2 else 0.35
HOURS = np.array([1, 1, 1, 1, 1, 2, 4, 6, 8, 9, 10, 10, 11, 10, 9, 9, 9, 10, 11, 10, 8, 5, 3, 2])  # when visitors come
WEEK = np.array([200, 200, 200, 200, 200, 400, 400])
problem = eh.Problem(
    actions=("nothing", "text", "picture", "video"),
    features=(eh.Numeric("interest", 0, 1), eh.Numeric("age", 0, 1)),
    outcomes=(eh.Outcome("sale", free=("nothing",)), eh.Outcome("dollars", free=("nothing",))),
    maximize="sale",
    subject_to=(
        eh.Budget("dollars", total=ALLOWANCE, per=1.0),
        eh.Ratio("dollars", over="sale", at_most=TARGET),
    ),
    until=float(DAYS),
    traffic=eh.problem.Traffic(WEEK.sum(), per=7.0, shape=tuple(np.outer(WEEK, HOURS).ravel().tolist())),
)


def means(z: np.ndarray) -> np.ndarray:
    """Chances of a sale, and mean costs, which no policy is told."""
    interest, age = z.T
    text = 0.05 + 0.30 * interest
    sale = [0 * age, text, text + 0.15 * age, 0.10 + 0.35 * interest + 0.2 * (1 - age)]
    cost = [0 * age, 0.05 + 0.03 * interest, 0.10 + 0.05 * interest, 0.15 + 0.10 * interest]
    return np.stack([np.stack(sale, 1), np.stack(cost, 1)], 2)


def sale_and_cost(mean: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A sale by a coin, and a price of an auction that is up to twice its mean."""
    return np.stack([u[..., 0] < mean[..., 0], 2.0 * u[..., 1] * mean[..., 1]], 2)


times = arrivals((WEEK[day % 7] for day in range(DAYS)), HOURS, np.random.default_rng(0))
world = World(problem=problem, means=means, outcome=sale_and_cost, times=times)
spend_all = replace(world, problem=replace(problem, subject_to=problem.subject_to[:1]))
replicas, rows, courses = asked(20), [], {}
for policy, here in (
    (eh.resolving(problem, name="budget and target"), world),
    (eh.resolving(spend_all.problem, name="budget alone"), spend_all),
    (world.rule("videos for all", "video"), world),
):
    trace = eh.simulate(policy, here, replicas=replicas, record="all", progress=False)
    sales, dollars = (world.by_day(trace, name) for name in ("sale", "dollars"))
    assert (dollars <= ALLOWANCE + 1e-9).all()  # on every day of every replica
    ratio, sold = dollars.cumsum(0) / sales.cumsum(0), sales.sum(0)
    courses[policy.name] = 100 * ratio.mean(1)
    rows.append(
        [policy.name, sold.mean(), sold.min(), ratio[-1].mean(), ratio[-1].max(), dollars.mean(), dollars.max()]
    )
table("ads | sales | worst | dollars / sale | worst | dollars a day | most", ".0f .0f .3f .3f .2f .2f", rows)

axes = lines("days so far", np.arange(1, DAYS + 1), "cents per sale so far", courses, {"target": 100 * TARGET})
both, alone = (courses[name][-1] for name in ("budget and target", "budget alone"))
finish(
    axes,
    "ads",
    f"A sale costs {both:.1f} cents with the target of {100 * TARGET:.0f},\nwith the budget alone {alone:.1f}",
    f"means of {replicas} replicas; no day of any replica cost more than {ALLOWANCE:.0f} dollars",
)
