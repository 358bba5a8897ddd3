"""The table as a page of the documents."""

import math
from collections.abc import Mapping

from tests.optima.stated import CALIBRATED_ON, CHECKED_ON, STATED
from tests.optima.table import REPLICAS, Refused, Row
from tests.optima.worlds import WORLDS, World, world

HEAD = ("environment", "recipe", "share", "se", "stated", "worst", "locked in", "overspent", "at most", "parity missed")
REFUSALS = ("recipe", "needs", "environments that do not have it")
INTRO = """\
# Known optima

Every recipe in every simulated environment that it accepts, held against what the best static policy reaches that knows
the truth. `python -m tests.optima` writes this page; `tests/optima` checks the numbers.

**Share.** The objective at the average outcomes of a run, on true means, over the optimum. The optimum is that of the
fluid problem on sampled contexts (`evenhand.run.opt`); where features are hidden, that of one lottery for everybody
(`opt_without_contexts`); where every replica has a truth of its own (`MultiObjective`), that of the replica in
hindsight. A policy that keeps to all constraints does not exceed the optimum on average: a share above 1 comes with
overspending. The share counts everything that is reached, also what doing nothing reaches, which is 0.80 on the court.

**Columns.** `se` is the standard error of the mean share over {replicas} replicas, that of the optimum included.
`stated` is the share that the tests demand: the mean on seed {calibrated} less one standard error, rounded down, and at
most 1. The numbers here are of seed {checked}, on which the mean may miss the stated share by three standard errors.
`worst` is the lowest share of any replica. `locked in` is the share of replicas that gain less than half of the mean
gain over doing nothing or drawing uniformly, whichever is better; `-` where the mean gain is below a tenth of what can
be gained.
`overspent` is the largest share of a budget that was spent on top of it, mean over replicas, and `at most` that of the
worst replica; `hard` means that hard limits were in force and nothing was overspent in any replica. `parity missed` is
the excess over the tolerance per round. Cells are empty where nothing is spent or no parity is asked for.

**Settings.** All recipes are given the same model in an environment, and their own defaults. What has no default comes
from theory or from the optimum: the rate of `square_cbwk` from its Theorem A.1 at Z = T OPT / B, the exploration of its
two-stage variant from the theory as far as it takes at most a quarter of the smallest budget, the prices of
`mixed_oracle` from `opt`, the rate of `fw_squarecb` as A sqrt(t) over the variance of the noise. `fw` makes `lin_cbwk`
concave where something is spent, else `ucb`. Horizons are short, so that the whole table takes a minute and a half:
shares say what defaults reach early, not in the limit.
"""
LOW = """\
## Why some shares are low

Each of these was checked by changing what is named, on seed 1.

- `lin_cbwk`, `fw` over it, and `square_cbwk` start with prices whose sum is near Z, which takes all that a play can be
  worth at the declared range, and let them fall. With Z at twice the sum of the optimal prices, `lin_cbwk` reaches 0.94
  on `MixedContexts` in the place of 0.88, and 0.99 in the places of 0.96 and 0.94 on the court and on `FixedContexts`,
  whose ranges are twice as long as what a play is worth.
- `square_cbwk` also explores by the theory's rate, about 13 here, which is cautious: ten times the rate with that Z
  reaches 0.91 on `MixedContexts`, 0.97 on the court and 0.96 on `FixedContexts`, and 0.94 on `MixedArms` without it.
- `two_stage_square_cbwk` has the same rate, pays for its first stage, and sets the budgets of the second as if that had
  cost 1 per round.
- `pgd_adaptive` underspends where costs are learned and noisy. The default thresholds of its regimes, 2.6 on
  `MixedArms`, suit known costs. Coins exceed them by luck alone, so that the step doubles until prices swing. With
  thresholds ten times as large it reaches the share of `pgd`, and overspends as that does.
- `mixed_oracle` holds the optimal prices fixed. At these the actions that the optimum mixes are ties, so that errors of
  the model decide which is played and what is spent: it is a baseline that shows why prices must move.
- `bwcr` on `MixedContexts`: its lottery leads back to the budgets in every context by itself and saves little for those
  who need it more. With T = 8000 it reaches 0.90.
- `ucb_bwk` and `ucb_bwcr` on `MixedContexts`: their programs keep to the budgets in every context by themselves. So
  does that of `ucb_bwcr` on `Routing`, where a request may then use no more of an edge than its share per round, even
  if the other requests leave it free: four times the rounds change nothing (0.68 in the place of 0.67), and with
  capacities that are hardly ever short (`scarcity=5`) it reaches 0.98.
- Everybody on `BernoulliKnapsacks`: 2,000 rounds are few for ten arms with intervals of coins. With T = 16,000
  `resolving` and `pd_bwk` reach 0.95, `ucb_bwk`, `lin_cbwk` and `fw_dual` 0.94, `bwcr` 0.93.
- `greedy_bwk` on `MixedArms` always plays the cheapest arm, which has the best ratio, and leaves most of the budgets
  unused: chances add up to 1 at most, which the ratio ignores. `pd_bwk` has a price of time for that.
- `fw_dual` on `MixedContexts` takes a while to find its prices. With T = 8000 it reaches 0.95.
- `lyapunov` takes what a play is worth at most for the unit of its prices, which is far above their optimum on
  `Lessons` and on the court. With a tenth of that `worth` it reaches 0.94 in the place of 0.75 on `Lessons`, where it
  then misses parities by 0.012 per round in the place of less than 0.001, and 0.98 in the place of 0.93 on the court.
- `uniform` does not look; `ucb` does not look at constraints, and has its share by overspending.
"""


