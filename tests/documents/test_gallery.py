"""The gallery: every use runs, keeps to its limits, and draws its picture, as docs/gallery.md shows."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.testing import check_environment

ROOT = Path(__file__).parents[2]
FOLDER, PAGE = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery.md"
USES = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem not in ("world", "picture"))
SHORT = ("court", "jobs", "trial")  # which are run as the page shows them, the others with two replicas
WORDS = {"ads": ("2", "0.30")} | dict.fromkeys(SHORT, ())  # beside the name


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """Run a script as from the command line, in a folder of its own."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.chdir(tmp_path)

    def run(use, *words):
        monkeypatch.setattr("sys.argv", [use, *words])
        return runpy.run_path(str(FOLDER / f"{use}.py"), run_name="__main__")

    return run


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_a_use_runs_and_draws(use, alone, tmp_path, capsys):
    alone(use, *WORDS.get(use, ("2",)))
    said = capsys.readouterr().out
    assert said.endswith(f"\npicture: out/gallery/{use}.png\n")
    assert (tmp_path / "out" / "gallery" / f"{use}.png").stat().st_size < 80_000
    if use in SHORT:
        *table, headline = said[: said.rindex("\npicture")].rstrip().rsplit("\n", 1)
        page = PAGE.read_text(encoding="utf-8")
        assert f"```\n{table[0].strip()}\n```" in page
        assert f"![{headline}](gallery/{use}.png)" in page


def test_the_page_has_every_use_with_its_picture_and_command():
    page = PAGE.read_text(encoding="utf-8")
    for use in USES:
        assert f"](../examples/gallery/{use}.py)" in page
        assert f"](gallery/{use}.png)" in page
        assert f"python examples/gallery/{use}.py\n" in page
        assert (ROOT / "docs" / "gallery" / f"{use}.png").stat().st_size < 80_000


@pytest.fixture(scope="module")
def world():
    """Cases with two traits and of two groups, half of them after noon."""
    problem = eh.Problem(
        actions=("nothing", "call"),
        features=(eh.Numeric("need", 0, 1), eh.Numeric("age", 0, 1)),
        outcomes=(eh.Outcome("helped"), eh.Outcome("hours", known={"call": 1})),
        maximize="helped",
        subject_to=(eh.Budget("hours", total=3, per=1.0),),
        groups=(eh.Groups("half", {"young": 0.5, "old": 0.5}),),
        until=2.0,
        traffic=eh.problem.Traffic(10, per=1.0),
    )
    return runpy.run_path(str(FOLDER / "world.py"))["World"](
        problem=problem,
        means=lambda z: np.stack([0 * z[:, 0], z[:, 0]], 1)[:, :, None],
        group=lambda z: (z[:, 1] > 0.5).astype(int),
        times=np.arange(20) / 10.0,
    )


def test_the_world_keeps_the_contract_of_environments(world):
    check_environment(world)


def test_the_world_states_cases_as_the_problem_encodes_them(world):
    context = world.start(0, np.arange(1)).context(3)
    need, age = (context.features[0, 0, 2:] + 1.0) / 2.0
    case = {"need": need, "age": age, "half": "old" if age > 0.5 else "young"}
    stated = eh.resolving(world.problem).encode(case, time=0.3)
    np.testing.assert_allclose(context.features, stated.features)
    np.testing.assert_array_equal(context.groups, stated.groups)
    np.testing.assert_array_equal(context.time, stated.time)


def test_a_rule_plays_its_action_until_the_budget_of_the_day_is_gone(world):
    trace = eh.simulate(world.rule("calls", "call"), world, replicas=2, record="all", progress=False)
    np.testing.assert_array_equal(np.nonzero(trace.plays.actions[:20, 0, 0])[0], [0, 1, 2, 10, 11, 12])
    free = replace(world, problem=replace(world.problem, subject_to=()))
    half = eh.simulate(free.rule("half", "call", "nothing", 0.5), free, replicas=50, progress=False)
    assert abs(half.total("hours").mean() - 10.0) < 1.0


def test_outcomes_of_a_day_are_those_of_its_cases(world):
    trace = eh.simulate(world.rule("calls", "call"), world, replicas=2, record="all", progress=False)
    np.testing.assert_array_equal(world.by_day(trace, "hours"), 3.0 * np.ones((2, 2)))
    helped = trace.by_step("helped")
    np.testing.assert_array_equal(world.by_day(trace, "helped"), [helped[:10].sum(0), helped[10:20].sum(0)])


def test_arrivals_have_the_numbers_of_their_days_and_the_hours_of_their_shape():
    draw = runpy.run_path(str(FOLDER / "world.py"))["arrivals"]
    shape = np.where(np.arange(24) == 6, 3.0, np.where(np.arange(24) == 12, 1.0, 0.0))
    times = draw([1000, 0, 4000], shape, np.random.default_rng(0))
    assert (np.diff(times) >= 0).all()
    day, hour = np.divmod(times, 1.0)
    assert set(np.floor(24 * hour)) == {6.0, 12.0}
    few, none, many = np.bincount(day.astype(int), minlength=3)
    assert none == 0
    assert abs(few - 1000) < 4 * 1000**0.5  # four standard errors of a Poisson number
    assert abs(many - 4000) < 4 * 4000**0.5
    assert abs((hour < 0.5).mean() - 0.75) < 4 * (0.75 * 0.25 / 5000) ** 0.5
