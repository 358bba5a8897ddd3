"""The file that replays a log serves cases: encoded bit for bit as its rows, and taught by them."""

import csv
import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.commands import audit_files, policies
from evenhand.live.campaigns.files import Rows
from evenhand.live.fold.column_encoder import Text, of_file, of_log, policy_of_campaign
from evenhand.live.log.events import encode
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.logs.log import environment, read_rows
from evenhand.logs.problem_file import read_spec
from tests.replay.shop import PROBLEM, rows, write
from tests.replay.test_email import LOG, PROBLEM as EMAIL

INTERACTIONS = PROBLEM.replace("[action]", '[interactions]\na = ["age"]\nb = ["town"]\n\n[action]')


def folder_of(path, problem=PROBLEM, count=400):
    log, file = write(path, rows(count), problem)
    return log, file


def cases(log, spec):
    """The rows of a log by name, as a service is told of them."""
    names = {*spec.numeric, *spec.categorical, *(g.column for g in spec.groups.values())}
    with log.open(newline="") as file:
        for row in csv.DictReader(file):
            yield {n: float(row[n]) if n in spec.numeric else row[n] for n in names}


@pytest.mark.parametrize("problem", [PROBLEM, INTERACTIONS], ids=["blocks", "interactions"])
def test_cases_are_encoded_as_the_rows_of_the_log(tmp_path, problem):
    log, file = folder_of(tmp_path, problem)
    check_rows(log, file)


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")
def test_customers_are_encoded_as_the_rows_of_the_log():
    check_rows(LOG, EMAIL, 4000)


def check_rows(log, file, most=10**9):
    spec = read_spec(file)
    encoded = read_rows(log, spec).encoded
    world = environment(spec.problem(encoded.levels), encoded)
    stated = of_log(Text.of(file), log)
    kept = json.loads(encode(stated.coded.to_dict()))
    for coded in (stated.coded, policy_of_campaign(kept).coded):
        for i, case in enumerate(cases(log, spec)):
            if i == most:
                break
            context = coded.context(case, None, None)
            where = np.append(encoded.units[i], 0.0)[world.layout]
            np.testing.assert_array_equal(context.features[0], where)
            np.testing.assert_array_equal(context.groups[0, 0], world.groups[i])


def test_a_campaign_of_files_is_opened_again_without_the_log(tmp_path):
    log, file = folder_of(tmp_path)
    store = MemoryStore()
    with pytest.raises(InvalidInput, match=r"problem.toml: features.ranges.age: expected .*, as there is no log"):
        eh.live.open_campaign(store, "post", file)
    campaign = eh.live.open_campaign(store, "post", file, log_path=log, learn=False)
    first = campaign.decide({"age": 33, "town": "north"}, key="1")
    log.unlink()
    again = eh.live.open_campaign(store, "post", file, learn=False)
    assert again.decide({"age": 33, "town": "north"}, key="1").action == first.action
    assert again.policy.fingerprint() == campaign.policy.fingerprint()
    with pytest.raises(InvalidInput, match=r"^town: expected one of .* got 'nort' \(did you mean north\?\)"):
        again.decide({"age": 33, "town": "nort"}, key="2")
    with pytest.raises(InvalidInput, match=r"^twon: expected one of .*did you mean town"):
        again.decide({"age": 33, "town": "north", "twon": 1}, key="2")
    with pytest.raises(InvalidInput, match=r"^age: expected a value"):
        again.decide({"town": "north"}, key="2")


def test_another_log_or_problem_file_is_refused(tmp_path):
    log, file = folder_of(tmp_path)
    store = MemoryStore()
    eh.live.open_campaign(store, "post", file, log_path=log)
    (tmp_path / "other").mkdir()
    other, _ = folder_of(tmp_path / "other", count=300)
    with pytest.raises(eh.live.Conflict, match="encodes cases as another log did"):
        eh.live.open_campaign(store, "post", file, log_path=other)
    file.write_text(PROBLEM.replace("rate = 0.3", "rate = 0.4"))
    with pytest.raises(eh.live.Conflict, match=r"^'post': budget post: rate 0\.3 there, 0\.4 here"):
        eh.live.open_campaign(store, "post", file, log_path=log)


