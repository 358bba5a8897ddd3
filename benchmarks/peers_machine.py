"""What a run of measurements stands on: date, processor, load and versions; no name of a host."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "scipy", "vowpalwabbit", "mabwiser", "contextualbandits", "river")


def stand() -> dict[str, Any]:
    """Return date, machine and versions, as they are written to JSON."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_at_start": [round(z, 2) for z in os.getloadavg()],
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": {k: os.environ.get(k) for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")},
        "versions": {name: _version(name) for name in PACKAGES},
    }


def text(machine: dict[str, Any]) -> str:
    """Return date, machine and load in a line."""
    one = f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, Python {machine['python']}"
    return f"{one}, load at the start {machine['load_at_start']}"


def _processor() -> str:
    """The model of the processor; on Linux `platform` knows the architecture alone."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
