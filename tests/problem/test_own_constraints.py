"""A constraint of a user's own may stand wherever the kinds of the house may."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.problem import Budget, Constraint, Floor, Outcome, Parity, Problem, Rows
from evenhand.problem.constraints import by_group, constraint_rows, of_one_outcome, over
from evenhand.problem.constraints.statements import state
from evenhand.problem.constraints.sums import average
from evenhand.recipes import lin_cbwk, pgd, resolving, uniform
from tests.problem.test_constraints import CARDS, COURT, MODEL, court, run


@dataclass(frozen=True)
class AtMostHalf:
    """At most half as many rides as vouchers."""

    label: str = "rides beyond half of the vouchers"
    hard: bool | None = None
    spends: bool = False
    worst: str = "high"

    def rows(self, problem):
        known = np.array([[{"ride": 1.0, "voucher": -0.5}.get(n, 0.0) for n in problem.known]])
        return Rows.plain([self.label], np.zeros((1, len(problem.learned))), known)

    def bound(self, problem):
        return np.array([0.0])

    def limit(self, horizon):
        return 0.0

    def total_over(self, horizon):
        return 0.0

    def measure(self, run):
        return average(run, "ride") - 0.5 * average(run, "voucher")


@dataclass(frozen=True)
class Purse:
    """Money for rides at 2 and vouchers at 1: a budget over two outcomes."""

    total: float
    hard: bool | None = None
    label: str = "money per round"
    spends: bool = True
    worst: str = "high"

    def rows(self, problem):
        known = np.array([[{"ride": 2.0, "voucher": 1.0}.get(n, 0.0) for n in problem.known]])
        return Rows.plain(["money"], np.zeros((1, len(problem.learned))), known)

    def bound(self, problem):
        return np.array([self.limit(problem.horizon)])

    def limit(self, horizon):
        return self.total / horizon

    def total_over(self, horizon):
        return self.total

    def measure(self, run):
        return 2 * average(run, "ride") + average(run, "voucher")


OWN = court(AtMostHalf(), Purse(200.0), CARDS)


def test_a_class_of_ones_own_is_a_constraint():
    assert isinstance(AtMostHalf(), Constraint)
    assert isinstance(Purse(3.0), Constraint)
    assert list(of_one_outcome(OWN.subject_to)) == [CARDS]
    assert list(by_group((*OWN.subject_to, Parity("x", by="g", tolerance=0), Floor("x", rate=1)))) == [
        (Parity("x", by="g", tolerance=0), "g")
    ]


@pytest.mark.parametrize("recipe", [pgd, resolving, lin_cbwk, uniform], ids=lambda r: r.__name__)
def test_it_is_kept_by_recipes_and_shown_by_traces(recipe):
    policy = uniform(OWN, 5) if recipe is uniform else recipe(OWN, MODEL)
    trace = run(policy)
    money = 2 * trace.total("ride") + trace.total("voucher")
    if recipe is pgd:  # soft, up to what prices let through
        assert (money <= 200 + 150).all()
    else:
        assert (money <= 200).all()
    np.testing.assert_allclose(trace.measure(OWN.subject_to[1])[-1], money / 1000)
    lines = {line.name: line for line in trace.summary().lines}
    assert lines["money per round"].limit == 0.2
    assert lines["money per round"].worst == pytest.approx(money.max() / 1000)
    assert "rides beyond half of the vouchers" in str(trace.summary())
    frame = trace.to_frame()
    np.testing.assert_allclose(frame["money per round"], 2 * frame["ride"] + frame["voucher"])
    assert [" ".join(axes.get_title().split()) for axes in trace.plot().axes] == [
        "average appears",
        "rides beyond half of the vouchers (dashed: limit)",
        "money per round (dashed: limit)",
        "voucher per round (dashed: limit)",
    ]


def test_its_price_is_explained():
    policy, world = pgd(OWN, MODEL, warmup=0), COURT.start(0, np.arange(1))
    state, context = policy.start(), world.context(0)
    text = policy.explain(state, context, policy.decide(state, context))
    assert "price of rides beyond half of the vouchers" in text
    assert "price of money" in text


def test_rides_stay_below_half_of_the_vouchers_where_that_is_asked():
    with_it, without = (
        run(resolving(court(*constraints), MODEL)).measure(AtMostHalf())[-1]
        for constraints in ((AtMostHalf(), CARDS), (CARDS,))
    )
    assert (with_it <= 0.01).all()
    assert (without > 0.1).all()


@dataclass(frozen=True)
class Wrong(AtMostHalf):
    """With two bounds for one row."""

    def bound(self, problem):
        return np.zeros(2)


def test_what_a_class_of_ones_own_gets_wrong_is_named():
    with pytest.raises(InvalidInput, match=r"^Wrong\.bound: expected 1 finite numbers, one per row"):
        court(Wrong())
    with pytest.raises(InvalidInput, match=r"^AtMostHalf\.hard: expected False or None, as nothing is spent"):
        court(AtMostHalf(hard=True))


def test_a_margin_is_taken_off_what_is_spent_alone():
    problem = replace(
        OWN, subject_to=(*OWN.subject_to, Floor("ride", rate=0.01), Parity("ride", by="group", tolerance=1))
    )
    _, bound = constraint_rows(problem, margin=0.05)
    np.testing.assert_allclose(bound, [0.0, 0.15, 0.15, -0.01, 1, 1, 1, 1])
    with pytest.raises(InvalidInput, match=r"below 0\.2, the limit of money per round"):
        constraint_rows(problem, margin=0.2)


@dataclass(frozen=True)
class Unlimited(Floor):
    """A constraint of one's own whose limit is no number."""

    def bound(self, problem):
        return np.zeros(1)

    def limit(self, horizon):
        return None


def test_totals_over_rounds_that_are_counted_later_become_rates_also_those_of_ones_own():
    class Counted(Purse):
        def over(self, rounds):
            return replace(self, total=self.total / rounds)

    assert over(Budget("ride", total=60), 240) == Budget("ride", rate=0.25)
    assert over(Floor("ride", total=60, by="race"), 240) == Floor("ride", rate=0.25, by="race")
    assert over(Counted(60.0), 240) == Counted(0.25)
    for same in (
        Budget("ride", rate=2),
        Budget("ride", total=60, per="day"),
        Floor("ride", total={"2026-01": 60}, per="month"),
        AtMostHalf(),
    ):
        assert over(same, 240) is same


def test_a_limit_that_is_no_number_is_refused_by_name():
    problem = Problem(actions=("go",), outcomes=(Outcome("gain"),), maximize="gain", horizon=9)
    with pytest.raises(InvalidInput, match=r"^Unlimited\.limit: expected a number, got None"):
        state(problem, Unlimited("gain", rate=0.1))