def test_what_is_learned_from_a_log_is_what_a_policy_learns_and_costs_nothing(tmp_path):
    log, file = folder_of(tmp_path)
    store, stated = MemoryStore(), of_log(Text.of(file), log, True)
    campaign = eh.live.open_campaign(store, "post", file, log_path=log)
    state = campaign._worker.fold.state
    spec = read_spec(file)
    encoded = read_rows(log, spec).encoded
    by_hand = stated.policy.start()
    for i, a in enumerate(encoded.actions):
        x = np.append(encoded.units[i], 0.0)[stated.coded.layout][None, a : a + 1]
        stated.policy.model.update(
            by_hand.model, x, encoded.outcomes[None, i : i + 1], np.ones((1, 1, 1), bool), np.ones((1, 1, 1, 1))
        )
    np.testing.assert_array_equal(state.model.theta, by_hand.model.theta)
    assert state.model.count[0] == 400
    status = campaign.status()
    assert status.rounds == 0
    assert [account.spent for account in status.accounts.values()] == [0.0]
    said = campaign.decide({"age": 25, "town": "south"}, key="1")
    campaign.observe(said.id, {"visit": 1})
    again = eh.live.open_campaign(store, "post", file, log_path=log)
    np.testing.assert_array_equal(again._worker.fold.state.model.theta, campaign._worker.fold.state.model.theta)
    found = eh.live.audit(store, "post", [stated.policy], encoders=[stated.coded], teacher=Rows(log))
    assert found.clean
    with pytest.raises(eh.live.Conflict, match="learned from another log"):
        eh.live.audit(store, "post", [stated.policy], encoders=[stated.coded])


def test_rows_of_a_log_count_as_the_problem_file_weighs_them(tmp_path):
    weighed = PROBLEM.replace("horizon", "log_weight = 0.25\nhorizon")
    log, file = folder_of(tmp_path, weighed.replace("[policy]", '[policy]\nmodel = "bayesian_ridge"'))
    campaign = eh.live.open_campaign(f"sqlite:///{tmp_path}/weighed.db", "post", file, log_path=log)
    state = campaign._worker.fold.state
    assert state.model.count[0] == 100.0
    assert state.model.taught[0] == 100.0
    assert state.t[0] == 0.0


def test_a_weight_that_is_stated_stays_with_the_campaign(tmp_path):
    weighed = PROBLEM.replace("horizon", "log_weight = 0.25\nhorizon")
    log, file = folder_of(tmp_path, weighed.replace("[policy]", '[policy]\nmodel = "bayesian_ridge"'))
    store = f"sqlite:///{tmp_path}/weighed.db"
    campaign = eh.live.open_campaign(store, "post", file, log_path=log, learn=0.05)
    assert campaign._worker.fold.state.model.taught[0] == pytest.approx(20.0)
    campaign.decide({"age": 33, "town": "north"}, "one")
    again = eh.live.open_campaign(store, "post", file, log_path=log)
    assert again._worker.fold.state.model.taught[0] == campaign._worker.fold.state.model.taught[0]
    assert audit_files(store, log_path=log).clean
    with pytest.raises(eh.live.Conflict, match="at the same weight"):
        eh.live.open_campaign(store, "post", file, log_path=log, learn=0.1)
    kept = eh.live.open_campaign(store, "post", file)
    assert kept._worker.fold.state.model.taught[0] == campaign._worker.fold.state.model.taught[0]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"log": True, "learn": 0.0}, r"^weight: expected a number in \[1e-06, 1e\+06\], got 0"),
        ({"log": True, "learn": 0.05}, r"^model: expected a model that weighs what it learns"),
        ({"log": False, "learn": 0.05}, r"^weight: expected none without a log to learn from, got 0.05"),
    ],
)
def test_a_stated_weight_that_is_none_is_refused_before_a_campaign_is_opened(tmp_path, more, says):
    log, file = folder_of(tmp_path, STATED.replace("[policy]", '[policy]\nmodel = "ridge"'))
    store = f"sqlite:///{tmp_path}/none.db"
    with pytest.raises(InvalidInput, match=says):
        eh.live.open_campaign(store, "post", file, log_path=log if more["log"] else None, learn=more["learn"])
    assert not list(connect(store).campaigns())


