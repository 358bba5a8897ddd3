"""Statements that make no sense, as (call, field, phrase): problems, constraints, models, parts, runs."""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from evenhand.choices import EpsilonGreedy, Staged, TopK
from evenhand.environments import Court
from evenhand.models import BayesianLogistic, Logistic, PerAction, Ridge, Sklearn, Stacked
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.policy import Policy
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.problem.constraints import Floor, Within
from evenhand.recipes import fw, fw_dual, pgd, resolving, ucb, uniform
from evenhand.run.optimum import opt
from evenhand.run.simulation import simulate
from evenhand.sets import Ball, Box
from evenhand.welfare import Capped, PerArm

COURT = Court(horizon=200)
PLAIN = COURT.problem
MODEL = Logistic(n_features=5)
STATED = {
    "actions": ("stay", "go"),
    "outcomes": (Outcome("gain"), Outcome("cost", known={"go": 1})),
    "maximize": "gain",
    "subject_to": (Budget("cost", rate=0.5),),
    "groups": (Groups("side", {"left": 0.5, "right": 0.5}),),
    "horizon": 10,
}


def problem(**change):
    return Problem(**(STATED | change))


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


def policy(**change):
    made = pgd(PLAIN, MODEL)
    parts = {"problem": PLAIN, "model": MODEL, "goals": made.goals, "choice": made.choice}
    return Policy(**(parts | change))


DID = "did you mean"

