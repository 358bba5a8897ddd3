"""Machine code of a kernel, compiled together with the functions that it calls.

Numba optimises every function, translates it to machine code, links it into its callers, and does the same there: a
function that is called through three others is compiled four times. Here a function that is compiled on behalf of a
kernel stays as it is, a part of that kernel. The kernel that Python calls is linked with its parts, optimised and
translated once, in two thirds of the time.
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from numba import _dynfunc as dynfunc, njit, typeof
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.types import Dispatcher as DispatcherType, unliteral
from numba.extending import typeof_impl

from evenhand.core.compiling import COMPILING
from evenhand.core.interpreter import reached
from evenhand.core.kernel import Kernel, measured, name
from evenhand.core.kernel_boxes import known_types
from evenhand.core.kernel_cache import KernelCache, is_part


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
        """How often it was compiled in this process, as it was not on disk."""
        return sum(self.stats.cache_misses.values())

    def types(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The types of some arguments."""
        return tuple(map(typeof, arguments))

    def is_kept(self, arguments: tuple[Any, ...]) -> bool:
        """Whether there is machine code on disk for such arguments."""
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
            found = reached(self)
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
            with self._alone(args), self._watched(args), _parts_of(self), known_types():
                return super().compile(args)
        finally:
            Code._outer = None

    @contextmanager
    def _watched(self, args: tuple[Any, ...]) -> Iterator[None]:
        if self.kernel is None or self.has(args):
            yield
            return
        began = time.thread_time()
        with COMPILING.watch(name(self.kernel), self.kernel.price):
            yield
        measured(self.kernel.price, time.thread_time() - began)

    def _alone(self, args: tuple[Any, ...]) -> AbstractContextManager[None]:
        return self._cache.alone(args, self.targetctx) if isinstance(self._cache, KernelCache) else nullcontext()


@typeof_impl.register(Kernel)
def _type(kernel: Kernel, _: Any) -> Any:
    """What a kernel is to the kernels that call it."""
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
    """Stand for the machine code of a part, which nobody calls from Python."""
    raise NotImplementedError("a part of a kernel cannot be called from Python")


_ADDRESS = ctypes.cast(_refuse, ctypes.c_void_p).value
