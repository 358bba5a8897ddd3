"""Every exported part has an example in `tests/examples/`, and every example keeps the contract of its kind."""

import importlib
import inspect
import math
import typing

import numpy as np
import pytest

from evenhand import choices, environments, goals, models, objectives, recipes, sets, welfare
from evenhand.core.catalogue import KINDS, catalogue
from evenhand.core.errors import InvalidInput
from evenhand.live.dashboard import sections
from evenhand.live.stores.opening import kinds
from evenhand.offline import estimators
from evenhand.problem import Within, constraints
from evenhand.testing import (
    check_allocation,
    check_choice,
    check_constraint,
    check_environment,
    check_estimator,
    check_goal,
    check_model,
    check_objective,
    check_policy,
    check_set,
)
from tests.contracts import parts
from tests.examples.constraints import CONSTRAINTS, ONE_EACH, bazaar
from tests.examples.estimators import ESTIMATORS
from tests.examples.oracles import CURVES, ORACLES
from tests.examples.problems import EVERYTHING
from tests.examples.sections import SECTIONS
from tests.examples.sets import PLAIN_SETS, ROUND_SETS, SETS
from tests.examples.stores import STORES
from tests.rows import for_each

SHOWN_SETS = [*(build(1.0, 1.0) for build in SETS.values()), *(build(1.0) for build in ROUND_SETS.values())]
SHOWN_CONSTRAINTS = list(dict.fromkeys(c for build in CONSTRAINTS.values() for c in build(ONE_EACH)))


def within(shown):
    """A constraint to a set of two coordinates."""
    return Within(("hours", "cents"), shown)


EXAMPLES = {
    models: [*parts.MODELS, *parts.WIDTHS, *parts.EXPERTS, *parts.PRIORS],
    goals: [*(goal for goal, _ in parts.GOALS), *parts.STEPS, *parts.MIRRORS],
    choices: [*parts.CHOICES, *parts.ALLOCATIONS, *parts.RATES],
    environments: [*parts.ENVIRONMENTS, *parts.OFFERS, *parts.AUDIENCES],
    estimators: ESTIMATORS,
    objectives: [*parts.OBJECTIVES, *parts.WRITTEN, *parts.SMOOTHINGS],
    constraints: SHOWN_CONSTRAINTS,
    sets: [*SHOWN_SETS, *PLAIN_SETS],
    welfare: [*(oracle for oracle, _, _ in ORACLES.values()), *CURVES.values()],
}
# Kinds that are no classes: what there is, and what has an example.
NAMED = {
    "recipes": (recipes.__all__, parts.RECIPES),
    "stores": (kinds(), STORES),
    "sections": ([show.__name__ for show in sections.SECTIONS], SECTIONS),
}


def is_part(thing):
    """Contracts, records and names of types are no parts, and neither are parts of parts."""
    if not inspect.isclass(thing) or getattr(thing, "_is_protocol", False) or issubclass(thing, tuple):
        return False
    return not thing.__module__.startswith("evenhand.welfare") or hasattr(thing, "allocate") or hasattr(thing, "curves")


@pytest.mark.parametrize("package", EXAMPLES, ids=lambda p: p.__name__)
def test_every_exported_part_has_an_example(package):
    shown = {type(example) for example in EXAMPLES[package]}
    exported = {name: getattr(package, name) for name in package.__all__}
    parts_exported = {name for name, thing in exported.items() if is_part(thing)}
    missing = sorted(name for name in parts_exported if exported[name] not in shown)
    assert not missing, f"add an example of {missing} to tests/examples, in the file that CONTRIBUTING.md names"
    others = [t for n, t in exported.items() if n not in parts_exported and not inspect.isclass(t)]
    others = [t for t in others if not inspect.isfunction(t)]  # such as `advised`
    assert all(typing.get_origin(t) is not None for t in others)  # such as Estimate


@pytest.mark.parametrize("kind", NAMED)
def test_every_recipe_store_and_section_has_an_example(kind):
    there, shown = NAMED[kind]
    missing, gone = (sorted(set(a) - set(b)) for a, b in ((there, shown), (shown, there)))
    assert not missing, f"add an example of {missing} to tests/examples/{kind}.py"
    assert not gone, f"{gone} of tests/examples/{kind}.py are not there: export them, or remove their examples"
    assert len(shown) == len(there)


@for_each("system", catalogue(), ids=lambda s: f"{s.id}-{s.name}")
def test_every_named_system_is_exported(system):
    homes = [place for place, kind in KINDS.items() if kind == system.kind]
    if system.kind not in ("benchmark", "experiment"):
        assert any(system.name in importlib.import_module(home).__all__ for home in homes)


