"""What pages show of the e-mail log and of the demo is what the command above it prints, line by line."""

import os
import re
import shlex
import shutil
from itertools import islice
from pathlib import Path

import pytest

from evenhand.cli import main
from tests.documents.pages import ROOT

DATA = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
LOG = DATA / "hillstrom.csv"
PAGE = (ROOT / "docs" / "from-a-log.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    "evenhand draft hillstrom.csv --out problem.toml",
    "evenhand curve hillstrom.csv --problem examples/email.toml --tolerance 0.02 --out out/curve",
    'evenhand curve hillstrom.csv --problem examples/email.toml --over "email gap by zip_code, at most" --budgets 6',
    'evenhand value hillstrom.csv --problem examples/email.toml --rule "mens where recency < 4; else none"',
    "evenhand value hillstrom.csv --problem examples/email.toml --for-whom --out out/value",
    "evenhand rules hillstrom.csv --problem examples/email.toml --depth 2",
    "evenhand assign customers.csv --problem examples/email.toml --learn-from hillstrom.csv --holdout 0.1"
    " --out assigned.csv",
]


def lines(text):
    """Lines with their words apart by one space, and without rules of tables, whose widths depend on other rows."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not re.fullmatch(r"[- ]+", line)]


def below(command):
    """The lines of all blocks below a command, up to the next command."""
    _, _, rest = PAGE.partition(f"```\n{command}\n```\n")
    rest = re.split(r"^```\nevenhand |^##+ ", rest, flags=re.MULTILINE)[0]
    return [line for block in re.findall(r"^```\n(.*?)^```$", rest, re.DOTALL | re.MULTILINE) for line in lines(block)]


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_lines_of_the_page_are_printed(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hillstrom.csv").symlink_to(LOG)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "email.toml", tmp_path / "examples")
    with LOG.open(encoding="utf-8") as opened:  # the first 20,000 customers, as the page says
        (tmp_path / "customers.csv").write_text("".join(islice(opened, 20_001)), encoding="utf-8")
    assert main(shlex.split(command)[1:]) in (0, None)
    printed = lines(capsys.readouterr().out)
    assert below(command)
    assert [line for line in below(command) if line not in printed] == []


@pytest.mark.slow
def test_the_demo_prints_what_the_first_page_shows(tmp_path, capsys):
    shown = README.partition("`make demo` prints (excerpt):\n\n```\n")[2].partition("```")[0]
    assert main(["demo", "--out", str(tmp_path / "out" / "demo")]) in (0, None)
    printed = [*lines(capsys.readouterr().out), "...", "written: out/demo/results.json and plots"]
    found = [line for line in lines(shown) if line not in printed and not line.startswith("picture: ")]
    assert found == []
