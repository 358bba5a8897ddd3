"""Run in another process: load a state and go on. `python -m tests.resume STATE CASE FROM TO` prints what it does."""

import json
import sys

from evenhand.environments import Court
from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Bilinear,
    Logarithmic,
    Logistic,
    Ridge,
    SelfNormalised,
    Stacked,
)
from evenhand.recipes import pgd, pgd_adaptive
from evenhand.run import play
from tests.examples.problems import EVERYTHING
from tests.worlds import Market

LONG = Court(horizon=500)
MARKET = Market(problem=EVERYTHING, offered=0.8)
PERSON = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025))
SHORT = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025), buffer=100)
CASES = {
    "folded": (pgd(LONG.problem, SHORT), LONG),
    "court": (pgd_adaptive(LONG.problem, PERSON, thresholds=(2.0, 2.0, 4.0), hard=True), LONG),
    "ridge": (pgd(EVERYTHING, Ridge(n_features=3, n_outcomes=2, width=SelfNormalised(delta=0.1)), step=0.1), MARKET),
    "bilinear": (
        pgd(EVERYTHING, Bilinear(n_user_features=1, n_item_features=2, n_outcomes=2, width=Logarithmic(0.1)), step=0.1),
        MARKET,
    ),
    "beside": (pgd_adaptive(EVERYTHING, Stacked((Logistic(n_features=3), Ridge(n_features=3)))), MARKET),
    "bayesian": (
        pgd(EVERYTHING, Stacked((BayesianLogistic(n_features=3), BayesianRidge(n_features=3))), step=0.1),
        MARKET,
    ),
}


def go_on(case, state, first, last):
    """Plays, prices and probabilities of steps first to last - 1, from a state that has learned everything before."""
    policy, environment = CASES[case]
    world, told = environment.start(state.seed, state.replicas), []
    for _, _, decision, _, _ in play(policy, state, world, range(first, last)):
        told.append([decision.plays.tolist(), decision.prices.tolist(), decision.propensities.tolist()])
    return told


def main(path, case, first, last):
    json.dump(go_on(case, CASES[case][0].load(path), int(first), int(last)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
