"""The picture of how policies ended."""

import numpy as np

from evenhand.experiments.court.picture import headline
from evenhand.experiments.lessons import study as lessons
from evenhand.report.plots import save
from evenhand.report.standings import Column, draw

NAMES = ["resolving", "a policy with a name that needs more than one line beside the panel", "uniform"]


def test_replicas_beyond_a_limit_are_counted_but_not_rounding():
    used = Column("used", "share", [np.array([1.0, 1.0 + 1e-12]), np.array([1.1, 0.9, 1.2])], "high", limit=1.0)
    assert [used.n_beyond(i) for i in range(2)] == [0, 2]
    floor = Column("shown", "share", [np.array([0.4, 0.6])], "low", limit=0.5)
    assert floor.n_beyond(0) == 1
    assert Column("gain", "share", [np.array([9.0])], "high").n_beyond(0) == 0
    for unit in (1e-12, 1e12):
        small = Column("used", "", [unit * np.array([1.0, 1.0 + 1e-12, 1.01, np.nan])], "high", limit=unit)
        assert small.n_beyond(0) == 1
    assert Column("used", "", [np.array([0.0, 1e-15])], "high", limit=0.0).n_beyond(0) == 1


def test_what_is_beyond_a_limit_is_written_beside_its_panel(tmp_path):
    gains = [np.array([0.9, 1.0]), np.array([0.5, np.nan]), np.array([0.0])]
    used = [np.array([1.0, 1.0]), np.array([0.9, 1.3]), np.full(2, np.nan)]
    columns = [Column("gain", "share", gains, "low", best=1.0), Column("used", "share", used, "high", limit=1.0)]
    axes = draw(NAMES, columns, "a sentence that says what was found " * 6, main="resolving")
    assert [t.get_text() for t in axes[1].texts] == ["1 of 2 runs"]
    assert not axes[0].texts
    assert axes[0].figure.get_suptitle().startswith("a sentence")
    names = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert names[0] == "mean ± 2 standard errors"
    assert {"limit", "optimum"} < set(names)
    save(axes, tmp_path / "x.png")  # what is written is measured, see conftest.py


def test_a_single_replica_beyond_a_limit_is_marked(tmp_path):
    used = Column("used", "share", [np.array([1.2]), np.array([0.8]), np.array([0.9])], "high", limit=1.0)
    axes = draw(NAMES, [used], "one run each")
    assert [t.get_text() for t in axes[0].texts] == ["1 of 1 run"]
    crosses = [line for line in axes[0].lines if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[1.2]]
    assert not any(line.get_marker() == "|" and line.get_zorder() == 4 for line in axes[0].lines)  # of worst replicas
    save(axes, tmp_path / "x.png")


def test_the_demo_says_who_gained_most_and_who_overspent():
    def said(first, second):
        gains = Column("gain", "", [np.full(4, 0.7), np.full(4, 0.98)], "low")
        used = Column("used", "", [np.full(4, first), np.array([1.0, 1.0, second, 1.0])], "high", limit=1.0)
        return headline(["a", "b"], [gains, used, used])

    assert said(2.0, 1.0) == (
        "b brings 98% of the possible gain and never overspends in 4 runs; the next best, a, brings 70% and overspends "
        "in 4 of 4 runs"
    )
    assert said(0.9, 1.0).endswith("the next best, a, brings 70%")
    assert said(0.5, 1.01) == (
        "a brings 70% of the possible gain and never overspends in 4 runs; b brings 98%, but overspends in 1 of 4 runs"
    )
    assert said(2.0, 1.01).startswith("b brings 98% of the possible gain and overspends in 1 of 4 runs; the next")


def test_the_demo_leaves_out_runs_that_were_interrupted():
    nan = np.nan
    gains = Column("gain", "", [np.array([nan, 0.5]), np.array([0.4, 0.4]), np.array([nan, nan])], "low")
    used = Column("used", "", [np.array([nan, 1.0]), np.array([1.0, 1.0]), np.array([nan, nan])], "high", limit=1.0)
    assert headline(["a", "b", "c"], [gains, used, used]) == (
        "a brings 50% of the possible gain and never overspends in 1 run; the next best, b, brings 40%"
    )
    none = Column("gain", "", [np.array([nan])], "low")
    assert headline(["a"], [none, none, none]) == "no run has ended"


def test_lessons_say_by_how_much_averages_may_be_beyond_limits():
    goals = Column("goal", "", [np.array([g, np.nan]) for g in (0.9, 0.95, 0.99, 0.97)], "low")
    used = Column("used", "", [np.array([u, np.nan]) for u in (1.0, 1.004, 1.0, 1.006)], "high", limit=1.0)
    gap = Column("gap", "", [np.array([z, np.nan]) for z in (0.0, 0.0, 9.0, 0.0)], "high", limit=0.0)
    assert lessons._headline(["kept", "nearly", "uneven", "beyond"], [goals, used, gap], 0.8) == (
        "Within both limits, nearly reaches 95% of the optimum, kept 90%, one lottery for all pupils 80%"
    )
