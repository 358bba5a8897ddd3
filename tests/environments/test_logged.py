"""Replay by rejection: unbiased where it should be, and nothing is learned from rows that were not played."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from evenhand.choices import Random, TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments import Delayed, Logged
from evenhand.environments._cases import Cases, blocks as arm_blocks, means, no_groups
from evenhand.environments.logged import blocks, order
from evenhand.goals.linear_reward import reward
from evenhand.models import Fixed, NullModel, Ridge
from evenhand.policy import Policy
from evenhand.problem import Budget, Groups, Outcome, Problem, Unit
from evenhand.recipes import pgd, ucb, uniform
from evenhand.run import play, simulate
from evenhand.run.recorder import _CLOCK, _count
from tests.known import Known
from tests.malformed.environments import LOG

PROBLEM = Problem(actions=("none", "one", "two"), outcomes=(Outcome("gain"),), maximize="gain", horizon=10**6)
THETA = np.array(
    [[0.2, 0.0], [0.3, 0.4], [0.5, -0.3]]
)  # of (1, u): chances of a gain; which action is best depends on u


def chances(u):
    """P(gain | u, action), `(N)->(N, 3)`."""
    return np.stack([np.ones(len(u)), u], 1) @ THETA.T


def make_log(rows, seed, propensity, problem=PROBLEM, **options):
    """Cases u ~ U[0, 1], actions drawn from propensity(u), gains from the truth."""
    rng = np.random.default_rng(seed)
    u = rng.random(rows)
    p = propensity(u)
    actions = (rng.random(rows)[:, None] > np.cumsum(p, 1)[:, :-1]).sum(1)
    gain = rng.random(rows) < chances(u)[np.arange(rows), actions]
    return Logged(
        problem=problem,
        units=np.stack([np.ones(rows), u], 1),
        layout=blocks(3, 2),
        actions=actions,
        propensities=p[np.arange(rows), actions],
        outcomes=gain[:, None].astype(float),
        groups=np.zeros((rows, 0), np.int64),
        **options,
    )


def even(u):
    return np.full((len(u), 3), 1 / 3)


def uneven(u):
    """Action "two" is logged mostly where it is bad; the lowest propensity is 0.1."""
    two = 0.1 + 0.6 * u
    return np.stack([np.full(len(u), 0.2), 0.8 - two, two], 1)


def fixed(choice, theta=THETA):
    """A policy that knows coefficients and learns nothing."""
    known = Known(lambda x: x @ theta.reshape(-1, 1), theta.size)
    return Policy(problem=PROBLEM, model=known, goals=(reward(PROBLEM),), choice=choice)


def quadrature(weights):
    """The value of choosing action a with probability weights(u)[a], and the standard deviation of one gain."""
    u = (np.arange(100_000) + 0.5) / 100_000
    value = float((weights(u) * chances(u)).sum(1).mean())
    return value, math.sqrt(value * (1 - value))


ALWAYS_TWO = fixed(Random((0.0, 0.0, 1.0)))
POLICIES = {
    "contextual": (fixed(TopK(1)), lambda u: np.eye(3)[chances(u).argmax(1)]),
    "blind": (fixed(Random((0.1, 0.3, 0.6))), lambda u: np.tile([0.1, 0.3, 0.6], (len(u), 1))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("propensity", [even, uneven])
def test_replay_estimates_the_true_value_of_a_fixed_policy(name, propensity):
    policy, weights = POLICIES[name]
    truth, deviation = quadrature(weights)
    log = make_log(30_000, 3, propensity)
    trace = simulate(policy, log, replicas=2, progress=False)
    rounds = trace.elapsed[-1]
    lowest = log.propensities.min()
    # Each row counts with the lowest propensity, whatever its case: 5 standard errors of a binomial count.
    assert (np.abs(rounds - lowest * 30_000) < 5 * math.sqrt(lowest * 30_000)).all()
    assert (np.abs(trace.objective()[-1] - truth) < 4.5 * deviation / np.sqrt(rounds)).all()


@pytest.mark.slow
def test_without_coins_the_uneven_log_would_mislead():
    """The test above can fail: propensities that are ignored give a wrong value, by many standard errors."""
    truth, deviation = quadrature(lambda u: np.tile([0.0, 0.0, 1.0], (len(u), 1)))
    log = make_log(30_000, 3, uneven)
    for propensities, misled in ((log.propensities, False), (np.full(30_000, 1 / 3), True)):
        trace = simulate(ALWAYS_TWO, replace(log, propensities=propensities), replicas=1, progress=False)
        errors = abs(trace.objective()[-1, 0] - truth) / deviation * math.sqrt(trace.elapsed[-1, 0])
        assert errors > 6 if misled else errors < 4.5


@dataclass(frozen=True)
class Live:
    """The world that `make_log` logs, met live."""

    problem: Problem
    n_features: int = 6

    def start(self, seed, replicas):
        luck = Luck(seed=seed, replicas=replicas)

        def case(step):
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 1)
            x = arm_blocks(u, 3)[:, 1:]
            return Context(x, np.zeros((1, 3, 0)), no_groups(replicas), np.ones((1, 3), bool))

        return Cases(self.problem.horizon, luck, case, lambda x, plays: means(x, THETA.reshape(1, 6), plays))


@pytest.mark.slow
@pytest.mark.parametrize("propensity", [even, uneven])
def test_a_policy_that_learns_fares_in_replay_as_it_does_live(propensity):
    """Learning curves agree: the mean gain of the first and of the second hundred rounds, over many replicas."""
    problem = replace(PROBLEM, horizon=200)
    policy = ucb(problem, Ridge(n_features=6, width=Fixed(0.3)), warmup=10)
    log = make_log(30_000, 5, propensity, problem)
    live = simulate(policy, Live(problem), replicas=300, progress=False, record="all").plays
    replayed = simulate(policy, log, replicas=300, progress=False, record="all").plays
    for part in range(2):
        means, errors = [], []
        for plays in (live, replayed):
            clock = np.cumsum(plays.counted, 0)
            inside = (plays.counted > 0) & (clock > 100 * part) & (clock <= 100 * (part + 1))
            gain = np.where(inside, plays.outcomes[:, :, 0, 0], 0.0).sum(0) / 100
            means.append(gain.mean())
            errors.append(gain.std(ddof=1) / math.sqrt(300))
        # One log of 30,000 rows stands behind all replays: its own sampling error comes on top, 0.5 / sqrt(accepted).
        shared = 0.5 / math.sqrt(30_000 * log.propensities.min())
        assert abs(means[0] - means[1]) < 4.5 * math.sqrt(errors[0] ** 2 + errors[1] ** 2 + shared**2)


def test_rejected_rows_leave_no_trace():
    """A policy that meets only the accepted rows, live, ends in the very same state."""
    problem = Problem(
        actions=("none", "one", "two"),
        outcomes=(Outcome("gain"), Outcome("cost", known={"one": 1, "two": 2})),
        maximize="gain",
        subject_to=(Budget("cost", rate=0.5),),
        groups=(Groups("half", ["left", "right"]),),  # shares to be estimated: by accepted rounds only
        horizon=150,
    )
    log = replace(make_log(2000, 7, uneven), problem=problem, groups=np.arange(2000)[:, None] % 2)
    policy = pgd(problem, Ridge(n_features=6), step=0.05, hard=True, warmup=20)
    state, again = (policy.start(seed=4, replicas=1) for _ in range(2))
    world = log.start(4, state.replicas)
    for r in play(policy, state, world, range(world.steps)):
        if r.taken.counted[0] > 0:
            decision = policy.act(again, r.context)
            assert (decision.plays == r.decision.plays).all()
            policy.learn(again, decision, r.arrivals[0].y)
    assert again.t[0] == state.t[0] == 150
    assert (again.seen == state.seen).all()
    assert (again.model.theta == state.model.theta).all()
    for a, b in zip(again.goals[1:], state.goals[1:], strict=True):
        assert all(np.all(v == getattr(b, k)) for k, v in vars(a).items())


def test_outcomes_of_rejected_rows_are_hidden():
    log = make_log(50, 1, even)
    policy = uniform(PROBLEM, 6)
    state = policy.start(seed=0, replicas=3)
    for r in play(policy, state, log.start(0, state.replicas), range(50)):
        assert (np.isnan(r.arrivals[0].y[:, 0, 0]) == (r.taken.counted == 0)).all()


def test_a_run_ends_with_its_horizon_and_rows_are_counted():
    problem = replace(PROBLEM, horizon=40)
    log = make_log(500, 2, even, problem)
    policy = uniform(problem, 6)
    state = policy.start(seed=0, replicas=4)
    world = log.start(0, state.replicas)
    rounds = list(play(policy, state, world, range(500)))
    accepted = np.cumsum([r.taken.counted for r in rounds], 0)
    assert (accepted[-1] == 40).all()
    asked = np.sum([r.decision.plays[:, 0] >= 0 for r in rounds], 0)
    assert (asked == (accepted < 40).sum(0) + 1).all()  # the row that completes the horizon was read as well
    assert all((r.decision.plays[accepted[i] >= 40] == -1).all() for i, r in enumerate(rounds[1:]))


def test_rows_that_coins_reject_are_passed_over_and_counted():
    """Against the log read row by row, each with its coin."""
    problem = replace(PROBLEM, horizon=40)
    log, policy = make_log(300, 2, uneven, problem), uniform(problem, 6)
    for horizon in (40, 1000):  # the end of the horizon, and that of the log
        own = replace(problem, horizon=horizon)
        log, policy = replace(log, problem=own), uniform(own, 6)
        trace = simulate(policy, log, replicas=3, seed=5, progress=False)
        for r in range(3):
            state = policy.start(seed=5, replicas=[r])
            coins, read, reward = Luck(seed=5, replicas=np.array([r])), 0, 0.0
            world = replace(log, propensities=np.full(300, 0.5)).start(5, np.array([r]))  # reads every row
            for step in range(300):
                context = world.context(step)
                decision = policy.decide(state, context)
                read += decision.plays[0, 0] >= 0
                taken, (arrival,) = world.respond(step, context, decision)
                row = order(300, 5, r)[step]
                kept = coins.uniform(Stream.OUTCOME, np.array([step]), 1)[0, 0] < log.keep[row]
                taken = taken._replace(counted=taken.counted * kept)
                policy.commit(state, context, taken)
                policy.learn(state, taken, np.where(kept, arrival.y, np.nan))
                reward += log.outcomes[row, 0] * taken.counted[0]
            assert trace.elapsed[-1, r] == state.t[0]
            assert trace.offered_steps[r] == read
            assert trace.total(own.names[0])[r] == reward


@pytest.mark.parametrize("horizon", [40, 1000])  # the end of the horizon, and that of the log
@pytest.mark.parametrize("delay", [0, 5])
def test_no_point_of_a_trace_depends_on_other_replicas_or_on_jobs(delay, horizon):
    """Coins keep another number of rows in every replica."""
    own = replace(PROBLEM, horizon=horizon)
    log, policy = make_log(2000, 2, uneven, own), uniform(own, 6)
    world = Delayed(log, delay)
    whole = simulate(policy, world, replicas=5, seed=5, progress=False)
    for name, values in vars(simulate(policy, world, replicas=5, seed=5, jobs=3, progress=False)).items():
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(values, getattr(whole, name), err_msg=name)
    alone = simulate(policy, world, replicas=[3], seed=5, progress=False)
    common = np.isin(whole.times, alone.times)
    np.testing.assert_array_equal(alone.totals[: common.sum()], whole.totals[common][:, 3:4])
    for r, trace in ((3, whole), (0, alone)):
        assert trace.totals[-1, r, 0] == whole.totals[-1, 3, 0]
        assert trace.offered_steps[r] == whole.offered_steps[3]
    if horizon == 1000:
        assert (whole.offered_steps == 2000.0).all()
        assert np.isnan(whole.stopped).all()  # the log was over, and nothing else


def test_after_the_end_of_a_log_nothing_is_counted():
    """Where nothing fits in a step without a case, the log was over, and the budget stopped nobody."""
    clock = np.zeros(2, _CLOCK)
    nobody, zeros = np.full((2, 1), -1), np.zeros(2)
    _count(nobody, zeros, zeros, np.full(2, 3.0), np.array([0.0, 1.0]), 10.0, False, clock)
    assert clock["stuck"].tolist() == [False, True]


def test_orders_are_permutations_first_and_resamples_after():
    log = make_log(2000, 2, even, shuffles=2)
    rows = [order(2000, 9, r, resample=log.resample(r)) for r in range(4)]
    assert (np.sort(rows[0]) == np.arange(2000)).all()
    assert (np.sort(rows[1]) == np.arange(2000)).all()
    assert (rows[0] != rows[1]).any()
    for resample in rows[2:]:
        distinct = len(np.unique(resample)) / 2000
        assert abs(distinct - (1 - math.exp(-1))) < 5 * 0.5 / math.sqrt(2000)
    assert (np.sort(rows[2]) != np.sort(rows[3])).any()
    assert (order(2000, 9, 3, resample=1) == rows[3]).all()
    assert (order(2000, 8, 3, resample=1) != rows[3]).any()


def test_a_cluster_that_a_resample_has_twice_is_two_units():
    """Otherwise caps would bind twice as soon in resamples as in the log."""
    log = make_log(60, 0, even, replace(PROBLEM, unit=Unit("who", sticky=5)), clusters=np.arange(60) // 4, shuffles=1)
    world = log.start(0, np.array([0, 1]))
    units = np.array([world.context(step).unit for step in range(60)])
    rows = np.stack([log.order(0, replica) for replica in (0, 1)], 1)
    assert (units[:, 0] == rows[:, 0] // 4).all()
    assert (units[:, 1] % 60 == rows[:, 1] // 4).all()
    assert len(set(rows[:, 1])) < 60 == len(set(zip(rows[:, 1], units[:, 1], strict=True)))
    assert len(set(units[:, 1])) == 15


def test_a_resample_is_read_in_several_orders():
    log = replace(make_log(500, 2, even, shuffles=2), orders=3)
    assert [log.resample(r) for r in range(8)] == [None, None, 0, 0, 0, 1, 1, 1]
    rows = [order(500, 9, r, resample=log.resample(r)) for r in range(8)]
    for same in (rows[2:5], rows[5:]):
        for other in same[1:]:
            assert (np.sort(other) == np.sort(same[0])).all()
            assert (other != same[0]).any()
    assert (np.sort(rows[2]) != np.sort(rows[5])).any()
    with pytest.raises(InvalidInput, match=r"^Logged\.orders: expected a whole number of at least 1, got 0"):
        replace(log, orders=0)


def test_bootstrap_deviation_is_the_standard_error_of_a_mean():
    """For a policy that always plays "one", the replay is the mean over its rows, whose standard error is known."""
    log = make_log(3000, 4, even, shuffles=0)
    policy = fixed(TopK(1), theta=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    values = simulate(policy, log, replicas=400, progress=False).objective()[-1]
    gain = log.outcomes[log.actions == 1, 0]
    expected = gain.std() / math.sqrt(len(gain))
    assert abs(values.std(ddof=1) / expected - 1) < 4.5 / math.sqrt(2 * 399) + 0.01
    assert abs(values.mean() - gain.mean()) < 4.5 * expected / math.sqrt(400) + 1e-3


def test_equal_propensities_throw_no_coins():
    log = make_log(100, 1, even)
    assert not log.needs_coins
    assert make_log(100, 1, uneven).needs_coins


def test_a_blank_model_fits():
    """The layout says how many features there are."""
    assert LOG.n_features == NullModel(n_features=3).n_features == 3
