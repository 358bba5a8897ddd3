"""Recipes: named algorithms as compositions of a model, goals and a choice; one module per source."""

from evenhand.recipes.blind import uniform
from evenhand.recipes.concave import fw, fw_dual, fw_epsilon_greedy, fw_linucb, fw_squarecb
from evenhand.recipes.convex_knapsacks import bwcr
from evenhand.recipes.multi_objective import molincb
from evenhand.recipes.primal import primal_lp
from evenhand.recipes.regression_oracles import lin_cbwk, square_cbwk
from evenhand.recipes.replanning import resolving
from evenhand.recipes.small_budgets import mixed_oracle, pgd, pgd_adaptive
from evenhand.recipes.two_stage import two_stage_square_cbwk
from evenhand.recipes.unconstrained import optimistic

__all__ = [
    "bwcr",
    "fw",
    "fw_dual",
    "fw_epsilon_greedy",
    "fw_linucb",
    "fw_squarecb",
    "lin_cbwk",
    "mixed_oracle",
    "molincb",
    "optimistic",
    "pgd",
    "pgd_adaptive",
    "primal_lp",
    "resolving",
    "square_cbwk",
    "two_stage_square_cbwk",
    "uniform",
]
