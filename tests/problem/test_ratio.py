"""Ratios: closed forms, one linear program, sums by hand, and plays that keep them."""

import json
import math
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.core.luck import Luck, Stream
from evenhand.environments import _cases
from evenhand.live import Campaign
from evenhand.live.dashboard.report import to_json
from evenhand.live.dashboard.sections import Readings
from evenhand.live.dashboard.sections.constraints import constraints
from evenhand.live.dashboard.tally import Tally
from evenhand.models import BayesianRidge
from evenhand.problem import Ratio
from evenhand.problem.constraints.outlook import chance
from evenhand.problem.rows import Cases
from evenhand.recipes import resolving, uniform
from evenhand.replay.run import replay_log
from evenhand.run.optimum import opt
from evenhand.run.simulation import play, simulate
from evenhand.testing import check_constraint
from tests.examples.problems import EVERYTHING
from tests.live.http_campaign import CASE, SHOP
from tests.replay import shop as log
from tests.rows import for_each
from tests.sales import AREA, Sales

COST = Ratio("dollars", over="sale", at_most=0.3)
SHARE = Ratio("dollars area=south", over="dollars", at_least=0.65)
BUDGET = eh.Budget("dollars", rate=0.12)


# The rows


def summed(ratio, seed=0, n=60):
    """The average row of random plays, and the sums (of each group and of everybody) of both outcomes, by hand."""
    problem = Sales(subject_to=(ratio,)).problem
    rng, rows = np.random.default_rng(seed), ratio.rows(problem)
    area, y = rng.integers(2, size=n), rng.random((n, 2))
    v, nothing, offer = np.zeros(len(rows)), np.zeros((1, 1, 0)), np.array([[1]])
    for g, z in zip(area, y, strict=True):
        v += rows.post(Cases(nothing, np.array([[[g]]]), offer), problem.shares[None], z[None, None], nothing)[0]
    return v, np.stack([*(y[area == g].sum(0) for g in range(2)), y.sum(0)])


SUMS = [  # of south, north and everybody: sale, dollars
    (COST, lambda s: [s[2, 1] - 0.3 * s[2, 0]]),
    (Ratio("sale", over="dollars", at_least=4), lambda s: [4 * s[2, 1] - s[2, 0]]),
    (replace(COST, by="area"), lambda s: [s[g, 1] - 0.3 * s[g, 0] for g in (0, 1)]),
    (SHARE, lambda s: [0.65 * s[2, 1] - s[0, 1]]),
    (Ratio("dollars", over="dollars area=north", at_most=2.5), lambda s: [s[2, 1] - 2.5 * s[1, 1]]),
    (Ratio("sale area=north", over="dollars area=north", at_least=2), lambda s: [2 * s[1, 1] - s[1, 0]]),
]


@pytest.mark.parametrize(("ratio", "by_hand"), SUMS, ids=lambda z: getattr(z, "label", ""))
def test_a_row_is_the_numerator_less_its_part_of_the_denominator(ratio, by_hand):
    v, sums = summed(ratio)
    np.testing.assert_allclose(v, by_hand(sums))
    assert ratio.bound(Sales(subject_to=(ratio,)).problem).tolist() == [0.0] * len(v)


@pytest.mark.parametrize("ratio", [c for c, _ in SUMS], ids=lambda c: c.label)
def test_it_keeps_the_contract(ratio):
    check_constraint(ratio, Sales(subject_to=(ratio,)).problem, rounds=0)


def test_known_noisy_and_several_groupings():
    for ratio in (
        Ratio("letters", over="miles", at_most=2, by="age"),
        Ratio("gain", over="letters", at_least=0.1),
        Ratio("miles district=north", over="miles", at_most=0.5),
    ):
        check_constraint(ratio, EVERYTHING, rounds=0)


# The optimum


