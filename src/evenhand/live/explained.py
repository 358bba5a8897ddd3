"""A decision, explained at the state in which it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evenhand.live.recalling import recall
from evenhand.live.why import Why, named
from evenhand.live.worker import Worker
from evenhand.models import NullModel
from evenhand.policy.reasons import expected, reasons


class Explained(NamedTuple):
    """What a policy says of a decision that it made."""

    text: str  # prices, worths and limits, as `Policy.explain` says them
    why: Why | None  # the features that made the play worth more; None where the model cannot say
    expected: Mapping[str, Mapping[str, float]]  # outcomes by action; only known ones where nothing is learned


def explained(worker: Worker, decision: int) -> Explained:
    """Explain a decision.

    Raises:
        Unknown, Conflict: as for `recall`.
    """
    fold, context, made = recall(worker, decision)
    policy, problem = fold.policy, fold.policy.problem
    why = named(reasons(policy, fold.state, context, made), problem.actions, fold.encoder)
    names = problem.known if isinstance(policy.model, NullModel) else problem.names
    values = expected(policy, fold.state, context)[:, len(problem.names) - len(names) :].tolist()
    outcomes = {action: dict(zip(names, row, strict=True)) for action, row in zip(problem.actions, values, strict=True)}
    return Explained(policy.explain(fold.state, context, made), why, outcomes)
