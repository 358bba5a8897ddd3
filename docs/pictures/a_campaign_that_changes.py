"""Draw docs/changes.png: `python docs/pictures/a_campaign_that_changes.py` (needs the extra `plot`)."""

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import evenhand as eh
from tests.days import Days

ROUNDS, FIRST = 3000, 360.0
TOTALS = {"adopted under 240": 240.0, "not told (360)": 360.0, "adopted under 600": 600.0}
COLORS = {"adopted under 240": "#c0392b", "not told (360)": "#7f8c8d", "adopted under 600": "#1f6f8b"}


def spending(total: float) -> np.ndarray:
    """Return what was spent on each case by a policy whose total changes after half of them."""
    shop = Days(times=np.arange(ROUNDS) + 0.55, subject_to=(eh.Budget("money", total=FIRST),), horizon=ROUNDS)
    first = eh.resolving(shop.problem, eh.models.BayesianRidge(n_features=9, n_outcomes=2))
    then = eh.resolving(replace(shop.problem, subject_to=(eh.Budget("money", total=total),)), first.model)
    policy, state, world, spent = first, first.start(seed=1), shop.start(1, np.arange(1)), []
    for step in range(ROUNDS):
        if step == ROUNDS // 2:
            policy, state = then, then.adopt(state, of=first)
        context = world.context(step)
        decision = policy.act(state, context)
        (arrival,) = world.respond(step, context, decision)[1]
        policy.learn(state, decision, arrival.y)
        spent.append(arrival.y[0, 0, 1])
    return np.array(spent)


def draw() -> plt.Figure:
    """Draw what is spent so far under three totals, which are told after half of the cases."""
    figure, axes = plt.subplots(figsize=(9.0, 4.5))
    for name, total in TOTALS.items():
        axes.plot(np.cumsum(spending(total)), color=COLORS[name], lw=1.8)
        axes.hlines(total, ROUNDS / 2, ROUNDS, color=COLORS[name], lw=0.9, ls="--")
        axes.annotate(name, (ROUNDS + 30, total), color=COLORS[name], va="center", annotation_clip=False)
    axes.axvline(ROUNDS / 2, color="#2c3e50", lw=0.8)
    axes.annotate("the budget changes", (ROUNDS / 2 + 30, 12), color="#2c3e50")
    axes.set(xlim=(0, ROUNDS), ylim=(0, 640), xlabel="cases", ylabel="spent so far")
    axes.set_title(
        "A new total is spent evenly over the cases that are left, and never exceeded", loc="left", fontsize=11
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    draw().savefig(Path(__file__).parents[1] / "changes.png", dpi=110)
