import numpy as np
import pytest
from matplotlib.colors import same_color
from scipy.optimize import Bounds, LinearConstraint, minimize

from evenhand.report.ends import spread
from evenhand.report.plots import Curve, over_sweep, save
from evenhand.report.style import PALETTE
from tests.pictures import caption_of

VALUES = np.array([[1.0, 2.0, 6.0], [2.0, 2.0, 2.0]])  # two points, three replicas


def test_a_sweep_shows_the_mean_in_a_band_around_it(tmp_path):
    curves = [Curve("ours", [10, 20], VALUES, "C3--"), Curve("one run", [10], VALUES[:1, :1])]
    left, right = over_sweep({"a": curves, "b": curves[:1]}, "dimension", "regret")
    (line, other) = left.get_lines()
    np.testing.assert_allclose(line.get_ydata(), [3.0, 2.0])
    assert same_color(line.get_color(), PALETTE[3])
    assert (line.get_linestyle(), line.get_label()) == ("--", "ours")
    np.testing.assert_allclose(other.get_ydata(), [1.0])
    (band,) = left.collections  # none around a single run
    half = 2 * np.sqrt(7.0 / 3)  # the variance of 1, 2, 6 is 7
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((3 - half, 3 + half))
    assert (left.get_xlabel(), left.get_ylabel(), right.get_title()) == ("dimension", "regret", "b")
    assert save([left, right], tmp_path / "sweep.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(("replicas", "ends"), [(5, None), (6, (1, 6)), (10, (2, 9)), (25, (8, 18))])
def test_a_sweep_shows_the_median_in_its_interval_by_ranks(replicas, ends):  # binomial tables, at 95 %
    values = np.stack([np.random.default_rng(i).permutation(np.arange(1.0, replicas + 1)) for i in range(2)])
    (axes,) = over_sweep({"a": [Curve("ours", [1, 2], values)]}, "dimension", "regret", "median")
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), (replicas + 1) / 2)
    heights = [band.get_paths()[0].vertices[:, 1] for band in axes.collections]
    assert [(h.min(), h.max()) for h in heights] == ([] if ends is None else [ends])
    assert "95 % intervals of the median" in " ".join(caption_of(axes.figure).split())


def test_a_name_has_one_look_in_all_panels_and_stands_at_the_end_of_its_curve():
    ours, theirs, dashed = (Curve(n, [10, 20], VALUES, look) for n, look in (("a", ""), ("b", ""), ("c", "C7--")))
    upper, lower = over_sweep({"x": [ours], "y": [theirs, ours, dashed]}, "dimension", "regret")
    colours = {line.get_label(): line.get_color() for line in lower.get_lines()}
    assert same_color(colours["a"], upper.get_lines()[0].get_color())
    assert len(set(colours.values())) == 3
    assert not upper.figure.legends
    assert [text.get_text() for text in upper.texts] == ["a"]
    assert [text.get_text() for text in lower.texts] == ["b", "a", "c"]
    led = {p.get_edgecolor() for p in lower.patches}
    assert len(led) == 3


def test_names_that_do_not_fit_are_in_a_legend():
    many = [Curve(f"policy {i}", [10, 20], VALUES + i) for i in range(30)]
    (axes,) = over_sweep({"x": many}, "dimension", "regret")
    (legend,) = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [c.name for c in many]
    assert not axes.texts


def test_names_stand_where_curves_end_and_apart(tmp_path):
    ends = {"high": 3.0, "twin": 1.0, "also": 1.0, "low": 0.0}
    curves = [Curve(n, [10, 20], np.array([[2.0, 2.0], [y, y]])) for n, y in ends.items()]
    curves.append(Curve("unknown", [10, 20], np.full((2, 2), np.nan)))
    (axes,) = over_sweep({"x": curves}, "dimension", "regret", headline="high ends highest")
    at = {t.get_text(): t.get_position()[1] for t in axes.texts}
    assert sorted(at, key=at.get, reverse=True) == ["high", "twin", "also", "low", "unknown"]
    low, high = axes.get_ylim()
    assert at["high"] == pytest.approx((3.0 - low) / (high - low), abs=0.05)
    assert axes.figure.get_suptitle() == "high ends highest"
    save([axes], tmp_path / "x.png")  # texts that lie on each other fail, see conftest.py


def test_places_are_moved_as_little_as_texts_need():
    luck = np.random.default_rng(0)
    for n in (1, 2, 7):
        at, tall = -np.sort(-luck.random(n)), luck.uniform(0.02, 0.1, n)
        found = spread(at, tall)
        gaps = (tall[1:] + tall[:-1]) / 2
        assert np.all(found[:-1] - found[1:] >= gaps - 1e-9)
        assert found[0] <= 1.0 - tall[0] / 2 + 1e-9
        assert found[-1] >= tall[-1] / 2 - 1e-9
        bounds = [LinearConstraint(np.eye(n)[:-1] - np.eye(n)[1:], gaps, np.inf)] if n > 1 else []
        ends = Bounds(np.full(n, -np.inf), np.full(n, np.inf))
        ends.lb[-1], ends.ub[0] = tall[-1] / 2, 1.0 - tall[0] / 2
        best = minimize(lambda x, at=at: ((x - at) ** 2).sum(), found, constraints=bounds, bounds=ends, method="SLSQP")
        assert ((found - at) ** 2).sum() <= best.fun + 1e-6
