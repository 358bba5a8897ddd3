"""What is said of how far long work has come, in a terminal and elsewhere."""

import io
import re
import sys

import pytest

from evenhand.run import progress
from evenhand.run.progress import bar


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def work(steps=40, **given):
    """Do as much work in one bar within another."""
    for _ in bar([0, 1], desc="outer", unit="point", **given):
        with bar(total=steps, desc="pgd", unit="step", **given) as shown:
            for _ in range(steps // 4):
                shown.update(4)


def test_short_work_says_nothing_outside_of_a_terminal(capsys):
    work()
    assert capsys.readouterr().err == ""


def test_long_work_writes_lines_outside_of_a_terminal(capsys, monkeypatch):
    """With a line after any time, every update has one; nothing else is written when bars move or are removed."""
    monkeypatch.setattr(progress, "SECONDS", 1e-9)
    work(4000)
    lines = capsys.readouterr().err.splitlines()
    form = re.compile(r"(outer: point [12] of 2|pgd: step [\d,]+ of 4,000), \d\d:\d\d gone, about \d\d:\d\d left")
    assert [line for line in lines if not form.fullmatch(line)] == []
    assert sum(line.startswith("pgd: step 4 of 4,000,") for line in lines) == 2
    assert sum(line.startswith("pgd: step 4,000 of 4,000,") for line in lines) == 2
    assert sum(line.startswith("outer: point 1 of 2,") for line in lines) == 1


def test_lines_are_far_apart(capsys, monkeypatch):
    """A minute of steps, a second each by the clock of the bars, has a line every ten seconds."""
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with bar(total=60, desc="pgd", unit="step") as shown:
        shown._time = lambda: now[0]
        for _ in range(60):
            now[0] += 1.0
            shown.update()
    said = capsys.readouterr().err
    assert re.findall(r"step (\d+) of 60", said) == ["10", "20", "30", "40", "50", "60"]
    assert "pgd: step 20 of 60, 00:20 gone, about 00:40 left\n" in said


def test_nothing_is_said_where_nothing_is_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 1e-9)
    work(progress=False)
    monkeypatch.setattr("sys.stderr", Terminal())
    work(progress=False)
    assert sys.stderr.getvalue() == capsys.readouterr().err == ""


@pytest.mark.parametrize("asked", [True, None])
def test_a_bar_is_drawn_in_a_terminal(monkeypatch, asked):
    monkeypatch.setattr("sys.stderr", Terminal())
    work(progress=asked)
    assert "outer:   0%|" in sys.stderr.getvalue()
    assert " gone, about " not in sys.stderr.getvalue()


def test_a_bar_is_drawn_where_it_is_asked_for(capsys):
    work(progress=True)
    assert "outer:   0%|" in capsys.readouterr().err
