"""What is said when a campaign is opened."""

import warnings

import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandWarning, InvalidInput, MissingFile
from evenhand.live import Busy, Conflict
from tests.live.http_campaign import SHOP

BILLED = eh.Problem(
    actions=("none", "letter"),
    outcomes=(eh.Outcome("answer"), eh.Outcome("bill", 0, 3, free=("none",), fallback=2)),
    maximize="answer",
    subject_to=(eh.Budget("bill", total=120),),
    horizon=100,
)


def opened(problem, **terms):
    return eh.Campaign.open("memory://", "shop", eh.resolving(problem, eh.PerAction.of(problem)), **terms)


def test_a_budget_that_outcomes_which_never_come_would_hold_is_warned_of():
    with pytest.warns(EvenhandWarning, match=r"^budget 'bill': a decision whose outcome never arrives holds"):
        opened(BILLED)


@pytest.mark.parametrize("terms", [{"on_expiry": "release"}, {"on_expiry": "fallback"}])
def test_what_is_given_back_is_not_warned_of(terms):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(BILLED, **terms)
        opened(SHOP)  # whose costs are known when it decides


def test_known_outcomes_that_no_decision_takes_are_refused_at_once():
    problem = eh.Problem(
        actions=("no", "yes"),
        outcomes=(eh.Outcome("won"), eh.Outcome("cost", known={"yes": 1e300})),
        maximize="won",
        horizon=9,
    )
    with pytest.raises(InvalidInput, match=r"policy: outcome cost: expected known values from -1e\+100 to 1e\+100"):
        eh.Campaign.open("memory://", "coins", eh.uniform(problem, 1))


def test_a_store_that_cannot_be_opened_says_so_and_asks_for_nothing_again(tmp_path):
    """The same words as for a request that may be repeated would send a newcomer into a loop, over a typing error."""
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    with pytest.raises(MissingFile, match=r"^store: expected a file in an existing folder, got .*none/log\.db$"):
        eh.Campaign.open(f"sqlite:///{tmp_path}/none/log.db", "one", eh.resolving(coin))
    assert not list(tmp_path.iterdir())
    with pytest.raises(Busy, match=r"(?s)refused.*; check the URL of the store, or try later$") as caught:
        eh.Campaign.open("postgresql://127.0.0.1:1/none?connect_timeout=2", "one", eh.resolving(coin))
    assert "same key" not in str(caught.value)


def test_an_outcome_out_of_its_range_is_refused_as_that_also_where_the_decision_has_another():
    with opened(SHOP) as campaign:
        decision = campaign.decide({"age": 33, "zone": "land"}, key="a")
        campaign.observe(decision.id, {"answer": 1})
        with pytest.raises(InvalidInput, match=r"^outcome 'answer': expected a finite number in \[0, 1\].*, got 7\.0$"):
            campaign.observe(decision.id, {"answer": 7})
        with pytest.raises(Conflict, match="has other outcomes: `revise` replaces them"):
            campaign.observe(decision.id, {"answer": 0})
        with pytest.raises(InvalidInput, match="nothing"):
            campaign.observe(decision.id, {"nothing": 0})
