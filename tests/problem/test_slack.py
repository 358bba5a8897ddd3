"""Rows that nothing can exceed: beside every outcome at the ends of its range, and in plans."""

from dataclasses import replace
from itertools import product

import numpy as np

from evenhand import sets
from evenhand.core.records import Context
from evenhand.models import Fixed, Ridge
from evenhand.problem import Budget, Floor, Groups, Outcome, Parity, Problem, Ratio, Within
from evenhand.problem.constraints import regions, slack_rows
from evenhand.problem.rows import Cases
from evenhand.recipes import resolving
from evenhand.recipes.pgd import experimental_thresholds
from evenhand.recipes.terms import Terms
from evenhand.run import play, simulate
from tests.rows import for_each
from tests.worlds import Market

SIDES = (Groups("side", {"left": 0.25, "right": 0.75}),)


def market(*subject_to, horizon=60, plays=1, groups=SIDES, costs=(0.0, 0.5, 1.0), **fields):
    outcomes = (
        Outcome("sale", low=-1.0),
        Outcome("bill", high=4.0, mean={"a": 0.5, "b": 1.0, "c": 2.0}),
        Outcome("cost", known=dict(zip("abc", costs, strict=True))),
    )
    return Problem(
        actions=tuple("abc"),
        outcomes=outcomes,
        maximize="sale",
        subject_to=subject_to,
        groups=groups,
        horizon=horizon,
        n_plays=plays,
        **fields,
    )


BOUNDS = [
    *(Budget("cost", rate=r) for r in (0.9, 1.0, 1.9, 2.0)),
    *(Budget("bill", rate=r) for r in (3.9, 4.0, 8.0)),
    *(Floor("sale", rate=r) for r in (-2.0, -1.0, -0.9, 0.0)),
    *(Floor("sale", rate=r, by="side") for r in (-8.0, -4.0, -3.9)),
    *(Parity("sale", by="side", tolerance=r) for r in (2.9, 3.0, 6.0)),
    *(Ratio("sale", over="cost", at_most=r) for r in (0.5, 3.0)),
    *(Ratio("sale", over="bill", at_least=r) for r in (0.0, 1.0)),
    Within(("sale", "bill"), sets.Box((-1.0, 0.0), (0.5, 4.0))),
]


@for_each("constraint, plays", list(product(BOUNDS, (1, 2))))
def test_rows_are_slack_that_no_outcome_at_an_end_exceeds(constraint, plays):
    """Two plays of any actions, in any group, with any end of every range, or fewer: also none."""
    problem = market(constraint, plays=plays)
    (stated,) = problem.stated
    most = np.zeros(len(stated.rows))
    each = []
    for side, cost, sale, bill in product((0, 1), (0.0, 0.5, 1.0), (-1.0, 1.0), (0.0, 4.0)):
        case = Cases(np.array([[[bill, cost]]]), np.array([[[side]]]))
        y, z = np.array([[[sale]]]), np.array([[[bill, cost]]])
        each.append(stated.rows.post(case, problem.shares[None], y, z)[0])
    most = np.maximum(most, plays * np.max(each, 0))
    np.testing.assert_array_equal(slack_rows(problem), most <= stated.bound)


def test_of_numbers_without_an_end_and_shares_that_are_estimated_nothing_is_slack():
    gain, loss = Outcome("gain", high=np.inf), Outcome("loss", low=-np.inf, high=0.0)
    kept = Floor("gain", rate=0.0), Budget("loss", rate=0.1)
    open_ = Floor("gain", rate=0.1), Budget("gain", rate=1e9), Floor("loss", rate=-1e9)
    problem = Problem(actions=("a",), outcomes=(gain, loss), maximize="gain", subject_to=(*kept, *open_), horizon=9)
    assert slack_rows(problem).tolist() == [True, True, False, False, False]
    unknown = market(Parity("sale", by="side", tolerance=99.0), groups=(Groups("side", ("left", "right")),))
    assert not slack_rows(unknown).any()


@for_each(
    "constraint, slack, fields",
    [
        (Budget("cost", total=20, per=20), True, {}),
        (Budget("cost", total=19, per=20), False, {}),
        (Budget("cost", total=40, per=20, window=2), True, {}),
        (Budget("cost", total=39, per=20, window=2), False, {}),
        (Budget("cost", total=20, per=20, carry=True), True, {}),
        (Budget("cost", total=[(0, 30, 30.0), (20, 60, 39.0)]), False, {}),
        (Budget("cost", total=60), True, {}),
        (Budget("cost", total=60), False, {"until": 60.0}),  # more than 60 cases may come
        (Budget("cost", total=20, per=20), False, {"until": 60.0}),
        (Parity("sale", by="side", tolerance=3.0, per=20), True, {"until": 60.0}),  # an average, of however many
        (Floor("sale", total=1, per=20), False, {}),
    ],
)
def test_spans_of_time_are_slack_where_each_has_room_for_all_of_its_rounds(constraint, slack, fields):
    assert slack_rows(market(constraint, **fields)).all() == slack