def page(rows: Mapping[tuple[str, str], Row | Refused]) -> str:
    """The whole page."""
    intro = INTRO.format(replicas=REPLICAS, calibrated=CALIBRATED_ON, checked=CHECKED_ON)
    lines = [_line(HEAD), _line(["---"] * 2 + ["---:"] * 8)]
    for name in WORLDS:
        lines += [_line(cells(recipe, name, row)) for (recipe, n), row in rows.items() if n == name and accepted(row)]
    worlds = [f"- `{name}`: {_described(world(name))}" for name in WORLDS]
    return "\n".join([intro, *worlds, "", "## Shares", "", *lines, "", LOW, *_refusals(rows)]) + "\n"


def accepted(row: Row | Refused) -> bool:
    """Whether there is something to show."""
    return isinstance(row, Row)


def cells(recipe: str, name: str, row: Row) -> list[str]:
    """One line of the table."""
    problem = world(name).environment.problem
    spends, parity = bool(problem.spending), len(problem.spending) < len(problem.subject_to)
    spent = (
        ["hard", ""]
        if row.hard and not row.overspent.any()
        else [f"{row.overspent.mean():.3f}", f"{row.overspent.max():.3f}"]
    )
    return [
        name,
        f"`{recipe}`",
        f"{row.share:.3f}",
        f"{row.se:.3f}",
        f"{STATED[recipe][name]:.2f}",
        f"{row.worst:.3f}",
        "-" if math.isnan(row.locked) else f"{row.locked:.2f}",
        *(spent if spends else ["", ""]),
        f"{row.missed:.3f}" if parity else "",
    ]


def _described(w: World) -> str:
    model = repr(w.model)
    return f"`{w.environment!r}` with `{model}`"


def _refusals(rows: Mapping[tuple[str, str], Row | Refused]) -> list[str]:
    """What is refused, by recipe and sentence."""
    found: dict[tuple[str, str], list[str]] = {}
    for (recipe, name), row in rows.items():
        if isinstance(row, Refused):
            found.setdefault((recipe, row.why), []).append(name)
    lines = [_line([f"`{recipe}`", why, "; ".join(names)]) for (recipe, why), names in found.items()]
    return ["## Refusals", "", _line(REFUSALS), _line(["---"] * 3), *lines]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
