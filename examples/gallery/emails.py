"""E-mails under a budget: whom does a shop write to?

2,000 customers come up one after the other. The shop may send 400 e-mails, because people who get too many
unsubscribe. A newsletter interests those who were in the shop lately, an offer brings back those who were not, and
some customers come anyway. As many visits as possible are to come of these 400 e-mails; what helps whom is learned.
"""

import numpy as np
from picture import finish, lines, table
from world import World, asked

import evenhand as eh

CUSTOMERS, EMAILS = 2000, 400
problem = eh.Problem(
    actions=("nothing", "newsletter", "offer"),
    features=(eh.Numeric("away", 0, 1), eh.Numeric("age", 0, 1)),  # how long ago the last visit was
    outcomes=(eh.Outcome("visit"), eh.Outcome("e-mails", known={"newsletter": 1, "offer": 1})),
    maximize="visit",
    subject_to=(eh.Budget("e-mails", total=EMAILS),),
    horizon=CUSTOMERS,
)


def chances(z: np.ndarray) -> np.ndarray:
    """Chances of a visit by action, which no policy is told."""
    away, age = z.T
    usual = 0.3 * (1 - away)
    return np.stack([usual, usual + 0.3 * (1 - away) * (1 - age), usual + 0.4 * away * age], 1)[:, :, None]


world = World(problem=problem, means=chances)
found = eh.compare(
    [
        eh.resolving(problem, name="chosen customers"),
        eh.uniform(problem, world.n_features, name="customers at random"),
        world.rule("offers to the first 400", "offer"),
        world.rule("no e-mails", "nothing"),
    ],
    world,
    replicas=asked(20),
    progress=False,
)
usual = found["no e-mails"].expected[:, :, 0]
more = {trace.policy: trace.expected[:, :, 0] - usual for trace in found.traces}  # true means: the same luck for all
rows = []
for trace in found.traces:
    extra, sent = more[trace.policy][-1], trace.total("e-mails")
    assert (sent <= EMAILS).all()  # in every replica
    rows.append([trace.policy, (usual[-1] + extra).mean(), extra.mean(), extra.min(), sent.mean(), sent.max()])
table("policy | visits | more | worst | e-mails | most", ".0f +.1f +.1f .0f .0f", rows)
best = eh.opt(world, contexts=2000, replicas=5).value * CUSTOMERS - usual[-1].mean()
print(f"\nThe best policy that knows all chances: {best:+.1f}")

seen, courses = found.traces[0].times, {name: z.mean(1) for name, z in more.items()}
axes = lines("customers so far", seen, "more visits than without e-mails", courses, {})
chosen, random = (more[name][-1].mean() for name in ("chosen customers", "customers at random"))
finish(
    axes,
    "emails",
    f"{EMAILS} e-mails to chosen customers bring {chosen:.0f} more visits,\nat random {random:.0f}",
    f"means of {len(found.traces[0].replicas)} replicas; no replica sent more than {EMAILS} e-mails",
)
