"""`evenhand warm PROBLEM.toml` compiles all that a server of the problem file runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.kernel import kernels
from evenhand.live.campaigns.rehearsal import of_campaign, rehearse

ROOT = Path(__file__).parents[3]
SERVED = """
import sys
from pathlib import Path
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.http import app
from evenhand.run.ahead_of_time import n_compiled
from tests.live.http_campaign import serving

problem, store = sys.argv[1], f"sqlite:///{sys.argv[2]}"
stated = of_file(Text.of(Path(problem)))
campaign = Campaign.open(store, "letters", stated.policy, encoder=stated.coded, patience=1e6)
with serving(app(campaign, token="a long enough token")) as client:
    client.headers["Authorization"] = "Bearer a long enough token"
    def post(path, body):
        said = client.post(path, json=body)
        assert said.status_code == 200, said.text
        return said.json()
    def case(i):
        return {"age": 20 + i % 61, "town": ("north", "south")[i % 2]}
    for i in range(130):
        said = post("/decide", {"key": f"{i}", "case": case(i)})
        if i % 3:
            post("/observe", {"key": f"{i}", "outcomes": {"visit": int(i % 5 == 0)}})
    post("/observe", {"key": "0", "outcomes": {"visit": 0}})
    post("/cancel", {"key": "3"})
    post("/decide", [{"key": f"many {i}", "case": case(i), "frozen": True} for i in range(9)])
    post("/observe", [{"key": f"many {i}", "outcomes": {"visit": 1}} for i in range(9)])
    for path in ("/", "/report", "/metrics", f"/decisions/{said['id']}", f"/decisions/{said['id']}/page", "/readyz"):
        assert client.get(path).status_code == 200, path
    post("/observe", {"key": "1", "outcomes": {"visit": 1}, "revise": True})
    assert campaign.relearn()
    post("/erase", {"keys": ["2"], "by": "ada", "why": "asked to"})
    post("/decide", {"key": "after", "case": case(7)})
    post("/switch", {"problem": Path(problem).read_text().replace("rate = 0.3", "rate = 0.2"), "by": "ada", "why": "x"})
    post("/decide", {"key": "switched", "case": case(7)})
print(n_compiled())
"""


def served(tmp_path):
    """How many kernels a server compiles over all verbs and pages, each at its first call."""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "EVENHAND_KERNELS": "compiled"}
    command = [sys.executable, "-c", SERVED, str(ROOT / "deploy" / "problem.toml"), str(tmp_path / "log.db")]
    environment = {**os.environ, **settings, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.slow
def test_a_server_compiles_nothing_after_warm(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "evenhand", "warm", str(ROOT / "deploy" / "problem.toml")]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert served(tmp_path) == 0


SHOP = eh.Problem(
    actions=("no", "mail", "call"),
    outcomes=(eh.Outcome("won"), eh.Outcome("cost", known={"mail": 1, "call": 3})),
    maximize="won",
    subject_to=(eh.Budget("cost", total=40), eh.Parity("cost", by="zone", tolerance=0.5)),
    groups=(eh.Groups("zone", ("town", "land")),),
    horizon=400,
)
DATED = eh.Problem(
    actions=("no", "yes"),
    outcomes=(eh.Outcome("won"),),
    maximize="won",
    horizon=90,
    since="2020-01-01",
    until="2020-02-01",
)
SLATE = eh.Problem(actions=("a", "b", "c"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=90, n_plays=2)


@pytest.mark.parametrize("problem", [SHOP, DATED, SLATE], ids=["groups", "dates in the past", "two plays"])
def test_policies_of_all_kinds_are_rehearsed(problem):
    with kernels("interpreted"):
        rehearse(eh.uniform(problem, 3), 20)


def test_a_problem_file_has_its_replays_and_its_server():
    assert list(of_campaign(ROOT / "deploy" / "problem.toml"))[-1].endswith(", served")
