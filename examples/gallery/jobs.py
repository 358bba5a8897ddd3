"""Job seekers and firms: who is sent where?

On each of 150 days 30 job seekers come, and there are 6 firms. A firm can use four matches a day, and some firms are
attractive to everybody. As many matches as firms can use are to come of it. Trips may cost 140 a day, and seekers who
live in the country are to find as many jobs as those of the city, up to half a match a day. Who fits where is learned.
"""

from dataclasses import replace

import numpy as np
from picture import finish, lines
from world import asked

import evenhand as eh
from evenhand.report.tables import Table
from evenhand.welfare import Capped, Satisfaction

SEEKERS, FIRMS, DAYS, TRAVEL = 30, 6, 150, 140.0  # per day, days, and money for trips per day
ENOUGH = 4.0  # matches that a firm can use in a day
rng = np.random.default_rng(0)
skills = rng.dirichlet(np.full(3, 0.7), FIRMS)  # what every firm looks for
known_to_all = np.linspace(-1.0, 1.0, FIRMS)  # some firms are attractive to everybody
place = rng.random((FIRMS, 2)) * 4.0  # in the city

free = eh.Problem(
    actions=tuple(f"seeker {i}, firm {a}" for i in range(SEEKERS) for a in range(FIRMS)),
    outcomes=(eh.Outcome("match"), eh.Outcome("travel", known=0.0)),  # a trip's cost is stated case by case
    maximize="match",
    measures=(Satisfaction(Capped(ENOUGH), arms=FIRMS),),
    groups=(eh.Groups("region", {"city": 0.7, "country": 0.3}),),
    horizon=DAYS,
    n_plays=SEEKERS,
)
bound = (eh.Budget("travel", rate=TRAVEL), eh.Parity("match", by="region", tolerance=0.5))
problem = replace(free, subject_to=bound)


def day(luck: np.random.Generator) -> tuple[eh.Context, np.ndarray]:
    """Who comes, and the chance of every pair to match, which no policy is told."""
    country = luck.random(SEEKERS) < 0.3
    home = np.where(country[:, None], 8.0, 0.0) + luck.random((SEEKERS, 2)) * 4.0
    able = luck.dirichlet(np.full(3, 0.7), SEEKERS)
    distance = np.linalg.norm(home[:, None] - place, axis=2)
    fit, popular = able @ skills.T, np.tile(known_to_all, (SEEKERS, 1))
    far = np.repeat(country[:, None], FIRMS, 1).astype(float)
    features = np.stack([np.ones_like(fit), fit, popular, far], 2).reshape(1, -1, 4)
    chance = 1.0 / (1.0 + np.exp(-(features[0] @ (-1.0, 2.0, 1.0, -0.5))))
    groups = np.repeat(country.astype(int), FIRMS)[None, :, None]
    return eh.Context(features, distance.reshape(1, -1, 1), groups, np.ones((1, len(chance)), bool)), chance


def season(policy: eh.Policy, seed: int) -> tuple[float, np.ndarray, float, np.ndarray]:
    """Return useful matches, matches of every firm and travel, each per day, and matches per seeker by region."""
    luck, state = np.random.default_rng(seed), policy.start(seed=seed)
    spent, matched, useful, regions, people = 0.0, np.zeros(FIRMS), 0.0, np.zeros(2), np.zeros(2)
    for _ in range(DAYS):
        context, chance = day(luck)
        decision = policy.act(state, context)
        pairs = decision.plays[0][decision.plays[0] >= 0]
        match = np.zeros(SEEKERS)
        match[: len(pairs)] = luck.random(SEEKERS)[: len(pairs)] < chance[pairs]
        policy.learn(state, decision, match[None, :, None])
        spent += context.known[0, pairs, 0].sum()
        of_firms = np.bincount(pairs % FIRMS, weights=chance[pairs], minlength=FIRMS)
        matched, useful = matched + of_firms, useful + np.minimum(of_firms, ENOUGH).sum()
        region = context.groups[0, :, 0]
        regions += np.bincount(region[pairs], weights=match[: len(pairs)], minlength=2)
        people += np.bincount(region[::FIRMS], minlength=2)
    return useful / DAYS, matched / DAYS, spent / DAYS, regions / people


model, replicas, rows, courses = eh.BayesianLogistic(n_features=4), asked(4), [], {}
for name, policy in (
    ("with budget and parity", eh.recipes.resolving_allocation(problem, model, may_stay=True)),
    ("satisfaction alone", eh.recipes.cab_ucb(free, model)),
    ("most matches", eh.recipes.max_match(free, model)),
):
    useful, matched, travel, regions = map(
        np.array, zip(*(season(policy, seed) for seed in range(replicas)), strict=True)
    )
    courses[name] = matched.mean(0), useful.mean(), travel.max()
    numbers = (f"{useful.mean():.2f}", f"{useful.min():.2f}", f"{matched.sum(1).mean():.2f}", f"{travel.mean():.1f}")
    rows.append([name, *numbers, f"{travel.max():.1f}", *(f"{z:.3f}" for z in regions.mean(0))])
head = ["seekers are sent for", "useful matches", "worst", "matches", "travel", "most", "city", "country"]
print(Table(head, rows))
assert courses["with budget and parity"][2] <= TRAVEL

found = {name: z[0] for name, z in courses.items()}
firms = "firm, from the least to the most attractive one"
axes = lines(firms, np.arange(1, FIRMS + 1), "matches per day", found, {f"{ENOUGH:.0f} are of use": ENOUGH})
kept, most = (courses[name] for name in ("with budget and parity", "most matches"))
finish(
    axes,
    "jobs",
    f"Firms get {kept[1]:.1f} matches a day that they can use;\nfor most matches alone {most[1]:.1f}",
    f"means of {replicas} seasons of {DAYS} days; trips cost at most {kept[2]:.1f} of {TRAVEL:.0f} a day in any season",
)
