"""Campaigns of problem files whose actions are rows of a table."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.commands import policies
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.fold.phases import Phase, same_contexts
from evenhand.live.stores.memory import MemoryStore
from evenhand.logs.problem_file import parse
from evenhand.models import BayesianRidge
from evenhand.models.own_parts import OwnParts
from evenhand.problem import descriptions

PROBLEM = """\
maximize = "good"
horizon = 400
withdrawn = []

[actions]
table = "models.csv"
numeric = { price = [0, 4] }
categorical = { vendor = ["x", "y"] }

[action]
column = "model"

[features]
numeric = ["words"]
ranges = { words = [0, 1000] }

[outcomes]
good = {}
fee = { known = "fee" }

[[budget]]
outcome = "fee"
total = 200

[policy]
name = "resolving"
"""
MODELS = "action,price,vendor,fee\nsmall,0.2,x,0.01\nlarge,3,y,0.1\n"
HUGE = "huge,4,y,0.3\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "models.csv").write_text(MODELS)
    (tmp_path / "gate.toml").write_text(PROBLEM)
    return tmp_path


def test_a_switch_to_a_table_with_a_row_more_and_one_withdrawn_keeps_what_was_spent_and_learned(files):
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "gate", files / "gate.toml")
    for i in range(60):
        said = campaign.decide({"words": 10.0 * i}, key=f"{i}")
        campaign.observe(said.id, {"good": 0.5 * (said.action == "large")})
    late = campaign.decide({"words": 5.0}, key="late")
    spent = campaign.status().accounts["fee"].spent
    (files / "models.csv").write_text(MODELS + HUGE)
    (files / "gate.toml").write_text(PROBLEM.replace("withdrawn = []", 'withdrawn = ["small"]'))
    changed = eh.live.switch_campaign(store, "gate", files / "gate.toml")
    assert changed.policy.problem.actions == ("small", "large", "huge")
    assert changed.status().accounts["fee"].spent == spent
    changed.observe(late.id, {"good": 1.0})
    said = [changed.decide({"words": 500.0}, key=f"more {i}") for i in range(40)]
    assert "huge" in {one.action for one in said}
    assert "small" not in {one.action for one in said}
    for one in said[:20]:
        changed.observe(one.id, {"good": 1.0})
    (files / "models.csv").unlink()  # the campaign has the rows
    again = eh.live.open_campaign(store, "gate")
    assert again.status() == changed.status()
    each = policies(store, "gate")
    told = [stated.coded for stated in each]
    assert eh.live.audit(store, "gate", [stated.policy for stated in each], encoders=told).clean


def test_a_row_of_an_earlier_action_that_changed_is_learned_anew_from_the_log(files):
    """Prices fall: outcomes so far are of the action as it is described now."""
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "gate", files / "gate.toml")
    for i in range(30):
        campaign.observe(campaign.decide({"words": 10.0 * i}, key=f"{i}").id, {"good": float(i % 2)})
    (files / "models.csv").write_text(MODELS.replace("large,3", "large,1"))
    changed = eh.live.switch_campaign(store, "gate", files / "gate.toml")
    assert changed.status().accounts["fee"].spent == campaign.status().accounts["fee"].spent
    gram, played = changed._worker.fold.state.model.gram[0], list(changed.decisions()["action"])
    prices = {"small": 0.2 / 2.0 - 1.0, "large": 1.0 / 2.0 - 1.0}  # from -1 to 1
    assert gram[2, 2] == pytest.approx(sum(prices[action] ** 2 for action in played))
    place = next(i for i, goal in enumerate(changed.policy.goals) if hasattr(goal, "append"))
    history = changed._worker.fold.state.goals[place].history
    assert set(history.features[0, : int(history.kept[0]), 1, 2]) == {prices["large"]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("small,0.2,x,0.01", "small,0.2,x", r"models.csv: expected a header with 'action'"),
        ("action,", "name,", r"models.csv: expected a header with 'action'"),
        ("small,0.2", "small,cheap", r"gate.toml.*Actions.rows: 'small': price: expected a finite number"),
        (",x,", ",z,", r"gate.toml.*Actions.rows: 'small': vendor: expected one of \('x', 'y'\)"),
        ("small", "large", r"gate.toml.*TOML"),
        ("fee\n", "dollars\n", r"gate.toml.*Actions.rows: 'small': expected a value of 'fee'"),
    ],
)
def test_a_table_with_a_wrong_cell_is_refused_by_its_place(files, old, new, message):
    (files / "models.csv").write_text(MODELS.replace(old, new, 1))
    with pytest.raises(InvalidInput, match=message):
        eh.live.open_campaign(MemoryStore(), "gate", files / "gate.toml")


def test_a_text_without_the_table_beside_it_says_so(files):
    (files / "models.csv").unlink()
    with pytest.raises(InvalidInput, match=r"models\.csv"):
        eh.live.open_campaign(MemoryStore(), "gate", files / "gate.toml")
    with pytest.raises(InvalidInput, match=r"actions.table: expected a CSV file beside the problem file, or rows"):
        parse(PROBLEM, "gate.toml")


def test_contexts_that_goals_keep_are_not_those_of_other_rows(files):
    phases = []
    for text in (MODELS, MODELS.replace("large,3", "large,1")):
        (files / "models.csv").write_text(text)
        made = of_file(Text.of(files / "gate.toml"))
        phases.append(Phase(made.policy, made.coded))
    assert same_contexts(phases[0], phases[0])
    assert not same_contexts(*phases)


def test_a_switch_past_the_bound_of_coefficients_learns_anew_from_the_log_with_own_parts_apart(files, monkeypatch):
    monkeypatch.setattr(descriptions, "MANY", 10)  # two numbers of a case, times two described ones, 1 and the actions
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "gate", files / "gate.toml")
    for i in range(30):
        campaign.observe(campaign.decide({"words": 10.0 * i}, key=f"{i}").id, {"good": float(i % 2)})
    late = campaign.decide({"words": 5.0}, key="late")
    (files / "models.csv").write_text(MODELS + HUGE)
    made = of_file(Text.of(files / "gate.toml")).policy
    with pytest.raises(InvalidInput):
        made.adopt(campaign._worker.fold.state, of=campaign.policy)
    changed = eh.live.switch_campaign(store, "gate", files / "gate.toml")
    changed.observe(late.id, {"good": 1.0})
    assert [type(each.model) for each in (campaign.policy, changed.policy)] == [BayesianRidge, OwnParts]
    played = list(changed.decisions()["action"])
    state, prices = changed._worker.fold.state.model, {"small": 0.2 / 2.0 - 1.0, "large": 3.0 / 2.0 - 1.0}
    assert state.count[0] == 31
    words, own = [*np.arange(30) / 50.0 - 1.0, 5.0 / 500.0 - 1.0], 0.25
    shared = [1.0 + prices[action] ** 2 + (action == "large") + own**2 for action in played]
    assert state.size[0] == pytest.approx(sum(s * (1.0 + w**2) for s, w in zip(shared, words, strict=True)))
    assert changed.status().accounts["fee"].spent == campaign.status().accounts["fee"].spent
    assert eh.live.open_campaign(store, "gate").status() == changed.status()
    each = policies(store, "gate")
    assert eh.live.audit(store, "gate", [z.policy for z in each], encoders=[z.coded for z in each]).clean
