"""Arrays that come out of a kernel.

Numba wraps every array that a function returns to Python in an object, and reads the type of that object from a pickle
each time, which takes longer than the rest. Kernels keep the type beside their code, as they keep that of the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import boxing, cgutils, pythonapi, types
from numba.np import numpy_support


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
def known_types() -> Iterator[None]:
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
