"""A state that grows by appended actions."""

from __future__ import annotations

import copy
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Goal, Remembers
from evenhand.models.base import Model, by_action
from evenhand.models.per_action import sized, take_over
from evenhand.planning.appended import Appended
from evenhand.policy import saving
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem


class Grown(Protocol):
    """A policy."""

    @property
    def problem(self) -> Problem: ...

    @property
    def model(self) -> Model: ...

    @property
    def goals(self) -> tuple[Goal, ...]: ...


def appends(new: Grown, old: Grown) -> bool:
    """Return whether a policy has more actions than another one."""
    return len(new.problem.actions) > len(old.problem.actions)


def refuse_other_models(new: Grown, old: Grown) -> None:
    """Refuse a model that does not fit a state, or whose actions are not the state's followed by appended ones."""
    count, model = len(old.problem.actions), new.model
    if appends(new, old):
        named, blocks = len(old.problem.features) > 0, old.model.n_features == count * old.problem.n_features
        if named and blocks and count > 1 and by_action(old.model) is None:
            expected = "PerAction.of(problem), or one whose coefficients actions share, where actions are appended"
            raise InvalidInput("adopt: model", expected, f"{old.model!r}, which has a block of features per action")
        model = sized(new.model, count)
    if saving.fingerprint(old.model) != saving.fingerprint(model):
        expected = f"{old.model!r}, of which the state is"
        raise InvalidInput("adopt: model", expected + ", for more actions" * appends(new, old), repr(new.model))


def carries(new: Grown, old: Grown) -> bool:
    """Return whether decisions that wait can be settled in an adopted state, as the model reads their features."""
    return new.model.n_features == old.model.n_features


def refuse_waiting(new: Grown, old: Grown, state: PolicyState) -> None:
    """Refuse an appended action if features of waiting decisions cannot be read by a model of more actions."""
    waiting = state.receipts.waiting()
    if not carries(new, old) and len(waiting):
        expected = "no decision that waits for its outcome, as the model has a feature per action"
        raise InvalidInput("adopt: state", expected, f"{len(waiting)} of them")


def grow(new: Grown, old: Grown, fresh: PolicyState, state: PolicyState) -> None:
    """Copy the model from a state of fewer actions, and append the new actions to the contexts that goals keep."""
    take_over(fresh.model, copy.deepcopy(state.model), len(state.t))
    for sums, of_fewer in zip(fresh.waiting.sums, state.waiting.sums, strict=True):
        take_over(sums, of_fewer, len(state.t))
    before, problem = len(old.problem.actions), new.problem
    appended = Appended(
        before=before,
        numbered=by_action(new.model) is not None,
        blocks=new.model.n_features != old.model.n_features,
        reads=new.model.n_features > 0,
        known=problem.declared[before:],
        divided=problem.by_action if problem.groups else np.zeros(0, bool),
        groups=problem.action_groups[before:],
    )
    for goal, sums in zip(new.goals, fresh.goals, strict=True):
        if isinstance(goal, Remembers):
            goal.append(sums, appended)
