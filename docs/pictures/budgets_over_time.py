"""Draw docs/budgets-over-time.png: `PYTHONPATH=. python docs/pictures/budgets_over_time.py` (needs `plot`)."""

from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.report import scales, style
from evenhand.report.plots import save
from tests.day_worlds import Days, cases, forecast

DAYS, ALLOWANCE, WIDTH, HEIGHT = 6, 48.0, 5.8, 1.7
BUDGETS = {
    "a new allowance every day (per=1)": eh.Budget("money", total=ALLOWANCE, per=1.0),
    "allowances that carry over (carry=True)": eh.Budget("money", total=ALLOWANCE, per=1.0, carry=True),
    "one total for all days": eh.Budget("money", total=ALLOWANCE * DAYS),
}


def spending(budget: eh.Budget) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of cases and what was spent on each."""
    shop = Days(times=cases(3, DAYS), subject_to=(budget,), until=float(DAYS), traffic=forecast())
    policy = eh.resolving(shop.problem, eh.models.BayesianRidge(n_features=9, n_outcomes=2))
    state, world, spent = policy.start(seed=1), shop.start(1, np.arange(1)), []
    for step in range(shop.steps):
        context = world.context(step)
        decision = policy.act(state, context)
        (arrival,) = world.respond(step, context, decision)[1]
        policy.learn(state, decision, arrival.y)
        spent.append(arrival.y[0, 0, 1])
    return shop.times, np.array(spent)


def draw() -> list[style.Axes]:
    """Draw what is spent so far, beside what the spans allow."""
    figure, (above, *each) = style.sheet(1 + len(BUDGETS), 1, WIDTH, HEIGHT, shared="x")
    spent_of = {}
    for axes, (name, budget) in zip(each, BUDGETS.items(), strict=True):
        times, spent = spending(budget)
        day = np.floor(times).astype(int)
        daily = budget.per is not None and not budget.carry
        so_far = np.concatenate([np.cumsum(spent[day == d]) for d in range(DAYS)]) if daily else np.cumsum(spent)
        for d in range(DAYS):
            axes.plot(times[day == d], so_far[day == d], color=style.PALETTE[0], lw=2.0)
        many = np.arange(1, DAYS + 1) if budget.carry else np.full(DAYS, 1 if daily else DAYS)
        allowed = ALLOWANCE * many
        axes.stairs(allowed, np.arange(DAYS + 1.0), color=style.PALETTE[1], lw=1.4, baseline=None)
        style.title(axes, name, WIDTH)
        style.labels(axes, "", "money", WIDTH, 3.0)
        axes.set_ylim(0, 1.1 * allowed.max())
        scales.linear(axes.yaxis, ticks=4)
        spent_of[name] = spent.sum() / (ALLOWANCE * DAYS)
    above.hist(times, bins=24 * DAYS, color=style.GREY)
    style.title(above, "when cases come", WIDTH)
    style.labels(above, "", "per hour", WIDTH, 3.0)
    style.labels(each[-1], "day", "money", WIDTH, 3.0)
    parts = ", ".join(f"{part:.0%} with {name.split(' (')[0]}" for name, part in spent_of.items())
    style.finish(figure, "blue: spent so far; orange: what is allowed", headline=f"Spent of the same money: {parts}")
    return [above, *each]


if __name__ == "__main__":
    save(draw(), Path(__file__).parents[1] / "budgets-over-time.png")
