"""Reports that cannot mislead: late outcomes, interrupted runs, and what a standard error is of."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.environments import Court, Delayed, FixedContexts, Logged, MixedArms, MixedContexts
from evenhand.objectives import Linear
from evenhand.problem import Floor, Groups, Outcome, Parity
from evenhand.recipes import uniform
from evenhand.report.allowances import over_horizon
from evenhand.report.intervals import Interval
from evenhand.report.plots import over_rounds
from evenhand.report.quantities import ARRIVED, EXPECTED
from evenhand.run import Trace, simulate, simulation
from evenhand.run.simulation import join
from tests.examples.environments import LOG
from tests.pictures import caption_of
from tests.problems import pose
from tests.worlds import Market, Router

LATE = Delayed(MixedArms(horizon=300), 200)


def run(world, replicas=5, **rest):
    return simulate(uniform(world.problem, world.n_features), world, replicas=replicas, progress=False, **rest)


@pytest.fixture(scope="module")
def late() -> Trace:
    return run(LATE)


def test_expected_costs_of_all_plays_stand_beside_those_that_arrived(late):
    """200 of 300 outcomes are under way: what arrived is about a third of what was spent."""
    at_once = run(MixedArms(horizon=300))
    found = {x.name: x for x in late.summary().lines}
    for b in LATE.problem.spending:
        arrived, expected = found[b.label + ARRIVED], found[b.label + EXPECTED]
        assert arrived.mean == pytest.approx(late.total(b.outcome).mean() / 300)
        assert arrived.mean < 0.7 * expected.mean
        assert arrived.limit == expected.limit == b.limit(300)
    # with budgets that settle at once, the same policy plays on, and what is expected of its plays is what it spends
    spent = at_once.in_expectation().total("cost 1") - at_once.total("cost 1")
    assert abs(spent.mean()) < 3 * np.sqrt(300 * 0.25 / 5)


def test_true_means_are_summed_over_all_plays_and_by_group():
    """Against a second world, which is asked about every recorded play."""
    problem = pose(
        "gain",
        "harm",
        Outcome("fee", known={"b": 1.0, "c": 2.0}),
        actions="abc",
        subject_to=(Parity("harm", by="side", tolerance=0.5),),
        groups=(Groups("side", ["l", "r"]),),
        horizon=40,
    )
    trace = run(Delayed(Market(problem=problem), 50), replicas=3, record="all")
    world, sums, of_groups = Market(problem=problem).start(0, np.arange(3)), np.zeros((3, 3)), np.zeros((3, 2, 3))
    for step in range(40):
        context = world.context(step)
        plays = trace.plays.actions[step]
        y = np.concatenate([world.expected(context, plays)[:, 0], context.known[0, plays[:, 0]]], 1)
        sums += y
        of_groups[np.arange(3), context.groups[:, 0, 0]] += y
    whole = trace.in_expectation()
    np.testing.assert_allclose(whole.totals[-1], sums)
    np.testing.assert_allclose(whole.group_totals[-1], of_groups)
    np.testing.assert_allclose(whole.objective()[-1], sums[:, 0] / 40)
    gap = np.abs(of_groups[:, :, 1] / trace.group_rounds[-1] - sums[:, 1:2] / 40).max(1)
    np.testing.assert_allclose(whole.measure(problem.subject_to[0])[-1], gap)
    assert (trace.under_way[-1] == 30).all()  # the market goes on for 20 steps after the horizon


def test_the_truth_does_not_say_which_plays_are_exposed():
    problem = pose(
        "gain",
        Outcome("shown", known=1.0, sure=False),
        Outcome("fee", known=2.0),
        Outcome("bill", mean=0.5, sure=False),
        horizon=20,
    )
    whole = run(Delayed(Market(problem=problem), 5), replicas=2).in_expectation()
    assert np.isnan(whole.average("shown")).all()
    assert (whole.average("fee")[-1] == 2.0).all()
    assert (whole.average("bill")[-1] > 0).all()  # of observed outcomes the truth includes exposure


def test_late_bills_are_shown_as_arrived_and_as_expected():
    """150 of 200 bills are under way, so those that arrived are of the first 50 plays; the means are of all plays."""
    fair, least = Parity("dollars", by="team", tolerance=0.001), Floor("dollars", rate=0.001)
    router = Router(
        horizon=200, total=12.0, hard=False, maximize=Linear({"answered": 1.0, "dollars": -2.0}), extra=(fair, least)
    )
    trace = run(Delayed(router, 150), record="all")
    plays, means = trace.plays.actions[..., 0], router.problem.declared[:, 0]
    bills, teams = trace.plays.outcomes[..., 0, 1], trace.plays.groups[..., 0, 0]
    assert np.isfinite(bills[:50]).all()
    assert np.isnan(bills[50:]).all()
    red = teams == 0
    sums = {
        ARRIVED: (np.nansum(bills, 0), np.nansum(bills * red, 0)),
        EXPECTED: (means[plays].sum(0), (means[plays] * red).sum(0)),
    }
    found = {x.name: x for x in trace.summary().lines}
    assert str(trace.summary()).startswith("uniform: 5 replicas, the outcomes of 150 rounds of each replica")
    for end, (spent, of_red) in sums.items():
        line = found["dollars per round" + end]
        assert line.mean == pytest.approx(spent.mean() / 200)
        assert line.limit == 0.06
        assert found[least.label + end].mean == pytest.approx(spent.mean() / 200)
        per_team = np.stack([of_red, spent - of_red]) / 100  # each team has half of the rounds, as declared
        gap = np.abs(per_team - spent / 200).max(0)
        assert found[fair.label + end].mean == pytest.approx(gap.mean())
    assert found["(answered - 2 dollars)" + EXPECTED].mean == pytest.approx(trace.objective()[-1].mean())
    seen = trace.totals[-1, :, 0] - 2.0 * sums[ARRIVED][0]
    assert found["(answered - 2 dollars)" + ARRIVED].mean == pytest.approx(seen.mean() / 200)
    np.testing.assert_allclose(trace.expected[-1, :, 1], sums[EXPECTED][0])
    np.testing.assert_allclose(trace.group_expected[-1, :, 0, 1], sums[EXPECTED][1])


def test_outcomes_under_way_are_counted_until_they_arrive():
    trace = run(Delayed(MixedContexts(horizon=60), 7))
    np.testing.assert_array_equal(trace.under_way, np.minimum(trace.times, 7)[:, None] + np.zeros(5))
    log = replace(LOG, problem=replace(LOG.problem, horizon=10))
    at_the_end = run(Delayed(log, 50), replicas=2)
    assert (at_the_end.under_way[-1] == 0).all()  # the log went on until everything had arrived
    assert "under way" not in str(at_the_end.summary())
    assert at_the_end.in_expectation() is None  # a log has no truth


def test_a_summary_says_how_many_outcomes_are_under_way_and_of_what_its_errors_are(late):
    said = str(late.summary())
    assert said.startswith("uniform: 5 replicas, the outcomes of 200 rounds of each replica are still under way")
    assert said.endswith("per round, in the units of each outcome; se: of the mean over the 5 replicas")
    assert (late.summary().to_frame()["under way"] == 200).all()
    log = run(Delayed(LOG, 100), replicas=2).summary()
    assert [x.name for x in log.lines if x.name.endswith(EXPECTED)] == []
    assert any(x.name.endswith(ARRIVED) for x in log.lines)
    assert "still under way" in str(log)


def test_what_is_known_at_once_is_never_late():
    names = [x.name for x in run(Delayed(Court(horizon=60), 30), replicas=2).summary().lines]
    assert names[:2] == ["appears" + ARRIVED, "appears" + EXPECTED]
    assert "ride per round" in names
    assert next(x.name for x in run(Court(horizon=60), replicas=2).summary().lines) == "appears"


def test_frames_and_plots_show_both(late, tmp_path):
    last = late.to_frame().iloc[-5:]
    whole = late.in_expectation()
    for b in LATE.problem.spending:
        np.testing.assert_array_equal(last[b.label + ARRIVED], late.average(b.outcome)[-1])
        np.testing.assert_array_equal(last[b.label + EXPECTED], whole.average(b.outcome)[-1])
    np.testing.assert_array_equal(last["under way"], 200.0)
    panels = {" ".join(a.get_title().split()).removesuffix(" (dashed: limit)"): a for a in late.plot().axes}  # in lines
    for b in LATE.problem.spending:
        for end, trace in ((ARRIVED, late), (EXPECTED, whole)):
            drawn = panels[b.label + end].get_lines()[0].get_ydata()
            np.testing.assert_allclose(drawn, trace.average(b.outcome).mean(1))
    late.save(tmp_path / "late")
    back = Trace.load(tmp_path / "late", LATE.problem)
    assert str(back.summary()) == str(late.summary())


@pytest.fixture
def ctrl_c(monkeypatch):
    """Ctrl-C after so many steps."""

    def after(steps):
        run_chunk, done = simulation._run, 0

        def watched(task, watch):
            nonlocal done
            done = 0

            def stops(more):
                nonlocal done
                done += more
                return done < steps

            return run_chunk(task, stops)

        monkeypatch.setattr(simulation, "_run", watched)

    return after


@pytest.mark.parametrize("record", ["grid", "all"])
def test_an_interrupted_trace_says_so_first_wherever_it_is_read(record, ctrl_c, tmp_path):
    ctrl_c(100)
    world = FixedContexts(arms=3, dimension=6, horizon=1000)
    part = run(world, replicas=3, record=record)
    assert not part.finished
    assert (part.elapsed[-1] == 128).all()  # all that was done, though the grid has no point there
    said = "INTERRUPTED after 128 of 1,000 rounds"
    assert str(part.summary()).startswith(f"uniform: {said}, ")
    spent = {x.name: x.mean for x in part.summary().lines}
    for b in world.problem.spending:
        assert spent[b.label] == pytest.approx(part.total(b.outcome).mean() / 128)
    for frame in (part.to_frame(), part.summary().to_frame()):
        assert frame.columns[0] == "interrupted"
        assert frame["interrupted"].all()
    if record == "all":
        assert part.to_frame()["reward"].sum() == pytest.approx(part.total("reward").sum())
    assert caption_of(part.plot()).startswith(f"uniform: {said}")
    part.save(tmp_path / "part")
    assert str(Trace.load(tmp_path / "part", world.problem).summary()) == str(part.summary())


def test_finished_traces_do_not_say_interrupted(late):
    assert not late.to_frame()["interrupted"].any()
    assert "INTERRUPTED" not in caption_of(late.plot())
    part = replace(late, finished=False, policy="other")
    said = caption_of(over_rounds([late, part])[0].get_figure())
    assert said.splitlines()[:-1] == ["other: INTERRUPTED at its end, with all 300 rounds"]


def test_interrupted_chunks_are_joined_where_both_were(ctrl_c):
    """Two processes stop at different steps; every replica is measured at the last point that both have."""
    world, parts = FixedContexts(arms=3, dimension=6, horizon=1000), []
    policy = uniform(world.problem, world.n_features)
    for steps, replicas in ((500, [0, 1]), (900, [2])):
        ctrl_c(steps)
        parts.append(simulate(policy, world, replicas=replicas, record="all", progress=False))
    together = join(parts)
    end = int(together.times[-1])
    assert 450 < end <= 512
    assert (together.elapsed[-1] == end).all()
    assert len(together.plays.counted) == end
    ended = together.stopped[np.isfinite(together.stopped)]
    assert (ended < end).all()
    frame = together.to_frame()
    np.testing.assert_allclose(frame.groupby("replica")["reward"].sum(), together.total("reward"))


def test_an_interrupted_run_does_not_tell_of_what_came_after_its_last_point():
    world = FixedContexts(arms=3, dimension=6, horizon=600)
    whole = run(world, replicas=4)
    assert np.isfinite(whole.stopped).all()
    first, second = (replace(whole, finished=False) for _ in range(2))
    sums = ("times", "elapsed", "totals", "group_totals", "group_rounds", "expected", "group_expected", "under_way")
    early = replace(first, **{k: getattr(first, k)[:40] for k in sums})
    assert np.isnan(join([early, second]).stopped).all()


def test_a_log_of_shuffles_is_summarised_over_its_replicas():
    assert isinstance(LOG, Logged)
    assert str(run(LOG, replicas=3).summary()).endswith("se: of the mean over the 3 replicas")


def test_totals_over_the_horizon_name_five_policies_and_the_one_that_they_are_compared_with():
    problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("answer"),), maximize="answer", horizon=200)
    means = {f"policy {i}": i / 10 for i in range(7)} | {"uniform": 0.05}
    (line,) = over_horizon(problem, means, Interval("policy 6", 0.55, 0.5, 0.6), "uniform", "Of some: ")
    each = "0 by policy 0; 20 by policy 1; 40 by policy 2; 60 by policy 3; 80 by policy 4; 2 more; 10 by uniform"
    beyond = "policy 6 beyond uniform +110 (95 %: +100 to +120)"
    assert line == f"Of some: over 200 accepted rounds that is answer in all: {each}; {beyond}"
    assert not list(over_horizon(problem, means | {"lost": float("nan")}, None, "uniform"))
