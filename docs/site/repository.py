"""Files of the repository that pages link to, such as examples, as pages of the site.

A page of docs/ is also read where the repository is kept, and there a link such as `../examples/live.py` leads to the
file. In the site it leads to a page that shows the file.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import notebook_pages

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\])\((?![a-z+]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
WORDS = {".py": "python", ".toml": "toml", ".yml": "yaml"}
SHOWN = {".md", ".png", ".svg"}  # what docs/ itself brings into the site
ALWAYS = ("CONTRIBUTING.md", "CHANGELOG.md")
EXAMPLES = "repository/examples/index.md"
TOLD = re.compile(r'(?:"""|# )(.+?)(?:""")?$', re.MULTILINE)  # the first sentence of an example


def uri(path: str) -> str:
    """Where the site has a file of the repository, below docs/.

    >>> uri("docs/live.md"), uri("examples/live.py"), uri("README.md")
    ('live.md', 'repository/examples/live.py.md', 'index.md')
    """
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/") and Path(path).suffix in SHOWN:
        return path.removeprefix("docs/")
    if path.endswith(".png"):
        return f"repository/{path}"
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def links(path: str, text: str) -> set[str]:
    """The files of the repository that a page links to, by their paths from the root.

    >>> sorted(links("docs/live.md", "[a](../examples/live.py#x), `[b](c.md)` and [d](https://e.f)"))
    ['examples/live.py']
    """
    prose = "".join(CODE.split(text)[::2])
    return {_target(path, to) for to, _ in LINK.findall(prose)}


def rewritten(path: str, text: str) -> str:
    """The text of a page whose links lead to pages of the site.

    >>> rewritten("docs/design/live.md", "[a](../../examples/live.py) and [b](../live.md#start)")
    '[a](../repository/examples/live.py.md) and [b](../live.md#start)'
    """
    here = posixpath.dirname(uri(path)) or "."

    def link(match: re.Match[str]) -> str:
        return f"({posixpath.relpath(uri(_target(path, match[1])), here)}{match[2] or ''})"

    pieces = CODE.split(text)
    pieces[::2] = [LINK.sub(link, piece) for piece in pieces[::2]]
    return "".join(pieces)


def pages(sources: dict[str, str]) -> dict[str, str]:
    """The pages of all files that these pages, or pages made here, link to; `sources` are texts by paths.

    A link to what is not a file is left to MkDocs, which warns.
    """
    waiting = [*ALWAYS, *(to for path, text in sources.items() for to in links(path, text))]
    waiting += [str(file.relative_to(ROOT)) for file in [*_examples(), *(ROOT / "notebooks").glob("*.ipynb")]]
    found = {EXAMPLES: examples()}
    while waiting:
        path = waiting.pop()
        if uri(path) in found or not uri(path).startswith("repository/") or not (ROOT / path).is_file():
            continue
        text, is_page = _text(path), path.endswith((".md", ".ipynb"))
        found[uri(path)] = rewritten(path, text) if is_page else shown(path, text)
        waiting += links(path, text) if is_page else ()
    return found


def pictures() -> dict[str, bytes]:
    """The pictures of all notebooks."""
    files = sorted((ROOT / "notebooks").glob("*.ipynb"))
    return {uri(f"notebooks/{name}"): z for file in files for name, z in notebook_pages.page(file)[1].items()}


def _text(path: str) -> str:
    return notebook_pages.page(ROOT / path)[0] if path.endswith(".ipynb") else (ROOT / path).read_text(encoding="utf-8")


def examples() -> str:
    """A page that lists every example with its first sentence."""
    rows = [f"| [{z.name}]({z.name}.md) | {TOLD.match(z.read_text(encoding='utf-8'))[1]} |" for z in _examples()]
    return "\n".join(["# Examples", "", "Each runs by itself, in seconds.", "", "| | |", "|---|---|", *rows, ""])


def _examples() -> list[Path]:
    return sorted(file for file in (ROOT / "examples").iterdir() if file.suffix in WORDS)


def shown(path: str, text: str) -> str:
    """A page that shows a file.

    >>> shown("a/b.py", "x = 1\\n")
    '# a/b.py\\n\\n```python\\nx = 1\\n```\\n'
    """
    return f"# {path}\n\n```{WORDS.get(Path(path).suffix, 'text')}\n{text}```\n"


def _target(path: str, to: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), to))
