"""Tables of described actions."""

import numpy as np
import pandas as pd
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.problem import Actions, Categorical, Numeric, Outcome, Problem

FEATURES = Numeric("price", 0, 4), Categorical("maker", ("x", "y"))
ROWS = {"a": {"price": 1.0, "maker": "x"}, "b": {"price": 4.0, "maker": "y"}}


def test_a_mapping_a_list_and_a_frame_of_the_same_rows_are_the_same_table():
    listed = [{"action": name, **row} for name, row in ROWS.items()]
    tables = [Actions(rows, FEATURES) for rows in (ROWS, listed, pd.DataFrame(listed))]
    assert tables[0] == tables[1] == tables[2]
    assert tables[2].column("price") == {"a": 1.0, "b": 4.0}
    assert type(tables[2].column("price")["a"]) is float
    np.testing.assert_array_equal(tables[2].profiles, [[1.0, -0.5, 0.0, 0.25, 0.0], [1.0, 1.0, 1.0, 0.0, 0.25]])


def test_an_appended_row_leaves_the_profiles_of_others_as_they_are():
    table = Actions(ROWS, FEATURES)
    more = table.append("c", {"price": 2.0, "maker": "x"})
    np.testing.assert_array_equal(more.profiles[:2, :5], table.profiles)
    np.testing.assert_array_equal(more.profiles[:, 5], [0.0, 0.0, 0.25])
    with pytest.raises(InvalidInput, match=r"name: expected one that is none of \('a', 'b'\)"):
        table.append("a", {})


@pytest.mark.parametrize(
    ("rows", "features", "own", "message"),
    [
        ({}, FEATURES, 0.5, "Actions.rows: expected at least one action"),
        ("ab", FEATURES, 0.5, "Actions.rows: expected a mapping from actions to rows"),
        ([{"name": "a"}], FEATURES, 0.5, r"Actions.rows\[0\].action: expected the name of an action"),
        ([{"action": "a"}] * 2, FEATURES, 0.5, "Actions.rows: expected names that differ"),
        ({"a": 3}, FEATURES, 0.5, r"Actions.rows\[0\]: expected a mapping from columns"),
        ({"a": {"prise": 3}}, FEATURES, 0.5, r"Actions.rows: 'a': expected a value of 'price', got .*did you mean"),
        ({"a": {"price": "dear", "maker": "x"}}, FEATURES, 0.5, "Actions.rows: 'a': price: expected a finite number"),
        ({"a": {"price": 1, "maker": "z"}}, FEATURES, 0.5, "Actions.rows: 'a': maker: expected one of"),
        (ROWS, (), 0.5, "Actions.features: expected at least one"),
        (ROWS, ("price",), 0.5, "Actions.features: expected Numeric or Categorical"),
        (ROWS, FEATURES[:1] * 2, 0.5, "Actions.features: expected columns that differ"),
        (ROWS, FEATURES, 0.0, "Actions.own: expected a finite number above 0"),
    ],
)
def test_a_table_that_says_nothing_clear_is_refused_by_its_field(rows, features, own, message):
    with pytest.raises(InvalidInput, match=message):
        Actions(rows, features, own)


def test_a_problem_needs_a_row_of_each_action_in_order():
    with pytest.raises(InvalidInput, match=r"described: expected a row of each of \('b', 'a'\), in order"):
        Problem(
            actions=("b", "a"), outcomes=(Outcome("y"),), maximize="y", horizon=9, described=Actions(ROWS, FEATURES)
        )


def test_described_actions_and_hashed_features_are_refused_in_one_problem():
    actions, features = Actions(ROWS, FEATURES), (Categorical("site", hashed=64),)
    with pytest.raises(InvalidInput, match=r"features: expected none that is hashed where actions are described"):
        Problem(
            actions=("a", "b"),
            features=features,
            outcomes=(Outcome("y"),),
            maximize="y",
            horizon=9,
            described=actions,
        )


def test_columns_of_actions_are_not_hashed():
    with pytest.raises(InvalidInput, match=r"Actions.features: expected Numeric or Categorical columns, got "):
        Actions(ROWS, (Categorical("maker", hashed=64),))
