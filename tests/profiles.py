"""Budgets per day where cases come at some hours of a day, which the forecast does not say.

`python -m tests.profiles` prints a table of docs/spans.md; replicas and days may follow.
"""

import math
import sys
from contextlib import nullcontext
from datetime import date, timedelta
from unittest.mock import patch

import numpy as np

from evenhand.models import BayesianRidge
from evenhand.planning.pace import Pace
from evenhand.problem import Budget, Traffic
from evenhand.recipes import resolving
from evenhand.run import simulate
from tests.day_worlds import WEEK, Days
from tests.tables import head, mean_and_worst, row

MEAN, ALLOWANCE, SINCE = 300, 36.0, date(2026, 11, 23)  # cases and money a day, from a Monday on
HOURS = {"even": (1,), "morning": (1,) * 5 + (0,) * 19, "evening": (0,) * 19 + (1,) * 5}
WORLDS = {  # the hours of cases, the days of the week, how much days differ beside, and the level that is forecast
    "even": ("even", np.ones(7), 0.0, 1.0),
    "even, forecast 30 % too low": ("even", np.ones(7), 0.0, 0.7),
    "even, forecast 30 % too high": ("even", np.ones(7), 0.0, 1.3),
    "in the first five hours": ("morning", np.ones(7), 0.0, 1.0),
    "in these, forecast 30 % too low": ("morning", np.ones(7), 0.0, 0.7),
    "in these, forecast 30 % too high": ("morning", np.ones(7), 0.0, 1.3),
    "in these, fewer at weekends, days differ by 30 %": ("morning", WEEK, 0.3, 1.0),
}


def times(seed: int, days: int, hours: tuple[float, ...], week: np.ndarray, spread: float = 0.0) -> np.ndarray:
    """Draw the times of cases, whose hours of the day have the given weights."""
    rng, found = np.random.default_rng(seed), []
    for day in range(days):
        luck = np.exp(spread * rng.standard_normal() - spread**2 / 2)
        count = rng.poisson(MEAN * week[day % 7] * luck)
        hour = rng.choice(len(hours), count, p=np.array(hours) / sum(hours))
        found.append(np.sort(day + (hour + rng.random(count)) / len(hours)))
    return np.concatenate(found)


def dated(days: int) -> dict[str, str]:
    return {"since": SINCE.isoformat(), "until": (SINCE + timedelta(days=days)).isoformat()}


def by_day(cases: np.ndarray, days: int, forecast: Traffic) -> np.ndarray:
    """The part of its allowance that a policy uses on each day, and its sales, in every replica, `->(R,days,2)`."""
    budget = Budget("money", total=ALLOWANCE, per="day")
    shop = Days(times=cases, subject_to=(budget,), traffic=forecast, **dated(days))
    policy, replicas = resolving(shop.problem, BayesianRidge(n_features=9, n_outcomes=2)), cases.shape[1]
    trace = simulate(policy, shop, replicas=replicas, record="all", progress=False)
    sales, money = np.nan_to_num(trace.plays.outcomes[: len(cases), :, 0]).transpose(2, 1, 0)
    found = np.zeros((replicas, days, 2))
    for r, day in enumerate(cases.T.astype(int)):
        found[r] = np.array([np.bincount(day, z[r], days) for z in (money / ALLOWANCE, sales)]).T
    assert (found[:, :, 0] <= 1.0 + 1e-9).all()
    return found


def compare(world: str, replicas: int, days: int) -> list[np.ndarray]:
    """Days of a policy that does not learn the profile, of one that does, and of one that knows the hours.

    All replicas have as many cases in all; the day of the last case of the first one that has no more is the last.
    """
    hours, week, spread, level = WORLDS[world]
    drawn = [times(seed, days, HOURS[hours], week, spread) for seed in range(replicas)]
    cases = np.array([z[: min(map(len, drawn))] for z in drawn]).T
    found = []
    for learns, shape in ((False, ()), (True, ()), (True, HOURS[hours])):
        with nullcontext() if learns else patch.object(Pace, "_profile", None):
            forecast = Traffic(level * MEAN, per="day", shape=shape)
            found.append(by_day(cases, days, forecast)[:, : math.ceil(cases[-1].min())])
    return found


def main(replicas: int = 20, days: int = 15) -> None:
    head("cases come", "profile not learned", "learned", "hours stated", "sales / sales with hours stated")
    for world in WORLDS:
        use = compare(world, replicas, days)
        use = [z[:, 2:].mean(1) for z in use]  # from the third day on
        row(world, *(mean_and_worst(z[:, 0]) for z in use), mean_and_worst(use[1][:, 1] / use[2][:, 1]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