def fixed(*subject_to, **change):
    """Offers of .5 sales for .1 dollars and of .8 for .4, for which a share of cases is the answer."""
    stated = {
        "actions": ("small", "large"),
        "outcomes": (
            eh.Outcome("sale", known={"small": 0.5, "large": 0.8}),
            eh.Outcome("dollars", known={"small": 0.1, "large": 0.4}),
            eh.Outcome("visit"),
        ),
        "maximize": "sale",
        "subject_to": subject_to,
        "groups": (AREA,),
        "horizon": 400,
    }
    return eh.Problem(**(stated | change))


@dataclass(frozen=True)
class Alike:
    """Cases that are all alike but for their area."""

    problem: eh.Problem

    n_features = 2

    def start(self, seed, replicas):
        luck, x = Luck(seed=seed, replicas=replicas), np.tile(np.eye(2), (len(replicas), 1, 1))

        def case(step):
            area = (luck.uniform(Stream.CONTEXT, np.array([step]), 1) > 0.5).astype(np.int64)[:, :, None]
            return eh.Context(x, self.problem.declared[None], area, np.ones((1, 2), bool))

        return _cases.Cases(self.problem.horizon, luck, case, lambda x, plays: np.zeros((*plays.shape, 1)))


def test_the_optimum_of_two_offers_is_the_closed_form():
    """With a part x of large offers, .1 + .3 x = .3 (.5 + .3 x), so x = 5 / 21; and dollars are 1.5 / 7 per round."""
    for ratio in (COST, Ratio("sale", over="dollars", at_least=1 / 0.3), replace(COST, by="area")):
        found = opt(Alike(fixed(ratio)), contexts=50, replicas=2)
        assert found.value == pytest.approx(0.5 + 0.3 * 5 / 21)
    assert found.value * 0.3 == pytest.approx(1.2 / 7)


def test_known_outcomes_need_no_learning_to_keep_a_ratio():
    """The sums are those of the plays, and the end is at the limit, to within a play."""
    problem = fixed(COST, replace(COST, by="area"))
    trace = simulate(resolving(problem, BayesianRidge(n_features=2)), Alike(problem), replicas=4, progress=False)
    np.testing.assert_allclose(trace.measure(COST)[-1], trace.total("dollars") / trace.total("sale"))
    assert (np.abs(trace.measure(COST)[-1] - 0.3) < 0.4 / trace.total("sale")).all()


def program(world, contexts, ratio, budget):
    """The program over all contexts and candidates with the ratio as one linear row: by HiGHS, and by cvxpy."""
    w, plays = world.start(0, np.arange(1)), np.arange(4)[None]
    cases = [w.context(t) for t in range(contexts)]
    sale, dollars = np.concatenate([w.expected(c, plays) for c in cases]).transpose(2, 0, 1)
    south = np.array([c.groups[0, 0] == 0 for c in cases])
    rows, limits = {
        COST: ([dollars - 0.3 * sale], [0.0]),
        replace(COST, by="area"): ([(dollars - 0.3 * sale) * s for s in (south, ~south)], [0.0, 0.0]),
        SHARE: ([0.65 * dollars - dollars * south], [0.0]),
    }[ratio]
    rows, limits = [*rows, dollars], [*limits, budget * contexts]
    one = np.kron(np.eye(contexts), np.ones((1, 4)))
    found = linprog(-sale.ravel(), np.stack([r.ravel() for r in rows]), limits, one, np.ones(contexts), method="highs")
    x = cp.Variable((contexts, 4), nonneg=True)
    stated = [cp.sum(x, 1) == 1, *(cp.sum(cp.multiply(x, r)) <= z for r, z in zip(rows, limits, strict=True))]
    conic = cp.Problem(cp.Maximize(cp.sum(cp.multiply(x, sale))), stated).solve(solver="CLARABEL")
    return -found.fun / contexts, conic / contexts


