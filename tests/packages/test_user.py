"""The script of a user has every name; `.ci/packages` runs it, and has type checkers read it, elsewhere."""

import re
from pathlib import Path

import evenhand as eh

SCRIPT = (Path(__file__).parent / "user.py").read_text(encoding="utf-8")


def test_the_script_uses_every_name():
    used = set(re.findall(r"\beh\.(\w+)", SCRIPT))
    assert {name for names in eh.NAMES.values() for name in names} - used == set()


def test_the_package_says_that_it_has_types():
    assert (Path(eh.__file__).parent / "py.typed").is_file()
