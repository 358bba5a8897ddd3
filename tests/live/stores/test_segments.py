"""A segment alone is audited by its hashes, and nothing takes it for the store of a campaign."""

import shutil
import sqlite3 as plain
from contextlib import closing
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli.commands import main
from evenhand.core.errors import InvalidInput
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.stores.opening import connect

DEPLOY = Path(__file__).parents[3] / "deploy" / "problem.toml"
NOTE = ["--by", "ada", "--why", "size"]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A folder with two segments of a campaign."""
    folder = tmp_path_factory.mktemp("sealed")
    policy, encoder = of_file(Text("problem.toml", DEPLOY.read_text(encoding="utf-8")))
    with eh.Campaign.open(f"sqlite:///{folder}/log.db", "letters", policy, encoder=encoder) as campaign:
        for i in range(10):
            campaign.observe(campaign.decide({"age": 20 + i, "town": "north"}, f"{i}").id, {"visit": 1})
        for end in (12, 18):
            campaign.seal(folder, by="ada", why="size", before=end)
    return folder


@pytest.fixture
def folder(sealed, tmp_path, monkeypatch):
    shutil.copytree(sealed, tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


SEGMENTS = [("letters-1-11", "events 1 to 11, 5 decisions"), ("letters-12-17", "events 12 to 17, 3 decisions")]


@pytest.mark.parametrize(("name", "told"), SEGMENTS)
def test_an_audit_says_what_a_segment_has(name, told, folder, capsys):
    assert main(["audit", f"sqlite:///{name}.segment"]) == 0
    first, hashes, rest, head = capsys.readouterr().out.splitlines()
    assert (first, hashes) == (f"letters: {told}", "its hashes are right")
    assert rest == "nothing was recomputed, as it is a segment: audit the store it is of, with --segments FOLDER"
    assert head.startswith(f"head {told.split()[3].strip(',')}:")
    file = folder / f"{name}.segment"
    file.chmod(0o600)
    with closing(plain.connect(file, isolation_level=None)) as db:
        db.execute("DROP TRIGGER no_update")
        db.execute("UPDATE events SET body = replace(body, ':', ': ') WHERE seq = (SELECT max(seq) FROM events)")
    assert main(["audit", f"sqlite:///{name}.segment"]) == 1
    said = capsys.readouterr().out
    assert "is not what was written: its hash differs" in said
    assert "its hashes are right" not in said


@pytest.mark.parametrize("name", [name for name, _ in SEGMENTS])
@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--store", "{}", "--port", "0"],
        ["serve", str(DEPLOY), "--campaign", "letters", "--store", "{}", "--port", "0"],
        ["erase", "{}"],
        ["pause", "{}", *NOTE],
        ["seal", "{}", ".", *NOTE],
        ["backup", "{}", "copy.backup"],
        ["report", "{}", "--out", "page.html"],
        ["export", "{}", "--out", "all.csv"],
        ["problem", "{}"],
    ],
    ids=lambda z: " ".join(Path(x).name for x in z[:2]),
)
def test_no_command_takes_a_segment_for_a_store(command, name, folder, capsys):
    before = sorted(folder.iterdir())
    assert main([z.format(f"sqlite:///{name}.segment") for z in command]) == 2
    assert "a segment of 'letters', which is only read" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_a_segment_is_neither_opened_to_be_written_nor_restored(folder, capsys):
    before = sorted(folder.iterdir())
    with pytest.raises(InvalidInput, match=r"letters-1-11.segment, a segment of 'letters', which is only read"):
        connect("sqlite:///letters-1-11.segment")
    assert main(["restore", "letters-1-11.segment", "sqlite:///new.db", *NOTE]) == 2
    assert "file: expected the log of a campaign, got a segment" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before
    connect("sqlite:///log.db").close()  # the store with the rest is opened as before
