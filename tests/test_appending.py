"""Actions that are appended in mid-campaign: states that grow, and what cannot."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.goals import Resolving
from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Bootstrapped,
    Memories,
    PerAction,
    Prior,
    Restarting,
    Ridge,
    Stacked,
    Tabular,
)
from evenhand.models.growing import sized, take_over
from evenhand.policy.saving import flatten
from evenhand.problem import Groups, Outcome
from evenhand.recipes import resolving
from tests.test_adopting import steps, with_total

OLD = with_total(30)
NEW = replace(
    OLD,
    actions=(*OLD.actions, "visit"),
    outcomes=(*OLD.outcomes[:2], Outcome("calls", known={"call": 1, "visit": 2})),
)


def ridden(problem, **more):
    return resolving(problem, PerAction.of(problem), **more)


def inner(**more):
    return BayesianRidge(n_features=2, n_outcomes=2, **more)


MEANS = np.arange(16.0).reshape(4, 2, 2) / 20
MODELS = {
    "ridge that knows its noise": lambda a: PerAction(inner=inner(), actions=a),
    "prior by action": lambda a: PerAction(inner=inner(prior=Prior(mean=MEANS[:a], sd=0.3)), actions=a),
    "logistic": lambda a: PerAction(inner=BayesianLogistic(n_features=2), actions=a),
    "logistic that keeps few": lambda a: PerAction(inner=BayesianLogistic(n_features=2, buffer=8), actions=a),
    "alone": lambda a: PerAction(inner=Ridge(n_features=2, n_outcomes=2), actions=a),
    "stacked": lambda a: Stacked((PerAction(inner=BayesianRidge(n_features=2), actions=a),) * 2),
    "memories": lambda a: Memories(inner=PerAction(inner=inner(), actions=a), half_lives=(20,), every=5),
    "memories of each": lambda a: PerAction(inner=Memories(inner=inner(), half_lives=(20,), every=5), actions=a),
    "restarting": lambda a: Restarting(inner=PerAction(inner=inner(), actions=a), nats=2),
    "copies": lambda a: Bootstrapped(inner=PerAction(inner=inner(), actions=a), members=3),
    "tabular": lambda a: Tabular(arms=a, n_outcomes=2, confidence=1.0),
    "shared": lambda a: BayesianRidge(n_features=3, n_outcomes=2),
}


def learned(model, actions, rounds, state=None, replicas=2, n_actions=3):
    """A state after plays of the first few actions alone, the same whatever the number of actions."""
    m = model.n_outcomes
    state = state or model.start(replicas, np.zeros(m), np.ones(m), 300)
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        plays, case = rng.integers(0, n_actions, replicas), np.stack([np.ones(replicas), rng.random(replicas)], 1)
        y = (rng.random((replicas, 1, m)) < 0.3 + 0.2 * plays[:, None, None]).astype(float)
        x = np.concatenate([plays[:, None], case], 1)[:, None]
        if isinstance(model, Tabular):
            x = np.eye(actions)[plays][:, None]
        model.update(state, x, y, np.ones(y.shape, bool), np.ones((replicas, 1, 1, m)))
    return state


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_grew_is_the_one_that_had_all_actions_from_the_start(name):
    """To rounding, as estimates add up over one action more, and bit for bit where they do not.

    The plays so far are those of the first actions, then those of all of them. Models that have nothing in common
    divide the horizon by the actions, so that they begin with three quarters of it.
    """
    few, more = (MODELS[name](a) for a in (3, 4))
    grown, whole = more.start(2, *ends(more), 300), learned(more, 4, 40)
    started = few.start(2, *ends(few), 225 if name == "memories of each" else 300)
    take_over(grown, learned(few, 3, 40, started), 2)
    exact = name in ("alone", "tabular", "shared")
    same = np.testing.assert_array_equal if exact else partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-10)
    settings = (".horizon", ".ahead")  # of which wrappers and policies set the second one before it is read
    for _ in range(2):
        for (path, z), (_, other) in zip(flatten(grown), flatten(whole), strict=True):
            if not path.endswith(settings):
                same(z, other, err_msg=path)
        x = np.eye(4) if name == "tabular" else np.stack([np.arange(4.0), np.ones(4), np.linspace(0, 1, 4)], 1)
        u = np.full((2, more.draws(4)), 0.3)
        ask = np.stack([x, x]), np.ones((2, 1, 1, more.n_outcomes)), u
        for a, b in zip(more.value(grown, *ask)[:2], more.value(whole, *ask)[:2], strict=True):
            same(a, b)
        for state in (grown, whole):
            learned(more, 4, 30, state, n_actions=4)


def ends(model):
    return np.zeros(model.n_outcomes), np.ones(model.n_outcomes)


def test_a_model_for_fewer_actions_is_the_one_that_a_state_is_of():
    for made in MODELS.values():
        assert repr(sized(made(4), 3)) == repr(made(3))


def twice(total=30.0, replicas=1, **more):
    """A policy of three actions, one of four of which the last is withdrawn, and states with the same plays."""
    old, new = ridden(OLD), ridden(with_total(total, actions=NEW.actions, outcomes=NEW.outcomes, **more))
    whole = ridden(replace(NEW, withdrawn=("visit",)))
    state, other, rng = old.start(seed=3), whole.start(seed=3), np.random.default_rng(0)
    for _ in range(60):
        case, u = {"visits": rng.random()}, rng.random(2)
        decision = old.decide(state, old.encode(case))
        for policy, s in ((old, state), (whole, other)):
            mine = decision._replace(id=decision.id.copy())
            policy.enter(s, policy.encode(case), mine)
            free = decision.action == "nothing"
            policy.observe(s, mine, {"sale": float(u[0] < 0.5 and not free), "money": 0.0 if free else u[1]})
    return old, new, state, other


def test_a_state_that_grew_has_the_sums_and_contexts_of_one_whose_last_action_was_withdrawn():
    old, new, state, other = twice()
    grown = new.adopt(state, of=old)
    place = next(i for i, g in enumerate(new.goals) if isinstance(g, Resolving))
    for a, b in ((grown.model, other.model), (grown.goals[place].history, other.goals[place].history)):
        for (path, z), (_, y) in zip(flatten(a), flatten(b), strict=True):
            np.testing.assert_array_equal(z, y, err_msg=path)
    for field in ("books", "seen", "t"):
        np.testing.assert_array_equal(getattr(grown, field), getattr(other, field))
    for field in ("spent", "counted", "arrived", "made"):
        np.testing.assert_array_equal(getattr(grown.goals[place], field), getattr(other.goals[place], field))
    assert old.status(state).rounds == 60
    assert state.goals[place].history.features.shape[2] == 3  # it stays as it was


def test_an_appended_action_is_planned_for_and_played_within_the_budget():
    old, new, state, _ = twice(22.0)
    grown = new.adopt(state, of=old)
    before = old.status(state).accounts["money"].spent
    used = steps(new, grown, 140, seed=1)
    assert used["visit"] > 0.0
    account = new.status(grown).accounts["money"]
    assert account.spent == pytest.approx(before + sum(used.values()))
    assert account.spent <= 22.0


def test_an_action_is_appended_as_another_one_is_withdrawn():
    old, new, state, _ = twice(withdrawn=("letter",))
    used = steps(new, new.adopt(state, of=old), 100, seed=1)
    assert used["letter"] == 0.0
    assert used["visit"] > 0.0


def test_decisions_that_wait_are_settled_after_growth():
    old, new, state, _ = twice()
    late = {3: None, 5: None}
    steps(old, state, 6, late=late)
    grown = new.adopt(state, of=old)
    for decision, y in late.values():
        new.observe(grown, decision, y)
        old.observe(state, decision, y)
    np.testing.assert_array_equal(grown.books, state.books)
    np.testing.assert_array_equal(grown.model.count, state.model.count)


def test_each_replica_of_a_batch_that_grew_acts_as_it_does_alone():
    old, new, plays = ridden(OLD), ridden(NEW), []
    for ids in ([0, 1, 2], [1]):
        state, made = old.start(seed=2, replicas=ids), []
        for policy in (old, new):
            if policy is new:
                state = new.adopt(state, of=old)
            for step in range(40):
                one = policy.encode({"visits": (step * 0.37) % 1})
                decision = policy.act(
                    state,
                    one._replace(
                        features=np.repeat(one.features, len(ids), 0), groups=np.repeat(one.groups, len(ids), 0)
                    ),
                )
                y = np.random.default_rng(step).random((3, 1, 2))[ids] * (decision.plays > 0)[:, :, None]
                policy.learn(state, decision, y)
                made.append(decision.plays[ids.index(1), 0])
        plays.append(made)
    assert plays[0] == plays[1]
    assert 3 in plays[0]


def test_a_state_that_grew_is_saved_and_loaded(tmp_path):
    old, new, state, _ = twice()
    grown = new.adopt(state, of=old)
    new.save(grown, tmp_path / "state.npz")
    loaded = new.load(tmp_path / "state.npz")
    assert steps(new, grown, 60, seed=2) == steps(new, loaded, 60, seed=2)


def test_an_action_without_plays_is_believed_what_a_fresh_model_believes():
    """The mean is that of the prior; the estimate of the noise, which actions share, is that of the others."""
    old, new, state, _ = twice()
    grown = new.adopt(state, of=old)
    x = new.encode({"visits": 0.3}).features
    w, none = np.eye(2)[None, :, None], np.zeros((1, 0))
    said = new.model.value(grown.model, x, w, none)
    fresh = new.model.value(new.start().model, x, w, none)
    np.testing.assert_array_equal(said.mean[..., 3], fresh.mean[..., 3])
    assert (said.bonus[..., 3] > said.bonus[..., 1]).all()


GROUPED = Groups("kind", {"cheap": 0.5, "dear": 0.5}, of={"nothing": "cheap", "letter": "cheap", "call": "dear"})
SHOPS = Groups("shop", ["north", "south"])


def test_kept_contexts_have_the_groups_of_appended_actions():
    old, new = (
        ridden(replace(p, groups=(SHOPS, replace(GROUPED, of=GROUPED.of | {"visit": "dear"} if n else GROUPED.of))))
        for n, p in enumerate((OLD, NEW))
    )
    state = old.start()
    for shop in ("north", "south"):
        old.observe(state, old.act(state, old.encode({"visits": 0.5, "shop": shop})), {"sale": 0, "money": 0})
    grown = new.adopt(state, of=old)
    history = next(z.history for z in grown.goals if hasattr(z, "history"))
    for s, shop in enumerate(("north", "south")):
        np.testing.assert_array_equal(history.groups[0, s], new.encode({"visits": 0.5, "shop": shop}).groups[0])
    assert history.offered[0, :2].all()


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (lambda: ridden(OLD), lambda: ridden(replace(NEW, actions=("visit", *OLD.actions))), "problem.actions"),
        (lambda: ridden(NEW), lambda: ridden(OLD), "problem.actions"),
        (
            lambda: ridden(OLD),
            lambda: ridden(replace(NEW, outcomes=(*NEW.outcomes[:2], Outcome("calls", known={"call": 2})))),
            "problem.outcomes",
        ),
        (
            lambda: ridden(OLD),
            lambda: ridden(replace(NEW, outcomes=(Outcome("sale"), *NEW.outcomes[1:]))),
            "problem.outcomes",
        ),
        (
            lambda: resolving(OLD, BayesianRidge(n_features=6, n_outcomes=2)),
            lambda: resolving(NEW, BayesianRidge(n_features=8, n_outcomes=2)),
            "model: expected PerAction.of",
        ),
        (
            lambda: ridden(OLD),
            lambda: resolving(NEW, PerAction(inner=inner(scale=2.0), actions=4)),
            "model: expected PerAction.*for more actions",
        ),
        (lambda: ridden(replace(OLD, groups=(GROUPED,))), lambda: ridden(NEW), "problem.columns"),
        (
            lambda: ridden(replace(OLD, groups=(GROUPED,))),
            lambda: ridden(replace(NEW, groups=(replace(GROUPED, of=dict.fromkeys(NEW.actions, "dear")),))),
            "problem.groups",
        ),
        (
            lambda: ridden(replace(OLD, groups=(replace(GROUPED, shares=["cheap", "dear"]),))),
            lambda: ridden(
                replace(
                    NEW,
                    groups=(replace(GROUPED, shares=["cheap", "dear"], of={**GROUPED.of, "visit": "dear"}),),
                )
            ),
            "problem.groups: expected the shares",
        ),
    ],
)
def test_what_cannot_grow_is_refused_by_name(old, new, field):
    old, new = old(), new()
    with pytest.raises(InvalidInput, match=f"adopt: {field}"):
        new.adopt(old.start(), of=old)
