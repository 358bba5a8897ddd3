"""A run of tests fails where a folder takes more CPU time than it may."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.budgets import SECONDS, Budgets

ROOT = Path(__file__).parents[1]
CONFIG = SimpleNamespace(getoption=lambda _: True, rootpath=ROOT)


def spend(budgets, path, marked=False):
    """Let a test of a folder take some hundredths of a second."""
    item = SimpleNamespace(path=ROOT / path, get_closest_marker=lambda _: "there" if marked else None)
    running = budgets.pytest_runtest_protocol(item)
    next(running)
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    with pytest.raises(StopIteration):
        running.send(True)


def ended(budgets):
    session = SimpleNamespace(config=CONFIG, exitstatus=pytest.ExitCode.OK)
    budgets.pytest_sessionfinish(session)
    return session.exitstatus


def test_a_folder_that_takes_more_than_it_may_fails_the_run():
    budgets = Budgets(CONFIG, {"goals": 10, "tests": 0})
    spend(budgets, "tests/goals/test_dual.py")
    assert (list(budgets.taken), budgets.over(), ended(budgets)) == (["goals"], [], pytest.ExitCode.OK)
    spend(budgets, "tests/test_layers.py")
    assert budgets.over() == ["tests of tests took 0 CPU s, of 0"]
    assert ended(budgets) == pytest.ExitCode.TESTS_FAILED


def test_tests_that_only_a_check_runs_are_not_counted():
    budgets = Budgets(CONFIG, {})
    spend(budgets, "tests/goals/test_dual.py", marked=True)
    assert not budgets.taken


def test_seconds_of_workers_are_added():
    worker, all_of_them = Budgets(CONFIG, {}), Budgets(CONFIG, {"src": 5})
    worker.taken["src"] = 2.0
    config = SimpleNamespace(workeroutput={})
    worker.pytest_sessionfinish(SimpleNamespace(config=config))
    for _ in range(2):
        all_of_them.pytest_testnodedown(config)
    assert all_of_them.taken["src"] == 4.0
    assert ended(all_of_them) == pytest.ExitCode.OK


def test_every_folder_has_a_budget():
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders <= set(SECONDS)
