"""Commands that serve campaigns, and commands for what servers share: tokens and pools of budgets."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.arguments import AFTER, add_command, count, guarded
from evenhand.cli.output import add_json, answer, silence

if TYPE_CHECKING:
    from evenhand.cli.arguments import Commands
    from evenhand.live.campaigns.tokens import Tokens

SERVE = """\
Decide for real: POST /decide answers with an action, POST /observe takes its outcome, and http://127.0.0.1:8000 shows
where the campaign stands. Everything is written to one log before it is answered. Several servers may share a store,
and --workers N starts several processes at one port:

  evenhand serve PROBLEM.toml --store sqlite:///shop.db --workers 4

The problem file begins a campaign; it is the one that `evenhand replay` reads. Either it states the ranges and levels
of all columns, or a log is given that fixes them once. Several problem files are several campaigns, in one store:
their routes are below /campaigns/NAME/, such as POST /campaigns/email/decide.

The log keeps the problem file. After a stop, a crash or a switch, start the same command again, or leave the file out:
all campaigns of the store are then served as their logs have them. A file that a switch superseded is noted; one that a
campaign never had is refused.

If other machines can reach the server, every request has to carry a token: set EVENHAND_TOKEN to one that may do
everything, or state --tokens, or both."""
TOKEN = """\
Make a token at random. It is printed to stderr, for the client. Its entry in the file of `evenhand serve --tokens` is
printed to stdout; it has only the hash of the token. Roles: read (reports, pages, metrics, decisions), decide,
observe (outcomes and cancellations), change (what changes a campaign or its life)."""
POOL = """\
Begin a pool of hard budgets that several campaigns share, or list its leases. Each campaign is served by
`evenhand serve --lease STORE`, has its own store, and plays under the part that the pool grants; the parts together
never exceed the totals."""


def add(commands: Commands) -> None:
    """Add the commands."""
    _add_serve(commands)
    _add_token(commands)
    _add_pool(commands)


def _add_serve(commands: Commands) -> None:
    line = "serve live decisions over HTTP, with a page that shows their state"
    serve = add_command(commands, "serve", line, SERVE, _serve)
    serve.add_argument("problem", type=Path, nargs="*", metavar="PROBLEM.toml",
                       help="what a new campaign decides, and how; several are campaigns of one server "
                       "(default: the campaigns of the store, as their logs have them)")  # fmt: skip
    serve.add_argument("--store", required=True, metavar="STORE", help="where the log is kept: sqlite:///FILE")
    serve.add_argument("--campaign", action="append", default=None, metavar="NAME",
                       help="its name, repeated for several (default: all of the store, or the name of the problem "
                       "file; where the store has other campaigns, a new one needs a stated name)")  # fmt: skip
    logs = serve.add_mutually_exclusive_group()
    logs.add_argument("--learn-from", type=Path, default=None, metavar="LOG.csv",
                      help="a log that the policy learns from before the first decision, at no cost; the store keeps "
                      "what it learned, and a log as long as the warm-up takes its place")  # fmt: skip
    serve.add_argument("--weight", type=float, default=None, metavar="W",
                       help="weight of a row of that log, in observations, such as 0.05 if it may be out of date "
                       "(default: log_weight of the problem file, else 1)")  # fmt: skip
    logs.add_argument("--encode-as", type=Path, default=None, metavar="LOG.csv",
                      help="a log that only says which values columns have")  # fmt: skip
    serve.add_argument("--lease", default=None, metavar="STORE",
                       help="the store of a pool that `evenhand pool` began: it has the totals of its budgets, in "
                       "place of the problem file, and grants a part of them")  # fmt: skip
    serve.add_argument("--pool", default=None, metavar="NAME", help="(default: the only one in that store)")
    serve.add_argument("--switch", action="store_true",
                       help="continue with this problem file if the campaign never had it")  # fmt: skip
    serve.add_argument("--known", action="store_true",
                       help="clients may state known outcomes without a declared range")  # fmt: skip
    serve.add_argument("--patience", type=float, default=None, metavar="SECONDS",
                       help="for a new campaign: the time after which an outcome is overdue "
                       "(default: 86400, a day)")  # fmt: skip
    serve.add_argument(
        "--on-expiry",
        choices=("hold", "fallback", "release"),
        default=None,
        help="for a new campaign: what happens to budgets held by overdue decisions (default: hold)",
    )
    serve.add_argument("--after", choices=("nothing", "stop", "go on"), default=None,
                       help=f"for a new campaign: {AFTER} (default: that of the file, else nothing)")  # fmt: skip
    serve.add_argument("--seed", type=int, default=None, metavar="S",
                       help="seed of a new campaign's random numbers (default: 0)")  # fmt: skip
    begun = serve.add_mutually_exclusive_group()
    begun.add_argument(
        "--new", dest="new", action="store_true", default=None, help="refuse to continue an existing campaign"
    )
    begun.add_argument("--existing", dest="new", action="store_false",
                       help="refuse to begin a campaign: a missing store is an error")  # fmt: skip
    serve.add_argument("--accept-clock", action="store_true",
                       help="accept the clock as right, although it is far ahead of the log")  # fmt: skip
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (default: 127.0.0.1, which only this machine can reach)",
    )
    serve.add_argument("--port", type=int, default=os.environ.get("EVENHAND_PORT", "8000"), metavar="N",
                       help="the port (default: EVENHAND_PORT, else 8000; 0 takes a free one)")  # fmt: skip
    serve.add_argument("--workers", type=count, default=1, metavar="N",
                       help="processes at the port, which share the log and its budgets (default: 1)")  # fmt: skip
    serve.add_argument("--allow-host", action="append", default=[], metavar="NAME",
                       help="a name that clients call the server by (may be repeated)")  # fmt: skip
    serve.add_argument("--tokens", type=Path, default=None, metavar="FILE.toml",
                       help="the tokens that clients may carry, as `evenhand token` prints them")  # fmt: skip
    serve.add_argument("--log", choices=("json", "text"), default=None,
                       help="write a line per request to stderr (default: warnings and errors only)")  # fmt: skip
    serve.add_argument("--backups", type=Path, default=None, metavar="FOLDER",
                       help="the folder of the backups, whose age is then a metric")  # fmt: skip


def _add_token(commands: Commands) -> None:
    token = add_command(commands, "token", "make a token for a client of `evenhand serve`", TOKEN, _token)
    token.add_argument("name", metavar="NAME", help="who holds it: letters, digits, _ and -")
    token.add_argument("--role", action="append", required=True, choices=("read", "decide", "observe", "change"),
                       help="(may be repeated)")  # fmt: skip
    token.add_argument("--campaign", action="append", default=None, metavar="NAME",
                       help="a campaign that it is for (may be repeated; default: all of the server)")  # fmt: skip
    token.add_argument("--per-minute", type=float, default=None, metavar="N", help="its quota of decisions")


def _add_pool(commands: Commands) -> None:
    line = "begin a pool of budgets that several campaigns share, or list its leases"
    pool = add_command(commands, "pool", line, POOL, _pool)
    pool.add_argument("store", metavar="STORE", help="such as sqlite:///pool.db")
    pool.add_argument("--name", default=None, metavar="NAME", help="(default: the only one in the store, else pool)")
    pool.add_argument("--total", action="append", default=[], metavar="OUTCOME=AMOUNT",
                      help="for a new pool: a budget of all campaigns together (may be repeated)")  # fmt: skip
    pool.add_argument("--rounds", type=int, default=None, metavar="N",
                      help="for a new pool: the rounds that all campaigns together expect")  # fmt: skip
    add_json(pool)


def _serve(o: argparse.Namespace) -> int:
    from evenhand.live.http.server import check_address, listen
    from evenhand.live.http.start import STOPPED
    from evenhand.live.http.workers import run_workers

    o.names = _names(o)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: with a checkpoint, and a word
    if o.workers == 1:
        print(serve_here(o, o.port))
        return 0
    if o.lease is not None or o.store.startswith("memory:"):
        why = "--lease" if o.lease is not None else "a store in memory, which processes do not share"
        o.parser.error(f"--workers: expected 1 with {why}, got {o.workers}")
    check_address(o.host, o.port, _token_of(o))
    given = {name: value for name, value in vars(o).items() if name not in ("parser", "run")}
    status = 0
    with listen(o.host, o.port) as listening, suppress(KeyboardInterrupt):
        status = run_workers(o.workers, listening, partial(work, given))
    if not status:
        print(STOPPED)
    return status


def work(given: Mapping[str, Any], listening: socket.socket, first: bool, ready: Callable[[], None]) -> int:
    """Serve as one of several processes, by the options of the command."""
    options = argparse.Namespace(**given)
    if not first:
        options.new = False  # the first one began what there is
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def run() -> int:
        with silence(options):
            serve_here(options, listening, ready)
        return 0

    return guarded(run)


def _names(o: argparse.Namespace) -> list[str]:
    """Return the names of the campaigns, and refuse options that do not fit each other."""
    from evenhand.live.http.start import names_of

    if o.weight is not None and o.learn_from is None:
        o.parser.error("--weight is of the rows of a log: state --learn-from as well")
    if o.pool is not None and o.lease is None:
        o.parser.error("--pool is of a store of pools: state --lease as well")
    for option, stated in (("--new", o.new), ("--switch", o.switch), ("--encode-as", o.encode_as)):
        if stated and not o.problem:
            o.parser.error(f"{option} is of a problem file: state one")
    names = o.campaign or [path.stem for path in o.problem]
    if len(names) != len(o.problem or names) or len(set(names)) < len(names):
        told = "a name for each problem file, all of them different" if o.problem else "each name once"
        o.parser.error(f"--campaign: state {told}")
    names = names if o.problem else names_of(o.store, o.campaign)
    if len(names) > 1 and (o.learn_from or o.encode_as):
        o.parser.error("--learn-from and --encode-as are for a single campaign")
    return names


def _token_of(o: argparse.Namespace) -> str | Tokens | None:
    from evenhand.live.campaigns.tokens import Tokens

    single = os.environ.get("EVENHAND_TOKEN") or None
    return single if o.tokens is None else Tokens(o.tokens, single)


def serve_here(o: argparse.Namespace, port: int | socket.socket, ready: Callable[[], None] | None = None) -> str:
    """Serve in this process, at a port or at a socket that others share, and return what is said at the end."""
    from evenhand.live.http.start import STOPPED, Address, OpenOptions, serve_files

    opening = OpenOptions(
        log_path=o.learn_from or o.encode_as,
        learn=o.learn_from is not None if o.weight is None else o.weight,
        switch=o.switch,
        seed=o.seed,
        patience=o.patience,
        on_expiry=o.on_expiry,
        after=o.after,
        lease=o.lease,
        pool=o.pool,
        new=o.new,
        named=o.campaign is not None or not o.problem,
        accept_clock=o.accept_clock,
    )
    told, token = STOPPED, _token_of(o)
    with suppress(KeyboardInterrupt):  # the server handles it by shutting down
        hosts = ("127.0.0.1", "localhost", *o.allow_host)
        at = Address(o.host, port, token, hosts, o.known, o.log, o.backups)
        each = dict(zip(o.names, o.problem, strict=True)) if o.problem else dict.fromkeys(o.names)
        told = serve_files(each, o.store, opening, at, ready)
    return told


def _token(o: argparse.Namespace) -> int:
    from evenhand.live.campaigns.tokens import Token, hash_of, new_token

    made = new_token()
    campaigns = None if o.campaign is None else tuple(o.campaign)
    roles = tuple(dict.fromkeys(o.role))
    entry = Token(
        name=o.name, sha256=hash_of(made), roles=roles, campaigns=campaigns, decisions_per_minute=o.per_minute
    ).entry()
    print(f"token: {made}", file=sys.stderr)
    print(entry)
    return 0


def _pool(o: argparse.Namespace) -> int:
    from evenhand.live.leases.pool import begin_pool, list_pool

    if bool(o.total) != (o.rounds is not None):
        o.parser.error("--total and --rounds: state both to begin a pool, and none to list its leases")
    answer(o, begin_pool(o.store, o.name or "pool", o.total, o.rounds) if o.total else list_pool(o.store, o.name))
    return 0
