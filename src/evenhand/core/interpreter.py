"""Interpreted kernels: the same functions, which call plain Python functions in place of kernels.

Python and compiled code do the same arithmetic on the same arrays. What differs is dealt with here. A kernel that needs
whole numbers to wrap around has a second body in Python's whole numbers (`in_python`). Kernels read the fields
of records by name. What comes out are Python's own numbers. Where compiled code makes an infinity or NaN, of a division
by zero or a logarithm of 0, Python's own `float` raises an error: `CAREFUL` has functions that compute with none. They
are slower, and for calls that raised.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

_UNDEFINED = ["sqrt", "log", "log1p", "exp", "expm1", "cos", "sin"]  # raise an error where NumPy has an infinity or NaN


class Interpreter:
    """Plain functions of kernels, made once.

    Args:
        change: what is done to the code of every function.
        put: values in place of what some names stand for.
    """

    def __init__(self, change: Callable[[CodeType], CodeType], put: dict[str, object]) -> None:
        self._change, self._put = change, put
        self._made: dict[Any, Callable[..., Any]] = {}

    def function(self, kernel: Any) -> Callable[..., Any]:
        """Return the function of a kernel that calls plain functions."""
        function = kernel.py_func
        if function not in self._made:
            self._made[function] = getattr(kernel, "by_hand", None) or self._copy(function)
        return self._made[function]

    def _copy(self, function: FunctionType) -> Callable[..., Any]:
        own: dict[str, Any] = {"__builtins__": builtins, "__name__": function.__module__}
        copy = FunctionType(
            self._change(function.__code__), own, function.__name__, function.__defaults__, function.__closure__
        )
        self._made[function] = copy  # kernels may call each other
        for name, value in names(function):
            own[name] = self.function(value) if hasattr(value, "py_func") else value
        own.update(self._put)
        return copy


def names(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the global names that a function reads, with their values; builtins have none."""
    for name in sorted({name for code in codes(function.__code__) for name in code.co_names}):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def reachable_kernels(kernel: Any) -> list[Any]:
    """The kernels that are compiled with a kernel, which is one of them if it calls itself."""
    found: list[Any] = []
    ahead = [kernel]
    while ahead:
        for value in callees(ahead.pop()):
            if not any(value is one for one in found):
                found.append(value)
                ahead.append(value)
    return found


def callees(kernel: Any) -> list[Any]:
    """The kernels that a kernel names."""
    return [value for _, value in global_values(kernel.py_func) if hasattr(value, "py_func")]


def global_values(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a function's names: globals, and attributes of modules."""
    every = sorted({name for code in codes(function.__code__) for name in code.co_names})
    for name, value in names(function):
        yield name, value
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in ("numpy", "math"):
            yield from ((f"{name}.{inner}", getattr(value, inner, None)) for inner in every)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and that of functions within it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


def _exact(code: CodeType) -> CodeType:
    """The code of a function with NumPy's numbers, which follow IEEE rules, in place of its real constants."""
    constants = (
        np.float64(z) if isinstance(z, float) else _exact(z) if isinstance(z, CodeType) else z for z in code.co_consts
    )
    return code.replace(co_consts=tuple(constants))


def _total_function(name: str) -> Callable[..., Any]:
    """A function of `math` that is an infinity or NaN where that of `math` raises an error."""
    usual, everywhere = getattr(math, name), getattr(np, name)

    def function(x: float) -> Any:
        try:
            return np.float64(usual(x))
        except (ValueError, OverflowError):
            return everywhere(x)

    return function


PLAIN = Interpreter(lambda code: code, {})
_MATH = SimpleNamespace(**{**vars(math), **{name: _total_function(name) for name in _UNDEFINED}})
CAREFUL = Interpreter(_exact, {"math": _MATH, "float": np.float64})


def by_name(value: Any) -> Any:
    """An array of records whose fields are attributes, as kernels read them; anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    return value


def exact(value: Any) -> Any:
    """Do as `by_name`, and convert a real number of Python to NumPy's."""
    return np.float64(value) if isinstance(value, float) else by_name(value)


def result(value: Any, kind: str) -> Any:
    """Convert the result of a kernel, by its annotation, to numbers of the kind that compiled code returns.

    >>> result((np.int64(1), 0, np.True_), "tuple[int, float, bool]")
    (1, 0.0, True)
    """
    if isinstance(value, tuple):
        inside = kind[len("tuple[") : -1].split(", ") if kind.startswith("tuple[") else []
        kinds = inside if len(inside) == len(value) else [""] * len(value)
        parts = [result(*pair) for pair in zip(value, kinds, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if kind in _KINDS:
        return _KINDS[kind](value)
    return value.item() if isinstance(value, np.generic) else value


_KINDS: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "bool": bool}
