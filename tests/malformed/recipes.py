"""Recipes and policies that cannot be composed."""

import math
from dataclasses import dataclass, replace
from functools import partial

from sklearn.linear_model import LinearRegression

from evenhand import recipes as r
from evenhand.choices import TopK
from evenhand.environments import Court, FixedContexts, Lessons, Matching, MixedArms, MultiObjective
from evenhand.goals.linear_reward import reward
from evenhand.models import Logistic, NullModel, Ridge, Tabular
from evenhand.objectives import AlphaFair, GeneralizedGini
from evenhand.policy import Policy
from evenhand.problem import Budget, Outcome, Problem, Within
from evenhand.recipes import bwcr
from evenhand.recipes.cab import theoretical_constants
from evenhand.sets import Ball
from tests.examples.environments import BOUND, PRODUCTS
from tests.examples.problems import EVERYTHING, LITTLE
from tests.goals.arms import problem as arms, truth
from tests.malformed.tables import changes, each, wrong
from tests.rankings import TASTES

NAN, INF = math.nan, math.inf
DID = "did you mean"
COURT = Court(horizon=200)
PLAIN, MODEL = COURT.problem, Logistic(n_features=5)
LEARNER = Ridge(n_features=12, n_outcomes=4)
MATCHING = Matching(horizon=50).problem
COSTLY = Matching(horizon=50, costs=(0.5,) * 10, subject_to=(Budget("cost", rate=4.0),)).problem
BALL = replace(MixedArms(horizon=300).problem, subject_to=(Within(("reward", "cost 1"), Ball((0.45, 0.2), 0.1)),))
UNFAIR = replace(Lessons(parity=False).problem, maximize=GeneralizedGini(("reading", "writing")))
FREE, NO_PARITY = Lessons(constrained=False).problem, Lessons(parity=False).problem
SUBJECT = "problem.subject_to: expected "
STEPS = FixedContexts(horizon=8000).problem
GINI = arms(GeneralizedGini(("u", "v")), subject_to=(Budget("u", rate=0.5),))
UNLIMITED = replace(
    arms(GeneralizedGini(("u", "v"))), outcomes=tuple(Outcome(n, low=-INF, high=INF) for n in ("u", "v", "w")),
    maximize=AlphaFair(("u", "v"), alpha=1.0),
)  # fmt: skip
SPENT = Problem(
    actions=("a", "b"), outcomes=(Outcome("match"), Outcome("cost", known={"b": 1})), maximize="match",
    subject_to=(Budget("cost", rate=0.5),), horizon=9,
)  # fmt: skip


@dataclass(frozen=True)
class Forgetful:
    """A model that cannot learn."""

    n_features: int = 5
    n_outcomes: int = 1

    def draws(self, candidates):
        return 0

    def start(self, n_replicas, low, high, horizon):
        return None

    def value(self, state, x, w, u):
        raise AssertionError


class Unteachable(Forgetful):
    """A model that is not told how its plays count."""

    def update(self, state, x, y, seen, w):
        raise AssertionError


class Undecided:
    """A choice that picks nothing."""

    n_plays = 1
    reads_bonus = True

    def draws(self, candidates):
        return 0

    def start(self, n_replicas):
        return None


class Idle:
    """A goal that does nothing."""


def table(problem):
    return Tabular(arms=len(problem.actions) - 1, n_outcomes=len(problem.learned), confidence=0.5)


def tabular(problem):
    return Tabular(arms=len(problem.actions), n_outcomes=len(problem.learned), confidence=0.5)


pgd, made = partial(r.pgd, PLAIN, MODEL), r.pgd(PLAIN, MODEL)
policy = partial(Policy, problem=PLAIN, model=MODEL, goals=made.goals, choice=made.choice)
of_everything = partial(Policy, problem=EVERYTHING, goals=(reward(EVERYTHING),), choice=TopK(1))
oracle_prices = partial(r.mixed_oracle, PLAIN, MODEL)
within = partial(bwcr, BALL, Tabular(arms=4, n_outcomes=3, confidence=0.5))
constants = partial(theoretical_constants, Matching(users=4, arms=3, horizon=50).problem, 5, norm_bound=1.0)

