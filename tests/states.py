"""What tests of states share: they are compared array by array."""

from contextlib import contextmanager

import numpy as np

from evenhand.policy.saving import flatten


def equal(state, other):
    """Two states of one kind have the same numbers, bit for bit."""
    for (path, z), (_, y) in zip(flatten(state), flatten(other), strict=True):
        same_bits(z, y, path)


def alike(state, other):
    """Two states have the same numbers, but for the random tokens of receipts."""
    left, right = dict(flatten(state)), dict(flatten(other))
    assert left.keys() == right.keys()
    for path, z in left.items():
        if path == ".receipts.tokens":
            z, right[path] = z > 0, right[path] > 0
        assert np.array_equal(z, right[path], equal_nan=z.dtype.kind == "f"), path


def near(state, other, without=(), **within):
    """Two states have about the same numbers, but for paths that end in some names."""
    for (path, z), (_, y) in zip(flatten(state), flatten(other), strict=True):
        if not path.endswith(without):
            np.testing.assert_allclose(z, y, err_msg=path, **within)


def same_bits(z, y, path=""):
    """Two arrays have the same type and bits, so that a zero below differs from one above."""
    np.testing.assert_array_equal(z, y, err_msg=path)
    assert (z.dtype, z.shape, z.tobytes()) == (y.dtype, y.shape, y.tobytes()), path


@contextmanager
def unchanged(state):
    """What is done here, whether it is refused or not, leaves every array of a state as it is."""
    before = {path: z.copy() for path, z in flatten(state)}
    yield
    for path, z in flatten(state):
        np.testing.assert_array_equal(z, before[path], err_msg=path)
