"""Every command names a campaign by the same option; its name may also stand where earlier versions took it."""

import argparse

import pytest

import evenhand as eh
from evenhand.cli import build, main
from tests.live.campaigns.test_files import STATED

SAID = ("--by", "Ada", "--why", "so")
BY_PLACE = ["archive", "audit", "change", "end", "erase", "export", "pause", "problem", "report", "resume"]
BY_NAME = [*BY_PLACE, "curve", "replay", "rules", "seal", "serve", "switch", "token", "value"]


def commands():
    """The parsers of all commands, by name."""
    (found,) = (a for a in build()._actions if isinstance(a, argparse._SubParsersAction))
    return found.choices


@pytest.fixture
def two(tmp_path):
    """A store of two campaigns."""
    file, store = tmp_path / "problem.toml", f"sqlite:///{tmp_path}/post.db"
    file.write_text(STATED)
    for name in ("post", "sms"):
        eh.live.open_campaign(store, name, file).close()
    return store


def test_all_commands_have_the_option_and_show_it_alone():
    each = commands()
    assert sorted(name for name, z in each.items() if "--campaign" in z._option_string_actions) == sorted(BY_NAME)
    for name in BY_PLACE:
        assert "--campaign NAME" in each[name].format_usage()
        assert "CAMPAIGN" not in each[name].format_help()


@pytest.mark.parametrize("said", [("--campaign", "sms"), ("sms",)])
def test_a_campaign_is_named_by_its_option_or_its_place(two, tmp_path, capsys, said):
    assert main(["audit", two, *said]) == 0
    assert capsys.readouterr().out.startswith("sms: 1 event,")
    assert main(["pause", two, *said, *SAID]) == 0
    assert main(["end", two, *said, *SAID]) == 0
    assert main(["archive", two, *said, str(tmp_path / "sms.db")]) == 0
    assert "\nsms: head " in capsys.readouterr().out


def test_the_option_may_stand_anywhere(two, tmp_path, capsys):
    assert main(["audit", "--campaign", "sms", two]) == 0
    assert main(["end", two, *SAID, "--campaign", "sms"]) == 0
    assert main(["archive", two, str(tmp_path / "sms.db"), "--campaign", "sms"]) == 0
    assert "\nsms: head " in capsys.readouterr().out


@pytest.mark.parametrize("said", [("post", "--campaign", "sms"), ("--campaign", "post", "--campaign", "sms")])
def test_two_names_are_refused(two, capsys, said):
    with pytest.raises(SystemExit):
        main(["audit", two, *said])
    assert "expected one name, got 'post' and 'sms'" in capsys.readouterr().err


def test_a_name_is_asked_for_where_there_are_several(two, capsys):
    assert main(["report", two, "--out", "never.html"]) == 2
    assert "campaign: expected one of ['post', 'sms'], got none" in capsys.readouterr().err
