"""Campaigns of problem files are switched without a restart: every worker takes the next file from the log."""

import json

import pytest

import evenhand as eh
from evenhand.live.coded import Text, of_file
from evenhand.live.commands import policies
from evenhand.live.stores.memory import MemoryStore
from tests.live.schedules import same_fold
from tests.live.test_files import INTERACTIONS, STATED


def switched(campaign):
    return [json.loads(e.body) for e in campaign.events() if e.kind == "switched"]


def write(folder, text):
    file = folder / "problem.toml"
    file.write_text(text)
    return file


def lived(campaign, count, first=0):
    for i in range(first, first + count):
        said = campaign.decide({"age": 25 + i % 40, "town": "south" if i % 3 else "north"}, key=f"{i}")
        campaign.observe(said.id, {"visit": i % 2})


def test_workers_of_a_problem_file_go_on_with_the_next_one(tmp_path):
    store, file = MemoryStore(), write(tmp_path, STATED)
    one, two = (eh.live.open_campaign(store, "post", file) for _ in range(2))
    lived(one, 20)
    two.refresh()
    old, state = two.policy, two._worker.fold.state
    write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.2"))
    eh.live.switch_campaign(store, "post", file, by="Ada", why="half of the post")
    assert [(z["adopts"], z["by"], z["why"]) for z in switched(one)] == [(True, "Ada", "half of the post")]
    two.refresh()
    assert two.status().accounts["post"].total == pytest.approx(60.0)
    new = of_file(Text.of(file)).policy
    assert two.policy.fingerprint() == new.fingerprint()
    assert two.policy.status(two._worker.fold.state) == new.status(new.adopt(state, of=old))
    lived(two, 10, 100)
    lived(one, 10, 200)
    assert two.report() | {"alarms": []} == one.report() | {"alarms": []}
    store._kept.clear()
    again = eh.live.open_campaign(store, "post", file)
    for worker in (one, two):
        worker.refresh()
        same_fold(worker, again)
    each = policies(store, "post")
    assert eh.live.audit(store, "post", [z.policy for z in each], encoders=[z.coded for z in each]).clean


def test_a_file_that_differs_is_refused_by_the_setting(tmp_path):
    store, file = MemoryStore(), write(tmp_path, STATED)
    eh.live.open_campaign(store, "post", file)
    for old, new, told in (
        ("rate = 0.3", "rate = 0.2", r"\(budget post: rate 0.3 there, 0.2 here\): open it with that one, or switch"),
        ("tolerance = 0.1", "tolerance = 0.05", r"\(parity post: tolerance 0.1 there, 0.05 here\)"),
        ("step = 0.01", "step = 0.02", r"\(goals\.\d\.step.*: 0.01 there, 0.02 here\)"),
    ):
        write(tmp_path, STATED.replace(old, new))
        with pytest.raises(eh.live.Conflict, match=told):
            eh.live.open_campaign(store, "post", file)


@pytest.mark.parametrize("swapped", [False, True])
def test_features_that_mean_something_else_are_not_adopted(tmp_path, swapped):
    """Interactions of other actions have the same number of coefficients."""
    text = stated_interactions()
    store, file = MemoryStore(), write(tmp_path, text)
    campaign = eh.live.open_campaign(store, "post", file)
    lived(campaign, 10)
    other = text.replace('a = ["age"]\nb = ["town"]', 'b = ["town"]\na = ["age"]') if swapped else text
    write(tmp_path, other.replace("rate = 0.3", "rate = 0.2"))
    before = campaign.policy.model
    after = eh.live.switch_campaign(store, "post", file)
    assert after.policy.model.n_features == before.n_features
    (event,) = switched(campaign)
    assert event["adopts"] is not swapped
    assert event.get("because") == ("cases are encoded in another way" if swapped else None)
    campaign.refresh()
    same_fold(campaign, after)


def stated_interactions():
    assert "[interactions]" in INTERACTIONS
    return STATED.replace("[action]", '[interactions]\na = ["age"]\nb = ["town"]\n\n[action]')
