"""What tests of states share: they are compared array by array."""

from contextlib import contextmanager

import numpy as np

from evenhand.policy.saving import flatten


def equal(state, other):
    """Two states of one kind have the same numbers, bit for bit."""
    for (path, z), (_, y) in zip(flatten(state), flatten(other), strict=True):
        same_bits(z, y, path)


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
