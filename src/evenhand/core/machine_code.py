"""Machine code of a kernel, compiled together with the functions that it calls, and its cache on disk.

Numba optimises every function, translates it to machine code, links it into its callers, and does the same there: a
function that is called through three others is compiled four times. Here a function that is compiled on behalf of a
kernel stays as it is, a part of that kernel. The kernel that Python calls is linked with its parts, optimised and
translated once, in two thirds of the time.

Numba keeps the entries of a function by the date of its file. An edit of a kernel in another file would therefore go
unnoticed by its callers, a copy of the same files with new dates would be compiled anew, and two processes that compile
one function for different types at once could take the same file name.

Numba wraps every array that a function returns to Python in an object, and reads the type of that object from a pickle
each time, which takes longer than the rest. Kernels keep the type beside their code, as they keep that of the numbers.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
import pickle
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import _dynfunc as dynfunc, njit, typeof
from numba.core import boxing, cgutils, pythonapi, types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.types import Dispatcher as DispatcherType, unliteral
from numba.extending import typeof_impl
from numba.np import numpy_support

from evenhand.core.compilation import COMPILE_PROGRESS
from evenhand.core.interpreter import callees, global_values, reachable_kernels
from evenhand.core.kernel import Kernel, name, record_time


def _box(kind: Any, value: Any, c: Any) -> Any:
    """Make an object of an array, as `numba.core.boxing.box_array` does."""
    read, keep = c.env_manager.read_const, c.env_manager.add_const
    holder, numbers = read(keep(kind.box_type)), read(keep(numpy_support.as_dtype(kind.dtype)))
    whole, word = c.pyapi.pyobj, ir.IntType(32)
    takes = ir.FunctionType(whole, [c.pyapi.voidptr, whole, word, word, whole])
    adapt = c.pyapi._get_function(takes, name="NRT_adapt_ndarray_to_python_acqref")
    place = c.builder.bitcast(cgutils.alloca_once_value(c.builder, value), c.pyapi.voidptr)
    sizes = c.context.get_constant(types.int32, kind.ndim), c.context.get_constant(types.int32, int(kind.mutable))
    made = c.builder.call(adapt, [place, holder, *sizes, numbers])
    c.context.nrt.decref(c.builder, kind, value)
    return made


@contextmanager
def keep_types() -> Iterator[None]:
    """Let compiled code keep the type of its arrays; the lock of the compiler is held."""
    boxes = getattr(getattr(pythonapi, "_boxers", None), "functions", None)
    if boxes is None:  # a version of Numba that keeps them elsewhere; its own way is as right
        yield
        return
    usual = boxes.get(types.Array, boxing.box_array)
    boxes[types.Array] = _box
    try:
        yield
    finally:
        boxes[types.Array] = usual


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
    def compile_lock(self, sig: Any, target: Any) -> Iterator[None]:
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
        except (OSError, EOFError, pickle.UnpicklingError, ValueError, ImportError, AttributeError):
            return None  # the last two: of a version in which a function was elsewhere
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
    for inner in callees(kernel):
        _read(inner, seen)
    constants: list[Any] = []
    for word, value in global_values(function):
        if isinstance(value, np.ndarray):
            constants.append((word, value.dtype.str, value.shape, value.tobytes()))
        elif isinstance(value, bool | int | float | complex | str | bytes | tuple):
            constants.append((word, repr(value)))
        elif isinstance(value, type) and hasattr(value, "_fields"):
            constants.append((word, value._fields))
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


class _Library(JITCodeLibrary):
    """The code of a function, which is optimised and translated unless it is a part."""

    is_part = True

    def _optimize_functions(self, ll_module: Any) -> None:
        if self.is_part:  # which is optimised with its kernel
            ll_module.data_layout = self._codegen._data_layout
        else:
            super()._optimize_functions(ll_module)

    def _optimize_final_module(self) -> None:
        if not self.is_part:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.is_part:
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            super()._finalize_final_module()

    def make_whole(self) -> None:
        self.is_part = False
        if self._finalized:  # read from disk, as machine code
            self._finalize_final_module()


class Code(CPUDispatcher):
    """The machine code of a kernel by the types of its arguments; see `numba.njit`."""

    kernel: Kernel | None = None
    _outer: Code | None = None  # what is being compiled for Python, under the lock of the compiler

    @classmethod
    def of(cls, kernel: Kernel) -> Code:
        """The machine code of a kernel, which is compiled, or read from disk, when it is called."""
        options = njit(**kernel.targetoptions)(kernel.py_func).targetoptions
        made = cls(kernel.py_func, targetoptions={**options, "no_cfunc_wrapper": True})
        made.kernel = kernel
        with suppress(RuntimeError):  # no folder can be written to: every process compiles for itself
            made._cache = KernelCache(made)
        return made

    @property
    def misses(self) -> int:
        """The number of times that it was compiled in this process, as it was not on disk."""
        return sum(self.stats.cache_misses.values())

    def types(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The types of some arguments."""
        return tuple(map(typeof, arguments))

    def is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        """Whether there is machine code on disk for the types of these arguments."""
        return self.has(self.types(arguments))

    def has(self, types: tuple[Any, ...]) -> bool:
        """Whether there is machine code on disk for these types of arguments."""
        return isinstance(self._cache, KernelCache) and self._cache.holds(types, self.targetctx)

    def compile(self, sig: Any) -> Any:
        """Return the compiled function for types of arguments, which is the same for a constant as for a variable."""
        with global_compiler_lock:
            args = tuple(map(unliteral, normalize_signature(sig)[0]))
            if Code._outer is not None:
                return self._compile_part(args)
            found = reachable_kernels(self)
            if any(z is self.kernel for z in found):
                self._cache.disable()  # Numba cannot read functions that call themselves from disk
            elif all(isinstance(z, Kernel) for z in found):
                return self._compile_whole(args)
            return super().compile(args)

    def add_overload(self, cres: Any) -> None:
        if is_part(cres):
            self.overloads[tuple(cres.signature.args)] = cres  # Python does not find it here
            return
        super().add_overload(cres)
        if isinstance(cres.library, _Library):
            for env in cres._find_referenced_environments():
                self.targetctx.codegen().set_env(env.env_name, env)

    def _compile_part(self, args: tuple[Any, ...]) -> Any:
        compiler, options = self._compiler, self._compiler.targetoptions
        compiler.targetoptions = {**options, "no_cpython_wrapper": True}
        try:
            return super().compile(args)
        finally:
            compiler.targetoptions = options

    def _compile_whole(self, args: tuple[Any, ...]) -> Any:
        if args in self.overloads and is_part(self.overloads[args]):
            del self.overloads[args]
        Code._outer = self
        try:
            with self._compile_lock(args), self._watch(args), _parts_of(self), keep_types():
                return super().compile(args)
        finally:
            Code._outer = None

    @contextmanager
    def _watch(self, args: tuple[Any, ...]) -> Iterator[None]:
        if self.kernel is None or self.has(args):
            yield
            return
        began = time.thread_time()
        with COMPILE_PROGRESS.watch(name(self.kernel), self.kernel.price):
            yield
        record_time(self.kernel.price, time.thread_time() - began)

    def _compile_lock(self, args: tuple[Any, ...]) -> AbstractContextManager[None]:
        return self._cache.compile_lock(args, self.targetctx) if isinstance(self._cache, KernelCache) else nullcontext()


