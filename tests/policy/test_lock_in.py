"""Policies that never explore lock in: they say so, and runs name the replicas that did."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.choices import Floored, HeldOut, InverseGap, Staged, TopK
from evenhand.choices.base import greedy
from evenhand.core.errors import EvenhandWarning
from evenhand.core.records import Context
from evenhand.environments import MixedArms
from evenhand.models import BayesianRidge, Fixed, Gradient, NullModel, Ridge, Sampled
from evenhand.recipes import fw_dual, lyapunov, pgd, ucb, uniform
from evenhand.run.recorder import _CLOCK, _count
from evenhand.run.simulation import join

T, REPLICAS = 200, 50
SHOP = eh.Problem(
    actions=("nothing", "call"),
    outcomes=(eh.Outcome("sale"), eh.Outcome("calls", known={"call": 1})),
    maximize="sale",
    subject_to=(eh.Budget("calls", total=T),),
    horizon=T,
)
CHANCES = np.array([0.2, 0.6])  # of a sale: without a call, and after one


def by_action(model):
    return eh.PerAction(inner=model, actions=2)


def offered(replicas):
    """Both actions, which have an intercept each."""
    features = np.tile([[0.0, 1.0], [1.0, 1.0]], (replicas, 1, 1))
    known = np.tile([[0.0], [1.0]], (replicas, 1, 1))
    return Context(features, known, np.zeros((replicas, 1, 0), np.int64), np.ones((replicas, 2), bool))


def plays(policy):
    """Which action is played, `(T,R)`, in a world whose first two calls fail in every third replica."""
    state, context, rng = policy.start(replicas=REPLICAS, seed=1), offered(REPLICAS), np.random.default_rng(2)
    found, calls = np.zeros((T, REPLICAS), np.int64), np.zeros(REPLICAS)
    for t in range(T):
        decision = policy.act(state, context)
        found[t] = a = decision.plays[:, 0]
        unlucky = (np.arange(REPLICAS) % 3 == 0) & (a == 1) & (calls < 2)
        sale = (rng.random(REPLICAS) < CHANCES[a]) & ~unlucky
        calls += a
        policy.learn(state, decision, sale.astype(float)[:, None, None])
    return found


def told(policy):
    """The warnings of a first decision."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        policy.act(policy.start(), offered(1))
    return [str(w.message) for w in found]


def test_a_policy_without_optimism_locks_in_and_says_so():
    with pytest.warns(EvenhandWarning, match=r"never explores: PerAction adds no width .*width=Fixed\(0.3\)") as found:
        locked = (plays(eh.resolving(SHOP, by_action(Ridge(n_features=1)))) == 0).all(0)
    assert [w.filename for w in found] == [__file__]  # once, at the line that decides
    assert locked.sum() > REPLICAS / 4  # never called, although a call triples the chance of a sale


