"""The picture of how policies ended."""

import numpy as np

from evenhand.experiments.demo import study as demo
from evenhand.report.plots import save
from evenhand.report.standings import Column, draw

NAMES = ["resolving", "a policy with a name that needs more than one line beside the panel", "uniform"]


def test_replicas_beyond_a_limit_are_counted_but_not_rounding():
    used = Column("used", "share", [np.array([1.0, 1.0 + 1e-12]), np.array([1.1, 0.9, 1.2])], "high", limit=1.0)
    assert [used.over(i) for i in range(2)] == [0, 2]
    floor = Column("shown", "share", [np.array([0.4, 0.6])], "low", limit=0.5)
    assert floor.over(0) == 1
    assert Column("gain", "share", [np.array([9.0])], "high").over(0) == 0


def test_what_is_beyond_a_limit_is_written_beside_its_panel(tmp_path):
    gains = [np.array([0.9, 1.0]), np.array([0.5, np.nan]), np.array([0.0])]
    used = [np.array([1.0, 1.0]), np.array([0.9, 1.3]), np.full(2, np.nan)]
    columns = [Column("gain", "share", gains, "low", best=1.0), Column("used", "share", used, "high", limit=1.0)]
    axes = draw(NAMES, columns, "a sentence that says what was found " * 6, main="resolving")
    assert [t.get_text() for t in axes[1].texts] == ["1 of 2 runs"]
    assert not axes[0].texts
    assert axes[0].figure.get_suptitle().startswith("a sentence")
    save(axes, tmp_path / "x.png")  # what is written is measured, see conftest.py


def test_the_demo_says_who_gained_most_and_who_overspent():
    def headline(first, second):
        gains = Column("gain", "", [np.full(4, 0.7), np.full(4, 0.98)], "low")
        used = Column("used", "", [np.full(4, first), np.array([1.0, 1.0, second, 1.0])], "high", limit=1.0)
        return demo._headline(["a", "b"], [gains, used, used])

    assert headline(2.0, 1.0) == (
        "b brings 98% of the possible gain and never overspends in 4 runs; the next best, a, brings 70%"
    )
    assert headline(0.5, 1.01).startswith("b brings 98% of the possible gain and overspends in 1 of 4 runs")
