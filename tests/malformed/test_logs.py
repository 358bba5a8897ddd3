"""What cannot be asked of a log, by every command that reads one: one error that says what, and nothing is left behind.

Files are `tests.malformed.files`; here are the commands that value, draw curves, assign and draft, and their options.
"""

import random
from contextlib import suppress
from typing import NamedTuple

import pytest

from evenhand.cli import main
from evenhand.core.errors import EvenhandError
from evenhand.offline import curve, value
from tests.malformed.files import LINES, LOG, line, swap
from tests.replay.shop import PROBLEM
from tests.rows import for_each

ONE_ROW = "\n".join([*(z for z in LINES if ",B," not in z), "30,north,B,1,0.3"]).encode()
UNSTATED = swap("[propensity]\nconstant = 0.333333\n", "")
OPEN = PROBLEM.replace("constant = 0.333333", 'column = "?"')
FLOOR = PROBLEM + '\n[[floor]]\noutcome = "visit"\nrate = 0.999\n'
LIST = "age,town\n30,north\n41,south\n"


ODD = ("", "?", "nan", "inf", "-1", "1e400", '"', "'", "\0", "\n", "[", "}", "=", ",", ";", "ß", "#")


class Fault(NamedTuple):
    """A command with something wrong, and what the error says."""

    words: str  # LOG, PROBLEM, LIST and OUT stand for files
    said: str
    log: bytes = LOG
    problem: str = PROBLEM
    cases: str = LIST


