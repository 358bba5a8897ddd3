"""Whether 95 % intervals hold in some twenty kinds of logs; `python -m tests.offline.regimes [LOGS [KIND...]]`.

Every log is drawn anew and judged with the defaults of `value`. An interval counts where it is shown. What is true is
known of each kind: what actions are worth to a population.
"""

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from evenhand.objectives import Linear
from evenhand.offline import Evidence, curve, from_bandit_feedback, value
from evenhand.offline.outcome_models import members_of
from evenhand.offline.scores import Z
from evenhand.problem import Budget, Outcome, Problem
from tests.offline import curve_coverage, selection, units
from tests.tables import head, row

POPULATION = 400_000
Means = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of all actions, by traits and time, `(N,3),(N)->(N,A)`
Amounts = Callable[[np.random.Generator, np.ndarray], np.ndarray]  # with some means, `(N)->(N)`


class Drawn(NamedTuple):
    """Estimates of a log, with what is true of each, and with the errors of an interval where that is not 1.96."""

    values: list
    differences: list  # to what was logged, and to the first action


class World(NamedTuple):
    """Logs of cases that are alike and independent."""

    rows: int
    means: Means
    actions: int = 3
    least: float = 0.1  # the smallest propensity; actions are drawn alike if it is 1 / actions
    amounts: Amounts | None = None  # of outcomes; 0 or 1 by default
    drift: float = 0.0  # of propensities over time
    learns: bool = False  # whether actions are drawn by what was learned before


def clicks(traits, time, share=0.3, actions=3, trend=0.0):
    """Some actions suit some traits."""
    suits = np.tanh(traits[:, :1]) * np.linspace(-0.5, 0.5, actions)
    return share * (1.0 + suits + trend * (2.0 * time[:, None] - 1.0))


def alike(traits, time, share=0.3, actions=34):
    """No action differs from another."""
    return np.tile(share * (1.0 + 0.8 * np.tanh(traits[:, :1])), actions)


def bent(traits, time):
    """A wave, a square and a product, of which no linear model knows."""
    x, z = traits[:, 0], traits[:, 1]
    return np.stack([np.sin(3.0 * x), z**2, x * z], 1)


def hole(traits, time):
    """The second action does harm where it is never drawn."""
    return np.stack([np.full(len(traits), 0.3), 0.3 + 0.2 * np.sign(traits[:, 0])], 1)


def spent(rng, mean, bought=0.12, spread=1.8):
    """Lognormal amounts of few cases."""
    paid = rng.random(len(mean)) < bought
    return np.where(paid, np.exp(spread * rng.standard_normal(len(mean)) - spread**2 / 2) * mean / bought, 0.0)


def noisy(rng, mean):
    return mean + rng.standard_normal(len(mean))


@cache
def truth(world):
    """What each action is worth, what the lottery `mine` is, and what is logged on average where nothing is learned."""
    rng = np.random.default_rng(77)
    traits, time = rng.standard_normal((POPULATION, 3)), rng.random(POPULATION)
    means = world.means(traits, time)
    return [
        *means.mean(0),
        (mine(means) * means).sum(1).mean(),
        (chances_of(world, traits, time) * means).sum(1).mean(),
    ]


def mine(means):
    """What is best in nine cases of ten, else any action."""
    return 0.9 * np.eye(means.shape[1])[means.argmax(1)] + 0.1 / means.shape[1]


def chances_of(world, traits, time):
    k, z = world.actions, np.exp(1.2 * traits[:, :1] * np.linspace(1.0, -1.0, world.actions))
    if world.least == 0.0:  # the second action is never drawn in half of the cases
        second = np.where(traits[:, 0] < 0.0, 0.0, 0.5)
        return np.stack([1.0 - second, second], 1)
    z = z * np.exp(world.drift * (2.0 * time[:, None] - 1.0) * np.linspace(-1.0, 1.0, k))
    return world.least + (1.0 - world.least * k) * z / z.sum(1, keepdims=True)


def learned(rng, means, explored=0.05):
    """Play what was best so far, but for one case of twenty, `(N,A)->(N),(N,A),(N)`."""
    rows, k = means.shape
    total, count, a, y, p = np.zeros(k), np.zeros(k), np.zeros(rows, int), np.zeros(rows), np.empty((rows, k))
    for i in range(rows):
        best = int(np.argmax((total + 0.5) / (count + 1.0)))
        p[i] = explored / k + (1.0 - explored) * np.eye(k)[best]
        a[i] = rng.choice(k, p=p[i])
        y[i] = rng.random() < means[i, a[i]]
        total[a[i]] += y[i]
        count[a[i]] += 1.0
    return a, p, y


