"""Decorators of compiled functions: compiled on first use, cached on disk, typed as what they decorate."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays lazily; division by zero follows IEEE rules as in NumPy."""
    return cast("Callable[P, R]", njit(cache=True, error_model="numpy")(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a helper of kernels whose code replaces each call: a call that hands over arrays costs 50 ns."""
    return cast("Callable[P, R]", njit(cache=True, error_model="numpy", inline="always")(function))
