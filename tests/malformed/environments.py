"""Environments that cannot be built."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from evenhand import environments as e
from evenhand.environments.logged import blocks
from evenhand.problem import Groups, Outcome, Problem
from tests.examples.environments import AUDIENCE, AUDIENCES, RANKING
from tests.malformed.tables import changes, each, wrong

NAN, INF = math.nan, math.inf
ONE = np.arange(1)
SIDES = {"groups": {"left": 0.3, "right": 0.7}}
SMALL = e.Matching(users=4, arms=3, n_features=2, horizon=50)
PAIRS = e.AudienceMatching(audience=AUDIENCES[1].audience, users=4, arms=3, horizon=50)
LISTED = Problem(
    actions=("none", "one", "two"), outcomes=(Outcome("gain"),), maximize="gain",
    groups=(Groups("half", ["left", "right"]),), horizon=10,
)  # fmt: skip
LOG = e.Logged(
    problem=LISTED, units=np.ones((4, 1)), layout=blocks(3, 1), actions=np.array([0, 1, 2, 0]),
    propensities=np.full(4, 0.5), outcomes=np.zeros((4, 1)), groups=np.array([[0], [1], [0], [1]]),
)  # fmt: skip
audience = partial(replace, AUDIENCE)
songs, listeners = partial(e.LastFM, path="anywhere"), partial(e.Listeners)
PROBABILITIES = "Ranking.position: expected 3 probabilities in (0, 1]"
COUNT = "expected a whole number of at least"


def column(*values):
    return np.array(values)[:, None]


ROWS = [
    *wrong(e.Court, "Court.{}: ", horizon=("many",), tolerance=(float,)),
    *wrong(e.FixedContexts, "FixedContexts", arms=(0,), dimension=(4,), noise=(-0.1, NAN), orders=(-1,)),
    (lambda: e.FixedContexts(arms=5, dimension=5), "FixedContexts"),
    *wrong(e.MultiObjective, "MultiObjective.noise: expected a finite number of at least 0",
           noise=(-1, -0.1, NAN, INF, "x", None)),
    *wrong(e.MultiObjective, f"MultiObjective.{{}}: {COUNT} 1",
           **dict.fromkeys(("arms", "n_outcomes", "n_features", "horizon"), (0, -1, 2.5, NAN, "x", None))),
    *each(lambda z: e.Hours(hours=((0.2, 0.5, 0.3), z)), "Hours.hours: expected chances of nobody, routine, urgent",
          (NAN,) * 3, (0.5, NAN, 0.5), (INF, -INF, 1.0), (0.5, 0.4, 0.2), (1.1, -0.1, 0.0), (0.5, 0.5), ()),
    *wrong(e.Hours, "Hours.hours: ", hours=((),)),
    *each(partial(e.Delayed, SMALL), f"Delayed.delay: {COUNT}", -1, (3, 2), (-1, 2), (1,), "soon", 1.5, (0, 2.5)),
    *wrong(e.BernoulliKnapsacks, "BernoulliKnapsacks.{}", arms=(0,), scarcity=(0.0,), instance=(-1,)),
    *wrong(e.Routing, "Routing.{}", types=(1,), scarcity=(NAN,)),
    *wrong(e.Sensors, "Sensors.{}", demand=(1.5,), outcomes=("neither",)),
    *wrong(e.PayPerClick, "PayPerClick.{}", mix=(1.0,), risk=(0.0,), families=(-1,)),
    (lambda: e.PayPerClick(families=2, thrift=0.0), "PayPerClick.thrift"),
    *wrong(e.Requests, "Requests.{}", types=(1,), outcomes=("routes",), scarcity=(0.0,)),
    # matching
    *wrong(partial(replace, SMALL), "Matching.{}: ", users=(0,), popularity=(1.2,), eligible=(0.0,), turns=(-1,),
           link=("probit",), costs=((1.0, 2.0),)),
    *wrong(partial(replace, SMALL, popularity=0.5), "Matching.{}: ", drift=(0.6,)),
    *wrong(partial(replace, SMALL, **SIDES), "Matching.{}: ", shifts_by_group=({"top": 1.0}, {"left": INF})),
    *wrong(partial(replace, SMALL), "horizon: ", horizon=(0,)),
    *wrong(partial(replace, PAIRS), "AudienceMatching.{}: ", arms=(7,), users=(0,), costs=((1.0,),),
           audience=(e.Audience(users=np.ones((2, 1)), items=np.ones((3, 2)), liked=np.full((2, 3), 0.5)),)),
    # rankings
    *changes(
        partial(replace, RANKING),
        ({"slots": 5}, "Ranking.slots: expected at most 4, the number of items, got 5"),
        ({"slots": 0}, f"Ranking.slots: {COUNT} 1, got 0"),
        ({"horizon": 0}, "horizon"),
        ({"position": (0.1, 0.5, 0.5)}, "Ranking.position: expected probabilities that never increase"),
        ({"users": (1.0, 2.0)}, "Ranking.users"),
        ({"users": (1.0, 2.0, 0.0)}, "Ranking.users"),
        ({"labels": {"song": "a", "film": "b"}}, "...a group for every action"),
        ({"fees": {"opera": 1.0}}, "...one of the actions"),
        ({"fee_per": "click"}, "...fee_per"),
        ({"maximize": "clicks"}, "...maximize"),
    ),
    *wrong(partial(replace, RANKING), PROBABILITIES,
           position=((1.2, 1.0, 1.0), (1.0, 0.5, 0.0), (1.0, 0.5, NAN), (1.0, 0.5))),
    *wrong(audience, "Audience.{}: expected a matrix", users=(np.ones(3),),
           items=(np.zeros((0, 2)), "songs", np.full((4, 2), NAN))),
    *changes(
        audience,
        ({"items": np.ones((4, 3))}, "...as many factors"),
        ({"items": np.full((4, 2), 2.0)}, "...probabilities in [0, 1]"),
        ({"liked": np.ones((2, 2))}, "...of shape"),
        ({"liked": np.full((3, 4), -0.1)}, "...probabilities in [0, 1]"),
        ({"names": ("a", "b", "c")}, "...3 names"),
        ({"names": ("a", "b", "c", "a")}, "...'a' twice"),
    ),
    (lambda: e.Phases(np.ones((1, 4)), length=3), "...true and false"),
    (lambda: e.Phases(np.array([[False, False]]), length=3), "...at least one item"),
    (lambda: e.Phases(np.ones((2, 4), bool), length=0), "Phases.length"),
    (lambda: e.Absences(1.0, length=3), "Absences.share"),
    (lambda: e.Absences(0.5, length=0), "Absences.length"),
    (lambda: replace(RANKING, offers=e.Phases(np.ones((1, 3), bool), 2)).start(0, ONE).context(0), "...4 items"),
    # data of Last.fm, and their twin
    *changes(
        songs,
        ({"users": 0}, "LastFM.users"),
        ({"users": 1893}, "LastFM.users: ...at most 1,892"),
        ({"items": "3k"}, "LastFM.items: ...'2k'"),
        ({"items": 17_633}, "LastFM.items: ...at most 17,632"),
        ({"items": 1.5}, "LastFM.items"),
        ({"factors": 0}, "LastFM.factors"),
        ({"quantile": 0.0}, "LastFM.quantile"),
        ({"quantile": 1.1}, "LastFM.quantile"),
    ),
    *wrong(listeners, "Listeners.{}: ", users=(0,), items=(0,), factors=(0,)),
    *wrong(listeners, "{}: ", seed=(-1,)),
    # logs
    *changes(
        partial(replace, LOG),
        ({"actions": np.zeros(0, np.int64)}, "Logged.actions: "),
        ({"units": np.ones((3, 1))}, "Logged.units: "),
        ({"units": column(1.0, NAN, 1.0, 1.0)}, "Logged.units[1, 0]: "),
        ({"units": column(1.0, 1.0, INF, 1.0)}, "Logged.units[2, 0]: "),
        ({"layout": blocks(2, 1)}, "Logged.layout: "),
        ({"layout": blocks(3, 1) + 1}, "Logged.layout[0, 0]: "),
        ({"actions": np.array([0, 1, 3, 0])}, "Logged.actions[2]: "),
        ({"actions": np.array([0, -1, 2, 0])}, "Logged.actions[1]: "),
        ({"propensities": np.array([0.5, 0.0, 0.5, 0.5])}, "Logged.propensities[1]: "),
        ({"propensities": np.array([0.5, 0.5, 1.5, 0.5])}, "Logged.propensities[2]: "),
        ({"propensities": np.array([0.5, NAN, 0.5, 0.5])}, "Logged.propensities[1]: "),
        ({"propensities": np.full((4, 1), 0.5)}, "Logged.propensities: "),
        ({"outcomes": np.zeros((4, 2))}, "Logged.outcomes: "),
        ({"outcomes": np.full((4, 1), 1.5)}, "Logged.outcomes[0, 0]: "),
        ({"outcomes": np.full((4, 1), NAN)}, "Logged.outcomes[0, 0]: "),
        ({"groups": np.zeros((4, 0), np.int64)}, "Logged.groups: "),
        ({"groups": column(0, 2, 0, 1)}, "Logged.groups[1, 0]: "),
        ({"orders": 0}, f"Logged.orders: {COUNT} 1, got 0"),
    ),
]  # fmt: skip
