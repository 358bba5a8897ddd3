"""Recipes: named algorithms as compositions of a model, goals and a choice.

Recipes share the arguments `name`, for tables and plots, by default that of the recipe; `hard`, whether budgets are
never exceeded; and `warmup`, the rounds played uniformly at first, for models that do not explore by themselves.
"""

from evenhand.recipes.allocation import pgd_allocation, random_allocation, resolving_allocation
from evenhand.recipes.bwcr import bwcr, dual_bwc, dual_bwr, primal_bwc, primal_bwr
from evenhand.recipes.cab import cab_ofu, cab_ts, cab_ts_parameter, cab_ucb, fairx, max_match
from evenhand.recipes.frank_wolfe import fw, fw_epsilon_greedy, fw_linucb, fw_squarecb
from evenhand.recipes.fw_dual import fw_dual, fw_linucb_rank, fw_rank
from evenhand.recipes.greedy_bwk import greedy_bwk, pd_bwk
from evenhand.recipes.lagrange_cbw import lagrange_cbw
from evenhand.recipes.lyapunov import lyapunov
from evenhand.recipes.molincb import molincb
from evenhand.recipes.pgd import mixed_oracle, pgd, pgd_adaptive
from evenhand.recipes.primal_lp import primal_lp
from evenhand.recipes.rankings import fairlearn_rank, linucb_rank, unbiased_linucb_rank
from evenhand.recipes.resolving import resolving
from evenhand.recipes.square_cbwk import lin_cbwk, square_cbwk
from evenhand.recipes.two_stage_square_cbwk import two_stage_square_cbwk
from evenhand.recipes.ucb import ucb
from evenhand.recipes.ucb_bwcr import ucb_bwcr, ucb_bwk
from evenhand.recipes.uniform import uniform

__all__ = [
    "bwcr",
    "cab_ofu",
    "cab_ts",
    "cab_ts_parameter",
    "cab_ucb",
    "dual_bwc",
    "dual_bwr",
    "fairlearn_rank",
    "fairx",
    "fw",
    "fw_dual",
    "fw_epsilon_greedy",
    "fw_linucb",
    "fw_linucb_rank",
    "fw_rank",
    "fw_squarecb",
    "greedy_bwk",
    "lagrange_cbw",
    "lin_cbwk",
    "linucb_rank",
    "lyapunov",
    "max_match",
    "mixed_oracle",
    "molincb",
    "pd_bwk",
    "pgd",
    "pgd_adaptive",
    "pgd_allocation",
    "primal_bwc",
    "primal_bwr",
    "primal_lp",
    "random_allocation",
    "resolving",
    "resolving_allocation",
    "square_cbwk",
    "two_stage_square_cbwk",
    "ucb",
    "ucb_bwcr",
    "ucb_bwk",
    "unbiased_linucb_rank",
    "uniform",
]
