"""Columns in few bytes are the columns, to the bit."""

import numpy as np
import pytest

from evenhand.logs.columns import Names, Packed

COLUMNS = {
    "whole": (np.array([0.0, -128.0, 127.0]), 1),
    "larger": (np.array([0.0, 128.0, -32768.0]), 2),
    "halves": (np.array([0.5, -0.25, np.inf]), 4),
    "missing": (np.array([1.0, np.nan, 2.0]), 4),
    "a negative zero": (np.array([0.0, -0.0, 1.0]), 4),
    "large and whole": (np.array([40_000.0, 2.0**24, 1.0]), 4),
    "any": (np.array([0.1, 1e300, 5e-324]), 8),
    "late": (np.append(np.zeros(5000), 0.1), 8),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_are_held_in_the_fewest_bytes_that_give_them_back(name):
    values, each = COLUMNS[name]
    packed = Packed({name: values})
    assert packed[name].dtype == np.float64
    assert packed[name].tobytes() == values.tobytes()
    assert packed.size == each * len(values)


@pytest.mark.parametrize(("levels", "each"), [(1, 1), (256, 1), (257, 2)])
def test_texts_are_held_once(levels, each):
    texts = [f"level {i}" for i in range(levels)] * 2
    packed = Packed({"of": Names.of(texts)})
    assert packed["of"].tolist() == texts
    assert packed.size == each * len(texts)


def test_columns_keep_their_order_and_are_no_views():
    many = np.arange(12.0).reshape(4, 3) / 7
    packed = Packed({"b": many[:, 1], "a": Names.of(["x"] * 4)})
    assert (list(packed), len(packed), "c" in packed) == (["b", "a"], 2, False)
    expected, many[:] = many[:, 1].tolist(), 0.0
    assert packed["b"].tolist() == expected
    packed["b"][:] = 1.0
    assert packed["b"].tolist() == expected
