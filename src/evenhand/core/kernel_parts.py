"""Compilation of a kernel together with the functions that it calls.

Numba optimises every function, translates it to machine code, links it into its callers, and does the same there: a
function that is called through three others is compiled four times. Here a function that is compiled on behalf of a
kernel stays as it is, a part of that kernel. The kernel that Python calls is linked with its parts, optimised and
translated once, in two thirds of the time.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from numba import _dynfunc as dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from evenhand.core.announcing import Announcer
from evenhand.core.kernel_boxes import known_types
from evenhand.core.kernel_cache import KernelCache, called, is_part


class _Code(JITCodeLibrary):
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


class Kernel(CPUDispatcher):
    """A function with its machine code by the types of its arguments; see `numba.njit`."""

    announcer: ClassVar[Announcer] = Announcer()
    watch: ClassVar[Callable[[str], AbstractContextManager[None]]] = announcer.watch  # entered while one is compiled
    _outer: Kernel | None = None  # the kernel that is being compiled for Python, under the lock of the compiler

    def compile(self, sig: Any) -> Any:
        """Return the compiled function for types of arguments."""
        with global_compiler_lock:
            args = tuple(normalize_signature(sig)[0])
            if Kernel._outer is not None:
                return self._compile_part(sig)
            reached = _reached(self)
            if self in reached:
                self._cache.disable()  # Numba cannot read functions that call themselves from disk
            elif all(isinstance(z, Kernel) for z in reached):
                return self._compile_whole(sig, args)
            return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        if is_part(cres):
            self.overloads[tuple(cres.signature.args)] = cres  # Python does not find it here
            return
        super().add_overload(cres)
        if isinstance(cres.library, _Code):
            for env in cres._find_referenced_environments():
                self.targetctx.codegen().set_env(env.env_name, env)

    def _compile_part(self, sig: Any) -> Any:
        compiler, options = self._compiler, self._compiler.targetoptions
        compiler.targetoptions = {**options, "no_cpython_wrapper": True}
        try:
            return super().compile(sig)
        finally:
            compiler.targetoptions = options

    def _compile_whole(self, sig: Any, args: tuple[Any, ...]) -> Any:
        if args in self.overloads and is_part(self.overloads[args]):
            del self.overloads[args]
        Kernel._outer = self
        try:
            with self._alone(sig), self._watched(sig), _parts_of(self), known_types():
                return super().compile(sig)
        finally:
            Kernel._outer = None

    def _watched(self, sig: Any) -> AbstractContextManager[None]:
        if isinstance(self._cache, KernelCache) and self._cache.holds(sig, self.targetctx):
            return nullcontext()
        return Kernel.watch(f"{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__qualname__}")

    def _alone(self, sig: Any) -> AbstractContextManager[None]:
        return self._cache.alone(sig, self.targetctx) if isinstance(self._cache, KernelCache) else nullcontext()


def _reached(kernel: Dispatcher) -> list[Dispatcher]:
    """The functions that are compiled with a kernel, which is one of them if it calls itself."""
    found: list[Dispatcher] = []
    ahead = called(kernel)
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.append(one)
            ahead.extend(called(one))
    return found


@contextmanager
def _parts_of(kernel: Kernel) -> Iterator[None]:
    """Let Numba compile every function but a kernel as a part; garbage is collected afterwards."""
    target, codegen, collects = kernel.targetctx, kernel.targetctx.codegen(), gc.isenabled()
    library, executable, set_env = codegen._library_class, target.get_executable, codegen.set_env
    own = kernel.py_func.__module__, kernel.py_func.__qualname__

    def whole_or_part(code: _Code, description: Any, env: Any) -> Any:
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
        codegen._library_class, target.get_executable, codegen.set_env = _Code, whole_or_part, set_known
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
