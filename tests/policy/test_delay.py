"""Bonuses count the plays whose outcomes are on their way, and means do not."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.models import (
    BayesianBilinear,
    BayesianLogistic,
    BayesianRidge,
    Bilinear,
    Fixed,
    Logistic,
    Memories,
    PerAction,
    Restarting,
    Ridge,
    Stacked,
    Tabular,
)
from evenhand.numerics.evidence import reach
from evenhand.policy.batch import freeze
from evenhand.policy.delay import Plays, _expect
from evenhand.policy.entries import net
from evenhand.policy.saving import flatten
from evenhand.run import simulate
from tests.ignorance import CENTS, Letters
from tests.rows import for_each
from tests.states import equal, unchanged

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 300})),
    maximize="answer",
    subject_to=(eh.Budget("cents", rate=50),),
    horizon=400,
)
WIDE = Fixed(0.5)
LOW = 0.3  # so that not all bonuses end at the range
MODELS = {
    "ridge": BayesianRidge(n_features=6),
    "logistic": BayesianLogistic(n_features=6, scale=LOW),
    "ridge by action": PerAction(inner=BayesianRidge(n_features=5), actions=3),
    "logistic by action": PerAction(inner=BayesianLogistic(n_features=5, scale=LOW), actions=3),
    "a width": Ridge(n_features=6, width=WIDE),
    "copies of a width": PerAction(inner=Logistic(n_features=5, width=WIDE), actions=3),
    "a link": Logistic(n_features=6, width=WIDE),
    "products": Bilinear(n_user_features=2, n_item_features=4, width=WIDE),
    "believed products": BayesianBilinear(n_user_features=2, n_item_features=4),
    "memories": Memories(inner=BayesianRidge(n_features=6), half_lives=(50,), every=10),
    "restarting": Restarting(inner=BayesianRidge(n_features=6)),
    "restarting by action": PerAction(inner=Restarting(inner=BayesianLogistic(n_features=5, scale=LOW)), actions=3),
    "parts": Stacked((PerAction(inner=BayesianLogistic(n_features=5, scale=LOW), actions=3),)),
}
UNTOLD = ("a width", "copies of a width", "a link", "products")  # which have a penalty from the start
BLIND = tuple(name for name in MODELS if name not in UNTOLD)


def policy_of(model):
    return eh.resolving(SHOP, model)


def context_of(rng, replicas=2):
    """A context that every model reads: the action, 1 and four numbers of the case."""
    x = np.concatenate([np.arange(3)[None, :, None].repeat(replicas, 0), rng.random((replicas, 1, 5)).repeat(3, 1)], 2)
    x[:, :, 1] = 1.0
    return eh.core.records.Context(
        x, CENTS[None, :, None].copy(), np.zeros((replicas, 1, 0), int), np.ones((1, 3), bool)
    )


def started(model, replicas=2, outcomes=12):
    """A policy, its state after some outcomes, five decisions that wait, and a context."""
    policy, rng = policy_of(model), np.random.default_rng(3)
    state = policy.start(seed=1, replicas=replicas)
    for _ in range(outcomes):
        decision = policy.act(state, context_of(rng, replicas))
        policy.learn(state, decision, (rng.random((replicas, 1, 1)) < 0.4) * 1.0)
    late = [policy.act(state, context_of(rng, replicas)) for _ in range(5)]
    return policy, state, late, context_of(rng, replicas)


def estimates(model, state):
    """The states that have an inverse, and those within."""
    if hasattr(state, "inverse"):
        return [state]
    if hasattr(state, "parts"):
        return list(state.parts)
    restarts = isinstance(getattr(model, "inner", model), Restarting) or isinstance(model, Restarting)
    return list(state.members[:1] if restarts else state.members)


def of_model(model, state, x):
    """Bonus and mean of candidates at a price of 1, `(A,n)->(A),(A)`."""
    worth = model.value(state, x, np.ones((len(x), 1, 1, 1)), np.zeros((len(x), 0)))
    return worth.mean[:, 0], worth.bonus[:, 0]


def design(model, x):
    """What V gains from plays, and of which rows, `(P,n)->(P,m),(P)`."""
    if isinstance(model, PerAction | Stacked):
        return x[:, :, 1:], np.arange(len(x))[:, None] * 3 + x[:, :, 0].astype(int)
    rows = np.arange(len(x))[:, None] + np.zeros(x.shape[:2], int)
    if isinstance(model, Bilinear | BayesianBilinear):
        return np.einsum("rpi,rpj->rpij", x[:, :, :2], x[:, :, 2:]).reshape(*x.shape[:2], -1), rows
    return x, rows


def curvature(model, own, means):
    """p (1 - p) at mean cases, where a model has that, `(A,n)->(A)`."""
    logistic = hasattr(own, "spread")
    p = 1.0 / (1.0 + np.exp(-(means * own.theta).sum(1))) if logistic else 0.0
    return p * (1.0 - p) if logistic else np.ones(len(means))


def believed(own):
    """The variance of a mean before any data, in units of the noise's, as documented: a quarter of a range, or 2."""
    return 4.0 if hasattr(own, "spread") else 1.0


