"""A first run says which kernels it compiles; one that finds all of them says nothing."""

import subprocess
import sys

from evenhand.core.kernel_parts import Kernel
from evenhand.run.compiling import shown

from tests.test_kernel_cache import write

SAYS = "compiling kernels for this machine, once"
RUN = """
import sys
from evenhand.run.compiling import shown
import outer

with shown({}):
    outer.twice(1.0)
    outer.twice(1)
"""


def said(folder, progress):
    command = [sys.executable, "-c", RUN.format(progress)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


def test_kernels_are_named_once_and_not_where_they_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    write(tmp_path)
    assert said(tmp_path, None) == f"{SAYS}: outer.twice, ...\n"  # no terminal: one line for two types
    assert said(tmp_path, None) == ""


def test_a_bar_counts_kernels_and_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    write(tmp_path)
    shows = said(tmp_path, True)
    assert f"{SAYS}: 0 kernels" in shows
    assert f"{SAYS}: 1 kernels" in shows
    assert ", outer.twice]" in shows
    assert [line for line in shows.splitlines() if line][-1].isspace()
    assert said(tmp_path, True) == ""


def test_nothing_is_said_where_bars_are_off(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    write(tmp_path)
    assert said(tmp_path, False) == ""
    before = Kernel.watch
    with shown(True):
        assert Kernel.watch != before
    assert Kernel.watch == before


def test_a_run_that_compiles_for_long_says_so_once_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    write(tmp_path)

    def alone(after):
        lines = f"from evenhand.core.kernel_parts import Kernel; Kernel.announcer.after = {after}"
        lines += "; Kernel.announcer.hint = ' (so)'"
        command = [sys.executable, "-c", f"{lines}; import outer; outer.twice(1.0); outer.twice(1)"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr

    assert alone(0.0) == f"{SAYS} (so): outer.twice, ...\n"
    assert alone(0.0) == ""  # all are kept
    (tmp_path / "kernels").rename(tmp_path / "elsewhere")
    assert alone(600.0) == ""  # too short to be told
