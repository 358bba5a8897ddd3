"""The Python of README, of the first page and of those on serving and campaigns runs, and prints what they say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(path):
    """Python blocks, each with the output that is shown right after it, if there is one."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        *(f"docs/{name}.md" for name in ("index", "research", "serving", "live", "live-reference", "compose")),
    ],
)
def test_what_is_shown_is_what_runs(path, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where a campaign is kept
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    space, found = {}, blocks(path)
    assert found
    for code, shown in found:
        exec(code, space)
        told = capsys.readouterr().out
        if shown:
            assert told == shown


def test_the_first_lines_of_python_are_few():
    (code, _), *_ = blocks("README.md")
    assert len(code.splitlines()) <= 18
