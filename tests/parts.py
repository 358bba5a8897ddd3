"""Examples of every part: a part that is exported without one here fails `test_discovery`."""

import math
from dataclasses import replace

import cvxpy as cp
import numpy as np
from sklearn.linear_model import LinearRegression, Ridge as RidgeRegression, SGDRegressor

from evenhand.choices import (
    Allocate,
    Cycle,
    EpsilonGreedy,
    FairLearn,
    Gibbs,
    GradientLottery,
    GreedyRatio,
    InverseGap,
    LinearProgram,
    Lottery,
    OptimisticProgram,
    OracleRate,
    Random,
    Rate,
    Staged,
    TopK,
    Unbiased,
)
from evenhand.environments import (
    Absences,
    Audience,
    AudienceMatching,
    BernoulliKnapsacks,
    Court,
    Delayed,
    FixedContexts,
    Hours,
    LastFM,
    Lessons,
    Listeners,
    Logged,
    Matching,
    MixedArms,
    MixedContexts,
    MultiObjective,
    PackingCovering,
    PayPerClick,
    Phases,
    Ranking,
    Requests,
    Routing,
    Sensors,
    WithoutContexts,
)
from evenhand.environments.logged import blocks
from evenhand.goals import (
    Descent,
    Doubling,
    DualGradient,
    DualHedge,
    Entropic,
    Falling,
    FrankWolfe,
    HardBudget,
    Intervals,
    LinearReward,
    Lyapunov,
    PowerBall,
    Primal,
    Resolving,
    Steady,
    TwoStage,
)
from evenhand.goals.fenchel import fenchel, fenchel_within
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.goals.hard_budget import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import (
    Aggregation,
    BayesianBilinear,
    BayesianLogistic,
    BayesianRidge,
    Bilinear,
    Bootstrapped,
    Cover,
    Experts,
    Fixed,
    GeneralizedLinear,
    Glmtron,
    Gradient,
    Logarithmic,
    Logistic,
    NullModel,
    OnePass,
    OnlineToBatch,
    OptimisticDraw,
    PerAction,
    Perturbed,
    Prior,
    Ridge,
    Sampled,
    Scalarised,
    SelfNormalised,
    Sklearn,
    Stacked,
    Tabular,
    TwoOracles,
    WorstCase,
)
from evenhand.objectives import (
    AlphaFair,
    Concave,
    DistancePenalty,
    EqualExposure,
    GeneralizedGini,
    Linear as LinearObjective,
    Moreau,
    Randomized,
    WeightedSum,
)
from evenhand.problem.constraints import Budget, Floor, Parity, Region, Within, constraint_rows
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select
from evenhand.recipes import (
    bwcr,
    cab_ofu,
    cab_ts,
    cab_ts_parameter,
    cab_ucb,
    dual_bwc,
    dual_bwr,
    fairlearn_rank,
    fairx,
    fw,
    fw_dual,
    fw_epsilon_greedy,
    fw_linucb,
    fw_linucb_rank,
    fw_rank,
    fw_squarecb,
    greedy_bwk,
    lagrange_cbw,
    lin_cbwk,
    linucb_rank,
    lyapunov,
    max_match,
    mixed_oracle,
    molincb,
    pd_bwk,
    pgd,
    pgd_adaptive,
    pgd_allocation,
    primal_bwc,
    primal_bwr,
    primal_lp,
    random_allocation,
    resolving,
    resolving_allocation,
    square_cbwk,
    two_stage_square_cbwk,
    ucb,
    ucb_bwcr,
    ucb_bwk,
    unbiased_linucb_rank,
    uniform,
)
from evenhand.recipes.primal_lp import Slack
from evenhand.sets import Ball, Box
from evenhand.welfare import (
    Anyone,
    Capped,
    Greedy,
    Linear as LinearCurve,
    Logarithmic as LogarithmicCurve,
    PerArm,
    Piecewise,
    Power,
    Proportional,
    Sequential,
)
from tests.shop import Shop
from tests.worlds import Market

# Everything at once: learned and known outcomes, signed ones, two groupings, shares known and unknown.
EVERYTHING = Problem(
    actions=("nothing", "call", "visit", "both"),
    outcomes=(
        Outcome("gain"),
        Outcome("hours", low=-0.5, high=2.0),
        Outcome("letters", known={"call": 1, "both": 2}),
        Outcome("miles", known={"visit": 3.5, "both": 3.0}),
    ),
    maximize=LinearObjective({"gain": 1.0, "hours": -0.1, "miles": -0.01}),
    subject_to=(
        Budget("letters", total=40),
        Budget("hours", rate=0.4),
        Parity("miles", by="district", tolerance=0.1),
        Parity("hours", by="age", tolerance=0.05),
    ),
    groups=(Groups("district", {"north": 0.25, "middle": 0.25, "south": 0.5}), Groups("age", ["young", "old"])),
    horizon=150,
)
# As little as possible: one action, no groups, nothing known.
SHOP = Shop(
    horizon=60,
    n_plays=2,
    maximize=AlphaFair(("sale", "minutes"), alpha=1.0, offset=20.0),
    subject_to=(Budget("minutes", rate=0.6), Parity("sale", by="side", tolerance=2.0)),
)
LITTLE = Problem(actions=("go",), outcomes=(Outcome("gain"),), maximize="gain", horizon=30)
LITTLE_SPENT = Problem(
    actions=("go",), outcomes=(Outcome("gain"),), maximize="gain", subject_to=(Budget("gain", rate=0.4),), horizon=30
)
COURT = Court(horizon=200)
MIXED = MixedContexts(horizon=150)


def roots(z):
    """A user's own objective, at module level so that other processes find it."""
    return cp.sum(cp.sqrt(z + 0.1)) + 0.5 * cp.min(z)


