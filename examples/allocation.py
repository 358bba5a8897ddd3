"""Job seekers to firms that have enough after some matches: trips have a budget, and regions are served alike."""

from dataclasses import replace

import numpy as np

import evenhand as eh
from evenhand.welfare import Capped, Satisfaction

SEEKERS, FIRMS, DAYS, TRAVEL = 30, 6, 600, 140.0  # people and firms per day, days, and money for trips per day
rng = np.random.default_rng(0)
skills = rng.dirichlet(np.full(3, 0.7), FIRMS)  # what every firm looks for
known_to_all = np.linspace(-1.0, 1.0, FIRMS)  # some firms are attractive to everybody
place = rng.random((FIRMS, 2)) * 4.0  # in the city

free = eh.Problem(
    actions=tuple(f"seeker {i}, firm {a}" for i in range(SEEKERS) for a in range(FIRMS)),
    outcomes=(eh.Outcome("match"), eh.Outcome("travel", known=0.0)),  # a trip's cost is stated case by case
    maximize="match",
    measures=(Satisfaction(Capped(4.0), arms=FIRMS),),  # a firm can use four matches a day
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


def season(policy: eh.Policy) -> dict[str, float]:
    """Averages per day."""
    luck, state = np.random.default_rng(1), policy.start(seed=0)
    spent = matched = satisfied = 0.0
    regions, people = np.zeros(2), np.zeros(2)
    for _ in range(DAYS):
        context, chance = day(luck)
        decision = policy.act(state, context)
        pairs = decision.plays[0][decision.plays[0] >= 0]
        match = np.zeros(SEEKERS)
        match[: len(pairs)] = luck.random(SEEKERS)[: len(pairs)] < chance[pairs]
        policy.learn(state, decision, match[None, :, None])
        spent += context.known[0, pairs, 0].sum()
        matched += match.sum()
        satisfied += np.minimum(np.bincount(pairs % FIRMS, weights=chance[pairs], minlength=FIRMS), 4.0).sum()
        region = context.groups[0, :, 0]
        regions += np.bincount(region[pairs], weights=match[: len(pairs)], minlength=2)
        people += np.bincount(region[::FIRMS], minlength=2)
    city, country = regions / people
    return {"satisfaction": satisfied / DAYS, "travel": spent / DAYS, "city": city, "country": country}


model = eh.BayesianLogistic(n_features=4)
for name, policy in (
    ("most matches", eh.recipes.max_match(free, model)),
    ("satisfaction alone", eh.recipes.cab_ucb(free, model)),
    ("with budget and parity", eh.recipes.resolving_allocation(problem, model, may_stay=True)),
):
    kept = season(policy)
    print(
        f"{name:22}  satisfaction {kept['satisfaction']:5.2f}, travel {kept['travel']:6.1f} a day; "
        f"matches per seeker: city {kept['city']:.3f}, country {kept['country']:.3f}"
    )

assert kept["travel"] <= TRAVEL