def test_a_weight_of_a_log_that_is_none_is_refused(tmp_path):
    log, file = folder_of(tmp_path, PROBLEM.replace("horizon", "log_weight = 0\nhorizon"))
    with pytest.raises(InvalidInput, match=r"log_weight: expected a number in \[1e-06, 1e\+06\], got 0"):
        of_log(Text.of(file), log)


@pytest.mark.parametrize(
    ("action", "outcomes", "says"),
    [
        ("fax", {"visit": 1}, r"^action: expected one of"),
        ("a", {"visit": 2}, r"^outcome 'visit': expected a finite number in \[0, 1\]"),
        ("a", {}, r"^outcomes\['visit'\]: expected a number, or None"),
    ],
)
def test_a_policy_is_not_taught_what_cannot_be(tmp_path, action, outcomes, says):
    log, file = folder_of(tmp_path)
    policy, coded = of_log(Text.of(file), log)
    state = policy.start()
    with pytest.raises(InvalidInput, match=says):
        policy.teach(state, coded.context({"age": 33, "town": "north"}, None, None), action, outcomes)
    assert state.model.count[0] == 0


STATED = PROBLEM.replace(
    "[action]",
    """[features.ranges]
age = [20, 60]

[features.levels]
town = ["north", "south"]

[groups.town]
shares = { north = 0.5, south = 0.5 }

[action]""",
)


def test_a_file_that_states_ranges_and_levels_needs_no_log(tmp_path):
    log, file = folder_of(tmp_path, STATED)
    check_rows(log, file)  # a replay encodes rows by what is stated as well
    assert of_file(Text.of(file)).coded.to_dict() == of_log(Text.of(file), log).coded.to_dict()
    log.unlink()
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "post", file)
    said = campaign.decide({"age": 1000, "town": "north"}, key="1")
    assert campaign._worker.encoder.units.row({"age": 1000, "town": "south"}).tolist() == [1.0, 1.0, 1.0]
    again = eh.live.open_campaign(store, "post", file)
    assert again.decide({"age": 1000, "town": "north"}, key="1").action == said.action


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("age = [20, 60]", "age = [60, 20]", r"features\.ranges\.age: expected \[low, high\] with low < high"),
        ("age = [20, 60]", "aeg = [20, 60]", r"features\.ranges: expected one of age, got aeg \(did you mean age\?\)"),
        ("age = [20, 60]", "", r"features\.ranges\.age: expected .*, as there is no log"),
        ('town = ["north", "south"]', "", r"features\.levels\.town: expected .*, as there is no log"),
        ('["north", "south"]', '["north"]', r"features\.levels\.town: expected 2 to 100 names, got 1"),
        ("{ north = 0.5, south = 0.5 }", '"log"', r"groups\.town\.shares: expected .*, as there is no log"),
    ],
)
def test_what_a_file_states_wrongly_or_leaves_to_a_log_is_named(tmp_path, old, new, told):
    assert old in STATED
    _, file = folder_of(tmp_path, STATED.replace(old, new))
    with pytest.raises(InvalidInput, match=told):
        eh.live.open_campaign(MemoryStore(), "post", file)


def test_a_row_with_a_level_that_is_not_stated_is_a_bad_row(tmp_path):
    log, file = folder_of(tmp_path, STATED.replace('["north", "south"]', '["north", "west"]'))
    with pytest.raises(InvalidInput, match=r"one of the levels \(north, west\)"):
        of_log(Text.of(file), log)


