"""Outcomes of one decision's plays that arrive at different times: the books are those of the same plays at once."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Arrival, Delayed, Matching, Ranking
from evenhand.goals import DualGradient, DualHedge, FrankWolfe, HardBudget, Resolving, Steady
from evenhand.models import BayesianLogistic, BayesianRidge, Bilinear, Fixed, OnlineToBatch, Ridge, Stacked
from evenhand.objectives import AlphaFair, Linear as LinearObjective
from evenhand.policy.saving import flatten
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.problem.rows import select
from evenhand.recipes import cab_ucb, fw_rank, lin_cbwk, resolving, resolving_allocation, unbiased_linucb_rank
from evenhand.run import simulate
from tests import accounts
from tests.examples.environments import AUDIENCE
from tests.states import equal, unchanged
from tests.worlds import Market

USERS, ARMS = 6, 3
MATCHING = Matching(
    users=USERS,
    arms=ARMS,
    horizon=40,
    costs=(0.0, 0.5, 1.0),
    groups={"near": 0.4, "far": 0.6},
    shifts_by_group={"far": -1.0},
    subject_to=(Budget("cost", rate=2.5), Parity("match", by="group", tolerance=0.5)),
)
FREE = Matching(users=USERS, arms=ARMS, horizon=40)
RIDGE = Ridge(n_features=5, width=Fixed(0.2))
PLANNED = resolving_allocation(MATCHING.problem, RIDGE, every=5, may_stay=True)
BILLED = Problem(
    actions=tuple("abcde"),
    outcomes=(Outcome("gain"), Outcome("cost", high=2.0), Outcome("bill", high=3.0, mean=1.0)),
    maximize="gain",
    subject_to=(Budget("cost", total=150), Budget("bill", total=200), Parity("gain", by="team", tolerance=0.2)),
    groups=(Groups("team", ("red", "blue")),),  # shares that are estimated
    horizon=60,
    n_plays=3,
)
SPENT = replace(BILLED, subject_to=BILLED.subject_to[:2])
MARKET = Market(problem=BILLED)
PAIR = Ridge(n_features=3, n_outcomes=2, width=Fixed(0.1))
LISTENERS = Ranking(audience=AUDIENCE, slots=3, horizon=40)


def committed(policy, world, rounds=12, replicas=3):
    """A state that waits for all its outcomes, and these."""
    state = policy.start(seed=1, replicas=replicas)
    there, waiting = world.start(1, state.replicas), []
    for step in range(rounds):
        context = there.context(step)
        taken, arrivals = there.respond(step, context, policy.decide(state, context))
        policy.commit(state, context, taken)
        waiting += arrivals
    return state, waiting


def divided(a, due):
    """An arrival in parts, each with what is due at the same time, `(R,P)`."""
    due = np.where(a.decision.plays >= 0, due, -1)
    for now in np.unique(due[due >= 0]):
        y = np.where(((due >= 0) & (due != now))[:, :, None], np.nan, a.y)
        yield now, Arrival(a.step, a.decision, y, a.exposed, due > now)


def learn(policy, state, a):
    policy.learn(state, a.decision, a.y, exposed=a.exposed, pending=a.pending)


def learn_in_parts(policy, state, waiting, seed=0, most=30):
    """The plays of all rounds, in an order of their own."""
    rng = np.random.default_rng(seed)
    parts = []
    for i, a in enumerate(waiting):
        parts += divided(a, i + rng.integers(0, most, a.decision.plays.shape))
    for _, a in sorted(parts, key=lambda part: part[0]):
        learn(policy, state, a)


def books(state):
    """Everything but receipts, and the largest use of a round, which takes the rest of a part to be as planned."""
    return {path: z for path, z in flatten(state) if "receipts" not in path and "jump" not in path}


def assert_alike(a, b):
    mine, other = books(a), books(b)
    assert mine.keys() == other.keys()
    for path, z in mine.items():
        np.testing.assert_allclose(z, other[path], rtol=1e-9, atol=1e-11, err_msg=path)


def far_from_zero(policy):
    """Prices that no step brings to 0, so that the order of the steps does not matter."""
    far = [replace(g, start_at=(50.0,) * len(g.rows)) if isinstance(g, DualGradient) else g for g in policy.goals]
    return replace(policy, goals=tuple(far))


POLICIES = {
    "cab_ucb": (cab_ucb(FREE.problem, RIDGE), FREE),
    "resolving_allocation": (PLANNED, MATCHING),
    "resolving": (resolving(BILLED, PAIR, warmup=3), MARKET),
    "resolving, concave": (resolving(replace(BILLED, maximize=AlphaFair(("gain", "bill"), 0.5)), PAIR, warmup=0), None),
    "lin_cbwk": (lin_cbwk(SPENT, PAIR), None),
    "fw_rank": (far_from_zero(fw_rank(BILLED, PAIR, resolving(BILLED, PAIR).choice, step=0.1)), MARKET),
    "unbiased": (unbiased_linucb_rank(LISTENERS.problem, Bilinear(n_user_features=2, n_item_features=2)), LISTENERS),
}


@pytest.mark.parametrize("name", POLICIES)
def test_books_are_those_of_the_same_plays_at_once(name):
    policy, world = POLICIES[name]
    state, waiting = committed(policy, world or Market(problem=policy.problem))
    parts = copy.deepcopy(state)
    for a in waiting:
        learn(policy, state, a)
    learn_in_parts(policy, parts, waiting)
    assert_alike(parts, state)
    assert len(parts.receipts.waiting()) == 0
    kinds = {type(g) for g in policy.goals}
    assert name not in ("fw_rank", "resolving") or kinds >= {HardBudget}
    assert name != "fw_rank" or kinds >= {FrankWolfe, DualGradient}
    assert name != "lin_cbwk" or DualHedge in kinds
    assert name not in ("resolving", "resolving_allocation") or Resolving in kinds


def test_a_part_counts_as_its_share_of_the_round():
    """Prices and averages are in step with what has arrived: neither the first part nor the last is the whole round."""
    rows = select(BILLED, ("gain",))
    goal = FrankWolfe(rows=rows, objective=LinearObjective({"gain": 1.0}), start_at=(0.5,))
    policy = replace(POLICIES["fw_rank"][0], problem=replace(BILLED, maximize=goal.objective), goals=(goal,))
    state, (a, *_) = committed(policy, MARKET, rounds=1, replicas=1)
    for now, part in divided(a, np.array([[0, 1, 2]])):
        learn(policy, state, part)
        rounds = state.goals[0].rounds[0, 0]
        assert rounds == pytest.approx((now + 1) / 3, abs=1e-6)
        assert goal.average(state.goals[0])[0, 0] == pytest.approx(3 * a.y[0, : now + 1, 0].mean(), rel=1e-5)
    assert rounds == 1.0


def test_a_dual_price_is_charged_in_step_with_what_arrives():
    """Three equal costs at the bound: no price moves, in whatever parts they arrive."""
    rows, three = select(BILLED, ("cost",)), np.full(1, 3.0)
    goal = DualGradient(rows=rows, bound=three, step=Steady(0.1), start_at=(1.0,))
    policy = replace(POLICIES["fw_rank"][0], goals=(POLICIES["fw_rank"][0].goals[0], goal))
    state, (a, *_) = committed(policy, MARKET, rounds=1, replicas=1)
    a.y[:, :, :] = 1.0
    for _, part in divided(a, np.array([[0, 1, 2]])):
        learn(policy, state, part)
        np.testing.assert_allclose(accounts.duals(policy, state), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [BayesianRidge(n_features=5), BayesianLogistic(n_features=5), Stacked((BayesianLogistic(n_features=5),))],
    ids=lambda m: type(m).__name__,
)
def test_models_that_count_rounds_count_parts_as_shares(model):
    policy = cab_ucb(FREE.problem, model)
    state, waiting = committed(policy, FREE)
    learn_in_parts(policy, state, waiting)
    for part in getattr(state.model, "parts", [state.model]):
        np.testing.assert_array_equal(part.rounds, 12.0)


def test_copies_of_states_keep_the_rounds_that_they_had():
    """A part of each user: a copy that was made after so many observations has as many rounds per user."""
    policy = cab_ucb(FREE.problem, OnlineToBatch(inner=BayesianRidge(n_features=5), snapshots=4))
    state, waiting = committed(policy, FREE)
    learn_in_parts(policy, state, waiting)
    for r in range(3):
        for copied in state.model.past[: state.model.kept[r]]:
            np.testing.assert_allclose(copied.rounds[r], copied.count[r] / USERS, atol=1e-4)
    np.testing.assert_array_equal(state.model.inner.rounds, 12.0)


def first_user(a):
    """The outcome of the first user alone."""
    return next(divided(a, np.tile(np.arange(a.decision.plays.shape[1]), (len(a.y), 1))))[1]


def test_an_outcome_of_a_user_is_learned_once():
    state, (a, *_) = committed(PLANNED, MATCHING)
    part = first_user(a)
    learn(PLANNED, state, part)
    with unchanged(state):
        with pytest.raises(InvalidInput, match=r"^pending: expected at least one play whose outcome arrives, got none"):
            learn(PLANNED, state, part)  # the same again
        y = np.where(part.pending[:, :, None], a.y, 1.0)
        with pytest.raises(
            InvalidInput, match=r"'match' of replica 0: expected 0 or NaN where a play .* settled before"
        ):
            PLANNED.learn(state, a.decision, y)
        with pytest.raises(
            InvalidInput, match=r"^pending\[0, 0\]: expected a play .* still to come, got one .* settled"
        ):
            PLANNED.learn(state, a.decision, np.nan * a.y, pending=np.ones_like(part.pending))
    PLANNED.learn(state, a.decision, np.where(part.pending[:, :, None], a.y, 0.0))
    with pytest.raises(InvalidInput, match="got number 0, settled before"):
        learn(PLANNED, state, part)


@pytest.mark.parametrize(
    ("pending", "y", "message"),
    [
        (np.zeros((3, 1), bool), None, rf"^pending: expected true or false, of shape \(3, {USERS}\)"),
        (np.zeros((3, USERS)), None, "^pending: expected true or false"),
        ([[True]], None, "^pending: expected an array, got list"),
        (
            np.eye(3, USERS, dtype=bool),
            1.0,
            r"^outcome 'match' of replica 0: expected 0 or NaN where a play is pending",
        ),
        (np.eye(3, USERS, dtype=bool), np.nan, r"^outcome 'match' of replica 0: expected a finite number"),
        (np.ones((3, USERS), bool), 0.0, "^pending: expected at least one play whose outcome arrives, got none"),
    ],
)
def test_backlog_plays_that_make_no_sense(pending, y, message):
    state, (a, *_) = committed(PLANNED, MATCHING)
    with pytest.raises(InvalidInput, match=message):
        PLANNED.learn(state, a.decision, a.y if y is None else np.full_like(a.y, y), pending=pending)
    assert len(state.receipts.split) == 0
    learn(PLANNED, state, a)


def test_a_part_of_another_state_or_of_what_was_changed_is_refused():
    state, (a, *_) = committed(PLANNED, MATCHING)
    other, _ = committed(PLANNED, MATCHING)
    learn(PLANNED, state, first_user(a))
    with pytest.raises(InvalidInput, match="got number 0 of another state"):
        learn(PLANNED, other, first_user(a))
    plays = np.where(a.decision.plays == a.decision.plays[0, 0], -1, a.decision.plays)
    with pytest.raises(InvalidInput, match=r"^decision: expected the plays, .* with which number 0 was committed"):
        PLANNED.learn(state, a.decision._replace(plays=plays), np.nan * a.y)


def test_nothing_pending_is_the_whole_round_bit_for_bit():
    state, waiting = committed(PLANNED, MATCHING)
    marked = copy.deepcopy(state)
    for a in waiting:
        learn(PLANNED, state, a)
        learn(PLANNED, marked, a._replace(pending=np.zeros(a.decision.plays.shape, bool)))
    equal(state, marked)


@pytest.mark.parametrize("name", POLICIES)
def test_replicas_that_wait_for_nothing_are_as_alone(name):
    """One replica's outcomes arrive in parts, the others' at once: bit for bit what these are without it."""
    policy, world = POLICIES[name]
    state, waiting = committed(policy, world or Market(problem=policy.problem))
    parts = copy.deepcopy(state)
    for a in waiting:
        learn(policy, state, a)
        due = np.zeros(a.decision.plays.shape, int)
        due[1] = np.arange(due.shape[1])
        for _, part in divided(a, due):
            learn(policy, parts, part)
    mine, other = books(parts), books(state)
    for path, z in mine.items():
        if z.ndim and len(z) == 3:
            np.testing.assert_array_equal(z[::2], other[path][::2], err_msg=path)
    assert_alike(parts, state)


def test_parts_survive_a_restart(tmp_path):
    state, waiting = committed(PLANNED, MATCHING)
    for a in waiting[:10]:
        learn(PLANNED, state, first_user(a))
    PLANNED.save(state, tmp_path / "state.npz")
    PLANNED.save_decision(waiting[0].decision, tmp_path / "decision.npz")
    back = PLANNED.load(tmp_path / "state.npz")
    with pytest.raises(InvalidInput, match="some outcomes arrived"):
        PLANNED.cancel(back, PLANNED.load_decision(tmp_path / "decision.npz"))
    for a in waiting:
        rest = a if a.step >= 10 else a._replace(y=np.where(first_user(a).pending[:, :, None], a.y, 0.0))
        for s in (state, back):
            learn(PLANNED, s, rest)
    equal(state, back)
    assert len(back.receipts.waiting()) == 0


def test_lines_of_receipts_are_used_again():
    state, waiting = committed(PLANNED, MATCHING, rounds=20)
    for a in waiting[:10]:
        learn(PLANNED, state, first_user(a))
    assert len(state.receipts.split) == 16
    for a in waiting[:10]:
        PLANNED.expire(state, a.decision)
    for a in waiting[10:]:
        learn(PLANNED, state, first_user(a))
    assert len(state.receipts.split) == 16
    np.testing.assert_array_equal(state.receipts.waiting(), np.arange(10, 20))


def test_a_decision_of_which_something_arrived_cannot_be_cancelled():
    state, (a, *_) = committed(PLANNED, MATCHING)
    learn(PLANNED, state, first_user(a))
    with unchanged(state):
        message = (
            r"^decision: expected one of which nothing was learned yet; .* got number 0, of which some outcomes arrived"
        )
        with pytest.raises(InvalidInput, match=message):
            PLANNED.cancel(state, a.decision)


class _InHalves:
    """All outcomes come one step late, those of the first places before the others."""

    unsaveable = "outcomes are under way"

    def __init__(self, world):
        self._world, self._late = world, []
        self.steps, self.counts_idle_steps = world.steps, world.counts_idle_steps
        self.context, self.expected = world.context, world.expected

    def respond(self, step, context, decision):
        now, (taken, arrivals) = self._late, self._world.respond(step, context, decision)
        places = np.arange(decision.plays.shape[1]) // 2
        self._late = [part for a in arrivals for _, part in divided(a, np.tile(places, (len(a.y), 1)))]
        return taken, now


class InHalves:
    def __init__(self, environment):
        self.problem, self.n_features = environment.problem, environment.n_features
        self.start = lambda seed, replicas: _InHalves(environment.start(seed, replicas))


@pytest.mark.parametrize("name", ["resolving_allocation", "cab_ucb"])
def test_all_parts_one_step_late_are_the_round_one_step_late(name):
    policy, world = POLICIES[name]
    late = simulate(policy, Delayed(world, 1), replicas=3, record="all", progress=False)
    parts = simulate(policy, InHalves(world), replicas=3, record="all", progress=False)
    np.testing.assert_array_equal(parts.plays.actions, late.plays.actions)
    np.testing.assert_array_equal(parts.plays.outcomes, late.plays.outcomes)
    for field in ("totals", "group_totals", "measured", "measured_expected", "under_way", "elapsed"):
        np.testing.assert_allclose(getattr(parts, field), getattr(late, field), rtol=1e-12, err_msg=field)
    assert late.under_way[-1].tolist() == [1.0] * 3


def test_a_trace_has_what_arrived_and_measures_of_whole_rounds():
    trace = simulate(PLANNED, Delayed(MATCHING, (0, 9)), replicas=4, record="all", progress=False)
    made, y = trace.plays.actions >= 0, trace.plays.outcomes[..., 0]
    arrived = made & ~np.isnan(y)
    assert 0 < arrived.sum() < made.sum()
    np.testing.assert_allclose(trace.total("match"), np.where(arrived, y, 0.0).sum((0, 2)))
    whole = (arrived == made).all(2)
    assert (whole[:-9]).all()
    assert not whole.all()
    satisfaction = np.zeros(4)
    for step, r in np.argwhere(whole & made.any(2)):
        plays = trace.plays.actions[step, r]
        sums = np.bincount(plays[plays >= 0] % ARMS, y[step, r, plays >= 0], ARMS)
        satisfaction[r] += np.minimum(sums, 5.0).sum()
    np.testing.assert_allclose(trace.total("satisfaction"), satisfaction)
    missing = 1.0 - arrived.sum(2) / np.maximum(made.sum(2), 1)
    np.testing.assert_allclose(trace.under_way[-1], (missing * made.any(2)).sum(0), atol=1e-4)
    late = (np.nan_to_num(y[-9:]) * arrived[-9:]).sum()
    assert late > 0  # parts of the last rounds are in the totals


def test_hard_budgets_hold_while_bills_are_under_way():
    """What all plays so far will have cost, whenever it arrives, is within the budget at every step."""
    outcomes = (*SPENT.outcomes[:2], Outcome("bill", high=3.0, mean=0.3))
    budgets = (Budget("cost", total=70), Budget("bill", total=100))
    problem = replace(SPENT, outcomes=outcomes, subject_to=budgets, horizon=80)
    policy, world = resolving(problem, PAIR, warmup=0), Market(problem=problem)
    trace = simulate(policy, Delayed(world, (0, 25)), replicas=5, seed=3, record="all", progress=False)
    at_once = simulate(policy, world, replicas=5, seed=3, record="all", progress=False)
    for run in (trace, at_once):
        spent = really_spent(world, run)
        assert (spent[-1] <= [70, 100]).all()
        assert (spent[-1] > [70 - 3 * 2, 100 - 3 * 3]).any(1).all()  # it binds: three plays may not fit any more
    full = (trace.plays.actions >= 0).all(2)
    assert (~full[:-1] & full[1:]).any()  # places stay empty until what was held back for others is released


def really_spent(world, trace):
    """Cumulative costs and bills of all plays, arrived or not, `->(S,R,2)`."""
    there, sums = world.start(trace.seed, trace.replicas), []
    for step, plays in enumerate(trace.plays.actions):
        x = np.take_along_axis(there.context(step).features, np.maximum(plays, 0)[:, :, None], 1)
        _, (a,) = there.respond(step, None, SimpleNamespace(plays=plays, features=x))
        sums.append(a.y[:, :, 1:].sum(1))
    return np.cumsum(sums, 0)
