"""The list of published tables and figures is complete, its commands run, and the command line shows it."""

import contextlib
import io
import shlex

import pytest

from evenhand.cli import build, main
from evenhand.experiments import discover
from evenhand.experiments.options import options
from evenhand.experiments.papers import CHZHEN, DO, EXHIBITS, HAN, SHIBUKAWA, TITLES, listing
from tests.rows import for_each

# What the papers print: every number in a caption or a reference of their texts, with the panels of its caption.
PRINTED = {
    DO: {
        "Table 1": [""],
        "Figure 1": ["left", "middle", "right"],
        "Figure 2": ["top", "middle", "bottom"],
        "Figure 3": ["top", "bottom"],
        "Figure 4": [""],
        "Figure 5": [""],
    },
    CHZHEN: {"Table 1": [""], "Figure 1": [""], "figure of Section 5": [""]},
    SHIBUKAWA: {"Table 1": [""], "Figure 1": [""], "Figure 2": list("abcdef"), "Figure 3": list("abc")},
    HAN: {"Table 1": [""], "Table 2": [""], "Table 3": [""], "Figure 1": list("abcd")},
}
COMMANDS = [p for p in EXHIBITS if p.command]


def named(p):
    return f"{p.paper}, {p.number}"


def test_every_number_of_the_papers_is_listed_once():
    printed = [
        (paper, f"{number} ({panel})" if panel else number)
        for paper, numbers in PRINTED.items()
        for number, panels in numbers.items()
        for panel in panels
    ]
    assert sorted((p.paper, p.number) for p in EXHIBITS) == sorted(printed)
    assert list(TITLES) == list(PRINTED)


def test_each_has_a_command_or_the_reason_why_there_is_none():
    assert [named(p) for p in EXHIBITS if bool(p.command) == bool(p.reason)] == []


@for_each("published", COMMANDS, ids=named)
def test_a_command_runs_its_experiment_with_options_that_are_there(published):
    program, command, *words = shlex.split(published.command)
    assert (program, command) == ("evenhand", "reproduce")
    told = build().parse_args([command, *words])
    assert told.made is discover()[published.experiment]
    given = {o.field: getattr(told, o.field) for o in options(told.made)}
    told.made(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if v is not None})
    draws = published.number.lower().startswith("figure")
    assert (told.out is not None) == draws  # pictures are drawn only with a folder


def test_an_experiment_that_names_a_table_or_a_figure_makes_one():
    sources = {name: made.__named__[1] for name, made in discover().items() if hasattr(made, "__named__")}
    claim = {name for name, source in sources.items() if "Figure" in source or "Table" in source}
    assert claim == {p.experiment for p in COMMANDS}


def test_the_command_lists_all_of_them(capsys):
    assert main(["reproduce", "--list"]) == 0
    shown = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for p in EXHIBITS:
        at = lines.index(f"{p.number} {p.shows}", lines.index(f"{p.paper}, {TITLES[p.paper]}"))
        assert lines[at + 1] == (p.command or p.reason)
    assert shown == f"{listing()}\n"


def test_the_command_lists_those_of_an_experiment(capsys):
    assert main(["reproduce", "--list", "court"]) == 0
    shown = capsys.readouterr().out
    assert [z.split("  ")[1] for z in shown.splitlines() if z.startswith("  ") and z[2] != " "] == [*PRINTED[CHZHEN]]
    assert main(["reproduce", "--list", "lessons"]) == 0
    assert (
        capsys.readouterr().out == "lessons is an experiment of our own: it makes no table and no figure of a paper\n"
    )


def test_without_an_experiment_both_ways_are_named():
    told = io.StringIO()
    with contextlib.redirect_stderr(told), pytest.raises(SystemExit):
        main(["reproduce"])
    assert "EXPERIMENT, or --list" in told.getvalue()
