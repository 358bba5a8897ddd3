"""Policies side by side: same luck, one table, partial results after Ctrl-C."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.run import comparison as module
from tests.pictures import no_overlaps

ROUNDS = 200


def court(ride: float = 0.05) -> eh.environments.Court:
    return eh.environments.Court(horizon=ROUNDS, ride=ride)


def some(problem: eh.Problem) -> list[eh.Policy]:
    model = eh.BayesianLogistic(n_features=5)
    return [eh.resolving(problem, model), eh.uniform(problem, n_features=5)]


def test_traces_are_those_of_single_runs():
    found = eh.compare(some(court().problem), court(), replicas=3, seed=5, progress=False)
    assert found.names == ("resolving", "uniform")
    assert found.finished
    for policy in some(court().problem):
        alone = eh.simulate(policy, court(), replicas=3, seed=5, progress=False)
        assert np.array_equal(found[policy.name].totals, alone.totals)


def test_the_table_and_the_frame_say_what_summaries_say():
    found = eh.compare(some(court().problem), court(), replicas=3, progress=False)
    lines = str(found).splitlines()
    summary = found["resolving"].summary()
    row = next(line.split() for line in lines if line.startswith("resolving "))
    first, second = summary.lines[:2]
    assert row[1:6] == [f"{x:.4f}" for x in (first.mean, first.se, first.worst, second.mean, second.worst)]
    assert next(line for line in lines if line.startswith("limit")).split()[1] == "0.0500"
    frame = found.to_frame()
    assert len(frame) == 2 * len(summary.lines)
    assert frame.loc[0, "mean"] == first.mean
    assert found._repr_html_().startswith("<table>")


def test_differences_are_by_pairs_of_replicas():
    found = eh.compare(some(court().problem), court(), replicas=4, seed=2, progress=False)
    first, second = found.traces
    values = second.objective()[-1] - first.objective()[-1]
    d = found.differences()[0]
    se = values.std(ddof=1) / 2
    assert d[:3] == ("uniform", "resolving", found["uniform"].summary().lines[0].name)
    reach = scipy.stats.t.ppf(0.975, 3) * se
    assert d[3:] == pytest.approx((values.mean(), se, values.mean() - reach, values.mean() + reach, values.min()))
    assert len(found.differences()) == len(second.summary().lines)
    assert next(e for e in found.differences() if e.name == "ride per round").worst == pytest.approx(
        (second.average("ride")[-1] - first.average("ride")[-1]).max()
    )
    lines = str(found).splitlines()
    below = next(i for i, line in enumerate(lines) if "beyond resolving" in line)
    assert lines[below + 2].split() == ["uniform", *(f"{x:.4f}" for x in d[3:])]
    assert lines[below + 3].startswith("by pairs: ")
    grid = eh.sweep(some, "rides", {ride: court(ride) for ride in (0.05, 0.1)}, replicas=4, seed=2, progress=False)
    assert grid.differences()[0.05] == found.differences()
    assert grid.differences()[0.1] == grid[0.1].differences()
    alone = eh.compare(some(court().problem)[:1], court(), replicas=2, progress=False)
    assert alone.differences() == ()
    assert repr(alone.differences()) == "no differences"
    assert "beyond" not in str(alone)


def test_differences_are_shown_as_a_table():
    found = eh.compare(some(court().problem), court(), replicas=3, progress=False).differences()
    title, head, _, *rows = repr(found).splitlines()
    assert title.startswith("beyond resolving, by pairs: ")
    assert head.split() == ["policy", "quantity", "mean", "se", "95", "%", "from", "to", "worst"]
    assert [row.split()[0] for row in rows] == ["uniform"] * len(found)
    assert rows[0].split()[1:] == [found[0].name, *(f"{x:.4f}" for x in found[0][3:])]
    assert list(pd.DataFrame(found).columns) == list(module.PairedDifference._fields)


def test_the_best_policy_is_that_of_the_picture_and_the_table_in_latex(tmp_path):
    """It is the last here, and misses no limit; one that gains more and misses one comes after it, with a mark."""
    found = eh.compare(some(court().problem)[::-1], court(), replicas=3, progress=False)
    lines = found["resolving"].summary().lines
    assert found.best == "resolving"
    assert found.headline.startswith(f"resolving has the highest {lines[0].name}, {lines[0].mean:.4g}: ")
    figure = found.plot()
    no_overlaps(figure)
    assert figure.get_suptitle().replace("\n", " ") == found.headline
    widest = max(figure.axes[0].lines, key=lambda line: line.get_linewidth())
    assert widest.get_label() == "resolving"
    widest = max(found.plot(main="uniform").axes[0].lines, key=lambda line: line.get_linewidth())
    assert widest.get_label() == "uniform"
    with pytest.raises(InvalidInput, match=r"^policy: expected one of"):
        found.plot(main="unform")
    written = found.to_latex(label="tab:court").splitlines()
    assert written[2].startswith(r"\caption{resolving has the highest ")
    assert written[2].endswith(r"Mean $\pm$ standard error over 3 replicas, per round.}")
    assert written[3] == r"\label{tab:court}"
    row = next(line for line in written if line.startswith("resolving &"))
    assert row.split(" & ")[1] == rf"\textbf{{{lines[0].mean:.4f} $\pm$ {lines[0].se:.4f}}}"
    assert "textbf" not in next(line for line in written if line.startswith("uniform &"))
    after = written.index(next(line for line in written if line.startswith("limit &")))
    assert written[after - 1] == r"\midrule"
    for path in ("pdf", "eps"):
        found.plot(tmp_path / f"figure.{path}")
    assert b"/Type0" in (tmp_path / "figure.pdf").read_bytes()
    assert b"/Type3" not in (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontType 42" in (tmp_path / "figure.eps").read_bytes()


def test_a_policy_that_misses_a_limit_is_not_the_best(monkeypatch):
    found = eh.compare(some(court().problem), court(), replicas=3, progress=False)
    whole = module.Trace.summary

    def missing(trace):
        summary = whole(trace)
        first, second, *rest = summary.lines
        cut = trace.policy == "resolving"
        return summary._replace(lines=(first, second._replace(missed=cut), *rest))

    monkeypatch.setattr(module.Trace, "summary", missing)
    assert found.best == "uniform"
    assert found.headline.startswith(f"uniform has {found.summaries()[0].lines[0].name} of ")
    assert found.headline.endswith("; resolving misses a limit")
    row = next(line for line in found.to_latex().splitlines() if line.startswith("resolving &"))
    assert row.count(r"\dag{}") == 1
    ended = dataclasses.replace(found["uniform"], finished=False)
    assert module.Comparison((found["resolving"], ended)).best == "resolving"  # as all that ended miss one


class Dice:
    """Plays an action at random."""

    def __init__(self, luck):
        self.select = lambda context: int(luck.integers(3))
        self.update = lambda context, action, reward: None


def test_a_comparison_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """Own algorithms and those of the house are read again, also by a sweep; another code is another run."""
    problem = court().problem
    policies = [eh.Wrapped(make=Dice, name="dice").policy(problem, 5), *some(problem)]
    whole, run = module.simulate, []

    def stopped(policy, *args, **options):
        run.append(policy.name)
        if len(run) == 3:
            raise KeyboardInterrupt
        return whole(policy, *args, **options)

    monkeypatch.setattr(module, "simulate", stopped)
    with pytest.raises(KeyboardInterrupt):
        eh.compare(policies, court(), replicas=2, out=tmp_path, progress=False)
    found = eh.compare(policies, court(), replicas=2, out=tmp_path, progress=False)
    assert run == ["dice", "resolving", "uniform", "uniform"]
    alone = eh.compare(policies, court(), replicas=2, progress=False)
    for name in found.names:
        np.testing.assert_array_equal(found[name].totals, alone[name].totals)
    assert str(eh.compare(policies, court(), replicas=2, out=tmp_path, progress=False)) == str(alone)
    at = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(at) == 3
    eh.sweep(lambda _: policies, "rides", {0.05: court()}, replicas=2, out=tmp_path, progress=False)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == at
    other = eh.Wrapped(make=Dice, name="dice").policy(problem, 5)
    object.__setattr__(other.model, "code", other.model.code + " ")
    run.clear()
    eh.compare([other, *policies[1:]], court(), replicas=2, out=tmp_path, progress=False)
    assert run == ["dice"]


def test_what_has_no_hash_is_refused_before_any_run(tmp_path):
    problem = court().problem
    policies = [*some(problem), eh.Wrapped(make=lambda luck: Dice(luck), name="dice").policy(problem, 5)]
    with pytest.raises(InvalidInput, match=r"^out: expected policies and environments that have a hash"):
        eh.compare(policies, court(), replicas=2, out=tmp_path, progress=False)
    assert not list(tmp_path.iterdir())


def test_one_replica_has_a_difference_without_an_error():
    (d, *_) = eh.compare(some(court().problem), court(), replicas=1, progress=False).differences()
    assert d.mean == d.worst
    assert np.isnan([d.se, d.low, d.high]).all()


def test_a_run_that_was_interrupted_is_not_compared():
    found = eh.compare(some(court().problem), court(), replicas=2, progress=False)
    broken = module.Comparison((found.traces[0], dataclasses.replace(found.traces[1], finished=False)))
    assert broken.differences() == ()


def test_pictures_of_comparisons_and_sweeps_have_no_overlaps():
    found = eh.compare(some(court().problem), court(), replicas=3, progress=False)
    no_overlaps(found.plot())
    grid = eh.sweep(some, "rides per person", {ride: court(ride) for ride in (0.05, 0.1)}, replicas=3, progress=False)
    figure = grid.plot()
    no_overlaps(figure)
    assert [a.get_title() for a in figure.axes][:2] == [line.name for line in found["uniform"].summary().lines][:2]


def test_a_sweep_over_named_environments_keeps_their_order():
    grid = eh.sweep(some, "court", {"poor": court(0.05), "and rich": court(0.1)}, replicas=2, progress=False)
    assert list(grid.comparisons) == ["poor", "and rich"]
    assert str(grid).startswith("court = poor\n")
    assert list(grid.to_frame()["court"].unique()) == ["poor", "and rich"]
    for axes in grid.plot().axes:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["poor", "and rich"]
    with pytest.raises(InvalidInput, match=r"^court: expected one of \('poor', 'and rich'\), got rich"):
        grid["rich"]


def test_a_sweep_has_a_comparison_per_value():
    grid = eh.sweep(some, "rides per person", {0.1: court(0.1), 0.05: court(0.05)}, replicas=2, progress=False)
    assert list(grid.comparisons) == [0.1, 0.05]
    one = eh.compare(some(court(0.1).problem), court(0.1), replicas=2, progress=False)
    assert np.array_equal(grid[0.1]["uniform"].totals, one["uniform"].totals)
    frame = grid.to_frame()
    assert list(frame.columns[:3]) == ["rides per person", "interrupted", "policy"]
    assert str(grid).startswith("rides per person = 0.1\npolicy")
    with pytest.raises(InvalidInput, match=r"^rides per person: expected one of \(0\.1, 0\.05\), got 0\.2"):
        _ = grid[0.2]


def test_an_interrupted_run_is_the_last(monkeypatch):
    """The first policy is cut off after a few steps, as by Ctrl-C."""
    whole, asked = module.simulate, []

    def cut(policy, environment, **kept):
        asked.append(policy.name)
        trace = whole(policy, environment, **kept)
        object.__setattr__(trace, "finished", False)
        return trace

    monkeypatch.setattr(module, "simulate", cut)
    found = eh.compare(some(court().problem), court(), replicas=2, progress=False)
    assert asked == ["resolving"]
    assert not found.finished
    assert "resolving: INTERRUPTED at its end, with all 200 rounds" in str(found)


@pytest.mark.parametrize("other", [object(), dict, eh.uniform])
def test_what_is_no_policy_is_told_how_to_become_one(other):
    words = r"expected a Policy from a recipe, or from `eh\.Wrapped\(make=.*\)` for an algorithm of your own, got"
    with pytest.raises(InvalidInput, match=rf"^policies\[0\]: {words}"):
        eh.compare([other], court())
    with pytest.raises(InvalidInput, match=rf"^policy: {words}"):
        eh.simulate(other, court())
    with pytest.raises(InvalidInput, match=rf"^policies\[0\]: {words}"):
        eh.sweep(lambda problem: [other], "rides", {0.1: court()})


def test_bad_input_is_refused():
    problem = court().problem
    twin = eh.uniform(problem, n_features=5)
    with pytest.raises(InvalidInput, match=r"^policies: expected policies made .* got 'uniform', made for another"):
        eh.compare([*some(court(0.1).problem)[:1], twin], court(0.1))
    with pytest.raises(InvalidInput, match=r"^environments: expected at least one environment"):
        eh.sweep(some, "rides", {})
    with pytest.raises(InvalidInput, match=r"^environments: rides: expected a finite number"):
        eh.sweep(some, "rides", {float("nan"): court()})
    with pytest.raises(InvalidInput, match=r"^environments: rides: expected all numbers or all names"):
        eh.sweep(some, "rides", {"few": court(), 0.1: court()})
    with pytest.raises(InvalidInput, match=r"^policy: expected one of \('uniform',\), got 'greedy'"):
        _ = eh.compare([twin], court(), replicas=1, progress=False)["greedy"]


def test_differences_are_beyond_any_policy():
    found = eh.compare(some(court().problem), court(), replicas=3, progress=False)
    forth, back = found.differences(), found.differences(beyond="uniform")
    assert {(d.policy, d.beyond) for d in back} == {("resolving", "uniform")}
    assert [d.mean for d in back] == pytest.approx([-d.mean for d in forth])
    with pytest.raises(InvalidInput, match=r"^policy: expected one of"):
        found.differences(beyond="unform")
    swept = eh.run.Sweep("rides", {0.05: found})
    assert swept.differences(beyond="uniform") == {0.05: back}


def test_a_sweep_that_was_interrupted_before_its_first_run_says_so():
    broken = eh.run.Sweep("rides", {}, finished=False)
    assert str(broken) == "Sweep of rides: interrupted before its first run"
    with pytest.raises(InvalidInput, match="interrupted before its first"):
        broken.plot()
