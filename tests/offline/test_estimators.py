"""Estimators row by row, in loops of their own; what their contract refuses; and their columns in values."""

import json
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.logs.clusters import Clusters
from evenhand.offline import Evidence, from_bandit_feedback, to_bandit_feedback, value
from evenhand.offline.estimators import IPS, MIPS, MRDR, SNDR, DirectMethod, DoublyRobust, DRos, Slope, Switch
from evenhand.offline.estimators.base import PRINTED, Sample, all_estimators
from evenhand.offline.scores import Average, Estimate
from evenhand.problem import Groups
from evenhand.testing import check_estimator
from tests.offline.logs import draw
from tests.offline.test_assignments import files

ROWS = 400


def sample(seed, off=0.2, clusters=None):
    """A log of two actions, of which a policy plays the rarer one more often, and a model that is off by a constant."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.01, 0.99, ROWS)
    actions = (rng.random(ROWS) < chance).astype(int)
    p = np.where(actions == 1, chance, 1.0 - chance)
    y = 1.0 + actions + rng.standard_normal(ROWS)
    policy = np.stack([chance, 1.0 - chance], 1)
    return replace(Sample.of(policy, actions, p, y, np.tile([1.0 + off, 2.0 + off], (ROWS, 1))), clusters=clusters)


def by_rows(s):
    """Of every row the weight, what the model predicts for the policy, and what it missed."""
    w, model, missed = [], [], []
    for i in range(len(s.y)):
        a = int(s.actions[i])
        w.append(float(s.policy[i, a] / s.propensities[i]))
        model.append(sum(float(s.policy[i, b] * s.predicted[i, b]) for b in range(s.policy.shape[1])))
        missed.append(float(s.y[i] - s.predicted[i, a]))
    return w, model, missed


def mean(each):
    return math.fsum(each) / len(each)


def error(each, numbers):
    """The standard error of a mean by sums over clusters."""
    centre, sums = mean(each), dict.fromkeys(numbers, 0.0)
    for z, g in zip(each, numbers, strict=True):
        sums[g] += z - centre
    count = len(sums)
    return math.sqrt(count / (count - 1) * math.fsum(t * t for t in sums.values())) / len(each)


def quantile(each, share):
    """By straight lines between the sorted numbers."""
    z, at = sorted(each), share * (len(each) - 1)
    below = math.floor(at)
    return z[below] + (at - below) * (z[min(below + 1, len(z) - 1)] - z[below])


@pytest.mark.parametrize("by_customer", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_shrunk_weights_by_rows(seed, by_customer):
    numbers = np.arange(ROWS) // 4 if by_customer else np.arange(ROWS)
    s = sample(seed, clusters=Clusters.of(numbers, "customer") if by_customer else None)
    w, model, missed = by_rows(s)
    there, found = [u for u in w if u > 0.0], []
    first, last = math.log(0.1 * quantile(there, 0.05)), math.log(10.0 * quantile(there, 0.95))
    for k in [math.inf, *(math.exp(first + i * (last - first) / 29) for i in range(30))]:
        shrunk = [u / (1.0 + u * u / k / k) for u in w]
        terms = [q + u * m for u, q, m in zip(shrunk, model, missed, strict=True)]
        bias = [(u - z) * m for u, z, m in zip(shrunk, w, missed, strict=True)]
        own = error(terms, numbers.tolist())
        found.append((mean(bias) ** 2 + error(bias, numbers.tolist()) ** 2 + own**2, k, mean(terms), own))
    _, k, best, _ = min(found)
    assert DRos().average(s).value == pytest.approx(best, rel=1e-12)
    assert k < math.inf  # so that weights are shrunk
    found.append((0.0, 0.0, mean(model), error(model, numbers.tolist())))
    for errors in (0.25, 0.5, 2.0):
        assert Slope(errors=errors).average(s).value == pytest.approx(chosen(found, errors), rel=1e-12)


def chosen(found, errors):
    """The value that is the last one to agree with all before it, from the largest error to the least."""
    each = [(z, errors * own) for own, z in sorted(((own, z) for *_, z, own in found), reverse=True)]
    for i, (own, reach) in enumerate(each):
        if any(abs(own - z) > reach + (math.sqrt(6) - 1) * c for z, c in each[:i]):
            return each[i - 1][0]
    return each[-1][0]


def test_corrections_that_are_divided_by_the_sum_of_weights_by_rows():
    """The standard error is that of a jackknife, which leaves out row by row."""
    s = sample(5, off=2.0)
    w, model, missed = by_rows(s)

    def found(left):
        rows = [i for i in range(ROWS) if i != left]
        part = math.fsum(w[i] * missed[i] for i in rows) / math.fsum(w[i] for i in rows)
        return mean([model[i] for i in rows]) + part

    one = SNDR().average(s)
    assert one.value == pytest.approx(found(-1), rel=1e-12)
    apart = [found(i) for i in range(ROWS)]
    jackknife = math.sqrt((ROWS - 1) / ROWS * math.fsum((z - mean(apart)) ** 2 for z in apart))
    assert one.estimate.se == pytest.approx(jackknife, rel=0.04)
    assert one.estimate.se < DoublyRobust().average(s).estimate.se  # as the model is off by a constant


@pytest.mark.parametrize("by_customer", [False, True])
def test_calibrated_models_by_the_variance_of_all_others(by_customer):
    """The value is that of `DoublyRobust` by the best of all models a + b q; its error is that of a jackknife."""
    numbers = np.arange(ROWS) // 4 if by_customer else np.arange(ROWS)
    s = sample(6, off=2.0, clusters=Clusters.of(numbers, "customer") if by_customer else None)

    def doubly_robust(a, b):
        calibrated = Sample.of(s.policy, s.actions, s.propensities, s.y, a + b * s.predicted)
        return DoublyRobust().average(replace(calibrated, clusters=s.clusters))

    best = minimize(lambda z: 1e4 * doubly_robust(*z).estimate.se ** 2, [0.0, 1.0], method="Nelder-Mead", tol=1e-9).x
    one = MRDR().average(s)
    assert one.value == pytest.approx(doubly_robust(*best).value, abs=1e-6)
    apart = []
    for g in np.unique(numbers):
        rows = numbers != g
        left = Sample.of(*(z[rows] for z in (s.policy, s.actions, s.propensities, s.y, s.predicted)))
        apart.append(MRDR().average(replace(left, clusters=(by_customer and Clusters.of(numbers[rows])) or None)).value)
    count = len(apart)
    jackknife = math.sqrt((count - 1) / count * math.fsum((z - mean(apart)) ** 2 for z in apart))
    assert one.estimate.se == pytest.approx(jackknife, rel=0.02)
    assert one.estimate.se < 0.8 * DoublyRobust().average(s).estimate.se  # as the model is far off


def grouped(seed, direct=0.0, rows=600, count=40):
    """A log of many actions in four groups, of which a policy plays one, and by how much actions differ in a group."""
    rng = np.random.default_rng(seed)
    groups, x = np.arange(count) % 4, rng.standard_normal(rows)
    chances = np.exp(0.5 * x[:, None] * (groups - 1.5)) * (1.0 + np.arange(count) // 4)
    chances /= chances.sum(1, keepdims=True)
    means = 1.0 + np.outer(x, groups - 1.5) + groups + direct * np.where(np.arange(count) == 1, 1.0, 0.0)
    actions = (rng.random((rows, 1)) > chances.cumsum(1)).sum(1).clip(0, count - 1)
    i = np.arange(rows)
    y = means[i, actions] + rng.standard_normal(rows)
    found = Sample.of(np.tile(np.eye(count)[1], (rows, 1)), actions, chances[i, actions], y, np.zeros((rows, count)))
    own = np.stack([chances[:, groups == g].sum(1) for g in range(4)], 1)  # of groups
    return replace(found, groups=groups), np.where(groups[actions] == 1, 1.0 / own[i, groups[actions]], 0.0)


def test_weights_of_groups_are_inverse_propensities_of_groups():
    """Where chances within a group are the same in all cases, up to the parts that the log has of them."""
    s, w = grouped(0, rows=200_000)
    found, right = MIPS().average(s), Average.of(w * s.y)
    assert found.value == pytest.approx(right.value, abs=0.1 * right.estimate.se)
    assert found.estimate.se == pytest.approx(right.estimate.se, rel=0.01)


def test_groups_of_actions_that_are_alike_lower_the_error():
    """Of 200 logs: beside IPS; errors are honest then, and the bias otherwise is what the action has of its own."""
    samples = [grouped(seed)[0] for seed in range(200)]
    each = [MIPS().average(s).estimate for s in samples]
    off = np.array([z.value - 2.0 for z in each])
    plain = np.array([IPS().average(s).value - 2.0 for s in samples])
    assert np.sqrt((off**2).mean()) < 0.4 * np.sqrt((plain**2).mean())
    assert abs(off.mean()) < 3.0 * off.std() / math.sqrt(200)
    assert np.mean([low <= 2.0 <= high for low, high in (z.interval for z in each)]) == pytest.approx(0.95, abs=0.045)
    own = np.mean([MIPS().average(grouped(seed, direct=3.0)[0]).value - 5.0 for seed in range(50)])
    assert own == pytest.approx(-3.0, abs=0.2)  # as the action is logged in one of 55 rows of its group


def test_shrunk_weights_are_nearer_to_the_truth():
    """Of 200 logs: that is what they are for."""
    found = {DoublyRobust(): [], DRos(): []}
    for seed in range(200):
        s = sample(seed)
        for one, each in found.items():
            each.append((one.average(s).value - float((1.0 + s.policy[:, 1]).mean())) ** 2)
    plain, shrunk = map(mean, found.values())
    assert shrunk < 0.8 * plain


@dataclass(frozen=True)
class Own:
    """An estimator by a function of the weights and the sample."""

    of: object
    unbiased: ClassVar[bool] = True
    corrects: ClassVar[bool] = True
    label: ClassVar[str] = "own"
    meaning: ClassVar[str] = "It is wrong."

    def average(self, sample):
        return self.of(sample)


def not_divided(s):
    agree = s.policy[np.arange(len(s.y)), s.actions]
    return Average.of(agree * s.y, s.clusters)


def too_sure(s):
    found = IPS().average(s)
    return found._replace(psi=0.5 * found.psi)


def by_place(s):
    found = IPS().average(s)
    return found._replace(value=found.value + (s.y[0] - s.y[-1]) * 1e-4)


def of_rows(s):
    return IPS().average(replace(s, clusters=None))


def of_many_rows(s):
    found = of_rows(s)
    return found if s.clusters is None else Average(found.value, s.clusters.sums(found.psi) / 2, degrees=1.0)


def with_a_unit(s):
    found = DoublyRobust().average(s)
    return found._replace(value=found.value + 1e-6)


def with_a_zero(s):
    found = DoublyRobust().average(s)
    return found._replace(value=found.value * (1.0 + 1e-6))


def in_place(s):
    s.y[:] *= 1.0 + 1e-9
    return IPS().average(s)


WRONG = {
    not_divided: r"the policy that logged, by a model that is right, is right on average: it is off by",
    too_sure: r"standard errors of the policy that logged, .* are 0.5\d of what values vary",
    by_place: "the value does not depend on the order of rows",
    of_rows: r"the influence has shape \(300\), not \(600,\)",
    of_many_rows: "the error of rows that are there twice, as a cluster each, is that of each once",
    with_a_unit: "the value and its error are a thousand times as large of 1e3 y",
    with_a_zero: r"where weights are 1 on average, the value of y \+ 5 is 5 more",
    in_place: "an estimator leaves a sample as it is",
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda z: z.__name__)
def test_wrong_estimators_break_the_contract(wrong):
    with pytest.raises(AssertionError, match=WRONG[wrong]):
        check_estimator(Own(wrong))


def test_what_an_estimator_declares_is_checked():
    class Sure(DirectMethod):
        unbiased = True

    class Deaf(Switch):
        corrects = False

    with pytest.raises(AssertionError, match="another policy, by a wrong model, is right on average"):
        check_estimator(Sure())
    with pytest.raises(AssertionError, match="depends on outcomes if the estimator `corrects`"):
        check_estimator(Deaf())


@pytest.fixture(scope="module")
def log():
    return draw(1500, 8, skewed=True).evidence


def test_columns_follow_from_what_estimators_declare(log):
    found, more = value(log), value(log, estimators=["dros", "sndr"])
    frame, plain = more.to_frame(), found.to_frame()
    assert [name for name in frame if name not in plain] == ["dros", "sndr", "se sndr"]
    pd.testing.assert_frame_equal(frame[list(plain)], plain)
    rows = {(row.system, row.metric): row for row in more.results().rows}
    head, *others = (table for table in more.tables() if table.head[0] == "by other estimators")
    assert not others
    assert head.head[1:] == ["IPS ± se", "SNIPS ± se", "model alone", "switch", "DRos", "SNDR ± se"]
    for p, cells, (_, line) in zip(more.policies, head.rows, frame.iterrows(), strict=True):
        assert rows[p.policy, "sale by DRos"].mean == line["dros"] == p.by["dros"].value
        assert rows[p.policy, "sale by DRos"].se is None
        assert (rows[p.policy, "sale by SNDR"].mean, rows[p.policy, "sale by SNDR"].se) == p.by["sndr"].pair
        assert cells[5] == f"{p.by['dros'].value:.4f}"
        assert f"{p.by['sndr'].value:.4f}" in cells[6]
    assert "DRos is doubly robust, with large weights" in more.page().html()
    assert "DRos" not in str(found) + found.page().html() + found.to_frame().to_csv()
    with pytest.raises(InvalidInput, match=r"estimator: expected one of .*dros, .*, got drso \(did you mean dros\?\)"):
        value(log, estimators=["drso"])


def test_all_estimators_of_what_was_logged_and_of_guesses(log):
    certain = replace(log, propensities=np.where(log.actions == 0, 1.0, log.propensities))
    for evidence in (log, certain):
        first, *others = value(evidence, estimators=set(all_estimators()) - {"mips"}).policies
        for name, one in ((name, one) for name, one in all_estimators().items() if name != "mips"):
            assert one.corrects == (first.by[name].value == first.value.value)
            assert math.isnan(first.by[name].se) != one.unbiased
            for p in others:
                assert isinstance(p.by[name], Estimate)
                assert math.isnan(p.by[name].se) == (p.doubt.is_guess or not one.unbiased)
    assert any(p.doubt.is_guess for p in others)
    assert set(PRINTED) < set(all_estimators())


def test_groups_of_actions_are_those_of_the_problem(log, monkeypatch):
    monkeypatch.setattr(Evidence, "models", None)  # a log without groups is refused before anything is fitted
    with pytest.raises(InvalidInput, match=r"mips: expected a problem with groups of actions.*, got none"):
        value(log, estimators=["mips"])
    monkeypatch.undo()
    kind = Groups("kind", ("nothing", "letter"), of={"none": "nothing", "small": "letter", "large": "letter"})
    stated = replace(log, problem=replace(log.problem, groups=(*log.problem.groups, kind)))
    letters = (stated.actions > 0) / (2.0 * stated.propensities)  # both are as many, but for chance
    found = {p.policy: p.by["mips"] for p in value(stated, estimators=["mips"]).policies}
    assert found["all small"].value == found["all large"].value
    assert found["all small"].value == pytest.approx((letters * stated.outcomes[:, 0]).mean(), rel=0.02)
    assert math.isnan(found["all small"].se)
    alone = replace(stated.problem, groups=(kind,), subject_to=stated.problem.subject_to[:1])
    again = value(from_bandit_feedback(to_bandit_feedback(log), alone), estimators=["mips"])
    assert {p.policy: p.by["mips"].value for p in again.policies}["all small"] == found["all small"].value


def test_a_command_adds_columns(tmp_path, capsys):
    _, problem = files(tmp_path)
    arguments = ["value", str(tmp_path / "log.csv"), "--problem", str(problem)]
    assert main([*arguments, "--estimator", "dros", "--estimator", "sndr", "--out", str(tmp_path / "out")]) == 0
    assert ["switch", "DRos", "SNDR", "±", "se"] in [line.split()[-5:] for line in capsys.readouterr().out.splitlines()]
    metrics = {row["metric"] for row in json.loads((tmp_path / "out" / "results.json").read_text())["rows"]}
    assert {"sale by DRos", "sale by SNDR", "sale by switch"} <= metrics
    assert main(["value", str(tmp_path / "none.csv"), "--problem", str(problem), "--estimator", "drso"]) != 0
    assert "did you mean dros?" in capsys.readouterr().err  # before the log is looked for