PROBLEMS = {
    "horizon as text": (lambda: problem(horizon="100"), "Problem.horizon", "whole number"),
    "horizon as a list": (lambda: problem(horizon=[100]), "Problem.horizon", "whole number"),
    "horizon beyond exact numbers": (lambda: problem(horizon=10**400), "Problem.horizon", "at most 64 bits"),
    "horizon beyond exact ones": (lambda: problem(horizon=2**60), "horizon", "at most 9,007,199,254,740,992"),
    "plays as text": (lambda: problem(n_plays="1"), "Problem.n_plays", "whole number"),
    "actions as numbers": (lambda: problem(actions=(1, 2)), "Problem.actions[0]", "text"),
    "an action as a list": (lambda: problem(actions=(["stay"], ["go"])), "Problem.actions[0]", "text"),
    "actions as a number": (lambda: problem(actions=2), "Problem.actions", "a sequence"),
    "outcomes as names": (lambda: problem(outcomes=["gain", "cost"]), "Problem.outcomes[0]", "an Outcome"),
    "an outcome class": (lambda: problem(outcomes=[Outcome]), "Problem.outcomes[0]", "the class Outcome"),
    "a constraint class": (lambda: problem(subject_to=[Budget]), "Problem.subject_to[0]", "the class Budget"),
    "a constraint as text": (lambda: problem(subject_to=["cost"]), "Problem.subject_to[0]", "a Constraint"),
    "an objective as a number": (lambda: problem(maximize=1), "Problem.maximize", "a text or an Objective"),
    "an objective class": (lambda: problem(maximize=Linear), "Problem.maximize", "the class Linear"),
    "an objective as a mapping": (lambda: problem(maximize={"gain": 1}), "Problem.maximize", "an Objective"),
    "an objective misspelt": (lambda: problem(maximize="gian"), "maximize", f"({DID} gain?)"),
    "groups as a mapping": (lambda: problem(groups={"side": ["l", "r"]}), "Problem.groups", "Groups"),
    "a group's name as a number": (lambda: Groups("side", [1, 2]), "Groups.shares", "text"),
    "a share as text": (lambda: Groups("side", {"a": "0.5", "b": "0.5"}), "Groups.shares", "number"),
    "shares as a number": (lambda: Groups("side", 2), "Groups.shares", "number"),
    "groups of numbers": (lambda: Groups("side", ["l", "r"], of=3), "Groups.of", "mapping"),
    "an outcome without a name": (lambda: Outcome(None), "Outcome.name", "text"),
    "a range as text": (lambda: Outcome("gain", low="0"), "Outcome.low", "number"),
    "a range that is complex": (lambda: Outcome("gain", high=1j), "Outcome.high", "number"),
    "known as text": (lambda: Outcome("cost", known={"go": "1"}), "Outcome.known", "number"),
    "known as a list": (lambda: Outcome("cost", known=[1, 0]), "Outcome.known", "number"),
    "known of an action misspelt": (
        lambda: problem(outcomes=(Outcome("gain"), Outcome("cost", known={"goo": 1}))), "Outcome('cost').known",
        f"({DID} go?)",
    ),
    "sure as text": (lambda: Outcome("cost", known=1, sure="yes"), "Outcome.sure", "True or False"),
    "a budget as text": (lambda: Budget("cost", rate="0.5"), "Budget.rate", "number"),
    "a budget as an array": (lambda: Budget("cost", total=np.ones(2)), "Budget.total", "number"),
    "a budget of an outcome": (lambda: problem(subject_to=[Budget(Outcome("cost"), rate=1)]), "Budget.outcome", "text"),
    "a budget misspelt": (lambda: problem(subject_to=[Budget("csot", rate=1)]), "Budget", f"({DID} cost?)"),
    "a budget without a word": (lambda: Budget("cost", 5), "Budget", "by name (total=, rate=, hard=), got 2"),
    "what to minimise": (
        lambda: problem(minimize="cost"), "minimize", 'give a weight of -1: maximize=Linear({"cost": -1})',
    ),
    "hard as text": (lambda: Budget("cost", rate=1, hard="no"), "Budget.hard", "True or False"),
    "a tolerance as text": (lambda: Parity("cost", by="side", tolerance="1"), "Parity.tolerance", "number"),
    "a grouping misspelt": (
        lambda: problem(subject_to=[Parity("cost", by="sdie", tolerance=1)]), "Parity('cost').by", f"({DID} side?)",
    ),
    "a floor as text": (lambda: Floor("gain", rate="0.1"), "Floor.rate", "number"),
    "a set as a number": (lambda: Within(("gain",), 0.5), "Within.within", "a set such as Ball"),
    "a set class": (lambda: Within(("gain",), Box), "Within.within", "a set such as Ball"),
    "no names for a set": (lambda: Within(3, Ball((0.5,), 0.1)), "Within.outcomes", "at least one name"),
    "names of a set that are none": (lambda: Within((1,), Ball((0.5,), 0.1)), "Within.outcomes", "at least one name"),
    "a ball of text": (lambda: Ball("middle", 0.1), "Ball", "number"),
    "a radius as text": (lambda: Ball((0.5,), "0.1"), "Ball", "number"),
    "a box of nothing": (lambda: Box(None, None), "Box", "number"),
    "weights as a list": (lambda: Linear(["gain"]), "maximize", "a mapping from names of outcomes to weights"),
    "a weight as text": (lambda: Linear({"gain": "1"}), "maximize['gain']", "a finite weight"),
    "alpha as text": (lambda: AlphaFair(("gain", "cost"), alpha="2"), "AlphaFair", "number"),
    "gini of numbers": (lambda: GeneralizedGini((1, 2), weights=(1, 0.5)), "GeneralizedGini.outcomes", "names"),
    "a horizon of rounds, misspelt": (lambda: problem(horizn=3), "horizn", f"({DID} horizon?)"),
}  # fmt: skip

