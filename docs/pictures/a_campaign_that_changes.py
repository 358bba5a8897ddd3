"""Draw docs/changes.png: `PYTHONPATH=. python docs/pictures/a_campaign_that_changes.py` (needs the extra `plot`)."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.report import ends, scales, style
from evenhand.report.plots import save
from tests.day_worlds import Days

ROUNDS, FIRST, WIDTH, HEIGHT = 3000, 360.0, 4.6, 3.4
TOTALS = {"adopted under 600": 600.0, "not told (360)": FIRST, "adopted under 240": 240.0}
LOOKS = {name: style.look(i)._replace(width=2.0) for i, name in enumerate(TOTALS)}


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


def draw() -> list[style.Axes]:
    """Draw what is spent so far under three totals, which are told after half of the cases."""
    paths = {name: np.cumsum(spending(total)) for name, total in TOTALS.items()}
    figure, (axes,) = style.sheet(1, 1, WIDTH + ends.width(list(TOTALS)), HEIGHT)
    for name, path in paths.items():
        axes.plot(path, color=LOOKS[name].color, lw=2.0)
        axes.plot([ROUNDS / 2, ROUNDS], [TOTALS[name]] * 2, color=LOOKS[name].color, lw=1.0, ls="--")
    axes.axvline(ROUNDS / 2, color=style.LEVEL, lw=0.8)
    axes.set(xlim=(0, ROUNDS), ylim=(0, 640))
    scales.linear(axes.xaxis, whole=True)
    style.labels(axes, "cases", "spent so far", WIDTH, HEIGHT)
    at = [np.arange(ROUNDS)] * len(paths)
    ends.write(axes, ends.of(list(paths), list(LOOKS.values()), at, list(paths.values())), HEIGHT - 1.1)
    caption = "lines: spent so far; dashed: the total from then on; upright: the case after which it is told"
    style.finish(figure, caption, headline=headline({name: float(path[-1]) for name, path in paths.items()}))
    return [axes]


def headline(spent: dict[str, float]) -> str:
    """Say which part of each total is spent, and whether one is exceeded."""
    *parts, last = [f"{spent[name] / total:.0%} of {total:,.0f}" for name, total in TOTALS.items()]
    over = sum(spent[name] > total * (1.0 + 1e-9) for name, total in TOTALS.items())
    kept = f"{over} of {len(spent)} totals are exceeded" if over else "No total is exceeded"
    return f"{kept} when it changes half way: {', '.join(parts)} and {last} are spent"


if __name__ == "__main__":
    save(draw(), Path(__file__).parents[1] / "changes.png")