VALUE, CURVE = "value LOG --problem PROBLEM --out OUT", "curve LOG --problem PROBLEM --out OUT"
ASSIGN = "assign LIST --problem PROBLEM --learn-from LOG --out OUT"
REPLAY, DRAFT = "replay LOG --problem PROBLEM --replicas 2 --bootstrap 0 --out OUT", "draft LOG --out OUT"
FAULTS = {
    "value: no log": Fault(VALUE.replace("LOG", "none.csv"), "none.csv: expected a file that can be read"),
    "value: no problem": Fault(VALUE.replace("PROBLEM", "none.toml"), "none.toml: expected a file that can be read"),
    "value: one fold": Fault(f"{VALUE} --folds 1", "folds: expected a whole number of at least 3"),
    "value: folds in words": Fault(f"{VALUE} --folds two", "argument --folds: expected a whole number"),
    "value: a seed below 0": Fault(f"{VALUE} --seed -1", "seed: expected a whole number in [0, 2**64)"),
    "value: an unknown model": Fault(f"{VALUE} --model forest", "argument --model: invalid choice: 'forest'"),
    "value: a draft with open ends": Fault(VALUE, "line 14: propensity.column: '?': expected", problem=OPEN),
    "value: a rule without an end": Fault(f"{VALUE} --rule=a", "rule: expected \"ACTION where COLUMN"),
    "value: a rule without else": Fault([*VALUE.split(), "--rule", "a where age < 3"], "else ACTION, is missing"),
    "value: an empty rule": Fault(f"{VALUE} --rule=;", "rule: expected \"ACTION where COLUMN"),
    "value: a rule with an unknown action": Fault(f"{VALUE} --rule=else_c", "rule: expected \"ACTION where"),
    "value: an action of a rule": Fault([*VALUE.split(), "--rule", "else c"], "rule: expected one of the actions"),
    "value: a column of a rule": Fault(
        [*VALUE.split(), "--rule", "a where agee < 3; else b"], "got agee (did you mean age?)",
    ),
    "value: a text for a number in a rule": Fault(
        [*VALUE.split(), "--rule", "a where age < old; else b"], "rule: expected a number to compare age with",
    ),
    "value: an order of names in a rule": Fault(
        [*VALUE.split(), "--rule", "a where town < north; else b"], "rule: expected = or != for town, which has names",
    ),
    "value: a level of a rule": Fault(
        [*VALUE.split(), "--rule", "a where town = nort; else b"], "got nort (did you mean north?)",
    ),
    "value: a condition without a sign": Fault(
        [*VALUE.split(), "--rule", "a where age; else b"], "rule: expected a condition such as recency < 4, got 'age'",
    ),
    "value: a part without a condition": Fault([*VALUE.split(), "--rule", "a; else b"], "got 'a'"),
    "value: an action with one row": Fault(
        VALUE, "at least two rows with 'b'", log=ONE_ROW,
    ),
    "value: no propensity": Fault(
        VALUE, "propensity: expected the column or the constant", problem=UNSTATED,
    ),
    "curve: budgets in words": Fault(f"{CURVE} --budgets many", "argument --budgets: expected a whole number"),
    "curve: no budgets": Fault(
        f"{CURVE} --budgets 0", "argument --budgets: expected a whole number of at least 1, got '0'",
    ),
    "curve: a budget that is nan": Fault(f"{CURVE} --at nan", "budgets[0]: expected a finite number, got nan"),
    "curve: a budget below 0": Fault(f"{CURVE} --at=-1", "budgets[0]: expected at least 0"),
    "curve: a tolerance below 0": Fault(f"{CURVE} --tolerance=-1", "tolerances[0]: expected a finite number"),
    "curve: no budget in the file": Fault(
        CURVE, "problem.toml: budget: expected a budget of all groups together, got none",
        problem=swap('[[budget]]\noutcome = "post"\nrate = 0.3\n', ""),
    ),
    "assign: no list": Fault(ASSIGN.replace("LIST", "none.csv"), "none.csv: expected a file that can be read"),
    "assign: a list without rows": Fault(ASSIGN, "at least one row, got a header alone", cases="age,town\n"),
    "assign: an empty list": Fault(ASSIGN, "a header line and rows, got an empty file", cases=""),
    "assign: a list without a column": Fault(
        ASSIGN, "problem.toml, line 6: features.numeric: 'age': expected a column of list.csv", cases="town\nnorth\n",
    ),
    "assign: a column of a list twice": Fault(
        ASSIGN, "got several of that name: rename all but one", cases="age,town,town\n30,north,north\n",
    ),
    "assign: an age in words": Fault(
        ASSIGN, "'age' is not a finite number (first in line 3: 'old')", cases="age,town\n30,north\nold,south\n",
    ),
    "assign: a town that the log has not": Fault(
        ASSIGN, "'town' is not one of the log's values (south, north) (first in line 2: 'east')",
        cases="age,town\n30,east\n",
    ),
    "assign: a torn row": Fault(
        ASSIGN, "more or fewer fields than the header (first in line 3)", cases="age,town\n30,north\n41\n",
    ),
    "assign: nothing but torn rows": Fault(
        ASSIGN, "expected at least one row, got rows with more or fewer fields", cases="age,town\n30\n",
    ),
    "assign: a column that is written": Fault(
        ASSIGN, "'probability': expected another name", cases="age,town,probability\n30,north,1\n",
    ),
    "assign: a workbook": Fault(
        f"{ASSIGN} --out list.xlsx", "out: expected a name that ends in .csv, which spreadsheets open",
        cases="age,town\n",
    ),
    "assign: a holdout of 1": Fault(f"{ASSIGN} --holdout 1", "holdout: expected a share in [0, 1), got 1"),
    "assign: a holdout that is nan": Fault(f"{ASSIGN} --holdout nan", "holdout: expected a share in [0, 1), got nan"),
    "assign: a holdout in words": Fault(f"{ASSIGN} --holdout some", "--holdout: expected a number, got 'some'"),
    "assign: a budget below 0": Fault(f"{ASSIGN} --budget=-1", "budget: expected a finite number of at least 0"),
    "assign: an infinite budget": Fault(f"{ASSIGN} --budget inf", "budget: expected a finite number of at least 0"),
    "assign: too small a budget for the holdout": Fault(
        f"{ASSIGN} --budget 0 --holdout 0.5", "which the cheapest actions and the holdout cost",
    ),
    "assign: a floor beyond reach": Fault(ASSIGN, "no plan keeps to visit per case, at least 0.999", problem=FLOOR),
    "assign: over the log": Fault(ASSIGN.replace("OUT", "LOG"), "out: expected a file other than those that are read"),
    "assign: over the problem": Fault(ASSIGN.replace("OUT", "PROBLEM"), "out: expected a file other than those"),
    "assign: no folder": Fault(ASSIGN.replace("OUT", "no/where.csv"), "out: expected a file in an existing folder"),
    "assign: a page in place of a list": Fault(ASSIGN.replace("OUT", "list.html"), "a name that does not end in .html"),
    "draft: no log": Fault(DRAFT.replace("LOG", "none.csv"), "none.csv: expected a file that can be read"),
    "draft: an empty log": Fault(DRAFT, "a header line and rows, got an empty file", log=b""),
    "draft: a header alone": Fault(DRAFT, "at least one row after the header, got none", log=b"age,town\n"),
    "draft: columns of one name": Fault(DRAFT, "got several of that name: rename", log=b"a,,\n1,,\n"),
    "draft: over the log": Fault(DRAFT.replace("OUT", "LOG"), "expected a new file"),
    "draft: no folder": Fault(DRAFT.replace("OUT", "no/where.toml"), "expected a new file in an existing folder"),
    "draft: a workbook": Fault(DRAFT, "export the sheet as CSV", log=b"PK\x03\x04" + bytes(100)),
    "draft: a quote without end": Fault(DRAFT, "log.csv, line 4", log=line(4, '30,"north,A,1,0.3')),
    "draft: an endless header": Fault(DRAFT, "log.csv, line 1: expected a CSV file", log=b"x" * 10**6 + b"\n1\n"),
    "replay: an unknown recipe": Fault(f"{REPLAY} --policy pdg", "policy: expected one of"),
    "replay: a rate in words": Fault(
        f"{REPLAY} --rates low",
        "argument --rates: expected numbers above 0 separated by commas, or FROM:TO:COUNT, got 'low'",
    ),
    "replay: a rate of 0": Fault(
        f"{REPLAY} --rates 0",
        "argument --rates: expected numbers above 0 separated by commas, or FROM:TO:COUNT, got '0'",
    ),
    "replay: no replicas": Fault(
        f"{REPLAY} --replicas 0", "argument --replicas: expected a whole number of at least 1, got '0'",
    ),
    "replay: resamples below 0": Fault(
        f"{REPLAY} --bootstrap=-1", "argument --bootstrap: expected a whole number of at least 0, got '-1'",
    ),
    "replay: no processes": Fault(
        f"{REPLAY} --jobs 0", "argument --jobs: expected a whole number of at least 1, got '0'",
    ),
}  # fmt: skip


