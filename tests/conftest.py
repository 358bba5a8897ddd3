"""Fixed examples for Hypothesis, packages that must be there, and a look at every picture that is written."""

import gc
import importlib
import math
import os

import pytest
from hypothesis import settings

from tests import budgets
from tests.thorough import is_only_checked

# Before NumPy is imported. Each core has a test of its own, and threads of BLAS that wait for each other took longer
# than what they share.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Servers take a free port, as another program may have the usual one.
os.environ["EVENHAND_PORT"] = "0"

# As `make check` sets it, which has every extra: a test that lacks a package fails and is not skipped.
if os.environ.get("EVENHAND_EXTRAS") == "all":
    pytest.importorskip = lambda module, reason=None: importlib.import_module(module)

# The same examples every time: a test that passes once passes always. `make test` tries half as many.
fixed = settings(derandomize=True, deadline=None, max_examples=40, database=None)
settings.register_profile("fixed", fixed)
settings.register_profile("quick", fixed, max_examples=20)
settings.load_profile("fixed")


def pytest_addoption(parser):
    parser.addoption("--budgets", action="store_true", help="fail where tests of a folder take more CPU than they may")


def pytest_configure(config):
    if config.getoption("--budgets"):
        settings.load_profile("quick")
    config.pluginmanager.register(budgets.Budgets(config, budgets.SECONDS), "budgets")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what only `make check` runs, before tests are chosen by their marks."""
    for item in items:
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if is_only_checked(item.nodeid, [*getattr(item, "fixturenames", ()), *params]):
            item.add_marker(pytest.mark.slow)


def pytest_sessionstart():
    """Collect no garbage while tests are collected: there is little, and looking for it took a third of the time."""
    gc.disable()


def pytest_collection_finish():
    """Leave what tests and modules hold out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def compile_in_silence():
    """Tests of what is written on stderr do not depend on which kernels are compiled already."""
    from evenhand.core.compilation import COMPILE_PROGRESS

    COMPILE_PROGRESS.after = math.inf


@pytest.fixture(autouse=True)
def work_takes_no_time(monkeypatch):
    """Tests of what is written on stderr do not depend on how long anything takes."""
    from evenhand.core.progress import SCREEN

    monkeypatch.setattr(SCREEN, "_clock", lambda: 0.0)
    monkeypatch.setattr(SCREEN, "_last", 0.0)


@pytest.fixture(autouse=True, scope="session")
def compile_early(pytestconfig):
    """Thousands of tests of `make check` call the same kernels: compiling pays sooner than a process can know."""
    from evenhand.core import kernel

    if not pytestconfig.getoption("--budgets"):
        kernel.PRICE /= 10.0


@pytest.fixture(autouse=True, scope="session")
def compile_in_no_thread():
    """A server in this process interprets: Numba colours errors that it catches, for which colorama swaps `sys.stdout`.

    A thread that compiles would do so while another test reads what was printed.
    """
    from evenhand.core.kernel import Background

    Background.ask = lambda *_: None


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
