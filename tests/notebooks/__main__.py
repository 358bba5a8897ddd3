"""Runs notebooks and writes what they show into them: `python -m tests.notebooks`, or with names such as `live`."""

import sys

import nbformat

from tests.notebooks.execution import NOTEBOOKS, executed

for path in NOTEBOOKS:
    if path.stem in (sys.argv[1:] or [path.stem]):
        found = executed(path)
        path.write_text(nbformat.writes(found, indent=1) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")
