"""Arrays that come out of kernels are NumPy's own, and cost no unpickling."""

import gc
import sys
import weakref

import numba
import numpy as np
import pytest
from numba.core import pythonapi, types

from evenhand.core.kernel import code_of, kernel
from evenhand.core.machine_code import _box, keep_types

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@code_of
@kernel
def several(n):
    mask = np.zeros((n, 2), np.bool_)
    mask[0, 1] = True
    return np.arange(n), np.full((1, n), 0.5), mask.T


@code_of
@kernel
def given(z):
    return z[1:]


def unpickled(call):
    """How often a call unpickles something."""
    names = []

    def note(frame, event, argument):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names.count("_numba_unpickle")


def test_arrays_are_as_they_were_made():
    counts, halves, mask = several(3)
    assert [type(z) for z in (counts, halves, mask)] == [np.ndarray] * 3
    np.testing.assert_array_equal(counts, [0, 1, 2])
    np.testing.assert_array_equal(halves, [[0.5] * 3])
    np.testing.assert_array_equal(mask, [[False, False, False], [True, False, False]])
    assert (counts.dtype, halves.dtype, mask.dtype) == (np.int64, np.float64, np.bool_)
    assert mask.strides == (1, 2)
    counts[0] = 7  # can be written to
    np.testing.assert_array_equal(several(3)[0], [0, 1, 2])


def test_nothing_is_unpickled():
    plain = numba.njit(several.py_func)
    several(3), plain(3)
    assert unpickled(lambda: plain(3)) == 3
    assert unpickled(lambda: several(3)) == 0


def test_arrays_are_freed_and_their_type_is_not():
    several(3)
    before = sys.getrefcount(np.ndarray)
    for _ in range(1000):
        several(3)
    assert abs(sys.getrefcount(np.ndarray) - before) < 100
    z = np.arange(4.0)
    part, gone = given(z), weakref.ref(z)
    assert np.shares_memory(part, z)
    del z
    np.testing.assert_array_equal(part, [1.0, 2.0, 3.0])
    assert gone() is not None
    del part
    gc.collect()
    assert gone() is None


def test_other_functions_of_numba_are_compiled_as_ever():
    several(3)
    assert pythonapi._boxers.functions[types.Array] is not _box


def test_a_version_of_numba_that_keeps_boxes_elsewhere_has_its_own_way(monkeypatch):
    monkeypatch.delattr(pythonapi, "_boxers")
    with keep_types():
        pass
    assert not hasattr(pythonapi, "_boxers")
