"""The walk-through of examples/analyst.md: its problem file can be read, and its commands print what it shows."""

import os
import re
import shlex
from itertools import islice
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.logs.problem_file import read_spec
from evenhand.problem import Budget, Parity

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
LOG = DATA / "hillstrom.csv"
PAGE = (ROOT / "examples" / "analyst.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(PROBLEM,) = (text for kind, text in BLOCKS if kind == "toml")
SHOWN = "\n".join(text for kind, text in BLOCKS if not kind)
COMMANDS = [shlex.split(line)[1:] for line in SHOWN.splitlines() if line.startswith("evenhand ")]


def test_the_file_states_what_the_page_says(tmp_path):
    (tmp_path / "half.toml").write_text(PROBLEM, encoding="utf-8")
    spec = read_spec(tmp_path / "half.toml")
    assert spec.settings.name == "resolving"
    assert spec.subject_to == (Budget("email", rate=0.5), Parity("email", by="newbie", tolerance=0.02))
    assert spec.horizon == 20_000
    assert [words[:4] for words in COMMANDS] == 2 * [["replay", "hillstrom.csv", "--problem", "half.toml"]]


def labels(text):
    """What stands before the numbers of every table, and in the first cell above them; numbers are left out.

    >>> sorted(labels("visits of 10    mean\\n------------  ------\\npgd           0.1311\\n\\nmean    of all."))
    ['pgd', 'visits of #']
    """
    found = set()
    for table in re.split(r"\n\s*\n", text):
        lines = table.splitlines()
        rules = [i for i, line in enumerate(lines) if re.fullmatch(r"-+(  -+)+", line)]
        for line in lines[rules[0] - 1 :] if rules else []:
            found.add(re.sub(r"[\d,.]+", "#", re.split(r"  +", line)[0]))
    return {z for z in found if not z.startswith("--")}


@pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_print_what_the_page_shows(words, tmp_path, monkeypatch, capsys):
    """On the first rows of the log, with a shorter horizon and few replicas."""
    monkeypatch.chdir(tmp_path)
    with LOG.open(encoding="utf-8") as lines:
        Path("hillstrom.csv").write_text("".join(islice(lines, 3001)), encoding="utf-8")
    assert "horizon = 20_000" in PROBLEM
    Path("half.toml").write_text(PROBLEM.replace("horizon = 20_000", "horizon = 500"), encoding="utf-8")
    fewer = [*words, "--replicas", "2", "--bootstrap", "2"]  # the last of two options counts
    assert main(fewer) in (0, None)
    said = capsys.readouterr().out
    assert "resolving# budget and parity" in labels(SHOWN)
    assert labels(SHOWN) - labels(said) == set()
    if "--out" in words:
        assert (Path(words[words.index("--out") + 1]) / "replay.svg").exists()
