"""What tests of rankings share: a small world, a model, and decisions by hand."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from evenhand.core.records import Decision
from evenhand.environments import Absences
from evenhand.models import Bilinear, SelfNormalised
from evenhand.problem.constraints import constraint_rows
from tests.examples.environments import RANKING

SMALL = RANKING
TASTES = Bilinear(n_user_features=2, n_item_features=2, ridge=0.1, width=SelfNormalised(delta=0.1))


def absent(world):
    """The same, with items that come and go."""
    return replace(world, offers=Absences(0.4, length=2))


def decision(plays, counted=None, forced=None):
    """What a choice looks at: plays, and whether they count and were forced."""
    plays = np.array(plays, np.int64)
    counted = np.ones(len(plays)) if counted is None else np.array(counted, float)
    forced = np.zeros(len(plays)) if forced is None else np.array(forced, float)
    empty = Decision(*([None] * len(Decision._fields)))
    return empty._replace(plays=plays, counted=counted, forced=forced)


def optimum(world):
    """The most clicks per round of any static policy, by a linear program over the chances of item i at place p for u.

    Constraints are those of the problem; what they read is due for an exposure, or for a placement where it is sure.
    """
    problem, b = world.problem, world.looked
    users, (n, m), k = world.shares_of_users, world.audience.chances.shape, world.slots
    count, index = n * m * k, np.arange(n * m * k).reshape(n, m, k)
    seen = (users[:, None, None] * np.ones((1, m, 1))) * b
    per_play = {"click": seen * world.audience.chances[:, :, None]}
    for j, name in enumerate(problem.known):
        due = np.ones(k) if problem.sure[j] else b
        per_play[name] = users[:, None, None] * problem.declared[:, j][None, :, None] * due
    rows, bound = constraint_rows(problem)
    groups = problem.groups_of(np.zeros((1, 0), np.int64))[0]
    amounts = np.zeros((len(bound), n, m, k))
    for j in range(len(bound)):
        inside = (groups == rows.column[j]).any(1)
        share = problem.shares[rows.column[j]] if rows.by_share[j] else 1.0
        factor = rows.always[j] + rows.inside[j] * inside / share
        for weight, name in zip(rows.weights[j], problem.names, strict=True):
            amounts[j] += weight * factor[None, :, None] * per_play[name]
    once, place = np.repeat(np.arange(n * m), k), (index // (m * k) * k + index % k).ravel()
    at_most = vstack([csr_array((np.ones(count), (once, np.arange(count)))), csr_array(amounts.reshape(-1, count))])
    full = csr_array((np.ones(count), (place, np.arange(count))))
    found = linprog(
        -per_play["click"].ravel(), at_most, np.concatenate([np.ones(n * m), bound]), full, np.ones(n * k), (0, 1)
    )
    assert found.status == 0, found.message
    return -found.fun
