"""Finds what pages show: blocks of Python and of TOML, and commands, in blocks and within sentences."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(ROOT.glob("examples/*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
]
BLOCK = re.compile(r"^ *```([^\n`]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
PROGRAMS = ("evenhand", "python", "python3", "make", "pip", "curl", "docker", "uv", "git", "ENV", "RUN", "(umask")


class Python(NamedTuple):
    """A block of Python, and what is shown right below it."""

    code: str
    shown: str


def python(page: Path) -> list[Python]:
    """The blocks of Python that run, in their order."""
    found = re.findall(
        r"^```(?:python|py)\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", page.read_text(encoding="utf-8"), re.S | re.M
    )
    return [Python(*block) for block in found]


def marked(page: Path) -> list[tuple[str, str]]:
    """What stands behind the three backticks of every block, and its text."""
    return [(m[1].strip(), m[2]) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands(text: str) -> Iterator[str]:
    """Commands of blocks without a language, without comments.

    >>> list(commands("```\\nevenhand value a.csv  # a log\\n0.5\\ncurl --json '{1,\\n   2}' URL\\n```"))
    ['evenhand value a.csv', "curl --json '{1, 2}' URL"]
    """
    for kind, block in ((m[1].strip(), m[2]) for m in BLOCK.finditer(text)):
        lines = iter([] if kind else block.splitlines())
        for line in lines:
            if _begins(line):
                while line.count("'") % 2:  # it goes on below
                    line += " " + next(lines)
                yield " ".join(re.sub(r"\s+#.*$", "", line).split())


def mentioned(text: str) -> Iterator[str]:
    """Commands of more than a word within sentences.

    >>> list(mentioned("`make docs` builds, as does `evenhand\\nvalue`; `make` and `x = 1` do not."))
    ['make docs', 'evenhand value']
    """
    for span in SPAN.findall(BLOCK.sub("", text)):
        command = " ".join(span.split())
        if _begins(command):
            yield command


def _begins(line: str) -> bool:
    return " " in line.strip() and line.split()[0] in PROGRAMS
