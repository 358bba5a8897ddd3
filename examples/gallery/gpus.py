"""GPU slots: which job runs now, on how many GPUs, with 100 GPU-hours a day?

Two weeks with some 150 jobs a day, most of them in the morning. A job runs now for an hour on one GPU or on four, or in
the coming night, when there is room for all. It is of use if it is done by its deadline: most jobs of the morning can
wait, those of the afternoon are urgent, and large ones need four GPUs. As many jobs as possible are to be done in time,
and no day has more than 100 GPU-hours. What is done in time is learned.
"""

import numpy as np
from picture import bars, drawing, finish, table
from world import World, arrivals, asked

import evenhand as eh

DAYS, CAPACITY = 14, 100.0
HOURS = np.array([0, 0, 0, 0, 0, 0, 1, 4, 10, 14, 14, 10, 6, 6, 8, 8, 6, 4, 2, 1, 1, 0, 0, 0])
problem = eh.Problem(
    actions=("tonight", "one GPU", "four GPUs"),
    features=(eh.Numeric("urgent", 0, 1), eh.Numeric("size", 0, 1)),
    outcomes=(eh.Outcome("done"), eh.Outcome("gpu hours", known={"one GPU": 1, "four GPUs": 4})),
    maximize="done",
    subject_to=(eh.Budget("gpu hours", total=CAPACITY, per=1.0),),
    until=float(DAYS),
    traffic=eh.problem.Traffic(150, per=1.0, shape=tuple(HOURS.tolist())),
)


def done(z: np.ndarray) -> np.ndarray:
    """Chances to be done in time by action, which no policy is told."""
    urgent, size = z.T
    return np.stack([0.9 * (1 - urgent), 0.9 - 0.6 * size * urgent, 0.95 - 0.1 * size * urgent], 1)[:, :, None]


def jobs(u: np.ndarray, time: float) -> np.ndarray:
    """Jobs of the afternoon are more urgent."""
    late = time % 1 > 0.5
    return np.column_stack([u[:, 0] ** (0.4 if late else 2.0), u[:, 1]])


luck = np.random.default_rng(0)
times = arrivals((150 * luck.uniform(0.7, 1.3) for _ in range(DAYS)), HOURS, luck)
world = World(problem=problem, means=done, drawn=jobs, times=times)
replicas, rows = asked(10), []
for policy in (
    eh.resolving(problem, name="planned for the day"),
    world.rule("one GPU, first come", "one GPU"),
    world.rule("four GPUs, first come", "four GPUs"),
):
    trace = eh.simulate(policy, world, replicas=replicas, record="all", progress=False)
    jobs_done, hours = (world.by_day(trace, name) for name in ("done", "gpu hours"))
    assert (hours <= CAPACITY).all()  # on every day of every replica
    rows.append([policy.name, jobs_done.mean(), jobs_done.mean(0).min(), hours.mean(), hours.max()])
table("jobs | done a day | worst | GPU-hours a day | most", ".1f .1f .1f .1f", rows)

axes = drawing("jobs done in time, a day")
bars(axes, [row[0] for row in rows], [row[1] for row in rows])
planned, first = (row[1] for row in rows[:2])
finish(
    axes,
    "gpus",
    f"Planned, {CAPACITY:.0f} GPU-hours do {planned - first:.0f} more jobs a day\nthan first come, first served",
    f"means of {replicas} replicas of {DAYS} days; no day of any replica used more than {CAPACITY:.0f} GPU-hours",
)
