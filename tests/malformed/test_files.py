"""Files that cannot be used: one error that names the file and the line, from Python and on the command line."""

import pytest

from evenhand.cli import main
from evenhand.core.errors import EvenhandError
from evenhand.replay import replay_log
from evenhand.replay.problem_file import parse
from evenhand.replay.reading import read_csv
from tests.malformed import problem_files
from tests.malformed.files import BY_COLUMN, LOG, LOGS, PROBLEM_FILES, TAKEN
from tests.malformed.tables import check, name
from tests.replay.shop import HEADER, PROBLEM


def refused(folder, log, problem, field, phrase, capsys):
    """Both ways say the same, in one line, and write nothing."""
    folder.joinpath("log.csv").write_bytes(log)
    folder.joinpath("problem.toml").write_bytes(problem if isinstance(problem, bytes) else problem.encode())
    with pytest.raises(EvenhandError) as caught:
        replay_log(folder / "log.csv", folder / "problem.toml", replicas=2, bootstrap=0, progress=False)
    message = str(caught.value)
    assert message.startswith(field)
    assert phrase in message
    assert len(message) < 1000
    arguments = ["replay", str(folder / "log.csv"), "--problem", str(folder / "problem.toml")]
    assert main([*arguments, "--out", str(folder / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.err == f"evenhand: {message}\n"
    assert printed.out == ""
    assert not list(folder.glob("out/*"))


@pytest.mark.parametrize("name", PROBLEM_FILES)
def test_a_problem_file_that_cannot_be_used(name, tmp_path, capsys):
    refused(tmp_path, LOG, *PROBLEM_FILES[name], capsys)


@pytest.mark.parametrize("row", problem_files.ROWS, ids=name)
def test_a_problem_file_that_cannot_be_read(row):
    text, message = row
    check(lambda: parse(text, "problem.toml"), message)


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_cannot_be_used(name, tmp_path, capsys):
    log, field, phrase = LOGS[name]
    refused(tmp_path, log, BY_COLUMN if "chance" in name else PROBLEM, field, phrase, capsys)


@pytest.mark.parametrize("name", TAKEN)
def test_a_log_may_be_written_in_other_ways(name, tmp_path):
    written, said = TAKEN[name]
    for file, content in (("one.csv", LOG), ("other.csv", written)):
        tmp_path.joinpath(file).write_bytes(content)
    columns = dict.fromkeys(HEADER, "features.numeric")
    one, other = (read_csv(tmp_path / file, columns) for file in ("one.csv", "other.csv"))
    for column in HEADER:
        assert one.names(column).texts() == other.names(column).texts()
    assert (one.lines.tolist(), one.torn) == (other.lines.tolist(), other.torn)
    assert (one.notes, other.notes) == ([], [f"other.csv was found to be {said}"] if said else [])


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_problem_file_may_have_a_mark_and_lines_of_windows(start, end, tmp_path, capsys):
    """It is read to its last line, where a mistake is found."""
    problem = start + (PROBLEM + "stp = 1").replace("\n", end).encode()
    refused(tmp_path, LOG, problem, "problem.toml, line 34: policy.stp", "(did you mean step?)", capsys)
