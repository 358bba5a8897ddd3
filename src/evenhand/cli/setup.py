"""Setup commands: a first problem file, kernels compiled ahead, completion of commands in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.arguments import add_command

if TYPE_CHECKING:
    from evenhand.cli.arguments import Commands

NEW = """\
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
WARM = """\
Compile ahead. A process interprets its kernels, some five times slower, until they are compiled or found on disk.
This command makes a few decisions with the most common recipes and models (resolving, ucb, pgd, fw_dual, square_cbwk,
lin_cbwk and uniform; BayesianRidge, BayesianLogistic, Ridge and Logistic, with coefficients per action as well; hard
budgets and parity), so that later processes find their kernels compiled. Run it while an image is built:

  ENV NUMBA_CACHE_DIR=/kernels
  RUN evenhand warm && chmod -R a+rwX /kernels

Kernels are kept in the folder NUMBA_CACHE_DIR, or else beside the code of evenhand. A process finds them there only if
it may write to that folder, and on the same kind of processor. For parts of your own, make one decision and observe
one outcome while the image is built."""
COMPLETION = """\
Print a script that lets a shell complete commands, options and their choices with the tab key:

  bash   evenhand completion bash > ~/.local/share/bash-completion/completions/evenhand
  zsh    evenhand completion zsh > ~/.zfunc/_evenhand      with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  fish   evenhand completion fish > ~/.config/fish/completions/evenhand.fish

Create the folder first if it does not exist, and open a new shell afterwards. It needs evenhand[completion].
"""
SHELLS = ("bash", "zsh", "fish")


def add(commands: Commands, whole: argparse.ArgumentParser) -> None:
    """Add the commands.

    Args:
        commands: of the command line.
        whole: the parser of all commands, which is complete when a command runs.
    """
    _add_new(commands)
    _add_warm(commands)
    _add_completion(commands, whole)


def _add_new(commands: Commands) -> None:
    new = add_command(commands, "new", "five questions; writes a problem file and a script that runs", NEW, _new)
    new.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER",
                     help="the folder to write to (default: the current one)")  # fmt: skip
    for flag, text in FLAGS.items():
        new.add_argument(f"--{flag}", default=None, metavar="TEXT", help=text)
    new.add_argument("--yes", action="store_true", help="ask nothing")


def _add_warm(commands: Commands) -> None:
    warm = add_command(commands, "warm", "compile in advance, so that first decisions do not wait", WARM, _warm)
    warm.add_argument("problem", nargs="?", type=Path, default=None, metavar="PROBLEM.toml",
                      help="compile what a replay of this problem file needs, instead of the common parts")  # fmt: skip


def _add_completion(commands: Commands, whole: argparse.ArgumentParser) -> None:
    line = "a script that lets bash, zsh or fish complete commands"
    completion = add_command(commands, "completion", line, COMPLETION, partial(_completion, whole=whole))
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def _new(o: argparse.Namespace) -> int:
    from evenhand.new import read, write

    given = {flag: text for flag in FLAGS if (text := getattr(o, flag)) is not None}
    texts = given if o.yes or not sys.stdin.isatty() else _answers(given)
    problem, script = write(read(texts), o.folder)
    if o.quiet:
        return 0
    print(f"written: {problem}, {script}\n")
    print(f"run it:    python {script}")
    print(f"serve it:  evenhand serve {problem} --store sqlite:///campaign.db")
    return 0


def _answers(given: dict[str, str]) -> dict[str, str]:
    """Ask the questions that no option answers, and again after an answer that cannot be read."""
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


def _warm(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.rehearsal import of_campaign
    from evenhand.run.ahead_of_time import common, warm

    print(warm(common() if o.problem is None else of_campaign(o.problem)))
    return 0


def _completion(o: argparse.Namespace, whole: argparse.ArgumentParser) -> int:
    try:
        import shtab
    except ImportError:
        from evenhand.core.errors import MissingExtra

        raise MissingExtra("scripts for completion", "completion") from None
    for action in _actions(whole):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, o.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of a parser, and of all commands in it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