def written(folder, fault):
    """Write the files of a fault; returns the words of the command."""
    (folder / "log.csv").write_bytes(fault.log)
    (folder / "problem.toml").write_text(fault.problem, encoding="utf-8")
    (folder / "list.csv").write_text(fault.cases, encoding="utf-8")
    names = {"LOG": "log.csv", "PROBLEM": "problem.toml", "LIST": "list.csv", "OUT": "made"}
    words = fault.words.split() if isinstance(fault.words, str) else fault.words
    return [names.get(word, word) for word in words]


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@for_each("name", FAULTS)
def test_what_cannot_be_asked_is_one_line_and_leaves_nothing(name, tmp_path, monkeypatch, capsys):
    fault = FAULTS[name]
    monkeypatch.chdir(tmp_path)
    words = written(tmp_path, fault)
    before = contents(tmp_path)
    try:
        status = main(words)
    except SystemExit as error:  # of options, whose usage is printed above the error
        status = error.code
    printed = capsys.readouterr()
    last = printed.err.strip().splitlines()[-1]
    assert (status, printed.out) == (2, "")
    assert last.startswith("evenhand")
    assert fault.said in last
    assert contents(tmp_path) == before


def mutated(luck, text):
    """The text with a few letters taken out, doubled, or put in the wrong place."""
    for _ in range(luck.choice([1, 1, 2, 4])):
        at = luck.randrange(len(text) + 1)
        kind = luck.randrange(4)
        if kind == 0:
            odd = luck.choice(ODD)
            text = text[:at] + odd + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + luck.randrange(1, 30) :]
        elif kind == 2:
            text = text[:at] + text[at : at + luck.randrange(40)] + text[at:]
        else:
            lines = text.splitlines(keepends=True) or [""]
            luck.shuffle(lines)
            text = "".join(lines)
    return text


def read_or_refused(which, seed, tmp_path):
    """Whatever becomes of a file: either there are values, or an error of evenhand's own."""
    luck = random.Random(seed)
    (tmp_path / "log.csv").write_bytes(LOG)
    (tmp_path / "problem.toml").write_text(PROBLEM, encoding="utf-8")
    text = mutated(luck, (tmp_path / which).read_text(encoding="utf-8"))
    (tmp_path / which).write_bytes(text.encode(luck.choice(["utf-8", "utf-16", "cp1252"]), "replace"))
    for ask in (value, curve):
        with suppress(EvenhandError):
            assert ask(tmp_path / "log.csv", tmp_path / "problem.toml").summary()


@pytest.mark.parametrize("which", ["log.csv", "problem.toml"])
@for_each("seed", range(40))
def test_what_is_mangled_is_read_or_refused(which, seed, tmp_path):
    read_or_refused(which, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["log.csv", "problem.toml"])
@for_each("seed", range(40, 280), parts=2)
def test_what_is_mangled_hundreds_of_times_is_read_or_refused(which, seed, tmp_path):
    read_or_refused(which, seed, tmp_path)
