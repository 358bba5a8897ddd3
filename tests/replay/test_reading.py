"""CSV files: lines, torn rows, and files that are none."""

import csv
import io

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.logs.columns import as_number
from evenhand.logs.reading import GrowingNames, GrowingNumbers, parts, read_csv
from tests.rows import for_each

PLACES = {"b": "features.numeric", "a": "action.column"}


def read(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    return read_csv(path, PLACES)


def texts(found):
    return {name: found.names(name).texts() for name in found.each}


def test_columns_come_by_name_with_their_lines(tmp_path):
    found = read(tmp_path, b'\xef\xbb\xbfa, b ,c\r\n1, x ,\r\n\r\n2,"y\r\nz",3\r\n4,5,6')
    assert texts(found) == {"b": ["x", "y\r\nz", "5"], "a": ["1", "2", "4"]}
    assert found.lines.tolist() == [2, 4, 6]  # a blank line is no row; a quoted field may span lines
    assert found.torn == []


def test_torn_rows_are_counted(tmp_path):
    found = read(tmp_path, b"a,b\n1,2\n3\n4,5,6\n7,8\n")
    assert texts(found) == {"b": ["2", "8"], "a": ["1", "7"]}
    assert (found.lines.tolist(), found.torn) == ([2, 5], [3, 4])


def plainly(text, fields):
    """Row by row: rows with their lines, and the lines of torn rows."""
    reader, line, rows, torn = csv.reader(io.StringIO(text, newline=""), strict=True), 1, [], []
    for row in reader:
        if len(row) == fields:
            rows.append((row, line))
        elif row:
            torn.append(line)
        line = reader.line_num + 1
    return rows, torn


@for_each("seed", range(20))
def test_parts_of_any_size_have_the_rows_and_lines_of_a_plain_reader(seed):
    luck = np.random.default_rng(seed)
    made = ["1,2", "", '"a\nb",c', '"a\r\nb\rc",', "x", "1,2,3", '"q""\n\n",z']
    text = "".join(made[i] + str(luck.choice(["\n", "\r\n"])) for i in luck.integers(0, len(made), 60))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found = list(parts("log.csv", reader, 2, None, at_once=int(luck.integers(1, 20))))
    rows = [z for part in found for z in zip(part.rows, part.lines.tolist(), strict=True)]
    assert (rows, [line for part in found for line in part.torn]) == plainly(text, 2)


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_an_error_names_the_line_at_which_its_row_begins(at_once):
    reader = csv.reader(io.StringIO('1,2\n"a\nb",2\n3,"4\n5,6\n', newline=""), strict=True)
    with pytest.raises(InvalidInput, match=r"log.csv, line 4: expected a CSV file"):
        list(parts("log.csv", reader, 2, None, at_once=at_once))


@pytest.mark.parametrize("most", [1, 3, 4, 100])
def test_no_more_rows_are_read_than_asked_for(most):
    reader = csv.reader(io.StringIO("1\n2\n\n4\n", newline=""), strict=True)
    found = [row for part in parts("log.csv", reader, 1, most, at_once=2) for (row,) in part.rows]
    assert found == [row for row in ["1", "2", "", "4"][:most] if row]


@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_that_grow_by_parts_are_those_of_every_text(decimal):
    texts = ["1", " 2 ", "1_0", "", "1.5", "1,5", "x", "1e3", "nan", "-7", "inf", "\u0661", "€ 4", "5 %"] * 3
    grown, names = GrowingNumbers(decimal), GrowingNames()
    for some in (texts[:1], texts[1:2], texts[2:9], texts[9:]):
        grown.extend(some)
        names.extend(some)
    found = grown.column()
    assert np.array_equal(found.numbers(), [as_number(text.strip(), decimal) for text in texts], equal_nan=True)
    assert [found.text(i) for i in (1, 3, 6)] == ["2", "", "x"]
    assert names.column().texts() == [text.strip() for text in texts]