@for_each(
    "within, kept",
    [(sets.Ball((0.0,), 1.0), False), (sets.Ball((0.1,), 1.0), True)],
)
def test_a_set_that_outcomes_cannot_leave_is_no_region(within, kept):
    problem = market(Within(("sale",), within))
    assert bool(regions(problem.stated)) == kept
    assert problem.stated[0].whole is not None  # reports have it


def test_default_numbers_of_prices_do_not_see_slack_budgets():
    tight, whole = Budget("cost", rate=0.3), Budget("bill", rate=4.0)
    alone, both = market(tight), market(tight, whole)
    np.testing.assert_array_equal(Terms(both).margin, [*Terms(alone).margin, 0.0])
    assert experimental_thresholds(both) == experimental_thresholds(alone)


class Dearer:
    """A market whose cases state so many times the declared costs."""

    def __init__(self, problem, times):
        self.market, self.problem, self.times, self.n_features = Market(problem=problem), problem, times, 3

    def start(self, seed, replicas):
        return _Dearer(self.market.start(seed, replicas), self.times)


class _Dearer:
    counts_idle_steps = True

    def __init__(self, world, times):
        self._world, self._times, self.steps = world, times, world.steps

    def context(self, step) -> Context:
        c = self._world.context(step)
        return c._replace(known=c.known * self._times)

    def respond(self, step, context, decision):
        return self._world.respond(step, context, decision)


def played(policy, world, seed=3):
    state = policy.start(seed=seed, replicas=2)
    made, priced = [], False
    for r in play(policy, state, world.start(seed, state.replicas), range(60)):
        made.append(r.decision.plays)
        priced = priced or (state.goals[1].mu != 0.0).any()
    return np.stack(made), state, priced


@for_each(
    "constraint",
    [Budget("cost", total=60), Budget("cost", total=20, per=20), Budget("cost", total=40, per=20, window=2)],
)
def test_costs_beyond_the_declared_ones_are_planned_for(constraint):
    """Declared costs move no decision: those of cases alone do, also where a budget is slack by the declared ones."""
    by_declared, dear = market(constraint), market(constraint, costs=(0.0, 1.5, 3.0))
    assert slack_rows(by_declared).all()
    assert not slack_rows(dear).any()
    model = Ridge(n_features=3, n_outcomes=1, width=Fixed(0.3))
    plays, _, priced = played(resolving(by_declared, model), Dearer(by_declared, np.array([1.0, 3.0])))
    others, *_ = played(resolving(dear, model), Market(problem=dear))
    np.testing.assert_array_equal(plays, others)
    assert priced


def solves(problem, drift):
    policy = resolving(problem, Ridge(n_features=3, n_outcomes=1, width=Fixed(0.3)))
    goals = tuple(replace(g, drift=drift) if hasattr(g, "drift") else g for g in policy.goals)
    _, state, _ = played(replace(policy, goals=goals), Market(problem=problem, coins=True))
    return state.goals[1].solved


def test_a_slack_row_that_is_off_plan_is_no_reason_to_plan_again():
    never = solves(market(Parity("sale", by="side", tolerance=9.0)), np.inf)
    np.testing.assert_array_equal(solves(market(Parity("sale", by="side", tolerance=9.0)), 0.1), never)
    assert (solves(market(Parity("sale", by="side", tolerance=0.5)), 0.1) > never).all()


def test_the_end_of_a_day_with_room_for_all_is_no_reason_to_plan_again():
    day = Budget("cost", total=20, per=20)
    np.testing.assert_array_equal(solves(market(day), np.inf), solves(market(Budget("cost", total=60)), np.inf))
    assert (solves(market(replace(day, total=10)), np.inf) > solves(market(day), np.inf)).all()


def test_a_calendar_whose_last_week_ends_after_the_run_is_planned_for():
    """Three days of every week: the last period of the parity has no end in the run."""
    weekly = Parity("sale", by="side", tolerance=9.0, per="week")
    dates = {"since": "2026-11-23", "until": "2026-12-03"}

    class Dated(Dearer):
        def start(self, seed, replicas):
            return _Dated(self.market.start(seed, replicas), self.times)

    class _Dated(_Dearer):
        def context(self, step):
            return super().context(step)._replace(time=np.array([step / 6.0]))

    model = Ridge(n_features=3, n_outcomes=1, width=Fixed(0.3))
    asked = market(Budget("cost", rate=0.3), weekly, **dates), market(Budget("cost", rate=0.3), **dates)
    (plays, state, _), (others, alone, _) = (played(resolving(p, model), Dated(p, np.ones(2))) for p in asked)
    np.testing.assert_array_equal(plays, others)
    np.testing.assert_array_equal(state.goals[1].solved, alone.goals[1].solved)


def test_a_slack_constraint_is_reported_as_ever():
    problem = market(Budget("cost", rate=0.3), Parity("sale", by="side", tolerance=9.0))
    policy = resolving(problem, Ridge(n_features=3, n_outcomes=1, width=Fixed(0.3)))
    trace = simulate(policy, Market(problem=problem), replicas=2, seed=3, progress=False)
    assert "sale gap by side" in str(trace.summary())
    assert np.isfinite(trace.measure(problem.subject_to[1])).all()