_THREE = ("a", "b", "c")
_ITEMS = ("song", "film", "book", "play")
_USERS = LinearObjective({"clicks": 1.0})
OBJECTIVES = [
    LinearObjective({"a": 1.0, "b": -0.25, "c": 3.0}),
    LinearObjective({"a": 1.0}),
    GeneralizedGini(_THREE),
    GeneralizedGini(("a",)),
    GeneralizedGini(_ITEMS, (1.0, 1.0, 0.2, 0.0)),
    GeneralizedGini.welfare(_ITEMS),
    GeneralizedGini.difference(_ITEMS),
    GeneralizedGini.difference(_THREE),
    AlphaFair(_THREE, alpha=1.0, offset=0.01),
    AlphaFair(_THREE, alpha=1.0),
    AlphaFair(_THREE, alpha=3.5, offset=0.1, weights=(1.0, 0.5, 2.0)),
    AlphaFair(("a", "b"), alpha=0.05),
    AlphaFair.welfare(_ITEMS, power=0.5),
    AlphaFair.welfare(_ITEMS, power=0.2, offset=0.05),
    EqualExposure(("a", "b")),
    EqualExposure(_ITEMS),
    DistancePenalty(_THREE, Box.below((0.625, 0.25, 2.0))),
    DistancePenalty(_THREE, Ball((0.5, 0.4, 0.3), 0.1)),
    DistancePenalty(("a",), Box.below((0.25,))),
    WeightedSum(((1.0, _USERS), (0.5, GeneralizedGini.difference(_ITEMS)))),
    WeightedSum(((1.0, _USERS), (0.5, GeneralizedGini.welfare(_ITEMS)))),
    WeightedSum(((2.0, AlphaFair(_THREE, alpha=2.0, offset=0.2)), (0.3, LinearObjective({"b": -1.0, "d": 0.5})))),
]
SUMS = [  # whose parts read the same outcomes, or are unable themselves: they have neither prox nor maximizer
    WeightedSum(((1.0, GeneralizedGini(_THREE)), (0.5, AlphaFair.welfare(("c", "d"), 0.5)))),
    WeightedSum(((1.0, EqualExposure(_ITEMS)), (2.0, GeneralizedGini.welfare(("film", "play"))))),
]
WRITTEN = [
    Concave(("a", "b", "c"), roots),
    Concave(("a", "b"), lambda z: -cp.sum_squares(np.array([[1.0, 2.0], [0.5, -1.0]]) @ z - 0.5), smooth=True),
    Concave(("a", "b", "c"), lambda z: cp.geo_mean(z)),
    WeightedSum(((0.5, Concave(("a", "b"), lambda z: cp.sum(cp.log(z)))), (1.0, LinearObjective({"c": 1.0})))),
]
SMOOTHINGS = [Moreau(0.01), Moreau(1.0), Randomized(0.1), Randomized(0.02, samples=3)]

WIDTHS = [Fixed(), Fixed(0.3), Logarithmic(0.2), SelfNormalised(delta=0.1), SelfNormalised(delta=0.5, noise=1, norm=3)]
WIDTHS += [WorstCase(n_parameters=2, delta=0.1), WorstCase(n_parameters=5, delta=0.5, noise=1, norm=3, length=2)]
STEPS = [Steady(0.0), Steady(0.1), Falling(0.1), Doubling(0.05, (1.0, 2.0, 3.0)), Doubling(0.05, (1.0,), reset=True)]

PRIORS = [Prior(mean=0.2, sd=0.1), Prior(mean=((0.1, 0.0), (-0.3, 0.5)), sd=(0.2, 0.05))]

EXPERTS = [
    Cover(cuts=(2, 3), levels=5),
    Cover.hoelder(n_features=1, horizon=100, arms=4),
    Experts(np.array([[0.5, 0.2, 0.1], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]])),
]
MODELS = [
    Scalarised(n_features=3, n_outcomes=2, width=Fixed(0.2)),
    Scalarised(n_features=2, ridge=0.1, width=SelfNormalised(delta=0.1)),
    Scalarised(n_features=2, n_outcomes=2, width=WorstCase(n_parameters=4, delta=0.1), clipped=True),
    Ridge(n_features=3),
    Ridge(n_features=1, n_outcomes=3, ridge=1e-6, width=Logarithmic(0.2)),
    Ridge(n_features=4, n_outcomes=2, width=SelfNormalised(delta=0.1)),
    Bilinear(who=2, what=3, width=SelfNormalised(delta=0.1)),
    Bilinear(who=3, what=1, n_outcomes=2, ridge=0.1, width=Fixed(0.4)),
    Bilinear(who=1, what=2, n_outcomes=3),
    Bilinear(who=2, what=2, width=Fixed(0.4), clipped=False),
    Ridge(n_features=2, n_outcomes=2, width=Fixed(0.4), clipped=False),
    BayesianRidge(n_features=3),
    BayesianRidge(n_features=2, n_outcomes=2, prior=PRIORS[1]),
    BayesianLogistic(n_features=2, prior=PRIORS[0]),
    BayesianBilinear(who=2, what=3),
    BayesianBilinear(who=1, what=2, n_outcomes=2, scale=2.0, growth=2.0),
    BayesianRidge(n_features=1, n_outcomes=3, scale=0.0),
    BayesianRidge(n_features=4, n_outcomes=2, scale=2.0, growth=2.0),
    BayesianLogistic(n_features=3),
    BayesianLogistic(n_features=1, scale=2.0, growth=1.01),
    Logistic(n_features=3),
    Logistic(n_features=2, ridge=1e-6, width=Fixed(0.3), growth=1.0),
    Logistic(n_features=5, width=Logarithmic(0.025), growth=2.0),
    Logistic(n_features=3, room=4, growth=1.0, width=Fixed(0.5), clipped=False),
    BayesianLogistic(n_features=2, room=5),
    GeneralizedLinear(n_features=3, link="logistic", room=7, width=Logarithmic(0.2)),
    GeneralizedLinear(n_features=3, link="exponential", ridge=0.1, room=8, width=Fixed(0.3)),
    GeneralizedLinear(n_features=2, link="identity", growth=1.0, room=2, width=SelfNormalised(delta=0.1)),
    OnePass(n_features=3),
    OnePass(n_features=2, link="identity", step=2.0, norm=0.5, ridge=0.1),
    OnePass(n_features=4, link="exponential", width=Fixed(0.4)),
    Glmtron(n_features=3),
    Glmtron(n_features=2, n_outcomes=3, link="logistic", ridge=0.1, step=2.0, radius=1.0),
    Glmtron(n_features=4, n_outcomes=2, ridge=2.25, step=3.0, radius=1.0, projection="whole", start_at=0.5),
    Gradient(n_features=3),
    Gradient(n_features=2, n_outcomes=3, link="probit", step=0.5, power=0.0, first_step=1.5, radius=1.0, start_at=0.1),
    Gradient(n_features=4, n_outcomes=2, link="exponential", step=0.2, radius=1.0, projection="whole"),
    Aggregation(experts=EXPERTS[0]),
    Aggregation(experts=EXPERTS[1], n_outcomes=3),
    Aggregation(experts=EXPERTS[2], n_outcomes=2),
    OnlineToBatch(inner=Glmtron(n_features=3, n_outcomes=2)),
    OnlineToBatch(inner=Gradient(n_features=2, link="logistic"), snapshots=4),
    OnlineToBatch(inner=Logistic(n_features=3, width=Fixed(0.3)), snapshots=2),
    OnlineToBatch(inner=Sampled(inner=Ridge(n_features=2), scale=0.0), snapshots=2),
    OnlineToBatch(inner=Stacked((Aggregation(experts=EXPERTS[0]), Ridge(n_features=2)))),
    OnlineToBatch(inner=Sklearn(estimator=LinearRegression(), n_features=3, min_observations=2, buffer=9), snapshots=4),
    Sklearn(estimator=LinearRegression(), n_features=3, n_outcomes=2, min_observations=3),
    Sklearn(estimator=SGDRegressor(eta0=0.01), n_features=2, mode="partial_fit"),
    Tabular(arms=3, n_outcomes=2, confidence=0.5),
    Tabular(arms=1, confidence=0.0),
    Sampled(inner=Ridge(n_features=3, n_outcomes=2, width=Fixed(0.2))),
    Sampled(inner=Logistic(n_features=3, ridge=0.1), scale=0.5, units=2),
    Sampled(inner=Tabular(arms=3, n_outcomes=2, confidence=0.5), units=4),
    Sampled(inner=OnePass(n_features=3), scale=2.0, units=2),
    Perturbed(inner=Logistic(n_features=3, width=Fixed(0.2), room=6), scale=0.5, units=2),
    Perturbed(inner=GeneralizedLinear(n_features=1, link="exponential")),
    OptimisticDraw(inner=Logistic(n_features=3, room=6), tries=5, units=2),
    OptimisticDraw(inner=OnePass(n_features=2), tries=3, radius=2.0),
    Bootstrapped(inner=Sklearn(estimator=RidgeRegression(), n_features=2, min_observations=2), members=3),
    Sampled(inner=Bilinear(who=2, what=2, n_outcomes=2), scale=0.5, units=2),
    Bootstrapped(inner=Ridge(n_features=3, n_outcomes=2), units=2),
    Bootstrapped(inner=BayesianRidge(n_features=2, n_outcomes=2), members=3),
    Stacked((BayesianLogistic(n_features=3), BayesianRidge(n_features=3, n_outcomes=2))),
    OnlineToBatch(inner=Stacked((BayesianLogistic(n_features=3), BayesianRidge(n_features=3))), snapshots=2),
    NullModel(n_features=2),
    NullModel(n_features=1, n_outcomes=3),
    Stacked((Logistic(n_features=3), Ridge(n_features=3, n_outcomes=2, width=Fixed(0.1)))),
    Stacked((Sampled(inner=Logistic(n_features=3)), Sampled(inner=Ridge(n_features=3), units=2), Ridge(n_features=3))),
    Stacked((Logistic(n_features=2), NullModel(n_features=1), Ridge(n_features=3)), shared=False),
    PerAction(inner=Ridge(n_features=2, n_outcomes=2, width=Fixed(0.2)), actions=3),
    PerAction(inner=BayesianRidge(n_features=3), actions=4),
    PerAction(inner=BayesianLogistic(n_features=1, room=5), actions=2),
    PerAction(inner=Sampled(inner=Logistic(n_features=2)), actions=3),
    OnlineToBatch(inner=PerAction(inner=BayesianRidge(n_features=2), actions=2), snapshots=2),
    TwoOracles(
        statistical=OnlineToBatch(inner=Glmtron(n_features=3, n_outcomes=2)),
        online=Ridge(n_features=3, n_outcomes=2, width=Fixed(0.2)),
        taught=4,
        answers=6,
    ),
    TwoOracles(
        statistical=Logistic(n_features=2), online=Sampled(inner=Logistic(n_features=2), scale=0.5), taught=2, answers=2
    ),
    Bootstrapped(inner=PerAction(inner=Ridge(n_features=2), actions=3), members=3),
]


