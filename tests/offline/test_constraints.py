"""Constraints under fixed policies: what they use, and how sure it is that they are kept."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.objectives import AlphaFair
from evenhand.offline import value
from evenhand.offline.cautions import kept
from evenhand.problem import Budget, Floor, Outcome, Parity, Ratio, Within
from evenhand.sets import Ball
from tests.offline.bootstraps import resampled
from tests.offline.hall import share_confidence
from tests.offline.logs import GROUPS, draw, problem

LIMITS = (
    Budget("cents", rate=0.9),
    Budget("sale", rate=0.32),
    Floor("sale", rate=0.25),
    Floor("sale", by="area", rate=0.2),
    Parity("cents", by="area", tolerance=0.3),
    Ratio("cents", over="sale", at_most=3.0),
    Ratio("sale", over="cents", at_least=0.4),
)
ALIKE = np.ones(4000)  # weights of the rows


@pytest.fixture(scope="module")
def log():
    return draw(4000, 8, skewed=True, stated=problem(subject_to=LIMITS)).evidence


@pytest.fixture(scope="module")
def policy(log):
    """Large letters for the first trait above 0, with some luck."""
    return 0.8 * np.eye(3)[np.where(log.features[:, 1] > 0, 2, 0)] + 0.2 / 3


@pytest.fixture(scope="module")
def amounts(log, policy):
    tables = log.tables()
    return {name: (policy * tables[name].scores).sum(1) for name in ("sale", "cents")}


def rows_of(amounts, groups):
    """Every row of the limits, at most its bound, computed directly; and the sides that they are shown with."""
    sale, cents = amounts["sale"].mean(), amounts["cents"].mean()
    by = [(amounts["sale"][groups == g].mean(), amounts["cents"][groups == g].mean()) for g in range(3)]
    return [
        [(cents, 0.9)],
        [(sale, 0.32)],
        [(-sale, -0.25)],
        [(-s, -0.2) for s, _ in by],
        [(z, 0.3) for _, c in by for z in (c - cents, cents - c)],
        [(cents - 3.0 * sale, 0.0)],
        [(0.4 * cents - sale, 0.0)],
    ]


def test_uses_and_limits_are_those_of_the_rows(log, amounts):
    found = list(kept(log, amounts.__getitem__, ALIKE))
    signs = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    assert [k.side for k in found] == ["at most", "at most", "at least", "at least", "at most", "at most", "at most"]
    for k, rows, sign in zip(found, rows_of(amounts, log.groups["area"]), signs, strict=True):
        assert k.limit == pytest.approx(sign * rows[0][1], abs=1e-12)
        least = [sign * v for v, _ in rows]
        assert any(k.used.value == pytest.approx(v, rel=1e-9) for v in least), k.constraint


@pytest.mark.slow
def test_errors_of_rows_are_those_of_bootstraps(log, amounts):
    """Groups are divided anew in each of 4,000 resamples, whose own error is 1.1 %."""
    found, again = list(kept(log, amounts.__getitem__, ALIKE)), []
    for counts in resampled(4000, 4000, seed=2):
        sale, cents = (counts @ amounts[name] / 4000 for name in ("sale", "cents"))
        inside = [counts * (log.groups["area"] == g) for g in range(3)]
        by = [tuple((c @ amounts[name]) / c.sum(1) for name in ("sale", "cents")) for c in inside]
        each = {
            "cents": cents,
            "sale": sale,
            "sale at least": sale,
            "cents - 3 sale": cents - 3.0 * sale,
            "0.4 cents - sale": 0.4 * cents - sale,
        }
        for g, name in enumerate(GROUPS):
            each[f"sale area={name} at least"] = by[g][0]
            each[f"cents area={name} above"] = each[f"cents area={name} below"] = by[g][1] - cents
        again.append(np.stack([each[k.row] for k in found]))
    for k, sd in zip(found, np.concatenate(again, 1).std(1, ddof=1), strict=True):
        assert k.used.se == pytest.approx(sd, rel=0.03), k.row


def test_confidence_is_that_of_the_interval_that_ends_at_the_limit(log, amounts):
    budget, sales, floor, *_ = kept(log, amounts.__getitem__, ALIKE)
    for k in (budget, sales, floor):
        inside = k.limit - k.used.value if k.side == "at most" else k.used.value - k.limit
        assert (k.confidence > 0.5) == (inside > 0.0)
    limit = budget.used.value + budget.used.tails.reach(1.6448536269514722)[1] * budget.used.se
    stated = replace(log, problem=problem(subject_to=(Budget("cents", rate=limit),)))
    (at,) = kept(stated, amounts.__getitem__, ALIKE)
    assert at.confidence == pytest.approx(0.95)
    stated = replace(log, problem=problem(subject_to=(Floor("cents", rate=limit),)))
    (at,) = kept(stated, amounts.__getitem__, ALIKE)
    assert at.confidence == pytest.approx(0.05)


def test_several_rows_have_to_be_kept_together(log, amounts):
    each = [amounts["sale"][log.groups["area"] == g] for g in range(3)]
    least = min(each, key=np.mean)
    rate = float(least.mean() - 1.2 * least.std() / np.sqrt(len(least)))
    stated = replace(log, problem=problem(subject_to=(Floor("sale", by="area", rate=rate),)))
    (k,) = kept(stated, amounts.__getitem__, ALIKE)
    below = [share_confidence(z.mean(), z.std() / np.sqrt(len(z)), len(z), rate) for z in each]
    sure = [1.0 - c for c in below]
    assert k.confidence == pytest.approx(1.0 - sum(below), abs=1e-3)
    assert 0.5 < k.confidence < min(sure) + 1e-3 < 0.9
    assert k.used.value == pytest.approx(least.mean())


def test_what_is_known_before_acting_is_sure(log):
    tables = log.tables()
    for action, sure in ((0, 1.0), (2, 0.0)):
        found = kept(log, lambda name, a=action: (np.eye(3)[np.full(4000, a)] * tables[name].scores).sum(1), ALIKE)
        k = next(iter(found))
        assert (k.used.se, k.confidence) == (0.0, sure)
    stated = replace(log, problem=problem(subject_to=(Budget("cents", rate=2.0),)))
    (k,) = kept(stated, lambda name: np.full(4000, 2.0), ALIKE)
    assert k.confidence == 1.0  # all of the limit, and no more


def test_confidence_is_honest():
    """Of 300 logs whose limit is just what a policy uses, 5 % state 95 % confidence, within four errors of 1.3 %."""
    means = draw(1_000_000, 77).means
    truth, high = float(means[:, 1].mean()), 0
    small = np.eye(3)[np.ones(2000, int)]
    for seed in range(300):
        log = draw(2000, 3000 + seed, stated=problem(subject_to=(Budget("sale", rate=truth),))).evidence
        w = (log.actions == 1) / log.propensities
        (k,) = kept(log, lambda name, w=w, y=log.outcomes[:, 0]: w * y if name == "sale" else small[:, 1], w)
        high += k.confidence >= 0.95
    assert abs(high / 300 - 0.05) < 0.05


def test_constraints_are_printed_and_in_frames(log, policy):
    found = value(log, policies={"mine": policy})
    mine = next(p for p in found.policies if p.policy == "mine")
    labels = [s.constraint.label.removesuffix(", at least") for s in log.problem.stated[:5]]
    assert "at least, at least" not in f"{found} {found.headline()}"
    assert [k.constraint for k in mine.kept] == [*labels, "cents - 3 sale", "0.4 cents - sale"]
    frame = found.to_frame().set_index("policy")
    assert frame.columns.is_unique  # as a Parquet file needs it, also where a share has two bounds
    assert frame.loc["mine", f"confidence in {mine.kept[0].constraint}"] == mine.kept[0].confidence
    assert frame.loc["mine", "confidence in sale per round, at least 0.25"] == mine.kept[2].confidence
    *_, table = found.tables()
    head = ["constraints, 95 %, confidence", "cents per round, at most 0.9", "sale per round, at most 0.32"]
    assert table.head[:3] == head
    assert all(part in str(found) for part in head)
    metrics = {row.metric for row in found.results().rows if row.system == "mine"}
    assert {"cents, at most 0.9", "confidence in cents per round", "sale at least, at least 0.25"} <= metrics


def test_constraints_that_are_not_judged_are_said():
    outcomes = (Outcome("sale"), Outcome("cents", known={"small": 1.0, "large": 2.0}))
    round_ = Within(("sale", "cents"), Ball((0.2, 0.5), 0.4))
    log = draw(600, 8, stated=problem(outcomes=outcomes, subject_to=(round_,))).evidence
    found = value(log)
    assert found.policies[0].kept == ()
    assert "note: whether policies keep to it is not said of: distance of sale, cents from Ball" in str(found)


def test_other_objectives_have_constraints_too(log):
    stated = replace(log, problem=problem(subject_to=LIMITS, maximize=AlphaFair(("sale", "cents"), 1.0, 0.1)))
    found = value(stated)
    assert len(found.policies[0].kept) == len(LIMITS)


def test_of_groups_that_are_all_missed_the_furthest_is_shown(log, amounts):
    """Their confidences are all 0, so that nothing but the distance tells them apart."""
    stated = replace(log, problem=problem(subject_to=(Parity("cents", by="area", tolerance=1e-6),)))
    shift = np.array([0.3, -0.7, 0.1])[log.groups["area"]]
    (found,) = kept(stated, lambda name: amounts[name] + shift, ALIKE)
    cents = amounts["cents"] + shift
    gaps = [abs(cents[log.groups["area"] == g].mean() - cents.mean()) for g in range(3)]
    assert found.confidence == 0.0
    assert found.used.value == pytest.approx(max(gaps), rel=1e-6)


def test_a_ratio_is_shown_as_the_difference_that_it_is(log, amounts):
    *_, most, least = kept(log, amounts.__getitem__, ALIKE)
    assert (most.constraint, most.side, most.limit) == ("cents - 3 sale", "at most", 0.0)
    assert (least.constraint, least.side, least.limit) == ("0.4 cents - sale", "at most", 0.0)


def test_the_headline_names_what_the_best_policy_misses(log):
    stated = replace(log, problem=problem(subject_to=(Budget("cents", rate=0.9), Floor("sale", rate=0.9))))
    found = value(stated)
    best = max(found.policies, key=lambda p: p.value.value * (p.used["cents"].value <= 0.9 * (1 + 1e-9)))
    sale = next(k for k in best.kept if k.side == "at least")
    assert found.headline().endswith(f"; it does not keep to {sale.constraint} at least 0.9 ({sale.used.value:.4g})")
    slack = replace(log, problem=problem(subject_to=(Budget("cents", rate=0.9), Floor("sale", rate=0.01))))
    assert "keep to" not in value(slack).headline()


def test_uses_above_a_budget_that_errors_allow_for_are_told(log):
    used = value(log).policies[0].used["cents"]
    limit = used.value - used.se
    stated = replace(log, problem=problem(subject_to=(Budget("cents", rate=limit),)))
    said = f"'as logged' uses {used.value:.4g} cents per case of {limit:.4g}, which three standard errors"
    assert said in str(value(stated))