PARTS = {
    "coefficients per action for a policy": (lambda: PerAction.of(POLICY), "problem", "a Problem"),
    "coefficients per action of a name": (lambda: PerAction.of(PLAIN, "ridge"), "kind", "a class of models"),
    "an estimator per action": (
        lambda: PerAction(inner=LogisticRegression(), actions=3),
        "PerAction.inner",
        "`Sklearn` makes one",
    ),
    "coefficients per action of an estimator": (lambda: PerAction.of(PLAIN, LogisticRegression), "kind", "`Sklearn`"),
    "two outcomes for a model of one": (
        lambda: PerAction.of(problem(outcomes=(Outcome("gain"), Outcome("cost"))), BayesianLogistic),
        "kind",
        "a model of several outcomes, such as BayesianRidge, as the problem has ('gain', 'cost')",
    ),
    "features as text": (lambda: Ridge(n_features="5"), "Ridge.n_features", "whole number"),
    "half a feature": (lambda: Ridge(n_features=2.5), "Ridge.n_features", "whole number"),
    "a ridge as text": (lambda: Ridge(n_features=5, ridge="1"), "Ridge.ridge", "number"),
    "a width as text": (lambda: Ridge(n_features=5, width="0.1"), "Ridge.width", "Width"),
    "stacked models that are none": (lambda: Stacked((MODEL, "ridge")), "Stacked.parts", "Model"),
    "an estimator class": (lambda: Sklearn(estimator=LogisticRegression), "Sklearn.estimator", "instance"),
    "plays of a choice as text": (lambda: TopK("1"), "TopK.n_plays", "whole number"),
    "half a warm-up": (lambda: Staged(2.5, TopK(1)), "Staged", "whole number"),
    "a curve that is none": (lambda: PerArm((Capped(1.0), 3)), "PerArm.each[1]", "a Curve"),
    "stages of nothing": (lambda: Staged(5, None), "Staged", "Choice"),
    "a chance as text": (lambda: EpsilonGreedy("0.1"), "EpsilonGreedy", "number"),
    "a model as text": (lambda: pgd(PLAIN, "logistic"), "model", "a Model"),
    "no model": (lambda: pgd(PLAIN, None), "model", "Model"),
    "a model class": (lambda: ucb(PLAIN, Logistic), "model", "the class Logistic"),
    "no problem": (lambda: pgd(None, MODEL), "problem", "Problem"),
    "a world for a problem": (lambda: pgd(COURT, MODEL), "problem", "Problem"),
    "problem and model exchanged": (lambda: resolving(MODEL, PLAIN), "problem", "Problem"),
    "a step as text": (lambda: pgd(PLAIN, MODEL, step="0.1"), "step", "number"),
    "a margin as text": (lambda: pgd(PLAIN, MODEL, margin="0"), "margin", "number"),
    "a warm-up as text": (lambda: pgd(PLAIN, MODEL, warmup="50"), "warmup", "whole number"),
    "hard as a number": (lambda: pgd(PLAIN, MODEL, hard="yes"), "hard", "True or False"),
    "a keyword misspelt": (lambda: pgd(PLAIN, MODEL, setp=0.1), "setp", f"({DID} step?)"),
    "a step too many": (lambda: pgd(PLAIN, MODEL, 0.1), "pgd", "at most 2"),
    "a model forgotten": (lambda: pgd(PLAIN), "model", "nothing"),
    "features of uniform as text": (lambda: uniform(PLAIN, "5"), "n_features", "whole number"),
    "a policy for a recipe": (lambda: fw(PLAIN, ucb(PLAIN, MODEL)), "recipe", "function"),
    "a set for a margin": (lambda: fw_dual(PLAIN, MODEL, margin=Ball((1.0,), 1.0)), "margin", "number"),
    "a policy without a model": (lambda: policy(model=None), "Policy.model", "Model"),
    "a model that cannot learn": (lambda: policy(model=Forgetful()), "Policy.model", "has no update"),
    "a recipe of a model that cannot learn": (lambda: pgd(PLAIN, Forgetful()), "model", "has no update"),
    "a model without lessons": (lambda: pgd(PLAIN, Unteachable()), "model", "with update(state, x, y, seen, w, l"),
    "a choice that cannot pick": (lambda: policy(choice=Undecided()), "Policy.choice", "has no pick"),
    "a choice class": (lambda: policy(choice=TopK), "Policy.choice", "the class TopK"),
    "a goal that does nothing": (lambda: policy(goals=(Idle(),)), "Policy.goals[0]", "Idle, which has no"),
    "goals as one goal": (lambda: policy(goals=Idle()), "Policy.goals", "a sequence"),
    "no goals": (lambda: policy(goals=()), "goals", "at least one"),
    "a policy's name as a number": (lambda: policy(name=3), "Policy.name", "text"),
    "a policy of a name": (lambda: policy(problem="court"), "Policy.problem", "Problem"),
}  # fmt: skip

