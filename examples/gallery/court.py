"""Rides to a court: whom do they help, and does each group get as many?

2,000 people must appear. There are 100 rides and 400 vouchers, which help people of group 0 more than those of group 1.
As many people as possible are to appear, and rides and vouchers per person of either group are to be within 0.01 of
those of all people. Who benefits is learned.
"""

from dataclasses import replace

from picture import drawing, finish, points, table
from world import asked

import evenhand as eh

court = eh.environments.Court(tolerance=0.01, horizon=2000)  # simulated people
unfair = replace(court, tolerance=1.0)  # which asks for nothing
model, replicas, people = eh.BayesianLogistic(n_features=5), asked(20), court.horizon
runs = [
    eh.simulate(policy, world, replicas=replicas, progress=False)
    for policy, world in (
        (eh.resolving(court.problem, model, name="evenly"), court),
        (eh.resolving(unfair.problem, model, name="wherever it helps"), unfair),
        (eh.uniform(court.problem, n_features=5, name="at random"), court),
    )
]
found, appear = [], [people * trace.objective()[-1] for trace in runs]  # at true chances: no luck of the draw
for trace, all_appear in zip(runs, appear, strict=True):
    rides, vouchers = trace.total("ride"), trace.total("voucher")
    assert (rides <= 100).all()  # hard budgets, kept in every replica
    assert (vouchers <= 400).all()
    gaps = [trace.measure(eh.Parity(z, by="group", tolerance=0.01))[-1].mean() for z in ("ride", "voucher")]
    helped = [all_appear.mean(), all_appear.min(), rides.mean(), rides.max(), vouchers.mean(), vouchers.max()]
    found.append([trace.policy, *helped, *gaps])
head = "help | appear | worst | rides | most | vouchers | most | gap of rides | of vouchers"
table(head, ".0f .0f .0f .0f .0f .0f .4f .4f", found)
for name, world in (("evenly", court), ("wherever it helps", unfair)):
    best = people * eh.opt(world, contexts=2000, replicas=3).value
    print(f"The best policy that knows everybody's chances, {name}: {best:.0f} appear")

at = court.problem.names.index("voucher")
given = [100 * (trace.group_totals[-1, :, :, at] / trace.group_rounds[-1]).mean(0) for trace in runs]
apart = [abs(z[0] - z[1]) for z in given]
axes = drawing("vouchers per 100 people that one group gets more than the other", "people who appear")
points(axes, [trace.policy for trace in runs], apart, [z.mean() for z in appear])
even, best, random = (z.mean() for z in appear)
finish(
    axes,
    "court",
    f"Sharing evenly costs {best - even:.0f} of {best:.0f} appearances;\nchance would cost {best - random:.0f}",
    f"means of {replicas} replicas, none with more than 100 rides or 400 vouchers",
)
