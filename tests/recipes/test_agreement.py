"""Policies that are the same by two names, or under a constraint that binds nothing: the same plays, bit for bit.

Plays may part only where both say that they were drawn, as ties are: an allocation draws by numbers of its own.
Policies that draw more often by other numbers agree in the mean (`OTHER_LUCK`, which says what luck that is).
"""

import math
from functools import cache

import numpy as np
import pytest

from evenhand import sets
from evenhand.models import BayesianRidge, Fixed, Logistic, Ridge
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear, WeightedSum
from evenhand.problem import Budget, Floor, Groups, Outcome, Parity, Problem, Ratio, Within
from evenhand.recipes import (
    cab_ucb,
    fw,
    fw_dual,
    fw_linucb,
    fw_linucb_rank,
    lin_cbwk,
    linucb_rank,
    lyapunov,
    max_match,
    pgd,
    pgd_adaptive,
    pgd_allocation,
    primal_lp,
    resolving,
    resolving_allocation,
    ucb,
)
from evenhand.run import play, simulate
from evenhand.welfare import Linear as LinearCurve, Satisfaction
from tests.rows import for_each
from tests.worlds import Market

N = 220
COST = {"a": 0.0, "b": 0.5, "c": 1.0, "d": 0.8}
EVERYTHING = Budget("cost", rate=1e6)


def shop(*subject_to, maximize="gain", known=True, effort=False, horizon=N):
    gain, more = Outcome("gain"), (Outcome("effort"),) if effort else ()
    cost = Outcome("cost", known=COST) if known else Outcome("cost")
    groups = (Groups("side", {"left": 0.5, "right": 0.5}),)
    return Problem(
        actions=tuple("abcd"),
        outcomes=(gain, *more, cost),
        maximize=maximize,
        subject_to=subject_to,
        groups=groups,
        horizon=horizon,
    )


def pairs_of_one(*subject_to, shared=True):
    """One user and three arms, stated as an allocation and as a plain problem."""
    pairs = tuple(f"u0 a{i}" for i in range(3))
    cost = Outcome("cost", known=dict(zip(pairs, (0.0, 0.5, 1.0), strict=True)))
    satisfaction = (Satisfaction(LinearCurve(), 3, of="match"),) if shared else ()
    outcomes = Outcome("match"), cost
    return Problem(
        actions=pairs,
        outcomes=outcomes,
        maximize="match",
        subject_to=subject_to,
        horizon=N,
        measures=satisfaction,
    )


def ranking(places):
    return Problem(actions=tuple("abcde"), outcomes=(Outcome("click"),), maximize="click", horizon=N, n_plays=places)


MODELS = {
    "Ridge": lambda outcomes: Ridge(n_features=3, n_outcomes=outcomes, width=Fixed(0.3)),
    "BayesianRidge": lambda outcomes: BayesianRidge(n_features=3, n_outcomes=outcomes),
    "Logistic": lambda outcomes: Logistic(n_features=3),
}

BUDGET = Budget("cost", rate=0.3)
SLACK = {
    "ratio": Ratio("cost", over="gain", at_most=1e9),
    "parity": Parity("gain", by="side", tolerance=2.0),
    "parity of known costs": Parity("cost", by="side", tolerance=2.0),
    "floor": Floor("gain", rate=0.0),
    "floor up to rounding": Floor("gain", rate=1e-9),
    "budget": Budget("effort", total=N),
    "budget of known costs": Budget("cost", total=N),
    "per day": Budget("cost", total=20, per=20),
    "two days": Budget("cost", total=40, per=20, window=2),
    "parity per day": Parity("effort", by="side", tolerance=2.0, per=20),
    "box": Within(("gain", "effort"), sets.Box((-9.0, -9.0), (9.0, 9.0))),
    "ball": Within(("gain", "effort"), sets.Ball((0.5, 0.5), 5.0)),
}
BESIDE = {
    "resolving": resolving,
    "ucb": lambda p, m: ucb(p, m, warmup=0),
    "pgd": lambda p, m: pgd(p, m, warmup=5),
    "pgd_adaptive": lambda p, m: pgd_adaptive(p, m, warmup=5),
    "lyapunov": lyapunov,
    "fw_dual": fw_dual,
    "primal_lp": lambda p, m: primal_lp(p, m, warmup=5),
}


@cache
def alone(recipe):
    """A budget that binds."""
    return lambda m: recipe(shop(BUDGET, effort=True), m)


