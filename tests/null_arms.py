"""What an arm that does nothing changes in `FixedContexts`: the last table of docs/square-cbwk.md.

`python -m tests.null_arms [REPLICAS [ROUNDS]]` prints it.
"""

import sys
from collections.abc import Callable

from evenhand.environments import FixedContexts
from evenhand.experiments.square_cbwk.study import OPT, OUTCOMES, gradient, newton
from evenhand.models import BayesianRidge
from evenhand.policy.policy import Policy
from evenhand.recipes import resolving
from evenhand.report.summary import standard_error
from evenhand.run import simulate
from tests.tables import head, row

SYSTEMS: dict[str, Callable[[FixedContexts], Policy]] = {
    "resolving": lambda w: resolving(w.problem, BayesianRidge(n_features=w.n_features, n_outcomes=OUTCOMES)),
    "newton": lambda w: newton(w, "row", "newton"),
    "gradient": lambda w: gradient(w, "row", "gradient"),
}


def main(replicas: int = 10, rounds: int = 2000) -> None:
    """Print the regret against half a unit a round, in ten orders of the arms."""
    points = (52, rounds), (5, 6 * rounds)
    head("regret (standard error)", *(f"m = {m}, T = {horizon}" for m, horizon in points))
    for name, made in SYSTEMS.items():
        for null_arm, said in ((True, "with a null arm"), (False, "without")):
            cells = []
            for m, horizon in points:
                world = FixedContexts(dimension=m, arms=3, horizon=horizon, orders=10, null_arm=null_arm)
                trace = simulate(made(world), world, replicas=replicas, progress=False)
                regret = OPT * horizon - trace.objective()[-1] * trace.elapsed[-1]
                cells.append(f"{regret.mean():.1f} ({standard_error(regret):.1f})")
            row(f"{name}, {said}", *cells)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
