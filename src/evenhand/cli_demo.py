"""The command that demonstrates the library: it ends with what was seen, and with the path of a picture."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

OUT = Path("evenhand-demo")  # where no folder is stated


def demonstrate(o: argparse.Namespace) -> int:
    """Run the demonstration, and say what was seen."""
    from evenhand.core.extras import has_matplotlib
    from evenhand.experiments.demo import PICTURE
    from evenhand.experiments.demo.findings import seen
    from evenhand.experiments.loop import run

    out = OUT if o.out is None else o.out
    found = run(o.made(replicas=o.replicas, seed=o.seed, jobs=o.jobs), out=out, resume=o.resume)
    if found.interrupted:
        return 130
    print("\n" + "\n".join(textwrap.fill(sentence, 118) for sentence in seen(found).split("\n")))
    if has_matplotlib():
        print(f"picture: {out / PICTURE}")
    return 0
