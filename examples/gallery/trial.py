"""A trial of four doses: how many patients get which, while every dose gets its share?

600 patients come one after the other, and which dose helps depends on a marker of the blood. The trial is to help its
own patients, and to say afterwards what every dose does. So every patient has at least a stated chance of every dose:
the probabilities are known, and averages weighted by them estimate what every dose would have done for all patients.
"""

import numpy as np
from picture import drawing, finish, points, table
from world import World, asked

import evenhand as eh

PATIENTS = 600
DOSES = ("placebo", "low", "middle", "high")
problem = eh.Problem(
    actions=DOSES,
    features=(eh.Numeric("marker", 0, 1),),
    outcomes=(eh.Outcome("recovers"),),
    maximize="recovers",
    horizon=PATIENTS,
)


def chances(z: np.ndarray) -> np.ndarray:
    """Chances to recover by dose: patients with much of the marker need a high one, others are harmed by it."""
    marker = z[:, 0]
    return np.stack([0.3 + 0 * marker, 0.6 - 0.2 * marker, 0.5 + 0.1 * marker, 0.2 + 0.6 * marker], 1)[:, :, None]


world, replicas = World(problem=problem, means=chances), asked(100)
truth = chances(np.linspace(0, 1, 1001)[:, None]).mean((0, 2))  # of every dose, for all patients
found, helped, errors = [], [], []
for floor in (0.25, 0.2, 0.15, 0.1, 0.05):
    policy = eh.resolving(problem, explore=floor) if floor < 0.25 else eh.uniform(problem, world.n_features)
    trace = eh.simulate(policy, world, replicas=replicas, record="all", progress=False)
    plays, recovers = trace.plays, trace.by_step("recovers")
    chosen = plays.actions[:, :, 0, None] == np.arange(4)
    assert plays.propensities.min() >= floor - 1e-9  # of every dose that was given
    weight = chosen / plays.propensities[:, :, 0, None]
    estimate = (weight * recovers[:, :, None]).sum(0) / weight.sum(0)
    error, given = 100 * np.sqrt(((estimate - truth) ** 2).mean(0)), chosen.sum(0)
    helped.append(trace.objective()[-1].mean() * PATIENTS)
    errors.append(error.max())
    found.append([f"{floor:g}", helped[-1], given.mean(0).min(), given.min(), *error])
head = " | ".join(["floor", "recover", "fewest of a dose", "worst", *(f"error of {dose}" for dose in DOSES)])
table(head, ".0f .0f .0f .1f .1f .1f .1f", found)
best = PATIENTS * eh.opt(world, contexts=2000, replicas=3).value
print(f"\nThe best policy that knows all chances: {best:.0f} recover")

axes = drawing("error of the estimated recovery, points", "patients who recover")
points(axes, ["equal chances", *(f"at least {100 * float(row[0]):.0f} %" for row in found[1:])], errors, helped, 3)
finish(
    axes,
    "trial",
    f"With 10 % for each dose {helped[3] - helped[0]:.0f} more patients recover\nthan with equal chances",
    f"means of {replicas} trials of {PATIENTS} patients; errors: root mean squares of the estimated recovery, for the "
    "dose that is known least",
)
