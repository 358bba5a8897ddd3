"""Contexts of a shop with two towns, whose letters and calls cost money and time, as arrays and as tables."""

import numpy as np
import pandas as pd

import evenhand as eh

ACTIONS = ("none", "letter", "call")
TOWNS = ("Bonn", "Köln", "Ulm")


def problem(*constraints, maximize="sale", actions=ACTIONS):
    return eh.Problem(
        actions=actions,
        outcomes=(
            eh.Outcome("sale", free=("none",)),
            eh.Outcome("cents", known={"letter": 80, "call": 200}),
            eh.Outcome("minutes", high=60.0, free=("none",)),
        ),
        maximize=maximize,
        groups=(eh.Groups("town", TOWNS),),
        subject_to=constraints,
        horizon=1000,
    )


BUDGET = eh.Budget("cents", rate=30.0)
TIME = eh.Budget("minutes", rate=0.3)
EVEN = eh.Parity("cents", by="town", tolerance=2.0)
ALL = problem(BUDGET, TIME, EVEN)


def arrays(count, seed=0):
    """What letters and calls bring and how long they take, by context, and the town."""
    luck = np.random.default_rng(seed)
    town = luck.choice(3, count, p=[0.5, 0.3, 0.2])
    sale = luck.beta(1.0, 6.0, (count, 3)) * np.array([0.0, 1.0, 1.7]) * (1.0 + 0.5 * (town == 0))[:, None]
    minutes = luck.gamma(2.0, 1.0, (count, 3)) * np.array([0.0, 0.2, 3.0])
    return {"sale": sale, "minutes": minutes, "town": town}


def table(found, single=False):
    """The same as a data frame."""
    columns = {}
    for outcome in ("sale", "minutes", "cents"):
        if outcome in found:
            columns |= {f"{outcome}_{a}": found[outcome][:, i] for i, a in enumerate(ACTIONS) if a != "none"}
    columns["town"] = np.array(TOWNS)[found["town"]]
    frame = pd.DataFrame(columns)
    return frame.astype({c: "float32" for c in frame if c != "town"}) if single else frame
