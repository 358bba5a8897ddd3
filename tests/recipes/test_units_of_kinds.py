"""Every recipe under every kind of constraint, restated in other units, takes the same actions.

Recipes come from the registry (`evenhand.testing.recipes`), with each word that an option may be, constraints and sets
from their examples.
"""

import numpy as np
import pytest
from sklearn import ensemble, tree

from evenhand import recipes
from evenhand.core.errors import EvenhandError
from evenhand.models import GeneralizedLinear, Perturbed, Sklearn
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem, Within
from evenhand.run import play
from evenhand.testing.recipes import N_FEATURES, Bazaar, calls, ridge
from evenhand.welfare import Linear as LinearCurve, Satisfaction
from tests.examples.constraints import CONSTRAINTS, ONE_EACH, ROUNDS, bazaar, two
from tests.examples.sets import ROUND_SETS, SETS

RESTATED = ((1e-6, 1e6, 1e-3, 1e6), (1e6, 1e-6, 1e6, 1e-6), (100.0, 60.0, 1.0, 1e-3))


def within(build):
    """A set of (hours, cents), whose inequalities can be restated in their units."""
    return lambda u, p=1: (Budget("fee", rate=0.3 * u[3] * p), Within(("hours", "cents"), build(p * u[1], p * u[2])))


def around(build):
    """A set of distances, of two outcomes in one unit: hours, and cents per hour."""
    return lambda u, p=1: (Budget("fee", rate=0.3 * u[3] * p), Within(("hours", "cents"), build(p * u[1])))


LATER = ("NeverWorse", "Parity, per day", "Ratio, per day")
CASES_OF = {
    "none": lambda u, p=1: (),
    **{name: make for name, make in CONSTRAINTS.items() if name not in LATER},
    **{name: within(build) for name, build in SETS.items()},
    **{name: around(build) for name, build in ROUND_SETS.items()},
    **{name: CONSTRAINTS[name] for name in LATER},
}
OBJECTIVES = {
    "gain": lambda u: "gain",
    "a sum": lambda u: Linear({"gain": 1.0 / u[0], "hours": -0.5 / u[1]}),
    "Gini": lambda u: GeneralizedGini(("gain", "cents"), (1.0, 0.3)),
    "fair": lambda u: AlphaFair(("gain", "cents"), alpha=1.0),
}
SCALED = {  # what depends on units by the word of its paper
    "two_stage_square_cbwk": "needs costs in [0, 1]"
}


def units(kind, objective, unit):
    """Distances, and functions that are smoothed by distances, need their outcomes in one unit."""
    gain, hours, cents, fee = unit
    if kind in ROUND_SETS:
        cents = hours
    if objective in ("Gini", "fair"):
        gain = cents
    return gain, hours, cents, fee


def acts(call, kind, objective, unit, plays=1):
    unit = units(kind, objective, unit)
    policy = call.make(bazaar(unit, CASES_OF[kind](unit, plays), OBJECTIVES[objective](unit), plays))
    state = policy.start(seed=3, replicas=1)
    world = Bazaar(policy.problem).start(3, state.replicas)
    return np.array([r.decision.plays for r in play(policy, state, world, range(ROUNDS))])


CASES = [(kind, "gain", 1) for kind in CASES_OF] + [(k, o, 1) for k in ("none", "budgets") for o in OBJECTIVES]
CASES += [("budgets", "gain", 2), ("Parity", "Gini", 2), ("Ball", "Gini", 1)]
FEW = [("none", "Gini", 1), ("budgets", "gain", 1), ("Parity", "gain", 1), ("Box", "gain", 1), ("Ball", "gain", 1)]


def compared(call):
    """The cases that a recipe takes, and whether it takes the same actions in other units, which go by turns."""
    word = "," in call.name  # an option of a recipe that goes through all cases without it
    for i, (kind, objective, plays) in enumerate(FEW if word else CASES):
        try:
            plain = acts(call, kind, objective, ONE_EACH, plays)
        except EvenhandError:
            continue
        unit = RESTATED[i % len(RESTATED)]
        yield (kind, objective, plays, unit), np.array_equal(acts(call, kind, objective, unit, plays), plain)