@pytest.mark.parametrize("ratio", [COST, replace(COST, by="area"), SHARE], ids=lambda c: c.label)
@pytest.mark.parametrize("budget", [0.12, 1.0])
def test_the_optimum_is_that_of_a_linear_program_with_the_ratio_as_a_row(ratio, budget):
    world = Sales(subject_to=(ratio, replace(BUDGET, rate=budget)))
    highs, conic = program(world, 80, ratio, budget)
    assert conic == pytest.approx(highs, rel=1e-6)
    found = opt(world, contexts=80, replicas=1).value
    assert found == pytest.approx(highs, rel=1e-6)
    if ratio is SHARE or budget == 1.0:  # the ratio binds
        assert found < opt(Sales(subject_to=(replace(BUDGET, rate=budget),)), contexts=80, replicas=1).value - 0.001


# A run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stated", "least"), [((COST,), 0.98), ((replace(COST, by="area"),), 0.98), ((BUDGET, SHARE), 0.97)], ids=str
)
def test_a_policy_that_learns_keeps_it_at_nearly_the_optimum_of_hindsight(stated, least):
    """The share of dollars beside a hard budget costs more: the last dollar is left, as an offer may cost as much."""
    world, ratio = Sales(subject_to=stated), stated[-1]
    trace = simulate(
        resolving(world.problem, BayesianRidge(n_features=9, n_outcomes=2)), world, replicas=32, progress=False
    )
    reached = trace.in_expectation().average("sale")[-1] / opt(world, contexts=3000, replicas=32, progress=False).values
    assert reached.mean() > least
    sign, limit, values = 1.0 if ratio.worst == "high" else -1.0, ratio.limit(3000), trace.measure(ratio)[-1]
    assert sign * (values.mean() - limit) < 2.0 * values.std(ddof=1) / 32**0.5
    assert (sign * (values - limit) < 0.01 * limit).all()


def test_late_and_unobserved_outcomes_and_several_plays_are_summed_as_they_are():
    problem = replace(Sales(subject_to=(COST, replace(COST, by="area"))).problem, n_plays=2)
    policy = uniform(problem, 9)
    state, waiting, sums = policy.start(), [], np.zeros((2, 2))
    case, rng = Sales(subject_to=()).start(0, np.arange(1)), np.random.default_rng(1)
    for t in range(60):
        context = case.context(t)
        waiting.append((policy.act(state, context), context.groups[0, 0, 0]))
        if len(waiting) > 7:
            decision, area = waiting.pop(0)
            y = np.where(decision.plays[0, :, None] > 0, rng.random((2, 2)), 0.0)
            if t % 5 == 0:
                policy.expire(state, decision)
                continue
            policy.learn(state, decision, y[None])
            sums[area] += y.sum(0)
    one, each = policy.status(state).standings.values()
    # what never came counts as the average of what did, in both sums alike
    assert one.value == pytest.approx(sums[:, 1].sum() / sums[:, 0].sum())
    assert list(each.groups) == ["south", "north"]
    assert [each.groups[g] for g in each.groups] == pytest.approx(sums[:, 1] / sums[:, 0])
    assert each.value == max(each.groups.values())
    assert each.average is None


# What is said


def told(*plays, ratio=COST, rounds=10):
    """The standing after plays of one offer, each with (sale, dollars)."""
    problem = Sales(subject_to=(ratio,), horizon=rounds).problem
    policy = uniform(problem, 9)
    state, context = policy.start(), Sales(subject_to=()).start(0, np.arange(1)).context(0)
    for y in plays:
        offered = context._replace(offered=np.array([[False, True, False, False]]))
        policy.learn(state, policy.act(state, offered), np.array([[y]], float))
    (standing,) = policy.status(state).standings.values()
    return standing, str(policy.status(state))


def test_a_ratio_of_nothing_is_shown_as_such():
    for ratio in (COST, replace(COST, by="area")):
        for plays in ((), ((0.0, 0.0),)):
            standing, text = told(*plays, ratio=ratio)
            assert math.isnan(standing.value)
            assert (standing.kept, standing.verdict) == (True, "kept")
            assert standing.text == "kept, as nothing was counted yet"
            assert f"{ratio.label}  0 / 0 (at most 0.3)" in text
            assert "nan" not in text


