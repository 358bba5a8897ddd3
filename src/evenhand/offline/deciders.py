"""Policies from elsewhere: the actions of all rows, by name, and estimators that predict them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.registry import meant
from evenhand.core.types import Floats
from evenhand.offline.evidence import Evidence


@runtime_checkable
class Decider(Protocol):
    """An estimator of scikit-learn, fitted to a data frame, that predicts actions by name."""

    def predict(self, x: Any) -> Any: ...


def decided(field: str, estimator: Decider, evidence: Evidence) -> Floats:
    """Return the action of an estimator in every row, `->(N,A)` with a 1 per row.

    It is asked with a data frame of the columns that it was fitted to, as the log has them. It predicts the names of
    actions, or their values in the log.

    Raises:
        InvalidInput: it was not fitted to a data frame, or to a column that is not a feature of the problem; or it
            predicts something other than an action for every row.
        MissingExtra: pandas is not installed.
    """
    columns = getattr(estimator, "feature_names_in_", None)
    if columns is None:
        got = f"{type(estimator).__name__} without names of features"
        raise InvalidInput(field, "an estimator that was fitted to a data frame", got)
    for column in columns:
        if column not in evidence.columns:
            expected = f"an estimator of features of {evidence.problem_file}, {list(evidence.columns)}"
            raise InvalidInput(field, expected, f"{column}{meant(column, evidence.columns)}")
    return chosen(field, estimator.predict(data_frame({str(c): evidence.columns[c] for c in columns})), evidence)


def chosen(field: str, actions: object, evidence: Evidence) -> Floats:
    """Return an action for every row, by name or by its value in the log, as a lottery, `->(N,A)` with a 1 per row.

    Raises:
        InvalidInput: other names, or another number of them.
    """
    found = np.asarray(actions)
    if found.shape != (evidence.rows,):
        raise InvalidInput(field, f"an action for each of {evidence.rows:,} rows", f"shape {found.shape}")
    values, places = np.unique(found.astype(str), return_inverse=True)
    return np.asarray(np.eye(len(evidence.names))[[_action(field, v, evidence) for v in values.tolist()]][places])


def _action(field: str, value: str, evidence: Evidence) -> int:
    logged = {} if evidence.spec is None else evidence.spec.actions
    name = value if value in evidence.names else logged.get(value, value)
    if name not in evidence.names:
        got = f"{value}{meant(value, evidence.names)}"
        raise InvalidInput(field, f"actions, {list(evidence.names)}, or their values in the log", got)
    return evidence.names.index(name)