def one_hot(u):
    """A 1 where a number is largest."""
    return np.eye(u.shape[-1])[u.argmax(-1)]


def takes(model):
    """How to make features for a model that does not take any numbers."""
    return one_hot if isinstance(getattr(model, "inner", model), Tabular) else None


def _constrained(problem, step, **options):
    rows, bound = constraint_rows(problem)
    return DualGradient(rows=rows, bound=bound, step=step, **options)


def _hedged(problem, max_price, step, **options):
    rows, bound = constraint_rows(problem)
    return DualHedge(rows=rows, bound=bound, max_price=max_price, step=step, **options)


def _drifting(problem, **options):
    rows, bound = constraint_rows(problem)
    return Lyapunov(rows=rows, bound=bound, horizon=problem.horizon, **options)


def _resolved(problem, **options):
    rows, bound = constraint_rows(problem)
    return Resolving(problem=problem, objective=reward(problem), constraints=rows, bound=bound, **options)


def _planned(problem, **options):
    rows, bound = constraint_rows(problem)
    return Primal(problem=problem, objective=reward(problem), rows=rows, bound=bound, **options)


def _approached(problem, names, bounds, **options):
    return fenchel_within(problem, select(problem, names), Box.below(bounds), **options)


def _two_stage(problem, collect_from, collect_until):
    return TwoStage(
        hedge=_hedged(problem, 1.0, 0.1),
        objective=reward(problem),
        bound=constraint_rows(problem)[1],
        smallest_budget=0.4,
        radius=0.1,
        collect_from=collect_from,
        collect_until=collect_until,
    )


_GINI = GeneralizedGini(("gain", "hours", "letters"))
_REGIONS = (
    Region("a disc", ("gain", "hours"), Ball((0.2, 0.1), 0.15)),
    Region("by district", ("letters district=north", "letters district=south"), Ball((0.05, 0.05), 0.01)),
)
_FAIR = AlphaFair(("gain",), alpha=1.0, offset=0.1)
MIRRORS = [
    Descent(1.0, Steady(0.1)),
    Descent(0.0, Falling(0.5)),
    Entropic(2.0, Falling(0.5)),
    Entropic(1.0, Steady(0.1)),
    PowerBall(2.0, Steady(0.1), 1.5),
    PowerBall(1.0, Falling(0.3), 4.0),
    PowerBall(1.0, Steady(0.2), math.inf),
]