def beside(recipe, constraint):
    """A slack constraint beside a budget that binds, and the budget alone."""
    return lambda m: recipe(shop(BUDGET, constraint, effort=True), m), alone(recipe)


def unbounded(recipe):
    """A budget of everything, and none."""
    return lambda m: recipe(shop(EVERYTHING), m), free


def restated(recipe, maximize):
    return lambda m: recipe(shop(BUDGET, maximize=maximize), m), spending(recipe)


def replanned(*subject_to):
    return lambda m: resolving(shop(*subject_to), m), spending(resolving)


def of_one(recipe, other, *subject_to):
    return (
        lambda m: recipe(pairs_of_one(*subject_to), m),
        lambda m: other(pairs_of_one(*subject_to, shared=False), m),
    )


def plain_ucb(problem, model):
    return ucb(problem, model, warmup=0)


def free(model):
    """Nothing to keep."""
    return plain_ucb(shop(), model)


@cache
def spending(recipe):
    """A budget of known costs that binds."""
    return lambda m: recipe(shop(BUDGET), m)


LINEAR = ("Ridge", "BayesianRidge")
ONE = {
    "ucb = fw_linucb": (lambda m: fw_linucb(shop(), m), free),
    "ucb = fw(ucb)": (lambda m: fw(shop(), lambda p: plain_ucb(p, m), warmup=0), free),
    "ucb = resolving": (lambda m: resolving(shop(), m), free),
    "linear = gini of one, resolving": restated(resolving, GeneralizedGini(("gain",), (1.0,))),
    "linear = gini of one, fw_dual": restated(fw_dual, GeneralizedGini(("gain",), (1.0,))),
    "linear = alpha near 0": restated(resolving, AlphaFair(("gain",), alpha=1e-9, offset=0.05)),
    "linear = weighted sum": restated(resolving, WeightedSum(((1.0, Linear({"gain": 1.0})),))),
    "one period of all = total": replanned(Budget("cost", total=0.3 * N, per=N)),
    "one own span = total": replanned(Budget("cost", total=[(0, N, 0.3 * N)])),
    "twice = once": replanned(BUDGET, BUDGET),
    "no holdout": (
        lambda m: resolving(shop(BUDGET), m, holdout=None, explore=0.0),
        spending(resolving),
    ),
    "budget of everything = none, resolving": unbounded(resolving),
    "budget of everything = none, pgd": unbounded(lambda p, m: pgd(p, m, warmup=0)),
    "budget of everything = none, fw_dual": unbounded(lambda p, m: fw_dual(p, m, warmup=0)),
    "budget of everything = none, fw_dual after its warm-up": (
        lambda m: fw_dual(shop(EVERYTHING), m),
        lambda m: ucb(shop(), m, warmup=20),
    ),
    "budget of everything = none, lyapunov": unbounded(lyapunov),
    "linucb_rank = fw_linucb_rank": (lambda m: linucb_rank(ranking(3), m), lambda m: fw_linucb_rank(ranking(3), m)),
    "linucb_rank = resolving": (lambda m: linucb_rank(ranking(3), m), lambda m: resolving(ranking(3), m)),
    "linucb_rank of one place = ucb": (lambda m: linucb_rank(ranking(1), m), lambda m: plain_ucb(ranking(1), m)),
}
SHARED = {
    "resolving_allocation of one user = ucb": of_one(resolving_allocation, plain_ucb),
    "cab_ucb of one user = ucb": of_one(cab_ucb, plain_ucb),
    "max_match of one user = ucb": of_one(max_match, plain_ucb),
    "pgd_allocation of one user = pgd": of_one(
        pgd_allocation, lambda p, m: pgd(p, m, warmup=0, hard=True), Budget("cost", rate=0.35)
    ),
}
TWO = {
    "learned budget of everything = none": (
        lambda m: resolving(shop(Budget("cost", rate=5.0), known=False), m),
        lambda m: resolving(shop(known=False), m),
    ),
    **{
        f"{name}, {constraint}": beside(recipe, SLACK[constraint])
        for name, recipe in BESIDE.items()
        for constraint in SLACK
        if not (constraint == "ball" and name == "primal_lp")
    },
}
TIES = "an allocation draws among equal arms by numbers of its own"
OTHER_LUCK = {
    "primal_lp, budget of everything": (
        "every play is drawn from a lottery, which is nearly certain",
        *unbounded(lambda p, m: primal_lp(p, m, warmup=0)),
        LINEAR,
    ),
    "lin_cbwk, budget of everything": (
        "slack rows have prices above 0 as well, which part ties that would be drawn",
        *unbounded(lin_cbwk),
        ("BayesianRidge",),
    ),
    "resolving_allocation of one user = resolving": (
        f"{TIES}, and a plan's lottery too",
        *of_one(resolving_allocation, resolving, Budget("cost", rate=0.35)),
        LINEAR,
    ),
    **{name: (TIES, *SHARED[name], LINEAR) for name in SHARED if not name.startswith("pgd")},
    "pgd_allocation of one user = pgd": (TIES, *SHARED["pgd_allocation of one user = pgd"], ("BayesianRidge",)),
}
ROWS = [
    *((f"{name}, {model}", *pair, MODELS[model](1), 3) for name, pair in ONE.items() for model in LINEAR),
    ("budget of everything = none, lin_cbwk", *unbounded(lin_cbwk), MODELS["Ridge"](1), 3),
    *((f"{name}, Logistic", *pair, MODELS["Logistic"](1), 8) for name, pair in SHARED.items()),
    *((f"{name}, {model}", *pair, MODELS[model](2), 3) for name, pair in TWO.items() for model in LINEAR),
]
DRAWN = [
    (f"{name}, {model}", one, other, MODELS[model](1))
    for name, (_, one, other, models) in OTHER_LUCK.items()
    for model in models
]
FIRST = ("ucb =", "linucb_rank =", "resolving, ")
QUICK = [row for row in ROWS if row[0].startswith(FIRST) and "Bayesian" not in row[0]]


