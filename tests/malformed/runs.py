"""Runs, comparisons and optima that cannot be had."""

import math
from functools import partial

import numpy as np

import evenhand as eh
from evenhand.core.luck import Luck
from evenhand.environments import Court
from evenhand.experiments.concave_convex import ConcaveConvexExperiment
from evenhand.policy.saving import fingerprint
from evenhand.recipes import uniform
from evenhand.run import opt, opt_satisfaction, simulate
from tests.malformed.tables import changes, each, wrong

NAN = math.nan
COURT = Court(horizon=200)
POLICY = uniform(COURT.problem, n_features=5)
SEEDED = "seed: expected a whole number in [0, 2**64)"
run, best = partial(simulate, POLICY, COURT, progress=False), partial(opt, COURT, progress=False)


class Dull:
    """A world without a beginning."""

    problem = COURT.problem
    n_features = 5


ROWS = [
    (lambda: run(replicas=1).measure("ride"), "constraint: ...(ride per round, "),
    (lambda: COURT.start(1, 2).context(0), "replicas: ...np.arange(2)"),
    *each(lambda p: simulate(p, COURT), "policy: ...Policy", None, uniform),
    (lambda: simulate(COURT, POLICY), "policy: ...Policy"),
    (lambda: simulate(POLICY, Court(tolerance=0.01)), "policy: expected one made for the environment's problem"),
    *each(partial(simulate, POLICY), "environment: ...Environment", None),
    *each(partial(simulate, POLICY), "environment: ...the class Court", Court),
    *each(partial(simulate, POLICY), "environment: ...has no start", Dull()),
    *changes(
        run,
        ({"replicas": "20"}, "replicas: ...whole numbers"),
        ({"replicas": 0.5}, "replicas: ...a whole number"),
        ({"replicas": True}, "replicas: ...a whole number"),
        ({"replicas": 0}, "replicas: ...at least one"),
        ({"replicas": [0, -1]}, "replicas: ...numbered from 0"),
        ({"replicas": [0, 1, 0]}, "replicas: ...0 twice"),
        ({"replicas": [[0], [1, 2]]}, "replicas[0]: ...whole number"),
        ({"replicas": 10**12}, "replicas: ...at most"),
        ({"seed": "0"}, "seed: ...whole number"),
        ({"seed": 0.5}, "seed: ...whole number"),
        ({"record": "some"}, "record: ...'grid'"),
        ({"record": ["all"]}, "record: ...'grid'"),
        ({"jobs": "2"}, "jobs: ...whole number"),
        ({"jobs": 1.5}, "jobs: ...whole number"),
        ({"jobs": True}, "jobs: ...whole number"),
        ({"replicas": 10**6, "jobs": 10**6}, "jobs: ...at most"),
        ({"checkpoints": 1.5}, "checkpoints: ...Checkpoints"),
    ),
    *wrong(POLICY.start, "replicas: expected at least one, numbered from 0, got",
           replicas=(0, -2, [], [-1], [0, -1], [0.5], [[0, 1]], ["0"])),
    *wrong(POLICY.start, "replicas: ...3 twice", replicas=([3, 3],)),
    *wrong(POLICY.start, SEEDED, seed=(-1, 2**64, 0.5)),
    *wrong(partial(Luck, replicas=np.arange(1)), SEEDED, seed=(-1, 2**64, 1.5, NAN, "1")),
    *each(opt, "environment: ...Environment", POLICY, COURT.problem),
    *wrong(best, "contexts: ...", contexts=("many", 0)),
    *wrong(best, "margin: ...number", margin=("0.1",)),
    *wrong(best, "margin: ...at least 0", margin=(NAN,)),
    *wrong(best, "margin: expected at least 0 and below 0.05, the limit of", margin=(0.05,)),
    *wrong(best, "replicas: ", replicas=(0, [-1], [1, 1])),
    *wrong(best, "seed: ", seed=(-1,)),
    (lambda: opt_satisfaction(COURT, contexts=5, replicas=1), "...one Satisfaction"),
    (lambda: eh.compare([], COURT), "policies: expected at least one policy"),
    (lambda: eh.compare([POLICY] * 2, COURT), "policies: expected different names ...got 2 of the name 'uniform'"),
    *wrong(ConcaveConvexExperiment, "...{}", worlds=(("moon",), ()), rounds=(10,)),
    (lambda: fingerprint((1, object())), "configuration: expected dataclasses, arrays, numbers and names, got object"),
]  # fmt: skip
