"""The policies that a replay compares: one recipe with all, some and none of the constraints, and a blind one."""

from __future__ import annotations

from dataclasses import replace

from evenhand.logs.spec import Settings
from evenhand.models import Beside, Fixed, Logistic, Ridge
from evenhand.models.base import Model
from evenhand.policy import Policy
from evenhand.problem import Problem
from evenhand.recipes import optimistic, pgd, pgd_adaptive, uniform

BLIND = "uniform"


def systems(problem: Problem, settings: Settings, features: int) -> list[Policy]:
    """The policy under test first, then what it is to be held against; budgets are hard in all that have one.

    >>> from evenhand.environments import Court
    >>> [p.name for p in systems(Court().problem, Settings(), features=5)]
    ['pgd, budget and parity', 'pgd, budget alone', 'no constraints', 'uniform']
    """
    free = replace(problem, subject_to=())
    found = []
    if settings.name != BLIND and problem.subject_to:
        parities = len(problem.subject_to) - len(problem.budgets)
        if parities and problem.budgets:
            found.append(_steered(problem, settings, features, "budget and parity"))
            alone = replace(problem, subject_to=problem.budgets)
            found.append(_steered(alone, settings, features, "budget alone"))
        else:
            found.append(_steered(problem, settings, features, "parity" if parities else "budget"))
    if settings.name != BLIND:
        policy = optimistic(free, model(free, settings, features), warmup=settings.warmup)
        found.append(replace(policy, name="no constraints"))
    return [*found, uniform(problem, features)]


def model(problem: Problem, settings: Settings, features: int) -> Model:
    """One model per learned outcome, whose width is in units of that outcome's range."""
    parts: list[Model] = []
    for low, high in zip(problem.low, problem.high, strict=True):
        width = Fixed(settings.width * float(high - low))
        if settings.model == "logistic":
            parts.append(Logistic(features=features, ridge=settings.ridge, width=width))
        else:
            parts.append(Ridge(features=features, ridge=settings.ridge, width=width))
    return parts[0] if len(parts) == 1 else Beside(tuple(parts))


def _steered(problem: Problem, settings: Settings, features: int, name: str) -> Policy:
    hard, m = bool(problem.budgets), model(problem, settings, features)
    if settings.name == "pgd":
        policy = pgd(problem, m, gamma=settings.gamma, margin=settings.margin, warmup=settings.warmup, hard=hard)
    else:
        policy = pgd_adaptive(problem, m, margin=settings.margin, warmup=settings.warmup, hard=hard)
    return replace(policy, name=f"{settings.name}, {name}")
