"""A level is the same from files, data frames and cases, whatever its type there."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.replay import draft, read_log
from tests.replay.test_draft import table, write

PROBLEM = """horizon = "log"
maximize = "sold"
action = {{ column = "arm", values = ["0", "1"] }}
propensity = {{ constant = 0.5 }}
outcomes.sold = {{ range = [0, 1] }}
features = {{ categorical = ["shop"], missing = {{ shop = "level" }}{more} }}
"""
SHOPS, COUNT = ("121", "7", ""), 60
COLUMNS = {"texts": SHOPS, "by pandas": ("121.0", "7.0", ""), "mixed": ("121", "7.0", "")}


def logs(tmp_path):
    """The same rows as files and frames, with whole numbers as texts, integers and fractions."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    arms, sold = [0.0, 1.0] * (COUNT // 2), [0, 1, 1] * (COUNT // 3)
    for name, shops in COLUMNS.items():
        arm = arms if name == "by pandas" else map(int, arms)
        lines = list(zip((shops[i % 3] for i in range(COUNT)), arm, sold, strict=True))
        yield write(tmp_path, table(["shop", "arm", "sold"], lines), f"{name}.csv")
    whole = [int(z) if z else None for z in SHOPS] * (COUNT // 3)
    for kind in (pa.int64(), pa.float64()):
        yield (frame := pa.table({"shop": pa.array(whole, kind), "arm": arms, "sold": sold}))
        parquet.write_table(frame, file := tmp_path / f"{kind}.parquet")
        yield file


def test_whole_numbers_are_the_same_levels_in_every_log(tmp_path):
    for more in ("", ", hashed = { shop = 64 }"):
        file = write(tmp_path, PROBLEM.format(more=more), "p.toml")
        first, *others = (read_log(log, file) for log in logs(tmp_path))
        for other in others:
            assert other.encoded.coding.levels == first.encoded.coding.levels
            np.testing.assert_array_equal(other.encoded.units[:], first.encoded.units[:])
        for shop in (121, 121.0, "121", "121.0", np.int16(121), np.float32(121), Decimal(121)):
            np.testing.assert_array_equal(first.encoded.coding.row({"shop": shop}), first.encoded.units[:][0])


@pytest.mark.parametrize(
    ("levels", "value", "level"),
    [
        (("7", "121"), 121.0, "121"),
        (("7.0", "121.0"), np.int64(121), "121.0"),
        (("true", "false"), True, "true"),
        (("True", "False"), np.bool_(False), "False"),
        (("2026-11-03", "2026-11-04"), date(2026, 11, 4), "2026-11-04"),
        (("007", "7"), 7, "7"),
    ],
)
def test_a_case_states_a_level_by_any_type(levels, value, level):
    feature = eh.Categorical("x", levels)
    assert feature.encode(value) == feature.encode(level)
    assert not feature.outside(value)


@pytest.mark.parametrize("value", [8, 1.5, None, float("nan"), True, "8"])
def test_what_is_no_level_is_refused(value):
    with pytest.raises(InvalidInput, match=r"^x: expected one of"):
        eh.Categorical("x", ("7", "121")).encode(value)


def test_numbers_with_zeros_in_front_are_names(tmp_path):
    lines = [[("007", "12", "121")[i % 3], "ab"[i % 2], i % 2] for i in range(90)]
    found = draft(write(tmp_path, table(["code", "arm", "sold"], lines)))
    assert "categorical features: 'code'" in found.guessed
