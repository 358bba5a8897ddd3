"""Files that cannot be used: one error that names the file and the line, from Python and on the command line."""

import pytest

from evenhand.cli import main
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.logs.problem_file import parse
from evenhand.logs.reading import read_csv
from evenhand.replay import replay_log
from tests.malformed import problem_files
from tests.malformed.files import BY_COLUMN, LOG, LOGS, PROBLEM_FILES, TAKEN
from tests.malformed.tables import check, name
from tests.replay.shop import HEADER, PROBLEM
from tests.rows import for_each


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


@for_each("name", PROBLEM_FILES)
def test_a_problem_file_that_cannot_be_used(name, tmp_path, capsys):
    refused(tmp_path, LOG, *PROBLEM_FILES[name], capsys)


@for_each("row", problem_files.ROWS, ids=name)
def test_a_problem_file_that_cannot_be_read(row):
    text, message = row
    check(lambda: parse(text, "problem.toml"), message)


@for_each("name", LOGS)
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


def test_what_stands_for_several_logged_values_is_noted(tmp_path, capsys):
    problem = PROBLEM.replace('"A" = "a", "B" = "b"', '"A" = "a", "B" = "a"').replace("{ a = 1, b = 1 }", "{ a = 1 }")
    (tmp_path / "problem.toml").write_text(problem)
    (tmp_path / "log.csv").write_bytes(LOG)
    asked = ["replay", f"{tmp_path}/log.csv", "--problem", f"{tmp_path}/problem.toml"]
    assert main([*asked, "--replicas", "1", "--bootstrap", "0"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "note: 'a' stands for 'A', 'B': its propensity has to be that of any of them, the sum of theirs" in shown


def test_a_file_that_is_not_there_is_named_with_its_folder(tmp_path, capsys):
    (tmp_path / "problem.toml").write_text(PROBLEM)
    for log, problem, where in (("no/log.csv", "problem.toml", "no/log.csv"), ("log.csv", "no/p.toml", "no/p.toml")):
        assert main(["replay", str(tmp_path / log), "--problem", str(tmp_path / problem)]) == 2
        name = where.rpartition("/")[2]
        error = capsys.readouterr().err
        assert error == (
            f"evenhand: {name}: expected a file that can be read, got No such file or directory: {tmp_path / where}\n"
        )


@pytest.mark.parametrize("name", ["thompson", "Thompson_sampling"])
def test_a_model_that_is_a_recipe_elsewhere_is_explained(name):
    with pytest.raises(InvalidInput, match=r'policy\.name: .*Thompson sampling is a model here.*name = "sampled"'):
        parse(PROBLEM.replace("[policy]\n", f'[policy]\nname = "{name}"\n'), "problem.toml")
    stated = 'name = "resolving"\nmodel = { name = "sampled", inner = { kind = "ridge" } }\n'
    parse(PROBLEM.partition("[policy]")[0] + "[policy]\n" + stated, "problem.toml")
