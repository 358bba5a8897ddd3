"""`check_model` catches a model that breaks a promise: one broken promise per row."""

from dataclasses import replace

import numpy as np

from evenhand.models import BayesianRidge, Ridge
from evenhand.testing import check_model
from tests.contracts.faults import Twisted, after, caught
from tests.rows import for_each

INNER = Ridge(n_features=3)
RNG = np.random.default_rng(0)


def value(state, x, w, u):
    """Ridge whose bonus is luck."""
    said = INNER.value(state, x, w, u)
    return said._replace(bonus=said.bonus + u[:, :, None] - 0.5, random=True) if u.shape[1] else said


def says(change):
    """Another answer, made of the answer, the state, the features, the prices and the luck."""
    return {"value": after(value, change)}


def model(**members):
    return Twisted(INNER, **({"value": value, "draws": lambda candidates: 1} | members))


def mean(change):
    return says(lambda said, *args: said._replace(mean=change(said.mean)))


def moved(said, state, *args):
    state.count += 1
    return said


def lucky(said, state, x, w, u):
    return said._replace(mean=said.mean + u[:, :, None]) if u.shape[1] else said


def learns_all(state, x, y, seen, w, lesson=None):
    INNER.update(state, x, y, np.ones_like(seen), w)


def gains(change):
    """What plays add to an inverse, changed."""
    return {"gains": lambda state, x: (change(z) for z in INNER.gains(state, x))}


def reads_inverse(said, state, *args):
    return said._replace(mean=said.mean + state.inverse[:, None, :1, 0])


SURE = says(lambda said, *args: said._replace(random=True))
FAULTS = [
    (says(moved), "`value` leaves the state as it is"),
    (mean(lambda z: z + 1e-15 * z.mean(0)), "in a batch has the values that it has alone"),
    (mean(lambda z: z + 0.1 * np.arange(len(z))[:, None, None]), "in a batch has the values that it has alone"),
    (mean(lambda z: z * np.nan), "the mean is finite"),
    (mean(lambda z: z[:, 0]), "the mean has shape"),
    ({"update": learns_all}, "what was not seen leaves no trace in a model"),
    ({"value": lambda s, x, w, u: value(s, x, w[:, :, :1].copy(), u)}, "a candidate is valued at its own prices"),
    (mean(lambda z: z - z.max(2, keepdims=True)),
     "a candidate is valued at its own prices|a candidate is valued alike among others and alone"),
    (says(lambda said, *args: said._replace(random=False)), "what is not `random` does not depend on luck"),
    (SURE, "without luck on offer nothing is `random`"),
    (SURE | {"draws": lambda candidates: 0}, "`random` needs `draws`"),
    (says(lambda said, *args: said._replace(bonus=said.bonus + RNG.normal())), "the same luck gives the same bonus"),
    (says(lucky), "the mean does not depend on luck"),
    (says(lambda said, *args: tuple(said)), "what `value` returns is of type Worth, not tuple"),
    (says(lambda said, *args: said._replace(bonus=None)), "`bonus` of what `value` returns is an array"),
    (gains(lambda z: z._replace(z=z.z[:, :, 1:])), "gains have n numbers"),
    (gains(lambda z: z._replace(curvature=lambda z: -np.ones(len(z)))), "a curvature is at least 0 in each row"),
    (says(reads_inverse), "means do not read an inverse that `gains` names"),
    ({"draws": lambda candidates: 0.5}, "draws is a whole number of at least 0, not 0.5"),
]  # fmt: skip


def test_a_sound_model_passes():
    check_model(model())


BAYESIAN = BayesianRidge(n_features=3)


def ignores_plays(state, x, w, u):
    """Bonuses that are what is believed before any data, whatever is on its way."""
    own = replace(state, inverse=np.zeros_like(state.inverse)) if state.count.sum() == 0.0 else state
    return BAYESIAN.value(own, x, w, u)


@for_each(
    ("members", "promise"),
    [
        ({"value": ignores_plays}, "bonuses before any data read an inverse that `gains` names"),
        ({"gains": lambda state, x: (z._replace(believed=0.0) for z in BAYESIAN.gains(state, x))},
         "what is believed before any data is above 0"),
    ],
    ids=lambda z: z if isinstance(z, str) else "",
)  # fmt: skip
def test_a_faulty_model_without_a_penalty_is_caught(members, promise):
    check_model(BAYESIAN)
    caught(check_model, Twisted(BAYESIAN, **members), promise)


@for_each(("members", "promise"), FAULTS, ids=lambda z: z if isinstance(z, str) else "")
def test_a_faulty_model_is_caught(members, promise):
    caught(check_model, model(**members), promise)