GOALS = [
    (frank_wolfe(EVERYTHING, _GINI, Moreau(0.1)), EVERYTHING),
    (frank_wolfe(EVERYTHING, _GINI, Randomized(0.1, samples=3), on="optimistic"), EVERYTHING),
    (frank_wolfe(LITTLE, _FAIR, None, optimism="net"), LITTLE),
    (
        FrankWolfe(
            rows=select(COURT.problem, ("appears",)),
            objective=LinearObjective({"appears": 2.0}),
            start_at=(0.0,),
        ),
        COURT.problem,
    ),
    (
        FrankWolfe(
            rows=select(EVERYTHING, ("hours", "letters")),
            objective=DistancePenalty(("hours", "letters"), Box.below((0.1, 0.5))),
            smoothing=Moreau(0.1),
            start_at=(0.3, 0.2),
            on="optimistic",
        ),
        EVERYTHING,
    ),
    (fenchel(EVERYTHING, _GINI), EVERYTHING),
    (fenchel(EVERYTHING, _GINI, norm="sup", on="observed"), EVERYTHING),
    (fenchel(EVERYTHING, EVERYTHING.objective, norm=3.0), EVERYTHING),
    (fenchel(EVERYTHING, EVERYTHING.objective, norm="one"), EVERYTHING),
    (fenchel(EVERYTHING, EVERYTHING.objective, by=Entropic(1.0, Falling(0.5)), on="observed"), EVERYTHING),
    (replace(fenchel(LITTLE, _FAIR, by=Descent(2.0, Falling(0.5))), optimism="net"), LITTLE),
    (_approached(EVERYTHING, ("hours", "letters"), (0.1, 0.5)), EVERYTHING),
    (_approached(EVERYTHING, ("hours", "letters"), (0.1, 0.5), norm="sup", on="observed"), EVERYTHING),
    (_approached(COURT.problem, ("ride", "voucher"), (0.05, 0.2), on="observed"), COURT.problem),
    (_planned(EVERYTHING, contexts=8, every=1), EVERYTHING),
    (_planned(LITTLE_SPENT, contexts=2, slack=0.5), LITTLE_SPENT),
    (_planned(COURT.problem, temperature=0.01), COURT.problem),
    (_two_stage(EVERYTHING, 3, 9), EVERYTHING),
    (_two_stage(LITTLE_SPENT, 0, 1), LITTLE_SPENT),
    (_resolved(EVERYTHING, contexts=8, every=5), EVERYTHING),
    (_resolved(LITTLE_SPENT, contexts=2), LITTLE_SPENT),
    (_resolved(EVERYTHING, contexts=8, every=5, regions=_REGIONS), EVERYTHING),
    (_resolved(COURT.problem, drift=math.inf, temperatures=(0.02,)), COURT.problem),
    (reward(EVERYTHING), EVERYTHING),
    (reward(LITTLE), LITTLE),
    (LinearReward(rows=select(EVERYTHING, ("gain", "miles")), weights=(2.0, -0.1), optimism="row"), EVERYTHING),
    (LinearReward(rows=select(EVERYTHING, ("miles", "gain")), weights=(-1.0, 0.5)), EVERYTHING),
    (Intervals(rows=select(EVERYTHING, ("gain", "miles"))), EVERYTHING),
    (Intervals(rows=select(EVERYTHING, ("hours", "gain")), ends="lower"), EVERYTHING),
    (Intervals(rows=select(LITTLE, ("gain",)), ends="upper"), LITTLE),
    (_constrained(EVERYTHING, Steady(0.1)), EVERYTHING),
    (_constrained(EVERYTHING, Falling(0.3), optimism="net"), EVERYTHING),
    (_constrained(EVERYTHING, Falling(0.3), on="optimistic"), EVERYTHING),
    (_constrained(EVERYTHING, Steady(0.1), on="optimistic"), EVERYTHING),
    (_constrained(EVERYTHING, Doubling(0.05, (1.0, 2.0, 3.0))), EVERYTHING),
    (_constrained(EVERYTHING, Doubling(0.05, (1.0, 2.0), reset=True), on="optimistic"), EVERYTHING),
    (_constrained(LITTLE_SPENT, Steady(0.1), start_at=(0.4,)), LITTLE_SPENT),
    (_constrained(COURT.problem, Doubling(0.02, (3.0, 3.0))), COURT.problem),
    (_drifting(EVERYTHING, worth=1.0, scale=5.0), EVERYTHING),
    (_drifting(EVERYTHING, worth=0.5, scale=2.0, optimism="net"), EVERYTHING),
    (_drifting(LITTLE_SPENT, worth=3.0, scale=1.0), LITTLE_SPENT),
    (_drifting(COURT.problem, worth=1.0, scale=14.0), COURT.problem),
    (_hedged(EVERYTHING, 3.0, 0.2), EVERYTHING),
    (_hedged(EVERYTHING, 0.5, 1.0, optimism="net"), EVERYTHING),
    (_hedged(LITTLE_SPENT, 4.0, 0.0), LITTLE_SPENT),
    (_hedged(COURT.problem, 20.0, 0.05), COURT.problem),
    (hard_budget(EVERYTHING), EVERYTHING),
    (hard_budget(LITTLE_SPENT), LITTLE_SPENT),
    (hard_budget(SHOP.problem), SHOP.problem),
    (_constrained(SHOP.problem, Falling(0.3), on="optimistic"), SHOP.problem),
    (frank_wolfe(SHOP.problem, SHOP.problem.objective, Moreau(0.1)), SHOP.problem),
    (
        HardBudget(
            rows=select(EVERYTHING, ("hours", "miles")),
            total=np.array([4.0, 30.0]),
            low=EVERYTHING.low,
            high=EVERYTHING.high,
        ),
        EVERYTHING,
    ),
]

RATES = [Rate(2.0), Rate(5.0, 0.5), OracleRate(regret=2.0, growth=0.5, delta=0.1, lipschitz=0.5, diameter=0.1)]
FOR_FOUR = [  # they know their candidates one by one
    GradientLottery(GeneralizedGini(("a", "b")), candidates=4, scale=0.5, steps=20),
    Staged(10, GradientLottery(AlphaFair(("a", "b"), alpha=1.0, offset=2.0), candidates=4, scale=2.0)),
    FairLearn(2, candidates=4, share=0.3, tolerance=0.5),
    FairLearn(9, candidates=4, share=1.0),
    Unbiased(1, candidates=4),
    Staged(5, Unbiased(3, candidates=4)),
    OptimisticProgram(objective=LinearObjective({"a": 1.0}), start_at=(0.0,), candidates=4),
    OptimisticProgram(objective=GeneralizedGini(("a",)), start_at=(0.5,), candidates=4, nothing=0, every=5),
    Random((0.1, 0.2, 0.0, 0.7)),
    Random((0.1, 0.2, 0.0, 0.7), n_plays=3),
    Staged(10, Random((0.0, 1.0, 0.0, 0.0)), warmup=TopK(1)),
]
CHOICES = [
    *FOR_FOUR,
    *(InverseGap(rate) for rate in RATES),
    Staged(10, InverseGap(Rate(20.0)), warmup=TopK(1)),
    Cycle(),
    InverseGap(Rate(9.0), n_plays=2),
    InverseGap(Rate(1.0, 0.5), n_plays=9),
    Cycle(2),
    EpsilonGreedy(0.1),
    EpsilonGreedy(0.0),
    EpsilonGreedy(0.3, n_plays=2),
    EpsilonGreedy(1.0, n_plays=3),
    Gibbs(0.05),
    Gibbs(0.2, n_plays=2),
    Gibbs(1e-3, n_plays=9),
    Staged(7, Gibbs(2.0), warmup=Cycle()),
    GreedyRatio(1),
    GreedyRatio(1, nothing=0),
    GreedyRatio(1, nothing=1, rent=0.3),
    LinearProgram(1, (0.1,)),
    LinearProgram(1, (-0.2,)),
    LinearProgram(2, (), nothing=1),
    Lottery(1),
    Lottery(1, nothing=1),
    Lottery(2),
    TopK(),
    TopK(2),
    TopK(9),  # more than are ever on offer
    Random(),
    Random(n_plays=2),
    Random(n_plays=9),
    Staged(10, TopK(1)),
    Staged(10, TopK(2)),
    Staged(10, Gibbs(0.1, n_plays=3), warmup=Cycle(3)),
    Staged(10, TopK(2), warmup=Staged(5, TopK(2), warmup=TopK(2))),
]
_EACH = PerArm((Capped(0.4), LogarithmicCurve(1.0), Piecewise(at=(0.5, 2.0), values=(0.5, 1.0))))
ALLOCATIONS = [
    Allocate(users=4, arms=3, curve=Capped(0.5)),
    Allocate(users=1, arms=1, curve=Power(0.5)),
    Allocate(users=5, arms=1, curve=LinearCurve(), capacity=(4,), may_stay=True),
    Allocate(users=1, arms=4, curve=LogarithmicCurve(0.2), optimism="inside"),
    Allocate(users=4, arms=3, curve=_EACH, capacity=(2, 1, 1)),
    Allocate(users=4, arms=3, curve=_EACH, capacity=(0, 3, 2), optimism="inside", may_stay=True),
    Allocate(users=3, arms=3, curve=Capped(0.5), oracle=Greedy(), capacity=(1, 1, 1)),
    Allocate(users=3, arms=2, curve=Capped(0.5), oracle=Sequential()),
    Allocate(users=3, arms=2, curve=Capped(0.5), oracle=Sequential(), capacity=(2, 1), may_stay=True),
    Allocate(users=3, arms=2, curve=Power(0.3), oracle=Proportional(), capacity=(2, 2)),
    Allocate(users=3, arms=2, curve=LinearCurve(), oracle=Anyone()),
    Allocate(users=3, arms=2, curve=LinearCurve(), oracle=Anyone(), capacity=(0, 1), may_stay=True),
]


