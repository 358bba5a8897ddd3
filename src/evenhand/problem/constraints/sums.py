"""Running sums of a run, of everybody and by group, as constraints read them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.declarations import Declarations


class Sums(Protocol):
    """Running sums of R replicas at G points of a run; a `Trace` has them."""

    @property
    def problem(self) -> Declarations:
        """The problem, which declares the outcomes and groups."""

    @property
    def elapsed(self) -> Floats:
        """Rounds, `->(G,R)`."""

    @property
    def totals(self) -> Floats:
        """Sums of the outcomes in the order of `problem.names`, `->(G,R,M+L)`."""

    @property
    def group_totals(self) -> Floats:
        """Sums by group, in the order of `problem.columns`, `->(G,R,C,M+L)`."""

    @property
    def group_rounds(self) -> Floats:
        """Rounds by group, `->(G,R,C)`."""


def total(run: Sums, name: str) -> Floats:
    """Return the sum of an outcome, or of one over the plays of a group (`Problem.each`), `->(G,R)`."""
    outcome, _, column = run.problem.row(name)
    return run.totals[:, :, outcome] if column < 0 else run.group_totals[:, :, column, outcome]


def average(run: Sums, outcome: str) -> Floats:
    """Return the average of an outcome per round, `->(G,R)`."""
    return np.asarray(run.totals[:, :, run.problem.names.index(outcome)] / np.maximum(run.elapsed, 1.0))


def group_averages(run: Sums, outcome: str, by: str) -> Floats:
    """Return the average of each group: sum c 1{g} / (share_g T), `->(G,R,groups)`; NaN for an unknown share of 0.

    Shares are the declared ones, or the realised ones where none were declared.
    """
    columns = [i for i, (grouping, _) in enumerate(run.problem.columns) if grouping == by]
    rounds = np.maximum(run.elapsed, 1.0)[:, :, None]
    share, cases = run.problem.shares[columns], run.group_rounds[:, :, columns]
    realised = np.where(np.isnan(share), cases / np.maximum(cases.sum(-1, keepdims=True), 1.0), share)
    inside = run.group_totals[:, :, columns, run.problem.names.index(outcome)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(realised > 0, inside / (realised * rounds), np.nan))


def disparity(run: Sums, outcome: str, by: str) -> Floats:
    """Return the average of each group minus everybody's, `->(G,R,groups)`; 0 for a group without cases."""
    groups = group_averages(run, outcome, by)
    return np.asarray(np.where(np.isnan(groups), 0.0, groups) - average(run, outcome)[:, :, None])
