"""CSV files: lines, torn rows, and files that are none."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.replay.reading import read_csv

PLACES = {"b": "features.numeric", "a": "action.column"}


def read(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    return read_csv(path, PLACES)


def test_columns_come_by_name_with_their_lines(tmp_path):
    found = read(tmp_path, b'\xef\xbb\xbfa, b ,c\r\n1, x ,\r\n\r\n2,"y\r\nz",3\r\n4,5,6')
    assert found.text == {"b": ["x", "y\r\nz", "5"], "a": ["1", "2", "4"]}
    assert found.lines == [2, 4, 6]  # a blank line is no row; a quoted field may span lines
    assert found.torn == []


def test_torn_rows_are_counted(tmp_path):
    found = read(tmp_path, b"a,b\n1,2\n3\n4,5,6\n7,8\n")
    assert found.text == {"b": ["2", "8"], "a": ["1", "7"]}
    assert (found.lines, found.torn) == ([2, 5], [3, 4])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"log\.csv: expected a header line and rows, got an empty file"),
        (b"a,c\n1,2\n", r"features\.numeric: 'b': expected a column of log\.csv, line 1 \(a, c\), got none"),
        (b"b\n1\n", r"action\.column: 'a': expected a column of log\.csv"),
        (b"a,b,b\n1,2,3\n", r"features\.numeric: 'b': expected .*, got several of that name"),
        (b'a,b\n1,"2\n', r"log\.csv, line 2: expected a CSV file in UTF-8, got unexpected end of data"),
        (b"a,b\n1,\xff\n", r"log\.csv, line 2: expected a CSV file in UTF-8, got .*0xff"),
    ],
)
def test_one_clear_error(tmp_path, content, message):
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path, content)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"log\.csv: expected a file that can be read, got No such file"):
        read_csv(tmp_path / "log.csv", PLACES)
    with pytest.raises(InvalidInput, match="expected a file that can be read, got Is a directory"):
        read_csv(tmp_path, PLACES)
