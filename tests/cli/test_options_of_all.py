"""What every command has: an example that is parsed, defaults from the environment, and silence on request."""

import argparse
import json
import shlex

import pytest

from evenhand.cli import build, main
from evenhand.core.progress import SCREEN, Work
from tests.replay.test_draft import table, write
from tests.replay.test_draft_requests import ASKED, HEADER, offers


def commands():
    """The parsers of all commands that are no groups of commands."""

    def below(parser):
        groups = [z for z in parser._actions if isinstance(z, argparse._SubParsersAction)]
        return [p for g in groups for each in g.choices.values() for p in [each, *below(each)]]

    return {parser.prog: parser for parser in below(build())}


@pytest.mark.parametrize("name", commands())
def test_the_help_has_an_example_that_the_command_takes(name):
    shown = commands()[name].format_help()
    example = shown.partition("\nexample:\n  ")[2].splitlines()[0]
    assert example.startswith(name)
    words = shlex.split(example)[1:]
    assert build().parse_args(words).parser.prog.startswith(name)
    assert "EVENHAND_SEED of --seed" in shown
    assert max(len(line) for line in shown.splitlines() if "{" not in line) <= 120  # but for choices in the usage


def parsed(monkeypatch, line, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return build().parse_args(shlex.split(line))


def test_variables_are_defaults_which_options_replace(monkeypatch):
    value = "value log.csv"
    found = parsed(monkeypatch, value, EVENHAND_PROBLEM="shop.toml", EVENHAND_SEED="3", EVENHAND_JSON="1")
    assert (str(found.problem), found.seed, found.json) == ("shop.toml", 3, True)
    assert (build().parse_args([*value.split(), "--seed", "4"]).seed) == 4
    report = parsed(monkeypatch, "report sqlite:///shop.db --out page.html", EVENHAND_CAMPAIGN="shop")
    assert report.campaign == "shop"
    assert build().parse_args(shlex.split("report sqlite:///s.db --out p --campaign other")).campaign == "other"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("EVENHAND_SEED", "three", "argument --seed: invalid int value: 'three'"),
        ("EVENHAND_MODEL", "forest", "EVENHAND_MODEL: expected one of ridge, logistic, stack, got 'forest'"),
        ("EVENHAND_JSON", "maybe", "EVENHAND_JSON: expected one of 1, 0, true, false, got 'maybe'"),
    ],
)
def test_a_variable_that_cannot_be_read_is_refused_by_the_commands_that_take_it(monkeypatch, capsys, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stop:
        main(["value", "log.csv", "--problem", "shop.toml"])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err
    assert main(["completion", "bash"]) == 0


def test_tables_are_json_on_request(tmp_path, capsys):
    from evenhand.replay import draft

    log = write(tmp_path, table(HEADER, offers()))
    problem = draft(log, **ASKED).write(tmp_path / "p.toml")
    for command in ("value", "curve", "rules"):
        assert main([command, str(log), "--problem", str(problem), "--json", "--out", str(tmp_path / command)]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said == json.loads((tmp_path / command / "results.json").read_text())


def test_quiet_shows_no_progress(monkeypatch, capsys):
    def work(_):
        with Work("work", progress=True):
            SCREEN.say("half of it")
        return 0

    monkeypatch.setattr("evenhand.cli.systems._systems", work)
    assert main(["systems"]) == 0
    assert "half of it" in capsys.readouterr().err
    assert main(["systems", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
