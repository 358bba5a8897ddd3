"""What is said of how far long work has come, in a terminal and elsewhere."""

import io

import pytest

from evenhand.core.progress import SCREEN, Screen, Work
from tests.polling import Clock


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lines(clock):
    """A screen that is no terminal."""
    return Screen(io.StringIO(), clock)


def said(screen):
    return screen._target.getvalue().splitlines()


def stands(screen):
    """What a terminal shows in the end: every return begins at the left again, over what stands there."""
    line = ""
    for part in screen._target.getvalue().split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


def steps(clock, work, count, seconds):
    for _ in range(count):
        clock.now += seconds
        work.update()


def test_short_work_says_nothing_outside_of_a_terminal(clock, lines):
    for _ in range(20):  # one after the other
        with Work("pgd", "step", 4, screen=lines) as work:
            steps(clock, work, 4, 1.2)
    assert said(lines) == []


def test_lines_are_far_apart(clock, lines):
    with Work("pgd", "step", 60, screen=lines) as work:
        steps(clock, work, 60, 1.0)
    assert said(lines) == [f"pgd, step {n} of 60, some {60 - n} s left" for n in (5, 15, 25, 35, 45, 55)]


def test_all_work_shares_the_lines(clock, lines):
    """A line in ten seconds, whatever is within what, and although two works of five seconds follow each other."""
    with Work("court", "point", screen=lines) as points:
        for _ in points.each(range(6)):
            with Work("pgd", "step", 5, screen=lines) as work:
                steps(clock, work, 5, 1.0)
    assert said(lines) == [
        "court, point 1 of 6, some 25 s left: pgd, step 5 of 5",
        "court, point 3 of 6, some 15 s left: pgd, step 5 of 5",
        "court, point 5 of 6, some 5 s left: pgd, step 5 of 5",
    ]


def test_the_time_left_counts_the_points_to_come_from_the_first_on(clock, lines):
    with Work("court", "point", screen=lines) as points:
        for _ in points.each(range(3)):
            with Work("pgd", "step", 100, screen=lines) as work:
                steps(clock, work, 100, 1.0)
    assert said(lines)[0] == "court, point 1 of 3, some 4.9 min left: pgd, step 5 of 100"  # 95 + 2 x 100 seconds
    assert said(lines)[-1] == "court, point 3 of 3, some 5 s left: pgd, step 95 of 100"


def test_the_time_left_follows_from_recent_steps(clock, lines):
    """Steps take 2 seconds at first, and .01 later."""
    with Work("pgd", "step", 10_000, screen=lines) as work:
        steps(clock, work, 64, 2.0)
        assert said(lines)[-1] == "pgd, step 63 of 10,000, some 5.5 h left"
        steps(clock, work, 4000, 0.01)
    assert said(lines)[-1] == "pgd, step 3,868 of 10,000, some 61 s left"


def test_compiling_is_left_out_of_the_time_left(clock, lines):
    with Work("pgd", "step", 1000, screen=lines) as work:
        steps(clock, work, 2, 0.5)
        clock.now += 60.0
        lines.leave_out(60.0)
        steps(clock, work, 21, 0.5)
    assert said(lines) == [
        "pgd, step 3 of 1,000, some 8.3 min left",  # 997 steps of half a second
        "pgd, step 23 of 1,000, some 8.1 min left",
    ]


def test_the_first_steps_which_wait_for_what_they_need_tell_no_time(clock, lines):
    with Work("pgd", "step", 10_000, screen=lines) as work:
        clock.now += 60.0
        work.update(64)
        clock.now += 10.0
        work.update(64)
    assert said(lines) == ["pgd, step 64 of 10,000", "pgd, step 128 of 10,000, some 26 min left"]


def test_work_that_goes_on_is_told_by_what_is_done_now(clock, lines):
    with Work("pgd", "step", 1000, done=900, screen=lines) as work:
        steps(clock, work, 5, 1.0)
    assert said(lines) == ["pgd, step 905 of 1,000, some 1.6 min left"]


def test_work_of_unknown_length_counts(clock, lines):
    with Work("audit", screen=lines), Work("checking mail", "event", screen=lines) as work:
        steps(clock, work, 1200, 0.01)
    assert said(lines) == ["audit: checking mail, event 500"]


def test_the_work_on_an_item_has_its_name(clock, lines):
    with Work("warm", "policy", screen=lines) as work:
        for _ in work.each({"pgd": 1, "ucb": 2}.items(), told=lambda item: f"warm {item[0]}"):
            clock.now += 5.5
    assert said(lines) == ["warm ucb, policy 2 of 2, some 6 s left"]


def test_a_bar_is_drawn_in_a_terminal_and_removed(clock):
    screen = Screen(Terminal(), clock)
    with Work("court", "point", screen=screen) as points:
        for _ in points.each(range(2)):
            assert "court, point" in stands(screen)  # at once
            with Work("pgd", "step", 40, screen=screen) as work:
                steps(clock, work, 20, 1.0)
                bar = "[###############.....] " if points.done else "[#####...............] "
                assert stands(screen).startswith(f"{bar}court, point {points.done + 1} of 2, some ")
                assert stands(screen).endswith(": pgd, step 20 of 40")
                steps(clock, work, 20, 1.0)
    assert stands(screen) == ""
    assert "\n" not in screen._target.getvalue()


def test_a_bar_is_drawn_at_most_ten_times_in_a_second(clock):
    screen = Screen(Terminal(), clock)
    with Work("pgd", "step", 1000, screen=screen) as work:
        steps(clock, work, 1000, 0.01)
    assert screen._target.getvalue().count("pgd") <= 101


def test_a_line_is_no_wider_than_the_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = Screen(Terminal(), clock)
    with Work("a policy with a long name", "step", 40, screen=screen):
        assert stands(screen) == "[....................] a polic"[:29]


def test_an_error_ends_the_work_within_it(clock):
    """Work whose end comes later, as an error still holds what was iterated over, shows no more."""
    screen = Screen(Terminal(), clock)
    with Work("value", screen=screen):
        late = Work("fit", "fold", 5, screen=screen).__enter__()
        assert stands(screen) == "[....................] value: fit, fold 0 of 5"
    assert stands(screen) == ""
    late.__exit__(None, None, None)
    late.update()
    assert stands(screen) == ""


def test_what_is_said_for_good_stays(clock):
    screen = Screen(Terminal(), clock)
    with Work("replay", "system", 3, screen=screen) as work:
        screen.say("pgd: 20 runs")
        assert stands(screen) == "pgd: 20 runs"
        work.update()
    assert screen._target.getvalue().count("\n") == 1


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_nothing_is_said_where_nothing_is_asked_for(clock, stream):
    screen = Screen(stream(), clock)
    with Work("outer", "point", progress=False, screen=screen) as work:
        for _ in work.each(range(40)):
            clock.now += 10.0
    assert screen._target.getvalue() == ""


def test_a_bar_is_drawn_where_it_is_asked_for(clock, lines):
    with Work("pgd", "step", 40, progress=True, screen=lines):
        assert stands(lines) == "[....................] pgd, step 0 of 40"


def test_lines_go_to_the_present_stderr(monkeypatch):
    for _ in range(2):
        monkeypatch.setattr("sys.stderr", Terminal())
        with Work("pgd", "step", 40):
            assert stands(SCREEN) == "[....................] pgd, step 0 of 40"
