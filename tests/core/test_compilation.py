"""Long compiling is told, with how much of it is left."""

import io

import pytest

from evenhand.core.compilation import CompileProgress
from evenhand.core.progress import Screen
from tests.core.test_progress import Terminal
from tests.polling import Clock


def compiled(compiling, clock, name, price, took):
    with compiling.watch(name, price):
        clock.now += took


@pytest.fixture
def clock():
    return Clock(0.0)


def test_a_line_comes_at_most_every_ten_seconds(clock):
    out = io.StringIO()
    compiling = CompileProgress(Screen(out, clock), clock)
    compiling.expect({f"kernel {i}": 2.0 for i in range(20)})
    for i in range(20):
        compiled(compiling, clock, f"kernel {i}", 2.0, 4.0)
    lines = out.getvalue().splitlines()
    assert lines[0] == "compiling 1 of 20 kernels, some 40 s left; kept for next time"
    # The machine takes twice as long as prices say, which is known after the first.
    assert lines[1] == "compiling 4 of 20 kernels, some 68 s left; kept for next time"
    assert len(lines) == 7  # 80 seconds, kernels of 4 s each
    assert compiling.seconds == 80.0
    assert compiling.count == 20


def test_what_takes_less_than_three_seconds_is_not_told(clock):
    out = io.StringIO()
    compiling = CompileProgress(Screen(out, clock), clock)
    compiled(compiling, clock, "short", 2.0, 0.5)
    compiled(compiling, clock, "long", 2.0, 0.5)
    assert out.getvalue() == ""


def test_where_it_is_unknown_what_follows_kernels_are_counted(clock):
    out = io.StringIO()
    compiling = CompileProgress(Screen(out, clock), clock)
    compiling.hint = " (`evenhand warm` does this ahead)"
    compiled(compiling, clock, "first", 2.0, 2.0)
    compiled(compiling, clock, "second", 5.0, 5.0)
    assert out.getvalue() == "compiling kernel 2, some 5 s left; kept for next time (`evenhand warm` does this ahead)\n"


def test_in_a_terminal_one_line_changes_and_goes(clock):
    out = Terminal()
    compiling = CompileProgress(Screen(out, clock), clock)
    compiling.expect({"a": 4.0, "b": 4.0})
    compiled(compiling, clock, "a", 4.0, 4.0)
    first = "\rcompiling 1 of 2 kernels, some 8 s left; kept for next time"
    assert out.getvalue() == first
    compiled(compiling, clock, "b", 4.0, 4.0)
    assert (
        out.getvalue().removeprefix(first).split("\r")[1].rstrip()
        == "compiling kernel 2, some 4 s left; kept for next time"
    )
    assert out.getvalue().endswith(" \r")


def test_the_time_is_left_out_of_rates(clock):
    screen = Screen(io.StringIO(), clock)
    compiled(CompileProgress(screen, clock), clock, "a", 4.0, 6.0)
    assert screen.left_out == 6.0


def test_nothing_is_told_in_silence(clock):
    out = Terminal()
    compiling = CompileProgress(Screen(out, clock), clock)
    with compiling.silent():
        compiled(compiling, clock, "a", 40.0, 40.0)
    with compiling.silent(False):
        compiled(compiling, clock, "b", 40.0, 40.0)
    assert out.getvalue().count("compiling") == 1


def test_a_kernel_that_fails_to_compile_is_no_longer_due(clock):
    out = io.StringIO()
    compiling = CompileProgress(Screen(out, clock), clock)
    compiling.expect({"a": 4.0, "b": 4.0})
    with pytest.raises(ValueError, match="no such type"), compiling.watch("a", 4.0):
        raise ValueError("no such type")
    compiled(compiling, clock, "b", 4.0, 4.0)
    assert compiling.count == 2
    assert "of 2" in out.getvalue()
