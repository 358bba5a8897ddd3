"""The schema for editors takes the files that the reader takes, and refuses what it refuses by kind or name."""

from pathlib import Path

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.logs import toml
from evenhand.logs.keys import Key, keys
from evenhand.logs.problem_file import parse
from evenhand.logs.schema import schema
from tests.malformed.files import PROBLEM_FILES
from tests.replay import shop
from tests.replay.test_factors import PROBLEM as PRICED
from tests.rows import for_each

checker = pytest.importorskip("jsonschema_rs", reason="needs jsonschema-rs, which schemathesis brings")
ROOT = Path(__file__).parents[2]

GOOD = {
    "the e-mails": (ROOT / "examples" / "email.toml").read_text(encoding="utf-8"),
    "the shop": shop.PROBLEM,
    "prices": PRICED,
    "a range": shop.PROBLEM.replace("horizon = 300", "horizon = [200, 400]"),
    "the log": shop.PROBLEM.replace("horizon = 300", 'horizon = "log"'),
    "less": shop.PROBLEM.replace('maximize = "visit"', "minimize = { visit = 1 }"),
    "ranges of dates": shop.PROBLEM.replace(
        'numeric = ["age"]', 'dates = ["age"]\nranges = { age = ["2020-01-01", "2021-01-01"] }'
    ),
    "a model": shop.PROBLEM.replace("[policy]", '[policy]\nmodel = { name = "ridge", width = 0.2 }'),
    "gaps": shop.PROBLEM.replace("[action]", '[features.missing]\nage = "indicator"\n[action]'),
}
GOOD["form"] = shop.PROBLEM + "\n[log]\nseparator = ';'\ndecimal = ','\nmissing = ['', 'NA']\n"
# What only the reader knows: names that other parts of the file state, and numbers that only together are wrong.
BEYOND = {
    "a large number", "an action misspelt", "two budgets of one outcome", "too small a budget", "a horizon below 1",
    "a rate below 0", "a budget misspelt", "an objective misspelt", "a range upside down", "an empty file",
    "a unit that is a feature",
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_what_the_reader_takes(name):
    assert parse(GOOD[name], "problem.toml")
    assert checker.validator_for(schema()).is_valid(toml.parse(GOOD[name], "a file"))


def parsed(text):
    try:
        return toml.parse(text if isinstance(text, str) else text.decode(), "a file")
    except (ValueError, EvenhandError):
        return None


WRONG = [name for name in PROBLEM_FILES if name not in BEYOND and parsed(PROBLEM_FILES[name][0]) is not None]


@for_each("name", WRONG)
def test_what_the_reader_refuses(name):
    text = PROBLEM_FILES[name][0]
    with pytest.raises(EvenhandError):
        parse(text, "problem.toml")
    assert not checker.validator_for(schema()).is_valid(parsed(text))


def paths(within, before=""):
    for key in within:
        yield f"{before}{key.name}", key
        yield from paths(key.within, f"{before}{key.name}.")


def test_every_key_is_described_in_a_sentence():
    for path, key in paths(keys()):
        assert isinstance(key, Key)
        assert key.about.endswith("."), path
