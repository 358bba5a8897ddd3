"""The model to start with, by the outcomes and features that a problem states."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from evenhand.core.row_pairs import CaseRows, Packed, Size
from evenhand.core.validate import whole
from evenhand.models.base import Model
from evenhand.models.bayesian_logistic import BayesianLogistic
from evenhand.models.bayesian_ridge import BayesianRidge
from evenhand.models.diagonal.logistic import DiagonalLogistic
from evenhand.models.diagonal.posterior import WIDE, block_of, is_wide
from evenhand.models.diagonal.ridge import DiagonalRidge
from evenhand.models.own_parts import OwnParts
from evenhand.models.per_action import PerAction
from evenhand.models.stacked import Stacked
from evenhand.models.tabular import NullModel
from evenhand.problem.problem import Problem


def advised(problem: Problem, n_features: Size | None = None) -> Model:
    """Choose a Bayesian model for the learned outcomes of a problem, and the features that it reads.

    =============================  ===================================================================
    learned outcomes               model
    =============================  ===================================================================
    one in [0, 1], such as yes/no  `BayesianLogistic`
    others, or several in [0, 1]   `BayesianRidge`
    some in [0, 1] and some not    `Stacked`: a `BayesianLogistic` for each in [0, 1]
    none                           `NullModel`
    features                       of the model
    named by the problem           own coefficients per action: `PerAction` of each
    described actions              shared, and own ones: a `BayesianRidge` of both (`problem.Actions`)
    many of them                   `OwnParts`, where both are more than 1,000
    not named                      none: one per action, which is 1 for that action and 0 for others
    `n_features`                   as many per candidate, which the caller makes, with shared coefficients
    many levels, or very many      `DiagonalLogistic` and `DiagonalRidge` in place of the first two: packed rows, more
                                   than 1,000 numbers, or more than 300 of fewer than eight features
    =============================  ===================================================================

    Args:
        problem: whose outcomes are to be predicted.
        n_features: how many numbers describe a candidate where the caller makes them, or the size of other rows; by
            default `Policy.encode` makes them.

    Raises:
        InvalidInput: a number of features below 1.

    >>> from evenhand.problem import Numeric, Outcome, Problem
    >>> mail = Problem(actions=("none", "letter"), features=(Numeric("age", 20, 60),),
    ...                outcomes=(Outcome("answer"),), maximize="answer", horizon=100)
    >>> advised(mail) == PerAction(inner=BayesianLogistic(n_features=2), actions=2)
    True
    """
    table, learned = problem.described, len(problem.learned)
    if n_features is None and table is not None and table.is_many(problem.n_features):
        n_features = CaseRows(problem.n_features) if learned else problem.n_features
    if isinstance(n_features, CaseRows):
        if table is None or not learned:
            return NullModel(n_features=1 + n_features.numbers, n_outcomes=learned)
        return OwnParts.of(table, n_features.numbers, learned)
    by_action = bool(problem.features) and not problem.n_described and n_features is None
    packed = problem.packed if by_action else None
    if isinstance(n_features, Packed):
        packed, n_features = n_features, 2 * n_features.pairs
    if n_features is not None:
        whole("n_features", n_features, 1)
    size = n_features or problem.n_described or (problem.n_features if by_action else len(problem.actions))
    wide = is_wide(problem) if by_action else packed is not None or size > WIDE
    parts = tuple(_parts(problem, size, packed, wide))
    if not parts:
        return NullModel(n_features=size, n_outcomes=0)
    if by_action:
        parts = tuple(PerAction(inner=part, actions=len(problem.actions)) for part in parts)
    return parts[0] if len(parts) == 1 else Stacked(parts)


def _parts(problem: Problem, n_features: int, packed: Packed | None, wide: bool) -> Iterator[Model]:
    """Return the models of the learned outcomes, in their order."""
    ranges = [o.widest == (0.0, 1.0) for o in problem.outcomes if o.is_learned]
    if problem.described is not None or (len(ranges) > 1 and all(ranges)):
        ranges = [False] * len(ranges)  # a logistic fit passes over all outcomes of all actions
    block = block_of(problem) if packed == problem.packed else 0
    for yes_or_no, outcomes in groupby(ranges):
        count = len(list(outcomes))
        if wide and yes_or_no:
            yield from [DiagonalLogistic(n_features=n_features, packed=packed, block=block)] * count
        elif wide:
            yield DiagonalRidge(n_features=n_features, n_outcomes=count, packed=packed, block=block)
        elif yes_or_no:
            yield from [BayesianLogistic(n_features=n_features)] * count
        else:
            yield BayesianRidge(n_features=n_features, n_outcomes=count)