@for_each(("name", "outcomes"), [(name, 12) for name in MODELS] + [(name, 0) for name in BLIND])
def test_widths_are_those_of_what_arrived_and_what_waits(name, outcomes):
    """Beside (V + c W)^-1 by NumPy, with W of the plays that wait and c at their mean.

    Before an outcome V is s / b I, of the mean square s of the plays that wait and the believed variance b.
    """
    model = MODELS[name]
    policy, state, late, context = started(model, outcomes=outcomes)
    plain_mean, plain_bonus = of_model(model, state.model, context.features)
    with unchanged(state), policy._assembly.delay.read(state):
        mean, bonus = of_model(model, state.model, context.features)
    for own in estimates(model, state.model):
        gram, total, plays = np.zeros(own.inverse.shape), np.zeros(own.inverse.shape[:2]), np.zeros(len(own.inverse))
        for d in late:
            z, rows = design(model, d.features)
            for r in range(2):
                if d.counted[r] > 0.0 and z[r, 0].any():
                    gram[rows[r, 0]] += np.outer(z[r, 0], z[r, 0])
                    total[rows[r, 0]] += z[r, 0]
                    plays[rows[r, 0]] += 1.0
        assert plays.sum() >= (8 if outcomes else 6)
        precision = np.zeros(gram.shape)
        for row in np.flatnonzero(plays):
            square = np.trace(gram[row]) / plays[row] / believed(own)
            precision[row] = np.linalg.inv(own.inverse[row]) if outcomes else square * np.eye(gram.shape[1])
        curve = curvature(model, own, total / np.maximum(plays, 1)[:, None])
        own.inverse = own.inverse.copy()
        for row in np.flatnonzero(plays):
            own.inverse[row] = np.linalg.inv(precision[row] + curve[row] * gram[row])
    _, expected = of_model(model, state.model, context.features)
    np.testing.assert_array_equal(mean, plain_mean)
    np.testing.assert_allclose(bonus, expected, rtol=1e-8, atol=1e-12)
    assert (bonus <= plain_bonus + 1e-12).all()
    assert (bonus < plain_bonus - 1e-6).any()


ENDS = {
    "outcomes": lambda policy, state, d: policy.learn(state, d, np.ones((2, 1, 1))),
    "unobserved": lambda policy, state, d: policy.learn(
        state, d, np.zeros((2, 1, 1)), observed=np.zeros((2, 1, 1), bool)
    ),
    "not exposed": lambda policy, state, d: policy.learn(state, d, np.zeros((2, 1, 1)), exposed=np.zeros((2, 1), bool)),
    "an expiry": lambda policy, state, d: policy.expire(state, d),
    "a cancellation": lambda policy, state, d: policy.cancel(state, d),
}


@for_each("end", list(ENDS))
def test_nothing_waits_once_all_decisions_are_settled(end):
    """Whatever the order, and then widths are the model's own, bit for bit."""
    for name, outcomes in (("ridge by action", 12), ("logistic", 12), ("products", 12), ("ridge by action", 0)):
        for order in (1, -1):
            policy, state, late, context = started(MODELS[name], outcomes=outcomes)
            for d in late[::order]:
                ENDS[end](policy, state, d)
            assert state.waiting.some == 0
            assert not any(z.any() for s in state.waiting.sums for _, z in flatten(s))
            plain = of_model(policy.model, state.model, context.features)
            with policy._assembly.delay.read(state):
                np.testing.assert_array_equal(of_model(policy.model, state.model, context.features), plain)


def test_plays_of_a_list_stop_waiting_one_by_one():
    world = Letters(horizon=400, delay=50, plays=2)
    policy = eh.resolving(world.problem, PerAction(inner=BayesianRidge(n_features=2, n_outcomes=2), actions=3))
    state, there = policy.start(seed=1, replicas=1), world.start(1, np.arange(1))
    decisions = [policy.act(state, there.context(t)) for t in range(3)]
    first, y = decisions[0], np.zeros((1, 2, 2))

    def waiting():
        policy._assembly.delay._add_last(state)
        return [s.plays.sum() for s in state.waiting.sums]

    assert (first.plays >= 0).all()
    made = sum(int((d.plays >= 0).sum()) for d in decisions)
    assert waiting() == [made]
    policy.learn(state, first, y, pending=np.array([[False, True]]))
    assert waiting() == [made - 1]
    policy.learn(state, first, y)
    assert waiting() == [made - 2]


