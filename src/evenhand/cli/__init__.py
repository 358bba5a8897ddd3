"""The command line: a file for each group of commands. Heavy imports wait until a command needs them."""

from evenhand.cli.commands import build, main

__all__ = ["build", "main"]
