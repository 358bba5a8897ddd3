"""The CPU seconds that the tests of each folder may take, and a count of those that they took.

Wall time depends on what else a machine does, and CPU time on how fast it is: budgets are some two and a half times
what an idle one took, or half more than a fresh clone, which compiles all kernels. So a test that compiles much is
seen. Tests that only `make check` runs are not counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SECONDS = {
    "choices": 20, "cli": 40, "contracts": 190, "core": 20, "documents": 20, "environments": 40, "examples": 1,
    "experiments": 30, "goals": 60, "live": 250, "malformed": 20, "models": 65, "new": 15, "newcomers": 1,
    "notebooks": 1, "numerics": 20, "objectives": 35, "offline": 220, "optima": 1, "packages": 1, "planning": 25,
    "policy": 140, "problem": 25, "recipes": 40, "replay": 120, "report": 15, "run": 40, "sets": 25, "src": 25,
    "tests": 10, "welfare": 20,
}  # fmt: skip
MARK = "slow"  # of tests that only `make check` runs


def seconds() -> float:
    """The CPU seconds that this process has taken, and those processes that it has waited for."""
    return sum(os.times()[:4])


class Budgets:
    """Counts seconds by folder, in all workers of xdist, and fails a run that takes more.

    Args:
        config: of pytest; it enforces budgets with `--budgets`.
        budgets: the seconds by folder.
    """

    def __init__(self, config: pytest.Config, budgets: dict[str, int]) -> None:
        self._budgets, self.taken = budgets, Counter[str]()
        self._enforced, self._root = config.getoption("--budgets"), config.rootpath

    def folder(self, path: Path) -> str:
        """The folder of a test: `tests` for those that are in no other one."""
        first, *rest = path.relative_to(self._root).parts
        return rest[0] if first == "tests" and len(rest) > 1 else first

    def over(self) -> list[str]:
        """What takes more than it may, in words."""
        found = ((name, took, self._budgets.get(name, 0)) for name, took in sorted(self.taken.items()))
        return [f"tests of {name} took {took:.0f} CPU s, of {most}" for name, took, most in found if took > most]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = seconds()
        found = yield
        if item.get_closest_marker(MARK) is None:
            self.taken[self.folder(item.path)] += seconds() - before
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.taken.update(getattr(node, "workeroutput", {}).get("seconds", {}))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["seconds"] = dict(self.taken)
        elif self._enforced and self.over() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._enforced:
            told = (f"{name} {took:.0f}" for name, took in self.taken.most_common())
            terminalreporter.write_line(f"CPU s: {self.taken.total():.0f} of tests; {', '.join(told)}")
            for line in self.over():
                terminalreporter.write_line(f"OVER BUDGET: {line}", red=True)
