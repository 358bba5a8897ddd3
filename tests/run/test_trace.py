import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court
from evenhand.problem import Parity
from evenhand.problem.constraints.sums import disparity
from evenhand.recipes import uniform
from evenhand.run import Trace, simulate

COURT = Court(tolerance=0.01, horizon=400)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return simulate(uniform(COURT.problem, 5), COURT, replicas=4, seed=2, record="all", progress=False)


def test_disparity_is_a_direct_count(trace):
    plays = trace.plays
    ride = plays.outcomes[:, :, 0, COURT.problem.names.index("ride")]
    got = disparity(trace, "ride", "group")[-1]
    for r in range(4):
        for g in (0, 1):
            inside = sum(ride[s, r] for s in range(400) if plays.groups[s, r, 0] == g)
            assert got[r, g] == pytest.approx(inside / (0.5 * 400) - ride[:, r].sum() / 400)
    np.testing.assert_allclose(trace.measure(Parity("ride", by="group", tolerance=0.01))[-1], np.abs(got).max(-1))


def test_averages_and_objective(trace):
    np.testing.assert_allclose(trace.average("ride")[-1] * 400, trace.total("ride"))
    np.testing.assert_allclose(trace.objective()[-1], trace.expected[-1, :, 0] / 400)
    with pytest.raises(InvalidInput, match="outcome: expected one of"):
        trace.total("bus")


def test_a_trace_survives_the_disk(trace, tmp_path):
    trace.save(tmp_path / "t.npz")
    back = Trace.load(tmp_path / "t.npz", COURT.problem)
    for field in ("totals", "elapsed", "times", "expected", "group_totals", "stopped"):
        np.testing.assert_array_equal(getattr(back, field), getattr(trace, field))
    np.testing.assert_array_equal(back.plays.actions, trace.plays.actions)
    assert (back.policy, back.seed, back.finished) == (trace.policy, trace.seed, trace.finished)


def test_a_file_that_is_no_trace_is_refused(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"something else")
    with pytest.raises(InvalidInput, match="path: expected a trace"):
        Trace.load(tmp_path / "x.npz", COURT.problem)


def test_frames_have_a_row_per_play_or_per_point(trace):
    frame = trace.to_frame()
    assert len(frame) == 400 * 4
    assert set(frame["action"]) <= set(COURT.problem.actions)
    assert frame.groupby("replica")["ride"].sum().tolist() == trace.total("ride").tolist()
    grid = simulate(uniform(COURT.problem, 5), COURT, replicas=4, seed=2, progress=False).to_frame()
    last = grid[grid["step"] == 400]
    np.testing.assert_allclose(last["ride"], trace.average("ride")[-1])


def test_summary_names_limits_and_worst(trace):
    summary = trace.summary()
    ride = next(line for line in summary.lines if line.name == "ride per round")
    assert ride.limit == 0.05
    assert ride.worst == trace.total("ride").max() / 400
    assert len(summary.to_frame()) == 5
    assert "uniform: 4 replicas" in str(summary)


def test_plots_have_a_panel_per_quantity(trace, tmp_path):
    from evenhand.report.plots import save

    axes = trace.plot().axes
    assert len(axes) == 5
    assert all(len(a.lines) >= 1 for a in axes)
    path = save(axes, tmp_path / "new" / "trace.png")
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_a_trace_of_an_earlier_version_is_refused_by_name(tmp_path):
    trace = simulate(uniform(COURT.problem, n_features=5), COURT, replicas=1, progress=False)
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as file:
        kept = {name: file[name] for name in file.files if name != "under_way"}
    np.savez(tmp_path / "old.npz", **kept)
    with pytest.raises(InvalidInput, match=r"^path: expected a trace saved by this version.*without \['under_way'\]"):
        Trace.load(tmp_path / "old.npz", COURT.problem)
