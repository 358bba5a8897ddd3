"""The table as a page of the documents."""

import math
from collections.abc import Mapping

from tests.optima.table import REPLICAS, Refused, Row
from tests.optima.targets import CALIBRATED_ON, CHECKED_ON
from tests.optima.worlds import WORLDS, World, world

DETAILS = ("environment", "recipe", "se", "locked in", "overspent", "at most", "parity missed")
REFUSALS = ("needs", "recipes")
SMALL = 0.01  # standard errors of shares below it are not shown
INTRO = """\
# Known optima

Every recipe in every simulated environment that it accepts, beside the best static policy that knows the truth.
`python -m tests.optima` writes this page; `tests/optima` checks the numbers.

**Share.** The objective at the average outcomes of a run, on true means, over the optimum: of the fluid problem on
sampled contexts (`evenhand.run.opt`); where features are hidden, of one lottery for everybody
(`opt_without_contexts`); where every replica has a truth of its own (`MultiObjective`), of the replica in hindsight. A
share above 1 comes with overspending. Doing nothing reaches 0.80 on the court.

**Shares.** Each cell has the mean share over {replicas} replicas and, in brackets, that of the worst replica, on seed
{checked}. A star marks a gain over doing nothing or drawing uniformly, whichever is better, of less than a tenth of
what can be gained. Empty cells are [refusals](#refusals). The tests demand the mean on seed {calibrated} less one
standard error.

**Details.** The command also [prints](tables/optima.txt) standard errors, the share of replicas that are locked in
(they gain less than half of the mean gain), overspending, and what parities are missed by. Only `mixed_oracle`, `pgd`,
`pgd_adaptive`, `primal_lp` and `ucb` overspend.

**Settings.** All recipes have the same model in an environment, and their own defaults. What has no default comes from
theory or from the optimum: the rate of `square_cbwk`, the exploration of its two-stage variant as far as it takes at
most a quarter of the smallest budget, the prices of `mixed_oracle`, the rate of `fw_squarecb`. `fw` makes `lin_cbwk`
concave where something is spent, else `ucb`. Horizons are short.
"""
LOW = """\
## Why some shares are low

Each of these was checked by changing what is named, on seed 1.

- `lin_cbwk`, `fw` over it, and `square_cbwk` start with prices whose sum is near Z. With Z at twice the sum of the
  optimal prices, `lin_cbwk` reaches 0.94 on `MixedContexts` in the place of 0.88.
- `square_cbwk` and `two_stage_square_cbwk` also explore by the theory's rate: ten times the rate with that Z reaches
  0.91 on `MixedContexts`.
- `pgd_adaptive` underspends where costs are learned and noisy, as these exceed the thresholds of its regimes by luck.
- `mixed_oracle` holds the optimal prices fixed. At these the actions that the optimum mixes are ties, so that errors of
  the model decide which is played.
- `bwcr`, `ucb_bwk` and `ucb_bwcr` keep to the budgets in every context by themselves.
- Everybody on `BernoulliKnapsacks`: 2,000 rounds are few for ten arms with intervals of coins. With T = 16,000
  `resolving` and `pd_bwk` reach 0.95, `ucb_bwk`, `lin_cbwk` and `fw_dual` 0.94, `bwcr` 0.93.
- `greedy_bwk` on `MixedArms` always plays the cheapest arm and leaves most of the budgets unused.
- `fw_dual` on `MixedContexts` finds its prices late. With T = 8000 it reaches 0.95.
- `lyapunov` takes what a play is worth at most for the unit of its prices, which is far above their optimum on
  `Lessons` and on the court. With a tenth of that `worth` it reaches 0.94 in the place of 0.75 on `Lessons`, where it
  then misses parities by 0.012 per round, and 0.98 in the place of 0.93 on the court.
"""


def page(rows: Mapping[tuple[str, str], Row | Refused]) -> str:
    """The whole page."""
    intro = INTRO.format(replicas=REPLICAS, calibrated=CALIBRATED_ON, checked=CHECKED_ON)
    worlds = [f"- `{name}`: {_described(world(name))}" for name in WORLDS]
    return "\n".join([intro, *worlds, "", "## Shares", "", *_shares(rows), "", LOW, *_refusals(rows)]) + "\n"


def printed(rows: Mapping[tuple[str, str], Row | Refused]) -> list[str]:
    """Lines of all tables: those of the page, and between them the details of rows."""
    details = [_line(DETAILS), _line(["---"] * 2 + ["---:"] * 5)]
    for name in WORLDS:
        details += [_line(z) for (recipe, n), row in rows.items() if n == name and (z := cells(recipe, name, row))]
    return [*_shares(rows), *details, *_refusals(rows)[2:]]


def _shares(rows: Mapping[tuple[str, str], Row | Refused]) -> list[str]:
    """A line per recipe, and a column per environment."""
    lines = [_line(["recipe", *WORLDS]), _line(["---"] + ["---:"] * len(WORLDS))]
    for recipe in dict.fromkeys(recipe for recipe, _ in rows):
        found = [rows[recipe, name] for name in WORLDS]
        shown = ["" if isinstance(z, Refused) else _share(z) for z in found]
        lines += [_line([f"`{recipe}`", *shown])] if any(shown) else []
    return lines


def _share(row: Row) -> str:
    return f"{row.share:.3f}{'*' if math.isnan(row.locked) else ''} ({row.worst:.3f})"


def cells(recipe: str, name: str, row: Row | Refused) -> list[str]:
    """One line of the details, or nothing where there is nothing to tell."""
    if isinstance(row, Refused):
        return []
    problem = world(name).environment.problem
    spends, parity = bool(problem.spending), len(problem.spending) < len(problem.subject_to)
    spent = [f"{z:.3f}" if spends else "" for z in (row.overspent.mean(), row.overspent.max())]
    told = [
        f"{row.se:.3f}",
        "-" if math.isnan(row.locked) else f"{row.locked:.2f}",
        *spent,
        f"{row.missed:.3f}" if parity else "",
    ]
    quiet = row.se < SMALL and all(z in ("", "-", "0.00", "0.000") for z in told[1:])
    return [] if quiet else [name, f"`{recipe}`", *told]


def _described(w: World) -> str:
    model = repr(w.model)
    return f"`{w.environment!r}` with `{model}`"


def _refusals(rows: Mapping[tuple[str, str], Row | Refused]) -> list[str]:
    """What is refused, by sentence."""
    found: dict[str, dict[str, None]] = {}
    for (recipe, _), row in rows.items():
        if isinstance(row, Refused):
            found.setdefault(row.why, {})[f"`{recipe}`"] = None
    lines = [_line([why, ", ".join(recipes)]) for why, recipes in found.items()]
    return ["## Refusals", "", _line(REFUSALS), _line(["---"] * 2), *lines]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
