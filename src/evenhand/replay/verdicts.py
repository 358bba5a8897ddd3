"""The headline of a comparison of recipes: which brings the most, and how far that is told from chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from evenhand.core.faces import count
from evenhand.replay.cells import Difference


def beyond(found: Sequence[Difference]) -> str:
    """Say the differences of two recipes, one per budget, in a few words.

    >>> beyond([Difference(0.01, 0.02, -0.03, 0.05)])
    '+0.0100 ± 0.0400 (95 %), perhaps by chance'
    >>> beyond([Difference(0.01, 0.002, 0.006, 0.014), Difference(0.01, 0.02, -0.03, 0.05)])
    'more at 1, perhaps by chance at 1'
    >>> beyond([Difference(0.01), Difference(-0.02)])
    '-0.0200 to +0.0100 (no errors known)'
    """
    if len(found) == 1:
        d = found[0]
        error = "(no error known)" if d.high is None else f"± {d.high - d.mean:.4f} (95 %)"
        unsure = d.high is not None and not d.told
        return f"{round(d.mean, 4) + 0.0:+.4f} {error}" + (", perhaps by chance" if unsure else "")
    if any(d.low is None for d in found):
        low, high = (round(pick(d.mean for d in found), 4) + 0.0 for pick in (min, max))
        means = f"{low:+.4f}" if low == high else f"{low:+.4f} to {high:+.4f}"
        return f"{means} (no errors known)"
    told = [d.told for d in found]
    counts = {"more": told.count(1), "less": told.count(-1), "perhaps by chance": told.count(0)}
    return ", ".join(f"{what} at {n}" for what, n in counts.items() if n)


def most(
    means: Mapping[str, Sequence[float]],
    over: Collection[str],
    objective: str,
    pairs: Callable[[str, str], Sequence[Difference]],
) -> str:
    """Say which of several recipes brings the most, and how far it is from the next of those that keep to the budget.

    Args:
        means: by recipe, what it brings per round at every budget.
        over: the recipes that use more than a budget.
        objective: what they bring.
        pairs: the differences of two recipes, one per budget.

    >>> means = {"pgd": [0.2, 0.4], "ucb": [0.9, 0.9], "uniform": [0.1, 0.5]}
    >>> most(means, ["ucb"], "visit", lambda best, other: [Difference(0.1), Difference(-0.1)])
    'of 2 recipes within the budget pgd brings most visit at 1 of 2 budgets; \
beyond uniform: -0.1000 to +0.1000 (no errors known)'
    """
    kept = {name: z for name, z in means.items() if name not in over}
    among = kept or means
    budgets = max(map(len, among.values()))
    tops = [max(z[i] for z in among.values() if i < len(z)) for i in range(budgets)]
    wins = {name: sum(x == top for x, top in zip(z, tops, strict=False)) for name, z in among.items()}
    best, *others = sorted(among, key=lambda name: (-wins[name], -sum(among[name])))
    keep = "" if not over else " within the budget" if kept else ", none within the budget,"
    at = "" if budgets == 1 else f" at {wins[best]} of {budgets} budgets"
    said = f"of {count(len(among), 'recipe')}{keep} {best} brings most {objective}{at}"
    found = pairs(best, others[0]) if others else ()
    return said + (f"; beyond {others[0]}: {beyond(found)}" if found else "")
