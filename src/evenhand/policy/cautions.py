"""Warnings, as sentences, about input that is valid but probably not as intended."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.choices.base import Choice, greedy
from evenhand.core.errors import EvenhandWarning
from evenhand.core.records import Context
from evenhand.core.signatures import value_text
from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.models import NullModel
from evenhand.models.base import Model
from evenhand.policy.state import PolicyState
from evenhand.problem.end import past
from evenhand.problem.problem import Problem


def substitution(name: str, value: object) -> str:
    """Say that a feature has a value that it was not declared to have, so that another one counts in its place.

    >>> substitution("age", 150)
    'age: 150 is out of its range, so the nearest end counts'
    >>> substitution("channel", "fax")
    "channel: 'fax' is none of its levels, so another counts"
    """
    if isinstance(value, str):
        return f"{name}: {value_text(value)} is none of its levels, so another counts"
    return f"{name}: {value_text(value)} is out of its range, so the nearest end counts"


def refunds(problem: Problem, known: Floats) -> dict[str, str]:
    """Say which known outcomes of a budget are below 0, although they were not declared so, `(A,L)->`, by name.

    An outcome is declared so by its `low`, or by one of its declared values.

    >>> from evenhand.environments import Court
    >>> problem = Court().problem
    >>> list(refunds(problem, -problem.declared).values())
    ['ride: -1 is below 0, so a budget gets it back', 'voucher: -1 is below 0, so a budget gets it back']
    """
    lows = {outcome.name: outcome.widest[0] for outcome in problem.outcomes}
    found = dict[str, str]()
    for name in dict.fromkeys(s.outcome for s in problem.stated if s.spends and s.outcome in problem.known):
        column = problem.known.index(str(name))
        least = float(known[:, column].min(initial=0.0))
        if least < 0.0 <= min(lows[str(name)], float(problem.declared[:, column].min())):
            found[str(name)] = f"{name}: {amount(least)} is below 0, so a budget gets it back"
    return found


def horizon_caution(problem: Problem) -> str:
    """Say that a decision comes after the horizon, or after the end of a run that has dates."""
    return f"the horizon of {problem.horizon:,} rounds is over" if problem.until is None else "the run has ended"


def substitutions(case: Mapping[str, object], outside: Sequence[str]) -> dict[str, str]:
    """Say which features of a case have values that count as others, by name."""
    return {name: substitution(name, case[name]) for name in outside}


def warn_of_end(problem: Problem, state: PolicyState, context: Context) -> None:
    """Warn once of a state if the run is over for all its replicas, so that none plays anything."""
    if state.recent.over or not _is_over(problem, state, context):
        return
    state.recent.over = True
    text = f"{horizon_caution(problem)}: nothing is played any longer (policy.late.decide_late goes on)"
    warnings.warn(text, EvenhandWarning, stacklevel=4)


def _is_over(problem: Problem, state: PolicyState, context: Context) -> bool:
    if problem.until is None:
        return bool((state.t >= problem.horizon).all())
    return context.time is not None and past(problem, float(context.time.min()))


def never_explores(model: Model, state: object, choice: Choice, x: Floats) -> bool:
    """Return whether a choice plays the best action by a model that adds no bonus, in a state before any data, `(A,n)`.

    Such a policy can lock in: it never plays again what looked bad at first. A model has no bonus if it adds none at a
    price of 1, nor at one of -1, on all outcomes, as a bonus that its range cuts off at one end is left at the other.
    """
    candidates, m = x.shape[1], model.n_outcomes
    if not greedy(choice) or m == 0 or isinstance(model, NullModel) or getattr(model, "selects", False):
        return False
    if model.draws(candidates) or (x == x[:, :1]).all():  # candidates that are all the same are another matter
        return False
    x, none = np.ascontiguousarray(x), np.zeros((len(x), 0))
    return not any(model.value(state, x, np.full((len(x), 1, 1, m), price), none).bonus.any() for price in (1.0, -1.0))


def warn_of_greed(model: Model, state: object, choice: Choice, x: Floats) -> None:
    """Warn of a policy that never explores, before any data, `(A,n)`."""
    if never_explores(model, state, choice, x):
        text = (
            f"this policy never explores: {type(model).__name__} adds no width to what it predicts, and the choice "
            "plays what looks best, so an action that was unlucky at first may never be played again: give the model a "
            "width, such as width=Fixed(0.3), use a Bayesian model, or a choice that draws, such as InverseGap"
        )
        warnings.warn(text, EvenhandWarning, stacklevel=4)
