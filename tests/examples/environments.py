"""An example of every environment."""

from dataclasses import replace

import numpy as np

from evenhand import environments as e
from evenhand.environments.logged import blocks
from evenhand.objectives import GeneralizedGini, Linear as LinearObjective, WeightedSum
from evenhand.problem import Budget, Floor, Parity
from evenhand.welfare import Power
from tests.examples.problems import COURT, EVERYTHING, LITTLE
from tests.worlds import Market


def _log(problem, rows, seed, **options):
    """Rows whose actions were drawn with the propensities that are noted, and outcomes all over their ranges."""
    rng = np.random.default_rng(seed)
    a = len(problem.actions)
    chance = rng.dirichlet(np.full(a, 2.0)) if options.pop("uneven", False) else np.full(a, 1 / a)
    actions = rng.choice(a, rows, p=chance)
    sizes = np.array([len(g.names) for g in problem.groups])
    return e.Logged(
        problem=problem,
        units=rng.normal(size=(rows, 2)),
        layout=blocks(a, 2),
        actions=actions,
        propensities=chance[actions],
        outcomes=problem.low + (problem.high - problem.low) * rng.random((rows, len(problem.learned))),
        groups=np.cumsum(sizes) - sizes + (rng.random((rows, len(sizes))) * sizes).astype(np.int64),
        **options,
    )


LOG = _log(EVERYTHING, 400, 1)
UNEVEN_LOG = _log(EVERYTHING, 300, 2, uneven=True, shuffles=3)

AUDIENCE = e.Audience(
    users=np.array([[0.9, 0.0], [0.2, 0.7], [0.3, 0.3]]),
    items=np.array([[1.0, 0.1], [0.1, 1.0], [0.5, 0.5], [0.2, 0.1]]),
    names=("song", "film", "book", "play"),
)
AUDIENCES = [AUDIENCE, e.Listeners(users=4, items=6, factors=2), e.LastFM(path="data")]
OFFERS = [
    e.Phases(np.array([[True, True, False, True], [False, True, False, False]]), length=3),
    e.Absences(0.4, length=2),
]
# Four songs, films, books and plays for three users, ranked in three places.
RANKING = e.Ranking(audience=AUDIENCE, horizon=60, slots=3, labels={"song": "a", "film": "a", "book": "b", "play": "b"})
SPREAD = replace(
    RANKING,
    maximize=WeightedSum(
        ((1.0, LinearObjective({"click": 1.0})), (0.5, GeneralizedGini.difference(RANKING.exposures)))
    ),
)
BOUND = replace(
    SPREAD,
    fees={"song": 1.0, "book": 0.5},
    subject_to=(
        Floor("exposure", rate=0.7, by="label"),
        Parity("click", by="label", tolerance=0.2),
        Budget("fee", rate=0.8),
    ),
    offers=OFFERS[1],
)
PRODUCTS = replace(BOUND, flat=True, fee_per="placement")
MATCHED = e.Matching(
    users=5,
    arms=3,
    curve=Power(0.5),
    horizon=60,
    costs=(0.0, 0.5, 1.0),
    groups={"near": 0.4, "far": 0.6},
    shifts_by_group={"far": -1.0},
    eligible=0.8,
    subject_to=(Budget("cost", rate=2.0), Parity("match", by="group", tolerance=0.3)),
)

ENVIRONMENTS = [
    e.PackingCovering(horizon=40),
    e.PackingCovering(arms=2, costs=1, goods=3, instance=3, slack=0.5, horizon=40),
    e.Hours(horizon=48),
    e.Hours(hours=((0.2, 0.5, 0.3),), rate=0.5, horizon=40),
    RANKING,
    PRODUCTS,
    e.Ranking(audience=AUDIENCE, horizon=60, slots=4, fees={"film": 2.0}, users=(1.0, 3.0, 2.0), flat=True),
    *(e.Ranking(audience=AUDIENCE, horizon=60, slots=2, offers=offers, position=(1.0, 0.5)) for offers in OFFERS),
    e.Ranking(audience=AUDIENCES[1].audience, horizon=60, slots=5),
    e.Ranking(audience=e.Audience(users=np.ones((2, 1)), items=np.ones((1, 1))), horizon=20, slots=1),
    e.AudienceMatching(audience=AUDIENCES[1].audience, users=4, arms=3, horizon=30, costs=(1.0, 0.0, 0.5)),
    e.Matching(users=5, arms=3, horizon=40),
    e.Matching(users=4, arms=2, n_features=3, horizon=30, link="poisson", popularity=0.2, drift=0.8, turns=3),
    e.Matching(
        users=3,
        arms=4,
        horizon=30,
        link="identity",
        redraw=False,
        eligible=0.4,
        costs=(0.0, 0.5, 1.0, 2.0),
        groups={"near": 0.4, "far": 0.6},
        shifts_by_group={"far": -1.0},
        subject_to=(Budget("cost", rate=2.0), Parity("match", by="group", tolerance=0.3)),
    ),
    COURT,
    e.Court(horizon=50, ride=0.2),
    e.FixedContexts(arms=3, dimension=6, horizon=100),
    e.FixedContexts(arms=51, dimension=52, horizon=40, null_arm=True, noise=0.5),
    e.Delayed(COURT, delay=0),
    e.Delayed(COURT, delay=7),
    e.Delayed(MATCHED, delay=(1, 6)),
    e.Delayed(Market(problem=EVERYTHING, offered=0.7), delay=(0, 3)),
    e.Delayed(Market(problem=EVERYTHING, offered=0.7), delay=3),
    Market(problem=EVERYTHING),
    Market(problem=LITTLE),
    e.BernoulliKnapsacks(arms=3, resources=2, horizon=80),
    e.Routing(types=2, routes=2, edges=3, horizon=80),
    e.Requests(types=2, edges=5, horizon=80),
    e.Requests(types=3, edges=4, outcomes="edges", horizon=80),
    e.Sensors(sensors=3, points=4, horizon=80),
    e.Sensors(sensors=3, points=4, outcomes="points", horizon=80),
    e.PayPerClick(ads=2, demographics=2, campaigns=2, traits=1, horizon=80),
    e.PayPerClick(ads=3, demographics=2, campaigns=3, traits=1, families=5, horizon=80),
    e.MixedArms(horizon=80),
    e.MixedContexts(horizon=80),
    e.Lessons(horizon=80),
    e.Lessons(horizon=30, constrained=False),
    e.Lessons(horizon=30, parity=False),
    e.MultiObjective(arms=3, n_outcomes=2, n_features=2, horizon=60),
    e.MultiObjective(arms=1, n_outcomes=1, horizon=20, noise=0.0),
    LOG,
    UNEVEN_LOG,
    e.WithoutContexts(e.FixedContexts(arms=4, dimension=6, horizon=40, null_arm=True)),
    e.WithoutContexts(e.Delayed(Market(problem=EVERYTHING, offered=0.7), delay=3)),
    e.WithoutContexts(UNEVEN_LOG),
]
