"""Problem files and logs that cannot be used, as (content, field, phrase), and logs that are read all the same."""

import gzip

from tests.replay.shop import HEADER, PROBLEM, rows

ROWS = rows(60)
LINES = [",".join(line) for line in [HEADER, *ROWS]]
LOG = "\n".join(LINES).encode()
DID = "did you mean"
AT = "problem.toml, line "


def swap(old, new):
    assert old in PROBLEM
    return PROBLEM.replace(old, new, 1)


def line(n, text):
    """The log with another line n, counted from 1."""
    return "\n".join([*LINES[: n - 1], text, *LINES[n:]]).encode()


def column(i, value):
    return "\n".join([LINES[0], *(",".join([*r[:i], value, *r[i + 1 :]]) for r in ROWS)]).encode()


def joined(delimiter):
    return "\n".join(delimiter.join(r) for r in [HEADER, *ROWS])


PROBLEM_FILES = {
    "no end of a text": (swap('"visit"', '"visit'), "problem.toml, line 2", "a TOML file"),
    "a colon": (swap("horizon = 300", "horizon: 300"), "problem.toml, line 3", "a TOML file"),
    "a decimal comma": (swap("0.3\n", "0,3\n"), "problem.toml, line 24", "a decimal point here, such as 0.3"),
    "a text without quotes": (swap('"visit"', "visit"), "problem.toml, line 2", "texts stand in quotes"),
    "an umlaut without quotes": (
        swap("[outcomes.visit]", "[outcomes.Käufe]"), "problem.toml, line 16", 'such as "größer"',
    ),
    "a name of two words without quotes": (
        swap("values = { ", "values = { no letter = 1, "), "problem.toml, line 11", "names with spaces",
    ),
    "a list without end": (PROBLEM + "x = [1,", "problem.toml, line 34", "a TOML file"),
    "a key twice": (swap("horizon = 300", "horizon = 300\nhorizon = 30"), "problem.toml, line 4", "once, got horizon"),
    "a section twice": (PROBLEM + "\n[policy]\nwarmup = 3", "problem.toml, line 35", "a TOML file"),
    "an endless number": (swap("300", "9" * 5000), "problem.toml", "a TOML file"),
    "a nest of lists": (PROBLEM + "x = " + "[" * 5000, "problem.toml", "nested too deeply"),
    "a large number": (swap("300", "9" * 40), "problem.toml, line 3: Problem.horizon", "at most"),
    "an empty file": ("", "problem.toml: ", "got nothing"),
    "a key misspelt": (swap("horizon", "horizn"), "problem.toml, line 3: horizn", f"({DID} horizon?)"),
    "a section misspelt": (swap("[features]", "[feature]"), "problem.toml, line 5: feature", f"({DID} features?)"),
    "a list of sections misspelt": (swap("[[budget]]", "[[budgte]]"), "problem.toml, line 22", f"({DID} budget?)"),
    "a key of a section misspelt": (swap("rate", "rat"), "problem.toml, line 24: budget[0].rat", f"({DID} rate?)"),
    "a key of the second misspelt": (
        PROBLEM.replace("tolerance", "tolerence"), "problem.toml, line 29: parity[0].tolerence", f"({DID} tolerance?)",
    ),
    "features misspelt": (swap("numeric", "numerc"), "problem.toml, line 6: features.numerc", f"({DID} numeric?)"),
    "a range misspelt": (swap("range", "rang"), "problem.toml, line 17: outcomes.visit.rang", f"({DID} range?)"),
    "an argument misspelt": (swap("warmup", "wramup"), "problem.toml, line 33: policy.wramup", f"({DID} warmup?)"),
    "a recipe misspelt": (
        PROBLEM + 'name = "resolvng"', "problem.toml, line 34: policy.name", f"({DID} resolving?)",
    ),
    "a model misspelt": (PROBLEM + 'model = "rigde"', "problem.toml, line 34: policy.model", f"({DID} ridge?)"),
    "an objective misspelt": (swap('"visit"', '"vist"'), "problem.toml, line 2: maximize", f"({DID} visit?)"),
    "a budget misspelt": (
        swap('outcome = "post"\nrate', 'outcome = "psot"\nrate'), "problem.toml, line 23: Budget", f"({DID} post?)",
    ),
    "a holdout at the top level": (
        PROBLEM + "\n[holdout]\nshare = 0.1", "problem.toml, line 35: holdout", "write holdout = ... under [policy]",
    ),
    "a unit that is a feature": (
        PROBLEM + '\n[unit]\nname = "age"\nsticky = 3', "problem.toml, line 36: unit.name",
        "a column that is no feature",
    ),
    "two aims": (
        swap("maximize =", 'minimize = "post"\nmaximize ='), "problem.toml, line 2: minimize", "either maximize or",
    ),
    "what to minimise misspelt": (
        swap("maximize =", "minimze ="), "problem.toml, line 2: minimze", f"({DID} minimize?)",
    ),
    "an action misspelt": (swap("{ a = 1, b = 1 }", "{ a = 1, bb = 1 }"), "problem.toml, line 20", f"({DID} b?)"),
    "no horizon": (swap("horizon = 300\n", ""), "problem.toml: horizon", "a whole number, a list of two"),
    "no outcome of a budget": (
        swap('outcome = "post"\nrate', "rate"), "problem.toml, line 22: budget[0].outcome", "got nothing",
    ),
    "a horizon as text": (swap("300", '"300"'), "problem.toml, line 3: horizon", "a whole number"),
    "a horizon below 1": (swap("300", "0"), "problem.toml, line 3: horizon", "at least 1"),
    "a rate as text": (swap("0.3\n", '"0.3"\n'), "problem.toml, line 24: budget[0].rate", "number"),
    "a rate that is nan": (swap("0.3\n", "nan\n"), "problem.toml, line 24: budget[0].rate", "number"),
    "a rate below 0": (swap("0.3\n", "-0.3\n"), "problem.toml, line 24: budget[0]: Budget('post').rate", "above 0"),
    "a step as a list": (swap("step = 0.01", "step = [1]"), "problem.toml, line 32: policy.step", "a finite number"),
    "a budget that is no list": (swap("[[budget]]", "[budget]"), "problem.toml, line 22: budget", "[[budget]]"),
    "features as a list": (swap("[features]", "[[features]]"), "problem.toml, line 5: features", "a table"),
    "a number for columns": (swap('["age"]', "3"), "problem.toml, line 6: features.numeric", "a list of different"),
    "columns twice": (swap('["age"]', '["age", "age"]'), "problem.toml, line 6: features.numeric", "different texts"),
    "a range upside down": (swap("[0, 1]", "[1, 0]"), "problem.toml, line 17: outcomes.visit.range", "low < high"),
    "a chance above 1": (swap("0.333333", "1.5"), "problem.toml, line 14: propensity.constant", "(0, 1]"),
    "a chance of 0": (swap("0.333333", "0"), "problem.toml, line 14: propensity.constant", "(0, 1]"),
    "too small a budget": (
        swap('values = { "" = "none", "A" = "a", "B" = "b" }', 'values = { "A" = "a", "B" = "b" }'),
        "problem.toml: no mixture", "relax one of them",
    ),
    "bytes": (bytes(range(256)), "problem.toml, line", "not UTF-8"),
    "zeros": (b"\0" * 100, "problem.toml, line 1", "a TOML file"),
    "Latin-1": (PROBLEM.replace("town", "stra\xdfe").encode("latin-1"), "problem.toml, line 7", "save the file as"),
    "UTF-16": (PROBLEM.encode("utf-16"), "problem.toml", "text in UTF-16: save it as UTF-8"),
    "a workbook": (b"PK\x03\x04" + bytes(100), "problem.toml", "an Excel workbook"),
    "a large file": ("x = 1\n" + "# nothing\n" * 13_000, "problem.toml, line 1: x", "got an unknown key"),
    "a huge file": ("x = 1\n" + "# nothing\n" * 13_107, "problem.toml", "at most 131,072 bytes, got 131,076"),
    "a name of dots": (f"{'a.' * 2000}b = 1", "problem.toml, line 1", "a name of at most 8 parts"),
    "a name of quotes": (PROBLEM + "[" + " . ".join(["'a'"] * 40) + "]", "problem.toml, line 34", "8 parts"),
    "a log": (LOG, "problem.toml, line 1", "a TOML file"),
}  # fmt: skip

