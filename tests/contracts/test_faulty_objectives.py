"""`check_objective` catches an objective that breaks a promise: one broken promise per row."""

import math

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.objectives import AlphaFair
from evenhand.testing import check_objective
from tests.contracts.faults import Twisted, caught
from tests.rows import for_each

NASH = AlphaFair(("a", "b", "c"), alpha=1.0, offset=0.2)


def intercept(slope):
    """The most of ln(z + offset) - slope z."""
    return (NASH.offset * slope - np.log(slope) - 1.0).sum(-1)


def objective(**members):
    """Nash welfare, with other members."""
    return Twisted(NASH, **({"able": lambda ability: True, "intercept": intercept} | members))


def refuses(z, beta):
    raise InvalidInput("Faulty.prox", "another objective", "this one")


def moves(z):
    z *= 1.5
    return NASH.supergradient(z)


def best(change):
    return {"maximizer": lambda *asked: change(NASH.maximizer(*asked))}


def value(change):
    return {"value": lambda z: change(NASH.value(z), z)}


FAULTS = [
    ({"lipschitz": 0.1}, r"\|f\(y\) - f\(z\)\| <= L"),
    ({"value": lambda z: (z * z).sum(-1), "supergradient": lambda z: 2 * z}, r"f\(y\) <= f\(z\) \+ g"),
    (value(lambda said, z: said + 1e-15 * z.mean()), "a replica has in a batch what it has alone"),
    (value(lambda said, z: said * math.inf), "answers are finite"),
    (value(lambda said, z: said[..., None]), "values and supergradients have shapes"),
    ({"supergradient": moves}, "leaves what it is handed as it is"),
    ({"supergradient": lambda z: 1.01 * NASH.supergradient(z)}, r"f\(y\) <= f\(z\) \+ g"),
    ({"prox": lambda z, beta: NASH.prox(z, 1.02 * beta)}, "the prox is no worse"),
    (best(lambda z: 1.1 * z), "the maximizer is in the unit cube"),
    (best(lambda z: np.clip(0.99 * z, 0, 1)), "the maximizer is no worse"),
    ({"able": lambda ability: ability.__name__ != "Proximal"}, "what is not Proximal, as `able` says, refuses"),
    ({"able": lambda ability: ability.__name__ != "Conjugate"}, "what is not Conjugate, as `able` says, refuses"),
    ({"prox": refuses}, "what is Proximal, as `able` says, answers"),
    ({"intercept": lambda slope: intercept(slope) + 0.01}, r"f\(z\) = g\.z \+ intercept\(g\)"),
]


def test_a_sound_objective_passes():
    check_objective(objective())


@for_each(("members", "promise"), FAULTS, ids=lambda z: z if isinstance(z, str) else "")
def test_a_faulty_objective_is_caught(members, promise):
    caught(check_objective, objective(**members), promise)
