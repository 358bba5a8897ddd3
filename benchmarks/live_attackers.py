"""Attacks on a server, each for as long as it is told, and steady clients that time every decision meanwhile."""

from __future__ import annotations

import errno
import http.client
import json
import os
import resource
import selectors
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.live_worlds import NAME, case
from evenhand.live.stores.sqlite import SqliteStore

CLIENTS = 8
_NAMES, _HALVES = 20_000, 5_000
_ASKING = 4  # connections of an attacker who asks one thing after the other


class Place(NamedTuple):
    """What is attacked."""

    address: str  # the host and the port of the server
    path: Path  # of its store
    process: int


class Answer(NamedTuple):
    """One decision of a steady client."""

    due: float  # when it was to be asked
    wait: float  # seconds from then to its answer
    alone: float  # seconds from the request to the answer, without those for which the client itself was late
    status: int


def steady(end: Connection, address: str, pace: float) -> None:
    """Ask for so many decisions a second from several connections until told to stop, and send what came of them.

    It sends a word first, once each client has had an answer, as the first decisions compile.
    """
    found: list[list[Answer]] = [[] for _ in range(CLIENTS)]
    over, ready, start = threading.Event(), threading.Barrier(CLIENTS + 1), 0.0

    def client(own: int) -> None:
        body = json.dumps({"key": f"first of {own}: {os.getpid()}", "case": case(own)})
        connection, _ = _asked(_connected(address), address, "/decide", body)
        ready.wait()
        ready.wait()
        turn = 0
        while not over.is_set():
            due = start + (turn + own / CLIENTS) * CLIENTS / pace
            if over.wait(max(due - time.monotonic(), 0.0)):
                break
            asked = time.monotonic()
            body = json.dumps({"key": f"{own}: {turn} {os.getpid()}", "case": case(turn)})
            connection, status = _asked(connection, address, "/decide", body)
            now = time.monotonic()
            while due <= asked or due <= now - CLIENTS / pace:  # what came due meanwhile waited for this answer, too
                found[own].append(Answer(due, now - due, now - asked, status))
                turn += 1
                due += CLIENTS / pace
        connection.close()

    threads = [threading.Thread(target=client, args=(own,)) for own in range(CLIENTS)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.monotonic()
    ready.wait()
    end.send(None)
    end.recv()
    over.set()
    for thread in threads:
        thread.join()
    end.send([answer for own in found for answer in own])


def attacker(end: Connection, name: str, place: Place) -> None:
    """Attack whenever told to until told to stop, and send what came of it."""
    attack = ATTACKS[name]
    while True:
        end.recv()
        end.send(attack(place, end.poll))
        end.recv()


def _connected(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(address, timeout=60)


def _asked(
    connection: http.client.HTTPConnection, address: str, path: str, body: str
) -> tuple[http.client.HTTPConnection, int]:
    """The status of an answer, asked again with the same key where the server closed a connection that was idle."""
    while True:
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return connection, answer.status
        except (OSError, http.client.HTTPException):
            connection.close()
            connection = _connected(address)


def _one_after_another(place: Place, over: Callable[[], bool], path: str, body: dict[str, Any]) -> str:
    text, codes, done = json.dumps(body), Counter[int](), threading.Event()

    def ask() -> None:
        connection = _connected(place.address)
        while not done.is_set():
            connection, status = _asked(connection, place.address, path, text)
            codes[status] += 1
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(_ASKING)]
    for thread in threads:
        thread.start()
    while not over():
        time.sleep(0.02)
    done.set()
    for thread in threads:
        thread.join()
    return " and ".join(f"{count:,} of {code}" for code, count in codes.items())


def many_names(place: Place, over: Callable[[], bool]) -> str:
    """Bodies whose case has 20,000 names."""
    stated = {f"name {i}": i for i in range(_NAMES)}
    return _one_after_another(place, over, "/decide", {"key": "names", "case": stated})


def great_costs(place: Place, over: Callable[[], bool]) -> str:
    """Decisions with a cost of 1e15, by a client who may state none."""
    body = {"key": "cost", "case": case(0), "known": {"cents": {"letter": 1e15}}}
    return _one_after_another(place, over, "/decide", body)


def half_requests(place: Place, over: Callable[[], bool]) -> str:
    """As many connections as the limit of files allows, which never say the rest of their header."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = _HALVES if hard == resource.RLIM_INFINITY else min(_HALVES, hard - 100)
    host, port = place.address.split(":")
    watch, opened = selectors.DefaultSelector(), 0
    while not over():
        while len(watch.get_map()) < most and not over():
            try:
                made = socket.create_connection((host, int(port)), timeout=1)
                made.sendall(b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-")
            except OSError:  # cut at once, or the queue of the server is full
                break
            made.setblocking(False)
            watch.register(made, selectors.EVENT_READ)
            opened += 1
        for key, _ in watch.select(timeout=0.02):  # what the server closed is opened again
            watch.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]
    left = [key.fileobj for key in watch.get_map().values()]
    for one in left:
        one.close()  # type: ignore[union-attr]
    return f"{len(left):,} at once at the end, {opened:,} in all"


def stopped_worker(place: Place, over: Callable[[], bool]) -> str:
    """A second worker is stopped in a transaction; whoever tells it to stop lets it go on first."""
    with SqliteStore(place.path, timeout=60.0).write(NAME):
        os.kill(os.getpid(), signal.SIGSTOP)
    return ""


def full_disk(place: Place, over: Callable[[], bool]) -> str:
    """The disk of the store is full; where it is no small one of its own, the files of the server may not grow."""
    if os.path.ismount(place.path.parent):
        filler = place.path.with_name("filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        _until(over)
        filler.unlink()
        return "a disk of its own"
    wal = place.path.with_name(f"{place.path.name}-wal").stat().st_size
    before = resource.prlimit(place.process, resource.RLIMIT_FSIZE, (wal, resource.RLIM_INFINITY))
    _until(over)
    resource.prlimit(place.process, resource.RLIMIT_FSIZE, before)
    return "a limit of its files"


def _until(over: Callable[[], bool]) -> None:
    while not over():
        time.sleep(0.02)


STOPPED, FULL = "a second worker is stopped", "the disk is full"
ATTACKS: dict[str, Callable[[Place, Callable[[], bool]], str]] = {
    f"{_NAMES:,} names in a body": many_names,
    f"{_HALVES:,} half requests": half_requests,
    "1e15 as a cost": great_costs,
    STOPPED: stopped_worker,
    FULL: full_disk,
}
