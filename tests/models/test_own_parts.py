"""Many described actions: `OwnParts` is `DiagonalRidge` with a block on the numbers p_a x, at the cost of a case."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.kernel import kernels
from evenhand.goals import Resolving
from evenhand.models import DiagonalRidge, own_parts
from evenhand.models.own_parts import OwnParts
from evenhand.policy.saving import flatten
from evenhand.problem import Actions, descriptions

RNG = np.random.default_rng(5)
SIZES = eh.Numeric("size", 0, 1), eh.Categorical("kind", ("x", "y", "z"))


def rows(count):
    return {f"a{i}": {"size": RNG.random(), "kind": str(RNG.choice(["x", "y", "z"]))} for i in range(count)}


TABLE = Actions(rows(6), SIZES)
SHOP = eh.Problem(
    actions=TABLE.names,
    outcomes=(eh.Outcome("sale"), eh.Outcome("money", known=TABLE.column("size"))),
    maximize="sale",
    subject_to=(eh.Budget("money", total=30),),
    features=(eh.Numeric("visits", 0, 1), eh.Numeric("age", 0, 1)),
    horizon=120,
    described=TABLE,
)


def shop(table):
    outcomes = SHOP.outcomes[0], eh.Outcome("money", known=table.column("size"))
    return replace(SHOP, actions=table.names, described=table, outcomes=outcomes)


def dense(numbers, outcomes=1):
    block = numbers * TABLE.shared.shape[1]
    return DiagonalRidge(n_features=numbers * TABLE.width, n_outcomes=outcomes, block=block)


def products(x):
    numbers = TABLE.profiles[x[:, :, 0].astype(int)][..., None] * x[:, :, None, 1:]
    return numbers.reshape(*x.shape[:2], -1)


def candidates(cases):
    numbers = np.tile(np.arange(6.0), (len(cases), cases.shape[1]))
    return np.concatenate([numbers[:, :, None], np.repeat(cases, 6, 1)], 2)


def taught(model, read, replicas, plays):
    state, seen = model.start(replicas, np.zeros(2), np.ones(2), 500), np.ones((replicas, 1, 2), bool)
    for x, y in plays:
        model.update(state, read(x[:, None]), y[:, None], seen, np.ones((replicas, 1, 1, 2)))
    return state


def plays(count=50):
    x = RNG.uniform(-1.0, 1.0, (count, 3, 4))
    x[:, :, 0] = RNG.integers(0, 6, (count, 3))
    return list(zip(x, RNG.random((count, 3, 2)), strict=True))


@pytest.mark.parametrize("count", [0, 1, 30])
def test_worth_and_reasons_are_those_of_all_numbers_and_a_replica_s_do_not_depend_on_others(count):
    model, whole, learned = OwnParts.of(TABLE, 3, 2), dense(3, 2), plays(count)
    state, same = taught(model, lambda x: x, 3, learned), taught(whole, products, 3, learned)
    x, w, u = candidates(RNG.uniform(-1.0, 1.0, (3, 4, 3))), RNG.normal(size=(3, 2, 24, 2)), np.zeros((3, 0))
    said, expected = model.value(state, x, w, u), whole.value(same, products(x), w, u)
    np.testing.assert_allclose(said.mean, expected.mean, atol=1e-11)
    np.testing.assert_allclose(said.bonus, expected.bonus, atol=1e-11)
    pair = np.ascontiguousarray(x[:, 3:5])
    parts = whole.contributions(same, products(pair), w[:, :, :1]).reshape(3, 2, -1, 3).sum(2)
    np.testing.assert_allclose(model.contributions(state, pair, w[:, :, :1])[:, :, 1:], parts, atol=1e-11)
    alone = taught(model, lambda x: x, 1, [(a[1:2], b[1:2]) for a, b in learned])
    np.testing.assert_array_equal(model.value(alone, x[1:2], w[1:2], u[1:2]).bonus[0], said.bonus[1])


@pytest.mark.parametrize("each", [1, 6, 13])
def test_many_candidates_are_looked_up_in_parts(monkeypatch, each):
    model, learned = OwnParts.of(TABLE, 3, 2), plays(20)
    state = taught(model, lambda x: x, 3, learned)
    state.affordable = RNG.uniform(0.0, 2.0, (3, 6))
    x, w, u = candidates(RNG.uniform(-1.0, 1.0, (3, 5, 3))), RNG.normal(size=(3, 1, 30, 2)), np.zeros((3, 0))
    said = model.value(state, x, w, u)
    monkeypatch.setattr(own_parts, "_MOST", each)
    parts = model.value(state, x, w, u)
    np.testing.assert_array_equal(parts.mean, said.mean)
    np.testing.assert_array_equal(parts.bonus, said.bonus)


def run(policy, state, rounds, first=0, waiting=()):
    waiting, found = list(waiting), []
    for t in range(first, first + rounds):
        rng = np.random.default_rng(t)
        case, u = {"visits": rng.random(), "age": rng.random()}, rng.random(6)
        decision = policy.act(state, policy.encode(case))
        found.append((decision.action, decision.propensities.tolist()))
        if decision.action is not None:
            waiting.append((decision, float(u[TABLE.names.index(decision.action)] < case["age"])))
        if len(waiting) > 8:
            late, y = waiting.pop(0)
            policy.observe(state, late, {"sale": y})
    return found, waiting


def test_a_policy_plays_as_with_all_numbers_while_outcomes_wait_and_after_it_was_saved(tmp_path):
    policy, whole = (eh.resolving(SHOP, model) for model in (OwnParts.of(TABLE, 3), dense(3)))
    state, other = policy.start(seed=4), whole.start(seed=4)
    found, waiting = run(policy, state, 40)
    policy.save(state, tmp_path / "state.npz")
    state = policy.load(tmp_path / "state.npz")
    found += run(policy, state, 40, 40, waiting)[0]
    assert found == run(whole, other, 80)[0]
    assert policy.status(state).accounts["money"].spent <= 30.0


def test_an_appended_action_begins_with_what_is_shared_while_outcomes_wait(monkeypatch):
    monkeypatch.setattr(descriptions, "MANY", 1)
    old, more = eh.resolving(SHOP), TABLE.append("new", dict(TABLE.rows["a2"]))
    new, state = eh.resolving(shop(more)), old.start(seed=4)
    _, waiting = run(old, state, 60)
    found = new.adopt(state, of=old)
    x = new.encode({"visits": 0.2, "age": 0.7}).features
    _, _, like, *_, mine = new.model.value(found.model, x, np.ones((1, 1, 1, 1)), np.zeros((1, 0))).bonus[0, 0]
    assert mine > like
    for decision, y in waiting:
        for policy, s in ((old, state), (new, found)):
            policy.observe(s, decision, {"sale": y})
    before, now = dict(flatten(state.model)), dict(flatten(found.model))
    np.testing.assert_array_equal(now[".block.gram"], before[".block.gram"])
    np.testing.assert_array_equal(now[".moment"][:, :-3], before[".moment"])
    assert not now[".moment"][:, -3:].any()


def peak(count):
    """The memory that a decision and its outcome take at most, with what is kept, in bytes."""
    table = Actions(rows(count), SIZES)
    policy, case = eh.resolving(problem := shop(table)), {"visits": 0.5, "age": 0.2}
    assert type(policy.model) is OwnParts
    assert eh.uniform(problem).encode(case).features.shape == (1, count, 3)
    assert next(g for g in policy.goals if isinstance(g, Resolving))._room == min(1000, 10**6 // count)
    tracemalloc.start()
    state = policy.start(seed=1)
    policy.observe(state, policy.act(state, policy.encode(case)), {"sale": 1.0})
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_grows_as_the_number_of_actions_does_and_plans_keep_fewer_cases():
    for count in (500, 2000):  # load modules and compile kernels
        peak(count)
    with kernels("interpreted"):  # those that were compiled stay so, and the compiler, which takes megabytes, rests
        few, many = (min(peak(count) for _ in range(2)) for count in (500, 2000))  # as other threads may be at work
    assert many < 5 * few
