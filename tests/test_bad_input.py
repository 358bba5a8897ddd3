"""What cannot be used is refused with one error that names the field, before it reaches a state."""

import math
import re

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError, InfeasibleProblem, InvalidInput, MissingExtra, StateMismatch
from evenhand.goals import Doubling, DualGradient, Steady
from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Fixed,
    Logarithmic,
    Logistic,
    Ridge,
    SelfNormalised,
    Stacked,
)
from evenhand.objectives import Linear
from evenhand.problem.constraints import Budget, Parity, constraint_rows
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.recipes import mixed_oracle, pgd, pgd_adaptive
from tests.examples.problems import COURT, EVERYTHING, LITTLE
from tests.malformed.statements import problem

NAN, INF = math.nan, math.inf


def dual(**change):
    rows, bound = constraint_rows(EVERYTHING, (s for s in EVERYTHING.stated if s.spends))
    return DualGradient(**({"rows": rows, "bound": bound, "step": Steady(0.1)} | change))


MODEL = Logistic(n_features=5)
PLAIN = COURT.problem

STATEMENTS = {
    # the problem
    "horizon of 0": (lambda: problem(horizon=0), "horizon: expected a whole number of at least 1, got 0"),
    "negative horizon": (lambda: problem(horizon=-3), "horizon: expected a whole number of at least 1, got -3"),
    "broken horizon": (lambda: problem(horizon=9.5), "Problem.horizon: expected a whole number, got 9.5"),
    "horizon nan": (lambda: problem(horizon=NAN), "Problem.horizon: expected a whole number, got nan"),
    "no actions": (lambda: problem(actions=()), "actions and outcomes: expected at least one each"),
    "no outcomes": (lambda: problem(outcomes=()), "actions and outcomes: expected at least one each"),
    "an action alone": (lambda: problem(actions="stay"), "Problem.actions: expected a sequence of texts, got 'stay'"),
    "a budget alone": (
        lambda: problem(subject_to=Budget("cost", rate=1)),
        "Problem.subject_to: expected a sequence of Constraint objects, got",
    ),
    "same action": (lambda: problem(actions=("go", "go")), "actions: expected names that differ"),
    "same outcome": (lambda: problem(outcomes=(Outcome("gain"),) * 2), "outcomes: expected names that differ"),
    "same grouping": (
        lambda: problem(groups=(Groups("s", ["a", "b"]), Groups("s", ["c", "d"]))),
        "groups: expected names that differ",
    ),
    "unknown objective": (
        lambda: problem(maximize="joy"),
        "maximize: expected one of the outcomes ['gain', 'cost'], got joy",
    ),
    "unknown weight": (lambda: problem(maximize=Linear({"joy": 1})), "maximize: expected one of the outcomes"),
    "no weights": (lambda: Linear({}), "maximize: expected at least one outcome with its weight"),
    "weight nan": (lambda: Linear({"gain": NAN}), "maximize['gain']: expected a finite weight, got nan"),
    "infeasible": (lambda: problem(actions=("go",)), "no mixture of the actions keeps to Budget (cost per round: "),
    # outcomes
    "empty range": (lambda: Outcome("gain", low=1, high=1), "Outcome('gain'): expected low < high, got low=1, high=1"),
    "range upside down": (lambda: Outcome("gain", low=2), "Outcome('gain'): expected low < high"),
    "range nan": (lambda: Outcome("gain", high=NAN), "Outcome('gain'): expected low < high"),
    "known nan": (
        lambda: Outcome("c", known={"go": NAN}),
        "Outcome('c').known['go']: expected a finite number, got nan",
    ),
    "known inf": (
        lambda: Outcome("c", known={"go": INF}),
        "Outcome('c').known['go']: expected a finite number, got inf",
    ),
    "known of no action": (
        lambda: problem(outcomes=(Outcome("gain"), Outcome("cost", known={"fly": 1}))),
        "Outcome('cost').known: expected one of the actions ('stay', 'go'), got fly",
    ),
    # budgets
    "budget of 0": (lambda: Budget("cost", total=0), "Budget('cost').total: expected a finite number above 0, got 0"),
    "negative budget": (
        lambda: Budget("cost", total=-5),
        "Budget('cost').total: expected a finite number above 0, got -5",
    ),
    "negative rate": (
        lambda: Budget("cost", rate=-0.1),
        "Budget('cost').rate: expected a finite number above 0, got -0.1",
    ),
    "budget nan": (lambda: Budget("cost", rate=NAN), "Budget('cost').rate: expected a finite number above 0, got nan"),
    "budget inf": (
        lambda: Budget("cost", total=INF),
        "Budget('cost').total: expected a finite number above 0, got inf",
    ),
    "total and rate": (
        lambda: Budget("cost", total=5, rate=0.5),
        "Budget('cost'): expected exactly one of total= and rate=",
    ),
    "neither": (lambda: Budget("cost"), "Budget('cost'): expected exactly one of total= and rate="),
    "budget of what": (lambda: problem(subject_to=(Budget("joy", total=5),)), "Budget: expected one of the outcomes"),
    # parity and groups
    "parity of what": (
        lambda: problem(subject_to=(Parity("joy", by="side", tolerance=0.1),)),
        "Parity: expected one of the outcomes ['gain', 'cost'], got joy",
    ),
    "parity by what": (
        lambda: problem(subject_to=(Parity("cost", by="height", tolerance=0.1),)),
        "Parity('cost').by: expected one of ['side'], got height",
    ),
    "negative tolerance": (
        lambda: Parity("c", by="s", tolerance=-0.1),
        "Parity('c').tolerance: expected a finite number",
    ),
    "tolerance inf": (lambda: Parity("c", by="s", tolerance=INF), "Parity('c').tolerance: expected a finite number"),
    "tolerance nan": (lambda: Parity("c", by="s", tolerance=NAN), "Parity('c').tolerance: expected a finite number"),
    "one group": (
        lambda: Groups("side", ["left"]),
        "Groups('side'): expected at least two different groups, got ['left']",
    ),
    "a group alone": (
        lambda: Groups("side", "left"),
        "Groups.shares: expected a mapping to numbers or a sequence of texts, got 'left'",
    ),
    "same group": (lambda: Groups("side", ["left", "left"]), "Groups('side'): expected at least two different groups"),
    "three of two": (lambda: Groups("side", ["l", "r", "r"]), "Groups('side'): expected at least two different groups"),
    "no groups": (lambda: Groups("side", []), "Groups('side'): expected at least two different groups, got []"),
    "share of 0": (lambda: Groups("s", {"a": 0, "b": 1}), "Groups('s').shares['a']: expected a share in (0, 1), got 0"),
    "negative share": (
        lambda: Groups("s", {"a": 1.5, "b": -0.5}),
        "Groups('s').shares['a']: expected a share in (0, 1)",
    ),
    "share nan": (
        lambda: Groups("s", {"a": 0.5, "b": NAN}),
        "Groups('s').shares['b']: expected a share in (0, 1), got nan",
    ),
    "shares of 0.9": (lambda: Groups("s", {"a": 0.4, "b": 0.5}), "Groups('s').shares: expected shares that sum to 1"),
    "shares of 1.1": (lambda: Groups("s", {"a": 0.6, "b": 0.5}), "Groups('s').shares: expected shares that sum to 1"),
    # models
    "no features": (lambda: Ridge(n_features=0), "Ridge.n_features, n_outcomes: expected at least 1 each, got (0, 1)"),
    "no outcome": (lambda: Ridge(n_features=1, n_outcomes=0), "Ridge.n_features, n_outcomes: expected at least 1 each"),
    "scale below 0": (lambda: BayesianRidge(n_features=1, scale=-1), "BayesianRidge.scale: expected a finite number"),
    "no growth": (lambda: BayesianRidge(n_features=1, growth=1), "BayesianRidge.growth: expected a finite number"),
    "no scale": (lambda: BayesianLogistic(n_features=1, scale=math.nan), "BayesianLogistic.scale: expected a finite"),
    "endless growth": (lambda: BayesianLogistic(n_features=1, growth=math.inf), "BayesianLogistic.growth: expected a"),
    "no range of odds": (
        lambda: BayesianLogistic(n_features=1).start(1, np.zeros(1), np.full(1, 2.0), 9),
        "BayesianLogistic: expected an outcome with a range within",
    ),
    "no ridge": (lambda: Ridge(n_features=1, ridge=0), "Ridge.ridge: expected a number above 0"),
    "negative ridge": (lambda: Logistic(n_features=1, ridge=-1), "Logistic.ridge: expected a number above 0"),
    "ridge nan": (lambda: Logistic(n_features=1, ridge=NAN), "Logistic.ridge: expected a number above 0"),
    "no features at all": (lambda: Logistic(n_features=0), "Logistic.n_features, n_outcomes: expected at least 1 each"),
    "shrinking": (
        lambda: Logistic(n_features=1, growth=0.9),
        "Logistic.growth: expected a factor of at least 1, got 0.9",
    ),
    "growth inf": (
        lambda: Logistic(n_features=1, growth=INF),
        "Logistic.growth: expected a factor of at least 1, got inf",
    ),
    "tolerance of 0": (lambda: Logistic(n_features=1, tolerance=0), "Logistic.tolerance: expected a number in (0, 1)"),
    "tolerance of 1": (lambda: Logistic(n_features=1, tolerance=1), "Logistic.tolerance: expected a number in (0, 1)"),
    "room for one": (lambda: Logistic(n_features=1, room=1), "Logistic.room: expected a whole number of at least 2"),
    "room for less": (lambda: BayesianLogistic(n_features=1, room=0), "BayesianLogistic.room: expected a whole number"),
    "negative width": (lambda: Fixed(-0.1), "Fixed.value: expected a finite number of at least 0, got -0.1"),
    "width nan": (lambda: Logarithmic(NAN), "Logarithmic.scale: expected a finite number of at least 0, got nan"),
    "no risk": (lambda: SelfNormalised(delta=0), "SelfNormalised.delta: expected a risk in (0, 1), got 0"),
    "all risk": (lambda: SelfNormalised(delta=1), "SelfNormalised.delta: expected a risk in (0, 1), got 1"),
    "noise": (
        lambda: SelfNormalised(delta=0.1, noise=-1),
        "SelfNormalised.noise: expected a finite number of at least 0",
    ),
    "norm": (
        lambda: SelfNormalised(delta=0.1, norm=INF),
        "SelfNormalised.norm: expected a finite number of at least 0",
    ),
    "nothing beside": (lambda: Stacked(()), "Stacked.parts: expected at least one model"),
    "unlike": (
        lambda: Stacked((Ridge(n_features=1), Ridge(n_features=2))),
        "Stacked.parts: expected equal numbers of features",
    ),
    # goals
    "negative step": (lambda: Steady(-0.1), "Steady.size: expected a finite number of at least 0, got -0.1"),
    "step nan": (lambda: Steady(NAN), "Steady.size: expected a finite number of at least 0, got nan"),
    "doubling 0": (lambda: Doubling(0, (1.0,)), "Doubling.base: expected a finite number above 0, got 0"),
    "limit of 0": (lambda: Doubling(0.1, (1.0, 0.0)), "Doubling.excess: expected limits above 0"),
    "limit nan": (lambda: Doubling(0.1, (NAN,)), "Doubling.excess: expected limits above 0"),
    "one bound": (lambda: dual(bound=np.ones(1)), "DualGradient.bound: expected 2 finite numbers"),
    "bound nan": (lambda: dual(bound=np.array([1.0, NAN])), "DualGradient.bound: expected 2 finite numbers"),
    "one price": (lambda: dual(start_at=(1.0,)), "DualGradient.start_at: expected 2 prices, got 1"),
    "negative price": (
        lambda: dual(start_at=(1.0, -1.0)),
        "DualGradient.start_at: expected finite prices of at least 0",
    ),
    "price inf": (lambda: dual(start_at=(1.0, INF)), "DualGradient.start_at: expected finite prices of at least 0"),
    # recipes
    "no constraints": (
        lambda: pgd(LITTLE, MODEL),
        "problem.subject_to: expected at least one constraint to set prices for",
    ),
    "margin": (
        lambda: pgd(PLAIN, MODEL, margin=0.05),
        "margin: expected at least 0 and below 0.05, the limit of ride per round",
    ),
    "negative margin": (lambda: pgd(PLAIN, MODEL, margin=-0.01), "margin: expected at least 0 and below 0.05"),
    "margin nan": (lambda: pgd_adaptive(PLAIN, MODEL, margin=NAN), "margin: expected at least 0 and below 0.05"),
    "negative warm-up": (
        lambda: pgd(PLAIN, MODEL, warmup=-1),
        "Staged.rounds: expected a whole number of at least 0, got -1",
    ),
    "negative step of pgd": (
        lambda: pgd(PLAIN, MODEL, step=-0.1),
        "Steady.size: expected a finite number of at least 0, got -0.1",
    ),
    "thresholds": (lambda: pgd_adaptive(PLAIN, MODEL, thresholds=(-1.0,)), "Doubling.excess: expected limits above 0"),
    "no prices": (lambda: mixed_oracle(PLAIN, MODEL, prices=()), "prices: expected 10, one per constraint row, got 0"),
    "three prices": (
        lambda: mixed_oracle(PLAIN, MODEL, prices=(0.1,) * 3),
        "prices: expected 10, one per constraint row, got 3",
    ),
    "prices below 0": (
        lambda: mixed_oracle(PLAIN, MODEL, prices=(-1.0,) * 10),
        "DualGradient.start_at: expected finite",
    ),
    "another model": (
        lambda: pgd(PLAIN, Ridge(n_features=5, n_outcomes=2)),
        "model: expected one of ('appears',), got one of 2",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_that_makes_no_sense_is_refused_and_the_field_named(name):
    state, message = STATEMENTS[name]
    with pytest.raises((InvalidInput, InfeasibleProblem), match="^" + re.escape(message)) as caught:
        state()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_errors_are_evenhands_own_and_python_kinds_too():
    assert issubclass(InvalidInput, EvenhandError)
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(InfeasibleProblem, EvenhandError)
    assert issubclass(InfeasibleProblem, ValueError)
    assert issubclass(StateMismatch, EvenhandError)
    assert issubclass(StateMismatch, ValueError)
    assert issubclass(MissingExtra, EvenhandError)
    assert issubclass(MissingExtra, ImportError)
    error = InvalidInput("field", "something", 3)
    assert (error.field, error.expected, error.got) == ("field", "something", 3)
