"""Draw docs/budgets-over-time.png: `python docs/pictures/budgets_over_time.py` (needs the extra `plot`)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import evenhand as eh
from tests.days import Days, cases, forecast

DAYS, ALLOWANCE = 6, 48.0
BUDGETS = {
    "a new allowance every day (per=1)": eh.Budget("money", total=ALLOWANCE, per=1.0),
    "what a day leaves goes on (carry=True)": eh.Budget("money", total=ALLOWANCE, per=1.0, carry=True),
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


def draw() -> plt.Figure:
    """Draw what is spent so far, beside what the spans allow."""
    figure, (above, *each) = plt.subplots(4, 1, figsize=(9.0, 8.0), sharex=True, height_ratios=(1, 2, 2, 2))
    for axes, (name, budget) in zip(each, BUDGETS.items(), strict=True):
        times, spent = spending(budget)
        day = np.floor(times).astype(int)
        daily = "every" in name
        so_far = np.concatenate([np.cumsum(spent[day == d]) for d in range(DAYS)]) if daily else np.cumsum(spent)
        for d in range(DAYS):
            here = day == d
            axes.plot(times[here], so_far[here], color="#1f6f8b", lw=1.8)
        steps = np.arange(DAYS + 1.0)
        totals = np.arange(1, DAYS + 1) if budget.carry else np.full(DAYS, 1 if daily else DAYS)
        allowed = ALLOWANCE * totals
        axes.stairs(allowed, steps, color="#c0392b", lw=1.2, baseline=None)
        axes.set_title(f"{name}: spent so far, and what is allowed", fontsize=10, loc="left")
        axes.set_ylim(0, 1.1 * allowed.max())
    above.hist(times, bins=24 * DAYS, color="#95a5a6")
    above.set_title("cases per hour", fontsize=10, loc="left")
    each[-1].set_xlabel("day")
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    draw().savefig(Path(__file__).parents[1] / "budgets-over-time.png", dpi=110)