def _log(problem, rows, seed, **options):
    """Rows whose actions were drawn with the propensities that are noted, and outcomes all over their ranges."""
    rng = np.random.default_rng(seed)
    a = len(problem.actions)
    chance = rng.dirichlet(np.full(a, 2.0)) if options.pop("uneven", False) else np.full(a, 1 / a)
    actions = rng.choice(a, rows, p=chance)
    sizes = np.array([len(g.names) for g in problem.groups])
    return Logged(
        problem=problem,
        units=rng.normal(size=(rows, 2)),
        layout=blocks(a, 2),
        actions=actions,
        propensities=chance[actions],
        outcomes=problem.low + (problem.high - problem.low) * rng.random((rows, len(problem.learned))),
        groups=np.cumsum(sizes) - sizes + (rng.random((rows, len(sizes))) * sizes).astype(np.int64),
        **options,
    )


LOG = _log(EVERYTHING, 400, 1)
UNEVEN_LOG = _log(EVERYTHING, 300, 2, uneven=True, shuffles=3)

AUDIENCE = Audience(
    users=np.array([[0.9, 0.0], [0.2, 0.7], [0.3, 0.3]]),
    items=np.array([[1.0, 0.1], [0.1, 1.0], [0.5, 0.5], [0.2, 0.1]]),
    names=("song", "film", "book", "play"),
)
AUDIENCES = [AUDIENCE, Listeners(users=4, items=6, factors=2), LastFM(path="data")]
OFFERS = [
    Phases(np.array([[True, True, False, True], [False, True, False, False]]), length=3),
    Absences(0.4, length=2),
]
# Four songs, films, books and plays for three users, ranked in three places.
_RANKING = Ranking(audience=AUDIENCE, horizon=60, slots=3, labels={"song": "a", "film": "a", "book": "b", "play": "b"})
_SPREAD = replace(
    _RANKING,
    maximize=WeightedSum(
        ((1.0, LinearObjective({"click": 1.0})), (0.5, GeneralizedGini.difference(_RANKING.exposures)))
    ),
)
_BOUND = replace(
    _SPREAD,
    fees={"song": 1.0, "book": 0.5},
    subject_to=(
        Floor("exposure", rate=0.7, by="label"),
        Parity("click", by="label", tolerance=0.2),
        Budget("fee", rate=0.8),
    ),
    offers=OFFERS[1],
)
_PRODUCTS = replace(_BOUND, flat=True, fee_per="placement")
_MATCHED = Matching(
    users=5,
    arms=3,
    curve=Power(0.5),
    horizon=60,
    costs=(0.0, 0.5, 1.0),
    groups={"near": 0.4, "far": 0.6},
    shifts_by_group={"far": -1.0},
    eligible=0.8,
    subject_to=(Budget("cost", rate=2.0), Parity("match", by="group", tolerance=0.3)),
)

ENVIRONMENTS = [
    PackingCovering(horizon=40),
    PackingCovering(arms=2, costs=1, goods=3, instance=3, slack=0.5, horizon=40),
    Hours(horizon=48),
    Hours(hours=((0.2, 0.5, 0.3),), rate=0.5, horizon=40),
    _RANKING,
    _PRODUCTS,
    Ranking(audience=AUDIENCE, horizon=60, slots=4, fees={"film": 2.0}, users=(1.0, 3.0, 2.0), flat=True),
    *(Ranking(audience=AUDIENCE, horizon=60, slots=2, offers=offers, position=(1.0, 0.5)) for offers in OFFERS),
    Ranking(audience=AUDIENCES[1].audience, horizon=60, slots=5),
    Ranking(audience=Audience(users=np.ones((2, 1)), items=np.ones((1, 1))), horizon=20, slots=1),
    AudienceMatching(audience=AUDIENCES[1].audience, users=4, arms=3, horizon=30, costs=(1.0, 0.0, 0.5)),
    Matching(users=5, arms=3, horizon=40),
    Matching(users=4, arms=2, n_features=3, horizon=30, link="poisson", popularity=0.2, drift=0.8, turns=3),
    Matching(
        users=3,
        arms=4,
        horizon=30,
        link="identity",
        redraw=False,
        eligible=0.4,
        costs=(0.0, 0.5, 1.0, 2.0),
        groups={"near": 0.4, "far": 0.6},
        shifts_by_group={"far": -1.0},
        subject_to=(Budget("cost", rate=2.0), Parity("match", by="group", tolerance=0.3)),
    ),
    COURT,
    Court(horizon=50, ride=0.2),
    FixedContexts(arms=3, dimension=6, horizon=100),
    FixedContexts(arms=51, dimension=52, horizon=40, null_arm=True, noise=0.5),
    Delayed(COURT, delay=0),
    Delayed(COURT, delay=7),
    Delayed(_MATCHED, delay=(1, 6)),
    Delayed(Market(problem=EVERYTHING, offered=0.7), delay=(0, 3)),
    Delayed(Market(problem=EVERYTHING, offered=0.7), delay=3),
    Market(problem=EVERYTHING),
    Market(problem=LITTLE),
    BernoulliKnapsacks(arms=3, resources=2, horizon=80),
    Routing(types=2, routes=2, edges=3, horizon=80),
    Requests(types=2, edges=5, horizon=80),
    Requests(types=3, edges=4, outcomes="edges", horizon=80),
    Sensors(sensors=3, points=4, horizon=80),
    Sensors(sensors=3, points=4, outcomes="points", horizon=80),
    PayPerClick(ads=2, demographics=2, campaigns=2, traits=1, horizon=80),
    PayPerClick(ads=3, demographics=2, campaigns=3, traits=1, families=5, horizon=80),
    MixedArms(horizon=80),
    MixedContexts(horizon=80),
    Lessons(horizon=80),
    Lessons(horizon=30, constrained=False),
    Lessons(horizon=30, parity=False),
    MultiObjective(arms=3, n_outcomes=2, n_features=2, horizon=60),
    MultiObjective(arms=1, n_outcomes=1, horizon=20, noise=0.0),
    LOG,
    UNEVEN_LOG,
    WithoutContexts(FixedContexts(arms=4, dimension=6, horizon=40, null_arm=True)),
    WithoutContexts(Delayed(Market(problem=EVERYTHING, offered=0.7), delay=3)),
    WithoutContexts(UNEVEN_LOG),
]

