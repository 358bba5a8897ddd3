"""Examples of every recipe: policies, each with an environment in which it can act."""

import math
from dataclasses import replace

from evenhand import environments as e, models as m, recipes as r
from evenhand.choices import EpsilonGreedy, Gibbs, InverseGap, Rate, Staged, TopK
from evenhand.objectives import Moreau, Randomized
from evenhand.problem import Budget
from evenhand.recipes.primal_lp import Program, Slack
from evenhand.welfare import Capped, Greedy, Sequential
from tests.examples.environments import AUDIENCES, BOUND, LOG, MATCHED, PRODUCTS, RANKING, SPREAD, UNEVEN_LOG
from tests.examples.problems import (
    COURT,
    CURVED,
    EVERYTHING,
    LITTLE,
    LITTLE_SPENT,
    PAID,
    SHARED,
    SHOP,
    SPENT,
    TWO_DAYS,
    UNSPENT,
)
from tests.shop import Shop
from tests.worlds import Market

MIXED = e.MixedContexts(horizon=150)

_LEARNER = m.Logistic(n_features=5, ridge=1e-3, width=m.Logarithmic(0.025))
_PAIR = m.Ridge(n_features=3, n_outcomes=2, width=m.SelfNormalised(delta=0.1))
_MARKET = Market(problem=EVERYTHING, offered=0.8)

_LESSONS = e.Lessons(horizon=80)
_GOALS = e.MultiObjective(arms=6, n_outcomes=3, n_features=4, horizon=120)
_WIDE = m.Ridge(n_features=4, n_outcomes=3, width=m.Fixed(0.1))
_SHARED_MARKET = Market(problem=SHARED, offered=0.8)
_CURVED_MARKET = Market(problem=CURVED)
_BRIEF = replace(CURVED, horizon=50)  # its plans take Python long
_BLIND_MIXED = e.WithoutContexts(e.MixedArms(horizon=150))
_BLIND_MARKET = e.WithoutContexts(Market(problem=SPENT, offered=0.8))
_BLIND_LESSONS = e.WithoutContexts(e.Lessons(horizon=150, parity=False))
_BLIND_FREE = e.WithoutContexts(e.Lessons(horizon=150, constrained=False))
_FREE = _BLIND_FREE.problem
_TABLE = m.Tabular(arms=5, n_outcomes=4, confidence=0.5)
_MEANS = m.Tabular(arms=4, n_outcomes=2, confidence=0.5)

_MATCHING = e.Matching(users=5, arms=3, horizon=50, curve=Capped(0.8), eligible=0.7)
_LISTENING = e.AudienceMatching(audience=AUDIENCES[1].audience, users=4, arms=3, horizon=40, curve=Capped(0.4))
_PRICED_MATCHING = replace(_MATCHING, costs=(0.0, 0.5, 1.0), subject_to=(Budget("cost", rate=1.0),))
_MATCHES = m.Logistic(n_features=5, ridge=5.0, width=m.Fixed(0.5), clipped=False, buffer=20)
_LISTENS = m.Ridge(n_features=3, width=m.Fixed(0.1))

_SHOP = Shop(horizon=60)

_TASTES = m.Bilinear(n_user_features=2, n_item_features=2, ridge=0.1, width=m.SelfNormalised(delta=0.1))
_BLIND_TASTES = m.Bilinear(n_user_features=2, n_item_features=2)

_PACKED, _HOURS = e.PackingCovering(horizon=120), e.Hours(horizon=120)
_FREELY_MATCHED = e.Matching(users=5, arms=3, horizon=40)

