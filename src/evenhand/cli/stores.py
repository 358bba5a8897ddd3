"""Commands for archives, backups and restores of the logs of a store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.arguments import OF_LOG, add_campaign, add_command, add_reason
from evenhand.cli.output import say

if TYPE_CHECKING:
    from evenhand.cli.arguments import Commands

ARCHIVE = """\
Write the log of a campaign that has ended, with no decision waiting, to a read-only file, and print its head, to be
kept elsewhere. The file has the format of `evenhand backup`; the campaign stays in the store."""
SEAL = """\
Move old events of a campaign of a problem file out of its store to a new file in a folder, a segment, while servers
run. The file is checked before anything goes. The state and the counts at its end stay in the log, so decisions and
reports are as before; keys stay used, and decisions that wait stay. Settled decisions in a segment take no corrections
and no erasures. Audits and exports read the segments with --segments FOLDER: copy the folder as you do backups."""
BACKUP = """\
Copy all campaigns of a store, as they are at one moment, to a new file, while servers run. The file is an SQLite
store: audit, report and export read it, even from read-only media, and `evenhand restore` makes a store of it."""
RESTORE = """\
Write the campaigns of a backup to a store that has none, and check all their hashes there. What was decided after the
backup is not in it: stop all servers of the lost store first. The log notes who restored it and why, and later
decisions have ids of another kind, so that those of lost decisions stay refused."""


def add(commands: Commands) -> None:
    """Add the commands."""
    line = "write the log of a campaign that has ended to a file"
    archive = add_command(commands, "archive", line, ARCHIVE, _archive)
    add_campaign(archive)
    archive.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist yet")

    line = "copy the logs of live campaigns to a file, while they run"
    backup = add_command(commands, "backup", line, BACKUP, _backup)
    backup.add_argument("store", metavar="STORE", help="sqlite:///FILE or postgresql://HOST/DATABASE")
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist yet")

    restore = add_command(commands, "restore", "make a store from a backup", RESTORE, _restore)
    restore.add_argument("file", type=Path, metavar="FILE", help="a file that `evenhand backup` wrote")
    restore.add_argument("store", metavar="STORE", help="without a campaign; a file is created")
    add_reason(restore)

    line = "move old events of a live campaign to a file, while it runs"
    seal = add_command(commands, "seal", line, SEAL, _seal)
    add_campaign(seal)
    seal.add_argument("folder", type=Path, metavar="FOLDER", help="where the segments of the campaign are")
    seal.add_argument("--before", default=None, metavar="DATE",
                      help="events before a date or time in UTC, such as 2026-01-31, or the number of an event "
                      "(default: a day ago)")  # fmt: skip
    seal.add_argument("--log", type=Path, default=None, metavar="LOG.csv", help=OF_LOG)
    add_reason(seal)


def _archive(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import write_archive

    say(o, f"written: {o.file}\n{write_archive(o.store, o.campaign, o.file)}")
    return 0


def _seal(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.commands import seal_file

    print(seal_file(o.store, o.campaign, o.folder, o.before, o.by, o.why, o.log))
    return 0


def _backup(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.backups import backup

    heads = backup(o.store, o.file)
    say(o, "\n".join([f"written: {o.file}", *(f"{name}: head {head}" for name, head in heads.items())]))
    return 0


def _restore(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.backups import restore

    heads = restore(o.file, o.store, by=o.by, why=o.why)
    print("\n".join([f"restored: {o.file}", *(f"{name}: head {head}" for name, head in heads.items())]))
    return 0