def by_class(examples):
    """Examples as arguments of a test, by their classes."""
    found = {}
    for example in examples:
        found.setdefault(type(example), []).append((example,))
    return found


def first_of_each(groups):
    """Arguments of a test in groups by name, of which `make test` has the first ones."""
    return [
        pytest.param(*each, marks=[pytest.mark.slow] if i else [])
        for group in groups.values()
        for i, each in enumerate(group)
    ]


@pytest.mark.parametrize("model", first_of_each(by_class([*parts.MODELS, *parts.MORE_MODELS])), ids=repr)
def test_models_keep_their_contract(model):
    check_model(model, features=parts.takes(model))


@pytest.mark.parametrize(("goal", "problem"), parts.GOALS, ids=lambda z: type(z).__name__)
@pytest.mark.parametrize("plays", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_goals_keep_their_contract(goal, problem, plays):
    check_goal(goal, problem, plays=plays)


@pytest.mark.parametrize("choice", first_of_each(by_class(parts.CHOICES)), ids=repr)
def test_choices_keep_their_contract(choice):
    check_choice(choice, candidates=4)


@pytest.mark.parametrize("candidates", [2, 7])
@pytest.mark.parametrize("choice", parts.CHOICES, ids=repr)
def test_choices_keep_their_contract_with_few_and_many_candidates_or_refuse_them(choice, candidates):
    if choice not in parts.FOR_FOUR:
        check_choice(choice, candidates=candidates)
    else:
        with pytest.raises(InvalidInput, match=rf"\b{candidates}\b.*, got"):
            check_choice(choice, candidates=candidates)


@pytest.mark.slow
@pytest.mark.parametrize("choice", parts.ALLOCATIONS, ids=repr)
def test_allocations_keep_their_contract(choice):
    check_allocation(choice, arms=choice.arms, capacity=choice.capacity, may_stay=choice.may_stay)


@pytest.mark.parametrize("objective", [*parts.OBJECTIVES, *parts.SUMS], ids=repr)
def test_objectives_keep_their_contract(objective):
    check_objective(objective)
    check_objective(objective, beta=1e-3)


@pytest.mark.parametrize("objective", parts.WRITTEN, ids=repr)
def test_objectives_of_a_user_keep_their_contract_as_well_as_the_solver_can(objective):
    check_objective(objective, tolerance=1e-4)


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [*((c, bazaar(constraints=(c,))) for c in SHOWN_CONSTRAINTS), *((c, EVERYTHING) for c in EVERYTHING.subject_to)],
    ids=lambda z: repr(z) if hasattr(z, "label") else z.actions[0],
)
def test_constraints_keep_their_contract(constraint, problem):
    check_constraint(constraint, problem, rounds=0)


@pytest.mark.parametrize("shown", [*SHOWN_SETS, *PLAIN_SETS], ids=repr)
def test_sets_keep_their_contract(shown):
    check_set(shown)


@pytest.mark.parametrize("constraint", [*SHOWN_CONSTRAINTS, *map(within, SHOWN_SETS)], ids=repr)
def test_every_recipe_keeps_constraints_and_sets_or_refuses_them(constraint):
    check_constraint(constraint, bazaar(constraints=(constraint,)))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_keep_their_contract(estimator):
    check_estimator(estimator)


@pytest.mark.parametrize("environment", parts.ENVIRONMENTS, ids=lambda e: type(e).__name__)
def test_environments_keep_their_contract(environment):
    check_environment(environment)


@pytest.mark.parametrize(
    ("policy", "environment"),
    first_of_each(parts.RECIPES),
    ids=lambda z: getattr(z, "name", type(z).__name__),
)
def test_recipes_keep_the_contract_of_a_policy(policy, environment):
    check_policy(policy, environment)


@pytest.mark.parametrize("step", parts.STEPS, ids=repr)
def test_steps_have_one_limit_per_size_and_the_last_is_never_reached(step):
    assert len(step.sizes) == len(step.limits)
    assert step.limits[-1] == math.inf
    assert all(s >= 0 for s in step.sizes)
    assert isinstance(step.reset, bool)


@pytest.mark.parametrize("width", parts.WIDTHS, ids=repr)
def test_widths_give_every_replica_its_own_radius(width):
    count, log_det = np.array([0.0, 1.0, 50.0]), np.array([0.0, 0.7, 9.0])
    radius = width.radius(count, log_det, 0.5)
    assert radius.shape == (3,)
    assert np.isfinite(radius).all()
    assert (np.diff(radius) >= 0).all()  # more data, or more of it spread out, never narrows the set around theta
    for i in range(3):
        assert width.radius(count[i : i + 1], log_det[i : i + 1], 0.5)[0] == radius[i]