# By recipe: policies, each with an environment in which it can act.
RECIPES = {
    "resolving_allocation": [
        (r.resolving_allocation(MATCHED.problem, m.Logistic(n_features=5), contexts=40, every=10), MATCHED),
        (r.resolving_allocation(MATCHED.problem, m.Ridge(n_features=5), may_stay=True), e.Delayed(MATCHED, delay=4)),
        (r.resolving_allocation(MATCHED.problem, m.Logistic(n_features=5), oracle=Sequential()), MATCHED),
        (r.resolving_allocation(MATCHED.problem, m.Logistic(n_features=5), every=5), e.Delayed(MATCHED, delay=(0, 4))),
        (r.resolving_allocation(_FREELY_MATCHED.problem, m.Logistic(n_features=5)), _FREELY_MATCHED),
    ],
    "pgd_allocation": [
        (r.pgd_allocation(MATCHED.problem, m.Logistic(n_features=5)), MATCHED),
        (r.pgd_allocation(MATCHED.problem, m.Ridge(n_features=5), may_stay=True), e.Delayed(MATCHED, delay=(0, 4))),
        (
            r.pgd_allocation(MATCHED.problem, m.Ridge(n_features=5), step=0.1, may_stay=True),
            e.Delayed(MATCHED, delay=4),
        ),
    ],
    "fw_linucb_rank": [
        (r.fw_linucb_rank(SPREAD.problem, _TASTES), SPREAD),
        (r.fw_linucb_rank(BOUND.problem, _TASTES, step=0.1, smoothing=Moreau(0.1)), e.Delayed(BOUND, delay=4)),
        (r.fw_linucb_rank(BOUND.problem, _TASTES, hard=False, margin=0.01), BOUND),
    ],
    "fw_rank": [
        (r.fw_rank(BOUND.problem, _BLIND_TASTES, EpsilonGreedy(0.2, 3)), BOUND),
        (r.fw_rank(SPREAD.problem, _TASTES, Staged(5, TopK(3))), SPREAD),
        (r.fw_rank(PRODUCTS.problem, m.Logistic(n_features=4), Gibbs(0.1, 3)), e.Delayed(PRODUCTS, delay=4)),
        (r.fw_rank(PRODUCTS.problem, m.Sampled(inner=m.Logistic(n_features=4)), TopK(3)), PRODUCTS),
    ],
    "linucb_rank": [
        (r.linucb_rank(RANKING.problem, _TASTES), RANKING),
        (r.linucb_rank(BOUND.problem, _TASTES, utility="exposure"), e.Delayed(BOUND, delay=4)),
    ],
    "unbiased_linucb_rank": [
        (r.unbiased_linucb_rank(RANKING.problem, _TASTES), RANKING),
        (r.unbiased_linucb_rank(BOUND.problem, _TASTES), e.Delayed(BOUND, delay=4)),
    ],
    "fairlearn_rank": [
        (r.fairlearn_rank(RANKING.problem, _TASTES, share=0.7), RANKING),
        (r.fairlearn_rank(BOUND.problem, _TASTES, share=0.5, tolerance=0.0), e.Delayed(BOUND, delay=4)),
    ],
    "fw_linucb": [
        (r.fw_linucb(_GOALS.problem, _WIDE), _GOALS),
        (
            r.fw_linucb(_GOALS.problem, m.Scalarised(n_features=4, n_outcomes=3, width=m.Fixed(0.1)), optimism="net"),
            _GOALS,
        ),
        (r.fw_linucb(_GOALS.problem, _WIDE, smoothing=Randomized(0.05, samples=3)), e.Delayed(_GOALS, delay=4)),
    ],
    "fw_squarecb": [(r.fw_squarecb(_GOALS.problem, _WIDE, rate=Rate(100.0, 0.5)), _GOALS)],
    "fw_epsilon_greedy": [(r.fw_epsilon_greedy(_GOALS.problem, _WIDE, epsilon=0.2), _GOALS)],
    "molincb": [
        (r.molincb(_GOALS.problem, _WIDE, steps=5), _GOALS),
        (
            r.molincb(_GOALS.problem, m.Ridge(n_features=4, n_outcomes=3), steps=1, delta=0.5),
            e.Delayed(_GOALS, delay=4),
        ),
        (r.molincb(LITTLE, m.Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "fw": [
        (r.fw(_GOALS.problem, lambda p: r.ucb(p, _WIDE), warmup=5), _GOALS),
        (r.fw(SHARED, lambda p: r.lin_cbwk(p, _PAIR), smoothing=Moreau(0.1)), _SHARED_MARKET),
    ],
    "fw_dual": [
        (r.fw_dual(_GOALS.problem, _WIDE), _GOALS),
        (r.fw_dual(SHARED, _PAIR, step=0.1, margin=0.01), _SHARED_MARKET),
        (r.fw_dual(CURVED, _PAIR, warmup=3), _CURVED_MARKET),
        (r.fw_dual(SHARED, _PAIR, hard=False, smoothing=Randomized(0.1)), e.Delayed(_SHARED_MARKET, delay=4)),
    ],
    "bwcr": [
        (r.bwcr(_BLIND_LESSONS.problem, m.Tabular(arms=5, n_outcomes=4, confidence=0.5)), _BLIND_LESSONS),
        (r.bwcr(SPENT, _MEANS, margin=0.01, objective_by=Randomized(0.1)), e.Delayed(_BLIND_MARKET, delay=4)),
        (r.bwcr(SPENT, _PAIR, hard=False), Market(problem=SPENT)),
        (r.bwcr(LITTLE, m.Ridge(n_features=3)), Market(problem=LITTLE)),
        (r.bwcr(_BLIND_LESSONS.problem, _TABLE, objective_by="dual", constraints_by="dual"), _BLIND_LESSONS),
        (r.bwcr(SPENT, _PAIR, objective_by="ucb", constraints_by="dual"), Market(problem=SPENT)),
        (r.bwcr(SPENT, _PAIR, objective_by="dual", constraints_by="ucb"), Market(problem=SPENT)),
        (r.bwcr(SPENT, _PAIR, objective_by="dual", norm="sup"), e.Delayed(Market(problem=SPENT), delay=4)),
        (r.bwcr(SPENT, _PAIR, constraints_by="dual", norm="sup", hard=False), Market(problem=SPENT)),
    ],
    "dual_bwr": [
        (r.dual_bwr(_FREE, _TABLE), _BLIND_FREE),
        (r.dual_bwr(UNSPENT, _PAIR, norm="sup"), e.Delayed(Market(problem=UNSPENT), delay=4)),
        (r.dual_bwr(LITTLE, m.Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "primal_bwr": [
        (r.primal_bwr(_FREE, _TABLE), _BLIND_FREE),
        (r.primal_bwr(_GOALS.problem, _WIDE, smoothing=Randomized(0.1)), e.Delayed(_GOALS, delay=4)),
        (r.primal_bwr(LITTLE, m.Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "dual_bwc": [
        (r.dual_bwc(_BLIND_LESSONS.problem, _TABLE, hard=True), _BLIND_LESSONS),
        (r.dual_bwc(SPENT, _PAIR, norm="sup", margin=0.01), e.Delayed(Market(problem=SPENT), delay=4)),
    ],
    "primal_bwc": [
        (r.primal_bwc(_BLIND_LESSONS.problem, _TABLE, hard=True), _BLIND_LESSONS),
        (r.primal_bwc(SPENT, _PAIR, margin=0.01), e.Delayed(Market(problem=SPENT), delay=4)),
    ],
    "ucb_bwk": [
        (r.ucb_bwk(_BLIND_MIXED.problem, m.Tabular(arms=5, n_outcomes=3, confidence=0.5)), _BLIND_MIXED),
        (
            r.ucb_bwk(PAID, _MEANS, epsilon=0.1),
            e.Delayed(e.WithoutContexts(Market(problem=PAID, offered=0.8)), delay=4),
        ),
        (r.ucb_bwk(PAID, _PAIR, hard=False), Market(problem=PAID)),
    ],
    "ucb_bwcr": [
        (r.ucb_bwcr(_BLIND_LESSONS.problem, m.Tabular(arms=5, n_outcomes=4, confidence=0.5)), _BLIND_LESSONS),
        (r.ucb_bwcr(SPENT, _MEANS, margin=0.01, every=3), e.Delayed(_BLIND_MARKET, delay=4)),
        (r.ucb_bwcr(SPENT, _PAIR, hard=False), Market(problem=SPENT)),
        (r.ucb_bwcr(LITTLE, m.Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "greedy_bwk": [
        (r.greedy_bwk(_BLIND_MIXED.problem, m.Tabular(arms=5, n_outcomes=3, confidence=0.5)), _BLIND_MIXED),
        (r.greedy_bwk(PAID, _PAIR, step=0.1, hard=False), Market(problem=PAID)),
    ],
    "pd_bwk": [
        (r.pd_bwk(_BLIND_MIXED.problem, m.Tabular(arms=5, n_outcomes=3, confidence=0.5)), _BLIND_MIXED),
        (r.pd_bwk(PAID, _MEANS), e.Delayed(e.WithoutContexts(Market(problem=PAID, offered=0.8)), delay=4)),
        (r.pd_bwk(PAID, _PAIR, step=0.1, hard=False), Market(problem=PAID)),
    ],
    "uniform": [
        (r.uniform(COURT.problem, n_features=5), COURT),
        (r.uniform(EVERYTHING, n_features=3), _MARKET),
        (r.uniform(LITTLE, n_features=3), Market(problem=LITTLE)),
        (r.uniform(TWO_DAYS.problem, n_features=9), TWO_DAYS),
    ],
    "ucb": [
        (r.ucb(COURT.problem, _LEARNER, warmup=10), COURT),
        (r.ucb(COURT.problem, m.BayesianLogistic(n_features=5), warmup=10), e.Delayed(COURT, delay=5)),
        (r.ucb(EVERYTHING, m.Ridge(n_features=8, n_outcomes=2, width=m.Fixed(0.2)), warmup=0), LOG),
    ],
    "square_cbwk": [
        (r.square_cbwk(MIXED.problem, m.Glmtron(n_features=9, n_outcomes=3, radius=1.5), rate=20.0), MIXED),
        (
            r.square_cbwk(MIXED.problem, m.Gradient(n_features=9, n_outcomes=3), rate=Rate(2.0, 0.5), max_price=3.0),
            MIXED,
        ),
        (r.square_cbwk(EVERYTHING, _PAIR, rate=5.0), e.Delayed(_MARKET, delay=4)),
    ],
    "lagrange_cbw": [
        (r.lagrange_cbw(_PACKED.problem, m.Ridge(n_features=12, n_outcomes=5)), _PACKED),
        (r.lagrange_cbw(EVERYTHING, _PAIR, rate=5.0, max_price=3.0), e.Delayed(_MARKET, delay=4)),
        (r.lagrange_cbw(EVERYTHING, _PAIR, hard=False, step=0.1), _MARKET),
    ],
    "lyapunov": [
        (r.lyapunov(_HOURS.problem, m.BayesianLogistic(n_features=6)), _HOURS),
        (r.lyapunov(SHARED, _PAIR, choice=InverseGap(Rate(9.0)), warmup=3), e.Delayed(_SHARED_MARKET, delay=4)),
        (r.lyapunov(CURVED, _PAIR, hard=False), _CURVED_MARKET),
        (r.lyapunov(BOUND.problem, _TASTES, worth=2.0), e.Delayed(BOUND, delay=(0, 4))),
    ],
    "lin_cbwk": [
        (r.lin_cbwk(MIXED.problem, m.Ridge(n_features=9, n_outcomes=3, width=m.Fixed(0.2))), MIXED),
        (r.lin_cbwk(COURT.problem, _LEARNER), COURT),
    ],
    "two_stage_square_cbwk": [
        (
            r.two_stage_square_cbwk(
                MIXED.problem, m.Ridge(n_features=9, n_outcomes=3), rate=9.0, explore=1, radius=0.01
            ),
            MIXED,
        ),
        (
            r.two_stage_square_cbwk(EVERYTHING, _PAIR, rate=Rate(2.0, 0.5), explore=3, radius=0.1, step=0.2),
            e.Delayed(_MARKET, delay=4),
        ),
    ],
    "primal_lp": [
        (r.primal_lp(COURT.problem, _LEARNER, warmup=20, program=Program(contexts=40)), COURT),
        (r.primal_lp(COURT.problem, _LEARNER, program=Program(every=7), hard=True, warmup=0), e.Delayed(COURT, 5)),
        (
            r.primal_lp(MIXED.problem, m.Ridge(n_features=9, n_outcomes=3, width=m.Fixed(0.2)), slack=Slack(0.1, 0.0)),
            MIXED,
        ),
        (r.primal_lp(EVERYTHING, _PAIR, program=Program(3, temperature=0.1), warmup=0), e.Delayed(_MARKET, delay=4)),
    ],
    "resolving": [
        (r.resolving(_LESSONS.problem, m.Ridge(n_features=12, n_outcomes=4, width=m.Fixed(0.3)), warmup=5), _LESSONS),
        (
            r.resolving(_LESSONS.problem, m.BayesianRidge(n_features=12, n_outcomes=4), warmup=5),
            e.Delayed(_LESSONS, delay=4),
        ),
        (r.resolving(SHOP.problem, m.BayesianRidge(n_features=6, n_outcomes=2), every=7), e.Delayed(SHOP, delay=4)),
        (
            r.resolving(TWO_DAYS.problem, m.BayesianRidge(n_features=9, n_outcomes=2), holdout=0.1, explore=0.02),
            e.Delayed(TWO_DAYS, delay=4),
        ),
        (r.resolving(TWO_DAYS.problem, m.BayesianRidge(n_features=9, n_outcomes=2)), e.Delayed(TWO_DAYS, delay=4)),
        (r.resolving(SHARED, _PAIR, contexts=3, warmup=0), e.Delayed(_SHARED_MARKET, delay=4)),
        (r.resolving(_BRIEF, _PAIR, contexts=9, every=4, warmup=3), e.Delayed(Market(problem=_BRIEF), delay=4)),
        (r.resolving(COURT.problem, _LEARNER, warmup=20, contexts=40), COURT),
        (r.resolving(COURT.problem, _LEARNER, warmup=0, every=7), e.Delayed(COURT, delay=5)),
        (r.resolving(MIXED.problem, m.Ridge(n_features=9, n_outcomes=3, width=m.Fixed(0.2)), warmup=5), MIXED),
        (r.resolving(EVERYTHING, _PAIR, contexts=3, choice=InverseGap(Rate(9.0))), e.Delayed(_MARKET, delay=4)),
        (r.resolving(BOUND.problem, _TASTES), e.Delayed(BOUND, delay=4)),
        (r.resolving(PRODUCTS.problem, m.Ridge(n_features=4, width=m.Fixed(0.2)), warmup=5, every=7), PRODUCTS),
    ],
    "pgd": [
        (r.pgd(COURT.problem, _LEARNER, warmup=20), COURT),
        (r.pgd(COURT.problem, _LEARNER, step=0.05, hard=True), e.Delayed(COURT, delay=5)),
        (r.pgd(EVERYTHING, _PAIR, warmup=0, step=0.1, margin=0.01), _MARKET),
        (r.pgd(_SHOP.problem, m.Ridge(n_features=6, n_outcomes=2), warmup=5, hard=True), _SHOP),
        (r.pgd(EVERYTHING, _PAIR, warmup=10, step=0.1, hard=True), e.Delayed(_MARKET, delay=4)),
        (r.pgd(EVERYTHING, m.Ridge(n_features=8, n_outcomes=2), warmup=10, hard=True), LOG),
        (r.pgd(EVERYTHING, m.Ridge(n_features=8, n_outcomes=2), warmup=10, hard=True), UNEVEN_LOG),
        (r.pgd(LITTLE_SPENT, m.Ridge(n_features=3), warmup=3), Market(problem=LITTLE_SPENT)),
    ],
    "pgd_adaptive": [
        (r.pgd_adaptive(COURT.problem, _LEARNER, warmup=5, thresholds=(1.0, 1.0, 2.0)), COURT),
        (r.pgd_adaptive(COURT.problem, _LEARNER, warmup=5, thresholds=(1.0, 1.0), reset=True, hard=True), COURT),
        (r.pgd_adaptive(EVERYTHING, m.Stacked((m.Logistic(n_features=3), m.Ridge(n_features=3)))), _MARKET),
    ],
    "mixed_oracle": [
        (r.mixed_oracle(COURT.problem, _LEARNER, prices=(0.1,) * 10, warmup=0), COURT),
        (r.mixed_oracle(COURT.problem, _LEARNER, prices=(math.pi,) + (0.0,) * 9, hard=True), COURT),
    ],
    "cab_ucb": [
        (r.cab_ucb(_MATCHING.problem, _MATCHES), _MATCHING),
        (r.cab_ucb(_MATCHING.problem, _MATCHES, oracle=Sequential()), e.Delayed(_MATCHING, delay=4)),
        (r.cab_ucb(_MATCHING.problem, _MATCHES, capacity=(2, 1, 1), may_stay=True), _MATCHING),
        (r.cab_ucb(_LISTENING.problem, _LISTENS, capacity=(2, 2, 2)), _LISTENING),
    ],
    "cab_ts": [
        (r.cab_ts(_MATCHING.problem, m.Perturbed(inner=_MATCHES, scale=5.0, n_blocks=5)), _MATCHING),
        (
            r.cab_ts(_LISTENING.problem, m.Sampled(inner=_LISTENS, n_blocks=4), oracle=Greedy()),
            e.Delayed(_LISTENING, delay=3),
        ),
    ],
    "cab_ts_parameter": [
        (
            r.cab_ts_parameter(_MATCHING.problem, m.Sampled(inner=_MATCHES, scale=5.0, n_blocks=5)),
            e.Delayed(_MATCHING, delay=4),
        ),
        (r.cab_ts_parameter(_LISTENING.problem, m.Sampled(inner=_LISTENS, n_blocks=4)), _LISTENING),
    ],
    "cab_ofu": [
        (r.cab_ofu(_MATCHING.problem, m.OnePass(n_features=5)), _MATCHING),
        (r.cab_ofu(_LISTENING.problem, _LISTENS, oracle=Sequential()), e.Delayed(_LISTENING, delay=3)),
    ],
    "max_match": [
        (r.max_match(_MATCHING.problem, _MATCHES), _MATCHING),
        (r.max_match(_LISTENING.problem, _LISTENS), e.Delayed(_LISTENING, delay=3)),
    ],
    "fairx": [
        (r.fairx(_MATCHING.problem, m.OptimisticDraw(inner=_MATCHES, tries=3, n_blocks=5)), _MATCHING),
        (r.fairx(_LISTENING.problem, m.Sampled(inner=_LISTENS, n_blocks=4)), e.Delayed(_LISTENING, delay=3)),
    ],
    "random_allocation": [
        (r.random_allocation(_MATCHING.problem, n_features=5), e.Delayed(_MATCHING, delay=4)),
        (r.random_allocation(_MATCHING.problem, n_features=5, capacity=(2, 2, 1)), _MATCHING),
        (r.random_allocation(_PRICED_MATCHING.problem, n_features=5), e.Delayed(_PRICED_MATCHING, delay=4)),
    ],
}
POLICIES = [pair for pairs in RECIPES.values() for pair in pairs]
