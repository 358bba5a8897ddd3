"""Logs and keys about them that cannot be used, as (problem, log, place, phrase), and options of `evenhand draft`.

The place names the file with the line where there is one, and the key or the column. A log of None is the usual one.
"""

import gzip

from tests.malformed.files import AT, DID, LINES, LOG, ROWS, joined, line, swap
from tests.replay.shop import PROBLEM


def log_(text):
    """The problem with a table [log], in line 5."""
    return swap("[features]", f"[log]\n{text}\n\n[features]")


def more(text):
    """The problem with more features, in line 6 on."""
    return swap("[features]\n", f"[features]\n{text}\n")


def column(i, value, where=lambda n: True):
    """The log with another value in a column of some lines."""
    changed = [[*r[:i], value, *r[i + 1 :]] if where(n) else r for n, r in enumerate(ROWS)]
    return "\n".join([LINES[0], *map(",".join, changed)]).encode()


TABLE = "write a CSV file, or pass a data frame"
HORIZON = swap("horizon = 300", 'horizon = "log"')
WORDS = swap("range = [0, 1]", "values = { yes = 1, no = 0 }")
DATES = swap('numeric = ["age"]', 'dates = ["age"]')
CASES = {
    # how the log is written
    "an encoding that is none": (log_('encoding = "utf-99"'), None, AT + "6: log.encoding", "the name of an"),
    "an encoding of bytes": (log_('encoding = "hex"'), None, AT + "6: log.encoding", "the name of an enc"),
    "an encoding that does not fit": (log_('encoding = "ascii"'), column(1, "Köln"), "log.csv, line 2", "not ascii"),
    "UTF-8 that is stated and is not": (
        log_('encoding = "utf-8"'), line(3, "30,K\xf6ln,A,1,0.3").decode().encode("latin-1"), "log.csv, line 3",
        "not UTF-8",
    ),
    "a separator of two": (log_('separator = "::"'), None, AT + "6: log.separator", "one character"),
    "a separator of quotes": (log_("separator = '\"'"), None, AT + "6: log.separator", "one character"),
    "an empty separator": (log_('separator = ""'), None, AT + "6: log.separator", "a text, got ''"),
    "the wrong separator": (
        log_('separator = ";"'), None, AT + "13: action.column: 'letter'", "a column of log.csv, line 1",
    ),
    "one sign for fields and fractions": (
        log_('separator = ","\ndecimal = ","'), None, AT + "6: log.separator", "a character other than that",
    ),
    "a decimal sign": (log_('decimal = "_"'), None, AT + "6: log.decimal", "one of ., ,"),
    "decimal points where commas are stated": (
        log_('decimal = ","'), joined(";").encode(), "log.csv", "'age' is not a finite number (first in line 2: ",
    ),
    "missing texts as one": (log_('missing = "NA"'), None, AT + "6: log.missing", "a list of texts"),
    "missing texts that are numbers": (log_("missing = [0]"), None, AT + "6: log.missing", "a list of texts"),
    "an unknown key of the log": (log_('seperator = ";"'), None, AT + "6: log.seperator", f"{DID} separator?"),
    "a log that is a text": (swap("horizon", 'log = "log.csv"\nhorizon'), None, AT + "3: log", "a table, got"),
    "gzip within gzip": (PROBLEM, gzip.compress(gzip.compress(LOG)), "log.csv, line 1", "not UTF-8"),
    "a text in UTF-16 that is cut off": (PROBLEM, LOG.decode().encode("utf-16")[:-1], "log.csv, line", "not utf-16"),
    "UTF-16 without a mark": (
        PROBLEM, LOG.decode().encode("utf-16-le"), "log.csv", "text in UTF-16 without its mark: save it as UTF-8",
    ),
    "UTF-16 without a mark, the other end first": (
        PROBLEM, LOG.decode().encode("utf-16-be"), "log.csv", "text in UTF-16 without its mark: save it as UTF-8",
    ),
    "broken lines of JSON": (PROBLEM, b'{"age":41,"letter":"A"}\n{"age":', "log.csv", "an object of JSON in each"),
    "JSON": (PROBLEM, b'[\n {"age": 41, "letter": "A"}]', "log.csv", f"JSON: {TABLE}, such as of pandas.read_json"),
    "compressed lines of JSON without a column": (
        PROBLEM, gzip.compress(b'{"age":41}\n'), AT + "10: action.column: 'letter'", "a column of log.csv (age)",
    ),
    "a log of Vowpal Wabbit without a column": (
        PROBLEM, b"1:-1:0.8 | age:33 town=north\n", AT + "10: action.column: 'letter'", "a column of log.csv",
    ),
    "slots as a text of Vowpal Wabbit": (
        PROBLEM, b"ccb shared |User id=u1\nccb action |Action topic=ski\nccb slot 0:1:0.5 |S a\n\n", "log.csv",
        f"a text of Vowpal Wabbit that is no log of a bandit, such as of lines 2:-1:0.5 | age:33: {TABLE}",
    ),
    "one of a regression": (PROBLEM, b"1 2.5 'tag|f a b:2\n", "log.csv", "Vowpal Wabbit"),
    "half a feather file": (PROBLEM, b"ARROW1\0\0" + bytes(100), "log.csv", "a complete Feather file, or a folder"),
    "Windows-1252 with a byte that it lacks": (
        PROBLEM, line(9, "30,K\xf6ln\x81,A,1,0.3").decode().encode("latin-1"), "log.csv, line 9",
        "byte 0xf6, which is not UTF",
    ),
    "a NUL in a number": (PROBLEM, line(6, "3\0,north,A,1,0.3"), "log.csv, line 6: 'age'", "the character NUL"),
    # missing values
    "a treatment of no column": (more('missing = "drop"'), None, AT + "6: features.missing", "a table, got"),
    "a treatment that is none": (
        more('missing = { age = "zero" }'), None, AT + "6: features.missing.age", "one of indicator, level, dr",
    ),
    "a treatment of a column that is no feature": (
        more('missing = { visit = "drop" }'), None, AT + "6: features.missing.visit", "one of age, town",
    ),
    "a level of numbers": (
        more('missing = { age = "level" }'), None, AT + "6: features.missing.age", "one of indicator, drop",
    ),
    "an indicator of names": (
        more('missing = { town = "indicator" }'), None, AT + "6: features.missing.town", "one of level, drop",
    ),
    "ages in words where they may be missing": (
        more('missing = { age = "indicator" }'), column(0, "old"), "log.csv",
        "'age' is not a finite number (first in line 2",
    ),
    "no age at all": (
        more('missing = { age = "indicator" }'), column(0, ""), AT + "7: features.numeric: 'age'", "got none",
    ),
    "all rows dropped": (
        more('missing = { age = "drop" }'), column(0, ""), "log.csv", "0 of 60; 60 rows: no 'age', dropped",
    ),
    "many rows without a town": (
        PROBLEM, column(1, "", lambda n: n % 3 == 0), "log.csv",
        "20 of 60; 20 rows: 'town' is not a value (first in line 2",
    ),
    "a town that is missing and stated": (
        more('levels = { town = ["north", "south"] }'), column(1, "", lambda n: n == 4), "log.csv",
        "'town' is not one of the levels (north, south) (first in line 6: '')",
    ),
    # dates and words
    "a date that is none": (DATES, None, "log.csv", "'age' is not a date, such as 2026-11-23 or 23.11.2026 (first in"),
    "a day that does not exist": (DATES, column(0, "2026-02-30"), "log.csv", "(first in line 2: '2026-02-30')"),
    "dates that are numbers as well": (
        swap('numeric = ["age"]', 'numeric = ["age"]\ndates = ["age"]'), None, AT + "5: features", "both for 'age'",
    ),
    "a range of dates upside down": (
        DATES.replace("[action]", 'ranges = { age = ["2026-02-01", "2025-01-01"] }\n[action]'), None,
        AT + "9: features.ranges.age", "[low, high] with low < high",
    ),
    "a range of words": (
        more('ranges = { age = ["young", "old"] }'), None, AT + "6: features.ranges.age", "low < high",
    ),
    "words that have no number": (
        WORDS, column(3, "perhaps"), "log.csv", "'visit' is not one of 'yes', 'no' (first in line 2",
    ),
    "a number beyond the range for a word": (
        WORDS.replace("yes = 1", "yes = 7"), None, AT + "17: outcomes.visit.values.yes", "in [0, 1], the range",
    ),
    "a word for a word": (
        WORDS.replace("yes = 1", 'yes = "1"'), None, AT + "17: outcomes.visit.values", "a table of finite num",
    ),
    "words of what is known": (
        swap("known = { a = 1, b = 1 }", "known = { a = 1, b = 1 }\nvalues = { yes = 1 }"), None,
        AT + "21: outcomes.post.values", "expected one of the keys known, column",
    ),
    # aims and ends
    "two aims": (swap("horizon", 'minimise = "post"\nhorizon'), None, AT + "3: minimise", "either maximize or"),
    "an unknown outcome to minimise": (
        swap('maximize = "visit"', 'minimize = "vist"'), None, AT + "2: minimize", f"{DID} visit?",
    ),
    "a number to minimise": (swap('maximize = "visit"', "minimize = 3"), None, AT + "2: minimize", "a text, or a"),
    "an end in words": (swap("300", '"soon"'), None, AT + "3: horizon", 'a list of two, or "log"'),
    "an end of a list of three": (swap("300", "[1, 2, 3]"), None, AT + "3: horizon", "a list of two"),
    "the end of a log, and a date": (
        HORIZON.replace("horizon", 'since = "2026-11-01"\nuntil = "2026-12-01"\nhorizon'), None, AT + "5: horizon",
        "as until or traffic state",
    ),
    "a log that lasts for no round": (
        HORIZON.replace("constant = 0.333333", "constant = 0.01"), None, AT + "3: horizon", "lasts for a round",
    ),
}  # fmt: skip

