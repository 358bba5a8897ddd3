"""Draw docs/goals.png: `python docs/pictures/goals.py` (needs the extras `plot` and `convex`)."""

from pathlib import Path

import cvxpy as cp
import numpy as np

import evenhand as eh
from evenhand.report import style
from evenhand.report.plots import HEIGHT, WIDTH, save

BOTH, LESS, MORE = ("a", "b"), 0.2, 0.8
OBJECTIVES = {
    "plain sum (Linear)": eh.objectives.Linear({"a": 1.0, "b": 1.0}),
    "the least counts twice (GeneralizedGini)": eh.objectives.GeneralizedGini.welfare(BOTH),
    "sum of roots (AlphaFair.welfare)": eh.objectives.AlphaFair.welfare(BOTH, power=0.5),
    "roots and the least (Concave)": eh.objectives.Concave(BOTH, lambda z: cp.sum(cp.sqrt(z)) + 0.5 * cp.min(z)),
    "Nash welfare (AlphaFair, alpha = 1)": eh.objectives.AlphaFair(BOTH, alpha=1.0),
}


def ratios():
    """Return how much more one unit counts for who has less than for who has more, by objective."""
    at = np.array([[LESS, MORE]])
    slopes = {name: f.supergradient(at)[0] for name, f in OBJECTIVES.items()}
    return {name: float(z[0] / z[1]) for name, z in slopes.items()}


def headline(found):
    """Say what the most even of the objectives counts."""
    most = max(found.values())
    return f"Fair objectives count a gain of the worse off up to {most:.2g} times; a plain sum counts it once"


def draw():
    """Draw a bar per objective, with its number."""
    found = ratios()
    names, values = list(found), list(found.values())
    _, (axes,) = style.sheet(1, 1, WIDTH + 1.0, HEIGHT)
    shades = [style.PALETTE[0] if z > 1.01 else style.GREY for z in values]
    axes.barh(range(len(names)), values, color=shades, height=0.6, zorder=2)
    axes.set_yticks(range(len(names)), names, fontsize=style.LABEL)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.15 * max(values))
    axes.set_xticks([])
    axes.grid(visible=False)
    for i, z in enumerate(values):
        axes.annotate(f"× {z:.2g}", (z, i), (8, 0), textcoords="offset points", va="center", fontsize=style.LABEL)
    told = f"one more for who has {LESS}, against one more for who has {MORE}: the slopes of the objective, divided"
    style.finish(axes.figure, told, headline=headline(found))
    return [axes]


if __name__ == "__main__":
    save(draw(), Path(__file__).parents[1] / "goals.png")
