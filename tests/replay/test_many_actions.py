"""Logs of many described actions: rows are the number of an action and its case, which `OwnParts` reads."""

import numpy as np

import evenhand as eh
from evenhand.core.row_pairs import CaseRows
from evenhand.logs.log import read_log
from evenhand.logs.settings import systems
from evenhand.problem import descriptions
from evenhand.problem.descriptions import crossed

RNG = np.random.default_rng(0)
TRAITS = dict(zip("abcd", (0.1, 0.2, 0.8, 0.9), strict=True))
LOG = {"model": RNG.choice(list(TRAITS), 160).tolist(), "words": RNG.uniform(0.0, 100.0, 160).tolist()}
LOG["good"] = [float(RNG.random() < TRAITS[m]) for m in LOG["model"]]
PROBLEM = {
    "maximize": "good",
    "horizon": 100,
    "actions": {"rows": {name: {"price": price} for name, price in TRAITS.items()}, "numeric": {"price": [0, 1]}},
    "action": {"column": "model"},
    "features": {"numeric": ["words"], "ranges": {"words": [0, 100]}},
    "propensity": {"constant": 0.25},
    "outcomes": {"good": {}},
    "policy": {"name": "resolving"},
}


def test_a_replay_reads_the_number_of_each_action_and_the_case(monkeypatch):
    monkeypatch.setattr(descriptions, "MANY", 10)
    log = read_log(LOG, PROBLEM)
    assert log.n_features == CaseRows(2)
    policy = systems(log.problem, log.spec.settings, log.n_features)[0]
    world = log.environment().start(0, np.arange(2))
    x = world.context(0).features
    assert x[0, :, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert eh.simulate(policy, log.environment(), replicas=2, seed=1).average("good")[-1].min() > 0.4
    monkeypatch.setattr(descriptions, "MANY", 1000)
    few = read_log(LOG, PROBLEM).environment().start(0, np.arange(2)).context(0).features
    np.testing.assert_allclose(few, crossed(log.problem.described.profiles, x[:, 0, 1:]), atol=1e-15)
