"""The systems of the experiment: all combinations of primal and dual updates that suit a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from evenhand.core.errors import EvenhandError
from evenhand.environments import Environment
from evenhand.experiments.concave_convex.worlds import Setting
from evenhand.models import BayesianRidge, Model, Tabular
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import bwcr, fw_dual, greedy_bwk, lin_cbwk, pd_bwk, resolving, ucb_bwcr, ucb_bwk
from evenhand.recipes.bwcr import Updates, theoretical_gamma

UPDATES: tuple[Updates, ...] = ("primal", "dual")
SCALE = 1.0 / 32.0  # of the theory's gamma, for all systems, worlds and lengths

Make = Callable[[Problem, Model], Policy]


def systems(setting: Setting, world: Environment) -> Iterator[tuple[str, Policy | None, str]]:
    """Yield the systems of a world: each name with its policy, or with the reason why it refuses the world."""
    model = _model(setting, world)
    for name, make in _makers(setting, world.problem).items():
        try:
            yield name, replace(make(world.problem, model), name=name), ""
        except EvenhandError as error:
            yield name, None, str(error)


def _model(setting: Setting, world: Environment) -> Model:
    """Build the model: tables at a part of the theory's gamma, or a Bayesian regression if users have features."""
    outcomes = len(world.problem.learned)
    if setting.name in ("clicks", "families"):
        return BayesianRidge(n_features=world.n_features, n_outcomes=outcomes)
    confidence = SCALE * theoretical_gamma(world.problem)
    return Tabular(arms=world.n_features, n_outcomes=outcomes, confidence=confidence)


def _makers(setting: Setting, problem: Problem) -> dict[str, Make]:
    """Return the recipes of a setting by their names in tables."""
    if setting.contexts:
        return {"resolving": resolving, "fw_dual": fw_dual, "bwcr, primal-primal": bwcr}
    found: dict[str, Make] = {}
    for hard in (False, True) if problem.spending else (False,):
        for objective, constraints in product(UPDATES, UPDATES):
            name = f"bwcr, {objective}-{constraints}{', hard' if hard else ''}"
            found[name] = partial(_bwcr, objective, constraints, hard)
    found["ucb_bwcr"] = lambda problem, model: ucb_bwcr(problem, model, hard=False)
    if isinstance(problem.objective, Linear) and len(problem.spending) == len(problem.subject_to):
        of_knapsacks: dict[str, Make] = {"ucb_bwk": ucb_bwk, "greedy_bwk": greedy_bwk, "pd_bwk": pd_bwk}
        found |= of_knapsacks
        found["lin_cbwk"] = lin_cbwk
    found["resolving"] = resolving
    return found


def _bwcr(objective: Updates, constraints: Updates, hard: bool, problem: Problem, model: Model) -> Policy:
    """Build a variant of `bwcr`; soft variants have no margin, as the experiment measures the theorem's violation."""
    return bwcr(
        problem, model, objective_by=objective, constraints_by=constraints, margin=None if hard else 0.0, hard=hard
    )
