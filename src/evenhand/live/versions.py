"""Versions that the last bits of decisions may depend on: stored by a new campaign, compared by an audit."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import numba
import numpy as np
import scipy
from llvmlite import binding

from evenhand.version import __version__


def here() -> dict[str, str]:
    """Return the versions in this process and the processor that kernels are compiled for.

    >>> here()["evenhand"] == __version__
    True
    """
    return {
        "evenhand": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": binding.get_host_cpu_name(),
        "libc": " ".join(platform.libc_ver()),
    }


def changes(before: Mapping[str, str]) -> tuple[str, ...]:
    """Describe the versions that changed.

    >>> changes({**here(), "numpy": "1.0"})[0].startswith("numpy was 1.0, is ")
    True
    """
    now = here()
    names = dict.fromkeys([*before, *now])
    return tuple(
        f"{name} was {before.get(name, 'unknown')}, is {now.get(name, 'unknown')}"
        for name in names
        if before.get(name) != now.get(name)
    )