def test_without_delay_the_same_actions_are_taken():
    """As by a policy that counts nothing: outcomes come before the next decision."""
    for model in (MODELS["logistic by action"], MODELS["memories"]):
        traces = []
        for counts in (True, False):
            policy = policy_of(model)
            if not counts:
                vars(policy._assembly.delay)["_waits"] = None
            state, rng = policy.start(seed=1, replicas=2), np.random.default_rng(5)
            for _ in range(60):
                d = policy.act(state, context_of(rng))
                policy.learn(state, d, (rng.random((2, 1, 1)) < 0.3) * 1.0)
                traces.append(d)
        for one, other in zip(traces[:60], traces[60:], strict=True):
            np.testing.assert_array_equal(one.plays, other.plays)
            np.testing.assert_array_equal(one.propensities, other.propensities)


def test_what_rounding_leaves_of_very_large_features_is_not_taken_for_a_play():
    """Sums that are not those of any plays: below 0, and far from symmetric in size."""
    inverse = np.array([[[2.0, 0.5], [0.5, 1.0]]])
    for gram in ([[-10.0, 0.0], [0.0, 1.0]], [[1.0, 1e9], [1e9, -3.0]]):
        found = np.empty((1, 2, 2))
        _expect(inverse, np.array([gram]), np.ones(1), np.ones(1), 1.0, np.full((1, 10), np.nan), found)
        np.testing.assert_array_equal(found, inverse)


def test_what_is_not_a_number_is_left_before_an_outcome():
    """Squares of tiny features that underflow, and of large ones that overflow."""
    for size in (0.0, np.inf):
        found = np.empty((1, 2, 2))
        gram = np.array([[[size, 1.0], [1.0, size]]])
        _expect(np.zeros((1, 2, 2)), gram, np.ones(1), np.ones(1), 1.0, np.full((1, 10), np.nan), found)
        np.testing.assert_array_equal(found, np.zeros((1, 2, 2)))


def test_an_inverse_is_made_again_where_only_the_number_of_plays_changed():
    """A play with tiny features may change no digit of the sums, but their mean; b / s is 1, and 2 for two plays."""
    known, found = np.full((1, 4), np.nan), np.empty((1, 1, 1))
    for plays in (1.0, 2.0):
        _expect(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), np.full(1, plays), np.ones(1), 1.0, known, found)
        assert found.item() == pytest.approx(plays / (1.0 + plays))


@pytest.mark.parametrize("model", [BayesianRidge(n_features=2), BayesianLogistic(n_features=2)])
def test_what_is_forgotten_is_as_before_any_data(model):
    """Its bonuses too, which read what waits from then on."""
    rng, (low, high) = np.random.default_rng(4), (np.zeros(1), np.ones(1))
    state, fresh, x = model.start(1, low, high, 50), model.start(1, low, high, 50), rng.random((1, 3, 2))
    for _ in range(5):
        model.update(state, x, np.ones((1, 3, 1)), np.ones((1, 3, 1), bool), np.ones((1, 1, 1, 1)))
    model.fade(state, np.zeros(1), np.ones(1))
    np.testing.assert_array_equal(of_model(model, state, x), of_model(model, fresh, x))
    assert not state.inverse.any()


def waiting_bonus(model, plays, x, low=0.0, high=1.0, features=1.0):
    """Bonuses of candidates while plays wait, `(T,n),(A,n)->(A)`, without an outcome, and of the model alone."""
    problem = replace(SHOP, outcomes=(eh.Outcome("answer", low=low, high=high), SHOP.outcomes[1]))
    policy = eh.resolving(problem, model)
    state, delay = policy.start(), policy._assembly.delay
    for number, play in enumerate(plays):
        delay.commit(state, Plays(np.array([number]), features * play[None, None], np.zeros((1, 1), int), np.ones(1)))
    alone = of_model(model, state.model, features * x[None])[1][0]
    with delay.read(state):
        return of_model(model, state.model, features * x[None])[1][0], alone


