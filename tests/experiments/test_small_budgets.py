import json
import os
import signal

import pytest

import evenhand.experiments.small_budgets.study as module
from evenhand.core.errors import InvalidInput
from evenhand.experiments.loop import run
from evenhand.experiments.small_budgets import SmallBudgetsExperiment
from evenhand.experiments.small_budgets.study import LOOKS, recipes, total


def test_budgets_go_from_the_root_of_the_horizon_to_half_of_it():
    assert [round(total(e, 10_000)) for e in (0.5, 0.75, 1.0)] == [100, 1000, 5000]


@pytest.mark.slow
def test_every_policy_is_run_drawn_and_written(tmp_path):
    said: list[str] = []
    results = run(
        SmallBudgetsExperiment(replicas=2, rounds=300, exponents=(0.6, 1.0)),
        out=tmp_path,
        progress=False,
        log=said.append,
    )
    assert list(recipes()) == list(LOOKS)
    found = json.loads((tmp_path / "results.json").read_text())
    assert {r["at"]["total"] for r in found["rows"]} == {total(0.6, 300), 150.0}
    for name in LOOKS:
        there = [r for r in found["rows"] if r["system"] == name and r["metric"] != "locked in"]
        assert len(there) == 2 * (1 if name == "two_stage_square_cbwk" else 2)  # refused at the smaller budget
    text = "\n".join(said)
    assert "refused" in text
    assert "down to T B" in text
    assert (tmp_path / "small-budgets.png").read_bytes()[:4] == b"\x89PNG"
    hard = [r for r in results.rows if r.metric == "overspent" and ("hard" in r.system or "cbwk" in r.system)]
    assert hard
    assert all(r.worst == 0.0 for r in hard)


@pytest.mark.slow
def test_an_interrupted_sweep_keeps_what_is_finished(tmp_path, monkeypatch):
    """The second budget's first run meets a Ctrl-C."""
    draw = module.draw

    def interrupt(court, contexts, seed):
        if court.problem.spending[0].limit(300) > 0.2:
            os.kill(os.getpid(), signal.SIGINT)
        return draw(court, contexts, seed)

    said: list[str] = []
    monkeypatch.setattr(module, "draw", interrupt)
    results = run(
        SmallBudgetsExperiment(replicas=1, rounds=300, exponents=(0.6, 1.0)),
        out=tmp_path,
        progress=False,
        log=said.append,
    )
    assert results.interrupted
    assert {r.at["total"] for r in results.rows} == {total(0.6, 300)}
    assert json.loads((tmp_path / "results.json").read_text())["settings"]["interrupted"] is True
    assert any("INTERRUPTED" in s for s in said)


@pytest.mark.parametrize("exponents", [(), (0.0,), (1.2,)])
def test_exponents_out_of_range_are_refused(exponents):
    with pytest.raises(InvalidInput, match="exponents"):
        run(SmallBudgetsExperiment(replicas=1, rounds=100, exponents=exponents), progress=False, log=lambda _: None)
