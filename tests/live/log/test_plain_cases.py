"""Cases of texts and numbers need no round trip through JSON, and are what it would make of them."""

import enum
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.live.log.events import encode, read
from evenhand.live.worker.requests import in_order
from tests.rows import for_each

SHOP = eh.Problem(
    actions=("none", "letter"),
    features=(eh.Numeric("age", 20, 60), eh.Categorical("town", ("a", "b"))),
    outcomes=(eh.Outcome("answer"),),
    maximize="answer",
    horizon=50,
)


class _Town(str):
    __slots__ = ()


class _Kind(enum.IntEnum):
    ONE = 1


def _as_json(case):
    return json.loads(encode(case))


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"b": 1, "a": 0.1, "c": -0.0, "": "", "\u00e9": "\U0001f600", "t": True, "big": 2**70, "small": 5e-324},
        {"x10": 1e299, "x2": -1e299, "X": "\0", "_": False},
    ],
)
def test_a_simple_case_is_as_after_a_round_trip(case):
    found, expected = in_order(case), _as_json(case)
    assert list(found) == list(expected)
    assert [(type(z), repr(z)) for z in found.values()] == [(type(z), repr(z)) for z in expected.values()]


@for_each(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        10**5000,
        -(10**5000),
        1e301,
        None,
        [1],
        {"a": 1},
        np.float64(1.0),
        _Town("a"),
        _Kind.ONE,
        b"a",
        "a\ud83d\ude00",
        "\ud800",
    ],
    ids=lambda z: type(z).__name__,
)
def test_all_else_goes_through_json(value):
    assert in_order({"a": 1, "b": value}) is None


@pytest.mark.parametrize("case", [{1: "a"}, {_Town("a"): 1}, {"\ud83d\ude00": 1}, [("a", 1)], None, "a"])
def test_only_dictionaries_by_texts_are_simple(case):
    assert in_order(case) is None


def test_the_log_has_the_same_of_both():
    campaign = eh.Campaign.open("memory://", "shop", eh.uniform(SHOP, 6))
    simple = campaign.decide({"town": "a", "age": 30.0}, key="simple")
    other = campaign.decide({"town": _Town("a"), "age": np.float64(30.0)}, key="other")
    bodies = [read(next(campaign.store.scan("shop", reply.id - 1))) for reply in (simple, other)]
    assert list(bodies[0]["case"]) == ["age", "town"]
    assert bodies[0]["case"] == bodies[1]["case"]
    assert campaign.decide({"age": 30.0, "town": "a"}, key="other").repeated


def test_two_halves_of_a_character_are_one_as_in_the_log():
    smile, halves = "\U0001f600", "\ud83d\ude00"
    towns = (eh.Categorical("town", ("a", smile), other="a"),)
    policy = eh.resolving(replace(SHOP, features=towns), eh.PerAction.of(replace(SHOP, features=towns)))
    campaign = eh.Campaign.open("memory://", "shop", policy)
    for number in range(10):
        campaign.observe(campaign.decide({"town": halves}, key=f"{number}").id, {"answer": number % 2})
    assert campaign.decide({"town": smile}, key="9").repeated
    assert campaign.decide({"town": halves}, key="9").repeated
    assert eh.live.audit(campaign.store, "shop", [policy]).clean


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**5000], ids=["NaN", "infinite", "long"])
def test_numbers_that_json_has_not_are_refused_by_name(value):
    campaign = eh.Campaign.open("memory://", "shop", eh.uniform(SHOP, 6))
    with pytest.raises(eh.EvenhandError, match=r"case\.age"):
        campaign.decide({"town": "a", "age": value}, key="one")
    assert campaign.status().rounds == 0