def test_k_plays_on_their_way_are_worth_k_observations_by_hand():
    """x^T V^-1 x is 1 / (1 + k) of what is believed at x = 1, for either model: an observation is worth the prior."""
    one = np.ones((1, 1))
    for model, noise, variance in (
        (BayesianRidge(n_features=1), 1 / 4, 1.0),
        (BayesianLogistic(n_features=1), 1 / 2, 1.0),
    ):
        for k in range(4):
            found, alone = waiting_bonus(model, [one[0]] * k, one)
            reached = [noise * reach(variance / (1 + i), 400.0, 1) for i in (0, k)]
            ends = np.inf if isinstance(model, BayesianRidge) else 0.5
            assert alone.item() == pytest.approx(min(reached[0], 1.0, ends))
            assert found.item() == pytest.approx(min(reached[1], 1.0, ends))


@for_each("name", list(BLIND))
def test_bonuses_before_an_outcome_have_no_units_and_no_order(name):
    """Powers of 2 change no digit; a candidate that plays say nothing of is as it was, however large its features."""
    rng, model = np.random.default_rng(2), MODELS[name]
    context = context_of(rng, 1)
    x, by_action = context.features[0], isinstance(model, PerAction | Stacked)
    plays = [*[x[1]] * 20, *[x[2]] * 10, context_of(rng, 1).features[0, 1]]
    found, alone = waiting_bonus(model, plays, x)
    assert (found <= alone).all()
    assert found[1] < found[2] < alone[2]
    if not by_action:  # whose first feature is the action
        np.testing.assert_array_equal(waiting_bonus(model, plays, x, features=1024.0)[0], found)
        np.testing.assert_array_equal(waiting_bonus(model, plays, x, features=1 / 1024.0)[0], found)
        far = waiting_bonus(model, plays[:1], 1e6 * rng.random((3, 6)))
        np.testing.assert_array_equal(*far)
    else:
        assert found[0] == alone[0]
        swapped = [np.concatenate([[2.0 - z[0]], z[1:]]) for z in (*plays, *x[::-1])]
        np.testing.assert_array_equal(waiting_bonus(model, swapped[:-3], np.array(swapped[-3:]))[0], found[::-1])
        wide = np.concatenate([x[:, :1], 1024.0 * x[:, 1:]], 1)
        own = [np.concatenate([z[:1], 1024.0 * z[1:]]) for z in plays]
        np.testing.assert_array_equal(waiting_bonus(model, own, wide)[0], found)
    if "logistic" not in name and name not in ("restarting by action", "parts"):
        np.testing.assert_array_equal(waiting_bonus(model, plays, x, high=8.0)[0], 8.0 * found)


