"""What is said when a campaign is opened."""

import warnings
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandWarning, InvalidInput
from tests.live.served import SHOP

BILLED = eh.Problem(
    actions=("none", "letter"),
    outcomes=(eh.Outcome("answer"), eh.Outcome("bill", 0, 3, free=("none",))),
    maximize="answer",
    subject_to=(eh.Budget("bill", total=120),),
    horizon=100,
)


def opened(problem, **terms):
    return eh.Campaign.open("memory://", "shop", eh.resolving(problem, eh.PerAction.of(problem)), **terms)


def test_a_budget_that_outcomes_which_never_come_would_hold_is_warned_of():
    with pytest.warns(EvenhandWarning, match=r"^budget 'bill': a decision whose outcome never comes holds"):
        opened(BILLED)


@pytest.mark.parametrize("terms", [{"on_expiry": "release"}, {"on_expiry": "fallback"}])
def test_what_is_given_back_is_not_warned_of(terms):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(BILLED, **terms)
        opened(SHOP)  # whose costs are known when it decides


@pytest.mark.parametrize("store", [Path("shop.db"), None, 5])
def test_what_is_no_store_is_refused(store):
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    for call in (lambda: eh.Campaign.open(store, "x", eh.uniform(coin, 1)), lambda: eh.live.audit(store, "x", [])):
        with pytest.raises(InvalidInput, match="store: expected sqlite:///FILE"):
            call()


def test_known_outcomes_that_no_decision_takes_are_refused_at_once():
    problem = eh.Problem(
        actions=("no", "yes"),
        outcomes=(eh.Outcome("won"), eh.Outcome("cost", known={"yes": 1e300})),
        maximize="won",
        horizon=9,
    )
    with pytest.raises(InvalidInput, match=r"policy: outcome cost: expected known values from -1e\+100 to 1e\+100"):
        eh.Campaign.open("memory://", "coins", eh.uniform(problem, 1))