POLICY = uniform(PLAIN, n_features=5)


class Dull:
    """A world without a beginning."""

    problem = PLAIN
    n_features = 5


RUNS = {
    "a name for a constraint": (
        lambda: simulate(POLICY, COURT, replicas=1, progress=False).measure("ride"),
        "constraint",
        "(ride per round, ",
    ),
    "a count of replicas for a world": (lambda: COURT.start(1, 2).context(0), "replicas", "np.arange(2)"),
    "no policy": (lambda: simulate(None, COURT), "policy", "Policy"),
    "a recipe for a policy": (lambda: simulate(uniform, COURT), "policy", "Policy"),
    "world and policy exchanged": (lambda: simulate(COURT, POLICY), "policy", "Policy"),
    "no world": (lambda: simulate(POLICY, None), "environment", "Environment"),
    "a world class": (lambda: simulate(POLICY, Court), "environment", "the class Court"),
    "a world without a start": (lambda: simulate(POLICY, Dull()), "environment", "has no start"),
    "replicas as text": (lambda: simulate(POLICY, COURT, replicas="20"), "replicas", "whole numbers"),
    "half a replica": (lambda: simulate(POLICY, COURT, replicas=0.5), "replicas", "a whole number"),
    "true replicas": (lambda: simulate(POLICY, COURT, replicas=True), "replicas", "a whole number"),
    "no replicas": (lambda: simulate(POLICY, COURT, replicas=0), "replicas", "at least one"),
    "replicas below 0": (lambda: simulate(POLICY, COURT, replicas=[0, -1]), "replicas", "numbered from 0"),
    "replicas twice": (lambda: simulate(POLICY, COURT, replicas=[0, 1, 0]), "replicas", "0 twice"),
    "torn replicas": (lambda: simulate(POLICY, COURT, replicas=[[0], [1, 2]]), "replicas[0]", "whole number"),
    "more replicas than memory": (lambda: simulate(POLICY, COURT, replicas=10**12), "replicas", "at most"),
    "a seed as text": (lambda: simulate(POLICY, COURT, seed="0"), "seed", "whole number"),
    "half a seed": (lambda: simulate(POLICY, COURT, seed=0.5), "seed", "whole number"),
    "no record": (lambda: simulate(POLICY, COURT, record="some"), "record", "'grid'"),
    "a list of records": (lambda: simulate(POLICY, COURT, record=["all"]), "record", "'grid'"),
    "jobs as text": (lambda: simulate(POLICY, COURT, jobs="2"), "jobs", "whole number"),
    "half a job": (lambda: simulate(POLICY, COURT, jobs=1.5), "jobs", "whole number"),
    "a million jobs": (lambda: simulate(POLICY, COURT, replicas=10**6, jobs=10**6), "jobs", "at most"),
    "a folder for checkpoints": (lambda: simulate(POLICY, COURT, checkpoints="here"), "checkpoints", "Checkpoints"),
    "replicas that start twice": (lambda: POLICY.start(replicas=[3, 3]), "replicas", "3 twice"),
    "opt of a policy": (lambda: opt(POLICY), "environment", "Environment"),
    "opt of a problem": (lambda: opt(PLAIN), "environment", "Environment"),
    "contexts as text": (lambda: opt(COURT, contexts="many"), "contexts", "whole number"),
    "no contexts": (lambda: opt(COURT, contexts=0), "contexts", "at least 1"),
    "a margin of opt as text": (lambda: opt(COURT, margin="0.1"), "margin", "number"),
    "a margin of opt that is no number": (lambda: opt(COURT, margin=float("nan")), "margin", "at least 0"),
    "replicas of opt twice": (lambda: opt(COURT, replicas=[1, 1]), "replicas", "1 twice"),
    "a court of text": (lambda: Court(horizon="many"), "Court.horizon", "whole number"),
    "a court of a class": (lambda: Court(tolerance=float), "Court.tolerance", "number"),
}