def test_another_problem_file_takes_over(tmp_path):
    log, file = folder_of(tmp_path)
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "post", file, log_path=log)
    for i in range(20):
        said = campaign.decide({"age": 25 + i, "town": "south"}, key=f"{i}")
        campaign.observe(said.id, {"visit": i % 2})
    spent = [a.spent for a in campaign.status().accounts.values()]
    file.write_text(PROBLEM.replace("[policy]", '[policy]\nname = "resolving"').replace("step = 0.01", ""))
    changed = eh.live.switch_campaign(store, "post", file, log_path=log)
    assert changed.policy.name.startswith("resolving")
    assert [a.spent for a in changed.status().accounts.values()] == spent
    again = eh.live.open_campaign(store, "post", file, log_path=log)
    again.decide({"age": 50, "town": "north"}, key="more")
    assert len([e for e in again.events() if e.kind == "switched"]) == 1
    each = policies(store, "post")
    assert [stated.policy.name.split(",")[0] for stated in each] == ["pgd", "resolving"]
    told = [stated.coded for stated in each]
    assert eh.live.audit(store, "post", [stated.policy for stated in each], encoders=told, teacher=Rows(log)).clean


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            '["age"]',
            '["age", "height"]',
            r"features.numeric: \['age', 'height'\], the cases of the campaign state \['a",
        ),
        ('["town"]', "[]", r"features.categorical: \[\], the cases of the campaign state \['town'\]"),
        ("[policy]", '[groups.side]\ncolumn = "street"\nshares = "log"\n[policy]', r"groups: \['side of street'"),
    ],
)
@pytest.mark.parametrize("call", [eh.live.open_campaign, eh.live.switch_campaign])
def test_a_problem_file_of_other_columns_is_refused(tmp_path, old, new, told, call):
    log, file = folder_of(tmp_path)
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "post", file, log_path=log, learn=False)
    file.write_text(PROBLEM.replace(old, new))
    with pytest.raises(eh.live.Conflict, match=told):
        call(store, "post", file)
    campaign.decide({"age": 33, "town": "north"}, key="1")


def test_only_a_campaign_that_there_is_can_switch(tmp_path):
    _, file = folder_of(tmp_path, STATED)
    with pytest.raises(eh.live.Unknown, match=r"no campaign 'past'; the store has \[\]"):
        eh.live.switch_campaign(MemoryStore(), "past", file)


def test_cases_that_are_encoded_in_another_way_are_refused(tmp_path):
    """Workers know a policy by its fingerprint, in which ranges are not: they would fold other states."""
    _, file = folder_of(tmp_path, STATED)
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "post", file)
    text = Text.of(file)
    other = of_file(Text(text.name, text.text.replace("[20, 60]", "[0, 100]")))
    assert other.policy.fingerprint() == campaign.policy.fingerprint()
    with pytest.raises(eh.live.Conflict, match="encodes cases differently"):
        eh.Campaign.open(store, "post", other.policy, encoder=other.coded)
    with pytest.raises(InvalidInput, match="policy: expected one with another name or setting"):
        campaign.switch(other.policy, other.coded)
    commented = Text(text.name, "# for the spring\n" + text.text)
    eh.Campaign.open(store, "post", other.policy, encoder=of_file(commented).coded)
    file.write_text(text.text.replace("[20, 60]", "[0, 100]"))
    with pytest.raises(eh.live.Conflict, match=r"features\.ranges: \['age \[0\.0, 100\.0\]'\]"):
        eh.live.open_campaign(store, "post", file)


def test_a_cost_of_the_case_lies_in_its_range(tmp_path):
    """Without a range in what its hard budget can ever pay: 300 rounds at 0.3 are 90."""
    from evenhand.live.http import app
    from tests.live.http_campaign import serving

    for more, ends in (("", (0, 90)), ("\nrange = [0.5, 20]", (0.5, 20))):
        known = 'known = { a = 1, b = 1 }\ncolumn = { a = "postage", b = "postage" }'
        file = tmp_path / "post.toml"
        file.write_text(STATED.replace("known = { a = 1, b = 1 }", known + more))
        with serving(app(eh.live.open_campaign("memory://", "post", file))) as client:
            for i, (postage, status) in enumerate(
                [(ends[0], 200), (ends[1], 200), (ends[0] - 0.1, 422), (ends[1] + 0.1, 422), (1e15, 422)]
            ):
                case = {"age": 33, "town": "north", "postage": postage}
                said = client.post("/decide", json={"key": f"{i}", "case": case})
                assert said.status_code == status
                assert status == 200 or said.json()["field"] == "postage"
    file.write_text(STATED.replace("known = { a = 1, b = 1 }", "known = { a = 1, b = 1 }\nrange = [2, 3]"))
    with pytest.raises(InvalidInput, match=r"outcomes.post.known.a: expected a number from 2 to 3, as its range says"):
        eh.live.open_campaign("memory://", "post", file)
