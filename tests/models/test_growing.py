"""Models whose actions become more, and the states that they take over."""

from functools import partial

import numpy as np
import pytest

from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Bootstrapped,
    Memories,
    PerAction,
    Prior,
    Restarting,
    Ridge,
    Stacked,
    Tabular,
)
from evenhand.models.per_action import resize, take_over
from evenhand.policy.saving import flatten


def inner(**more):
    return BayesianRidge(n_features=2, n_outcomes=2, **more)


MEANS = np.arange(16.0).reshape(4, 2, 2) / 20
MODELS = {
    "ridge that knows its noise": lambda a: PerAction(inner=inner(), actions=a),
    "prior by action": lambda a: PerAction(inner=inner(prior=Prior(mean=MEANS[:a], sd=0.3)), actions=a),
    "logistic": lambda a: PerAction(inner=BayesianLogistic(n_features=2), actions=a),
    "logistic that keeps few": lambda a: PerAction(inner=BayesianLogistic(n_features=2, buffer=8), actions=a),
    "alone": lambda a: PerAction(inner=Ridge(n_features=2, n_outcomes=2), actions=a),
    "stacked": lambda a: Stacked((PerAction(inner=BayesianRidge(n_features=2), actions=a),) * 2),
    "memories": lambda a: Memories(inner=PerAction(inner=inner(), actions=a), half_lives=(20,), every=5),
    "memories of each": lambda a: PerAction(inner=Memories(inner=inner(), half_lives=(20,), every=5), actions=a),
    "restarting": lambda a: Restarting(inner=PerAction(inner=inner(), actions=a), nats=2),
    "copies": lambda a: Bootstrapped(inner=PerAction(inner=inner(), actions=a), members=3),
    "tabular": lambda a: Tabular(arms=a, n_outcomes=2, confidence=1.0),
    "shared": lambda a: BayesianRidge(n_features=3, n_outcomes=2),
}


def learned(model, actions, rounds, state=None, replicas=2, n_actions=3):
    """A state after plays of the first few actions alone, the same whatever the number of actions."""
    m = model.n_outcomes
    state = state or model.start(replicas, np.zeros(m), np.ones(m), 300)
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        plays, case = rng.integers(0, n_actions, replicas), np.stack([np.ones(replicas), rng.random(replicas)], 1)
        y = (rng.random((replicas, 1, m)) < 0.3 + 0.2 * plays[:, None, None]).astype(float)
        x = np.concatenate([plays[:, None], case], 1)[:, None]
        if isinstance(model, Tabular):
            x = np.eye(actions)[plays][:, None]
        model.update(state, x, y, np.ones(y.shape, bool), np.ones((replicas, 1, 1, m)))
    return state


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_grew_is_the_one_that_had_all_actions_from_the_start(name):
    """To rounding, as estimates add up over one action more, and bit for bit where they do not.

    The plays so far are those of the first actions, then those of all of them. Models that have nothing in common
    divide the horizon by the actions, so that they begin with three quarters of it.
    """
    few, more = (MODELS[name](a) for a in (3, 4))
    grown, whole = more.start(2, *ends(more), 300), learned(more, 4, 40)
    started = few.start(2, *ends(few), 225 if name == "memories of each" else 300)
    take_over(grown, learned(few, 3, 40, started), 2)
    exact = name in ("alone", "tabular", "shared")
    same = np.testing.assert_array_equal if exact else partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-10)
    settings = (".horizon", ".ahead")  # of which wrappers and policies set the second one before it is read
    for _ in range(2):
        for (path, z), (_, other) in zip(flatten(grown), flatten(whole), strict=True):
            if not path.endswith(settings):
                same(z, other, err_msg=path)
        x = np.eye(4) if name == "tabular" else np.stack([np.arange(4.0), np.ones(4), np.linspace(0, 1, 4)], 1)
        u = np.full((2, more.draws(4)), 0.3)
        ask = np.stack([x, x]), np.ones((2, 1, 1, more.n_outcomes)), u
        for a, b in zip(more.value(grown, *ask)[:2], more.value(whole, *ask)[:2], strict=True):
            same(a, b)
        for state in (grown, whole):
            learned(more, 4, 30, state, n_actions=4)


def ends(model):
    return np.zeros(model.n_outcomes), np.ones(model.n_outcomes)


def test_a_model_for_fewer_actions_is_the_one_that_a_state_is_of():
    for made in MODELS.values():
        assert repr(resize(made(4), 3)) == repr(made(3))
