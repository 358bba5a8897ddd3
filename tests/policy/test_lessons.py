"""What others played: it is learned, weighed, and takes nothing from the rounds to come."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 80})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=16_000),),
    horizon=400,
)
CHANCE = {"none": 0.05, "letter": 0.2, "call": 0.6}
MODELS = {
    "ridge": lambda p: eh.PerAction.of(p, eh.BayesianRidge),
    "logistic": lambda p: eh.PerAction.of(p, eh.BayesianLogistic),
    "stacked": lambda p: eh.Stacked((eh.PerAction.of(p, eh.BayesianLogistic),)),
}


def after(policy, rows, seed=0, weight=1.0, times=1):
    """A state that was taught by a policy that never called."""
    rng, state = np.random.default_rng(seed), policy.start(seed=seed)
    for _ in range(rows):
        action, case = ("none", "letter")[rng.integers(2)], policy.encode({"age": rng.uniform(20, 60)})
        answer = {"answer": float(rng.random() < CHANCE[action])}
        for _ in range(times):
            policy.teach(state, case, action, answer, weight=weight)
    return state


def arrays(state):
    return {name: z for name in ("count", "rounds", "taught") for z in [next(marked_of(state, name))]}


def marked_of(state, name):
    return (getattr(s, name) for s in inner(state.model))


def inner(model):
    if hasattr(model, "parts"):
        for part in model.parts:
            yield from inner(part)
    elif hasattr(model, "inner"):
        yield from inner(model.inner)
    else:
        yield model


@pytest.mark.parametrize("rows", [200, 400, 1200])
@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_a_log_does_not_end_exploration(kind, rows):
    """At best 200 calls are paid for, 0.325 answers a round; without a call it is at most 0.125."""
    for seed in range(3):
        policy = eh.resolving(SHOP, MODELS[kind](SHOP))
        state, rng, answers = after(policy, rows, seed), np.random.default_rng(seed + 100), 0.0
        for _ in range(SHOP.horizon):
            d = policy.act(state, policy.encode({"age": rng.uniform(20, 60)}))
            answers += CHANCE[d.action]
            policy.observe(state, d, {"answer": float(rng.random() < CHANCE[d.action])})
        assert answers / SHOP.horizon > 0.31


@pytest.mark.parametrize("kind", MODELS)
def test_what_was_taught_is_counted_beside_what_was_played(kind):
    policy = eh.resolving(SHOP, MODELS[kind](SHOP))
    state = after(policy, 30)
    found = arrays(state)
    assert (found["count"] == 30).all()
    assert (found["rounds"] == 30).all()
    assert (found["taught"] == 30).all()
    d = policy.act(state, policy.encode({"age": 30}))
    policy.observe(state, d, {"answer": 1.0})
    found = arrays(state)
    assert (found["rounds"] == 31).all()
    assert (found["taught"] == 30).all()
    assert state.t == 1


@pytest.mark.parametrize("kind", ["ridge", "stacked"])
def test_a_weight_of_2_is_being_taught_twice(kind):
    each = eh.PerAction(inner=eh.BayesianLogistic(n_features=2, growth=1.0001), actions=3)  # fits after every row
    policy = eh.resolving(SHOP, eh.Stacked((each,)) if kind == "stacked" else MODELS[kind](SHOP))
    weighed, twice = after(policy, 40, weight=2.0), after(policy, 40, times=2)
    for one, other in zip(inner(weighed.model), inner(twice.model), strict=True):
        for name in ("count", "rounds", "taught"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        if hasattr(one, "gram"):
            for name in ("gram", "moment", "squares"):
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    case = policy.encode({"age": 33})
    w = np.ones((1, 1, 1, 1))
    said = [policy.model.value(s.model, case.features, w, np.zeros((1, 0))).mean for s in (weighed, twice)]
    np.testing.assert_allclose(*said, rtol=0.03)  # penalties have taken other steps


def test_what_weighs_little_is_soon_outweighed():
    """A log in which letters were always answered, and 60 letters without an answer."""
    said = {}
    for weight in (1.0, 0.05):
        policy = eh.resolving(SHOP, MODELS["ridge"](SHOP))
        state, case = policy.start(), policy.encode({"age": 40})
        for _ in range(300):
            policy.teach(state, case, "letter", {"answer": 1.0}, weight=weight)
        for _ in range(60):
            policy.teach(state, case, "letter", {"answer": 0.0})
        worth = policy.model.value(state.model, case.features, np.ones((1, 1, 1, 1)), np.zeros((1, 0)))
        said[weight] = worth.mean[0, 0, 1]
    assert said[1.0] == pytest.approx(300 / 360, abs=0.02)
    assert said[0.05] == pytest.approx(15 / 75, abs=0.02)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf, "much", 1e-320, 9e-7, 1.1e6, 1e308])
def test_a_weight_that_is_none_is_refused_before_anything_is_learned(weight):
    policy = eh.resolving(SHOP, MODELS["ridge"](SHOP))
    state = policy.start()
    with pytest.raises(InvalidInput, match=r"^weight: expected a number in \[1e-06, 1e\+06\], got"):
        policy.teach(state, policy.encode({"age": 30}), "letter", {"answer": 1.0}, weight=weight)
    assert arrays(state)["count"].sum() == 0.0


@pytest.mark.parametrize(
    ("action", "sold"), [("nothing", 1.0), ("sell", 1.5), ("sell", -1.0), ("nothing", -1e-9), ("sell", 1e101)]
)
def test_what_is_not_as_declared_is_not_taught_either(action, sold):
    """The sentence is that of `learn`, where the policy played the action itself."""
    problem = eh.Problem(
        actions=("nothing", "sell"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(eh.Outcome("sale", free=("nothing",), high=np.inf if sold > 2.0 else 1.0),),
        maximize="sale",
        horizon=20,
    )
    policy = eh.ucb(problem, eh.PerAction.of(problem, eh.Ridge))
    state, case = policy.start(), policy.encode({"age": 30}, offered=[action])
    decision = policy.act(state, case)
    with pytest.raises(InvalidInput) as learned:
        policy.observe(state, decision, {"sale": sold})
    with pytest.raises(InvalidInput) as taught:
        policy.teach(state, case, action, {"sale": sold})
    assert str(taught.value) == str(learned.value)
    assert "0 under ('nothing',)" in str(taught.value)
    policy.teach(state, case, "nothing", {"sale": 0.0})


@pytest.mark.parametrize("weight", [1e-6, 1e6])
@pytest.mark.parametrize("kind", MODELS)
def test_a_policy_decides_after_the_least_and_the_most_weight(kind, weight):
    policy = eh.resolving(SHOP, MODELS[kind](SHOP))
    state = after(policy, 60, weight=weight)
    for answer in (0.0, 1.0) * 10:
        policy.observe(state, policy.act(state, policy.encode({"age": 30})), {"answer": answer})
    for part in inner(state.model):
        assert np.isfinite(part.theta).all()


def test_a_model_that_cannot_weigh_says_so_and_learns_at_weight_1():
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP, eh.models.Logistic))
    state, case = policy.start(), policy.encode({"age": 30})
    policy.teach(state, case, "letter", {"answer": 1.0})
    with pytest.raises(InvalidInput, match=r"^model: expected a model that weighs what it learns"):
        policy.teach(state, case, "letter", {"answer": 1.0}, weight=0.5)


def test_a_taught_state_is_saved_and_goes_on_alike(tmp_path):
    policy = eh.resolving(SHOP, MODELS["ridge"](SHOP))
    state, rng, plays = after(policy, 50, weight=0.3), np.random.default_rng(5), []
    for half in range(2):
        if half:
            policy.save(state, tmp_path / "state.npz")
            other = policy.load(tmp_path / "state.npz")
            assert other.model.taught.tolist() == state.model.taught.tolist()
        for _ in range(30):
            case, u = policy.encode({"age": rng.uniform(20, 60)}), rng.random()
            d = policy.act(state, case)
            policy.observe(state, d, {"answer": float(u < CHANCE[d.action])})
            plays.append(d.action)
            if half:
                same = policy.act(other, case)
                policy.observe(other, same, {"answer": float(u < CHANCE[same.action])})
                assert same.action == d.action
                np.testing.assert_array_equal(same.prices, d.prices)
    assert len(set(plays)) > 1
