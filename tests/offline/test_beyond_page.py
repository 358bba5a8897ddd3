"""The code of docs/beyond-one-machine.md runs, and prints what the page says."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "beyond-one-machine.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_first_block_prints_what_the_page_says(capsys):
    space = {}
    exec(BLOCKS[0], space)
    printed = capsys.readouterr().out
    said = re.search(r"^```\n\n```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert printed.startswith(said)
    assert space["actions"].shape == (100_000,)


def test_regions_share_a_budget_as_the_page_says(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS[1], {})
    said = re.search(re.escape(BLOCKS[1]) + r"```\n\n```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert capsys.readouterr().out == said


def test_the_other_blocks_are_those_of_a_cluster_and_of_a_campaign_of_ones_own():
    assert len(BLOCKS) == 2
    assert PAGE.count("```python no-run\n") == 3
