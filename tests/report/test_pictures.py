"""Pictures of nasty input: long names, many policies, a single replica or round, constants, NaN, outliers, twins."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from evenhand.core.errors import InvalidInput
from evenhand.environments import Court, Lessons, MultiObjective
from evenhand.experiments.concave_rewards import study as concave_rewards
from evenhand.experiments.court import study as court
from evenhand.experiments.lessons import study as lessons
from evenhand.experiments.small_budgets import study as small_budgets
from evenhand.experiments.square_cbwk import study as square_cbwk
from evenhand.recipes import uniform
from evenhand.report import scales, style
from evenhand.report.planes import in_plane
from evenhand.report.plots import Curve, Panel, over_rounds, over_sweep, save
from evenhand.run import simulate
from tests.pictures import caption_of, no_overlaps

LONG = "a policy of $60 and x_1^2 with a_name_that_no_line_can_hold_and_more"
GRID = np.unique(np.geomspace(1, 200, 40).astype(int))


@dataclass
class Course:
    """What `over_rounds` reads of a trace, with values of its own."""

    policy: str
    values: np.ndarray  # (G, R)
    times: np.ndarray = field(default_factory=lambda: GRID)
    interrupted: str = ""

    @property
    def under_way(self):
        return np.zeros(self.values.shape)


def curve(level, replicas=2, times=GRID, seed=0):
    noise = np.random.default_rng(seed).normal(size=(len(times), replicas)) / np.sqrt(times)[:, None]
    return level + 0.1 * noise


PANEL = Panel("reward", lambda t: t.values, {"limit": 0.5}, zoom=True)
TIMES = np.array([1])
NASTY = {
    "twelve long names": [Course(f"{LONG} {i}", curve(0.1 * i, seed=i)) for i in range(12)],
    "one replica": [Course("a", curve(0.3, 1)), Course("b", curve(0.4, 1))],
    "one round": [Course("a", curve(0.3, 3, TIMES), TIMES), Course("_b", curve(0.3, 3, TIMES), TIMES)],
    "constant": [Course("a", np.full((len(GRID), 2), 0.25))],
    "zero": [Course("a", np.zeros((len(GRID), 2)))],
    "huge constant": [Course("a", np.full((len(GRID), 2), 1e12)), Course("b", np.full((len(GRID), 2), -1e300))],
    "tiny": [Course("a", curve(0.3) * 1e-9), Course("b", curve(0.4) * 1e-9)],
    "not a number": [Course("a", np.full((len(GRID), 2), np.nan)), Course("b", curve(0.2))],
    "nothing known": [Course("a", np.full((len(GRID), 2), np.nan))],
    "infinite": [Course("a", np.full((len(GRID), 2), np.inf)), Course("b", curve(0.2))],
    "outlier": [Course("a", curve(0.2)), Course("b", curve(0.25)), Course("c", curve(0.22)), Course(LONG, curve(1e9))],
    "identical": [Course(n, curve(0.2)) for n in ("a", "b", "c", "a", "a")],
    "interrupted": [
        Course(LONG, curve(0.2), interrupted="INTERRUPTED after 200 of 1,000 rounds"),
        Course("b", curve(0.2)),
    ],
}


def many_panels(count):
    return [Panel(f"{LONG} {i}", PANEL.value, {LONG: 0.5, "b": 0.2}, i % 2 == 0, LONG) for i in range(count)]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", NASTY)
def test_nothing_overlaps_over_the_rounds(name, log):
    no_overlaps(over_rounds(NASTY[name], [PANEL] * 2, log_rounds=log)[0].figure)


@pytest.mark.parametrize("panels", [1, 2, 5])
@pytest.mark.parametrize("name", ["twelve long names", "constant", "outlier", "huge constant"])
def test_nothing_overlaps_where_panels_have_long_names(name, panels):
    no_overlaps(over_rounds(NASTY[name], many_panels(panels))[0].figure)


@pytest.mark.parametrize("log", ["", "x", "xy"])
@pytest.mark.parametrize("name", NASTY)
def test_nothing_overlaps_along_a_sweep(name, log):
    curves = [Curve(c.policy, (c.times * 50.0).tolist(), c.values) for c in NASTY[name]]
    no_overlaps(over_sweep({LONG: curves, "b": curves[:1]}, LONG, LONG, log=log)[0].figure)


@pytest.mark.parametrize("count", [1, 2, 4, 6])
@pytest.mark.parametrize("far", [1.0, 1e6])
def test_nothing_overlaps_in_a_plane(count, far):
    path = np.stack([curve(0.3, 1)[:, 0], curve(0.6, 1)[:, 0]], 1)
    path[0] *= far
    region = np.array([[0.1, 0.1], [0.3, 0.1], [0.3, 0.3], [0.1, 0.1]])
    axes = in_plane({f"{LONG} {i}": path for i in range(count)}, region, (LONG, "cost_2"))
    no_overlaps(axes[0].figure)
    shown = [a for a in axes if any(t.label1.get_visible() for t in a.xaxis.get_major_ticks())]
    assert len(shown) == min(count, 2)  # every column says what its axis counts


def test_texts_are_no_mathematics(tmp_path):
    (axes,) = over_rounds(
        [Course("costs $5", curve(0.1)), Course("_x^2 $6$", curve(0.2))], [PANEL._replace(title="$a$")]
    )
    literal = [t for t in axes.figure.findobj(Text) if "$" in t.get_text()]
    assert len(literal) == 3
    assert not any(t.get_parse_math() for t in literal)
    save([axes], tmp_path / "x.png")


def width(axes: Axes) -> list[float]:
    return [line.get_linewidth() for line in curves_of(axes)]


def curves_of(axes: Axes) -> list[Line2D]:
    return [line for line in axes.get_lines() if len(line.get_xdata()) > 2]


def test_the_main_policy_has_the_thickest_line_and_references_are_grey():
    courses = [Course(n, curve(0.1 * i)) for i, n in enumerate(("uniform", "pgd", "resolving"))]
    (axes,) = over_rounds(courses, [PANEL], main="resolving", references=("uniform",))
    assert width(axes)[2] > max(width(axes)[:2])
    assert curves_of(axes)[0].get_color() == style.GREY
    (axes,) = over_rounds(courses, [PANEL], references=("uniform",))
    assert width(axes)[1] > max(width(axes)[0], width(axes)[2])  # the first that is no reference
    sweep = [Curve(c.policy, [1, 2, 3], c.values[:3]) for c in courses]
    (axes,) = over_sweep({"x": sweep}, "a", "b", main="pgd")
    assert width(axes)[1] > max(width(axes)[0], width(axes)[2])


def test_every_curve_has_a_look_of_its_own():
    found = style.looks([str(i) for i in range(12)], "3", ())
    assert len({(look.color, look.dashes) for look in found}) == 12


def test_identical_curves_are_drawn_in_alternating_dashes():
    same, other = curve(0.2), curve(0.4)
    (axes,) = over_rounds([Course("a", same), Course("b", same), Course("c", other)], [PANEL])
    first, second, third = curves_of(axes)
    (offset, dashes), (later, others) = ((z._unscaled_dash_pattern) for z in (first, second))
    points = [[offset * first.get_linewidth(), *(d * first.get_linewidth() for d in dashes)]]
    points.append([later * second.get_linewidth(), *(d * second.get_linewidth() for d in others)])
    assert points[0] == pytest.approx([0.0, 7.0, 7.0])
    assert points[1] == pytest.approx([7.0, 7.0, 7.0])  # it is drawn where the other is not
    assert third.get_linestyle() == "-"
    assert "coincide" in caption_of(axes.figure)


def test_on_a_logarithmic_scale_curves_coincide_only_where_they_are_equal():
    small = [Course(n, np.full((len(GRID), 2), v)) for n, v in (("a", 0.01), ("b", 0.02), ("c", 100.0))]
    (axes,) = over_rounds(small, [PANEL._replace(lines={}, log=True)])
    assert "coincide" not in caption_of(axes.figure)
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] < 0.01 < 100.0 < axes.get_ylim()[1]
    no_overlaps(axes.figure)


def test_an_outlier_is_left_out_of_the_scale_and_named():
    few = [Course(n, curve(0.2 + 0.05 * i)) for i, n in enumerate(("a", "b", "c"))]
    (axes,) = over_rounds([*few, Course("far", np.full((len(GRID), 2), 70.0))], [PANEL])
    assert axes.get_ylim()[1] < 1.0
    assert "off the scale: far (70)" in axes.get_title()
    (large,) = over_rounds([*few, Course("far", np.full((len(GRID), 2), 1210.4))], [PANEL])
    assert "off the scale: far (1,210)" in large.get_title()
    arrows = [line for line in axes.get_lines() if line.get_marker() == "^"]
    assert [a.get_color() for a in arrows] == [curves_of(axes)[3].get_color()]
    (axes,) = over_rounds(few, [PANEL])
    assert "off" not in axes.get_title()
    (axes,) = over_rounds([Course("far", np.full((len(GRID), 2), 70.0)), *few], [PANEL])
    assert axes.get_ylim()[1] > 70.0  # the main policy is always on the scale


def test_what_the_axes_show_all_the_same_is_not_off_the_scale():
    few = [Course(n, np.full((len(GRID), 2), 0.2 + 0.01 * i)) for i, n in enumerate(("a", "b", "c"))]
    panel = PANEL._replace(lines={}, zoom=False)  # it starts at 0
    (axes,) = over_rounds([*few, Course("low", np.full((len(GRID), 2), 0.05))], [panel])
    assert axes.get_title() == "reward"
    assert axes.get_ylim()[0] == 0.0


def test_a_spike_does_not_flatten_its_curve():
    spiked = curve(0.2)
    spiked[-3] = 1e6
    (axes,) = over_rounds([Course("a", spiked)], [PANEL])
    assert axes.get_ylim()[1] < 1.0


@pytest.mark.parametrize(("replicas", "says"), [(3, "mean ± 2 standard errors of it"), (1, "no bands")])
def test_the_caption_says_what_a_band_is(replicas, says):
    (axes,) = over_rounds([Course("a", curve(0.2, replicas))], [PANEL])
    assert says in " ".join(caption_of(axes.figure).split())
    assert len(axes.collections) == (replicas > 1)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "per round")


def test_a_look_that_is_no_colour_is_refused():
    with pytest.raises(InvalidInput, match="look"):
        over_sweep({"a": [Curve("a", [1], np.ones((1, 1)), "reddish")]}, "x", "y")


def test_no_range_is_left_empty():
    assert scales.pad(0.0, 0.0) == (-0.05, 0.05)
    low, high = scales.pad(1e12, 1e12)
    assert low < 1e12 < high


def test_the_check_finds_overlaps():
    figure = Figure()
    axes = figure.subplots()
    axes.set_title("x" * 200)
    with pytest.raises(AssertionError, match="leaves the figure"):
        no_overlaps(figure)


def renamed(world, replicas, rounds=None):
    """Traces of a short run, as if of twelve policies of long names."""
    world = replace(world, horizon=rounds or world.horizon)
    trace = simulate(uniform(world.problem, world.n_features), world, replicas=replicas, progress=False)
    return [replace(trace, policy=f"{LONG} {i}" if i else "resolving") for i in range(12)]


@pytest.mark.slow
@pytest.mark.parametrize(("replicas", "rounds"), [(1, 1), (2, 40)])
def test_pictures_of_experiments_hold_long_names(replicas, rounds, tmp_path):
    for best in (0.47, -1e9):
        traces = renamed(Court(horizon=100), replicas, rounds)
        court.picture(traces, best, court.fairness, tmp_path / "court.png")
        court.figure(traces, {"OPT(B)": best, "OPT(B-margin)": 0.46}, court.MEASURES, tmp_path / "figure-1.png")
    lessons.picture(renamed(Lessons(horizon=100), replicas, rounds), 0.46, 1e9, tmp_path / "lessons.png")
    traces = renamed(MultiObjective(arms=3, n_outcomes=2), replicas, rounds)
    concave_rewards.picture(traces, np.ones(replicas), tmp_path / "concave.png")
    concave_rewards.picture(traces, np.zeros(0), tmp_path / "concave.png")
    assert len(list(tmp_path.iterdir())) == 4  # what is written is measured, see conftest.py


@pytest.mark.parametrize("value", [0.0, 0.5, np.nan, 1e12])
def test_pictures_of_sweeps_hold_any_values(value, tmp_path):
    found = {
        p: dict.fromkeys(square_cbwk.LOOKS, np.full(2, value)) for p in square_cbwk.SWEEPS["T"].panels["m = 5, K = 3"]
    }
    square_cbwk.picture("T", found, tmp_path / "t.png")
    outcomes = small_budgets.Outcomes(np.full(3, value), np.full(3, value))
    many = {name: {100.0: outcomes, 250.0: outcomes, 5000.0: outcomes} for name in small_budgets.LOOKS}
    small_budgets.picture(many, tmp_path / "b.png")
    assert len(list(tmp_path.iterdir())) == 2
