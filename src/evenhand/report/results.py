"""Results of an experiment as a table and as JSON: one row per system, point of a sweep and metric."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from evenhand.core.files import replacement
from evenhand.core.types import Floats
from evenhand.core.validate import folder, on_disk
from evenhand.report.summary import number, standard_error, table
from evenhand.version import __version__


class Measurement(NamedTuple):
    """A metric of a system at a point; `worst` is the worst replica, `published` the number in the source."""

    system: str
    at: Mapping[str, float]
    metric: str
    mean: float
    se: float | None = None
    worst: float | None = None
    published: float | None = None

    @staticmethod
    def of(
        system: str,
        at: Mapping[str, float],
        metric: str,
        values: Floats,
        *,
        worst: Literal["low", "high"],
        published: float | None = None,
    ) -> Measurement:
        """Summarise one value per replica by the mean, its standard error and the worst.

        >>> import numpy as np
        >>> Measurement.of("pgd", {"tau": 0.025}, "reward", np.array([0.46, 0.47]), worst="low").worst
        0.46
        """
        extreme = values.min() if worst == "low" else values.max()
        return Measurement(system, at, metric, float(values.mean()), standard_error(values), float(extreme), published)


@dataclass
class Results:
    """All measurements of an experiment, with the settings that reproduce it."""

    experiment: str
    settings: dict[str, object]
    rows: list[Measurement] = field(default_factory=list)
    interrupted: bool = False
    se_of: str = "of the mean over replicas"  # describes the standard errors of the rows
    notes: tuple[str, ...] = ()  # remarks, such as on the log
    checks: Mapping[str, str | None] = field(default_factory=dict)  # what is wrong; None where nothing was found

    def find(self, system: str, metric: str, at: Mapping[str, float] | None = None) -> Measurement | None:
        """Find a system's measurement of a metric, at a point of the sweep if one is given; None if there is none."""
        for row in self.rows:
            if row.system == system and row.metric == metric and (at is None or row.at == at):
                return row
        return None

    def to_dict(self) -> dict[str, object]:
        """Convert to the schema of `results.json`, which every experiment uses."""
        return {
            "experiment": self.experiment,
            "version": __version__,
            "se": self.se_of,
            "settings": self.settings | ({"interrupted": True} if self.interrupted else {}),
            "notes": list(self.notes),
            **({"checks": dict(self.checks)} if self.checks else {}),
            "rows": [{k: _plain(v) for k, v in row._asdict().items()} for row in self.rows],
        }

    def write(self, place: Path) -> Path:
        """Write `results.json` into a folder, which is created if needed; the file appears complete or not at all."""
        path = folder(place) / "results.json"
        with on_disk("out", "a file that can be written"), replacement(path) as part:
            part.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
        return path

    def table(self, at: Mapping[str, float], metrics: tuple[str, ...]) -> str:
        """Format a table of systems by metrics: the mean, and the worst replica and published value if known."""
        systems = list(dict.fromkeys(row.system for row in self.rows if row.at == at))
        here = {m: [r for r in self.rows if r.metric == m and r.at == at] for m in metrics}
        shown = {m: any(r.published is not None for r in rows) for m, rows in here.items()}
        spread = {m: any(r.worst is not None for r in rows) for m, rows in here.items()}
        head = ["system"]
        for m in metrics:
            head += [m, *(["worst"] if spread[m] else []), *(["published"] if shown[m] else [])]
        lines = []
        for system in systems:
            cells = [system]
            for m in metrics:
                row = self.find(system, m, at)
                cells += [number(row.mean if row else None)]
                cells += [number(row.worst if row else None)] if spread[m] else []
                cells += [number(row.published if row else None)] if shown[m] else []
            lines.append(cells)
        return table(head, lines)


def _plain(value: object) -> object:
    """Replace NaN and infinities by None, as JSON has neither."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
