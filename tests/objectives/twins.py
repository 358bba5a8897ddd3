"""Objectives written a second time, with cvxpy, and what cvxpy makes of them."""

import cvxpy as cp
import numpy as np

from evenhand.objectives import AlphaFair, Concave, DistancePenalty, EqualExposure, GeneralizedGini, Linear
from evenhand.sets import Ball

KINDS = AlphaFair, Concave, DistancePenalty, EqualExposure, GeneralizedGini, Linear


def written(objective):
    """Whether an objective, or every part of a sum, is written here."""
    return all(isinstance(part, KINDS) for _, part in getattr(objective, "terms", ((1.0, objective),)))


def expression(objective, z):
    """The objective as an expression of a cvxpy variable."""
    if isinstance(objective, Linear):
        return np.array(list(objective.weights.values())) @ z
    if isinstance(
        objective, GeneralizedGini
    ):  # layer by layer: the sums of the k smallest, weighted by the drop after k
        w = np.array(objective.weights)
        layers = [(w[k] - w[k + 1]) * cp.sum_smallest(z, k + 1) for k in range(len(w) - 1)]
        return w[-1] * cp.sum(z) + sum(layers)
    if isinstance(objective, AlphaFair):
        s, alpha, w = z + objective.offset, objective.alpha, np.array(objective.weights)
        if alpha == 1.0:
            return w @ cp.log(s)
        return (w / (1 - alpha)) @ cp.power(s, 1 - alpha)
    if isinstance(objective, EqualExposure):
        return -cp.norm(z - cp.sum(z) / len(objective.outcomes)) / len(objective.outcomes)
    if isinstance(objective, DistancePenalty) and isinstance(objective.within, Ball):
        return -cp.pos(cp.norm(z - np.array(objective.within.centre)) - objective.within.radius)
    if isinstance(objective, DistancePenalty):  # of what is below bounds
        return -cp.norm(cp.pos(z - np.array(objective.within.high)))
    if isinstance(objective, Concave):
        return objective._build(z)
    index = objective.outcomes.index
    return sum(c * expression(part, z[[index(name) for name in part.outcomes]]) for c, part in objective.terms)


def solve(goal, constraints):
    problem = cp.Problem(cp.Maximize(goal), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value


def prox(objective, z, beta):
    y = cp.Variable(len(z))
    solve(beta * expression(objective, y) - 0.5 * cp.sum_squares(y - z), [])
    return y.value


def conjugate(objective, theta, low=0.0, high=1.0):
    y = cp.Variable(len(theta))
    return solve(theta @ y + expression(objective, y), [y >= low, y <= high])
