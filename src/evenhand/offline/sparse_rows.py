"""Rows of logs whose features are hashed, as sparse matrices of scipy, and ridge regressions on them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.logs.units import Columns, Features, Units
from evenhand.models.sklearn import selects_by_name

_AT_ONCE = 2**16  # rows that are packed at once
_PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)  # in observations of a column whose value is 1
_HELD = 5  # every so manieth row judges a penalty
_EXACT = 1e-8  # of the residuals of what is solved for


class SparseRows:
    """The features of all rows, `(N,d)`, indexed by rows: a sparse matrix of these.

    Args:
        features: that are packed.
        columns: d.
    """

    def __init__(self, features: Features, columns: int) -> None:
        self._features, self.shape = features, (len(features), columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Ints | slice) -> Any:
        return self._whole[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        got = f"{self.shape[1]:,} columns"
        raise InvalidInput("features", "none that are hashed, as every row is read with all of its columns here", got)

    @cached_property
    def exact(self) -> Features:
        """The features that have a column of their own, which are dense."""
        return self._features.exact

    @cached_property
    def _whole(self) -> Any:
        from scipy.sparse import vstack

        starts = range(0, len(self), _AT_ONCE)
        parts = [sparse(self._features[start : start + _AT_ONCE], self.shape[1]) for start in starts]
        return vstack(parts, format="csr")


def read_by_models(features: Any, coding: Units | None) -> Any:
    """Return features as models of outcomes read them: packed rows as sparse ones, and others as they are."""
    if isinstance(features, Features) and coding is not None and coding.packing is not None:
        return SparseRows(features, coding.packing.size.columns)
    return features


def readable(model: object, x: Floats | Features | SparseRows) -> Any:
    """Return the features of rows as a model reads them: by name, as the log has them, where it selects columns."""
    return Columns(x) if isinstance(x, Features) and selects_by_name(model) else x


def is_sparse(x: object) -> bool:
    """Return whether rows are a sparse matrix of scipy, or a sparse array."""
    return hasattr(x, "tocsr")


def sparse(rows: Floats, columns: int) -> Any:
    """Return packed rows as a sparse matrix, `(N,2k)->(N,d)`.

    >>> sparse(np.array([[0.0, 1.0, 2.0, 0.5, 0.0, 0.0]]), 4).toarray().tolist()
    [[1.0, 0.0, 0.5, 0.0]]
    """
    from scipy.sparse import csr_matrix

    index, value = rows[:, ::2], rows[:, 1::2]
    used = value != 0.0
    ends = np.concatenate([[0], used.sum(1).cumsum()])
    return csr_matrix((value[used], index[used].astype(np.int64), ends), shape=(len(rows), columns))


def sparse_ridge(x: Any, y: Floats, weights: Floats | None) -> tuple[Floats, float]:
    """Return the coefficients of a ridge regression, and its penalty, `(N,d),(N),(N)->(d),()`.

    Equation: min_t sum_i w_i (y_i - x_i t)^2 + k |t_2|^2 + ... + k |t_d|^2; the first column is an intercept. k is the
    largest that predicts best of those after which no smaller one does better: every fifth row is predicted by others.
    """
    weights = np.ones(len(y)) if weights is None else weights
    apart = np.arange(len(y)) % _HELD == _HELD - 1
    best, error, found = _PENALTIES[0], np.inf, np.zeros(x.shape[1])
    if apart.any():
        others, held = x[~apart], x[apart]
        for penalty in _PENALTIES:
            found = _solved(others, y[~apart], weights[~apart], penalty, found)
            off = float(weights[apart] @ (y[apart] - held @ found) ** 2)
            if off >= error:
                break
            best, error = penalty, off
    return _solved(x, y, weights, best, np.zeros(x.shape[1])), best


def _solved(x: Any, y: Floats, weights: Floats, penalty: float, start: Floats) -> Floats:
    """Solve the normal equations by conjugate gradients, from a guess, each column in units of its own size."""
    from scipy.sparse.linalg import LinearOperator, cg

    shrunk = np.full(x.shape[1], penalty)
    shrunk[0] = 0.0
    across = x.T.tocsr()
    sizes = np.maximum(x.multiply(x).T @ weights + shrunk, 1e-12)

    def product(t: Floats) -> Floats:
        return np.asarray(across @ (weights * (x @ t)) + shrunk * t)

    shape = (x.shape[1], x.shape[1])
    normal, scaled = (LinearOperator(shape, matvec=f, dtype=float) for f in (product, lambda t: t / sizes))
    found, _ = cg(normal, across @ (weights * y), x0=start, rtol=_EXACT, maxiter=1000, M=scaled)
    return np.asarray(found)
