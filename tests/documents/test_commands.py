"""Every command of every page runs in CI: here, in a test that is named, or in a step of CI; else it says why not.

tests/documents/test_links.py checks that commands, options and targets of make are there, also of parts of commands.
"""

import contextlib
import inspect
import io
import re
import shlex
from collections import defaultdict

import pytest

from evenhand.cli import build, main
from evenhand.experiments.concave_convex import study as concave_convex
from evenhand.experiments.square_cbwk import study as square_cbwk
from evenhand.run import opt
from tests import programs
from tests.documents import folders
from tests.documents.command_list import ELSEWHERE, IN_CI, NOT_RUN, RUN
from tests.documents.pages import PAGES, ROOT, commands, mentioned
from tests.documents.scenes import SCENES, UNSEEN

LISTED = [*RUN, *ELSEWHERE, *IN_CI, *NOT_RUN, *(line for lines in SCENES.values() for line in lines)]
SAMPLE = 300  # the contexts of which optima are computed here
PLACEHOLDER = re.compile(r"[A-Z]+(\.toml|\.csv)?|.*\.\.\.")  # what a reader replaces, as in `evenhand audit STORE`


def parsed(command):
    """Whether the command line takes a command."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            build().parse_args(shlex.split(command)[1:])
        except SystemExit:
            return False
    return True


def whole(command):
    """Whether what a sentence names can be run as it stands, and is no part of a command nor has placeholders.

    >>> [whole(f"evenhand {z}") for z in ("demo", "audit", "audit STORE", "systems NAME", "audit a.db --head 1:9f...")]
    [True, False, False, False, False]
    """
    if command.split()[0] != "evenhand":
        return True
    return parsed(command) and not any(PLACEHOLDER.fullmatch(word) for word in shlex.split(command))


def shown():
    """Pages by command."""
    found = defaultdict(list)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for command in (*commands(text), *filter(whole, mentioned(text))):
            found[command].append(str(page.relative_to(ROOT)))
    return found


def test_every_command_is_listed():
    unlisted = {command: pages for command, pages in shown().items() if command not in LISTED}
    assert unlisted == {}


def test_every_command_that_is_listed_is_on_a_page():
    found = shown()
    assert [command for command in LISTED if command not in found and command not in UNSEEN] == []


def test_every_command_is_listed_in_one_way():
    ways = [RUN, ELSEWHERE, IN_CI, NOT_RUN, {line for lines in SCENES.values() for line in lines}]
    assert sum(map(len, ways)) == len(set(LISTED))


def test_a_new_command_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("`evenhand value new.csv --problem a.toml`\n\n```\nevenhand audit STORE\npython new.py\n```\n")
    monkeypatch.setattr("tests.documents.test_commands.PAGES", [page])
    monkeypatch.setattr("tests.documents.test_commands.ROOT", tmp_path)
    assert list(shown()) == ["evenhand audit STORE", "python new.py", "evenhand value new.csv --problem a.toml"]


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_tests_that_run_commands_are_there(test):
    file, name = test.split("::")
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_steps_of_ci_are_there():
    steps = "".join((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "packages"))
    assert [step for step in IN_CI.values() if f"\n{step}" not in steps] == []


def test_make_runs_what_is_run_here_without_it():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^demo: .*\n\t\$\(BIN\)/evenhand demo --out out/demo$", text, re.MULTILINE)
    assert re.search(r"^bench-peers: .*\n\t.* -m benchmarks\.peers$", text, re.MULTILINE)


def taken(command):
    """What is run for a command of a page."""
    stated = RUN[command]
    return stated if stated.split(" ")[0] in ("evenhand", "python") else f"{command} {stated}".strip()


@pytest.mark.slow
@pytest.mark.parametrize("command", list(dict.fromkeys(map(taken, RUN))))
def test_a_command_runs(command, tmp_path, monkeypatch, capsys):
    folders.fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(inspect.unwrap(opt).__kwdefaults__, "contexts", SAMPLE)
    monkeypatch.setattr(concave_convex, "CONTEXTS", SAMPLE)
    monkeypatch.setattr(square_cbwk, "POINTS", (square_cbwk.Point(5, 3, 80),))
    program, *words = shlex.split(command)
    if program == "evenhand":
        assert main(words) in (0, None)
        return
    programs.run(words, monkeypatch)
    assert capsys.readouterr().out