def log_of(world, seed):
    """Draw a log, the means of its actions in every row, and what is logged on average where nothing is learned."""
    rng = np.random.default_rng(seed)
    traits, time = rng.standard_normal((world.rows, 3)), (np.arange(world.rows) + 0.5) / world.rows
    means, rows = world.means(traits, time), np.arange(world.rows)
    if world.learns:
        a, p, y = learned(rng, means)
    else:
        p = chances_of(world, traits, time)
        a = (rng.random((world.rows, 1)) > p.cumsum(1)).sum(1).clip(0, world.actions - 1)
        mean = means[rows, a]
        y = (rng.random(world.rows) < mean).astype(float) if world.amounts is None else world.amounts(rng, mean)
    names = tuple(map(str, range(world.actions)))
    worth = Outcome("worth") if world.amounts is None else Outcome("worth", low=-np.inf, high=np.inf)
    problem = Problem(actions=names, outcomes=(worth,), maximize="worth", horizon=world.rows)
    found = {"n_rounds": world.rows, "n_actions": world.actions, "context": traits, "action": a, "reward": y}
    return from_bandit_feedback(found | {"position": None, "pscore": p[rows, a]}, problem), means, means[rows, a].mean()


def drawn(world, seed):
    """Draw a log, and value each action and `mine`."""
    log, means, here = log_of(world, seed)
    each = value(log, policies={"mine": mine(means)}).policies[1:]
    *right, logged = truth(world)
    logged, first = here if world.learns else logged, each[0].policy
    return Drawn(
        [(p.value, z) for p, z in zip(each, right, strict=True)],
        [(p.beyond, z - logged) for p, z in zip(each, right, strict=True)]
        + [(p.less[first], z - right[0]) for p, z in zip(each[1:], right[1:], strict=True)],
    )


def of_units(together, seed):
    """Two hundred customers with ten rows each."""
    world = units.World(200, 10, together)
    log, policy = units.log_of(world, seed)
    right = units.truths(world)
    each = [p for p in value(log, policies={"letter": policy}).policies if p.policy in right]
    less = [(p.less["all 0"], right[p.policy] - right["all 0"]) for p in each if "all 0" in p.less]
    return Drawn([(p.value, right[p.policy]) for p in each], less)


def targeted(scale, spread, amounts, seed, rows=1000):
    """The plan for half of the cases, learned from the log, and beyond one action for random cases."""
    rng, budget = np.random.default_rng(seed), curve_coverage.BUDGET
    log = curve_coverage.drawn(rng, rows, 2, spread, 0.05, scale, amounts)
    traits = rng.standard_normal((curve_coverage.POPULATION, 3))
    worth = scale * curve_coverage.means(traits, 2, spread, 0.05)
    first, only, *_ = curve(log, budgets=[budget], seed=seed).lines
    real = curve_coverage.truth(log, members_of(np.arange(rows), curve_coverage.FOLDS, seed), traits, worth)
    at_random = float(worth.mean(0) @ [1.0 - budget, budget])
    return Drawn([(first.value[0], real)], [(only.less[0], real - at_random)])


def of_sums(calls, seed, rows=600):
    """Sales less ten times the calls, which are rare after every action: single actions in a curve and in `value`."""
    rng = np.random.default_rng(seed)
    traits, time, actions = rng.standard_normal((rows, 3)), np.zeros(rows), rng.integers(0, 3, rows)
    sold = rng.random(rows) < clicks(traits, time)[np.arange(rows), actions]
    cents = Outcome("cents", known={"small": 1.0, "large": 2.0})
    problem = Problem(
        actions=("none", "small", "large"),
        outcomes=(Outcome("sale"), Outcome("call"), cents),
        maximize=Linear({"sale": 1.0, "call": -10.0}),
        subject_to=(Budget("cents", rate=2.0),),
        horizon=rows,
    )
    log = Evidence(
        log="drawn",
        problem_file="drawn.toml",
        problem=problem,
        features=np.column_stack([np.ones(rows), traits]),
        columns={},
        actions=actions,
        propensities=np.full(rows, 1.0 / 3.0),
        outcomes=np.column_stack([sold, rng.random(rows) < calls]).astype(float),
        known=problem.declared[None],
        groups={},
    )
    right = [sales - 10.0 * calls for sales in truth(World(rows, clicks, least=1.0 / 3.0))[:3]]
    _, *lines, _, _ = curve(log, budgets=[2.0], seed=seed).lines  # enough for everybody
    each = value(log, seed=seed).policies[1:4]
    return Drawn(
        [(line.value[0], z) for line, z in zip(lines, right[1:], strict=True)],
        [(p.less["all none"], z - right[0]) for p, z in zip(each[1:], right[1:], strict=True)],
    )


