import numpy as np
import pytest
from matplotlib.colors import same_color

from evenhand.objectives import EqualExposure, GeneralizedGini, Linear
from evenhand.report.planes import preferences
from evenhand.report.plots import Curve, over_sweep, save
from evenhand.report.style import PALETTE

VALUES = np.array([[1.0, 2.0, 6.0], [2.0, 2.0, 2.0]])  # two points, three replicas


@pytest.mark.parametrize(("middle", "shown"), [("mean", [3.0, 2.0]), ("median", [2.0, 2.0])])
def test_a_sweep_shows_the_middle_in_a_band_around_the_mean(middle, shown, tmp_path):
    curves = [Curve("ours", [10, 20], VALUES, "C3--"), Curve("one run", [10], VALUES[:1, :1])]
    left, right = over_sweep({"a": curves, "b": curves[:1]}, "dimension", "regret", middle)
    (line, other) = left.get_lines()
    np.testing.assert_allclose(line.get_ydata(), shown)
    assert same_color(line.get_color(), PALETTE[3])
    assert (line.get_linestyle(), line.get_label()) == ("--", "ours")
    np.testing.assert_allclose(other.get_ydata(), [1.0])
    (band,) = left.collections  # none around a single run
    half = 2 * np.sqrt(7.0 / 3)  # the variance of 1, 2, 6 is 7
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((3 - half, 3 + half))
    assert (left.get_xlabel(), left.get_ylabel(), right.get_title()) == ("dimension", "regret", "b")
    assert save([left, right], tmp_path / "sweep.png").read_bytes()[:4] == b"\x89PNG"


def test_a_name_has_one_look_in_all_panels_and_one_place_in_the_legend():
    ours, theirs, dashed = (Curve(n, [10, 20], VALUES, look) for n, look in (("a", ""), ("b", ""), ("c", "C7--")))
    left, right = over_sweep({"x": [ours], "y": [theirs, ours, dashed]}, "dimension", "regret")
    colours = {line.get_label(): line.get_color() for line in right.get_lines()}
    assert same_color(colours["a"], left.get_lines()[0].get_color())
    assert len(set(colours.values())) == 3
    (legend,) = left.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]


def test_preferences_draw_every_objective(tmp_path):
    two = ("a", "b")
    objectives = {"sum": Linear({"a": 1.0, "b": 1.0}), "gini": GeneralizedGini(two), "equal": EqualExposure(two)}
    axes = preferences(objectives, points=11)
    assert [a.get_title() for a in axes] == list(objectives)
    assert all(a.collections for a in axes)
    assert save(axes, tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