LOGS = {
    "an empty file": (b"", "log.csv", "got an empty file"),
    "an empty first line": (b"\n" + LOG, "log.csv", "an empty first line"),
    "a line for spreadsheets": (b"sep=,\n" + LOG, "log.csv, line 1", "spreadsheets read: delete this line"),
    "nothing but a header": (LINES[0].encode(), "log.csv", "at least one row after the header"),
    "bytes": (bytes(range(256)), "log.csv, line", "not UTF-8"),
    "a zero in a town": (line(5, "30,nor\0th,A,1,0.3"), "log.csv, line 5: 'town'", "NUL"),
    "zeros": (bytes(1000), AT + "10: action.column: 'letter'", "none of that name"),
    "a workbook": (b"PK\x03\x04" + bytes(100), "log.csv", "export the sheet as CSV"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(100), "log.csv", "export the sheet as CSV"),
    "Parquet that is cut off": (b"PAR1" + bytes(100), "log.csv", "a complete Parquet file"),
    "half an xz file": (b"\xfd7zXZ\0", "log.csv", "a complete xz file"),
    "a byte that is no UTF-8 among letters that are": (
        LOG.replace(b"north", "nörth".encode()) + b"\n30,s\xfcd,A,1,0.3", "log.csv, line 62", "byte 0xfc",
    ),
    "half a gzip file": (gzip.compress(LOG)[:200], "log.csv", "a complete gzip file"),
    "a gzip file of bytes": (gzip.compress(bytes(range(256))), "log.csv, line", "not UTF-8"),
    "a broken gzip file": (b"\x1f\x8b" + bytes(50), "log.csv", "a complete gzip file"),
    "a column misspelt": (line(1, "agee,town,letter,visit,p"), AT + "6: features.numeric: 'age'", f"({DID} agee?)"),
    "a capital": (line(1, "age,Town,letter,visit,p"), "groups.town: 'town'", f"({DID} Town?)"),
    "another header": (line(1, "a,b,c,d,e"), AT + "10: action.column: 'letter'", "a column of log.csv, line 1"),
    "no header": (LOG.partition(b"\n")[2], AT + "10: action.column: 'letter'", "none of that name"),
    "a column twice": (
        line(1, "age,town,letter,visit,visit"), AT + "16: outcomes.visit: 'visit'", "several of that name",
    ),
    "an endless header": (line(1, "x" * 10**6), "log.csv, line 1", "field limit"),
    "a long header": (
        line(1, ",".join("x" * 1000 for _ in range(99))), AT + "10: action.column: 'letter'", "of that name",
    ),
    "an age in words": (column(0, "old"), "log.csv", "first in line 2: 'old'"),
    "one age in words": (line(7, "old,north,A,1,0.3"), "log.csv", "'age' is not a finite number (first in line 7"),
    "ages with a comma": (joined(";").replace(".", ",").encode(), "log.csv", "points are read, not decimal commas"),
    "an infinite age": (column(0, "inf"), "log.csv", "first in line 2: 'inf'"),
    "no town": (column(1, ""), "log.csv", "'town' is not a value (first in line 2"),
    "an unknown action": (column(2, "Z"), "log.csv", "one of the declared actions"),
    "one unknown action": (line(5, "30,north,Z,1,0.3"), "log.csv", "first in line 5: 'Z'"),
    "an action that never occurs": (LOG.replace(b",B,", b",A,"), AT + "11: action.values", "no row with 'b'"),
    "a visit in words": (column(3, "yes"), "log.csv", "values = { yes = 1 } in its table) (first in line 2: 'yes')"),
    "a visit above 1": (column(3, "2"), "log.csv", "a number in [0, 1] (first in line 2: '2')"),
    "a visit that is NaN": (column(3, "nan"), "log.csv", "a number in [0, 1] (first in line 2: 'nan')"),
    "ragged rows": (line(4, "30,north,A"), "log.csv", "more or fewer fields than the header (first in line 4)"),
    "a quote without end": (line(4, '30,"north,A,1,0.3'), "log.csv, line 4", "unexpected end of data"),
    "a quote too many": (line(4, '30,"no"rth,A,1,0.3'), "log.csv, line 4", "expected after"),
    "an endless cell": (line(4, "30," + "x" * 200_000 + ",A,1,0.3"), "log.csv, line 4", "field limit"),
    "a hundred towns and more": (
        "\n".join([LINES[0], *(f"{i},t{i},{'AB'[i % 2] if i % 3 else ''},1,0.3" for i in range(300))]).encode(),
        AT + "7: features.categorical: 'town'", "at most 100",
    ),
    "a chance of 0": (column(4, "0"), "log.csv", "'p' is not a number in (0, 1] (first in line 2: '0')"),
    "a chance above 1": (column(4, "1.2"), "log.csv", "'p' is not a number in (0, 1]"),
    "a chance that is NaN": (column(4, "nan"), "log.csv", "'p' is not a number in (0, 1]"),
    "a chance in words": (column(4, "third"), "log.csv", "'p' is not a number in (0, 1]"),
    "a chance above 100 percent": (column(4, "130%"), "log.csv", "'p' is not a number in (0, 1]"),
}  # fmt: skip
BY_COLUMN = swap("constant = 0.333333", 'column = "p"')  # where the log has the chances