ROWS = [
    # arguments of every recipe
    *changes(
        pgd,
        ({"margin": 0.05}, "margin: expected at least 0 and below 0.05, the limit of ride per round"),
        ({"margin": -0.01}, "margin: expected at least 0 and below 0.05"),
        ({"margin": "0"}, "margin: ...number"),
        ({"warmup": -1}, "Staged.rounds: expected a whole number of at least 0, got -1"),
        ({"warmup": "50"}, "warmup: ...whole number"),
        ({"step": -0.1}, "Steady.size: expected a finite number of at least 0, got -0.1"),
        ({"step": "0.1"}, "step: ...number"),
        ({"hard": "yes"}, "hard: ...True or False"),
        ({"setp": 0.1}, f"setp: ...({DID} step?)"),
    ),
    (lambda: r.ucb(PLAIN, MODEL, name=5), "name: expected a text, got 5"),
    (lambda: r.pgd(PLAIN, MODEL, 0.1), "pgd: ...at most 2"),
    (lambda: r.pgd(PLAIN), "model: ...nothing"),
    *each(partial(r.pgd, PLAIN), "model: ...Model", "logistic", None),
    (lambda: r.ucb(PLAIN, Logistic), "model: ...the class Logistic"),
    (lambda: r.pgd(PLAIN, Ridge(n_features=5, n_outcomes=2)), "model: expected one of ('appears',), got one of 2"),
    (lambda: r.pgd(PLAIN, Forgetful()), "model: ...has no update"),
    (lambda: r.pgd(PLAIN, Unteachable()), "model: ...with update(state, x, y, seen, w, l"),
    *each(lambda p: r.pgd(p, MODEL), "problem: ...Problem", None, COURT),
    (lambda: r.resolving(MODEL, PLAIN), "problem: ...Problem"),
    (lambda: r.uniform(PLAIN, "5"), "n_features: ...whole number"),
    (lambda: r.fw_dual(PLAIN, MODEL, margin=Ball((1.0,), 1.0)), "margin: ...number"),
    (lambda: r.pgd_adaptive(PLAIN, MODEL, margin=NAN), "margin: expected at least 0 and below 0.05"),
    (lambda: r.pgd_adaptive(PLAIN, MODEL, thresholds=(-1.0,)), "Doubling.excess: expected limits above 0"),
    *wrong(oracle_prices, "prices: expected 10, one per constraint row, got ", prices=((), (0.1,) * 3)),
    *wrong(oracle_prices, "DualGradient.start_at: expected finite", prices=((-1.0,) * 10,)),
    (lambda: r.resolving(PLAIN, MODEL, choice=TopK(2)), "choice"),
    (lambda: r.two_stage_square_cbwk(PLAIN, LinearRegression(), rate=5.0, explore=3), "model.n_features"),
    # problems that a recipe cannot keep to
    (lambda: r.pgd(LITTLE, MODEL), f"{SUBJECT}at least one constraint to set prices for"),
    (lambda: r.lagrange_cbw(FREE, LEARNER), f"{SUBJECT}at least one constraint"),
    (lambda: r.lagrange_cbw(NO_PARITY, LEARNER), "problem.maximize: expected an outcome or a Linear objective"),
    (lambda: r.pgd(GINI, truth()), "...a Linear objective"),
    (lambda: r.fw_linucb(GINI, truth()), "...no constraints; fw_dual"),
    (lambda: r.fw_linucb(UNLIMITED, truth()), "...start_at...'u'...offset"),  # smoothing does not hide it
    (lambda: r.fw(GINI, lambda q: r.resolving(q, truth())), "...do not plan"),
    (lambda: r.fw(GINI, lambda q: r.fw_dual(q, truth())), "recipe: expected one whose reward...got fw_dual"),
    (lambda: r.fw(GINI, lambda q: 3), "recipe: expected a function from a problem to a policy, got 3"),
    (lambda: r.fw(PLAIN, r.ucb(PLAIN, MODEL)), "recipe: ...function"),
    *(
        row
        for recipe in (r.ucb_bwk, r.greedy_bwk, r.pd_bwk)
        for row in (
            (partial(recipe, PLAIN, tabular(PLAIN)), f"{SUBJECT}budgets only"),
            (partial(recipe, replace(PLAIN, subject_to=()), tabular(PLAIN)), f"{SUBJECT}at least one Budget"),
            (partial(recipe, UNFAIR, tabular(UNFAIR)), "problem.maximize"),
        )
    ),
    (lambda: r.ucb_bwcr(PLAIN, tabular(PLAIN)), f"{SUBJECT}budgets, floors and convex sets"),
    (lambda: r.ucb_bwk(MixedArms().problem, tabular(MixedArms().problem), epsilon=1.0),
     "epsilon: expected a number in [0, 1), got 1"),
    (lambda: bwcr(Lessons().problem, table(Lessons().problem)),
     f"{SUBJECT}budgets, floors and convex sets only, as constraints by group are not supp"),
    (lambda: bwcr(Lessons().problem, table(Lessons().problem), constraints_by="dual"), f"{SUBJECT}budgets, floors"),
    *wrong(within, "{}: expected", objective=("Dual",), constraints=("Dual",)),
    *(
        row
        for by in (("primal", "primal"), ("primal", "dual"), ("dual", "primal"), ("dual", "dual"), ("ucb", "ucb"),
                   ("ucb", "dual"))
        for row in wrong(partial(within, objective_by=by[0], constraints_by=by[1]), "Ball.shrunk(margin)",
                         margin=(-0.1, NAN, 0.2))
    ),
    *wrong(within, "norm: expected one of", norm=("two", None)),
    *wrong(partial(r.dual_bwc, BALL, within.args[1]), "norm: expected one of", norm=("two", None)),
    *(
        row
        for recipe in (r.lagrange_cbw, partial(r.square_cbwk, rate=5.0), r.lin_cbwk,
                       partial(r.two_stage_square_cbwk, rate=5.0, explore=5, radius=0.01))
        for row in wrong(partial(recipe, STEPS, Ridge(n_features=52, n_outcomes=5)),
                         "step: expected a finite number above 0", step=(0, -0.1, NAN, INF))
    ),
    *wrong(partial(r.molincb, MultiObjective(arms=4, n_outcomes=3).problem, Ridge(n_features=10, n_outcomes=3)),
           "...delta", delta=(1.0, "x")),
    # rankings
    (lambda: r.fw_rank(PRODUCTS.problem, TASTES, TopK(2)), "choice: expected one that plays 3 candidates"),
    (lambda: r.fw_linucb_rank(BOUND.problem, Logistic(n_features=4), step=-1.0), "Steady.size"),
    (lambda: r.fw_linucb_rank(BOUND.problem, TASTES, margin=9.0), "margin"),
    *((partial(recipe, BOUND.problem, TASTES, utility="likes"), "maximize: expected one of")
      for recipe in (r.linucb_rank, r.unbiased_linucb_rank, partial(r.fairlearn_rank, share=0.5))),
    *wrong(partial(r.fairlearn_rank, BOUND.problem, TASTES), "FairLearn.share: expected a number in [0, k / A] =",
           share=(0.8, -0.1, NAN)),
    # allocations
    *(
        row
        for recipe in (r.resolving_allocation, r.pgd_allocation)
        for row in (
            (partial(recipe, SPENT, MODEL), "...one Satisfaction"),
            (partial(recipe, replace(COSTLY, maximize="cost"), MODEL), "problem.maximize: expected 'match'"),
        )
    ),
    (lambda: r.pgd_allocation(MATCHING, MODEL), "...at least one constraint"),
    *wrong(constants, "norm_bound: expected", norm_bound=(0.0,)),
    *wrong(constants, "kappa: expected a number in (0, steepest]", kappa=(0.3,)),
    *wrong(constants, "delta: expected a risk", delta=(1.0,)),
    *wrong(constants, "noise: expected", noise=(-1.0,)),
    # policies
    *changes(
        policy,
        ({"model": None}, "Policy.model: ...Model"),
        ({"model": Forgetful()}, "Policy.model: ...has no update"),
        ({"choice": Undecided()}, "Policy.choice: ...has no pick"),
        ({"choice": TopK}, "Policy.choice: ...the class TopK"),
        ({"goals": (Idle(),)}, "Policy.goals[0]: ...Idle, which has no"),
        ({"goals": Idle()}, "Policy.goals: ...a sequence"),
        ({"goals": ()}, "goals: expected at least one that prices outcomes"),
        ({"choice": TopK(2)}, "choice: expected one that plays 1 candidates, as problem.n_plays says, got"),
        ({"name": 3}, "Policy.name: ...text"),
        ({"problem": "court"}, "Policy.problem: ...Problem"),
    ),
    (lambda: of_everything(model=NullModel(n_features=1)), "model: expected one of ('gain', 'hours'), got one of 1"),
]  # fmt: skip
