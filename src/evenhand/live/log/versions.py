"""Versions that the last bits of decisions may depend on: stored by a new campaign, compared by an audit."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from functools import cache

import numpy as np

from evenhand.live.log.events import Conflict, read
from evenhand.live.log.store import Readable
from evenhand.version import __version__


def here() -> dict[str, str]:
    """Return the versions in this process and the processor that kernels are compiled for.

    >>> here()["evenhand"] == __version__
    True
    """
    from llvmlite import binding  # slow to import

    return {
        "evenhand": __version__,
        "numpy": np.__version__,
        "numba": _version("numba"),
        "scipy": _version("scipy"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": binding.get_host_cpu_name(),
        "libc": " ".join(platform.libc_ver()),
    }


@cache
def _version(package: str) -> str:
    """Look a version up where packages are installed, as to import the package takes far longer."""
    from importlib.metadata import version

    return version(package)


def other_version(found: str) -> str:
    """State that another version of evenhand serves a campaign; two versions cannot take turns, as bits may differ.

    >>> other_version("9.0")
    'evenhand 9.0 decides for the campaign, and this is 0.9.0: restart this worker with that version'
    """
    return (
        f"evenhand {found} decides for the campaign, and this is {__version__}: restart this worker with that version"
    )


def is_later(found: str) -> bool:
    """Return whether a version of evenhand is later than this one.

    >>> is_later(__version__), is_later("99.1")
    (False, True)
    """
    return _order(found) > _order(__version__)


def is_other(found: str) -> bool:
    """Return whether a version of evenhand is not this one.

    >>> is_other(__version__), is_other("99.1")
    (False, True)
    """
    return found != __version__


def deciding_version(store: Readable, campaign: str) -> str:
    """Return the version of evenhand that decides for a campaign."""
    *_, last = store.scan(campaign, kinds=("opened", "upgraded"))
    version: str = read(last)["versions"]["evenhand"]
    return version


def refuse_later(campaign: str, found: str) -> None:
    """Refuse to write to the log of a campaign for which a later version decides.

    Raises:
        Conflict: it does.
    """
    if is_later(found):
        back = "to go back to this one, restore a backup from before the upgrade"
        raise Conflict(f"{campaign!r}: {other_version(found)}; {back}")


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


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