@pytest.mark.parametrize("model", [by_action(Ridge(n_features=1, width=Fixed(0.5))), None], ids=["width", "default"])
def test_optimism_finds_the_better_action_after_bad_luck(model):
    policy = eh.resolving(SHOP, model)
    assert not told(policy)
    late = plays(policy)[T // 2 :]
    assert ((late == 0).all(0)).sum() <= 1


BARE = by_action(Ridge(n_features=1))


@pytest.mark.parametrize(
    "policy",
    [
        eh.resolving(SHOP, BARE),
        eh.resolving(SHOP, BARE, warmup=10),
        eh.resolving(SHOP, BARE, holdout=eh.Holdout(0.1, lottery={"nothing": 1})),
        eh.resolving(SHOP, by_action(Gradient(n_features=1))),
        ucb(SHOP, BARE),
        pgd(SHOP, BARE),
        fw_dual(SHOP, BARE),
        lyapunov(SHOP, BARE),
    ],
    ids=lambda p: p.name,
)
def test_optimistic_recipes_warn_of_models_without_a_width(policy):
    assert len(told(policy)) == 1


@pytest.mark.parametrize(
    "policy",
    [
        eh.resolving(SHOP, BARE, holdout=0.1),
        eh.resolving(SHOP, BARE, explore=0.02),
        eh.resolving(SHOP, BARE, choice=InverseGap(10.0)),
        eh.resolving(SHOP, by_action(BayesianRidge(n_features=1))),
        eh.resolving(SHOP, by_action(Sampled(inner=Ridge(n_features=1)))),
        uniform(SHOP, 1),
        ucb(SHOP, NullModel(n_features=2)),
    ],
    ids=lambda p: p.name,
)
def test_policies_that_explore_or_learn_nothing_do_not_warn(policy):
    context = offered(1)
    if policy.model.n_features == 1 and not isinstance(policy.model, eh.PerAction):
        context = context._replace(features=context.features[:, :, :1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.act(policy.start(), context)


def test_outcomes_below_zero_have_room_for_optimism_at_one_end():
    """Optimism cannot raise a mean of 0 above a range that ends at 0; at a negative price it shows."""
    loss = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("loss", low=-1, high=0),), maximize="loss", horizon=9)
    policy = ucb(loss, by_action(Ridge(n_features=1, width=Fixed(0.1))), warmup=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.act(policy.start(), offered(1)._replace(known=np.zeros((1, 2, 0))))


def test_a_state_with_data_does_not_warn_again():
    policy = eh.resolving(SHOP, BARE)
    state = policy.start()
    with pytest.warns(EvenhandWarning, match="never explores"):
        policy.act(state, offered(1))
    state.recent.compared = False  # as after loading
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.act(state, offered(1))


def test_choices_that_mix_are_greedy_only_if_some_action_is_left_out():
    assert greedy(Staged(20, TopK()))
    assert greedy(HeldOut(0.1, TopK(), (1.0, 0.0)))
    assert not greedy(HeldOut(0.1, TopK(), (1.0, 0.5)))
    assert not greedy(HeldOut(0.1, TopK()))
    assert not greedy(HeldOut(0.1, InverseGap(1.0), (1.0, 0.0)))
    assert not greedy(Floored(0.1, TopK()))


WORLD = MixedArms(horizon=400)


def ran(model=None, **options):
    model = BayesianRidge(n_features=WORLD.n_features, n_outcomes=3) if model is None else model
    return eh.simulate(eh.resolving(WORLD.problem, model), WORLD, replicas=30, progress=False, **options)


@pytest.fixture(scope="module")
def bare():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvenhandWarning)
        return ran(Ridge(n_features=WORLD.n_features, n_outcomes=3), record="all")


def test_rounds_with_one_action_are_those_of_the_plays(bare):
    """Counted backwards from the last play, up to another action or a round with something masked."""
    plays, counted = bare.plays.actions[:, :, 0], bare.plays.counted
    for r in range(30):
        played = plays[counted[:, r] > 0, r]
        run = len(played) - np.flatnonzero(np.append(True, played[1:] != played[:-1]))[-1]
        assert bare.same[r] == played[-1]
        last = bare.elapsed[-1, r] - bare.same_since[r]
        assert last == run if np.isnan(bare.restricted_after[r]) else last <= run


def test_a_round_with_something_masked_begins_the_count_again():
    """By hand: both play action 1 for ten rounds, and the first had something masked in the fourth."""
    clock, one = np.zeros(2, _CLOCK), np.ones((2, 1), np.int64)
    for t in range(10):
        masked = np.array([float(t == 3), 0.0])
        _count(one, np.ones(2), masked, np.full(2, t + 1.0), np.ones(1), 20.0, True, clock)
    assert (clock["same"] == 1).all()
    assert clock["since"].tolist() == [4.0, 0.0]


def test_a_summary_names_replicas_that_are_locked_in(bare):
    (found,) = bare.summary().locked_in
    value, plays = bare.objective()[-1], bare.plays.actions[:, :, 0]
    a = WORLD.problem.actions.index(found.action)
    others = np.array([r for r in range(30) if set(plays[200:, r]) != {a}])
    for r in found.replicas:
        assert set(plays[200:, r]) == {a}
        assert value[r] < value[others].mean() - 3.0 * value[others].std(ddof=1)
    assert found.objective == pytest.approx(value[list(found.replicas)].mean())
    assert found.others == pytest.approx(value[others].mean())
    assert found.text in bare.summary().title()
    assert found.text in str(eh.run.Comparison((bare,)))


def test_runs_that_explore_have_none():
    assert ran().summary().locked_in == ()


@pytest.fixture(scope="module")
def made():
    """A run of 30 replicas, whose objective is about 0.5, to be changed by hand."""
    return ran(compiled=False)


@pytest.mark.parametrize("options", [{"compiled": True}, pytest.param({"jobs": 2}, marks=pytest.mark.slow)], ids=str)
def test_blocks_and_processes_record_the_bits_of_the_loop(options, made):
    other = ran(**options)
    np.testing.assert_array_equal(made.same, other.same)
    np.testing.assert_array_equal(made.same_since, other.same_since)


def alone(trace, action, rounds, lost, which):
    """A trace in which some replicas play an action alone for the last rounds, and lose a part of the objective."""
    same, since, expected = np.zeros(30, np.int64), trace.elapsed[-1].copy(), trace.expected.copy()
    same[which], since[which] = action, trace.elapsed[-1, which] - rounds
    expected[-1, which] *= 1.0 - lost
    return replace(trace, same=same, same_since=since, expected=expected)


@pytest.mark.parametrize(
    ("action", "rounds", "lost", "which", "named"),
    [
        (1, 200, 0.9, [3, 7], (3, 7)),
        (0, 400, 0.9, [3], (3,)),
        (1, 199, 0.9, [3, 7], ()),  # less than half of the rounds
        (1, 400, 0.0, [3, 7], ()),  # nothing is lost
        (1, 400, 0.0, range(30), ()),  # one action is right for everybody
        (1, 400, 0.9, range(26), ()),  # four others are too few to compare with
        (1, 400, 0.9, range(20), tuple(range(20))),  # most are locked in
    ],
)
def test_a_replica_is_named_where_it_plays_alone_and_loses(made, action, rounds, lost, which, named):
    found = alone(made, action, rounds, lost, list(which)).summary().locked_in
    assert tuple(r for z in found for r in z.replicas) == named
    assert all(z.action == WORLD.problem.actions[action] for z in found)


def test_traces_of_before_and_cut_traces_name_nobody(made, tmp_path):
    assert replace(made, same=None, same_since=None).summary().locked_in == ()
    assert join([alone(made, 1, 400, 0.9, [3]), replace(made, finished=False)]).summary().locked_in == ()
    made.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(eh.run.Trace.load(tmp_path / "run.npz", WORLD.problem).same_since, made.same_since)
