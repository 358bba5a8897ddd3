"""A server for campaigns; without a token only this machine reaches it."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from evenhand.core.errors import InvalidInput
from evenhand.core.files import remove_parts
from evenhand.core.kernel import compile_in_background
from evenhand.core.signatures import value_text
from evenhand.core.validate import number
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.tokens import Tokens, whole
from evenhand.live.http.answers import LOG
from evenhand.live.http.app import app
from evenhand.live.http.lines import is_written

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

_BARE = (
    "%s: other machines reach this server, which by itself is no match for headers that come slowly or without end, "
    "for many connections that ask nothing, and for many requests at once on one: put a proxy in front of it, such as "
    "that of deploy/Caddyfile"
)
_NO_TOKEN = "none: set EVENHAND_TOKEN, or state --tokens"
_END = 2  # seconds after a stop until requests that are not answered are cancelled
_MOST = 10_000  # connections, of some 4 KB each


def serve(
    campaigns: Campaign | Sequence[Campaign],
    host: str = "127.0.0.1",
    port: int | socket.socket = 8000,
    token: str | Tokens | None = None,
    hosts: Sequence[str] = ("127.0.0.1", "localhost"),
    ready: Callable[[str], None] | None = None,
    known: bool = False,
    backups: Path | None = None,
) -> None:
    """Serve campaigns until the process is told to stop.

    It listens at once: kernels are interpreted until a thread has read them from disk or compiled those that are used.

    Within `to_stderr` it writes a line per request. Traffic is not encrypted: put an encrypting proxy in front of a
    server that other machines reach.

    Args:
        campaigns: the campaign that decides, or several with names that differ; see `app`.
        host: the address to listen on; other machines reach "0.0.0.0".
        port: the port to listen on; 0 takes a free one. Or a socket that listens to the address already, which
            several processes share.
        token: the token that every request must carry, or the tokens of which it must carry one; required if other
            machines reach the server.
        hosts: the names by which clients call the server, beside `host`.
        ready: is called with the address of the page before the first request is answered.
        known: whether clients may state known outcomes that declare no range; see `app`.
        backups: the folder of the backups, whose age is a metric; what killed ones left there is removed.

    Raises:
        InvalidInput: other machines reach the address and there is no token; or the address cannot be listened on.
    """
    check_address(host, port, token)
    each = [campaigns] if isinstance(campaigns, Campaign) else campaigns
    if backups is not None:
        remove_parts(backups)
    made = app(each, token=token, hosts=tuple(dict.fromkeys((*hosts, host))), known=known, backups=backups)
    raise_limit()
    listening = listen(host, port) if isinstance(port, int) else port
    # asyncio sends at once only where a socket names its protocol, which this one does not; clients waited for 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    settings: dict[str, Any] = {"log_config": None} if is_written() else {}
    if not local(host):
        LOG.warning(_BARE, host)
    with listening, _freeze_objects(), compile_in_background():
        at = f"[{host}]" if _family(host) == socket.AF_INET6 else host
        address = f"http://{at}:{listening.getsockname()[1]}"
        found = server(made, ready=None if ready is None else partial(ready, address), **settings)
        _run(found, made, listening)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens to an address.

    Raises:
        InvalidInput: the address cannot be listened on.
    """
    with _free(host, port):
        return socket.create_server((host, port), family=_family(host))


def _run(found: uvicorn.Server, made: Starlette, listening: socket.socket) -> None:
    """Run a server until it is told to stop; then leave clients that read no answer, for which uvicorn would wait.

    The threads of the app end before the store is closed: a connection of theirs would leave commits in the WAL.
    """
    loop, life = asyncio.new_event_loop(), AsyncExitStack()
    try:
        loop.run_until_complete(life.enter_async_context(made.router.lifespan_context(made)))
        loop.run_until_complete(found.serve(sockets=[listening]))
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_END))
        loop.run_until_complete(life.aclose())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.set_exception_handler(lambda *_: None)  # about tasks that wait even now
        loop.close()


def check_address(host: str, port: int | socket.socket, token: str | Tokens | None) -> None:
    """Refuse an address at which `serve` could not listen, or not safely, before a campaign is begun for it.

    Raises:
        InvalidInput: as for `serve`; or the token is too short.
    """
    if not isinstance(host, str) or not host:
        raise InvalidInput("host", "an address, such as '127.0.0.1'", value_text(host))
    if not isinstance(port, socket.socket):
        number("port", port, "a number from 0 to 65,535", lambda x: 0 <= x < 65_536)
    if token is None and not local(host):
        raise InvalidInput("token", f"a token, as other machines reach {host}", _NO_TOKEN)
    if isinstance(token, str):
        whole(token)
    if isinstance(port, socket.socket):
        return
    with _free(host, port), socket.socket(_family(host)) as tried:
        if os.name == "posix":  # as `create_server` does, so that an address that was just left is free
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tried.bind((host, port))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@contextmanager
def _free(host: str, port: int) -> Iterator[None]:
    """Name the address that cannot be listened on."""
    try:
        yield
    except OSError as error:
        raise InvalidInput("host and port", "an address that is free", f"{host}, {port}: {error.strerror}") from error


@contextmanager
def _freeze_objects() -> Iterator[None]:
    """Freeze all objects for the garbage collector, as a search of all of them takes a tenth of a second."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def server(
    made: ASGIApp, most: int | None = None, ready: Callable[[], None] | None = None, **more: Any
) -> uvicorn.Server:
    """Make the server of an app.

    Told to stop, it answers what was asked, and cancels what is not answered within two seconds.

    Args:
        made: the app.
        most: the connections from which on requests are answered by 503, by default as many as the limit of open files
            allows.
        ready: is called when it listens to clients and to signals: whoever reads its address may stop it at once.
        more: settings of uvicorn.
    """
    calls = [] if ready is None else [ready]

    async def notify() -> None:
        while calls:
            calls.pop()()

    # Without uvicorn's lifespan, whose end would be a traceback where somebody says Ctrl-C twice: what was asked before
    # the first one is answered, and `_run` begins and ends the app.
    settings: dict[str, Any] = {"log_level": "warning", "lifespan": "off", "loop": "asyncio", "http": "httptools"}
    settings |= {"ws": "none", "server_header": False, "proxy_headers": False, "timeout_graceful_shutdown": _END}
    settings |= {"access_log": False}  # whose lines nobody would read, see `lines`, and which are made anyway
    settings |= {"limit_concurrency": connection_limit() if most is None else most, "callback_notify": notify}
    return uvicorn.Server(uvicorn.Config(made, **{**settings, **more}))


def connection_limit() -> int:
    """Return how many connections fit below the limit of open files, an eighth of which is for stores and files."""
    if resource is None:
        return _MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(min(_MOST, soft - max(soft // 8, 64)), 8)


def raise_limit() -> None:
    """Raise this process's limit of open files as far as allowed, at most to what the cap can use."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MOST if hard == resource.RLIM_INFINITY else min(hard, 2 * _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def local(host: str) -> bool:
    """Return whether only this machine reaches an address.

    >>> local("127.0.0.1"), local("::1"), local("localhost"), local("0.0.0.0"), local("shop.example")
    (True, True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