def test_actions_of_which_as_little_is_known_take_turns():
    """By hand: three actions that cost nothing, of which each is played once in any three rounds; ties are drawn."""
    problem = eh.Problem(actions=("a", "b", "c"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    context = eh.core.records.Context(
        np.stack([np.arange(3.0), np.ones(3)], 1)[None].repeat(40, 0),
        np.zeros((1, 3, 0)),
        np.zeros((40, 1, 0), int),
        np.ones((1, 3), bool),
    )
    for inner in (
        BayesianRidge(n_features=1),
        BayesianLogistic(n_features=1),
        Memories(inner=BayesianRidge(n_features=1)),
    ):
        policy = eh.resolving(problem, PerAction(inner=inner, actions=3))
        state, count = policy.start(seed=3, replicas=40), np.zeros((40, 3))
        for t in range(9):
            decision = policy.act(state, context)
            count[np.arange(40), decision.plays[:, 0]] += 1
            np.testing.assert_allclose(decision.propensities, 1.0 / (3 - t % 3))
            assert (np.ptp(count, axis=1) == (0 if t % 3 == 2 else 1)).all()
        assert len(np.unique(count[:, 0])) == 1


@pytest.mark.parametrize("outcomes", [12, 0])
def test_a_saved_state_goes_on_with_the_same_actions(tmp_path, outcomes):
    policy, state, late, context = started(MODELS["logistic by action"], outcomes=outcomes)
    policy.save(state, tmp_path / "state.npz")
    loaded = policy.load(tmp_path / "state.npz")
    equal(state, loaded)
    rng = np.random.default_rng(8)
    for i in range(10):
        own = context if i == 0 else context_of(rng)
        one, other = policy.act(state, own), policy.act(loaded, own)
        np.testing.assert_array_equal(one.plays, other.plays)
        if i < len(late):
            policy.learn(state, late[i], np.ones((2, 1, 1)))
            policy.learn(loaded, late[i], np.ones((2, 1, 1)))
    for one, other in zip(state.waiting.sums, loaded.waiting.sums, strict=True):
        equal(one, other)


@for_each(("name", "outcomes"), [("logistic by action", 12), *((name, 0) for name in BLIND)])
def test_a_frozen_state_counts_what_waits_as_the_state_does(name, outcomes):
    policy, solo, _, context = started(MODELS[name], replicas=1, outcomes=outcomes)
    with unchanged(solo):
        at = freeze(policy, solo)
        one, other = policy.decide(solo, context), policy.decide(at, context)
    assert policy.worth(solo, context, one).tolist() == policy.worth(at, context, other).tolist()
    plain, counts = (estimates(policy.model, z.model) for z in (solo, at))
    assert any((z.inverse != own.inverse).any() for z, own in zip(plain, counts, strict=True))


def answers(at_once):
    """Expected answers of 32 replicas whose later outcomes take half of the run."""
    world = Letters(horizon=800, delay=400, at_once=at_once, differ=True)
    model = PerAction(inner=BayesianLogistic(n_features=2), actions=3)
    trace = simulate(eh.resolving(world.problem, Stacked((model, model))), world, replicas=32, seed=7, progress=False)
    assert (trace.total("cents") <= 50.0 * 800 + 1e-6).all()
    return trace.in_expectation().total("answer")


@pytest.mark.parametrize("outcomes", [12, 0])
def test_a_decision_is_explained_without_its_own_plays(outcomes):
    """Until the next one is made; the decisions before it count."""
    policy, state, _, context = started(MODELS["logistic by action"], outcomes=outcomes)
    ask, decision = policy._assembly.questions, policy.act(state, context)

    def worth(reading):
        prices, offset = ask.model_prices(state, context, decision)
        with reading(state):
            said = ask.worth(state, context.features, prices)
        return net(said.mean, said.bonus) + offset

    without, of_all = worth(policy._assembly.delay.read_before), worth(policy._assembly.delay.read)
    assert (of_all < without).any()
    np.testing.assert_array_equal(policy.worth(state, context, decision), without)
    policy.act(state, context)
    np.testing.assert_array_equal(policy.worth(state, context, decision), worth(policy._assembly.delay.read))


def test_what_waits_is_carried_to_a_policy_of_more_actions():
    policy, state, late, _ = started(MODELS["ridge by action"])
    more = replace(
        SHOP,
        actions=(*SHOP.actions, "visit"),
        outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 300, "visit": 400})),
    )
    other = eh.resolving(more, PerAction(inner=BayesianRidge(n_features=5), actions=4))
    grown = other.adopt(state, of=policy)
    for p, s in ((policy, state), (other, grown)):
        p._assembly.delay._add_last(s)
    (before,), (after,) = state.waiting.sums, grown.waiting.sums
    for name in ("gram", "total", "plays"):
        old, new = getattr(before, name), getattr(after, name)
        np.testing.assert_array_equal(new.reshape(2, 4, *new.shape[1:])[:, :3], old.reshape(2, 3, *old.shape[1:]))
        assert not new.reshape(2, 4, -1)[:, 3].any()
    assert before.plays.sum() >= 8
    for d in late:
        other.learn(grown, d, np.ones((2, 1, 1)))
    assert grown.waiting.some == 0


def test_an_arm_has_the_width_of_its_plays_with_those_that_wait():
    """By hand: two of three outcomes in, N + 1 = 3 for the mean and 4 for the width."""
    problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=50)
    policy = eh.ucb(problem, Tabular(arms=2, confidence=0.5))
    state, x = policy.start(), np.eye(2)[None]
    context = eh.core.records.Context(x, np.zeros((1, 2, 0)), np.zeros((1, 1, 0), int), np.array([[False, True]]))
    first, second, _ = (policy.act(state, context) for _ in range(3))
    for d, y in ((first, 1.0), (second, 0.0)):
        policy.learn(state, d, np.full((1, 1, 1), y))
    third = policy.worth(state, context, policy.decide(state, context))[0, 1]
    mean, c = 1.0 / 3.0, 0.5
    assert third == pytest.approx(min(mean + 2.0 * (np.sqrt(c * mean / 4.0) + c / 4.0), 1.0))


@pytest.mark.slow
def test_a_few_outcomes_are_not_worse_than_none():
    """Before bonuses counted what waits, three outcomes were 7 answers of 117 worse than none, 3.7 standard errors."""
    none = answers(0)
    for at_once in (1, 3, 10, 30):
        more = answers(at_once) - none
        assert more.mean() >= -2.0 * more.std(ddof=1) / np.sqrt(len(more)), at_once
