"""Policies side by side: same luck, one table, partial results after Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest

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
    assert "resolving: INTERRUPTED after 200 of 200 rounds" in str(found)
    grid = eh.sweep(some, "rides", {0.05: court(), 0.1: court(0.1)}, replicas=2, progress=False)
    assert list(grid.comparisons) == [0.05]
    assert not grid.finished


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
