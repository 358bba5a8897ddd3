import pytest

from tests import programs

FOLDER = programs.ROOT / "examples"
# One needs a server, see tests/live/test_traffic.py; the other runs for long, and in small among the commands of pages.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "traffic.py", FOLDER / "widths.py"})


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    programs.run([str(path)], monkeypatch)
    assert capsys.readouterr().out
