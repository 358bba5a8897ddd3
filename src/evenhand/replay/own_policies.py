"""Policies of your own in a replay: objects with `select` and `update`, estimators of scikit-learn, and functions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, cast

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import snake
from evenhand.core.row_pairs import Packed, Size
from evenhand.core.signatures import value_text
from evenhand.logs.settings import Settings, width
from evenhand.models import Sklearn
from evenhand.models.base import refuse_dense
from evenhand.models.sklearn import is_estimator
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.run.python_policy import Algorithm, Wrapped

KINDS = (
    "the name of a recipe, an object or a class with `select` and `update`, `Wrapped(make=...)`, an estimator of "
    "scikit-learn, `Sklearn(estimator=...)` with a schedule, or a function of (problem, n_features) that returns a "
    "policy"
)
Own = Annotated[Any, KINDS]
# Of the problem, of what its file says of policies, and of n, or the size of packed rows.
Maker = Callable[[Problem, Settings, Size], Policy]


@dataclass(frozen=True)
class Copies:
    """Makes a copy of an algorithm for every run, which begins as the object was; its luck is its own.

    Raises:
        InvalidInput: the object cannot be copied.
    """

    algorithm: Algorithm

    def __post_init__(self) -> None:
        try:
            copy.deepcopy(self.algorithm)
        except Exception as error:  # whatever its class raises
            expected = "an object that can be copied for every run, or `eh.Wrapped(make=...)`, which makes one"
            raise InvalidInput("policy", expected, f"{type(self.algorithm).__name__}: {error}") from error

    def __call__(self, luck: np.random.Generator) -> Algorithm:
        return copy.deepcopy(self.algorithm)


def own_policy(given: Own) -> Maker:
    """Return what makes a policy of something that is no name of a recipe.

    An estimator becomes the model of the recipe in the problem file, which keeps to the constraints.

    Raises:
        InvalidInput: it is none of the kinds that a replay takes.

    >>> class Never:
    ...     def select(self, context):
    ...         return 0
    ...
    ...     def update(self, context, action, reward):
    ...         pass
    >>> from evenhand.environments import Court
    >>> own_policy(Never())(Court().problem, Settings(), 5).name
    'never'
    """
    if isinstance(given, Wrapped):
        return lambda problem, _, n: given.policy(problem, width(n))
    if callable(getattr(given, "select", None)) and callable(getattr(given, "update", None)):
        named = snake(given.__name__ if isinstance(given, type) else type(given).__name__)
        make = given if isinstance(given, type) else Copies(cast("Algorithm", given))
        return own_policy(Wrapped(make=make, name=named))
    if isinstance(given, Sklearn) or is_estimator(given):
        return partial(_recipe_of, given if isinstance(given, Sklearn) else Sklearn(estimator=given))
    if callable(given) and not isinstance(given, type):
        return lambda problem, _, n: _policy(given(problem, n))
    raise InvalidInput("policy", KINDS, value_text(given))


def check_name(own: Policy, others: Sequence[str]) -> Policy:
    """Return a policy, whose name no other system has.

    Raises:
        InvalidInput: another one has it.
    """
    if own.name in others:
        raise InvalidInput("policy", f"a policy with a name that is none of {list(others)}", own.name)
    return own


def _recipe_of(model: Sklearn, problem: Problem, settings: Settings, n_features: Size) -> Policy:
    if isinstance(n_features, Packed):
        refuse_dense(model, "policy")
    own = replace(model, n_features=width(n_features), n_outcomes=len(problem.learned))
    named = f"{settings.name} with {type(model.estimator).__name__}"
    return replace(settings.build(problem, n_features, own), name=named)


def _policy(found: object) -> Policy:
    if not isinstance(found, Policy):
        raise InvalidInput("policy", "a function of (problem, n_features) that returns a policy", value_text(found))
    return found