def test_a_cost_before_the_first_sale_is_infinite_and_no_alarm():
    standing, text = told((0.0, 0.2), (0.0, 0.3))
    assert standing.value == math.inf
    assert (standing.kept, standing.verdict) == (False, "close")
    assert "dollars / sale  inf (at most 0.3), missed so far" in text
    assert told((1.0, 0.2), ratio=Ratio("sale", over="dollars", at_least=4))[0].kept


def test_a_miss_is_one_of_the_row_in_units_of_the_ratio():
    """Sums of a row vary by at most sqrt(n) deviations, and their ratio by that over the sales."""
    standing, text = told((1.0, 0.2), (1.0, 0.5))
    assert standing.value == pytest.approx(0.35)
    assert standing.error == pytest.approx(math.sqrt(0.3 * 1.0) * math.sqrt(2) / 2)
    assert "dollars / sale  0.35 (at most 0.3), missed so far, by no more than chance explains" in text
    assert told(*[(1.0, 0.9)] * 40, rounds=50)[0].verdict == "behind"
    assert told(*[(1.0, 0.9)] * 40, rounds=40)[0].text == "missed"
    problem = Sales(subject_to=(COST,)).problem
    assert chance(problem.stated[0], problem, np.full(4, 9.0), np.zeros(4)) == math.inf


LEAST = Ratio("sale", over="dollars", at_least=4)
FLOOR = eh.Floor("sale", rate=0.7)


@for_each(
    ("limit", "offer", "end"),
    [
        (COST, 1, 0.3 + (300 * 0.16 - 100 * 0.05) / 160 / 2),  # the sums per dollar and sale: 120 and 240 of 300
        (LEAST, 1, 4 - (300 * 0.8 - 100 * 0.1) / 160),
        (FLOOR, 0, 0.7 - (300 * 0.2 - 100 * 0.1) / 400),
        (COST, 0, None),  # which is kept
        (eh.Floor("sale", rate=0.575), 0, None),  # which 100 large offers reach
    ],
)
def test_a_limit_that_a_plan_cannot_reach_says_where_it_ends(limit, offer, end):
    """After 300 of 400 rounds of one offer; the other one brings the sum of the row back by so much a round at most."""
    problem = fixed(limit)
    policy = resolving(problem, BayesianRidge(n_features=2))
    for replicas in (1, 3):
        state, run = policy.start(replicas=replicas), Alike(problem).start(0, np.arange(replicas))
        for t in range(300):
            context = run.context(t)
            plays = np.full((replicas, 1), offer)
            plays[1:] = 1 - offer  # of other replicas
            known = context.known[0][plays]
            made = policy.decide(state, context)._replace(plays=plays, known=known)
            policy.commit(state, context, made)
            policy.learn(state, made, np.zeros((replicas, 1, 1)))
        (standing,) = policy.status(state).standings.values()
        assert standing.end == (end if end is None else pytest.approx(end, rel=0.01))
        told = "" if end is None else f"by the plan it ends near {standing.end:.3g}"
        assert told in standing.text
        assert ("ends near" in standing.text) == bool(told)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_what_is_kept_does_not_depend_on_units(unit):
    """Sums that are the limit but for rounding."""
    ratio = Ratio("dollars", over="sale", at_most=0.1 * unit)
    problem = replace(
        Sales(subject_to=(ratio,)).problem, outcomes=(eh.Outcome("sale"), eh.Outcome("dollars", high=unit))
    )
    policy = uniform(problem, 9)
    state, context = policy.start(), Sales(subject_to=()).start(0, np.arange(1)).context(0)
    for over in (0.0, 1e-6):
        for _ in range(7):
            policy.learn(state, policy.act(state, context), np.array([[[0.7, 0.07 * (1 + over) * unit]]]))
        (standing,) = policy.status(state).standings.values()
        assert standing.kept == (over == 0.0)


