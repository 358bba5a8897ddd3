"""What a policy and its state show of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.faces import clipped, count, few, settings
from evenhand.problem import face

if TYPE_CHECKING:  # the modules of the last two import this one
    from evenhand.models.base import Model
    from evenhand.policy.policy import Policy
    from evenhand.policy.state import PolicyState


def title(policy: Policy) -> str:
    """The name of a policy."""
    return f"Policy {policy.name!r}"


def rows(policy: Policy) -> list[tuple[str, str]]:
    """The parts of a policy, and its problem."""
    model, choice = policy.model, policy.choice
    sizes = f"{count(model.n_features, 'feature')}, {count(model.n_outcomes, 'learned outcome')}"
    width = getattr(model, "width", None) or getattr(getattr(model, "inner", None), "width", None)
    sizes += f", width {settings(width)}" if width is not None else ""
    goals = [settings(goal) for goal in policy.goals]
    return [
        ("model", f"{model_name(model)} ({sizes})"),
        *zip(("goals", *("",) * len(goals)), goals, strict=False),
        ("choice", clipped(repr(choice))),
        ("problem", face.title(policy.problem).removeprefix("Problem: ")),
        *(row for row in face.rows(policy.problem) if row[0] in ("maximize", "subject to")),
    ]


def model_name(model: Model) -> str:
    """The kind of a model, and of those inside of it."""
    inside = getattr(model, "parts", ()) or filter(None, [getattr(model, "inner", None)])
    names = ", ".join(map(model_name, inside))
    return type(model).__name__ + (f" of {names}" if names else "")


def state_title(state: PolicyState) -> str:
    """Of which replicas a state is."""
    return f"PolicyState: {count(len(state.t), 'replica')}, seed {state.seed}"


def state_rows(state: PolicyState) -> list[tuple[str, str]]:
    """How far the replicas of a state are."""
    fewest, most = int(state.t.min()), int(state.t.max())
    done = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    waiting = f"{len(state.receipts.waiting()):,}"
    return [("numbered", few(state.replicas)), ("decided rounds", done), ("outcomes to come", waiting)]
