"""Cases, keys and outcomes of Python that no log can have, or that are the same thing in another form."""

from collections import UserDict
from types import MappingProxyType

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80, "call": 300})),
    maximize="answer",
    horizon=100,
)
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.fixture
def shop():
    return eh.Campaign.open("memory://", "shop", eh.ucb(SHOP, eh.PerAction.of(SHOP)))


@pytest.mark.parametrize(
    ("case", "more", "field"),
    [
        ({"age": float("nan")}, {}, "case.age"),
        ({"age": 10**5000}, {}, "case.age"),
        ({"age": DEEP}, {}, "case.age"),
        ({1: 2, "age": 33}, {}, "case"),
        ({"age": 33}, {"known": {"cents": float("nan")}}, "known.cents"),
        ({"age": 33}, {"offered": [object()]}, "offered"),
        ({"age": 33}, {"offered": {1, "call"}}, "offered"),
    ],
    ids=["nan", "huge", "deep", "mixed names", "known", "offered", "mixed set"],
)
def test_what_json_does_not_have_is_named(shop, case, more, field):
    with pytest.raises(InvalidInput) as caught:
        shop.decide(case, key="1", **more)
    assert caught.value.field == field
    assert len(list(shop.events())) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_an_outcome_that_is_no_number_is_named(shop, value):
    said = shop.decide({"age": 33}, key="1")
    with pytest.raises(InvalidInput, match=r"^outcomes\.answer: expected names and finite numbers"):
        shop.observe(said.id, {"answer": value})
    assert shop.status().waiting == 1


def test_the_same_case_in_another_form_is_the_same(shop):
    said = shop.decide(MappingProxyType({"age": 33}), key="1", offered={"none", "letter", "call"})
    again = shop.decide(UserDict(age=np.int64(33)), key="1", offered=frozenset(("call", "none", "letter")))
    assert again.repeated
    assert shop.decide({"age": 33.0}, key="1", offered=["call", "letter", "none"]).id == said.id


def test_the_same_outcomes_in_another_form_are_the_same(shop):
    said = shop.decide({"age": 33}, key="1")
    assert shop.observe(said.id, {"answer": 1})
    assert not shop.observe(said.id, [{"answer": 1.0}])
    assert not shop.observe(said.id, {"answer": np.True_}, revise=True)
