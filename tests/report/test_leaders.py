"""Sentences above pictures."""

import numpy as np
import pytest

from evenhand.experiments.concave_convex import study as concave_convex
from evenhand.experiments.small_budgets import study as small_budgets
from evenhand.experiments.square_cbwk import study as square_cbwk
from evenhand.report.leaders import highest, leads, least
from evenhand.run.comparison import PairedDifference


def test_the_lead_has_the_interval_of_paired_differences():
    luck = np.random.default_rng(0).normal(size=10)
    ours, theirs = 2.0 + luck + np.linspace(0.0, 0.1, 10), 1.5 + luck
    p = PairedDifference.of("ours", "theirs", "reward", (ours - theirs) / 4.0, "low")
    said = leads({"theirs": theirs, "ours": ours}, 4.0, "the most")
    assert said == (
        f"ours reaches {ours.mean() / 4:.1%} of the most, {100 * p.mean:.1f} points more than the next best, theirs "
        f"(95 %: {100 * p.low:.1f} to {100 * p.high:.1f})"
    )


def test_no_lead_is_told_where_the_interval_holds_0_or_a_replica_is_unknown():
    values = np.array([1.0, 2.0, 3.0])
    assert "is indistinguishable from" in leads({"a": values, "b": values[::-1] - 0.1}, 3.0, "the most")
    assert "is indistinguishable from" in leads(
        {"a": values[:1], "b": values[1:2]}, 3.0, "the most"
    )  # a replica has no error
    assert leads({"a": values, "b": np.array([np.nan, 9.0, 9.0])}, 4.0, "the most") == "a reaches 50.0% of the most"


@pytest.mark.parametrize("best", [0.0, -1.0, np.nan])
def test_there_is_no_share_of_nothing(best):
    assert leads({"a": np.ones(2), "b": np.zeros(2)}, best, "the most") == "a ends highest"
    assert leads({}, best, "the most") == "no run has ended"


def test_the_highest_is_told_in_the_units_of_the_quantity():
    values = np.array([100.0, 200.0, 300.0])
    ends = {"a": values, "b": values[::-1] - 10.0, "c": np.array([np.nan, 900.0, 900.0])}
    assert highest(ends, "margin") == "a has the highest margin, 200, which is indistinguishable from the 190 of b"
    assert highest({"a": values}, "margin") == "a has margin of 200"
    assert highest({}, "margin") == "no run has ended"


def test_the_least_counts_points_that_were_won():
    assert least({"a": [5.0, 1.0], "b": [4.0, 9.0]}, "a", "regret") == (
        "a has the least regret at 1 of 2 points: 1 to 5, where the next best has 4 to 9"
    )
    assert least({"a": [5.0, 1.0]}, "a", "regret") == "a has a regret of 1 to 5"


def test_sweeps_say_what_ours_has_beside_the_next_best():
    points = square_cbwk.SWEEPS["K"].panels["m = 52, T = 2000"][:2]
    found = {p: {n: np.full(2, 10.0 * (1 + i)) for i, n in enumerate(square_cbwk.LOOKS)} for p in points}
    for p in points:
        found[p][square_cbwk.OURS] = np.array([1.0, 3.0])
    said = square_cbwk._headline(square_cbwk.SWEEPS["K"], found)
    assert said == "resolving has the least mean regret at 2 of 2 points: 2 to 2, where the next best has 10 to 10"
    assert square_cbwk._headline(square_cbwk.SWEEPS["K"], {}) == ""


def test_small_budgets_say_what_is_gained_with_the_fewest_rides():
    def outcomes(gain):
        return small_budgets.Outcomes(np.full(2, gain), np.zeros(2))

    found = {"resolving": {100.0: outcomes(0.9), 200.0: outcomes(1.0)}, "pgd": {100.0: outcomes(0.7), 200.0: None}}
    assert small_budgets._headline(found, kept=True) == (
        "resolving gains 90% to 100% of what is possible and never overspends; with 100 rides it gains 90%, and the "
        "next best, pgd, 70%"
    )
    assert small_budgets._headline({"resolving": found["resolving"]}, kept=False) == (
        "resolving gains 90% to 100% of what is possible"
    )


def test_averages_that_end_nearest_to_their_region_are_named():
    far = {"a": np.array([0.2, 0.4]), "b": np.array([0.0, 0.02])}
    assert concave_convex._nearest(far) == "b ends nearest to the region: 0.010 away from it; the next, a, 0.300"
