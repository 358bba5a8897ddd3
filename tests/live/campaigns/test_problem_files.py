"""The command that prints the problem file of a campaign, which is edited and switched to."""

import re

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live.stores.opening import connect
from tests.live.campaigns.test_files import STATED
from tests.live.fold.test_switch import OLD

SAID = ("--by", "Bob", "--why", "less")


def begun(tmp_path, text=STATED):
    """The store of a campaign, and its problem file."""
    file, store = tmp_path / "post.toml", f"sqlite:///{tmp_path}/post.db"
    file.write_bytes(text.encode())
    eh.live.open_campaign(store, "post", file).close()
    return store, file


def printed(capsysbinary, store):
    """What the command prints: the file, and the notes."""
    assert main(["problem", store]) == 0
    said = capsysbinary.readouterr()
    return said.out, said.err.decode()


def test_it_is_printed_edited_and_switched_to(tmp_path, capsysbinary):
    """Somebody else switched in between, and the first file is gone."""
    store, file = begun(tmp_path)
    file.write_text(STATED.replace("rate = 0.3", "rate = 0.25"))
    assert main(["switch", store, str(file), "--by", "Ada", "--why", "so"]) == 0
    file.unlink()
    capsysbinary.readouterr()
    out, err = printed(capsysbinary, store)
    assert out.decode() == STATED.replace("rate = 0.3", "rate = 0.25")
    assert err.startswith("note: post decides by post.toml since event 2: switched to policy ")
    assert " by Ada (so); it adopted the state\n" in err
    mark = re.search(r"--expected (\w+)`", err)[1]
    edited = tmp_path / "edited.toml"
    edited.write_bytes(out)
    assert main(["switch", store, str(edited), *SAID, "--expected", mark]) == 0
    assert b"nothing to do" in capsysbinary.readouterr().out
    edited.write_bytes(out.replace(b"rate = 0.25", b"rate = 0.2"))
    assert main(["switch", store, str(edited), *SAID, "--expected", mark]) == 0
    capsysbinary.readouterr()
    assert printed(capsysbinary, store)[0] == edited.read_bytes()
    with eh.live.open_campaign(store, "post", edited) as campaign:
        assert campaign.status().accounts["post"].total == pytest.approx(60.0)
    edited.write_bytes(out.replace(b"rate = 0.25", b"rate = 0.1"))
    assert main(["switch", store, str(edited), *SAID, "--expected", mark]) == 2
    assert b"switched by Bob (less)" in capsysbinary.readouterr().err


def test_it_is_printed_byte_for_byte(tmp_path, capsysbinary):
    text = "# Grüße: 5 €\r\n" + STATED.replace("\n", "\r\n")
    store, file = begun(tmp_path, text)
    out, err = printed(capsysbinary, store)
    assert out == file.read_bytes()
    assert err.startswith("note: post decides by post.toml since the campaign began\n")
    assert len(list(connect(store).scan("post"))) == 1  # nothing was written


def test_a_setting_that_was_changed_since_is_named(tmp_path, capsysbinary):
    store, _ = begun(tmp_path, 'after = "nothing"\n' + STATED)
    assert "after" not in printed(capsysbinary, store)[1]
    assert main(["change", store, "--after", "stop", *SAID]) == 0
    capsysbinary.readouterr()
    told = printed(capsysbinary, store)[1]
    assert "note: after = 'nothing' of post.toml is not used: the campaign has 'stop'" in told


def test_a_campaign_of_python_has_none(tmp_path, capsys):
    store = f"sqlite:///{tmp_path}/shop.db"
    eh.Campaign.open(store, "shop", OLD).close()
    assert main(["problem", store]) == 2
    expected = "evenhand: campaign: expected one that was opened with a problem file, got 'shop', which was not\n"
    assert capsys.readouterr() == ("", expected)
    assert main(["problem", f"sqlite:///{tmp_path}/none.db"]) == 2
    assert not (tmp_path / "none.db").exists()
