"""What is not ours but can be meant is taken: estimators of scikit-learn where a model is asked for."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Protocol

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.signatures import checked
from evenhand.environments import Court
from evenhand.models import Sklearn
from evenhand.policy import Policy
from evenhand.recipes import pgd, resolving, two_stage_square_cbwk, ucb
from evenhand.run import play, simulate
from tests.examples.choices import CHOICES
from tests.examples.goals import STEPS
from tests.examples.models import MODELS, WIDTHS
from tests.examples.objectives import OBJECTIVES
from tests.rows import for_each

COURT = Court(horizon=60)


@pytest.mark.parametrize("recipe", [pgd, ucb, resolving])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearRegression()], ids=lambda e: type(e).__name__)
def test_an_estimator_is_wrapped_and_decides_as_the_wrapped_one(recipe, estimator):
    runs = [
        simulate(recipe(COURT.problem, model), COURT, replicas=2, seed=1, record="all", progress=False)
        for model in (estimator, Sklearn(estimator=estimator, n_features=5))
    ]
    assert runs[0].finished
    for name in COURT.problem.names:
        np.testing.assert_array_equal(runs[0].total(name), runs[1].total(name))


def test_an_estimator_of_a_policy_is_wrapped():
    made = ucb(COURT.problem, LinearRegression())
    policy = Policy(problem=COURT.problem, model=LinearRegression(), goals=made.goals, choice=made.choice)
    assert isinstance(policy.model, Sklearn)
    assert (policy.model.n_features, policy.model.n_outcomes) == (0, 1)


def test_a_wrapped_estimator_is_saved_and_loaded_with_the_features_that_it_met(tmp_path):
    policy = ucb(COURT.problem, LinearRegression(), warmup=5)
    state, world = policy.start(), COURT.start(0, np.arange(1))
    list(play(policy, state, world, range(30)))
    policy.save(state, tmp_path / "state.npz")
    read = policy.load(tmp_path / "state.npz")
    one, other = (policy.decide(s, world.context(30)) for s in (state, read))
    np.testing.assert_array_equal(one.plays, other.plays)
    context = world.context(30)
    wider = context._replace(features=np.ones((*context.features.shape[:2], 6)))
    with pytest.raises(InvalidInput, match="features"):
        policy.act(state, wider)


def test_an_estimator_is_refused_where_the_number_of_features_is_needed_at_once():
    with pytest.raises(InvalidInput, match=r"^model\.n_features"):
        two_stage_square_cbwk(COURT.problem, LinearRegression(), rate=5.0, explore=3)


EXAMPLES = {type(e): e for e in [*MODELS, *CHOICES, *OBJECTIVES, *WIDTHS, *STEPS] if is_dataclass(e)}


@for_each("kind", EXAMPLES, ids=lambda k: k.__name__)
def test_every_argument_of_every_part_is_checked_by_its_type(kind):
    """A plain object fits no argument, and neither does a number of another kind."""
    for field in (f for f in fields(kind) if f.init):
        for value in (object(), 1j, *([2.5, 10**30] if field.type == "int" else [])):
            with pytest.raises(EvenhandError, match=f"{field.name}|{kind.__name__}"):
                replace(EXAMPLES[kind], **{field.name: value})


class Large:
    """A value whose text takes long."""

    def __repr__(self):
        raise AssertionError("written, although nothing is wrong with it")


def test_a_value_that_fits_is_not_written_for_a_message():
    """Texts of a log, written for the types of a union that it is not, took longer than valuing it."""

    @checked
    def taken(one: str | Large, many: tuple[float | Large, ...], by_name: Mapping[str, int | Large | None]) -> None: ...

    taken(Large(), (2.0, Large()), {"first": Large(), "second": None})


class Square(Protocol):
    def area(self): ...
    def side(self): ...


class Circle(Protocol):
    def area(self): ...
    def radius(self): ...
    def centre(self): ...


class Blob:
    def area(self): ...


def test_of_several_parts_the_error_names_what_the_nearest_one_lacks():
    @checked
    def taken(shape: Circle | Square) -> None: ...

    with pytest.raises(InvalidInput, match=r"^shape: expected a Circle or a Square, got Blob, which has no side$"):
        taken(Blob())
