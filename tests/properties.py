"""Properties that are tested on drawn sizes, with a seed for everything else."""

from hypothesis import given, strategies as st


def drawn(**sizes):
    """`given` a seed and sizes: up to a number, between two, one of a list, either (`bool`), or as a strategy says."""
    return given(**{name: _strategy(size) for name, size in sizes.items()}, seed=st.integers(0, 10_000))


def _strategy(size):
    if size is bool:
        return st.booleans()
    if isinstance(size, int):
        return st.integers(1, size)
    if isinstance(size, tuple):
        return st.integers(*size)
    return st.sampled_from(size) if isinstance(size, list) else size