DRAFTS = {
    "no log": ([], "LOG", "required"),
    "a log that is not there": (
        ["{folder}/none.csv"], "none.csv", "expected a file that can be read, got No such file",
    ),
    "an empty log": (["{folder}/empty.csv"], "empty.csv", "a header line and rows, got an empty file"),
    "a header alone": (["{folder}/header.csv"], "header.csv", "at least one row after the header, got none"),
    "a workbook": (["{folder}/book.xlsx"], "book.xlsx", "an Excel workbook"),
    "an empty folder": (["{folder}/folder"], "folder", "got a folder without files"),
    "a column twice": (["{folder}/twice.csv"], "the header: 'a'", "several of that name"),
    "a file that is there": (["{folder}/log.csv", "--out", "{folder}/log.csv"], "log.csv", "File exists"),
    "a folder that is not there": (["{folder}/log.csv", "--out", "{folder}/no/p.toml"], "p.toml", "No such file"),
    "a log and the schema": (["{folder}/log.csv", "--schema"], "--schema", "not allowed with"),
    "an option misspelt": (["{folder}/log.csv", "--otu", "x"], "--otu", f"{DID} --out?"),
}  # fmt: skip
FILES = {
    "log.csv": LOG,
    "empty.csv": b"",
    "header.csv": LINES[0].encode(),
    "book.xlsx": b"PK\x03\x04" + bytes(100),
    "twice.csv": b"a,b,a\n1,2,3\n",
}
