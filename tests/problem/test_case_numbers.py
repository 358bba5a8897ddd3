import math
import pickle
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from evenhand.core.errors import InvalidInput
from evenhand.problem import Categorical, Numeric
from evenhand.problem.case_numbers import Coding, items
from evenhand.problem.features import EXACT, encode

FEATURES = (
    Numeric("age", 20, 60),
    Categorical("channel", ("web", "phone", "shop")),
    Numeric("amount", -1e3, 0.5),
    Categorical("region", ("north", "south"), other="south"),
    Numeric("number", 0, EXACT - 1),
)
CODING = Coding(FEATURES, tuple(len(f.units) for f in FEATURES))
NUMBERS = st.one_of(
    st.floats(-2e3, 2e3),
    st.integers(-(10**20), 10**20),
    st.sampled_from([math.nan, math.inf, 20, 60.0, True, np.float64(0.1), np.int64(3), np.bool_(True), Decimal("2.5")]),
    st.sampled_from([10**400, np.float32(0.1), np.int8(-3), None, "20", -0.0, 0.5]),
)
LEVELS = st.sampled_from(["web", "phone", "shop", "north", "south", "fax", np.str_("phone"), None, 1.0])


def fill(coding, values):
    """The row of a case, and whether nothing counts as another value."""
    row = np.zeros(1 + sum(coding.sizes))
    row[0] = 1.0
    within = coding.fill(values, row)
    return row, within


def answer(of, *arguments):
    try:
        return of(*arguments)
    except InvalidInput as error:
        return str(error)


def is_outside(values):
    return any(f.outside(v) for f, v in zip(FEATURES, values, strict=True))


@settings(max_examples=300)
@given(st.tuples(NUMBERS, LEVELS, NUMBERS, LEVELS, st.floats(0, 1e9)))
@example((25, "shop", -0.0, "north", 7.0))
@example((25, "web", 0.5, ["north"], EXACT))
@example((25, "web", 0.5, "north", EXACT))
@example((10**17, "web", 0.5, "east", 7.0))
def test_all_at_once_is_as_one_by_one(values):
    expected = answer(encode, FEATURES, CODING.sizes, list(values))
    found = answer(fill, CODING, values)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found[0].tobytes() == expected.tobytes()
        assert not (found[1] and is_outside(values))


def test_usual_values_are_known_to_be_within_their_ranges():
    coding = Coding(FEATURES[:3], (1, 2, 1))
    assert fill(coding, (20, "web", 0.5))[1]
    assert not fill(coding, (20, "web", 0.6))[1]
    assert fill(Coding((), ()), ()) == (np.ones(1), True)
    large = Coding((Numeric("number", 0, 10 * EXACT),), (1,))
    assert not fill(large, (10 * EXACT + 1,))[1]  # which an array would take for the end


@pytest.mark.parametrize("keys", [[], ["age"], ["age", "town"]])
def test_what_reads_items_can_be_sent_to_other_processes(keys):
    sent = pickle.loads(pickle.dumps(items(keys)))
    assert sent({"age": 3, "town": "x"}) == tuple({"age": 3, "town": "x"}[key] for key in keys)


def test_a_coding_that_was_used_can_be_sent_to_other_processes():
    values = (20, "web", 0.5)
    coding = Coding(FEATURES[:3], (1, 2, 1))
    expected, within = fill(coding, values)
    found = fill(pickle.loads(pickle.dumps(coding)), values)
    assert (found[0].tobytes(), found[1]) == (expected.tobytes(), within)
