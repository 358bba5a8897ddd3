"""Job seekers and firms: who is sent where?

On each of 150 days 30 job seekers come, and there are 6 firms. A firm can use four matches a day, and some firms are
attractive to everybody. As many matches as firms can use are to come of it. Trips may cost 140 a day, and seekers who
live in the country are to find as many jobs as those of the city, up to half a match a day. Who fits where is learned.
"""

from dataclasses import replace

from picture import bars, drawing, finish, table
from world import asked

import evenhand as eh
from evenhand.environments import Matching
from evenhand.welfare import Capped

FIRMS, DAYS, TRAVEL, ENOUGH = 6, 150, 140.0, 4.0  # ENOUGH: the matches that a firm can use in a day
free = Matching(
    users=30,
    arms=FIRMS,
    popularity=0.7,  # of the firms that are attractive to everybody
    curve=Capped(ENOUGH),
    costs=(2.0, 8.0, 3.0, 7.0, 4.0, 6.0),  # of a trip to each firm
    groups={"city": 0.7, "country": 0.3},
    shifts_by_group={"country": -0.3},
    horizon=DAYS,
)
even = eh.Parity("match", by="group", tolerance=0.5)
bound = replace(free, subject_to=(eh.Budget("cost", rate=TRAVEL), even))
model, replicas, rows = eh.BayesianLogistic(n_features=5), asked(4), []
for policy, world in (
    (eh.recipes.resolving_allocation(bound.problem, model, may_stay=True, name="with budget and parity"), bound),
    (eh.recipes.cab_ucb(free.problem, model, name="satisfaction alone"), free),
    (eh.recipes.max_match(free.problem, model, name="most matches"), free),
):
    trace = eh.simulate(policy, world, replicas=replicas, record="all", progress=False)
    useful, travel, gap = trace.average("satisfaction")[-1], trace.average("cost")[-1], trace.measure(even)[-1]
    matches = trace.total("match").mean() / DAYS
    rows.append([policy.name, useful.mean(), useful.min(), matches, travel.mean(), travel.max(), gap.mean()])
assert rows[0][5] <= TRAVEL  # in every season
head = "seekers are sent for | useful matches | worst | matches | travel | most | gap of regions"
table(head, ".2f .2f .2f .1f .1f .2f", rows)

axes = drawing(f"matches a day; pale: beyond {ENOUGH:.0f} at a firm")
bars(axes, [row[0] for row in rows], [row[1] for row in rows], [row[3] for row in rows])
finish(
    axes,
    "jobs",
    f"Firms get {rows[0][1]:.1f} matches a day that they can use;\nfor most matches alone {rows[2][1]:.1f}",
    f"means of {replicas} seasons of {DAYS} days; trips cost at most {rows[0][5]:.1f} a day in any of them",
)
