"""A campaign explains old decisions as its policy would have when it made them."""

import pytest

import evenhand as eh
from evenhand.live.stores.memory import MemoryStore
from tests.live.http_campaign import CASE, SHOP

RESOLVING = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)
PGD = eh.pgd(SHOP, eh.PerAction.of(SHOP), warmup=4)


def lived(policy, keep=0):
    """A campaign, and what the policy said of each decision just before it was made."""
    store = MemoryStore()
    campaign, told = eh.Campaign.open(store, "shop", policy), {}
    for i in range(25):
        case = CASE | {"age": 20 + i, "zone": "town" if i % 3 else "land"}
        state, context = campaign._worker.fold.state, policy.encode(case)
        wanted = policy.explain(state, context, policy.decide(state, context))
        said = campaign.decide(case, key=f"{i}")
        told[said.id] = wanted
        if i % 4:
            campaign.observe(said.id, {"answer": i % 2})
        if keep and i % keep == 0:
            campaign.snapshot()
    return campaign, store, told


@pytest.mark.parametrize("keep", [0, 7])
@pytest.mark.parametrize("policy", [RESOLVING, PGD], ids=lambda p: p.name)
def test_an_explanation_is_that_of_the_time(policy, keep):
    campaign, _, told = lived(policy, keep)
    for number, wanted in told.items():
        assert campaign.explain(number) == wanted
    assert "worth" in wanted
    assert "price of" in wanted


def test_a_revised_outcome_does_not_reach_back():
    campaign, _, told = lived(RESOLVING)
    numbers = list(told)
    campaign.observe(numbers[1], {"answer": 0}, revise=True)
    assert campaign.explain(numbers[9]) == told[numbers[9]]


@pytest.mark.parametrize("number", [0, 1, 4, 10**6, -5, "2", 2.0, None, True])
def test_only_decisions_are_explained(number):
    campaign, _, _ = lived(RESOLVING)
    with pytest.raises(eh.live.Unknown, match="no decision"):
        campaign.explain(number)


def test_a_decision_of_another_policy_is_not():
    campaign, store, told = lived(RESOLVING)
    campaign.switch(PGD)
    with pytest.raises(eh.live.Conflict, match=r"was made by policy .*, which the campaign was switched from"):
        campaign.explain(next(iter(told)))
    later = campaign.decide(CASE, key="later")
    assert "worth" in eh.Campaign.open(store, "shop", PGD).explain(later.id)
