"""How commands answer: a result as text or JSON, and what is beside it, which --quiet leaves out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

_BESIDE = ("note: ", "written: ", "picture: ", "pictures were left out: ", "the picture was left out: ")


class Answer(Protocol):
    """A result that is a text, and a dictionary for programs."""

    def to_dict(self) -> Mapping[str, object]: ...


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option of JSON to the parser of a command that prints a table."""
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables, for other programs")


def answer(o: argparse.Namespace, found: Answer, text: str | None = None) -> None:
    """Print a result: as JSON on request, else as a text, by default its own."""
    if o.json:
        print(as_json(found.to_dict()))
    else:
        say(o, str(found) if text is None else text)


def say(o: argparse.Namespace, text: str) -> None:
    """Print a text where no JSON is asked for, without its notes and names of files under --quiet."""
    if not getattr(o, "json", False):
        left = [line for line in text.split("\n") if not (o.quiet and line.startswith(_BESIDE))]
        if any(left) or not text:
            print("\n".join(left))


def as_json(found: object) -> str:
    """Write a value as JSON, in which NaN and infinities are null."""
    return json.dumps(_plain(found), indent=1, ensure_ascii=False, allow_nan=False)


def silence(o: argparse.Namespace) -> AbstractContextManager[None]:
    """Show neither progress nor notes on stderr for a while, under --quiet."""
    from evenhand.core.progress import SCREEN

    return SCREEN.silent() if getattr(o, "quiet", False) else nullcontext()


def _plain(found: object) -> object:
    if isinstance(found, Mapping):
        return {str(key): _plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_plain(value) for value in found]
    return None if isinstance(found, float) and not abs(found) < float("inf") else found
