"""Decorators that compile a function on first use, cache it on disk and keep its type."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal, ParamSpec, TypeVar, cast

from numba import njit
from numba.core.dispatcher import Dispatcher

from evenhand.core.kernel_cache import KernelCache
from evenhand.core.kernel_parts import Kernel

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays lazily; division by zero follows IEEE rules as in NumPy."""
    return _compiled(function, inline="never")


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a helper that is inlined into its kernels: a call that passes arrays would cost 50 ns."""
    return _compiled(function, inline="always")


def _compiled(function: Callable[P, R], inline: Literal["never", "always"]) -> Callable[P, R]:
    made = njit(error_model="numpy", inline=inline)(function)
    if isinstance(made, Dispatcher):  # a plain function where NUMBA_DISABLE_JIT is set
        made = Kernel(function, targetoptions={**made.targetoptions, "no_cfunc_wrapper": True})
        with suppress(RuntimeError):  # no folder can be written to: every process compiles for itself
            made._cache = KernelCache(made)
    return cast("Callable[P, R]", made)
