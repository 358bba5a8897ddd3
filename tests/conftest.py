"""Fixed examples for Hypothesis, and no stale kernels."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import evenhand

# The same examples every time: a test that passes once passes always.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=40, database=None)
settings.load_profile("fixed")


def pytest_configure():
    """Forget kernels that were compiled before the latest change of one.

    Numba looks at the file of a kernel only, not at those of the kernels that it calls: without this, a change in
    `numerics` would go untested in the models that were compiled with its old code.
    """
    package = Path(evenhand.__file__).parent
    changed = max(f.stat().st_mtime for f in package.rglob("*.py") if "@kernel" in f.read_text())
    for cached in Path(os.environ.get("NUMBA_CACHE_DIR", package)).rglob("*.nb[ic]"):
        if cached.stat().st_mtime < changed:
            cached.unlink(missing_ok=True)


@pytest.fixture(autouse=True, scope="session")
def check_pictures():
    """Every picture that a test writes keeps its texts apart and inside; one of an experiment, too."""
    try:
        from matplotlib.figure import Figure

        from tests.pictures import no_overlaps
    except ImportError:  # without the extra there are no pictures
        yield
        return
    written = Figure.savefig

    def checked(self, *args, **kwargs):
        written(self, *args, **kwargs)
        no_overlaps(self)

    Figure.savefig = checked
    yield
    Figure.savefig = written