_LEARNER = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025))
_PAIR = Ridge(n_features=3, n_outcomes=2, width=SelfNormalised(delta=0.1))
_MARKET = Market(problem=EVERYTHING, offered=0.8)

_LESSONS = Lessons(horizon=150)
_GOALS = MultiObjective(arms=6, n_outcomes=3, n_features=4, horizon=120)
_WIDE = Ridge(n_features=4, n_outcomes=3, width=Fixed(0.1))
# A concave objective under budgets and parity.
_SHARED = replace(EVERYTHING, maximize=_GINI)
_SHARED_MARKET = Market(problem=_SHARED, offered=0.8)
_CURVED = replace(
    _SHARED,
    subject_to=(
        *_SHARED.subject_to,
        *(Within(r.outcomes, r.within) for r in _REGIONS),
        Within(("gain",), Box((0.1,), (0.9,))),
    ),
)
_CURVED_MARKET = Market(problem=_CURVED)
# The same without parity, and nobody to tell from another.
_SPENT = replace(_SHARED, subject_to=_SHARED.spending)
_UNSPENT = replace(_SHARED, subject_to=())
_PAID = replace(EVERYTHING, subject_to=EVERYTHING.spending)
_BLIND_MIXED = WithoutContexts(MixedArms(horizon=150))
_BLIND_MARKET = WithoutContexts(Market(problem=_SPENT, offered=0.8))
_BLIND_LESSONS = WithoutContexts(Lessons(horizon=150, parity=False))
_BLIND_FREE = WithoutContexts(Lessons(horizon=150, constrained=False))
_FREE = _BLIND_FREE.problem
_TABLE = Tabular(arms=5, n_outcomes=4, confidence=0.5)
_MEANS = Tabular(arms=4, n_outcomes=2, confidence=0.5)

_MATCHING = Matching(users=5, arms=3, horizon=50, curve=Capped(0.8), eligible=0.7)
_LISTENING = AudienceMatching(audience=AUDIENCES[1].audience, users=4, arms=3, horizon=40, curve=Capped(0.4))
_PRICED_MATCHING = replace(_MATCHING, costs=(0.0, 0.5, 1.0), subject_to=(Budget("cost", rate=1.0),))
_MATCHES = Logistic(n_features=5, ridge=5.0, width=Fixed(0.5), clipped=False, room=20)
_LISTENS = Ridge(n_features=3, width=Fixed(0.1))

_SHOP = Shop(horizon=60)

_TASTES = Bilinear(who=2, what=2, ridge=0.1, width=SelfNormalised(delta=0.1))
_BLIND_TASTES = Bilinear(who=2, what=2)

_PACKED, _HOURS = PackingCovering(horizon=120), Hours(horizon=120)
_FREELY_MATCHED = Matching(users=5, arms=3, horizon=40)

