"""A running server against requests that Schemathesis derives from its description: every answer is one that it has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.live import open_campaign
from evenhand.live.http import app
from tests.live.campaigns.test_files import STATED
from tests.live.http_campaign import events, opened, serving
from tests.replay.shop import rows, write

SETTINGS = Path(__file__).with_name("schemathesis.toml")
TOKEN = "a secret of this test"
VERBS = "^/(decide|observe|cancel|decisions)"

pytest.importorskip("schemathesis", reason="needs schemathesis")
pytestmark = pytest.mark.slow


def check(folder, client, *options):
    """Run all checks, and return what was printed; a finding is an error."""
    whole = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
    command = [sys.executable, "-c", whole, "--config-file", str(SETTINGS), "run", f"{client.base_url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {TOKEN}", "--seed", "1", "--no-color", *options]
    told = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "examples")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120, env=told)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def test_decisions_are_followed_by_links(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign, token=TOKEN)) as client:
        said = check(tmp_path, client, "--phases", "stateful", "--include-path-regex", VERBS, "--max-examples", "40")
    assert "4 covered / 4 selected / 4 total" in said
    for kind in ("decided", "observed", "cancelled"):
        assert events(campaign, kind)


@pytest.mark.parametrize("coded", [False, True])
def test_every_answer_is_one_of_the_description(tmp_path, coded):
    """The end comes last, as nothing is decided after it."""
    shop = open_campaign("memory://", "post", write(tmp_path, rows(300), STATED)[1]) if coded else opened(tmp_path)
    with serving(app(shop, token=TOKEN)) as client:
        for options in (("--exclude-path", "/end"), ("--include-path", "/end", "--phases", "coverage,fuzzing")):
            check(tmp_path, client, "--max-examples", "25", *options)
