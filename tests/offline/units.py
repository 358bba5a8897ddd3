"""Whether intervals hold where customers have several rows; `python -m tests.offline.units [LOGS] [replays]`."""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from evenhand.logs.clusters import Clusters
from evenhand.offline import curve, from_bandit_feedback, value
from evenhand.offline.outcome_models import members_of
from evenhand.problem import Budget, Outcome, Problem
from evenhand.replay import replay_log
from tests.offline.curve_coverage import POPULATION, truth
from tests.tables import head, row

RATE = 0.4  # of letters per case


class World(NamedTuple):
    """Logs of customers with several rows each, who have a level and an effect of letters of their own."""

    customers: int
    rows: float  # per customer
    together: bool  # whether a customer has the same action in all rows
    events: bool = False  # whether the outcome is 0 or 1
    uneven: bool = False  # whether some customers have many more rows


WORLDS = [
    *(World(200, 10, together) for together in (False, True)),
    *(World(200, 10, together, events=True) for together in (False, True)),
    *(World(60, 20, together) for together in (False, True)),
    *(World(200, 10, together, uneven=True) for together in (False, True)),
]


PROBLEM = """
maximize = "visit"
horizon = 50
features = { numeric = ["age"] }
action = { column = "letter", values = { no = "none", yes = "letter" } }
propensity = { constant = 0.5 }
outcomes = { visit = { range = [-20, 20] }, post = { known = { letter = 1 } } }
budget = [{ outcome = "post", rate = 0.3 }]
"""


def truths(world):
    """What each policy is worth per row: letters bring .1 and, per unit of a trait of the customer, .3 or .1 more."""
    none, slope = (0.3, 0.1) if world.events else (0.0, 0.3)
    trait = 1.0 if world.events else 2.0 * NormalDist().pdf(0.0)  # mean |trait| of customers
    return {"all 0": none, "all 1": none + 0.1, "letter": none + 0.05 + slope * trait / 2.0}


def log_of(world, seed):
    """Draw a log, and a policy that sends letters to customers with a trait above 0."""
    rng = np.random.default_rng(seed)
    size = np.full(world.customers, int(world.rows))
    if world.uneven:
        size = 1 + rng.poisson((world.rows - 1) * rng.gamma(1.0, 1.0, world.customers))
    who = np.repeat(np.arange(world.customers), size)
    trait = rng.choice([-1.0, 1.0], world.customers) if world.events else rng.normal(size=world.customers)
    level = rng.choice([-1.0, 1.0], world.customers)
    a = (rng.integers(0, 2, world.customers)[who] if world.together else rng.integers(0, 2, len(who))).astype(int)
    x, u, rows = trait[who], level[who], len(who)
    if world.events:
        y = (rng.random(rows) < 0.3 + 0.15 * u + a * (0.1 + 0.1 * x)).astype(float)
    else:
        y = u + a * (0.1 + 0.3 * x) + rng.normal(size=rows)
    order = rng.permutation(rows)
    who, x, a, y = who[order], x[order], a[order], y[order]
    problem = Problem(
        actions=("0", "1"),
        outcomes=(Outcome("reward", low=min(0.0, y.min()), high=max(1.0, y.max())), Outcome("post", known={"1": 1.0})),
        maximize="reward",
        subject_to=(Budget("post", rate=RATE),),
        horizon=rows,
    )
    found = {"n_rounds": rows, "n_actions": 2, "context": np.stack([x, rng.normal(size=rows)], 1), "action": a}
    found |= {"reward": y, "pscore": np.full(rows, 0.5), "position": None}
    evidence = from_bandit_feedback(found, problem)
    return replace(evidence, cluster=Clusters.of(who, "customer")), np.eye(2)[(x > 0.0).astype(int)]


def written(folder, world, seed=0, name="customer_id", cluster=True, rows=None):
    """Write a log of a world, and its problem file."""
    log, _ = log_of(world, seed)
    who, x = log.clusters.numbers, log.columns["x0"]
    each = zip(who.tolist(), x.tolist(), log.actions.tolist(), log.outcomes[:, 0].tolist(), strict=True)
    lines = [f"c{g:04d},{age},{'yes' if a else 'no'},{y}" for g, age, a, y in each]
    lines = lines if rows is None else [lines[i] for i in rows]
    (folder / "log.csv").write_text("\n".join([f"{name},age,letter,visit", *lines]) + "\n")
    (folder / "problem.toml").write_text((f'cluster = "{name}"\n' if cluster else "") + PROBLEM)
    return folder / "log.csv", folder / "problem.toml"