@cache  # as a few policies are those that all others are compared with
def played(make, model, rounds, replicas):
    policy = make(model)
    state = policy.start(seed=9, replicas=replicas)
    world = Market(problem=policy.problem, coins=True).start(9, state.replicas)
    made = [r.decision for r in play(policy, state, world, range(rounds))]
    return np.stack([d.plays for d in made]), np.stack([d.propensities for d in made])


def agree(one, other, model, replicas, rounds):
    (plays, chance), (others, by_other) = (played(make, model, rounds, replicas) for make in (one, other))
    assert plays.shape == others.shape
    apart = (plays != others).any(2)
    for r in np.flatnonzero(apart.any(0)):
        t = int(apart[:, r].argmax())
        drawn = (chance[t, r] != 1.0).any() and (by_other[t, r] != 1.0).any()
        assert drawn, f"replica {r}, round {t}: {plays[t, r]} for certain, and {others[t, r]}"
    assert not apart.any(0).all(), "every replica has a tie: this shows nothing"


@for_each("name, one, other, model, replicas", QUICK, ids=[row[0] for row in QUICK])
def test_policies_agree_at_first(name, one, other, model, replicas):
    agree(one, other, model, replicas, 60)


@pytest.mark.slow
@for_each("name, one, other, model, replicas", ROWS, ids=[row[0] for row in ROWS], parts=6)
def test_policies_agree(name, one, other, model, replicas):
    agree(one, other, model, replicas, N)


def averages(policy, replicas=60):
    """What was gained and used per round: true means of the objective, and known costs, `->(2,R)`."""
    trace = simulate(policy, Market(problem=policy.problem, coins=True), replicas=replicas, seed=9, progress=False)
    return np.stack([trace.objective()[-1], trace.average("cost")[-1]])


def errors(one, other, model):
    """By how many standard errors of their difference gains and costs are apart, on the same cases, `->(2)`."""
    apart = averages(one(model)) - averages(other(model))
    assert apart.any(), "the same in every replica: this pair belongs to those that agree bit for bit"
    return abs(apart.mean(1)) / (apart.std(1, ddof=1) / math.sqrt(apart.shape[1]))


@pytest.mark.slow
@for_each("name, one, other, model", DRAWN, ids=[row[0] for row in DRAWN], parts=3)
def test_policies_of_other_luck_agree_in_the_mean(name, one, other, model):
    assert (errors(one, other, model) < 3.5).all()  # of 26 differences, with chance 0.99


@pytest.mark.slow
def test_policies_that_differ_do_not_agree_in_the_mean():
    def looser(model):
        return pgd(pairs_of_one(Budget("cost", rate=0.36), shared=False), model, warmup=0, hard=True)

    one, _ = SHARED["pgd_allocation of one user = pgd"]
    assert (errors(one, looser, MODELS["BayesianRidge"](1)) > 3.5).any()
    explorer, plain = unbounded(lambda p, m: primal_lp(p, m, warmup=10))
    assert (errors(explorer, plain, MODELS["Ridge"](1)) > 3.5).any()
