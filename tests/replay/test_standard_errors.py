"""What a replay says of its errors is how much its means really differ."""

import math

import numpy as np

from evenhand.environments import Logged
from evenhand.environments.logged import blocks
from evenhand.offline.estimators.snips import normalised
from evenhand.offline.scores import weights
from evenhand.problem import Outcome, Problem
from evenhand.recipes import uniform
from evenhand.replay import Run, Runs, execution as running
from evenhand.replay.measures import Measure
from evenhand.run import simulate
from tests.offline import replay_errors
from tests.offline.coverage import policy_of
from tests.offline.logs import draw


def test_a_standard_error_for_the_population_is_how_means_over_shuffles_differ_between_logs():
    """Of 60 logs; a single replay moves more than twice as much as the mean over shuffles of the same log."""
    values = []
    for i in range(60):
        rng = np.random.default_rng(i)
        actions = rng.integers(0, 2, 500)
        log = Logged(
            problem=Problem(actions=("a", "b"), outcomes=(Outcome("gain"),), maximize="gain", horizon=80),
            units=np.ones((500, 1)),
            layout=blocks(2, 1),
            actions=actions,
            propensities=np.full(500, 0.5),
            outcomes=(rng.random((500, 1)) < 0.3 + 0.2 * actions[:, None]).astype(float),
            groups=np.zeros((500, 0), np.int64),
            shuffles=20,
            orders=running.ORDERS,
        )
        trace = simulate(uniform(log.problem, 2), log, replicas=20 + 3 * 20, seed=i, progress=False)
        run = Run(trace=trace, rows=500, shuffles=20, orders=running.ORDERS)
        m = Measure("gain", run.objective(), "low")
        values.append((run.digest(m), m.values[20::3].std(ddof=1)))
    digests = [d for d, _ in values]
    moved = np.std([d.mean for d in digests], ddof=1)
    said = math.sqrt(np.mean([d.se**2 for d in digests]))
    error = math.sqrt(1 / (2 * 59) + 1 / (2 * 60 * 4))  # of the ratio; each se has about four degrees of freedom
    assert abs(said / moved - 1) < 3 * error
    one_replay = math.sqrt(np.mean([s**2 for _, s in values]))
    assert one_replay / moved > 1.8
    # for the mean over all orders of the one log, the error is that of shuffles alone
    assert all(math.isclose(d.se_log, d.spread / math.sqrt(20)) for d in digests)


def test_many_shuffles_of_a_fixed_policy_are_an_average_by_weights(monkeypatch):
    """So a value by scores is better than a replay by what models explain, and not by more."""
    monkeypatch.setattr(replay_errors, "RUNS", Runs(replicas=400, bootstrap=0))
    log, means = draw(2000, 3, skewed=True, stated=replay_errors.stated(2000))
    policy = policy_of(means)
    runs = replay_errors.replayed(np.random.default_rng(0), log, policy)
    w = weights(policy, log.actions, log.propensities)
    away = runs.mean() - normalised(w, log.outcomes[:, 0]).value
    assert abs(away) < 4.0 * runs.std(ddof=1) / math.sqrt(len(runs))


def test_a_log_that_is_the_population_leaves_the_error_of_the_order():
    """All runs differ by their order only: both errors agree, up to the number of runs."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        x = rng.normal(size=20 + 3 * 40)
        found.append(Run(trace=None, rows=0, shuffles=20, orders=3).digest(Measure("x", x)))
    said = math.sqrt(np.mean([d.se**2 for d in found]))
    assert 0.95 / math.sqrt(20) < said < 1.4 / math.sqrt(20)  # an estimate of the people's part is cut off at 0
