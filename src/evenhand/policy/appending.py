"""A state that grows by appended actions."""

from __future__ import annotations

import copy
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.goals.base import Goal, Remembers
from evenhand.models.base import Model, by_action
from evenhand.models.growing import narrowed, sized, take_over
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
    model = new.model
    if appends(new, old):
        model = sized(model, len(old.problem.actions))
        if widens(new, old):
            model = narrowed(model, old.model.n_features)
    if saving.fingerprint(old.model) != saving.fingerprint(model):
        expected = f"{old.model!r}, of which the state is"
        raise InvalidInput("adopt: model", expected + ", for more actions" * appends(new, old), repr(new.model))


def carries(new: Grown, old: Grown) -> bool:
    """Return whether decisions that wait have the features that the model of an adopted state reads."""
    return new.model.n_features == old.model.n_features


def widens(new: Grown, old: Grown) -> bool:
    """Return whether appended actions have features of their own, such as a block each, which others have as 0."""
    more = appends(new, old) and new.model.n_features > old.model.n_features
    return more and sized(new.model, len(old.problem.actions)).n_features > old.model.n_features


def widened(decision: Decision, features: int) -> Decision:
    """Return a decision with the features of actions that were appended since it was made, which are 0."""
    here = decision.features.shape[-1]
    if here >= features:
        return decision
    return decision._replace(features=np.pad(decision.features, ((0, 0), (0, 0), (0, features - here))))


def refuse_waiting(new: Grown, old: Grown, state: PolicyState) -> None:
    """Refuse an appended action if features of waiting decisions cannot be read by a model of more actions."""
    waiting = state.receipts.waiting()
    if not carries(new, old) and not widens(new, old) and len(waiting):
        expected = "no decision that waits for its outcome, as the model has a feature per action"
        raise InvalidInput("adopt: state", expected, f"{len(waiting)} of them")


def grow(new: Grown, old: Grown, fresh: PolicyState, state: PolicyState) -> None:
    """Copy the model from a state of fewer actions, and append the new actions to the contexts that goals keep."""
    features = old.model.n_features if widens(new, old) else None
    take_over(fresh.model, copy.deepcopy(state.model), len(state.t), features)
    for sums, of_fewer in zip(fresh.waiting.sums, state.waiting.sums, strict=True):
        take_over(sums, of_fewer, len(state.t))
    if features is not None:
        more, here = new.model.n_features - features, copy.deepcopy(state.waiting)
        here.sums, here.features = fresh.waiting.sums, np.pad(here.features, ((0, 0), (0, 0), (0, more)))
        fresh.waiting = here
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
