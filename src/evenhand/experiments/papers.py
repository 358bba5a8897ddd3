"""Every table and figure of the papers, with the command that makes it, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

DO, CHZHEN, SHIBUKAWA, HAN = "Do et al. 2023", "Chzhen et al. 2023", "Shibukawa et al. 2026", "Han et al. 2022"
TITLES = {
    DO: "Contextual bandits with concave rewards, and an application to fair ranking",
    CHZHEN: "Small total-cost constraints in contextual bandits with knapsacks, with application to fairness",
    SHIBUKAWA: "Combinatorial allocation bandits with nonlinear arm utility",
    HAN: "Optimal contextual bandits with knapsacks under realizability via regression oracles",
}
WITHOUT = (
    "Agrawal & Devanur 2014, Bandits with concave rewards and convex knapsacks, prints no table and no figure; "
    "`evenhand reproduce concave-convex` has worlds of our own"
)


class Exhibit(NamedTuple):
    """A table or figure: its paper and number, what it shows, and a command or a reason."""

    paper: str
    number: str  # such as "Figure 1 (left)"
    shows: str
    command: str = ""
    reason: str = ""  # in place of a command

    @property
    def experiment(self) -> str:
        """The name of the experiment, or nothing."""
        return self.command.split()[2] if self.command else ""


def _ranking(number: str, shows: str, words: str, out: str, items: str = "50") -> Exhibit:
    """A figure that a part of the ranking experiment makes, with 50 artists or with all 2,500."""
    audience, rounds, flag = AUDIENCES[items]
    size = f"--rounds {rounds} --replicas 10 --resume --out out/{out}"
    command = f"evenhand reproduce fair-ranking --data DIR {flag}--part {words} {size}"
    return Exhibit(DO, number, f"{shows}, {audience}", command)


def _allocation(figure: str, shows: str) -> Exhibit:
    command = f"evenhand reproduce allocation --figure {figure} --out out/allocation"
    return Exhibit(SHIBUKAWA, f"Figure {figure[0]} ({figure[1]})", shows, command)


def _square(panel: str, shows: str, axis: str) -> Exhibit:
    command = f"evenhand reproduce square-cbwk --sweep {axis} --out out/square-cbwk"
    return Exhibit(HAN, f"Figure 1 ({panel})", shows, command)


def _theory(paper: str, number: str, shows: str, recipes: str) -> Exhibit:
    return Exhibit(paper, number, shows, reason=f"no measurement: bounds, which `Guarantee` states of {recipes}")


AUDIENCES = {
    "50": ("Last.fm with 50 users and 50 artists", 5_000_000, ""),
    "2k": ("Last.fm with all users and 2,500 artists", 1_000_000, "--items 2k "),
}
_BOTH = "Gini welfare of users, items and both over the rounds"
EXHIBITS = (
    _theory(DO, "Table 1", "regret of the algorithms", "`fw_linucb` and `fw_squarecb`"),
    Exhibit(DO, "Figure 1 (left)", "generalised Gini over the rounds, 50 arms, 5 and 20 outcomes",
            "evenhand reproduce concave-rewards --out out/concave-rewards"),
    _ranking("Figure 1 (middle)", "equation 2 over the rounds", 'objectives --objective "eq. 2"', "ranking"),
    _ranking("Figure 1 (right)", "utility against inequality", 'trade-off --objective "eq. 2"', "trade-off"),
    _ranking("Figure 2 (top)", _BOTH, 'objectives --objective "gini welfare"', "ranking"),
    _ranking("Figure 2 (middle)", "the same for equal exposure", 'objectives --objective "equal exposure"', "ranking"),
    _ranking("Figure 2 (bottom)", "the same for welfare", "objectives --objective welfare", "ranking"),
    _ranking("Figure 3 (top)", _BOTH, 'objectives --objective "gini welfare"', "ranking-2k", "2k"),
    _ranking("Figure 3 (bottom)", "the same for welfare", "objectives --objective welfare", "ranking-2k", "2k"),
    _ranking("Figure 4", "utility against inequality", 'trade-off --objective "gini welfare"', "trade-off-2k", "2k"),
    Exhibit(DO, "Figure 5", "generalised Gini over the rounds, 50 and 200 arms, more algorithms",
            "evenhand reproduce concave-rewards --arms 50 --arms 200 --out out/concave-rewards"),
    Exhibit(CHZHEN, "Table 1", "reward, rides, vouchers and fairness cost at the end, both tolerances",
            "evenhand reproduce court"),
    Exhibit(CHZHEN, "Figure 1", "the same over the rounds",
            "evenhand reproduce court --out out/court"),
    Exhibit(CHZHEN, "figure of Section 5", "rewards and rides of Figure 1 at tau = 1e-7",
            "evenhand reproduce court --tau 1e-7 --out out/court"),
    Exhibit(SHIBUKAWA, "Table 1", "notation", reason="no measurement: a list of symbols"),
    Exhibit(SHIBUKAWA, "Figure 1", "satisfaction and matches, in principle", reason="no measurement: a drawing"),
    _allocation("2a", "satisfaction over the rounds"),
    _allocation("2b", "matches over the rounds"),
    _allocation("2c", "satisfaction by the weight lambda of popularity"),
    _allocation("2d", "satisfaction by the saturation beta"),
    _allocation("2e", "shares of the arms"),
    _allocation("2f", "expected matches of the arms"),
    _allocation("3a", "normalised satisfaction by the number of arms"),
    _allocation("3b", "normalised satisfaction by FairX's gamma"),
    _allocation("3c", "time of a round by the horizon"),
    _theory(HAN, "Table 1", "regret with large budgets", "`square_cbwk`"),
    _theory(HAN, "Table 2", "regret with small budgets", "`two_stage_square_cbwk`"),
    _theory(HAN, "Table 3", "growth of regret with m, K and T", "`square_cbwk` and `lin_cbwk`"),
    _square("a", "regret by the dimension m", "m"),
    _square("b", "regret by the number of arms K", "K"),
    _square("c", "regret by the rounds T, m = 5", "T"),
    _square("d", "regret by the rounds T, m = 52", "T"),
)  # fmt: skip


def exhibits(experiment: str = "") -> list[Exhibit]:
    """Return all tables and figures, or those that an experiment makes."""
    return [p for p in EXHIBITS if experiment in ("", p.experiment)]


def listing(experiment: str = "") -> str:
    """Format all tables and figures, or those that an experiment makes, by paper.

    >>> print(listing("court").splitlines()[0].partition(",")[0])
    Chzhen et al. 2023
    """
    found = exhibits(experiment)
    if not found:
        return f"{experiment} is an experiment of our own: it makes no table and no figure of a paper"
    return "\n".join([*_lines(found), *([] if experiment else [WITHOUT])])


def _lines(found: list[Exhibit]) -> Iterator[str]:
    width = max(len(p.number) for p in found)
    for paper, title in TITLES.items():
        here = [p for p in found if p.paper == paper]
        if here:
            yield f"{paper}, {title}"
        for p in here:
            yield f"  {p.number.ljust(width)}  {p.shows}"
            yield f"  {' ' * width}  {p.command or p.reason}"
