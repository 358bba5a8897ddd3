"""The page of a decision names the features that mattered: their parts add up to the difference of worths."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.campaigns.files import open_campaign
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.explanation import recall
from evenhand.models import BayesianLogistic, BayesianRidge
from tests.live.campaigns.test_files import STATED
from tests.live.http_campaign import serving
from tests.replay.shop import rows, write

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 60), eh.Categorical("channel", ("web", "phone", "shop"))),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 200})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=9000), eh.Parity("cents", by="zone", tolerance=40.0)),
    groups=(eh.Groups("zone", ("town", "land")),),
    horizon=200,
)
N = SHOP.n_features
MODELS = {
    "by action": eh.PerAction.of(SHOP),
    "logistic by action": eh.PerAction.of(SHOP, BayesianLogistic),
    "a block per action": BayesianRidge(n_features=3 * N),
}

DRAWS = eh.models.Bootstrapped(inner=BayesianRidge(n_features=3 * N))


def lived(policy, rounds=60, encoder=None):
    campaign, luck, numbers = Campaign.open(MemoryStore(), "shop", policy), np.random.default_rng(0), []
    for i in range(rounds):
        channel = ("web", "phone", "shop")[int(luck.integers(3))]
        case = {"age": int(luck.integers(20, 60)), "channel": channel, "zone": "town" if i % 3 else "land"}
        said = campaign.decide(case, key=f"{i}")
        chance = {"none": 0.1, "letter": 0.3, "call": 0.5, None: 0.0}[said.action] * (
            1.5 if channel == "phone" else 0.7
        )
        campaign.observe(said.id, {"answer": int(luck.random() < chance)})
        numbers.append(said.id)
    return campaign, numbers


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_parts_add_up_to_the_difference_of_worths(model):
    (campaign, numbers), priced = lived(eh.pgd(SHOP, model, warmup=9)), False
    for number in numbers[3::7]:
        fold, context, made = recall(campaign._worker, number)
        why = campaign.why(number).why
        net = campaign.policy.worth(fold.state, context, made)[0]
        played = made.plays[0, 0]
        best = max((a for a in range(3) if a != played), key=lambda a: net[a])
        assert (why.played, why.other) == (SHOP.actions[played], SHOP.actions[best])
        assert np.isclose(why.difference, net[played] - net[best], atol=1e-12)
        parts = sum(why.features.values()) + why.known + why.unsure + why.rest
        assert np.isclose(parts, why.difference, atol=1e-12)
        assert set(why.features) == {"", "age", "channel"}
        assert abs(why.rest) < 1e-12
        priced |= why.known != 0.0
    assert priced


def test_a_feature_that_only_one_action_heeds_is_named_with_its_sign():
    """Only a call depends on the channel, and by far the most."""
    shop = replace(SHOP, subject_to=(), groups=())
    campaign = Campaign.open(MemoryStore(), "shop", eh.resolving(shop, eh.PerAction.of(shop), warmup=150))
    rng = np.random.default_rng(2)
    for i in range(160):
        case = {"age": int(rng.integers(20, 60)), "channel": ("web", "phone")[i % 2]}
        said = campaign.decide(case, key=f"{i}")
        likes = said.action == "call" and case["channel"] == "phone"
        campaign.observe(said.id, {"answer": int(rng.random() < (0.9 if likes else 0.1))})
    last = campaign.decide({"age": 40, "channel": "phone"}, key="last")
    why = campaign.why(last.id).why
    assert why.played == "call"
    assert max(why.features, key=lambda name: abs(why.features[name])) == "channel"
    assert why.features["channel"] > 0.3
    assert abs(why.features["age"]) < 0.1


def test_models_that_cannot_say_and_features_without_names_leave_the_page_as_it_was():
    for policy in (eh.uniform(SHOP, N), eh.pgd(SHOP, DRAWS, warmup=3)):
        campaign, numbers = lived(policy, rounds=5)
        text, why, _ = campaign.why(numbers[-1])
        assert (why, text) == (None, campaign.explain(numbers[-1]))
    bare = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    campaign = Campaign.open(MemoryStore(), "bare", eh.resolving(bare, eh.PerAction.of(bare)))
    assert campaign.why(campaign.decide({}, key="1").id).why is None
    only = lived(eh.pgd(SHOP, eh.PerAction.of(SHOP)), rounds=0)[0]
    said = only.decide({"age": 33, "channel": "web", "zone": "town"}, key="1", offered=["letter"])
    assert only.why(said.id).why is None  # nothing else could be played


def test_columns_of_a_problem_file_are_named(tmp_path):
    _, file = write(tmp_path, rows(300), STATED)
    with open_campaign("memory://", "post", file) as campaign:
        for i in range(30):
            said = campaign.decide({"age": 20 + i, "town": "north"}, key=f"{i}")
            campaign.observe(said.id, {"visit": i % 2})
        why = campaign.why(said.id).why
    assert set(why.features) == {"", "age", "town"}
    total = sum(why.features.values()) + why.known + why.unsure + why.rest
    assert np.isclose(total, why.difference, atol=1e-12)


def test_the_page_shows_them_the_largest_first():
    campaign, numbers = lived(eh.pgd(SHOP, eh.PerAction.of(SHOP), warmup=9), rounds=40)
    with serving(app(campaign)) as client:
        text = client.get(f"/decisions/{numbers[-1]}/page").text
    why = campaign.why(numbers[-1]).why
    assert "What mattered" in text
    more = "more" if why.difference > 0 else "less"
    assert f"At the prices then, {why.played} was worth {abs(why.difference):.2g} {more} than {why.other}," in text
    names = ["age", "channel"] if abs(why.features["age"]) > abs(why.features["channel"]) else ["channel", "age"]
    card = text[text.index('id="mattered"') :]
    assert card.index(f">{names[0]} ") < card.index(f">{names[1]} ")


@pytest.mark.parametrize("model", [*MODELS.values(), DRAWS], ids=[*MODELS, "draws"])
def test_the_outcomes_that_were_expected_are_those_of_the_worth_without_a_bonus(model):
    """At a price of 1 on the only learned outcome, before what it costs; a model that draws says it without luck."""
    campaign, numbers = lived(eh.pgd(SHOP, model, warmup=9))
    for number in numbers[3::11]:
        fold, context, _ = recall(campaign._worker, number)
        said = campaign.why(number).expected
        worth = model.value(fold.state.model, context.features, np.ones((1, 1, 1, 1)), np.zeros((1, 0)))
        assert [said[a]["answer"] for a in SHOP.actions] == worth.mean[0, 0].tolist()
        assert {a: z["cents"] for a, z in said.items()} == {"none": 0.0, "letter": 80.0, "call": 200.0}
    assert len({z["answer"] for z in said.values()}) > 1


def test_a_policy_that_learns_nothing_expects_what_is_known():
    campaign, numbers = lived(eh.uniform(SHOP, N), rounds=5)
    assert campaign.why(numbers[-1]).expected["call"] == {"cents": 200.0}


def test_the_page_lists_the_outcomes_that_were_expected():
    campaign, numbers = lived(eh.pgd(SHOP, eh.PerAction.of(SHOP), warmup=9), rounds=40)
    with serving(app(campaign)) as client:
        text = client.get(f"/decisions/{numbers[-1]}/page").text
    said = campaign.why(numbers[-1]).expected
    card = text[text.index('id="expected"') :]
    for action in SHOP.actions:
        row = card[card.index(f">{action}<") :][:300]
        assert f">{said[action]['answer']:.4g}<" in row
        assert f">{said[action]['cents']:.4g}<" in row
