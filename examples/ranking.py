"""Articles for readers: every publisher gets its share of views, and a log of earlier clicks is learned from first."""

import numpy as np

import evenhand as eh

ARTICLES, SLOTS, TOPICS, READERS = 30, 5, 4, 6000
rng = np.random.default_rng(0)
articles = tuple(f"article {i}" for i in range(ARTICLES))
publisher = {name: f"publisher {i % 3}" for i, name in enumerate(articles)}
about = rng.dirichlet(np.full(TOPICS, 0.5), ARTICLES)  # what every article is about
about *= np.where(np.arange(ARTICLES) % 3 == 0, 0.9, 0.4)[:, None]  # one publisher is liked more than the others
looked = 1.0 / np.log2(2.0 + np.arange(SLOTS))  # how likely a reader looks at each place; no policy is told

problem = eh.Problem(
    actions=articles,
    outcomes=(eh.Outcome("click"), eh.Outcome("exposure", known=1.0, sure=False)),  # it counts if somebody looked
    maximize="click",
    subject_to=(eh.Floor("exposure", rate=0.85 * looked.sum(), by="publisher"),),  # of an even share
    groups=(eh.Groups("publisher", sorted(set(publisher.values())), of=publisher),),
    horizon=READERS,
    n_plays=SLOTS,
)
model = eh.BayesianBilinear(n_user_features=TOPICS, n_item_features=TOPICS)


def rank_and_read(policy, state) -> tuple[float, np.ndarray]:
    """Clicks per reader, and views of each publisher per reader over an even share."""
    clicks, views, luck = 0.0, np.zeros(3), np.random.default_rng(1)
    groups = problem.groups_of(np.zeros((1, 0), int))
    for _ in range(READERS):
        reader = luck.dirichlet(np.full(TOPICS, 0.3))
        features = np.concatenate([np.tile(reader, (ARTICLES, 1)), about], 1)[None]  # reader and article side by side
        context = eh.Context(features, problem.declared[None], groups, np.ones((1, ARTICLES), bool))
        decision = policy.act(state, context)
        shown = decision.plays[0]
        seen = luck.random(SLOTS) < looked
        liked = seen & (luck.random(SLOTS) < about[shown] @ reader)
        policy.learn(state, decision, liked.astype(float)[None, :, None], exposed=seen[None])
        clicks += liked.sum()
        np.add.at(views, shown[seen] % 3, 1.0)
    return clicks / READERS, views / READERS / (looked.sum() / 3)


# the log of last month, when articles were shown at random: who saw what, and what was clicked
who = rng.dirichlet(np.full(TOPICS, 0.3), 3000)
what = rng.integers(ARTICLES, size=3000)
clicked = rng.random(3000) < (who * about[what]).sum(1)
logged = np.concatenate([who, about[what]], 1)[None]  # (1, rows, features): all rows in one update

for name, policy in (
    ("utility alone", eh.recipes.linucb_rank(problem, model)),
    ("with a floor", eh.resolving(problem, model)),
):
    state = policy.start(seed=0)
    policy.model.update(
        state.model, logged, clicked[None, :, None] * 1.0, np.ones((1, 3000, 1), bool), np.ones((1, 1, 1, 1))
    )
    clicks, views = rank_and_read(policy, state)
    print(f"{name:14} {clicks:.3f} clicks per reader; views of publishers over an even share:", views.round(2))

assert views.min() > 0.83  # the floor holds on average
