"""CSV files: lines, torn rows, and files that are none."""

from evenhand.replay.reading import read_csv

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
