"""Command lines that cannot be run end with status 2 and one message that names the argument; nothing is written."""

from evenhand.cli import main
from tests.malformed.commands import COMMANDS
from tests.malformed.files import LOG
from tests.replay.shop import PROBLEM
from tests.rows import for_each


@for_each("name", COMMANDS)
def test_the_argument_is_named_and_nothing_is_written(name, tmp_path, capsys):
    arguments, field, phrase = COMMANDS[name]
    tmp_path.joinpath("log.csv").write_bytes(LOG)
    tmp_path.joinpath("problem.toml").write_text(PROBLEM)
    before = sorted(tmp_path.rglob("*"))
    try:
        status = main([a.replace("{folder}", str(tmp_path)) for a in arguments])
    except SystemExit as stop:  # of argparse, which shows the usage first
        status = stop.code
    error = capsys.readouterr().err
    assert status == 2
    *usage, message = error.splitlines()
    assert message.startswith("evenhand")
    assert not usage or usage[0].startswith("usage: evenhand")
    assert field in message
    assert phrase in message
    assert "Traceback" not in error
    assert sorted(tmp_path.rglob("*")) == before
