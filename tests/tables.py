"""Tables of the pages, as their commands printed them: `docs/tables/NAME.txt` has a command, and what it printed.

`python -m tests.tables NAME ...` runs the commands of tables again and stores what they print;
`python -m tests.tables NAME "COMMAND"` stores a new one. What a command writes, such as pictures, is left in
`out/tables/NAME`. tests/documents/test_tables.py compares the pages with what is stored.
"""

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import evenhand

ROOT = Path(__file__).parents[1]
STORE = ROOT / "docs" / "tables"


class Output(NamedTuple):
    """What a command printed."""

    command: str
    made: str  # when, by which version, and in which time
    printed: str


def read(path: Path) -> Output:
    first, made, _, printed = path.read_text(encoding="utf-8").split("\n", 3)
    return Output(first.removeprefix("$ "), made.removeprefix("# "), printed)


def outputs() -> dict[str, Output]:
    """All tables, by name."""
    return {path.stem: read(path) for path in sorted(STORE.glob("*.txt"))}


def lines(text: str) -> Iterator[str]:
    """Lines of tables without what only sets them: widths of columns, rules, bold numbers, and gaps of excerpts.

    >>> list(lines("a    b\\n---  -\\n1    **2**\\n\\n...\\n| 3 | 4 |\\n|---|---:|"))
    ['a b', '1 2', '| 3 | 4 |']
    """
    for line in text.splitlines():
        line = " ".join(line.replace("**", "").split())
        if re.sub(r"[-:| .]", "", line):
            yield line


def decimal(x: float, digits: int = 3) -> str:
    """A number without a zero in front.

    >>> decimal(0.9523), decimal(-0.0482, 4), decimal(1.0)
    ('.952', '-.0482', '1.000')
    """
    return re.sub(r"^(-?)0\.", r"\1.", f"{x:.{digits}f}")


def mean(x: Any, digits: int = 3) -> str:
    """The mean of some replicas, and its standard error."""
    return f"{decimal(x.mean(), digits)} ± {decimal(x.std(ddof=1) / len(x) ** 0.5, digits)}"


def mean_and_worst(x: Any) -> str:
    """The mean of some replicas, its standard error and the worst replica.

    >>> import numpy as np
    >>> mean_and_worst(np.array([0.9, 0.8]))
    '.850 ± .050 (.800)'
    """
    return f"{mean(x)} ({decimal(x.min())})"


def line(*cells: str) -> str:
    """A line of a table.

    >>> line("", "gain", "0.5")
    '| | gain | 0.5 |'
    """
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def row(*cells: str) -> None:
    """Print a line of a table."""
    print(line(*cells), flush=True)


def head(*cells: str) -> None:
    """Print the first two lines of a table."""
    row(*cells)
    print("|---" * len(cells) + "|", flush=True)


def store(name: str, command: str) -> None:
    """Run a command of a page in a folder of its own, and keep what it prints."""
    program, *words = shlex.split(command)
    folder = ROOT / "out" / "tables" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "examples").symlink_to(ROOT / "examples")
    module = ["-m", "evenhand"] if program == "evenhand" else []
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "src")))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *module, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    made = f"{date.today()}, evenhand {evenhand.__version__}, {spent:.0f} seconds of a core"
    (STORE / f"{name}.txt").write_text(f"$ {command}\n# {made}\n\n{done.stdout}", encoding="utf-8")
    print(f"{name}: {made}", flush=True)


def main(names: list[str]) -> None:
    known = outputs()
    if len(names) == 2 and " " in names[1]:
        known, names = {names[0]: Output(names[1], "", "")}, names[:1]
    for name in names:
        store(name, known[name].command)


if __name__ == "__main__":
    main(sys.argv[1:])
