"""Actions that are appended in mid-campaign: states that grow, and what cannot."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.choices import Rate
from evenhand.core.errors import InvalidInput
from evenhand.goals import Resolving
from evenhand.models import (
    BayesianLogistic,
    BayesianRidge,
    Logistic,
    PerAction,
    Ridge,
    Stacked,
    Tabular,
)
from evenhand.models._shared import wider
from evenhand.policy.entries import widen
from evenhand.policy.saving import flatten
from evenhand.problem import Budget, Groups, Outcome, Problem
from evenhand.recipes import lyapunov, pgd, primal_lp, resolving, square_cbwk, ucb_bwcr, uniform
from tests.growth_worlds import grown
from tests.policy.test_adoption import steps, with_total
from tests.rows import for_each
from tests.states import near

OLD = with_total(30)
NEW = replace(
    OLD,
    actions=(*OLD.actions, "visit"),
    outcomes=(*OLD.outcomes[:2], Outcome("calls", known={"call": 1, "visit": 2})),
)


def ridden(problem, **more):
    return resolving(problem, PerAction.of(problem), **more)


def blocked(problem, **more):
    """A policy whose model reads a block of features per action."""
    n = 2 * len(problem.actions)
    return resolving(problem, Stacked((BayesianLogistic(n_features=n), BayesianRidge(n_features=n))), **more)


def twice(total=30.0, made=ridden, **more):
    """A policy of three actions, one of four of which the last is withdrawn, and states with the same plays."""
    old, new = made(OLD), made(with_total(total, actions=NEW.actions, outcomes=NEW.outcomes, **more))
    whole = made(replace(NEW, withdrawn=("visit",)))
    state, other, rng = old.start(seed=3), whole.start(seed=3), np.random.default_rng(0)
    for _ in range(60):
        case, u = {"visits": rng.random()}, rng.random(2)
        decision = old.decide(state, old.encode(case))
        for policy, s in ((old, state), (whole, other)):
            mine = widen(decision._replace(id=decision.id.copy()), policy.model.n_features)
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
            if (
                path == ".offered"
            ):  # in contexts that are kept, an appended action is offered and a withdrawn one is not
                kept = z.any(2)
                assert z[kept][:, 3].all()
                assert not y[kept][:, 3].any()
                z, y = z[..., :3], y[..., :3]
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


@pytest.mark.parametrize("after", ["appended", "present"])
def test_blocks_of_features_grow_to_what_they_would_have_learned(after):
    """To rounding, as fits solve larger systems; a decision that waits is settled with the features that it had."""
    old, new, state, other = twice(made=blocked)
    whole = blocked(replace(NEW, withdrawn=("visit",)))
    one = old.encode({"visits": 0.4}), new.encode({"visits": 0.4})
    made = old.decide(state, one[0])
    made = made._replace(plays=np.array([[1]]), features=one[0].features[:, 1:2], known=one[0].known[:, 1:2])
    twin = widen(made._replace(id=made.id.copy()), whole.model.n_features)
    old.enter(state, one[0], made)
    whole.enter(other, one[1], twin)
    grown = new.adopt(state, of=old)
    y = {"sale": 1.0, "money": 0.5}
    if after == "present":
        new.observe(grown, made, y)
        whole.observe(other, twin, y)
    near(grown.model, other.model, (".affordable", ".ahead"), rtol=1e-8, atol=1e-10)
    x, w, none = one[1].features, np.eye(2)[None, :, None], np.zeros((1, 0))
    mean = new.model.value(grown.model, x, w, none).mean
    np.testing.assert_array_equal(mean[..., 3], new.model.value(new.start().model, x, w, none).mean[..., 3])
    if after == "appended":
        np.testing.assert_array_equal(mean[..., :3], old.model.value(state.model, one[0].features, w, none).mean)


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


@pytest.mark.parametrize("made_of", [ridden, blocked], ids=["own coefficients", "blocks"])
def test_each_replica_of_a_batch_that_grew_acts_as_it_does_alone(made_of):
    old, new, plays = made_of(OLD), made_of(NEW), []
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


def test_features_without_data_have_the_penalty_of_their_replica():
    inverse = np.zeros((4, 3, 3))  # of two replicas with two actions each
    wider(2, np.array([1.0, 4.0]), inverse)
    np.testing.assert_array_equal(inverse[:, 2, 2], [1.0, 1.0, 0.25, 0.25])
    assert inverse.sum() == 2.5


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
            lambda: resolving(OLD, Stacked((Logistic(n_features=6), Ridge(n_features=6)))),
            lambda: resolving(NEW, Stacked((Logistic(n_features=8), Ridge(n_features=8)))),
            "model: expected Stacked.*for more actions",
        ),
        (
            lambda: ridden(OLD),
            lambda: resolving(NEW, PerAction(inner=BayesianRidge(n_features=2, n_outcomes=2, scale=2.0), actions=4)),
            "model: expected PerAction.*for more actions",
        ),
        (lambda: ridden(replace(OLD, groups=(GROUPED,))), lambda: ridden(NEW), "problem.columns"),
        (
            lambda: ucb_bwcr(OLD, PerAction.of(OLD)),
            lambda: ucb_bwcr(NEW, PerAction.of(NEW)),
            r"expected .* got another size of choice.lottery",
        ),
        (
            lambda: pgd(OLD, PerAction.of(OLD), hard=True),
            lambda: pgd(NEW, PerAction.of(NEW), hard=True),
            r"rows of DualGradient: expected \('money', 'calls'\).*'calls / 2'",
        ),
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


def test_a_better_offer_that_is_appended_is_found():
    """Replicas of seed 0 spread by .008 around .982 in 1,500 rounds; the old offers alone would reach .475."""
    share = grown("large", "small", 4, 1500, compare=False)["adopted"]
    assert share.mean() > 0.96
    assert share.min() > 0.93


RECIPES = {
    "resolving": lambda p: resolving(p, PerAction.of(p)),
    "holdout": lambda p: resolving(p, PerAction.of(p), holdout=0.1),
    "floor": lambda p: resolving(p, PerAction.of(p), explore=0.01),
    "pgd": lambda p: pgd(p, PerAction.of(p), hard=True),
    "primal_lp": lambda p: primal_lp(p, PerAction.of(p), hard=True),
    "lyapunov": lambda p: lyapunov(p, PerAction.of(p)),
    "square_cbwk": lambda p: square_cbwk(p, PerAction.of(p), rate=Rate(4.0, 0.5)),
    "uniform": lambda p: uniform(p, p.n_features),
    "tabular": lambda p: resolving(replace(p, features=()), Tabular(arms=len(p.actions), n_outcomes=2, confidence=0.5)),
}


@pytest.mark.parametrize("name", RECIPES)
@for_each("seed", range(3))
def test_no_budget_and_no_span_is_ever_over_after_growth(name, seed):
    """Outcomes are late, some decisions are cancelled, and what waits as the state grows is settled after it."""
    rng, rounds = np.random.default_rng([seed, len(name)]), 80
    span = int(rng.integers(15, 40))
    money = Budget("money", total=float(rng.uniform(3, 8)), per=span) if seed else Budget("money", total=12)
    each = {"call": 1, "visit": 1 if name == "pgd" else 2}  # dual steps are in units of the most that a play can use
    more = replace(NEW, outcomes=(*NEW.outcomes[:2], Outcome("calls", known=each)))
    problems = [replace(p, subject_to=(money, p.subject_to[1]), horizon=rounds) for p in (OLD, more)]
    old, new = (RECIPES[name](p) for p in problems)
    policy, state, grows = old, old.start(seed=seed), int(rng.integers(10, 60))
    waiting, used, played = [], np.zeros(1 + rounds // span if seed else 1), set()
    for t in range(rounds):
        if t == grows:
            if name == "tabular":  # reads a feature per action, so that nothing may wait
                settle(policy, state, waiting, used, rng, 1.0)
            policy, state = new, new.adopt(state, of=old)
        case = {"visits": rng.random()} if policy.problem.features else {}
        d = policy.act(state, policy.encode(case))
        played.add(d.action)
        if d.action is not None:
            waiting.append((t // span if seed else 0, d))
        settle(policy, state, waiting, used, rng, 0.3)
    assert (used <= money.total + 1e-9).all()
    assert new.status(state).accounts["calls"].spent <= 40
    assert "visit" in played or name in ("pgd", "primal_lp")  # which may have used up everything before


def settle(policy, state, waiting, used, rng, share):
    """Tell some outcomes that wait, and cancel a few decisions."""
    still = rng.random(len(waiting)) >= share
    for place, d in [z for z, wait in zip(waiting, still, strict=True) if not wait]:
        if rng.random() < 0.1:
            policy.cancel(state, d)
            continue
        money = 0.0 if d.action == "nothing" else float(rng.random() < 0.7) * rng.random() ** 0.2
        used[place] += money
        policy.observe(state, d, {"sale": float(d.action != "nothing" and rng.random() < 0.5), "money": money})
    waiting[:] = [z for z, wait in zip(waiting, still, strict=True) if wait]


def plain(actions, **more):
    outcomes = Outcome("sale"), Outcome("money", free=("a",))
    limits = (Budget("money", total=10),)
    return Problem(actions=actions, outcomes=outcomes, maximize="sale", subject_to=limits, horizon=50, **more)


def test_contexts_whose_actions_have_features_of_their_own_are_refused():
    """Nothing says what an appended action would have had; a policy that keeps no contexts needs none."""
    few, more = plain(("a", "b")), plain(("a", "b", "c"))
    model = BayesianRidge(n_features=3, n_outcomes=2)
    context = ridden(few).encode({})._replace(features=np.arange(6.0).reshape(1, 2, 3))
    for made in (resolving, lyapunov):
        old, new = made(few, model), made(more, model)
        state = old.start()
        old.learn(state, old.act(state, context), np.zeros((1, 1, 2)))
        if made is lyapunov:
            new.adopt(state, of=old)
            continue
        with pytest.raises(InvalidInput, match=r"problem.actions: expected contexts in which every action has"):
            new.adopt(state, of=old)


def test_decisions_that_wait_are_refused_where_features_have_an_entry_per_action():
    old, new = (RECIPES["tabular"](p) for p in (plain(("a", "b")), plain(("a", "b", "c"))))
    state = old.start()
    decision = old.act(state, old.encode({}))
    with pytest.raises(InvalidInput, match=r"adopt: state: expected no decision that waits.*got 1 of them"):
        new.adopt(state, of=old)
    old.learn(state, decision, np.zeros((1, 1, 2)))
    assert new.encode({}).features.tolist() == [np.eye(3).tolist()]
    history = next(z.history for z in new.adopt(state, of=old).goals if hasattr(z, "history"))
    np.testing.assert_array_equal(history.features[0, 0], np.eye(3))


def test_actions_are_not_appended_where_several_are_played():
    few, more = (plain(a, n_plays=2) for a in (("a", "b"), ("a", "b", "c")))
    old, new = (lyapunov(p, BayesianRidge(n_features=1, n_outcomes=2)) for p in (few, more))
    with pytest.raises(InvalidInput, match=r"problem.actions: expected .* only where one is played per round"):
        new.adopt(old.start(), of=old)
