"""Arguments shared by several commands: a store, a campaign, a log, and who asks and why."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.examples import EXAMPLES

if TYPE_CHECKING:
    from evenhand.logs.log import Source

    Commands = argparse._SubParsersAction[Any]

AFTER = """\
what follows the horizon: "nothing" is played, decisions are refused ("stop"), or "go on" with what is left of the
budgets"""
OF_LOG = "that the policy learned from (default: what the store keeps of it)"
FLAGS = {"1": True, "0": False, "true": True, "false": False}  # what a variable says of an option without a value
_PREFIX, _WIDE = "EVENHAND_", 118
_OF_TESTS = "EVENHAND_DATA"  # the folder of the data that tests need
_DEFAULTS = "Variables of the environment are defaults of options, such as EVENHAND_SEED of --seed."
_SQLITE = b"SQLite format 3"  # how the file of a store begins
_STORE = re.compile(r"(sqlite|postgres|postgresql|memory):/")  # a path drops slashes, so that it has a single one


def add_command(
    commands: Commands, name: str, line: str, text: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """Add a command, and return its parser.

    Args:
        commands: of the command line.
        name: of the command.
        line: its line in the list of commands.
        text: what its help says; a text of several lines is shown as it is.
        run: runs it, and returns the exit status.
    """
    about = text if "\n" in text else textwrap.fill(text, _WIDE)
    shown = argparse.RawDescriptionHelpFormatter
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=line, description=about, formatter_class=shown, allow_abbrev=False
    )
    parser.epilog = f"example:\n  {EXAMPLES.get(name, parser.prog)}\n\n{_DEFAULTS}"
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument("--quiet", action="store_true", help="print results alone: no progress, no notes")
    return parser


def read_defaults(parser: argparse.ArgumentParser, variables: Mapping[str, str]) -> None:
    """Take the defaults of a command's options from variables of the environment, and refuse those that are none.

    Args:
        parser: of a command, or of several, with options of one value or none.
        variables: of the environment, such as EVENHAND_SEED for `--seed`.
    """
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                read_defaults(each, variables)
            continue
        names = [_PREFIX + z[2:].replace("-", "_").upper() for z in action.option_strings if z.startswith("--")]
        name = next((z for z in names if z in variables and z != _OF_TESTS), None)
        is_flag = isinstance(action, argparse._StoreTrueAction)
        if name is None or not (is_flag or isinstance(action, argparse._StoreAction | Once)):
            continue
        value, choices = variables[name], FLAGS if is_flag else action.choices
        if choices is not None and value not in map(str, choices):
            parser.set_defaults(misread=f"{name}: expected one of {', '.join(map(str, choices))}, got {value!r}")
            continue
        action.default, action.required = FLAGS[value] if is_flag else value, False


def guarded(run: Callable[[], int]) -> int:
    """Run a command, and print its error; returns the exit status."""
    from evenhand.core.errors import EvenhandError

    try:
        return run()
    except KeyboardInterrupt:
        print("evenhand: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("evenhand: not enough memory; take fewer replicas or rounds", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (EvenhandError, OSError) as error:  # for example a full disk
        print(f"evenhand: {error}", file=sys.stderr)
        return 2


def count(text: str, least: int = 1) -> int:
    """Parse a whole number of at least `least`."""
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text!r}")
    return value


class Once(argparse.Action):
    """An action of argparse for a name that is stated once, by an option or by its position."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the name, and refuse another one.

        Raises:
            argparse.ArgumentError: there is one already.
        """
        before = getattr(namespace, self.dest, None)
        if before is not None and before != os.environ.get(_PREFIX + self.dest.upper()):
            raise argparse.ArgumentError(self, f"expected one name, got {before!r} and {values!r}")
        setattr(namespace, self.dest, values)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a store to a parser."""
    parser.add_argument("store", metavar="STORE", help="the store, such as sqlite:///email.db")


def add_name(parser: argparse.ArgumentParser, where: str = "the store") -> None:
    """Add the argument of a campaign's name to a parser.

    Args:
        parser: of the command.
        where: the store, in words.
    """
    parser.add_argument("--campaign", action=Once, default=None, metavar="NAME",
                        help=f"its name (default: the only campaign in {where})")  # fmt: skip


def add_campaign(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a store and of a campaign's name to a parser.

    The name also stands after the store; the help does not show this.
    """
    add_store(parser)
    parser.add_argument("campaign", nargs="?", action=Once, default=argparse.SUPPRESS, metavar="CAMPAIGN",
                        help=argparse.SUPPRESS)  # fmt: skip
    add_name(parser)


def add_reason(parser: argparse.ArgumentParser) -> None:
    """Add the options for who asks for a change, and why, to a parser."""
    parser.add_argument("--by", required=True, metavar="WHO", help="who asks for it, for the log")
    parser.add_argument("--why", required=True, metavar="TEXT", help="the reason, for the log, such as a ticket")


def add_segments(parser: argparse.ArgumentParser) -> None:
    """Add the option of the folder of a log's segments to a parser."""
    parser.add_argument("--segments", type=Path, default=None, metavar="FOLDER",
                        help="with the segments to which `evenhand seal` moved events")  # fmt: skip


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a log to a parser."""
    parser.add_argument(
        "log", metavar="LOG.csv", help="a file, a folder, or - for the standard input; or the store of a campaign"
    )


def is_store(text: str) -> bool:
    """Whether the argument for a log names the store of a campaign."""
    path = Path(text)
    return "://" in text or (path.is_file() and _starts(path, _SQLITE))


def source_of(text: str, campaign: str | None) -> Source:
    """Return the path of a log, or the decisions of a campaign where a store is named.

    Raises:
        Unknown, InvalidInput: there is no such store or campaign, or one is named for a file.
    """
    if is_store(text):
        from evenhand.live.campaigns.decisions import decisions

        return decisions(text, campaign)
    if campaign is not None:
        from evenhand.core.errors import InvalidInput

        raise InvalidInput("campaign", "none where no store is named", campaign)
    return Path(text)


def _starts(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def refuse_swapped(o: argparse.Namespace) -> None:
    """Refuse a store given where another argument is expected, if the other argument is given in place of the store.

    Raises:
        InvalidInput: says what came, and the order.
    """
    store = getattr(o, "store", None)
    if store is None or _STORE.match(store):
        return
    for action in _listed(o.parser):
        values = getattr(o, action.dest, None)
        for value in values if isinstance(values, list) else [values]:
            if action.dest != "store" and _STORE.match(str(value)):
                from evenhand.core.errors import InvalidInput
                from evenhand.live.log.store import url_text

                got = f"{url_text(store)}, and a store as {action.metavar}; the order is: {_order(o.parser)}"
                raise InvalidInput("store", "one such as sqlite:///email.db", got)


def _listed(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the positional arguments of a command."""
    return [action for action in parser._actions if not action.option_strings]


def _order(parser: argparse.ArgumentParser) -> str:
    """Return the order of arguments, as `evenhand switch STORE PROBLEM.toml`."""
    places = [str(z.metavar) for z in _listed(parser) if z.help != argparse.SUPPRESS]
    by_name = [] if "STORE" in places else ["--store STORE"]
    return " ".join([parser.prog, *places, *by_name])
