"""The cache of machine code on disk: an entry per kernel, its text and the types of its arguments.

Numba keeps the entries of a function by the date of its file. An edit of a kernel in another file would therefore go
unnoticed by its callers, a copy of the same files with new dates would be compiled anew, and two processes that compile
one function for different types at once could take the same file name.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from evenhand.core.interpreter import called, named
from evenhand.core.kernel import Kernel

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STALE = 86_400.0  # seconds after which the machine code of another text is removed
_WAY = 2  # of compiling methods of views (`core.views`), which their text does not tell
_PATIENCE = 60.0  # seconds to wait for a process that compiles the same


class KernelCache(FunctionCache):
    """A cache whose entries are valid as long as the text of all reachable kernels is the same."""

    def __init__(self, kernel: Dispatcher) -> None:
        super().__init__(kernel.py_func)
        base = f"{Path(kernel.py_func.__code__.co_filename).stem}.{kernel.py_func.__qualname__}"
        safe = base.replace("<", "").replace(">", "")
        self._cache_file: Any = _Entries(Path(self._cache_path), safe, lambda: text(kernel))

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """The key of an entry, with the text of the methods of all views among the arguments (`core.views`)."""
        methods = [text(method) for kind in sig for method in _methods(kind)]
        return (*super()._index_key(sig, codegen), *([_WAY, *methods] if methods else []))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code; parts of kernels have none."""
        if not is_part(data):
            with suppress(OSError):  # a full disk, for example: another process compiles it again
                super().save_overload(sig, data)

    def holds(self, sig: Any, target: Any) -> bool:
        """Whether there is an entry for these types."""
        return bool(self._cache_file.path(self._index_key(sig, target.codegen())).exists())

    @contextmanager
    def alone(self, sig: Any, target: Any) -> Iterator[None]:
        """Wait until no other process compiles the same function for the same types."""
        key = self._index_key(sig, target.codegen())
        with _lock(self._cache_file.path(key)):
            yield


def is_part(compiled: Any) -> bool:
    """Whether a compiled function is a part of a kernel, without machine code of its own."""
    return getattr(compiled.library, "is_part", False)


@contextmanager
def _lock(entry: Path) -> Iterator[None]:
    """Lock the byte of an entry in a file that the entries of a folder share, unless the entry exists.

    A process that was stopped while it compiles delays others by a minute.
    """
    if fcntl is None or entry.exists():
        yield
        return
    byte = int(hashlib.sha256(entry.name.encode()).hexdigest()[:7], 16)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        file = entry.with_name("kernels.lock").open("wb")
    except OSError:
        yield
        return
    with file:  # which releases the lock
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                break
            except (BlockingIOError, PermissionError):
                time.sleep(0.02)
            except OSError:  # a file system without locks
                break
        yield


class _Entries:
    """Files named after text and types, so that no index has to be kept; each is written at once, or not at all."""

    def __init__(self, folder: Path, base: str, stamp: Callable[[], str]) -> None:
        self.folder, self.base, self.stamp = folder, base, stamp

    def load(self, key: Any) -> Any:
        try:
            stored, data = pickle.loads(self.path(key).read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            return None
        return data if stored == repr(key) else None

    def save(self, key: Any, data: Any) -> None:
        path = self.path(key)
        part = path.with_suffix(f".{uuid.uuid4().hex[:16]}")
        try:
            part.write_bytes(dumps((repr(key), data)))
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
        self._remove_stale()

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.base}.*.nbc"):
            path.unlink(missing_ok=True)

    def path(self, key: Any) -> Path:
        types = hashlib.sha256(repr(key).encode()).hexdigest()
        return self.folder / f"{self.base}.{self.stamp()[:16]}-{types[:16]}.nbc"

    def _remove_stale(self) -> None:
        old = time.time() - _STALE
        for path in self.folder.glob(f"{self.base}.*.nbc"):
            if not path.name.startswith(f"{self.base}.{self.stamp()[:16]}-") and path.stat().st_mtime < old:
                path.unlink(missing_ok=True)


def text(kernel: Any) -> str:
    """A hash of the code of a kernel, of all kernels that it reaches, of the constants that they read, and of Numba."""
    seen: dict[int, str] = {}
    _read(kernel, seen)
    versions = numba.__version__, llvmlite.__version__
    return hashlib.sha256(repr((versions, sorted(seen.values()))).encode()).hexdigest()


def _read(kernel: Any, seen: dict[int, str]) -> None:
    function: Any = kernel.py_func
    if id(function) in seen:
        return
    seen[id(function)] = ""  # kernels may call each other
    for inner in called(kernel):
        _read(inner, seen)
    constants: list[Any] = []
    for name, value in named(function):
        if isinstance(value, np.ndarray):
            constants.append((name, value.dtype.str, value.shape, value.tobytes()))
        elif isinstance(value, bool | int | float | complex | str | bytes | tuple):
            constants.append((name, repr(value)))
        elif isinstance(value, type) and hasattr(value, "_fields"):
            constants.append((name, value._fields))
    options = sorted(kernel.targetoptions.items())
    seen[id(function)] = repr((function.__qualname__, _code(function.__code__, function.__doc__), constants, options))


def _methods(kind: Any) -> Iterator[Any]:
    """The kernels that are methods of the NamedTuples in a type of arguments."""
    if isinstance(kind, types.StructRef):
        for inner in kind.field_dict.values():
            yield from _methods(inner)
    if isinstance(kind, types.BaseTuple):
        if isinstance(kind, types.BaseNamedTuple):
            yield from (z for z in vars(kind.instance_class).values() if isinstance(z, Kernel))
        for inner in kind:
            yield from _methods(inner)


def _code(code: CodeType, doc: str | None = None) -> str:
    """The text of a function without its comments, docstring and place in the file."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts if doc is None or c != doc]
    return repr((code.co_code, constants, code.co_names, code.co_varnames))
