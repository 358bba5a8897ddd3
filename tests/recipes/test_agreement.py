"""Policies that are the same by two names, or under a constraint that binds nothing: the same plays, bit for bit.

Plays may part only where both say that they were drawn, as ties are: an allocation draws by numbers of its own.
Not in the list, as they differ by what they are: `primal_lp` draws from its lottery, `lin_cbwk` has prices above 0 for
slack rows as well (seen where a model has ties), and `resolving_allocation` plans with prices of arms under a budget.
"""

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
from evenhand.run import play
from evenhand.welfare import Linear as LinearCurve, Satisfaction
from tests.each import for_each
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


def beside(recipe, constraint):
    """A slack constraint beside a budget that binds, and the budget alone."""
    return (lambda m: recipe(shop(BUDGET, constraint, effort=True), m), lambda m: recipe(shop(BUDGET, effort=True), m))


def unbounded(recipe):
    """A budget of everything, and none."""
    return lambda m: recipe(shop(EVERYTHING), m), lambda m: ucb(shop(), m, warmup=0)


def restated(recipe, maximize):
    return lambda m: recipe(shop(BUDGET, maximize=maximize), m), lambda m: recipe(shop(BUDGET), m)


def replanned(*subject_to):
    return lambda m: resolving(shop(*subject_to), m), lambda m: resolving(shop(BUDGET), m)


def of_one(recipe, other, *subject_to):
    return (
        lambda m: recipe(pairs_of_one(*subject_to), m),
        lambda m: other(pairs_of_one(*subject_to, shared=False), m),
    )


def plain_ucb(problem, model):
    return ucb(problem, model, warmup=0)


LINEAR = ("Ridge", "BayesianRidge")
ONE = {
    "ucb = fw_linucb": (lambda m: plain_ucb(shop(), m), lambda m: fw_linucb(shop(), m)),
    "ucb = fw(ucb)": (
        lambda m: plain_ucb(shop(), m),
        lambda m: fw(shop(), lambda p: plain_ucb(p, m), warmup=0),
    ),
    "ucb = resolving": (lambda m: plain_ucb(shop(), m), lambda m: resolving(shop(), m)),
    "linear = gini of one, resolving": restated(resolving, GeneralizedGini(("gain",), (1.0,))),
    "linear = gini of one, fw_dual": restated(fw_dual, GeneralizedGini(("gain",), (1.0,))),
    "linear = alpha near 0": restated(resolving, AlphaFair(("gain",), alpha=1e-9, offset=0.05)),
    "linear = weighted sum": restated(resolving, WeightedSum(((1.0, Linear({"gain": 1.0})),))),
    "one period of all = total": replanned(Budget("cost", total=0.3 * N, per=N)),
    "one own span = total": replanned(Budget("cost", total=[(0, N, 0.3 * N)])),
    "twice = once": replanned(BUDGET, BUDGET),
    "no holdout": (
        lambda m: resolving(shop(BUDGET), m, holdout=None, explore=0.0),
        lambda m: resolving(shop(BUDGET), m),
    ),
    "budget of everything = none, resolving": unbounded(resolving),
    "budget of everything = none, pgd": unbounded(lambda p, m: pgd(p, m, warmup=0)),
    "budget of everything = none, fw_dual": unbounded(lambda p, m: fw_dual(p, m, warmup=0)),
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
ROWS = [
    *((f"{name}, {model}", *pair, MODELS[model](1), 3) for name, pair in ONE.items() for model in LINEAR),
    ("budget of everything = none, lin_cbwk", *unbounded(lin_cbwk), MODELS["Ridge"](1), 3),
    *((f"{name}, Logistic", *pair, MODELS["Logistic"](1), 8) for name, pair in SHARED.items()),
    *((f"{name}, {model}", *pair, MODELS[model](2), 3) for name, pair in TWO.items() for model in LINEAR),
]
FIRST = ("ucb =", "linucb_rank =", "resolving, ")
QUICK = [row for row in ROWS if row[0].startswith(FIRST) and "Bayesian" not in row[0]]


def played(policy, rounds, replicas):
    state = policy.start(seed=9, replicas=replicas)
    world = Market(problem=policy.problem, coins=True).start(9, state.replicas)
    made = [r.decision for r in play(policy, state, world, range(rounds))]
    return np.stack([d.plays for d in made]), np.stack([d.propensities for d in made])


def agree(one, other, model, replicas, rounds):
    (plays, chance), (others, by_other) = (played(make(model), rounds, replicas) for make in (one, other))
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
