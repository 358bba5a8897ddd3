import json
import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court
from evenhand.experiments.court import CourtExperiment
from evenhand.experiments.court.picture import figure
from evenhand.experiments.court.study import (
    HORIZON,
    MEASURES,
    METRICS,
    PUBLISHED,
    SAMPLE,
    _optimum_rows,
    _rows,
    policies,
)
from evenhand.experiments.loop import run
from evenhand.goals import DualGradient
from evenhand.recipes import uniform
from evenhand.report.results import Results
from evenhand.run import opt, simulate


@pytest.mark.slow
def test_results_follow_the_schema(tmp_path):
    said: list[str] = []
    run(CourtExperiment(replicas=2, rounds=200, taus=(0.025,)), out=tmp_path, progress=False, log=said.append)
    found = json.loads((tmp_path / "results.json").read_text())
    assert set(found) == {"experiment", "version", "se", "settings", "notes", "rows"}
    assert found["settings"] == {"replicas": 2, "rounds": 200, "taus": [0.025], "seed": 0}
    for row in found["rows"]:
        assert set(row) == {"system", "at", "metric", "mean", "se", "worst", "published"}
        assert row["at"] == {"tau": 0.025}
        assert row["published"] is None  # another horizon than the published one
    systems = [r["system"] for r in found["rows"] if r["metric"] == "reward"]
    assert systems == [*list(PUBLISHED[0.025])[:7], "primal_lp", "resolving", "uniform", "OPT(B)", "OPT(B-margin)"]
    for picture in ("court-tau=0.025.png", "court-figure-1-tau=0.025.png"):
        assert (tmp_path / picture).read_bytes()[:4] == b"\x89PNG"
    assert "pgd_adaptive" in "\n".join(said)


def test_figure_1_has_the_averages_up_to_every_round(tmp_path, monkeypatch):
    """Its four panels as the paper describes them, with its levels; curves end at the totals over the horizon."""
    court = Court(tolerance=0.025, horizon=120)
    run_of = simulate(uniform(court.problem, 5), court, replicas=3, seed=5, progress=False)
    traces = [replace(run_of, policy=name) for name in ("pgd_adaptive", "resolving")]
    drawn = []
    monkeypatch.setattr("evenhand.report.plots.save", lambda axes, path: drawn.extend(axes) or path)
    figure(traces, {"OPT(B)": 0.47, "OPT(B-margin)": 0.46}, MEASURES, tmp_path / "figure.png")
    assert [axes.get_title().split(" (")[0] for axes in drawn] == [
        "average reward",
        "rides",
        "vouchers",
        "fairness cost",
    ]
    levels = [(0.47, 0.46), (0.05,), (0.2,), (0.025,)]
    ends = [
        run_of.objective()[-1],
        run_of.total("ride") / 120,
        run_of.total("voucher") / 120,
        MEASURES["fairness"](run_of)[-1],
    ]
    for axes, wanted, end in zip(drawn, levels, ends, strict=True):
        lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
        np.testing.assert_allclose(lines["resolving"][-1], end.mean())
        assert len(lines["pgd_adaptive"]) == len(run_of.times)
        flat = [y[0] for name, y in lines.items() if name not in ("resolving", "pgd_adaptive")]
        assert sorted(flat) == sorted(wanted)
        assert len(axes.collections) >= 2  # a band each


def test_a_negative_tolerance_is_refused():
    with pytest.raises(InvalidInput, match="tolerance"):
        run(CourtExperiment(replicas=1, rounds=100, taus=(-0.1,)), progress=False, log=lambda _: None)


def test_the_rows_of_the_table_are_the_papers_and_three_more():
    problem = Court().problem
    found = policies(problem, np.full(10, 0.1))
    assert [p.name for p in found] == [*PUBLISHED[1e-7], "primal_lp", "resolving", "uniform"]
    dual = found[0].goals[1]
    assert isinstance(dual, DualGradient)
    assert dual.bound[:2] == pytest.approx([0.045, 0.195])
    assert set(dual.bound[2:]) == {1e-7}
    adaptive = found[5].goals[1]
    assert isinstance(adaptive, DualGradient)
    # M_k = 0.01 * 6 * sqrt(T ln(T (k + 2))), gamma_k = 2^k / 100
    assert adaptive.step.limits[1] == pytest.approx(0.06 * math.sqrt(1e4 * math.log(3e4)))
    assert adaptive.step.sizes[:3] == pytest.approx((0.01, 0.02, 0.04))


@pytest.fixture(scope="module")
def table():
    """Thirty replicas at the first tolerance, for two tests."""
    return run(CourtExperiment(replicas=30, taus=(1e-7,)), progress=False, log=lambda _: None)


def part_of_the_table(tau):
    """What is read of `resolving` at another tolerance, with the replicas and samples of the table."""
    court, named = Court(tolerance=tau), ("pgd_adaptive", "resolving")
    chosen = [p for p in policies(court.problem, np.zeros(10)) if p.name in named]
    traces = [simulate(p, court, replicas=30, seed=0, progress=False) for p in chosen]
    best = {"OPT(B)": opt(court, **SAMPLE, progress=False)}
    rows = [row for trace in traces for row in _rows(trace, tau, HORIZON)]
    return Results("court", {}, [*rows, *_optimum_rows(best, tau, HORIZON)])


@pytest.mark.slow
def test_the_table_is_reproduced_with_thirty_replicas(table):
    for system, printed in PUBLISHED[1e-7].items():
        if system == "mixed_oracle":
            continue  # two-valued: a run locks in or not; see docs/court.md
        for metric, published in zip(METRICS, printed, strict=True):
            row = table.find(system, metric)
            assert row is not None
            assert row.se is not None
            # four standard errors of ours, one of theirs (0.0002 at most), half a unit of their last digit
            assert abs(row.mean - published) <= 4 * row.se + 0.0002 + 0.00005, (system, metric, row.mean, published)


@pytest.mark.slow
def test_resolving_closes_nine_tenths_of_the_gap_to_the_optimum(table):
    """30 replicas: the share has a standard error of about 1.3 % (replicas) and 2.5 % (the optimum's)."""
    for tau, results in ((1e-7, table), (0.025, part_of_the_table(0.025))):
        found = {(row.system, row.metric): row for row in results.rows}
        best, adaptive = found["OPT(B)", "reward"], found["pgd_adaptive", "reward"].mean
        gap = best.mean - adaptive
        closed = (found["resolving", "reward"].mean - adaptive) / gap
        assert closed >= 0.90 - 2 * np.hypot(0.013, best.se / gap)
        assert found["resolving", "ride"].worst <= 0.05
        assert found["resolving", "voucher"].worst <= 0.2
        assert found["resolving", "fairness"].mean <= tau + 0.0006
