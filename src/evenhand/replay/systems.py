"""The policies that a replay compares: one recipe with all, some and none of the constraints, and uniform play."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import snake
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import fw, ucb, uniform
from evenhand.replay.settings import Settings

BLIND = "uniform"


def systems(problem: Problem, settings: Settings, n_features: int) -> list[Policy]:
    """Build the policy under test, and then the policies to compare it with.

    Raises:
        InvalidInput: the recipe refuses the problem or one of its arguments.

    >>> from evenhand.environments import Court
    >>> [p.name for p in systems(Court().problem, Settings(), n_features=5)]
    ['pgd, budget and parity', 'pgd, budget alone', 'no constraints', 'uniform']
    """
    return [*_tested(problem, settings, n_features), uniform(problem, n_features)]


def _tested(problem: Problem, settings: Settings, n_features: int) -> Iterator[Policy]:
    if settings.name == BLIND:
        return
    others = [c for c in problem.subject_to if c not in problem.spending]
    kinds = dict.fromkeys(snake(type(c).__name__) for c in (*problem.spending, *others))
    if kinds:
        name = f"{settings.name}, {' and '.join(kinds)}"
        yield replace(settings.build(problem, n_features), name=name)
    if problem.spending and others:
        alone = replace(problem, subject_to=problem.spending)
        yield replace(settings.build(alone, n_features), name=f"{settings.name}, budget alone")
    yield replace(_unconstrained(replace(problem, subject_to=()), settings, n_features), name="no constraints")


def _unconstrained(problem: Problem, settings: Settings, n_features: int) -> Policy:
    """Build the recipe for a problem without constraints; if it refuses, use `ucb` after the same warm-up instead."""
    try:
        return settings.build(problem, n_features)
    except InvalidInput as error:
        refused = error.__cause__  # None if an argument could not be read and the recipe was not called
        if not isinstance(refused, InvalidInput) or refused.field != "problem.subject_to":
            raise  # for example a recipe for allocations, which needs a problem with arms
    model = settings.build_model(problem, n_features)
    warmup = int(settings.arguments.get("warmup", 50))
    if isinstance(problem.objective, Linear):
        return ucb(problem, model, warmup=warmup)
    return fw(problem, lambda p: ucb(p, model), warmup=warmup)
