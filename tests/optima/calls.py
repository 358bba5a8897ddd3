"""How each recipe is called: with its defaults, and by its theory or the optimum where it has none."""

import math
from collections.abc import Callable

from evenhand.choices import Rate
from evenhand.policy.policy import Policy
from evenhand.recipes import (
    bwcr,
    dual_bwr,
    fw,
    fw_dual,
    fw_epsilon_greedy,
    fw_linucb,
    fw_squarecb,
    greedy_bwk,
    lagrange_cbw,
    lin_cbwk,
    lyapunov,
    mixed_oracle,
    molincb,
    pd_bwk,
    pgd,
    pgd_adaptive,
    primal_bwr,
    primal_lp,
    resolving,
    square_cbwk,
    two_stage_square_cbwk,
    ucb,
    ucb_bwcr,
    ucb_bwk,
    uniform,
)
from evenhand.recipes.defaults import default_margin
from evenhand.recipes.square_cbwk import square_cbwk_rate
from evenhand.recipes.two_stage_square_cbwk import linear_exploration
from evenhand.run.optimum import opt
from tests.optima.worlds import SAMPLE, World


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
    prices = opt(w.seen, margin=default_margin(problem), **SAMPLE).prices if problem.subject_to else ()
    return mixed_oracle(problem, w.model, tuple(float(x) for x in prices))


def _fw(w: World) -> Policy:
    """Over `lin_cbwk` where something is spent, else over `ucb`."""
    problem = w.environment.problem
    return fw(problem, lambda p: lin_cbwk(p, w.model) if p.spending else ucb(p, w.model), warmup=0)


CALLS: dict[str, Callable[[World], Policy]] = {
    "bwcr": lambda w: bwcr(w.environment.problem, w.model),
    "dual_bwr": lambda w: dual_bwr(w.environment.problem, w.model),
    "fw": _fw,
    "fw_dual": lambda w: fw_dual(w.environment.problem, w.model),
    "fw_epsilon_greedy": lambda w: fw_epsilon_greedy(w.environment.problem, w.model),
    "fw_linucb": lambda w: fw_linucb(w.environment.problem, w.model),
    "fw_squarecb": lambda w: fw_squarecb(w.environment.problem, w.model, rate=_growing(w)),
    "greedy_bwk": lambda w: greedy_bwk(w.environment.problem, w.model),
    "lagrange_cbw": lambda w: lagrange_cbw(w.environment.problem, w.model),
    "lin_cbwk": lambda w: lin_cbwk(w.environment.problem, w.model),
    "lyapunov": lambda w: lyapunov(w.environment.problem, w.model),
    "mixed_oracle": _mixed,
    "molincb": lambda w: molincb(w.environment.problem, w.model),
    "pd_bwk": lambda w: pd_bwk(w.environment.problem, w.model),
    "pgd": lambda w: pgd(w.environment.problem, w.model),
    "pgd_adaptive": lambda w: pgd_adaptive(w.environment.problem, w.model),
    "primal_bwr": lambda w: primal_bwr(w.environment.problem, w.model),
    "primal_lp": lambda w: primal_lp(w.environment.problem, w.model),
    "resolving": lambda w: resolving(w.environment.problem, w.model),
    "square_cbwk": lambda w: square_cbwk(w.environment.problem, w.model, rate=_rate(w)),
    "two_stage_square_cbwk": _two_stage,
    "ucb": lambda w: ucb(w.environment.problem, w.model),
    "ucb_bwcr": lambda w: ucb_bwcr(w.environment.problem, w.model),
    "ucb_bwk": lambda w: ucb_bwk(w.environment.problem, w.model),
    "uniform": lambda w: uniform(w.environment.problem, n_features=w.environment.n_features),
}
