import json

import cvxpy as cp
import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.environments import MultiObjective
from evenhand.experiments import loop
from evenhand.experiments.concave_rewards import ConcaveRewardsExperiment
from evenhand.experiments.concave_rewards.study import policies
from evenhand.experiments.loop import run
from evenhand.run import simulate


def test_results_follow_the_schema(tmp_path):
    said: list[str] = []
    run(
        ConcaveRewardsExperiment(arms=(4,), outcomes=(2,), replicas=2, rounds=60),
        out=tmp_path,
        progress=False,
        log=said.append,
    )
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["settings"]["arms"] == [4]
    assert [r["system"] for r in found["rows"] if r["metric"] == "t=60"] == [
        "truth", "fw_linucb", "fw_linucb, scalarised", "fw_linucb, random smoothing", "fw_squarecb",
        "fw_epsilon_greedy", "fw_linucb, epsilon=0.1", "fw_linucb, epsilon=1", "fw_squarecb, gamma_0=1,000",
        "fw_epsilon_greedy, epsilon=0.1", "molincb", "uniform",
    ]  # fmt: skip
    for name in ("concave-rewards-arms=4-outcomes=2.png", "concave-rewards-exploration-arms=4-outcomes=2.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
    assert "share late" in "\n".join(said)
    assert [r["mean"] >= 1.0 for r in found["rows"] if r["system"] == "optimum in hindsight"] == [True]


def test_it_runs_from_the_command_line(capsys):
    line = ["reproduce", "concave-rewards", "--replicas", "2", "--rounds", "60", "--arms", "3", "--outcomes", "2"]
    assert main(line) == 0
    assert "fw_squarecb" in capsys.readouterr().out


def test_an_interrupted_run_keeps_what_is_finished(monkeypatch, tmp_path):
    import os
    import signal

    real = loop.simulate

    def interrupted(policy, world, **options):
        if policy.name == "fw_squarecb":
            os.kill(os.getpid(), signal.SIGINT)
        return real(policy, world, **options)

    monkeypatch.setattr(loop, "simulate", interrupted)
    results = run(
        ConcaveRewardsExperiment(arms=(3,), outcomes=(2,), replicas=1, rounds=40),
        out=tmp_path,
        progress=False,
        log=lambda _: None,
    )
    assert results.interrupted
    done = {r.system for r in results.rows}
    assert {"truth", "fw_linucb", "fw_linucb, scalarised"} <= done
    assert "fw_epsilon_greedy" not in done


@pytest.mark.slow
def test_the_truth_tends_to_the_convex_program_on_sampled_contexts():
    """f* of 300 sampled contexts against Frank-Wolfe that knows the truth, at t = 2,000, in one instance."""
    world = MultiObjective(arms=8, n_outcomes=4, n_features=5)
    (truth, *_) = policies(world, 1, 0)
    reached = float(simulate(truth, world, replicas=1, progress=False).objective()[-1, 0])
    start = world.start(0, np.arange(1))
    x = np.stack([start.context(10_000 + i).features[0] for i in range(300)])  # (S, A, n)
    mean = x @ world.theta(0, np.arange(1))[0].T  # (S, A, M)
    pi = cp.Variable((300, 8), nonneg=True)
    z = cp.hstack([cp.sum(cp.multiply(pi, mean[:, :, m])) / 300 for m in range(4)])
    w = 0.5 ** np.arange(4)
    value = sum((w[k] - (w[k + 1] if k < 3 else 0.0)) * cp.sum_smallest(z, k + 1) for k in range(4))
    best = cp.Problem(cp.Maximize(value), [cp.sum(pi, 1) == 1]).solve()
    # contexts: outcomes of the best arms have a standard deviation of about 0.15, over 300 and 2,000 of them
    assert abs(reached - best) <= 4 * 0.15 * w.sum() * np.sqrt(1 / 300 + 1 / 2000)


@pytest.mark.slow
@pytest.mark.parametrize("outcomes", [5, 20])
def test_every_algorithm_is_within_two_thousandths_of_the_truth(outcomes):
    results = run(
        ConcaveRewardsExperiment(arms=(50,), outcomes=(outcomes,), replicas=5), progress=False, log=lambda _: None
    )
    mean = {(r.system, r.metric): r.mean for r in results.rows}
    for name in ("fw_linucb", "fw_linucb, scalarised", "fw_linucb, random smoothing", "fw_squarecb"):
        assert mean[name, "share late"] >= 0.998
    assert mean["fw_linucb", "share early"] >= 0.975
    assert mean["molincb", "share late"] < mean["fw_epsilon_greedy", "share late"] < mean["fw_linucb", "share late"]
    optimum = results.find("optimum in hindsight", "share late")
    assert optimum is not None
    assert optimum.worst is not None
    assert optimum.worst >= 1.0  # nobody does better, not even who knows the truth
    assert optimum.mean <= 1.002


def test_the_truth_is_that_of_all_replicas_at_once():
    world = MultiObjective(arms=4, n_outcomes=3, n_features=3, horizon=20)
    (truth, *_) = policies(world, 4, 0)
    with pytest.raises(InvalidInput, match="replicas: expected all 4 in one process, got 2"):
        truth.start(replicas=2)
