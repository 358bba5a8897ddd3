"""How a docstring becomes Markdown, and what griffe, which reads the source for the reference, leaves out.

Our docstrings are plain text with backticks, in Google's sections, whereas mkdocstrings reads Markdown: `prose` keeps
`<`, `*` and `[` as they are written.
"""

from __future__ import annotations

import ast
import re

import griffe

EXAMPLE = re.compile(r"^( *)>>> (?:.|\n(?! *\n| *$))*", re.MULTILINE)
LABEL = re.compile(r"^( *)(Equation|Guarantee|Source|Deviations?): ", re.MULTILINE)
CODE = re.compile(r"(`[^`]+`)")
EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")
MARKS = re.compile(r"[<>*~\[\\]|(?<!\w)_")
COMMENT = re.compile(r"  # (?!type: )(.*)")
KEPT = "\0"  # stands for the marks of emphasis; no docstring holds it


def prose(text: str) -> str:
    """Markdown that shows a docstring as it is written.

    Examples become blocks of code, and code between backticks stays; in the rest, characters that Markdown would read
    as marks are escaped, except in `*emphasis*`. Equations, guarantees, sources and deviations become paragraphs.

    >>> prose("Source: f*(x) <y.")
    '\\n**Source:** f&#42;(x) &#60;y.'
    """
    done, at = [], 0
    for example in EXAMPLE.finditer(text):
        indent = example.group(1)
        done += [_sentences(text[at : example.start()]), f"\n{indent}```pycon\n{example.group()}\n{indent}```\n"]
        at = example.end()
    return "".join([*done, _sentences(text[at:])])


def escaped(text: str) -> str:
    """Text without a character that Markdown would read as a mark, except for `*emphasis*`."""
    kept = EMPHASIS.sub(f"{KEPT}\\1{KEPT}", text)
    return MARKS.sub(lambda mark: f"&#{ord(mark.group())};", kept).replace(KEPT, "*")


def summary(text: str) -> str:
    """The first sentence, or the first paragraph where it has no full stop.

    >>> summary("Rows, e.g. costs.\\n\\nMore.")
    'Rows, e.g. costs.'
    """
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.]\w\w[\w`)])\. (?=[A-Z`])", paragraph)[0]
    return sentence if not sentence or sentence[-1] in ".?!" else f"{sentence}."


def _sentences(text: str) -> str:
    pieces = CODE.split(text)
    pieces[::2] = [escaped(piece) for piece in pieces[::2]]
    return LABEL.sub(r"\n\1**\2:** ", "".join(pieces))


class Docstrings(griffe.Extension):
    """Makes every docstring of a package Markdown, and adds sources, comments beside fields and named tuples."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """Treat every object of a package once, after it was read."""
        self._complete(pkg)

    def _complete(self, thing: griffe.Module | griffe.Class) -> None:
        for member in thing.members.values():
            if member.is_alias:
                continue
            if member.docstring:
                member.docstring.value = prose(member.docstring.value)
            if member.is_class:
                _list_arguments(member)
            if member.is_class or member.is_function:
                _add_source(member)
                _check_arguments(member)
            if member.is_class:
                _show_fields(member)
            if member.is_class or member.is_module:
                self._complete(member)


def _check_arguments(thing: griffe.Class | griffe.Function) -> None:
    """Warn of arguments that the signature lacks; griffe itself does not know that `low, high:` names two."""
    sections = thing.docstring.parse("google", warnings=False) if thing.docstring else []
    told = [entry for section in sections if section.kind.value == "parameters" for entry in section.value]
    known = {parameter.name for parameter in thing.parameters} | set(thing.members)  # an error states its fields
    for name in (name for entry in told for name in entry.name.split(", ")):
        if name.lstrip("*") not in known:
            griffe.logger.warning("%s: argument %s is not in the signature", thing.path, name)


def _add_source(thing: griffe.Class | griffe.Function) -> None:
    """Say which publication a named algorithm comes from."""
    for decorator in thing.decorators:
        call = ast.parse(str(decorator.value), mode="eval").body
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "named" and thing.docstring:
            source = {word.arg: word.value for word in call.keywords}["source"]
            thing.docstring.value += f"\n\n**Source:** {escaped(ast.literal_eval(source))}."


def _list_arguments(described: griffe.Class) -> None:
    """Give a class that Python makes by `__new__` its signature; a named tuple has one of its fields."""
    rest = griffe.ParameterKind.positional_or_keyword
    if any(str(base).endswith("NamedTuple") for base in described.bases):
        parameters = [
            griffe.Parameter(field.name, annotation=field.annotation, kind=rest, default=field.value)
            for field in described.attributes.values()
            if field.annotation is not None
        ]
        parameters.insert(0, griffe.Parameter("self", kind=rest))
    elif "__new__" in described.members:
        parameters = list(described.members["__new__"].parameters)
    else:
        return
    described.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(*parameters)))


def _show_fields(described: griffe.Class) -> None:
    """Show the comments beside fields, and leave out fields and special methods of which nothing is said."""
    for name, member in list(described.members.items()):
        if member.is_attribute and not member.docstring and member.lineno:
            comment = COMMENT.search(member.lines[0])
            if comment:
                member.docstring = griffe.Docstring(comment.group(1), parent=member)
        told = member.docstring and name != "__post_init__"
        if not told and name != "__init__" and (member.is_attribute or name.startswith("__")):
            described.del_member(name)
