"""The commands of the command line that keep logs: backups, archives, the way back, and clocks that were wrong."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evenhand.cli_campaign import add_campaign
from evenhand.cli_texts import ARCHIVE, BACKUP, CLOCK, RESTORE


def add_keeping(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands."""
    archive = commands.add_parser(
        "archive", help="write the log of a campaign that has ended to a file", description=ARCHIVE
    )
    add_campaign(archive, _archive)
    archive.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist yet")

    backup = commands.add_parser(
        "backup", help="copy the logs of live campaigns to a file, while they run", description=BACKUP
    )
    backup.add_argument("store", metavar="STORE", help="sqlite:///FILE or postgresql://HOST/DATABASE")
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist yet")
    backup.set_defaults(run=_backup, parser=backup)

    restore = commands.add_parser("restore", help="make a store from a backup", description=RESTORE)
    restore.add_argument("file", type=Path, metavar="FILE", help="a file that `evenhand backup` wrote")
    restore.add_argument("store", metavar="STORE", help="without a campaign; a file is created")
    restore.add_argument("--by", required=True, metavar="WHO", help="who restores it, for the log")
    restore.add_argument("--why", required=True, metavar="TEXT", help="the reason, for the log, such as a ticket")
    restore.set_defaults(run=_restore, parser=restore)

    clock = commands.add_parser(
        "clock", help="let a live campaign follow the clock again, after the clock was wrong", description=CLOCK
    )
    add_campaign(clock, _clock)
    clock.add_argument("--reset", action="store_true", required=True, help="write it to the log")
    clock.add_argument("--why", required=True, metavar="TEXT", help="the reason, for the log")
    clock.add_argument("--by", default=None, metavar="WHO",
                       help="who asks for it, for the log (default: the name of the user)")  # fmt: skip
    clock.add_argument("--who", dest="by", default=argparse.SUPPRESS, help=argparse.SUPPRESS)  # of earlier versions


def _archive(o: argparse.Namespace) -> int:
    from evenhand.live.life_commands import write_archive

    print(f"written: {o.file}\n{write_archive(o.store, o.campaign, o.file)}")
    return 0


def _backup(o: argparse.Namespace) -> int:
    from evenhand.live.backups import backup

    heads = backup(o.store, o.file)
    print("\n".join([f"written: {o.file}", *(f"{name}: head {head}" for name, head in heads.items())]))
    return 0


def _restore(o: argparse.Namespace) -> int:
    from evenhand.live.backups import restore

    heads = restore(o.file, o.store, by=o.by, why=o.why)
    print("\n".join([f"restored: {o.file}", *(f"{name}: head {head}" for name, head in heads.items())]))
    return 0


def _clock(o: argparse.Namespace) -> int:
    from evenhand.live.commands import reset_clock

    print(reset_clock(o.store, o.campaign, o.why, o.by))
    return 0
