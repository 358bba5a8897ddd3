"""Logs, what is stated of them, and drafts: one error of one line, with the file, the line and the key."""

import pytest

from evenhand.cli import main
from evenhand.core.errors import EvenhandError
from evenhand.offline import Evidence
from evenhand.replay import read_log
from tests.malformed.files import LOG
from tests.malformed.sources import CASES, DRAFTS, FILES
from tests.rows import for_each


@for_each("name", CASES)
def test_a_log_that_cannot_be_read(name, tmp_path):
    """Replays and values say the same."""
    problem, log, place, phrase = CASES[name]
    tmp_path.joinpath("log.csv").write_bytes(LOG if log is None else log)
    tmp_path.joinpath("problem.toml").write_text(problem)
    said = []
    for read in (read_log, Evidence.read):
        with pytest.raises(EvenhandError) as caught:
            read(tmp_path / "log.csv", tmp_path / "problem.toml")
        said.append(str(caught.value))
    message = said[0]
    assert message.startswith(place)
    assert phrase in message
    assert "\n" not in message
    assert len(message) < 1000
    assert said[1] == message


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_that_cannot_be_made(name, tmp_path, capsys):
    arguments, place, phrase = DRAFTS[name]
    for file, content in FILES.items():
        tmp_path.joinpath(file).write_bytes(content)
    tmp_path.joinpath("folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    try:
        status = main(["draft", *(a.replace("{folder}", str(tmp_path)) for a in arguments)])
    except SystemExit as stop:  # of argparse, which shows the usage first
        status = stop.code
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    *usage, message = printed.err.splitlines()
    assert message.startswith("evenhand")
    assert not usage or usage[0].startswith("usage: evenhand")
    assert place in message
    assert phrase in message
    assert sorted(tmp_path.rglob("*")) == before
    assert tmp_path.joinpath("log.csv").read_bytes() == LOG
