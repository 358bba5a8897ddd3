"""The policies that a replay compares: one recipe with all, some and none of the constraints, and a blind one."""

from __future__ import annotations

from dataclasses import replace

from evenhand.models import Fixed, Logistic, Ridge, Stacked
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import pgd, pgd_adaptive, ucb, uniform
from evenhand.replay.spec import Settings

BLIND = "uniform"


def systems(problem: Problem, settings: Settings, n_features: int) -> list[Policy]:
    """The policy under test first, then what it is to be held against; budgets are hard in all that have one.

    >>> from evenhand.environments import Court
    >>> [p.name for p in systems(Court().problem, Settings(), n_features=5)]
    ['pgd, budget and parity', 'pgd, budget alone', 'no constraints', 'uniform']
    """
    free = replace(problem, subject_to=())
    found = []
    if settings.name != BLIND and problem.subject_to:
        parities = len(problem.subject_to) - len(problem.spending)
        if parities and problem.spending:
            found.append(_steered(problem, settings, n_features, "budget and parity"))
            alone = replace(problem, subject_to=problem.spending)
            found.append(_steered(alone, settings, n_features, "budget alone"))
        else:
            found.append(_steered(problem, settings, n_features, "parity" if parities else "budget"))
    if settings.name != BLIND:
        policy = ucb(free, model(free, settings, n_features), warmup=settings.warmup)
        found.append(replace(policy, name="no constraints"))
    return [*found, uniform(problem, n_features)]


def model(problem: Problem, settings: Settings, n_features: int) -> Model:
    """One model per learned outcome, whose width is in units of that outcome's range."""
    parts: list[Model] = []
    for low, high in zip(problem.low, problem.high, strict=True):
        width = Fixed(settings.width * float(high - low))
        if settings.model == "logistic":
            parts.append(Logistic(n_features=n_features, ridge=settings.ridge, width=width))
        else:
            parts.append(Ridge(n_features=n_features, ridge=settings.ridge, width=width))
    return parts[0] if len(parts) == 1 else Stacked(tuple(parts))


def _steered(problem: Problem, settings: Settings, n_features: int, name: str) -> Policy:
    hard, m = bool(problem.spending), model(problem, settings, n_features)
    if settings.name == "pgd":
        policy = pgd(problem, m, step=settings.gamma, margin=settings.margin, warmup=settings.warmup, hard=hard)
    else:
        policy = pgd_adaptive(problem, m, margin=settings.margin, warmup=settings.warmup, hard=hard)
    return replace(policy, name=f"{settings.name}, {name}")
