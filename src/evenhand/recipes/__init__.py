"""Recipes: named algorithms as compositions of a model, goals and a choice.

Recipes share the arguments `name`, for tables and plots, by default that of the recipe; `hard`, whether budgets are
never exceeded; and `warmup`, the rounds played uniformly at first, for models that do not explore by themselves.
"""

from evenhand.core import registry
from evenhand.recipes.allocation import (
    pgd_allocation as pgd_allocation,
    random_allocation as random_allocation,
    resolving_allocation as resolving_allocation,
)
from evenhand.recipes.baselines import ucb as ucb, uniform as uniform
from evenhand.recipes.bwcr import (
    bwcr as bwcr,
    dual_bwc as dual_bwc,
    dual_bwr as dual_bwr,
    primal_bwc as primal_bwc,
    primal_bwr as primal_bwr,
)
from evenhand.recipes.cab import (
    cab_ofu as cab_ofu,
    cab_ts as cab_ts,
    cab_ts_parameter as cab_ts_parameter,
    cab_ucb as cab_ucb,
    fairx as fairx,
    max_match as max_match,
)
from evenhand.recipes.frank_wolfe import (
    fw as fw,
    fw_epsilon_greedy as fw_epsilon_greedy,
    fw_linucb as fw_linucb,
    fw_squarecb as fw_squarecb,
    molincb as molincb,
)
from evenhand.recipes.fw_dual import fw_dual as fw_dual, fw_linucb_rank as fw_linucb_rank, fw_rank as fw_rank
from evenhand.recipes.hedge import greedy_bwk as greedy_bwk, lagrange_cbw as lagrange_cbw, pd_bwk as pd_bwk
from evenhand.recipes.lyapunov import lyapunov as lyapunov
from evenhand.recipes.pgd import mixed_oracle as mixed_oracle, pgd as pgd, pgd_adaptive as pgd_adaptive
from evenhand.recipes.primal_lp import primal_lp as primal_lp
from evenhand.recipes.rankings import (
    fairlearn_rank as fairlearn_rank,
    linucb_rank as linucb_rank,
    unbiased_linucb_rank as unbiased_linucb_rank,
)
from evenhand.recipes.resolving import resolving as resolving
from evenhand.recipes.square_cbwk import (
    lin_cbwk as lin_cbwk,
    square_cbwk as square_cbwk,
    two_stage_square_cbwk as two_stage_square_cbwk,
)
from evenhand.recipes.ucb_bwcr import ucb_bwcr as ucb_bwcr, ucb_bwk as ucb_bwk

__all__ = registry.public(__name__)