def test_summaries_frames_and_plots_show_the_ratio_itself():
    world = Sales(subject_to=(COST, SHARE), horizon=120)
    trace = simulate(uniform(world.problem, 9), world, replicas=3, progress=False)
    lines = {line.name: line for line in trace.summary().lines}
    cost = trace.total("dollars") / trace.total("sale")
    assert lines["dollars / sale"].mean == pytest.approx(cost.mean())
    assert lines["dollars / sale"].limit == 0.3
    assert lines["dollars area=south / dollars"].worst == trace.measure(SHARE)[-1].min()
    assert "dollars / sale" in trace.to_frame().columns
    assert "dollars / sale (dashed: limit)" in [" ".join(a.get_title().split()) for a in trace.plot().axes]


def test_its_price_is_explained():
    world = Sales(subject_to=(COST,), horizon=300)
    policy = resolving(world.problem, BayesianRidge(n_features=9, n_outcomes=2))
    state, run = policy.start(), world.start(0, np.arange(1))
    for _ in play(policy, state, run, range(150)):
        pass
    context = run.context(150)
    text = policy.explain(state, context, policy.decide(state, context))
    assert "price of dollars - 0.3 sale" in text


LEVELS = 'levels = { town = ["north", "south"] }\n\n'  # which names the groups of a share


def test_problem_files_name_it_and_replays_report_it(tmp_path):
    more = """
[[ratio]]
of = "visit"
over = "post"
at_least = 0.3

[[ratio]]
of = "visit"
over = "post"
at_least = 0.2
by = "town"

[[ratio]]
of = "post town=south"
over = "post"
at_most = 0.75

[policy]
name = "resolving"
model = "bayesian_ridge"
"""
    text = log.PROBLEM[: log.PROBLEM.index("[[parity]]")] + more
    files = log.write(tmp_path, log.rows(600), text.replace("[action]", LEVELS + "[action]", 1))
    replay = replay_log(*files, replicas=2, bootstrap=2, progress=False)
    assert replay.problem.subject_to[1:] == (
        Ratio("visit", over="post", at_least=0.3),
        Ratio("visit", over="post", at_least=0.2, by="town"),
        Ratio("post town=south", over="post", at_most=0.75),
    )
    text = str(replay)
    trace = replay.runs[0].trace
    value = (trace.total("visit") / trace.total("post"))[:2].mean()
    assert f"visit / post, is {value:.4f} on average; limit 0.3,\n" in text
    assert "post town=south / post: limit 0.75" in text
    json.dumps(replay.to_dict(), allow_nan=False)


def test_the_page_shows_it_by_group(tmp_path):
    ratios = (Ratio("answer", over="cents", at_least=0.01), Ratio("answer", over="cents", at_least=0.01, by="zone"))
    problem = replace(SHOP, subject_to=ratios)
    campaign = Campaign.open(f"sqlite:///{tmp_path}/log.db", "shop", uniform(problem, 4))
    for offered, answer, summary in (
        ("none", 0, "0 / 0, at least 0.01: kept, as nothing was counted yet."),
        ("letter", 1, "0.0125, at least 0.01: kept."),
    ):
        reply = campaign.decide(CASE, f"key {offered}", offered=[offered])
        campaign.observe(reply.id, {"answer": answer})
        status, tally = campaign.status(), Tally(campaign)
        tally.update()
        one, each = constraints(Readings(campaign, status, tally, linked=True)).cards
        assert one.title == "answer / cents"
        assert one.summary == summary
        assert each.summary == f"The least group has {summary}"
        json.dumps(to_json(campaign, status, tally), allow_nan=False)
    assert [row[0] for row in each.tables[0].rows] == ["town", "land"]
    assert [row[1] for row in each.tables[0].rows] == ["–", "0.0125"]