# By recipe: policies, each with an environment in which it can act.
RECIPES = {
    "resolving_allocation": [
        (resolving_allocation(_MATCHED.problem, Logistic(n_features=5), contexts=40, every=10), _MATCHED),
        (resolving_allocation(_MATCHED.problem, Ridge(n_features=5), may_stay=True), Delayed(_MATCHED, delay=4)),
        (resolving_allocation(_MATCHED.problem, Logistic(n_features=5), oracle=Sequential()), _MATCHED),
        (resolving_allocation(_MATCHED.problem, Logistic(n_features=5), every=5), Delayed(_MATCHED, delay=(0, 4))),
        (resolving_allocation(_FREELY_MATCHED.problem, Logistic(n_features=5)), _FREELY_MATCHED),
    ],
    "pgd_allocation": [
        (pgd_allocation(_MATCHED.problem, Logistic(n_features=5)), _MATCHED),
        (pgd_allocation(_MATCHED.problem, Ridge(n_features=5), may_stay=True), Delayed(_MATCHED, delay=(0, 4))),
        (pgd_allocation(_MATCHED.problem, Ridge(n_features=5), step=0.1, may_stay=True), Delayed(_MATCHED, delay=4)),
    ],
    "fw_linucb_rank": [
        (fw_linucb_rank(_SPREAD.problem, _TASTES), _SPREAD),
        (fw_linucb_rank(_BOUND.problem, _TASTES, step=0.1, smoothing=Moreau(0.1)), Delayed(_BOUND, delay=4)),
        (fw_linucb_rank(_BOUND.problem, _TASTES, hard=False, margin=0.01), _BOUND),
    ],
    "fw_rank": [
        (fw_rank(_BOUND.problem, _BLIND_TASTES, EpsilonGreedy(0.2, 3)), _BOUND),
        (fw_rank(_SPREAD.problem, _TASTES, Staged(5, TopK(3))), _SPREAD),
        (fw_rank(_PRODUCTS.problem, Logistic(n_features=4), Gibbs(0.1, 3)), Delayed(_PRODUCTS, delay=4)),
        (fw_rank(_PRODUCTS.problem, Sampled(inner=Logistic(n_features=4)), TopK(3)), _PRODUCTS),
    ],
    "linucb_rank": [
        (linucb_rank(_RANKING.problem, _TASTES), _RANKING),
        (linucb_rank(_BOUND.problem, _TASTES, utility="exposure"), Delayed(_BOUND, delay=4)),
    ],
    "unbiased_linucb_rank": [
        (unbiased_linucb_rank(_RANKING.problem, _TASTES), _RANKING),
        (unbiased_linucb_rank(_BOUND.problem, _TASTES), Delayed(_BOUND, delay=4)),
    ],
    "fairlearn_rank": [
        (fairlearn_rank(_RANKING.problem, _TASTES, share=0.7), _RANKING),
        (fairlearn_rank(_BOUND.problem, _TASTES, share=0.5, tolerance=0.0), Delayed(_BOUND, delay=4)),
    ],
    "fw_linucb": [
        (fw_linucb(_GOALS.problem, _WIDE), _GOALS),
        (fw_linucb(_GOALS.problem, Scalarised(n_features=4, n_outcomes=3, width=Fixed(0.1)), optimism="net"), _GOALS),
        (fw_linucb(_GOALS.problem, _WIDE, smoothing=Randomized(0.05, samples=3)), Delayed(_GOALS, delay=4)),
    ],
    "fw_squarecb": [(fw_squarecb(_GOALS.problem, _WIDE, rate=Rate(100.0, 0.5)), _GOALS)],
    "fw_epsilon_greedy": [(fw_epsilon_greedy(_GOALS.problem, _WIDE, epsilon=0.2), _GOALS)],
    "molincb": [
        (molincb(_GOALS.problem, _WIDE, steps=5), _GOALS),
        (molincb(_GOALS.problem, Ridge(n_features=4, n_outcomes=3), steps=1, delta=0.5), Delayed(_GOALS, delay=4)),
        (molincb(LITTLE, Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "fw": [
        (fw(_GOALS.problem, lambda p: ucb(p, _WIDE), warmup=5), _GOALS),
        (fw(_SHARED, lambda p: lin_cbwk(p, _PAIR), smoothing=Moreau(0.1)), _SHARED_MARKET),
    ],
    "fw_dual": [
        (fw_dual(_GOALS.problem, _WIDE), _GOALS),
        (fw_dual(_SHARED, _PAIR, step=0.1, margin=0.01), _SHARED_MARKET),
        (fw_dual(_CURVED, _PAIR, warmup=3), _CURVED_MARKET),
        (fw_dual(_SHARED, _PAIR, hard=False, smoothing=Randomized(0.1)), Delayed(_SHARED_MARKET, delay=4)),
    ],
    "bwcr": [
        (bwcr(_BLIND_LESSONS.problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)), _BLIND_LESSONS),
        (bwcr(_SPENT, _MEANS, margin=0.01, smoothing=Randomized(0.1)), Delayed(_BLIND_MARKET, delay=4)),
        (bwcr(_SPENT, _PAIR, hard=False), Market(problem=_SPENT)),
        (bwcr(LITTLE, Ridge(n_features=3)), Market(problem=LITTLE)),
        (bwcr(_BLIND_LESSONS.problem, _TABLE, objective_by="dual", constraints_by="dual"), _BLIND_LESSONS),
        (bwcr(_SPENT, _PAIR, objective_by="ucb", constraints_by="dual"), Market(problem=_SPENT)),
        (bwcr(_SPENT, _PAIR, objective_by="dual", constraints_by="ucb"), Market(problem=_SPENT)),
        (bwcr(_SPENT, _PAIR, objective_by="dual", norm="sup"), Delayed(Market(problem=_SPENT), delay=4)),
        (bwcr(_SPENT, _PAIR, constraints_by="dual", norm="sup", hard=False), Market(problem=_SPENT)),
    ],
    "dual_bwr": [
        (dual_bwr(_FREE, _TABLE), _BLIND_FREE),
        (dual_bwr(_UNSPENT, _PAIR, norm="sup"), Delayed(Market(problem=_UNSPENT), delay=4)),
        (dual_bwr(LITTLE, Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "primal_bwr": [
        (primal_bwr(_FREE, _TABLE), _BLIND_FREE),
        (primal_bwr(_GOALS.problem, _WIDE, smoothing=Randomized(0.1)), Delayed(_GOALS, delay=4)),
        (primal_bwr(LITTLE, Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "dual_bwc": [
        (dual_bwc(_BLIND_LESSONS.problem, _TABLE, hard=True), _BLIND_LESSONS),
        (dual_bwc(_SPENT, _PAIR, norm="sup", margin=0.01), Delayed(Market(problem=_SPENT), delay=4)),
    ],
    "primal_bwc": [
        (primal_bwc(_BLIND_LESSONS.problem, _TABLE, hard=True), _BLIND_LESSONS),
        (primal_bwc(_SPENT, _PAIR, margin=0.01), Delayed(Market(problem=_SPENT), delay=4)),
    ],
    "ucb_bwk": [
        (ucb_bwk(_BLIND_MIXED.problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)), _BLIND_MIXED),
        (ucb_bwk(_PAID, _MEANS, epsilon=0.1), Delayed(WithoutContexts(Market(problem=_PAID, offered=0.8)), delay=4)),
        (ucb_bwk(_PAID, _PAIR, hard=False), Market(problem=_PAID)),
    ],
    "ucb_bwcr": [
        (ucb_bwcr(_BLIND_LESSONS.problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)), _BLIND_LESSONS),
        (ucb_bwcr(_SPENT, _MEANS, margin=0.01, every=3), Delayed(_BLIND_MARKET, delay=4)),
        (ucb_bwcr(_SPENT, _PAIR, hard=False), Market(problem=_SPENT)),
        (ucb_bwcr(LITTLE, Ridge(n_features=3)), Market(problem=LITTLE)),
    ],
    "greedy_bwk": [
        (greedy_bwk(_BLIND_MIXED.problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)), _BLIND_MIXED),
        (greedy_bwk(_PAID, _PAIR, step=0.1, hard=False), Market(problem=_PAID)),
    ],
    "pd_bwk": [
        (pd_bwk(_BLIND_MIXED.problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)), _BLIND_MIXED),
        (pd_bwk(_PAID, _MEANS), Delayed(WithoutContexts(Market(problem=_PAID, offered=0.8)), delay=4)),
        (pd_bwk(_PAID, _PAIR, step=0.1, hard=False), Market(problem=_PAID)),
    ],
    "uniform": [
        (uniform(COURT.problem, n_features=5), COURT),
        (uniform(EVERYTHING, n_features=3), _MARKET),
        (uniform(LITTLE, n_features=3), Market(problem=LITTLE)),
    ],
    "ucb": [
        (ucb(COURT.problem, _LEARNER, warmup=10), COURT),
        (ucb(COURT.problem, BayesianLogistic(n_features=5), warmup=10), Delayed(COURT, delay=5)),
        (ucb(EVERYTHING, Ridge(n_features=8, n_outcomes=2, width=Fixed(0.2)), warmup=0), LOG),
    ],
    "square_cbwk": [
        (square_cbwk(MIXED.problem, Glmtron(n_features=9, n_outcomes=3, radius=1.5), rate=20.0), MIXED),
        (square_cbwk(MIXED.problem, Gradient(n_features=9, n_outcomes=3), rate=Rate(2.0, 0.5), max_price=3.0), MIXED),
        (square_cbwk(EVERYTHING, _PAIR, rate=5.0), Delayed(_MARKET, delay=4)),
    ],
    "lagrange_cbw": [
        (lagrange_cbw(_PACKED.problem, Ridge(n_features=12, n_outcomes=5)), _PACKED),
        (lagrange_cbw(EVERYTHING, _PAIR, rate=5.0, max_price=3.0), Delayed(_MARKET, delay=4)),
        (lagrange_cbw(EVERYTHING, _PAIR, hard=False, step=0.1), _MARKET),
    ],
    "lyapunov": [
        (lyapunov(_HOURS.problem, BayesianLogistic(n_features=6)), _HOURS),
        (lyapunov(_SHARED, _PAIR, choice=InverseGap(Rate(9.0)), warmup=3), Delayed(_SHARED_MARKET, delay=4)),
        (lyapunov(_CURVED, _PAIR, hard=False), _CURVED_MARKET),
        (lyapunov(_BOUND.problem, _TASTES, worth=2.0), Delayed(_BOUND, delay=(0, 4))),
    ],
    "lin_cbwk": [
        (lin_cbwk(MIXED.problem, Ridge(n_features=9, n_outcomes=3, width=Fixed(0.2))), MIXED),
        (lin_cbwk(COURT.problem, _LEARNER), COURT),
    ],
    "two_stage_square_cbwk": [
        (
            two_stage_square_cbwk(MIXED.problem, Ridge(n_features=9, n_outcomes=3), rate=9.0, explore=1, radius=0.01),
            MIXED,
        ),
        (
            two_stage_square_cbwk(EVERYTHING, _PAIR, rate=Rate(2.0, 0.5), explore=3, radius=0.1, step=0.2),
            Delayed(_MARKET, delay=4),
        ),
    ],
    "primal_lp": [
        (primal_lp(COURT.problem, _LEARNER, warmup=20, contexts=40), COURT),
        (primal_lp(COURT.problem, _LEARNER, warmup=0, every=7, hard=True), Delayed(COURT, delay=5)),
        (primal_lp(MIXED.problem, Ridge(n_features=9, n_outcomes=3, width=Fixed(0.2)), slack=Slack(0.1, 0.0)), MIXED),
        (primal_lp(EVERYTHING, _PAIR, contexts=3, warmup=0, temperature=0.1), Delayed(_MARKET, delay=4)),
    ],
    "resolving": [
        (resolving(_LESSONS.problem, Ridge(n_features=12, n_outcomes=4, width=Fixed(0.3)), warmup=5), _LESSONS),
        (resolving(_LESSONS.problem, BayesianRidge(n_features=12, n_outcomes=4), warmup=5), Delayed(_LESSONS, delay=4)),
        (resolving(SHOP.problem, BayesianRidge(n_features=6, n_outcomes=2), every=7), Delayed(SHOP, delay=4)),
        (resolving(_SHARED, _PAIR, contexts=3, warmup=0), Delayed(_SHARED_MARKET, delay=4)),
        (resolving(_CURVED, _PAIR, contexts=9, every=4, warmup=3), Delayed(_CURVED_MARKET, delay=4)),
        (resolving(COURT.problem, _LEARNER, warmup=20, contexts=40), COURT),
        (resolving(COURT.problem, _LEARNER, warmup=0, every=7), Delayed(COURT, delay=5)),
        (resolving(MIXED.problem, Ridge(n_features=9, n_outcomes=3, width=Fixed(0.2)), warmup=5), MIXED),
        (resolving(EVERYTHING, _PAIR, contexts=3, choice=InverseGap(Rate(9.0))), Delayed(_MARKET, delay=4)),
        (resolving(_BOUND.problem, _TASTES), Delayed(_BOUND, delay=4)),
        (resolving(_PRODUCTS.problem, Ridge(n_features=4, width=Fixed(0.2)), warmup=5, every=7), _PRODUCTS),
    ],
    "pgd": [
        (pgd(COURT.problem, _LEARNER, warmup=20), COURT),
        (pgd(COURT.problem, _LEARNER, step=0.05, hard=True), Delayed(COURT, delay=5)),
        (pgd(EVERYTHING, _PAIR, warmup=0, step=0.1, margin=0.01), _MARKET),
        (pgd(_SHOP.problem, Ridge(n_features=6, n_outcomes=2), warmup=5, hard=True), _SHOP),
        (pgd(EVERYTHING, _PAIR, warmup=10, step=0.1, hard=True), Delayed(_MARKET, delay=4)),
        (pgd(EVERYTHING, Ridge(n_features=8, n_outcomes=2), warmup=10, hard=True), LOG),
        (pgd(EVERYTHING, Ridge(n_features=8, n_outcomes=2), warmup=10, hard=True), UNEVEN_LOG),
        (pgd(LITTLE_SPENT, Ridge(n_features=3), warmup=3), Market(problem=LITTLE_SPENT)),
    ],
    "pgd_adaptive": [
        (pgd_adaptive(COURT.problem, _LEARNER, warmup=5, thresholds=(1.0, 1.0, 2.0)), COURT),
        (pgd_adaptive(COURT.problem, _LEARNER, warmup=5, thresholds=(1.0, 1.0), reset=True, hard=True), COURT),
        (pgd_adaptive(EVERYTHING, Stacked((Logistic(n_features=3), Ridge(n_features=3)))), _MARKET),
    ],
    "mixed_oracle": [
        (mixed_oracle(COURT.problem, _LEARNER, prices=(0.1,) * 10, warmup=0), COURT),
        (mixed_oracle(COURT.problem, _LEARNER, prices=(math.pi,) + (0.0,) * 9, hard=True), COURT),
    ],
    "cab_ucb": [
        (cab_ucb(_MATCHING.problem, _MATCHES), _MATCHING),
        (cab_ucb(_MATCHING.problem, _MATCHES, oracle=Sequential()), Delayed(_MATCHING, delay=4)),
        (cab_ucb(_MATCHING.problem, _MATCHES, capacity=(2, 1, 1), may_stay=True), _MATCHING),
        (cab_ucb(_LISTENING.problem, _LISTENS, capacity=(2, 2, 2)), _LISTENING),
    ],
    "cab_ts": [
        (cab_ts(_MATCHING.problem, Perturbed(inner=_MATCHES, scale=5.0, units=5)), _MATCHING),
        (cab_ts(_LISTENING.problem, Sampled(inner=_LISTENS, units=4), oracle=Greedy()), Delayed(_LISTENING, delay=3)),
    ],
    "cab_ts_parameter": [
        (cab_ts_parameter(_MATCHING.problem, Sampled(inner=_MATCHES, scale=5.0, units=5)), Delayed(_MATCHING, delay=4)),
        (cab_ts_parameter(_LISTENING.problem, Sampled(inner=_LISTENS, units=4)), _LISTENING),
    ],
    "cab_ofu": [
        (cab_ofu(_MATCHING.problem, OnePass(n_features=5)), _MATCHING),
        (cab_ofu(_LISTENING.problem, _LISTENS, oracle=Sequential()), Delayed(_LISTENING, delay=3)),
    ],
    "max_match": [
        (max_match(_MATCHING.problem, _MATCHES), _MATCHING),
        (max_match(_LISTENING.problem, _LISTENS), Delayed(_LISTENING, delay=3)),
    ],
    "fairx": [
        (fairx(_MATCHING.problem, OptimisticDraw(inner=_MATCHES, tries=3, units=5)), _MATCHING),
        (fairx(_LISTENING.problem, Sampled(inner=_LISTENS, units=4)), Delayed(_LISTENING, delay=3)),
    ],
    "random_allocation": [
        (random_allocation(_MATCHING.problem, n_features=5), Delayed(_MATCHING, delay=4)),
        (random_allocation(_MATCHING.problem, n_features=5, capacity=(2, 2, 1)), _MATCHING),
        (random_allocation(_PRICED_MATCHING.problem, n_features=5), Delayed(_PRICED_MATCHING, delay=4)),
    ],
}
POLICIES = [pair for pairs in RECIPES.values() for pair in pairs]
