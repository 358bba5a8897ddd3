"""Policies of described actions: what models read, and actions that are appended."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.goals import Resolving
from evenhand.policy.entries import widen
from evenhand.problem import Actions
from tests.described_worlds import WORLDS, Run, until_worth
from tests.states import near

TABLE = Actions(
    {"nothing": {"size": 0.0}, "small": {"size": 1.0}, "large": {"size": 3.0}, "huge": {"size": 4.0}},
    features=(eh.Numeric("size", 0, 4),),
)
SHOP = eh.Problem(
    actions=TABLE.names,
    outcomes=(eh.Outcome("sale"), eh.Outcome("money", known=TABLE.column("size"))),
    maximize="sale",
    subject_to=(eh.Budget("money", total=300),),
    features=(eh.Numeric("visits", 0, 1),),
    horizon=200,
    described=TABLE,
)


def with_rows(table, **more):
    outcomes = SHOP.outcomes[0], eh.Outcome("money", known=table.column("size"))
    return replace(SHOP, actions=table.names, outcomes=outcomes, described=table, **more)


FEW = with_rows(Actions({name: TABLE.rows[name] for name in TABLE.names[:3]}, TABLE.features))


def grown(rounds=60):
    """A policy of three actions, one of four of which the last is withdrawn, and states with the same plays."""
    old, whole = eh.resolving(FEW), eh.resolving(replace(SHOP, withdrawn=("huge",)))
    state, other, rng = old.start(seed=3), whole.start(seed=3), np.random.default_rng(0)
    for _ in range(rounds):
        case, u = {"visits": rng.random()}, rng.random()
        decision = old.decide(state, old.encode(case))
        for policy, s in ((old, state), (whole, other)):
            mine = widen(decision._replace(id=decision.id.copy()), policy.model.n_features)
            policy.enter(s, policy.encode(case), mine)
            policy.observe(s, mine, {"sale": float(u < 0.2 + 0.2 * FEW.actions.index(decision.action))})
    return old, state, other


def test_a_model_reads_every_number_of_a_case_times_every_number_of_a_row():
    policy = eh.resolving(SHOP)
    x = policy.encode({"visits": 0.75}).features[0]
    for numbers, profile in zip(x, TABLE.profiles, strict=True):
        np.testing.assert_array_equal(numbers, np.outer(profile, [1.0, 0.5]).ravel())
    np.testing.assert_array_equal(policy._assembly.encoder.stacked([{"visits": 0.75}]).features[0], x)


def test_a_state_that_grew_has_the_model_and_contexts_of_one_that_had_the_action_from_the_start():
    old, state, other = grown()
    more = eh.resolving(SHOP)
    found = more.adopt(state, of=old)
    fits = ".ridge", ".inverse", ".theta", ".sigma"  # of more
    near(found.model, other.model, (".affordable", ".ahead", *fits), atol=1e-12)
    place = next(i for i, g in enumerate(more.goals) if isinstance(g, Resolving))
    ours, theirs = found.goals[place].history, other.goals[place].history
    np.testing.assert_array_equal(ours.features, theirs.features)
    np.testing.assert_array_equal(ours.known, theirs.known)


def test_a_new_action_begins_with_what_its_like_brought_and_is_unsure_of_its_own_part_alone():
    old, state, _ = grown(150)
    more = eh.resolving(SHOP)
    found = more.adopt(state, of=old)
    x = more.encode({"visits": 0.5}).features
    worth = more.model.value(found.model, x, np.ones((1, 1, 1, 1)), np.zeros((1, 0)))
    nothing, _, large, huge = worth.mean[0, 0]
    assert abs(huge - large) < abs(huge - nothing)
    own = slice(-SHOP.n_features, None)
    np.testing.assert_allclose(found.model.inverse[0][own, own], np.eye(2) / found.model.ridge[0])
    assert (found.model.inverse[0][own, : -SHOP.n_features] == 0.0).all()
    assert worth.bonus[0, 0, 3] > worth.bonus[0, 0, 2]


def test_a_decision_that_waits_is_settled_after_an_action_was_appended():
    old, state, _ = grown(20)
    late = old.act(state, old.encode({"visits": 0.5}))
    more = eh.resolving(SHOP)
    found = more.adopt(state, of=old)
    before = found.model.count[0]
    more.observe(found, late, {"sale": 1.0})
    assert found.model.count[0] == before + 1.0


def test_described_actions_without_features_of_cases_are_read_by_their_rows():
    plain = eh.resolving(replace(SHOP, features=()))
    np.testing.assert_array_equal(plain.encode({}).features[0], TABLE.profiles)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (replace(TABLE, rows={**TABLE.rows, "small": {"size": 2.0}}), "the row of 'small' as in the state"),
        (replace(TABLE, own=1.0), "own=0.25, as in the state"),
        (replace(TABLE, features=(eh.Numeric("size", 0, 5),)), r"the features .* as in the state"),
        (None, "descriptions of actions, as in the state, got none"),
    ],
)
def test_other_rows_of_earlier_actions_are_refused(table, message):
    old, state, _ = grown(5)
    new = replace(SHOP, described=table)
    with pytest.raises(InvalidInput, match=f"adopt: problem.(described|outcomes): expected .*{message}"):
        eh.resolving(new).adopt(state, of=old)


@pytest.mark.slow
def test_a_new_action_brings_its_worth_in_a_third_of_the_cases_that_it_takes_by_its_name_alone():
    run = Run(WORLDS["models"], replicas=12)
    by_name, described = (until_worth(*run.play(described=z)) for z in (False, True))
    assert described <= min(by_name, run.rounds) / 3
