"""The example of the e-mails, on the real log."""

import os
from pathlib import Path

import pytest

from evenhand.logs.log import environment, read_rows
from evenhand.logs.problem_file import read_spec
from evenhand.replay import replay_log

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
LOG, PROBLEM = DATA / "hillstrom.csv", ROOT / "examples" / "email.toml"

pytestmark = pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")


def test_the_log_as_it_is_known():
    spec = read_spec(PROBLEM)
    read = read_rows(LOG, spec)
    encoded, bad = read.encoded, read.bad
    log = environment(spec.problem(encoded.levels), encoded)
    assert bad.count == 0
    ends = "recency 1 to 12, history 29.99 to 3,346, mens 0 to 1, womens 0 to 1, newbie 0 to 1"
    assert encoded.notes == [f"numbers standardised by the log: {ends}"]
    arms = [(log.actions == a).sum() for a in range(3)]
    assert arms == [21_306, 21_307, 21_387]
    visits = [round(float(log.outcomes[log.actions == a].mean()), 4) for a in range(3)]
    assert visits == [0.1062, 0.1828, 0.1514]
    assert log.problem.groups[0].names == ("Rural", "Surburban", "Urban")
    assert encoded.coding.names == (
        *("1", "recency", "history", "mens", "womens", "newbie"),
        *("zip_code=Rural", "zip_code=Urban", "channel=Multichannel", "channel=Phone"),
    )


@pytest.mark.slow
def test_emails_stay_within_the_budget_and_are_shared_evenly():
    found = replay_log(LOG, PROBLEM, replicas=3, bootstrap=6, seed=11, progress=False)
    steered, alone, free, blind = (found.measured[r.name] for r in found.runs)
    for system in (steered, alone, blind):
        assert system["email used"][1].worst <= 6000
        assert system["email used"][1].mean > 5900
    gap = steered["email gap by zip_code"][1]
    one_replay = steered["email gap by zip_code"][0].values[3:].std(ddof=1)  # the worst is of single replays
    assert gap.worst <= 0.02 + 2 * one_replay
    assert alone["email gap by zip_code"][1].mean > 0.05
    assert free["email per round"][1].mean > 0.9
    assert all(system["rounds"][1].worst == 20_000 for system in (steered, alone, free, blind))
    # No more than the errors allow: targeted letters are no worse than blind ones.
    gain = steered["visit minus uniform"][1]
    assert gain.mean > -2 * gain.se