def best_of_ten(seed):
    """The best of ten rules and three actions that are all alike, by its interval for all of them."""
    log, policies = selection.alike(seed)
    found = value(log, policies=policies)
    best = max(found.policies, key=lambda p: p.value.value)
    return Drawn([(best.value, selection.TRUTH, found.bands.value)], [(best.beyond, 0.0, found.bands.less)])


def _world(*given, **more):
    return partial(drawn, World(*given, **more))


KINDS = {
    "100 rows": _world(100, clicks),
    "300 rows": _world(300, clicks),
    "1 % of 600 rows": _world(600, partial(clicks, share=0.01)),
    "1 % of 3,000 rows": _world(3000, partial(clicks, share=0.01)),
    **{
        f"34 actions, {e:g} event{'' if e == 1.0 else 's'} each": _world(
            3400, partial(alike, share=e / 100), 34, 1 / 34
        )
        for e in (0.5, 1.0, 3.0, 10.0)
    },
    "spending, 2,000 rows": _world(2000, clicks, amounts=spent),
    "spending, 20,000 rows": _world(20_000, clicks, amounts=spent),
    "spending of 1 %, 600 rows": _world(600, clicks, amounts=partial(spent, bought=0.01, spread=1.0)),
    "propensities of .01 on, 1,000 rows": _world(1000, clicks, least=0.01),
    "30 actions, 900 rows": _world(900, partial(clicks, actions=30), 30, 0.01),
    "a trend, 2,000 rows": _world(2000, partial(clicks, trend=0.4), drift=1.0),
    "outcomes that are bent, 2,000 rows": _world(2000, bent, amounts=noisy),
    "200 customers, an action per row": partial(of_units, False),
    "200 customers, an action each": partial(of_units, True),
    "a learner that explores 5 %, 2,000 rows": _world(2000, partial(clicks, share=0.4), least=0.05, learns=True),
    "half of the rows decided, 2,000 rows": _world(2000, hole, 2, 0.0),
    "targeted, nothing to find": partial(targeted, 1.0, 0.0, curve_coverage.shares),
    "targeted, 1 %": partial(targeted, 0.05, 0.1, curve_coverage.shares),
    "targeted, spending": partial(targeted, 1.0, 0.1, spent),
    "sales less ten calls of 1 %, 600 rows": partial(of_sums, 0.01),
    "sales less ten calls of 0.2 %, 600 rows": partial(of_sums, 0.002),
    "the best of ten": best_of_ten,
}


class Coverage(NamedTuple):
    """How often intervals of one kind are shown and hold, with the standard error between logs."""

    shown: float
    held: float  # of those that are shown
    error: float
    normal: float  # what normal intervals hold
    below: float  # in which part the truth is below the interval
    above: float


def covered(logs):
    """Measure the coverage of estimates by log, each with what is true and other errors than 1.96 if it has them."""
    found = np.zeros((len(logs), 6))
    for counts, each in zip(found, logs, strict=True):
        for estimate, right, *errors in each:
            counts[0] += 1
            if np.isnan(estimate.se):
                continue
            low, high = estimate.within(*errors or [Z])
            far = (errors or [Z])[0] * estimate.se
            sides = low <= right <= high, abs(estimate.value - right) <= far, right < low, right > high
            counts[1:] += [1, *sides]
    asked, shown, held, normal, below, above = found.sum(0)
    error = np.linalg.norm(found[:, 2] - held / max(shown, 1) * found[:, 1]) / max(shown, 1)
    held, normal, below, above = (z / max(shown, 1) for z in (held, normal, below, above))
    return Coverage(shown / asked, held, error, normal, below, above)


def measured(draw, logs, first=0):
    """Measure the coverage of values and of differences in some logs."""
    each = [draw(seed) for seed in range(first, first + logs)]
    return covered([z.values for z in each]), covered([z.differences for z in each])


def main(logs, *kinds):
    """Print a table, a line at a time."""
    names = ("shown", "values", "below, above", "differences")
    head(f"coverage of 95 % in {logs} logs; in brackets by normal intervals", *names)
    for kind in kinds or KINDS:
        v, d = measured(KINDS[kind], int(logs))
        value, difference = (f"{100 * z.held:.1f} ({100 * z.normal:.1f})" if z.shown else "" for z in (v, d))
        sides = f"{100 * v.below:.1f}, {100 * v.above:.1f}" if v.shown else ""
        row(kind, f"{100 * v.shown:.0f}", value, sides, difference)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["100"])
