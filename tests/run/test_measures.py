"""Measures of a round: summed as realised and at true means, kept, joined and reported beside outcomes."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from evenhand.choices import Random
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.environments import Court, Delayed, Matching, Ranking
from evenhand.goals.linear_reward import indifferent
from evenhand.models import NullModel, Ridge
from evenhand.policy import Policy
from evenhand.problem import Budget
from evenhand.recipes import resolving_allocation, uniform
from evenhand.run import Checkpoints, Trace, play, simulate
from evenhand.welfare import Capped, PerArm, Piecewise, Satisfaction, satisfaction
from tests.examples.environments import AUDIENCE
from tests.examples.problems import EVERYTHING
from tests.worlds import Market

CURVE = PerArm((Capped(0.75), Piecewise(at=(0.5, 2.0), values=(0.5, 1.0))))
WORLD = Matching(users=4, arms=2, n_features=3, horizon=10, curve=CURVE)
NAME, AT_MEANS = "satisfaction", "satisfaction, at true means"


def at_random(world):
    """Plays anything, several arms for a user included."""
    problem = world.problem
    model = NullModel(world.n_features, len(problem.learned))
    return Policy(problem=problem, model=model, goals=(indifferent(problem),), choice=Random(n_plays=problem.n_plays))


def by_hand(plays, values, arms, curve):
    """sum_a r_a(sum of values of arm a), one replica and play after the other."""
    total = np.zeros(len(plays))
    for r in range(len(plays)):
        sums = np.zeros(arms)
        for c, v in zip(plays[r], values[r], strict=True):
            if c >= 0:
                sums[c % arms] += v
        total[r] = satisfaction(curve, sums).sum()
    return total


def rounds(world, replicas=3, seed=2):
    """Satisfaction of every round by hand, of outcomes and of means, `(T,R)` each."""
    policy = at_random(world)
    state, run, found = policy.start(seed=seed, replicas=replicas), world.start(seed, np.arange(replicas)), []
    for r in play(policy, state, run, range(world.problem.horizon)):
        (arrival,) = r.arrivals
        plays, mean = r.taken.plays, run.expected(r.context, r.taken.plays)
        found.append([by_hand(plays, z[:, :, 0], world.arms, world.curve) for z in (arrival.y, mean)])
    return np.array(found).transpose(1, 0, 2)


def simulated(world, **more):
    return simulate(at_random(world), world, **({"replicas": 3, "seed": 2, "progress": False} | more))


def test_ten_rounds_by_hand():
    realised, at_means = rounds(WORLD)
    trace = simulated(WORLD)
    at, upto = trace.times - 1, trace.times[:, None]
    assert len(at) >= 8
    np.testing.assert_allclose(trace.average(NAME), realised.cumsum(0)[at] / upto, rtol=1e-12)
    np.testing.assert_allclose(trace.total(NAME), realised.sum(0), rtol=1e-12)
    np.testing.assert_allclose(trace.in_expectation().average(NAME), at_means.cumsum(0)[at] / upto, rtol=1e-12)
    assert (realised != at_means).any()
    with pytest.raises(InvalidInput, match=r"outcome: expected one of \('match', 'satisfaction'\), got joy"):
        trace.total("joy")


def test_satisfaction_at_means_exceeds_the_mean_of_the_satisfaction():
    """As r is concave; far beyond the noise of 300 rounds."""
    trace = simulated(replace(WORLD, horizon=300))
    assert (trace.in_expectation().average(NAME)[-1] > 1.1 * trace.average(NAME)[-1]).all()


def test_what_has_not_arrived_is_measured_at_its_means_alone():
    realised, at_means = rounds(WORLD)
    trace = simulated(Delayed(WORLD, delay=4))
    np.testing.assert_allclose(trace.total(NAME), realised[:6].sum(0), rtol=1e-12)
    np.testing.assert_allclose(trace.in_expectation().total(NAME), at_means.sum(0), rtol=1e-12)
    lines = {line.name: line.mean for line in trace.summary().lines}
    assert lines["satisfaction, of outcomes that arrived"] == pytest.approx(realised[:6].sum(0).mean() / 10)
    assert lines[AT_MEANS] == pytest.approx(at_means.mean())
    np.testing.assert_array_equal(trace.as_arrived().average(NAME), trace.average(NAME))
    assert trace.as_arrived().in_expectation() is None


def test_summaries_frames_and_plots_have_both():
    trace = simulated(WORLD)
    lines = {line.name: line for line in trace.summary().lines}
    assert list(lines) == ["match", NAME, AT_MEANS]
    assert lines[NAME].worst == trace.average(NAME)[-1].min()
    frame = trace.to_frame()
    np.testing.assert_array_equal(frame[NAME], trace.average(NAME).ravel())
    np.testing.assert_array_equal(frame[AT_MEANS], trace.in_expectation().average(NAME).ravel())
    assert [a.get_title() for a in trace.plot().axes] == [f"average {n}" for n in ("match", NAME, AT_MEANS)]


def test_a_trace_with_measures_survives_the_disk_and_needs_its_problem(tmp_path):
    trace, path = simulated(WORLD), tmp_path / "t.npz"
    trace.save(path)
    back = Trace.load(path, WORLD.problem)
    np.testing.assert_array_equal(back.measured, trace.measured)
    np.testing.assert_array_equal(back.measured_expected, trace.measured_expected)
    trace.as_arrived().save(path)
    assert Trace.load(path, WORLD.problem).in_expectation() is None
    with pytest.raises(InvalidInput, match="outcomes, groups and measures as in the trace"):
        Trace.load(path, replace(WORLD.problem, measures=()))
    with pytest.raises(InvalidInput, match="outcomes, groups and measures as in the trace"):  # another r of that name
        Trace.load(path, replace(WORLD, curve=Capped(0.5)).problem)


@pytest.mark.parametrize("name", ["", "round", "replica", "objective", "under way"])
def test_measures_have_names_that_no_column_has(name):
    @dataclass(frozen=True)
    class Named(Satisfaction):
        def __post_init__(self):
            """Anything goes."""

    with pytest.raises(InvalidInput, match=r"^measures: expected a name that is none of"):
        replace(WORLD.problem, measures=(Named(CURVE, 2, name=name),))


def test_budgets_may_be_kept_by_staying_without_an_arm():
    """Every arm costs 1 per user, and the budget is for one user of four; one that is for less than none is refused."""
    problem = replace(WORLD, costs=(1.0, 1.0), subject_to=(Budget("cost", rate=1.0),)).problem
    with pytest.raises(InfeasibleProblem):
        replace(problem, measures=())
    trace = simulate(
        resolving_allocation(problem, Ridge(n_features=3), may_stay=True),
        replace(WORLD, costs=(1.0, 1.0), subject_to=problem.subject_to),
        replicas=2,
        progress=False,
    )
    assert (trace.total("cost") <= 10.0).all()
    assert (trace.total("cost") > 0.0).all()


@pytest.mark.slow
def test_replicas_in_several_processes_and_alone_measure_the_same():
    together, apart = simulated(WORLD), simulated(WORLD, jobs=2)
    np.testing.assert_array_equal(together.measured, apart.measured)
    np.testing.assert_array_equal(together.measured_expected, apart.measured_expected)
    alone = simulated(WORLD, replicas=[1])
    np.testing.assert_array_equal(alone.measured[:, 0], together.measured[:, 1])


def test_a_run_that_was_interrupted_goes_on_with_its_measures(tmp_path, monkeypatch):
    from evenhand.run import simulation

    world = replace(WORLD, horizon=300)
    whole, kept = simulated(world), Checkpoints(folder=tmp_path)
    original = simulation.Checkpoint.write_if_due

    def stop(self, halfway):
        original(self, halfway)
        self.write(halfway)
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation.Checkpoint, "write_if_due", stop)
    with pytest.raises(KeyboardInterrupt):
        simulated(world, checkpoints=kept)
    monkeypatch.undo()
    (path,) = tmp_path.iterdir()
    with np.load(path) as file:
        assert 0 < file[".record.steps"] < 300
        assert file[".record.measured"].any()
    after = simulated(world, checkpoints=kept)
    np.testing.assert_array_equal(after.measured, whole.measured)
    np.testing.assert_array_equal(after.measured_expected, whole.measured_expected)


@dataclass(frozen=True)
class Clicks:
    """Counts the clicks that were seen, to compare it with the sums of outcomes."""

    name: str = "clicks"
    worst: ClassVar[str] = "low"

    def on(self, problem):
        return lambda plays, outcomes: outcomes[:, :, 0].sum(1) * self.weight()

    def weight(self):
        return 1.0


@pytest.mark.parametrize(
    "world", [Ranking(audience=AUDIENCE, horizon=30, slots=3), Market(problem=EVERYTHING, offered=0.2)]
)
def test_what_was_not_exposed_and_rounds_that_do_not_count_are_0(world):
    """In a ranking, places are looked at by chance; in the market, steps go on beyond the horizon, for nothing."""
    trace, name = simulated(Measured(world, (Clicks(),))), world.problem.observed[0]
    assert trace.total(name).any()
    np.testing.assert_allclose(trace.average("clicks"), trace.average(name), rtol=1e-12)
    at_means = trace.in_expectation()
    np.testing.assert_allclose(at_means.average("clicks"), at_means.average(name), rtol=1e-12)


@dataclass(frozen=True, eq=False)
class Measured:
    """Another world, with measures."""

    world: object
    measures: tuple

    @property
    def problem(self):
        return replace(self.world.problem, measures=self.measures)

    @property
    def n_features(self):
        return self.world.n_features

    def start(self, seed, replicas):
        return self.world.start(seed, replicas)


class Unsound(Clicks):
    def weight(self):
        return np.nan


def test_a_measure_that_is_no_number_is_refused():
    world = Measured(Ranking(audience=AUDIENCE, horizon=30, slots=3), (Unsound(),))
    with pytest.raises(InvalidInput, match=r"Unsound.on: expected 3 finite numbers, one per replica"):
        simulated(world)


def test_without_measures_traces_have_none():
    court = Court(horizon=20)
    trace = simulate(uniform(court.problem, 5), court, replicas=2, progress=False)
    assert trace.measured.shape == (*trace.elapsed.shape, 0)
    assert trace.measured_expected.shape == trace.measured.shape
