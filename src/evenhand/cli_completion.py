"""The command that prints a script by which a shell completes commands, options and their choices."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ABOUT = """\
Print a script that lets a shell complete commands, options and their choices with the tab key:

  bash   evenhand completion bash > ~/.local/share/bash-completion/completions/evenhand
  zsh    evenhand completion zsh > ~/.zfunc/_evenhand      with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  fish   evenhand completion fish > ~/.config/fish/completions/evenhand.fish

Create the folder first if it does not exist, and open a new shell afterwards. It needs evenhand[completion].
"""
SHELLS = ("bash", "zsh", "fish")


def add(parser_of: Callable[[str, str, str], argparse.ArgumentParser], whole: argparse.ArgumentParser) -> None:
    """Add the command.

    Args:
        parser_of: makes a parser of a name, a line of help and a description.
        whole: the parser of all commands, which is complete when the command runs.
    """
    completion = parser_of("completion", "a script that lets bash, zsh or fish complete commands", ABOUT)
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    completion.set_defaults(run=partial(_completion, whole=whole), parser=completion)


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
