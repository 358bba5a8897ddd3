"""Folds of a log, and predictions of every row by models of the other folds."""

import numpy as np

from evenhand.offline import RidgeByErrors
from evenhand.offline.outcome_models import Asked, fold_models, members_of


def folds_of(rows, folds, seed):
    """The fold of every row, `->(N)`."""
    found = np.empty(rows, np.int64)
    for k, mine in enumerate(members_of(np.arange(rows), folds, seed)):
        found[mine] = k
    return found


def cross_fit(x, actions, y, n_actions, *, fold, model=RidgeByErrors):
    """The outcome of every action in every row, `(N,n),(N),(N)->(N,A)`."""
    members = [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)]
    models = fold_models(Asked(x, actions, y, members, model, np.arange(n_actions)))
    found = np.empty((len(y), n_actions))
    for k, rows in enumerate(members):
        found[rows] = models.of(k)
    return found