def planned(world, log, seed, folds=3):
    """What the plans of a curve for each fold are worth in a population."""
    rng = np.random.default_rng([seed, 1])
    trait = rng.choice([-1.0, 1.0], POPULATION) if world.events else rng.normal(size=POPULATION)
    none, slope = (0.3, 0.1) if world.events else (0.0, 0.3)
    worth = none + np.stack([np.zeros(POPULATION), 0.1 + slope * trait], 1)
    traits, members = np.stack([trait, rng.normal(size=POPULATION)], 1), members_of(log.clusters.numbers, folds, 0)
    return truth(log, members, traits, worth, RATE)


class Held(NamedTuple):
    """How often things hold in some logs."""

    value: float  # intervals of values
    beyond: float  # of differences between policies
    band: float  # the band of a table, for all policies at once
    targeted: float  # of the targeted policy, in a curve
    alarms: float  # logs in which propensities or features are said to be wrong


def measured(world, logs, *, declared=True):
    """Measure coverage, with clusters or as if each row were independent."""
    truth, held, count = truths(world), np.zeros(5), np.zeros(5)
    for seed in range(logs):
        evidence, policy = log_of(world, seed)
        evidence = evidence if declared else replace(evidence, cluster=None)
        found = value(evidence, policies={"letter": policy}, folds=3)
        each = {p.policy: p for p in found.policies if p.policy in truth}
        inside, wide = [], found.bands.value
        for name, p in each.items():
            if np.isnan(p.value.se):  # as of a guess, which chance makes of letters drawn by customer
                continue
            inside.append(_holds(p.value, truth[name], wide))
            _count(held, count, 0, _holds(p.value, truth[name]))
            for other in each.keys() & p.less.keys():
                if not np.isnan(p.less[other].se):
                    _count(held, count, 1, _holds(p.less[other], truth[name] - truth[other]))
        _count(held, count, 2, all(inside))
        best = curve(evidence, budgets=[RATE], folds=3).lines[0].value[0]
        if not np.isnan(best.se):
            _count(held, count, 3, _holds(best, planned(world, evidence, seed)))
        _count(held, count, 4, any(found.checks[name] is not None for name in ("propensities", "features")))
    return Held(*(held / count).tolist())


def replayed(folder, world, logs, *, declared=True):
    """Replay a lottery in logs, and return its value and standard error in each; checks do not read a shop."""
    found = []
    for seed in range(logs):
        log, problem = written(folder, world, seed, name="shop", cluster=declared)
        lines = [line for line in problem.read_text().splitlines() if not line.startswith("budget")]
        problem.write_text("\n".join(["policy = { name = 'uniform' }", *lines]).replace("= 50", "= 800"))
        mean, se = replay_log(log, problem, replicas=8, bootstrap=20, seed=seed).measured["uniform"]["visit"][1][:2]
        found.append((mean, se))
    return found


def _holds(estimate, truth, errors=1.959963984540054):
    low, high = estimate.within(errors)
    return low <= truth <= high


def _count(held, count, i, inside):
    held[i] += inside
    count[i] += 1


def main(logs):
    """Print a table, with what was said before clusters in brackets."""
    names = ("values", "differences", "bands", "targeted", "false alarms")
    head(f"coverage of 95 %, {logs} logs; in brackets by rows, as without the key", *names)
    for world in WORLDS:
        now, before = measured(world, logs), measured(world, logs, declared=False)
        many = f"1 to some {8 * world.rows:.0f} rows" if world.uneven else f"{world.rows} rows each"
        name = f"{world.customers} customers, {many}" + ", clicks" * world.events
        name += ", an action per customer" if world.together else ", an action per row"
        row(name, *(f"{100.0 * a:.1f} ({100.0 * b:.1f})" for a, b in zip(now, before, strict=True)))


def main_of_replays(logs):
    """Print how often 95 % intervals of replays hold, by t with 19 degrees of freedom, with customers and by rows."""
    with TemporaryDirectory() as folder:
        for world, declared in product(WORLDS[:2], (True, False)):
            means, errors = np.array(replayed(Path(folder), world, logs, declared=declared)).T
            held = np.abs(means - 0.05) <= 2.093 * errors  # a lottery sends half of the letters
            print(world, "by customer" if declared else "by rows", f"{held.mean():.1%}")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "replays"]
    (main_of_replays if "replays" in sys.argv else main)(*map(int, words or ["100"]))
