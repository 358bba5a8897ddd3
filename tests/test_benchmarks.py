"""The benchmarks keep up with the library: each module loads, and their campaign decides."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import benchmarks
from benchmarks import live_worlds

MODULES = [found.name for found in pkgutil.iter_modules(benchmarks.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_each_module_loads(name: str) -> None:
    importlib.import_module(f"benchmarks.{name}")


def test_the_campaign_decides(tmp_path: Path) -> None:
    campaign = live_worlds.opened(tmp_path / "campaign.db")
    decision = campaign.decide(live_worlds.case(0), key="first")
    assert decision.action in live_worlds.PROBLEM.actions