@pytest.mark.parametrize("estimator", ["DecisionTreeRegressor", "ExtraTreesRegressor", "GradientBoostingRegressor"])
def test_units_of_outcomes_change_no_tree(estimator):
    """Splits of equal gain are told apart by rounding, which would differ from unit to unit."""
    kind = getattr(tree if estimator.startswith("Decision") else ensemble, estimator)
    chosen = kind(max_depth=3) if estimator.startswith("Decision") else kind(max_depth=3, n_estimators=5)

    def taken(unit):
        model = Sklearn(estimator=chosen, n_features=N_FEATURES, n_outcomes=3, min_observations=4)
        policy = recipes.resolving(bazaar(unit, two(unit)), model)
        state = policy.start(seed=3, replicas=2)
        world = Bazaar(policy.problem).start(3, state.replicas)
        return np.array([r.decision.plays for r in play(policy, state, world, range(ROUNDS))])

    plain = taken(ONE_EACH)
    for unit in RESTATED:
        np.testing.assert_array_equal(taken(unit), plain)


ALLOCATING = ("cab_ofu", "cab_ts", "cab_ts_parameter", "cab_ucb", "fairx", "max_match", "pgd_allocation")
ALLOCATING += ("random_allocation", "resolving_allocation")


@pytest.mark.parametrize("call", list(calls()), ids=lambda call: call.name)
def test_units_change_no_action(call):
    """Outcomes, budgets, floors and sets times 1e-6 to 1e6, by turns; features are continuous, so that little ties."""
    found = list(compared(call))
    if call.name not in SCALED:
        assert [case for case, same in found if not same] == []
    if call.name in recipes.__all__ and call.name not in (*ALLOCATING, *SCALED):
        assert found  # a recipe that refuses all cases is not tested


@pytest.mark.parametrize(
    ("name", "kind"), [("bwcr", "Intersection"), ("primal_bwc", "Intersection"), ("resolving", "Ball")]
)
def test_all_units_of_sets_on_whose_edge_a_run_stays_change_no_action(name, kind):
    call = next(c for c in calls() if c.name == name)
    plain = acts(call, kind, "gain", ONE_EACH)
    for unit in RESTATED:
        np.testing.assert_array_equal(acts(call, kind, "gain", unit), plain)


def matches(call, gain, cents):
    """Users who share arms, under a budget and parity in two units."""
    pairs = tuple(f"user {i} arm {a}" for i in range(4) for a in range(3))
    spent = Budget("cents", rate=1.2 * cents), Parity("match", by="side", tolerance=0.3 * gain)
    for subject_to in ((), spent):
        stated = Problem(
            actions=pairs,
            outcomes=(Outcome("match", high=gain), Outcome("cents", known=dict.fromkeys(pairs[::2], cents))),
            maximize="match",
            subject_to=subject_to,
            groups=(Groups("side", {"left": 0.5, "right": 0.5}),) if subject_to else (),
            horizon=20,
            n_plays=4,
            measures=(Satisfaction(LinearCurve(), arms=3),),
        )
        try:
            policy = call.make(stated)
        except EvenhandError:
            continue
        state = policy.start(seed=3)
        rounds = play(policy, state, Bazaar(stated).start(3, state.replicas), range(20))
        yield np.array([r.decision.plays for r in rounds])


def drawing(problem):
    """Draws of an identity link, for recipes that need luck of their model."""
    return Perturbed(inner=GeneralizedLinear(n_features=N_FEATURES, link="identity"), n_blocks=4)


@pytest.mark.parametrize("model", [ridge, drawing], ids=["ridge", "drawing"])
def test_units_change_no_allocation(model):
    """A linear r, as another would be stated in units of matches; means of an identity link may be negative."""
    taken = set()
    drawn = [call for call in calls(model) if call.name.startswith("cab")]  # the recipes that ask for draws
    for call in drawn if model is drawing else calls(model):
        plain = list(matches(call, 1.0, 1.0))
        for unit in ((1e-6, 1e6), (1e6, 1e-6)):
            for mine, other in zip(plain, matches(call, *unit), strict=True):
                np.testing.assert_array_equal(other, mine, err_msg=call.name)
                taken.add(call.name.split(",")[0])
    assert taken >= (
        {"cab_ts", "cab_ts_parameter"} if model is drawing else set(ALLOCATING) - {"cab_ts", "cab_ts_parameter"}
    )


def test_every_recipe_that_is_named_here_is_exported():
    assert {*ALLOCATING, *SCALED} <= set(recipes.__all__)
