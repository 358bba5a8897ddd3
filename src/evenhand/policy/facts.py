"""What a policy shows of itself."""

from __future__ import annotations

from evenhand.choices.base import Choice
from evenhand.core.faces import clipped, count, kinds, settings
from evenhand.goals.base import Goal
from evenhand.models.base import Model
from evenhand.problem.problem import Problem


def facts(problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice) -> list[tuple[str, str]]:
    """Return the parts, and the facts of the problem that bear on them."""
    sizes = f"{count(model.n_features, 'feature')}, {count(model.n_outcomes, 'learned outcome')}"
    width = getattr(model, "width", None) or getattr(getattr(model, "inner", None), "width", None)
    sizes += f", width {settings(width)}" if width is not None else ""
    each = [settings(goal) for goal in goals]
    return [
        ("model", f"{kinds(model)} ({sizes})"),
        *zip(("goals", *("",) * len(each)), each, strict=False),
        ("choice", clipped(repr(choice))),
        ("problem", problem.size),
        *(fact for fact in problem.facts if fact[0] in ("maximize", "subject to")),
    ]
