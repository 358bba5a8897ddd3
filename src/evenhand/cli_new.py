"""The command that asks five questions, and writes a problem file and a script that runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ABOUT = """\
Answer five questions about your problem, and get a commented problem file and a script that runs it with simulated
answers. Press return to take the answer that is shown. Without a terminal, or with --yes, nothing is asked: the options
are the answers, and an example stands in for every missing option.

  evenhand new shop
  evenhand new shop --decide "nothing, letter" --known "age 18 to 90" --limit "letters 300: letter 1" --cases 1000
"""
FLAGS = {
    "decide": 'what can be decided, such as "nothing, letter, call"',
    "known": 'what is known about a case, such as "age 18 to 90, town north/south"',
    "maximize": 'what is to be maximised, such as "answer", or "sales 0 to 100"',
    "limit": 'what is limited, such as "cents 50000: letter 80, call 300"',
    "cases": 'how many cases, such as "1000", or "until 2099-03-31, 200 a day"',
}


def add(parser_of: Callable[[str, str, str], argparse.ArgumentParser]) -> None:
    """Add the command; `parser_of` makes a parser of a name, a line of help and a description."""
    new = parser_of("new", "five questions; writes a problem file and a script that runs", ABOUT)
    new.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER",
                     help="the folder to write to (default: the current one)")  # fmt: skip
    for flag, text in FLAGS.items():
        new.add_argument(f"--{flag}", default=None, metavar="TEXT", help=text)
    new.add_argument("--yes", action="store_true", help="ask nothing")
    new.set_defaults(run=_new, parser=new)


def _new(o: argparse.Namespace) -> int:
    from evenhand.new import read, write

    given = {flag: text for flag in FLAGS if (text := getattr(o, flag)) is not None}
    texts = given if o.yes or not sys.stdin.isatty() else _asked(given)
    problem, script = write(read(texts), o.folder)
    print(f"written: {problem}, {script}\n")
    print(f"run it:    python {script}")
    print(f"serve it:  evenhand serve {problem} --store sqlite:///campaign.db")
    return 0


def _asked(given: dict[str, str]) -> dict[str, str]:
    """Ask what no option answers, again where an answer cannot be read."""
    from evenhand.core.errors import InvalidInput
    from evenhand.new import QUESTIONS, example, read

    found = dict(given)
    for i, question in enumerate(QUESTIONS, 1):
        while question.flag not in found:
            usual = example(question, found)
            print(f"{i}. {question.asks}\n   {question.form}")
            try:
                text = input(f"   [{usual}] ").strip() or usual
            except EOFError:
                raise InvalidInput(question.flag, "an answer", "the end of the input") from None
            try:
                read(found | {question.flag: text})
            except InvalidInput as error:
                if error.field == question.flag:
                    print(f"   {error}")
                    continue
            found[question.flag] = text
    return found
