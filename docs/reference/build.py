"""Build the API reference, HTML pages made of docstrings: `python docs/reference/build.py FOLDER`.

pdoc makes the pages. Our docstrings are plain text with backticks, in Google's sections, whereas pdoc reads Markdown:
`prose` keeps `<`, `*` and `[` as they are written. The front page lists every public name with its first sentence.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import typing
from pathlib import Path

import pdoc
import pdoc.doc
import pdoc.render

import evenhand
import evenhand.core.types

PAGES = evenhand.PLACES  # in this order

EXAMPLE = re.compile(r"^ *>>> (?:.|\n(?! *\n| *$))*", re.MULTILINE)
LABEL = re.compile(r"^( *)(Equation|Source|Deviations?): ", re.MULTILINE)
NOTHING = re.compile("Create new instance of|Alias for field number")  # what Python writes for named tuples
WORD = re.compile(r"<code>([\w.]+)</code>(?!</a>)|<strong>(\w+):</strong>")
CODE = re.compile(r"(`[^`]+`)")
EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")
MARKS = re.compile(r"[<>*~\[\\]")


def prose(text: str) -> str:
    """Markdown that shows a docstring as it is written.

    Examples and code between backticks stay; in the rest, characters that Markdown would read as marks are escaped,
    except in `*emphasis*`. Equations, sources and deviations become paragraphs of their own.

    >>> prose("Source: f*(x) <y.")
    '\\n**Source:** f&#42;(x) &#60;y.'
    """
    done, at = [], 0
    for example in EXAMPLE.finditer(text):
        done += [_sentences(text[at : example.start()]), example.group()]
        at = example.end()
    return "".join([*done, _sentences(text[at:])])


def _sentences(text: str) -> str:
    pieces = CODE.split(text)
    pieces[::2] = [_escaped(piece) for piece in pieces[::2]]
    return LABEL.sub(r"\n\1**\2:** ", "".join(pieces))


def _escaped(text: str) -> str:
    kept = EMPHASIS.sub("\0\\1\0", text)  # a mark that no docstring holds
    return MARKS.sub(lambda mark: f"&#{ord(mark.group())};", kept).replace("\0", "*")


def summary(text: str) -> str:
    """The first sentence, or the first paragraph where it has no full stop.

    >>> summary("Rows, e.g. costs.\\n\\nMore.")
    'Rows, e.g. costs.'
    """
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.]\w\w[\w`)])\. (?=[A-Z`])", paragraph)[0]
    return sentence if not sentence or sentence[-1] in ".?!" else f"{sentence}."


def name_arrays() -> None:
    """Let signatures say `Floats` instead of writing out what that is. Call it before any other module is imported."""
    for name in ("Floats", "Ints", "Bools"):
        setattr(evenhand.core.types, name, type(name, (), {"__module__": "builtins"}))


def page(name: str) -> pdoc.doc.Module:
    """The documentation of a module, where every docstring is Markdown."""
    module = pdoc.doc.Module(importlib.import_module(name))
    for member in module.flattened_own_members:
        if isinstance(member, pdoc.doc.Class):
            _complete(member, module)
        vars(member)["decorators"] = []  # `@dataclass` and `@named` say nothing that the page does not
        put(member, prose(member.docstring) + _origin(member.obj))
    put(module, prose(module.docstring))
    return module


def put(thing: pdoc.doc.Doc, docstring: str) -> None:
    """Replace the docstring, which pdoc keeps as a cached property."""
    vars(thing)["docstring"] = docstring


def _origin(obj: object) -> str:
    mark = getattr(obj, "__named__", None)
    return f"\n\n**Source:** {_escaped(mark[1])}." if isinstance(mark, tuple) else ""


def _complete(described: pdoc.doc.Class, module: pdoc.doc.Module) -> None:
    """Show what pdoc leaves out: types of named tuples' arguments, what is inherited, and comments beside fields."""
    cls = described.obj
    if issubclass(cls, tuple):
        cls.__new__.__annotations__.update(typing.get_type_hints(cls))
    contracts = {(c.__module__, c.__qualname__) for c in cls.__mro__ if getattr(c, "_is_protocol", False)}
    inherited, own = {}, list(described.own_members)
    for (home, name), members in described.inherited_members.items():
        base = module.get(name)
        here = base is not None and base.taken_from[0] == home  # the page documents the base under its own name
        if not here and (home, name) in contracts:  # such as `Wraps`, which has no place on the page
            own += members
        else:
            inherited[module.modulename if here else home, name] = members
    vars(described)["inherited_members"], vars(described)["own_members"] = inherited, own
    source = inspect.getsource(cls)
    for member in described.own_members:
        comment = re.search(rf"^    {member.name}: .*?  # (.*)", source, re.MULTILINE)
        if comment and not comment.group(1).startswith("type: "):
            put(member, prose(comment.group(1)))
        else:
            put(member, "" if NOTHING.match(member.docstring) else prose(member.docstring))


def front(pages: dict[str, pdoc.doc.Module]) -> pdoc.doc.Module:
    """The first page: every public name of every package, with its first sentence."""
    module = pdoc.doc.Module(evenhand)
    vars(module)["members"], vars(module)["submodules"] = {}, list(pages.values())
    parts = [prose(module.docstring)]
    for name, described in pages.items():
        rows = [_row(name, member) for member in described.members.values()]
        parts.append(f"## {name}\n\n{summary(described.docstring)}\n\n" + "\n".join(rows))
    put(module, "\n\n".join(parts))
    return module


def _row(home: str, member: pdoc.doc.Doc) -> str:
    link = f"[`{member.name}`]({home.replace('.', '/')}.html#{member.name})"
    return f"- {link}: {summary(member.docstring)}"


def targets() -> dict[str, str]:
    """The page and anchor of every public name, also as `goals.Fenchel`; of names that occur twice, the first."""
    found: dict[str, str] = {}
    for home in PAGES:
        for name in importlib.import_module(f"evenhand.{home}").__all__:
            for written in (name, f"{home}.{name}"):
                found.setdefault(written, f"evenhand/{home.replace('.', '/')}.html#{name}")
    return found


def linked(html: str, found: dict[str, str], up: str) -> str:
    """Link public names of other pages, which pdoc does only for names with their whole path."""

    def link(match: re.Match[str]) -> str:
        to = found.get(match.group(1) or match.group(2))
        return f'<a href="{up}{to}">{match.group()}</a>' if to else match.group()

    return WORD.sub(link, html)


def build(folder: Path) -> None:
    """Write the reference."""
    name_arrays()
    pages = {f"evenhand.{name}": page(f"evenhand.{name}") for name in PAGES}
    modules, found = {"evenhand": front(pages), **pages}, targets()
    pdoc.render.configure(
        docformat="google", show_source=False, search=False, footer_text=f"evenhand {evenhand.__version__}"
    )
    for name, module in modules.items():
        file = folder / f"{name.replace('.', '/')}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        html = pdoc.render.html_module(module, modules)
        file.write_text(linked(html, found, "../" * name.count(".")), encoding="utf-8")
    (folder / "index.html").write_text(pdoc.render.html_index(modules), encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
