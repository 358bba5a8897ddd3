"""A log as a data frame teaches what its rows teach one by one, and nothing if a row cannot be right."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from tests.policy.test_lessons import SHOP

RNG = np.random.default_rng(7)
LOG = pd.DataFrame(
    {
        "age": RNG.uniform(20, 60, 40),
        "action": RNG.choice(["none", "letter", "call"], 40),
        "answer": np.where(RNG.random(40) < 0.1, np.nan, RNG.random(40) < 0.4),
        "note": "ignored",
    }
)


def made(problem=SHOP):
    return eh.resolving(problem, eh.PerAction.of(problem, eh.BayesianRidge))


def same(one, other):
    for name in ("gram", "moment", "squares", "count", "rounds", "taught"):
        np.testing.assert_array_equal(getattr(one.model, name), getattr(other.model, name))


@pytest.mark.parametrize("weight", [0.05, 1.0])
@pytest.mark.parametrize("form", [lambda f: f, lambda f: f.to_dict("records")])
def test_a_frame_teaches_what_its_rows_teach_one_by_one(form, weight):
    policy = made()
    by_frame, by_row = policy.start(), policy.start()
    policy.learn_from(by_frame, form(LOG), weight=weight)
    for row in LOG.to_dict("records"):
        outcomes = {"answer": None if np.isnan(row["answer"]) else row["answer"]}
        policy.teach(by_row, policy.encode({"age": row["age"]}), row["action"], outcomes, weight=weight)
    same(by_frame, by_row)
    assert LOG["answer"].isna().any()
    assert by_frame.model.taught.sum() > 0
    assert by_frame.t == 0
    assert policy.status(by_frame).rounds == 0


def test_a_row_counts_for_a_twentieth_unless_something_else_is_said():
    policy = made()
    plain, stated = policy.start(), policy.start()
    policy.learn_from(plain, LOG)
    policy.learn_from(stated, LOG, weight=0.05)
    same(plain, stated)
    np.testing.assert_allclose(plain.model.taught.ravel(), 0.05 * LOG["answer"].notna().sum(), rtol=1e-12)


def test_the_column_of_the_action_may_have_another_name_and_missing_values_may_be_those_of_pandas():
    policy = made()
    plain, other = policy.start(), policy.start()
    policy.learn_from(plain, LOG)
    frame = LOG.rename(columns={"action": "sent"}).astype({"answer": "Float64"})
    assert frame["answer"].isna().any()
    policy.learn_from(other, frame, action="sent")
    same(plain, other)


def test_the_log_of_a_campaign_with_dates_needs_no_times():
    problem = eh.Problem(
        actions=SHOP.actions,
        features=SHOP.features,
        outcomes=SHOP.outcomes,
        maximize="answer",
        since="2026-11-01",
        until="2026-11-05",
        traffic=eh.problem.Traffic(100, per="day"),
        subject_to=(eh.Budget("cents", total=16_000),),
    )
    policy = made(problem)
    state = policy.start()
    policy.learn_from(state, LOG)
    assert state.model.count.sum() > 0


def with_row(**values):
    frame = LOG.astype({"answer": object})
    for name, value in values.items():
        frame.loc[3, name] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "more", "message"),
    [
        (LOG.drop(columns="age"), {}, r"^age: expected a column, as the problem names it, got only \["),
        (LOG.drop(columns="action"), {}, r"^action: expected a column"),
        (LOG.drop(columns="answer"), {}, r"^answer: expected a column"),
        (LOG.drop(columns="answer").to_dict("records"), {}, r"^row 0: answer: expected a value"),
        (with_row(action="leter"), {}, r"^row 3: action: expected one of .*did you mean letter"),
        (with_row(action=None), {}, r"^row 3: action: expected one of"),
        (with_row(answer=2.0), {}, r"^row 3: outcome 'answer': expected a finite number in \[0, 1\]"),
        (with_row(answer="yes"), {}, r"^row 3: outcomes\['answer'\]: expected a finite number"),
        (with_row(age=np.nan), {}, r"^row 3: age"),
        (LOG, {"action": "age"}, r"^frame: expected columns of different names .* 'age' for two"),
        (LOG, {"weight": 0.0}, r"^weight: expected a number in \[1e-06, 1e\+06\]"),
        (["age"], {}, r"^row 0: a row: expected a mapping"),
        (7, {}, r"^frame: expected a data frame, or a sequence of cases"),
    ],
)
def test_a_log_that_cannot_be_right_teaches_nothing(frame, more, message):
    policy = made()
    state = policy.start()
    with pytest.raises(InvalidInput, match=message):
        policy.learn_from(state, frame, **more)
    assert state.model.count.sum() == 0.0


def test_several_replicas_and_models_that_cannot_weigh_are_refused():
    policy = made()
    with pytest.raises(InvalidInput, match=r"^state: expected one replica, got 2"):
        policy.learn_from(policy.start(replicas=2), LOG)
    plain = eh.resolving(SHOP, eh.PerAction.of(SHOP, eh.models.Logistic))
    state = plain.start()
    with pytest.raises(InvalidInput, match=r"^model: expected a model that weighs"):
        plain.learn_from(state, LOG)
    plain.learn_from(state, LOG.dropna(), weight=1.0)