@typeof_impl.register(Kernel)
def _type(kernel: Kernel, _: Any) -> Any:
    """The type of a kernel to the kernels that call it."""
    return DispatcherType(kernel.code)


@contextmanager
def _parts_of(kernel: Code) -> Iterator[None]:
    """Let Numba compile every function but a kernel as a part; garbage is collected afterwards."""
    target, codegen, collects = kernel.targetctx, kernel.targetctx.codegen(), gc.isenabled()
    library, executable, set_env = codegen._library_class, target.get_executable, codegen.set_env
    own = kernel.py_func.__module__, kernel.py_func.__qualname__

    def whole_or_part(code: _Library, description: Any, env: Any) -> Any:
        if (description.modname, description.qualname) == own:
            code.make_whole()
        if code.is_part:
            code._ensure_finalized()
            return dynfunc.make_function(description.lookup_module(), own[1], "", _ADDRESS, env, (code,))
        return executable(code, description, env)

    def set_known(name: str, env: Any) -> None:
        if codegen._engine.get_global_value_address(name):  # a part that was read from disk has no address
            set_env(name, env)

    try:
        gc.disable()
        codegen._library_class, target.get_executable, codegen.set_env = _Library, whole_or_part, set_known
        yield
    finally:
        codegen._library_class, target.get_executable, codegen.set_env = library, executable, set_env
        if collects:
            gc.enable()


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def _refuse(*_: object) -> object:
    """Stand in for the machine code of a part, which is never called from Python."""
    raise NotImplementedError("a part of a kernel cannot be called from Python")


_ADDRESS = ctypes.cast(_refuse, ctypes.c_void_p).value
