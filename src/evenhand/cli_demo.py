"""The command that demonstrates the library: it ends with what was seen, and with the path of a picture."""

from __future__ import annotations

import argparse
import importlib.util
import textwrap
from pathlib import Path

OUT = Path("evenhand-demo")  # where a picture can be drawn and no folder is stated


def demonstrate(o: argparse.Namespace) -> int:
    """Run the demonstration, and say what was seen."""
    from evenhand.experiments.demo import PICTURE
    from evenhand.experiments.demo.findings import seen
    from evenhand.experiments.loop import run

    out = o.out if o.out is not None or importlib.util.find_spec("matplotlib") is None else OUT
    found = run(o.made(replicas=o.replicas, seed=o.seed, jobs=o.jobs), out=out, resume=o.resume)
    if found.interrupted:
        return 130
    print("\n" + "\n".join(textwrap.fill(sentence, 118) for sentence in seen(found).split("\n")))
    print("no picture: `pip install 'evenhand[plot]'` lets it be drawn" if out is None else f"picture: {out / PICTURE}")
    return 0