MARK = b"\xef\xbb\xbf"
TAKEN = {  # the same log, written in other ways, and what is said of them
    "gzip": (gzip.compress(LOG), "compressed by gzip"),
    "a byte-order mark": (MARK + LOG, "UTF-8 with a byte-order mark"),
    "gzip with a byte-order mark": (
        gzip.compress(MARK + LOG), "compressed by gzip, UTF-8 with a byte-order mark",
    ),
    "semicolons": (joined(";").encode(), "fields separated by semicolons"),
    "tabs": (joined("\t").encode(), "fields separated by tabs"),
    "bars": (joined("|").encode(), "fields separated by bars"),
    "gzip with semicolons": (
        gzip.compress(joined(";").encode()), "compressed by gzip, fields separated by semicolons",
    ),
    "UTF-16": (LOG.decode().encode("utf-16"), "text in UTF-16"),
    "UTF-16, the other end first": (b"\xfe\xff" + LOG.decode().encode("utf-16-be"), "text in UTF-16"),
    "lines of Windows": (joined(",").replace("\n", "\r\n").encode(), ""),
    "quotes": (
        "\n".join(";".join(f'"{z}"' for z in r) for r in [HEADER, *ROWS]).encode(), "fields separated by semicolons",
    ),
}  # fmt: skip
