import json

import cvxpy as cp
import numpy as np
import pytest

import evenhand.papers.concave_rewards as module
from evenhand.cli import main
from evenhand.environments import MultiObjective
from evenhand.papers.concave_rewards import policies, reproduce
from evenhand.simulation import simulate


def test_results_follow_the_schema(tmp_path):
    said: list[str] = []
    reproduce(arms=(4,), outcomes=(2,), replicas=2, rounds=60, out=tmp_path, progress=False, say=said.append)
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["settings"]["arms"] == [4]
    assert [r["system"] for r in found["rows"] if r["metric"] == "t=60"] == [
        "truth", "fw_linucb", "fw_linucb, scalarised", "fw_linucb, random smoothing", "fw_squarecb",
        "fw_epsilon_greedy", "molincb", "optimum in hindsight",
    ]  # fmt: skip
    assert (tmp_path / "concave-rewards-arms=4-outcomes=2.png").read_bytes()[:4] == b"\x89PNG"
    assert "share late" in "\n".join(said)


def test_it_runs_from_the_command_line(capsys):
    line = ["reproduce", "concave-rewards", "--replicas", "2", "--rounds", "60", "--arms", "3", "--outcomes", "2"]
    assert main(line) == 0
    assert "fw_squarecb" in capsys.readouterr().out


def test_an_interrupted_run_keeps_what_is_finished(monkeypatch, tmp_path):
    import os
    import signal

    real = module.simulate

    def interrupted(policy, world, **options):
        if policy.name == "fw_squarecb":
            os.kill(os.getpid(), signal.SIGINT)
        return real(policy, world, **options)

    monkeypatch.setattr(module, "simulate", interrupted)
    results = reproduce(
        arms=(3,), outcomes=(2,), replicas=1, rounds=40, out=tmp_path, progress=False, say=lambda _: None
    )
    assert results.interrupted
    done = {r.system for r in results.rows}
    assert {"truth", "fw_linucb", "fw_linucb, scalarised"} <= done
    assert "fw_epsilon_greedy" not in done


@pytest.mark.slow
def test_the_truth_tends_to_the_convex_program_on_sampled_contexts():
    """f* of 300 sampled contexts against Frank-Wolfe that knows the truth, at t = 2,000, in one instance."""
    world = MultiObjective(arms=8, outcomes=4, features=5)
    (truth, *_) = policies(world, 1, 0)
    reached = float(simulate(truth, world, replicas=1, progress=False).objective()[-1, 0])
    start = world.start(0, np.arange(1))
    x = np.stack([start.context(10_000 + i).features[0] for i in range(300)])  # (S, A, n)
    mean = x @ start.theta[0].T  # (S, A, M)
    pi = cp.Variable((300, 8), nonneg=True)
    z = cp.hstack([cp.sum(cp.multiply(pi, mean[:, :, m])) / 300 for m in range(4)])
    w = 0.5 ** np.arange(4)
    value = sum((w[k] - (w[k + 1] if k < 3 else 0.0)) * cp.sum_smallest(z, k + 1) for k in range(4))
    best = cp.Problem(cp.Maximize(value), [cp.sum(pi, 1) == 1]).solve()
    # contexts: outcomes of the best arms have a standard deviation of about 0.15, over 300 and 2,000 of them
    assert abs(reached - best) <= 4 * 0.15 * w.sum() * np.sqrt(1 / 300 + 1 / 2000)


@pytest.mark.slow
def test_every_algorithm_is_within_two_thousandths_of_the_truth():
    results = reproduce(arms=(50,), outcomes=(5,), replicas=20, progress=False, say=lambda _: None)
    for name in ("fw_linucb", "fw_linucb, scalarised", "fw_squarecb"):
        row = results.find(name, "share late")
        assert row is not None
        assert row.se is not None
        assert row.mean >= 0.998 - 3 * row.se
