"""Programs that run in the process of the tests, which has imported most of what they need and compiled its kernels."""

import importlib.util
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(words, monkeypatch):
    """Run what Python is given on its command line, as `-m benchmarks.plans 2000`; what it exits with must be 0."""
    module = words[0] == "-m"
    monkeypatch.setattr(sys, "argv", [*words[module:]])
    try:
        runpy.run_path(str(_file_of(words[1]) if module else ROOT / words[0]), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise


def _file_of(module):
    found = importlib.util.find_spec(module)
    if found.submodule_search_locations:
        found = importlib.util.find_spec(f"{module}.__main__")
    return Path(found.origin)
