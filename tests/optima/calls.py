"""How each recipe is called: with its defaults, and by its theory or the optimum where it has none."""

import math
from collections.abc import Callable
from functools import partial

from evenhand import recipes
from evenhand.choices import Rate
from evenhand.policy import Policy
from evenhand.recipes import fw, lin_cbwk, mixed_oracle, two_stage_square_cbwk, ucb
from evenhand.recipes.square_cbwk import linear_exploration, square_cbwk_rate
from evenhand.recipes.terms import Terms
from evenhand.run import opt
from tests.optima.worlds import SAMPLE, World

# Not in the table: recipes and environments that other tests hold against an optimum.
# Their optimum is one over lists; `tests/recipes/test_rankings_near_optimum.py` holds them against it.
LISTS = {"fairlearn_rank", "fw_linucb_rank", "fw_rank", "linucb_rank", "unbiased_linucb_rank", "Ranking"}
# Theirs is one over allocations: `tests/experiments/test_allocation.py` holds them against a bound of each round.
ALLOCATIONS = {"cab_ofu", "cab_ts", "cab_ts_parameter", "cab_ucb", "fairx", "max_match", "random_allocation"}
ALLOCATIONS |= {"pgd_allocation", "resolving_allocation", "AudienceMatching", "Matching"}
# They ignore the objective, so that their share of the optimum says nothing: `tests/recipes/test_bwcr_sets.py` and
# `test_bwcr_duals.py` hold them to the theorems.
CONSTRAINTS_ALONE = {"dual_bwc", "primal_bwc"}
# The objective of `Sensors` is a cost, so that less of it is better; edges of `Requests` are kept on average alone. On
# `PayPerClick` a plan of `resolving` takes three milliseconds, too long for the table.
# `tests/environments/test_instances.py` holds recipes against all these optima.
INSTANCES = {"PayPerClick", "Requests", "Sensors"}
# Cases of `Hours` are not drawn alike in all rounds, so that none of them are a sample of the rest, and floors of
# `PackingCovering` are kept on average alone. `tests/goals/test_lyapunov.py` holds recipes against the best in
# hindsight, `tests/recipes/test_lagrange_cbw.py` against the optimum.
ELSEWHERE = {"Hours", "PackingCovering"}
OTHERS = LISTS | ALLOCATIONS | CONSTRAINTS_ALONE | INSTANCES | ELSEWHERE


def _rate(w: World) -> float:
    """The theory's, for oracles of n parameters and prices of up to Z = T OPT / B (Theorem A.1).

    The regret of a ridge in squares is about noise^2 n ln T per outcome; known costs have none.
    """
    p = w.environment.problem
    if not p.spending:
        return 1.0  # refused whatever it is
    regret = w.noise**2 * w.environment.n_features * math.log(p.horizon)
    scarce = min(c.limit(p.horizon) for c in p.spending)
    learned = any(c.rows(p).learned.any() for c in p.spending)
    return square_cbwk_rate(p, len(p.actions), regret, regret * learned, max_price=w.optimum.value / scarce)


def _growing(w: World) -> Rate:
    """gamma sqrt(t) as in the experiments of Do et al. 2023, with gamma = A / noise^2: 4e3 where theirs is 1e4."""
    return Rate(len(w.environment.problem.actions) / w.noise**2, 0.5)


def _explore(w: World) -> int:
    """The theory's, at most so much that the first stage takes a quarter of the smallest budget."""
    p = w.environment.problem
    if not p.spending:
        return 1  # refused whatever it is
    few = min(c.total_over(p.horizon) for c in p.spending) / (4 * (len(p.actions) + 1))
    return max(1, int(min(linear_exploration(p, w.environment.n_features), few)))


def _two_stage(w: World) -> Policy:
    explore = _explore(w)
    radius = w.noise / math.sqrt(explore) / 4
    return two_stage_square_cbwk(w.environment.problem, w.model, rate=_rate(w), explore=explore, radius=radius)


def _mixed(w: World) -> Policy:
    """The prices of the optimum with the margin that the recipe takes off."""
    problem = w.environment.problem
    prices = opt(w.seen, margin=Terms(problem).margin, **SAMPLE).prices if problem.subject_to else ()
    return mixed_oracle(problem, w.model, tuple(float(x) for x in prices))


def _fw(w: World) -> Policy:
    """Over `lin_cbwk` where something is spent, else over `ucb`."""
    problem = w.environment.problem
    return fw(problem, lambda p: lin_cbwk(p, w.model) if p.spending else ucb(p, w.model), warmup=0)


def _plain(recipe: str, w: World) -> Policy:
    """With its defaults."""
    return getattr(recipes, recipe)(w.environment.problem, w.model)


# Recipes that need more than a problem and a model.
OWN: dict[str, Callable[[World], Policy]] = {
    "fw": _fw,
    "fw_squarecb": lambda w: recipes.fw_squarecb(w.environment.problem, w.model, rate=_growing(w)),
    "mixed_oracle": _mixed,
    "square_cbwk": lambda w: recipes.square_cbwk(w.environment.problem, w.model, rate=_rate(w)),
    "two_stage_square_cbwk": _two_stage,
    "uniform": lambda w: recipes.uniform(w.environment.problem, n_features=w.environment.n_features),
}
CALLS = {name: OWN.get(name, partial(_plain, name)) for name in sorted({*recipes.__all__} - OTHERS)}
