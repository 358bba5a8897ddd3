"""Campaigns whose cases have features that are hashed: by a problem file, with and without a log, and by Python."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.exports import export
from evenhand.live.campaigns.files import open_campaign
from evenhand.live.campaigns.rehearsal import of_campaign
from evenhand.live.http.schemas import verbs
from evenhand.live.worker.batches import Deciding
from evenhand.logs.log import read_log
from tests import hashed, wide

CASE = {"age": 30, "device": "phone", "site": "new.com", "query": "red shoes"}
RANGES = 'ranges = { age = [20, 60] }\nlevels = { device = ["phone", "tv"] }\n'


@pytest.fixture
def campaign(tmp_path):
    log, problem = wide.write(tmp_path)
    return open_campaign(f"sqlite:///{tmp_path / 'log.db'}", "ads", problem, log_path=log)


def test_a_case_of_a_campaign_has_the_bits_of_a_row_of_its_log(campaign, tmp_path):
    log = read_log(tmp_path / "log.csv", tmp_path / "problem.toml")
    age, device, site, query, *_ = wide.rows(600)[7]
    case = {"age": float(age), "device": device, "site": site, "query": query}
    found = campaign.encoder.context(case, None, None).features
    assert np.array_equal(found[0, :, 1:], np.tile(log.encoded.units[7], (2, 1)))
    assert found[0, :, 0].tolist() == [0.0, 1.0]
    assert np.array_equal(campaign.encoder.contexts([CASE, case]).features[1], found[0])


def test_a_campaign_is_opened_again_with_the_same_columns(campaign, tmp_path):
    campaign.decide(CASE, key="1")
    again = open_campaign(f"sqlite:///{tmp_path / 'log.db'}", "ads")
    contexts = [one.encoder.context(CASE, None, None).features for one in (campaign, again)]
    assert np.array_equal(*contexts)
    assert again.decide(CASE, key="1").repeated


def test_a_file_with_ranges_and_levels_needs_no_log_for_hashed_columns(tmp_path):
    _, problem = wide.write(tmp_path, problem=wide.PROBLEM.replace("[action]", f"{RANGES}[action]"))
    campaign = open_campaign(f"sqlite:///{tmp_path / 'log.db'}", "ads", problem)
    assert campaign.decide(CASE, key="1").action in ("none", "shoes")
    origins = campaign.encoder.origins[0]
    assert [*dict.fromkeys(origins)] == [None, "", "age", "device", "site", "site x device", "query"]


@pytest.mark.parametrize(("change", "field"), [({"site": None}, "site"), ({"query": 1.5}, "query")])
def test_a_value_that_cannot_be_hashed_is_refused(campaign, change, field):
    with pytest.raises(InvalidInput) as error:
        campaign.decide(CASE | change, key="1")
    assert error.value.field == field


def test_a_value_that_equals_a_name_of_its_batch_is_refused():
    """What got into the log could not be read from it any more."""
    shop = hashed.shop()
    campaign = eh.Campaign.open("memory://", "ads", eh.uniform(shop, shop.n_features))
    for i in range(60):
        campaign.decide(CASE, key=f"{i}")
    calls = [Deciding(CASE | {"site": z}, f"same {i}", frozen=True) for i, z in enumerate((1, True))]
    good, bad = campaign.many(calls)
    assert good.action in shop.actions
    assert isinstance(bad, InvalidInput)
    assert eh.live.audit(campaign.store, "ads", [campaign.policy]).clean


def test_words_that_are_left_out_are_told_and_counted(campaign):
    made = campaign.decide(CASE | {"query": "a b c d e f g h i"}, key="1")
    assert "too long" in made.warnings[0]
    assert campaign.encoder.ranged == ["age", "query"]


def test_schemas_take_any_name(campaign):
    shop = hashed.shop()
    by_name = eh.Campaign.open("memory://", "ads", eh.uniform(shop, shop.n_features))
    for one in (by_name, campaign):
        case = verbs(one)["/decide"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"][0]
        found = case["properties"]["case"]["properties"]
        assert found["site"]["type"] == ["string", "integer"]
        assert found["query"]["type"] == "string"
        assert list(found) == ["age", "device", "site", "query"]


def test_names_that_are_whole_numbers_are_names_for_vowpal_wabbit(campaign, tmp_path):
    made = campaign.decide(CASE | {"site": 17}, key="1")
    campaign.observe(made.id, {"click": 1.0})
    assert export(campaign.store, "ads", tmp_path / "log.vw") == 1
    features = (tmp_path / "log.vw").read_text().split("| ")[1].split()
    assert sorted(features) == ["age:30.0", "device=phone", "query=red%20shoes", "site=17"]


def test_kernels_of_a_file_with_hashed_columns_are_compiled(tmp_path):
    for job in of_campaign(wide.write(tmp_path)[1]).values():
        job()
