"""What theory says of a problem: bounds of prices against linear programs that scipy solves, and formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.environments import BernoulliKnapsacks, Court
from evenhand.problem import Budget, Floor, Groups, Outcome, Parity, Problem
from evenhand.recipes.pgd import experimental_thresholds
from evenhand.recipes.terms import Terms
from evenhand.run import price_bound
from evenhand.run.theory import DeclaredBounds

COURT = Court()
CASES, SHARE = 12, 0.25  # of the cases, the first quarter is in the group "left"


def shop(draw, plays=1):
    """A problem with a known cost, one that is learned, a floor of a known outcome and a parity, and what is true."""
    actions = ("nothing", *"abcd")
    price, use = np.append(0.1, draw.uniform(0.5, 8.0, 3)), draw.uniform(0.1, 1.0, 4)
    learned = Outcome("hours", high=5.0, free=("nothing",))
    named = (dict(zip(actions[1:], z.tolist(), strict=True)) for z in (price, use))
    outcomes = (Outcome("sale"), learned, *(Outcome(n, known=z) for n, z in zip(("price", "use"), named, strict=True)))
    problem = Problem(
        actions=actions,
        outcomes=outcomes,
        maximize="sale",
        subject_to=(
            Budget("price", rate=plays * float(draw.uniform(0.1, 2.0))),
            Budget("hours", rate=float(draw.uniform(0.05, 1.0)) + 5.0 * (plays - 1)),
            Floor("use", rate=plays * float(draw.uniform(0.0, 0.002))),
            Parity("use", by="side", tolerance=plays * float(draw.uniform(0.01, 0.2))),
        ),
        groups=(Groups("side", {"left": SHARE, "right": 1 - SHARE}),),
        horizon=10_000,
        n_plays=plays,
    )
    sale, hours = draw.random((CASES, 5)), 5.0 * draw.random((CASES, 5)) * draw.choice([0.05, 1.0])
    hours[:, 0] = 0.0
    left = (np.arange(CASES) < SHARE * CASES)[:, None]
    used = np.append(0.0, use)[None]
    gaps = [used * (np.where(left == side, 1 / (SHARE if side else 1 - SHARE), 0.0) - 1.0) for side in (True, False)]
    rows = [np.tile(np.append(0.0, price), (CASES, 1)), hours, -np.tile(used, (CASES, 1))]
    return problem, sale, np.array([*rows, *(sign * gap for gap in gaps for sign in (1.0, -1.0))])


def solved(sale, rows, bound, plays):
    """The prices of the best policy over all cases, by scipy."""
    count = np.kron(np.eye(CASES), np.ones(5))
    flat = rows.reshape(len(rows), -1) / CASES
    found = linprog(-sale.ravel() / CASES, flat, bound, count, np.full(CASES, float(plays)), bounds=(0.0, 1.0))
    return None if found.status else -found.ineqlin.marginals


@pytest.mark.parametrize("plays", [1, 2])
def test_prices_of_random_worlds_never_exceed_what_ranges_allow(plays):
    draw, reached, together = np.random.default_rng(plays), [], []
    for _ in range(60):
        problem, sale, rows = shop(draw, plays)
        found, bound = eh.run.theory(problem), np.concatenate([s.bound for s in problem.stated])
        price, _, use = (np.abs(z).max() for z in rows[:3])
        most = (1 / SHARE - 1) * np.array([price, 5.0, *[use] * 5])  # that a play adds, with the largest factor
        if not found.slack.any():  # two different plays of a round cost more than it has, for all that is known
            assert np.isinf(found.norm)
            continue
        for part in (0.0, 0.25, 0.5):
            prices = solved(sale, rows, bound - part * found.slack, plays)
            assert prices is not None  # what can be tightened for certain can be
            assert most @ prices <= found.norm * (1 + 1e-6)
            together.append(most @ prices / found.norm)
            if part == 0.0:
                assert (prices <= found.prices * (1 + 1e-6)).all()
                reached.append((prices / np.where(found.prices > 0.0, found.prices, np.inf)).max())
        assert solved(sale, rows, bound - found.slack, plays) is not None
    assert len(reached) > 30
    assert max(reached) > 0.1
    assert max(together) > 0.01


def test_where_all_is_declared_the_bounds_are_the_prices():
    """Of single rows, at generic bounds; and the prices of all rows together, where none is tightened further."""
    draw = np.random.default_rng(0)
    for _ in range(30):
        names, actions = ("gain", "fee", "time"), ("nothing", *"abcdef")
        known = np.column_stack([np.zeros(3), draw.uniform(0.1, 5.0, (3, 6))])
        bound = draw.uniform(0.2, 3.0, 2)
        outcomes = tuple(
            Outcome(n, known=dict(zip(actions, z.tolist(), strict=True))) for n, z in zip(names, known, strict=True)
        )
        budgets = tuple(Budget(n, rate=b) for n, b in zip(names[1:], bound.tolist(), strict=True))
        problem = Problem(actions=actions, outcomes=outcomes, maximize="gain", subject_to=budgets, horizon=100)
        found = linprog(-known[0], known[1:], bound, np.ones((1, 7)), [1.0])
        assert eh.run.theory(problem).prices == pytest.approx(-found.ineqlin.marginals, abs=1e-6)


def test_groups_of_actions_hold_whatever_the_case_is():
    """Exposures by label are known: the bounds are the prices of the linear program."""
    actions, label = tuple("abcd"), {"a": "big", "b": "big", "c": "small", "d": "small"}
    gain = dict(zip(actions, (0.9, 0.5, 0.3, 0.2), strict=True))
    problem = Problem(
        actions=actions,
        outcomes=(Outcome("gain", known=gain), Outcome("shown", known=dict.fromkeys(actions, 1.0))),
        maximize="gain",
        groups=(Groups("label", ["big", "small"], of=label),),
        subject_to=(Floor("shown", rate=0.25, by="label"),),
        horizon=100,
    )
    inside = [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    floors = -np.array(inside) / (0.5 if problem.stated[0].rows.by_share[0] else 1.0)
    found = linprog([-z for z in gain.values()], floors, problem.stated[0].bound, np.ones((1, 4)), [1.0])
    assert -found.ineqlin.marginals[1] > 0.1
    assert eh.run.theory(problem).prices == pytest.approx(-found.ineqlin.marginals, abs=1e-6)


def test_policies_tell_groups_of_cases_apart_where_lotteries_do_not():
    """Only sales of the quarter count: the best policy spends all on it, so that a unit is worth a sale."""
    sides = {"groups": (Groups("side", {"left": SHARE, "right": 1 - SHARE}),)}
    quarter = replace(dear(1.0, 0.1, **sides), maximize=eh.objectives.Linear({"sale side=left": 1.0}))
    assert eh.run.theory(quarter).prices == pytest.approx([1.0])
    found = DeclaredBounds.of(dear(1.0, 0.1, **sides, subject_to=(Parity("cost", by="side", tolerance=0.1),)))
    assert sorted((found.least[1] * found.unit).tolist()) == pytest.approx(sorted([-1.0, -3.0, -1.0, -1 / 3]))
    assert found.most == pytest.approx(np.zeros((2, 4)))


def paying(**named):
    spend = Outcome("cost", high=2.0, free=named.pop("free", ("nothing",)))
    stated = {"maximize": "sale", "subject_to": (Budget("cost", rate=0.08),), "horizon": 10_000}
    return Problem(**{"actions": ("nothing", "ad", "call"), "outcomes": (Outcome("sale"), spend), **stated, **named})


def dear(cost, rate, nothing=("nothing",), **named):
    """One action costs something, and may always bring a sale."""
    outcomes = (Outcome("sale", free=nothing), Outcome("cost", known={"ad": cost}))
    stated = {"subject_to": (Budget("cost", rate=rate),), "horizon": 1000, **named}
    return Problem(actions=("nothing", "ad"), outcomes=outcomes, maximize="sale", **stated)


@pytest.mark.parametrize("rate", [0.001, 0.3, 2.9])
def test_the_bound_is_attained_where_ranges_leave_no_doubt(rate):
    """A sale for every ad: the price is 1 / cost, which Example 1 has as its bound."""
    found = eh.run.theory(dear(3.0, rate))
    least = linprog([0.0, -1.0], [[0.0, 3.0]], [rate], [[1.0, 1.0]], [1.0])
    assert found.prices == pytest.approx(-least.ineqlin.marginals)
    assert found.prices == pytest.approx([1 / 3])
    assert found.slack == pytest.approx([rate])
    assert found.norm == pytest.approx(2.0)  # 3.0 times the price, which half of the slack doubles: Corollary 1
    doubtful = eh.run.theory(
        dear(3.0, rate, nothing=())
    )  # without an ad there may be a sale, and with one there may be none
    assert doubtful.prices == pytest.approx([1 / rate])


def test_budgets_that_nothing_can_exceed_have_prices_and_margins_of_0():
    found = eh.run.theory(dear(3.0, 3.5))
    assert found.prices.tolist() == found.margins.tolist() == found.adaptive_margins.tolist() == [0.0]
    assert found.norm == 0.0
    assert "Theorem 1 holds at 1,000 rounds" in found.summary()


def test_rewards_that_are_known_leave_a_price_of_0_where_the_best_action_is_cheap():
    outcomes = (Outcome("gain", known={"low": 1.0, "high": 0.5}), Outcome("cost", known={"low": 0.1, "high": 2.0}))
    problem = Problem(
        actions=("none", "low", "high"),
        outcomes=outcomes,
        maximize="gain",
        subject_to=(Budget("cost", rate=0.2),),
        horizon=100,
    )
    assert eh.run.theory(problem).prices == pytest.approx([0.0])
    assert eh.run.theory(replace(problem, subject_to=(Budget("cost", rate=0.05),))).prices == pytest.approx([10.0])


def test_floors_of_what_is_learned_cannot_be_kept_for_certain():
    problem = dear(3.0, 0.3, subject_to=(Floor("sale", rate=0.1), Budget("cost", rate=0.3)))
    found = eh.run.theory(problem)
    assert found.norm == found.applies_from == np.inf
    assert np.isinf(found.prices[0])
    assert np.isfinite(found.margins).all()  # those of Theorem 1 need no bound of prices, and this one hardly
    assert "never holds" in found.summary()
    assert np.isfinite(eh.run.theory(dear(3.0, 0.3, subject_to=(Floor("cost", rate=0.1),))).norm)


def test_rewards_without_a_range_leave_prices_without_a_bound():
    endless = (Outcome("sale", high=math.inf, free=("nothing",)), dear(3.0, 0.3).outcomes[1])
    assert eh.run.theory(replace(dear(3.0, 0.3), outcomes=endless)).prices.tolist() == [math.inf]


def test_an_environment_says_more_than_ranges():
    world = BernoulliKnapsacks(arms=5, resources=2)
    bound = price_bound(world, replicas=1, contexts=1, progress=False)
    alone, told = eh.run.theory(world.problem), eh.run.theory(world.problem, prices=bound)
    assert (told.prices == bound.each).all()
    assert told.norm == pytest.approx(bound.each.max())  # costs and rewards of 1 at most
    assert told.norm < alone.norm
    idle = replace(world.problem, subject_to=(*world.problem.subject_to, Budget(world.problem.names[1], rate=1.5)))
    beside = bound._replace(each=np.append(bound.each, 7.0))
    assert (eh.run.theory(idle, prices=beside).prices == np.append(bound.each, 0.0)).all()  # nothing can exceed it
    assert told.step == pytest.approx(max(1.0, told.norm) / math.sqrt(world.problem.horizon))


def test_units_have_the_largest_factor_of_a_group_and_steps_its_square():
    """A gap of the quarter's group moves by 3 where a play uses 1: costs in [-1, 1] are a third of the recipe's."""
    parity = Parity("cost", by="side", tolerance=0.05)
    stated = {"groups": (Groups("side", {"left": SHARE, "right": 1 - SHARE}),), "subject_to": (parity,)}
    found = eh.run.theory(dear(1.0, 0.3, **stated), width_sum=0.0)
    assert found.slack == pytest.approx([0.05] * 4)
    assert found.norm == pytest.approx(2 * 3.0 / 0.05)  # a sale may be worth 1, and half of the slack is left
    assert found.step == pytest.approx(found.norm / math.sqrt(1000) / 9)
    alike = eh.run.theory(dear(1.0, 0.3, **{**stated, "groups": (Groups("side", ["left", "right"]),)}), width_sum=0.0)
    assert found.margins == pytest.approx(3 * alike.margins, rel=0.01)
    assert found.thresholds == pytest.approx([3 * m for m in alike.thresholds])


def test_sums_are_those_of_box_c_and_of_lemma_1():
    t, d, delta, widths = 10_000, 10, 0.05, 300.0
    found = eh.run.theory(COURT.problem, delta=delta, width_sum=widths)

    def upsilon(risk):
        first, second = math.log(4 * t**2 / risk), math.log(8 * (d + 1) * t / risk)
        return max(widths, 2 * math.sqrt(d * t * first), math.sqrt(2 * t * second))

    for k in (0, 3, 14):  # ceil(log2 10,000) is 14
        limit = 4 * math.sqrt(t) + 20 * math.sqrt(d) * upsilon(delta / (k + 2) ** 2)
        assert found.thresholds[k] == pytest.approx(limit)
    assert found.adaptive_margins == pytest.approx([15 * (found.thresholds[14] + 2 * math.sqrt(d)) / t] * 4)
    lemma = (1 + 3 * found.norm) / found.step + 20 * math.sqrt(d) * upsilon(delta)
    assert found.margins == pytest.approx([lemma / t] * 4)
    assert eh.run.theory(COURT.problem, width_sum=1e9).thresholds[0] == pytest.approx(400 + 20 * math.sqrt(10) * 1e9)


def test_widths_are_those_of_a_ridge_regression():
    """The sum of ||x||_{V^-1} over the rounds stays below what the bound takes for it, and W has its formula."""
    t, n, delta = 3000, 4, 0.05
    x = np.random.default_rng(0).normal(size=(t, n))
    x /= np.linalg.norm(x, axis=1)[:, None]
    v, total = np.eye(n), 0.0
    for row in x:
        total += math.sqrt(row @ np.linalg.solve(v, row))
        v += np.outer(row, row)
    log_det = n * math.log(1 + t / n)
    assert np.linalg.slogdet(v)[1] <= log_det
    assert total <= math.sqrt(2 * t * log_det)
    radius = (
        0.5 * math.sqrt(log_det - 2 * math.log(delta / 4 / 2)) + 1.0
    )  # two learned outcomes, at a fourth of the risk
    widths = radius * math.sqrt(2 * t * log_det)
    stated = {"n_parameters": n, "delta": delta}
    problem = paying(horizon=t)
    told = eh.run.theory(problem, width_sum=widths, delta=delta)
    assert eh.run.theory(problem, **stated).margins == pytest.approx(told.margins)
    pairs = replace(paying(horizon=t // 2), n_plays=2)  # as many plays, whose widths are those at the start of a round
    told = eh.run.theory(pairs, width_sum=radius * math.sqrt(t * log_det), delta=delta)
    assert eh.run.theory(pairs, **stated).margins == pytest.approx(told.margins)
    short = paying(horizon=10)  # of at most 1 per round, less than luck has
    assert eh.run.theory(short, n_parameters=1000).margins == pytest.approx(eh.run.theory(short, width_sum=0.0).margins)


def test_margins_and_thresholds_follow_units_and_plays():
    cents, euros = eh.run.theory(dear(300.0, 30.0)), eh.run.theory(dear(3.0, 0.3))
    assert cents.adaptive_margins == pytest.approx(100 * euros.adaptive_margins)
    assert cents.margins == pytest.approx(100 * euros.margins)
    assert cents.thresholds == euros.thresholds
    assert cents.step == pytest.approx(euros.step)
    assert cents.prices == pytest.approx(euros.prices / 100)
    pair = {"actions": ("nothing", "ad", "call"), "n_plays": 2, "horizon": 1000}
    two = eh.run.theory(paying(subject_to=(Budget("cost", rate=0.8),), **pair), width_sum=0.0)
    one = eh.run.theory(paying(horizon=1000), width_sum=0.0)
    assert two.adaptive_margins == pytest.approx(2 * one.adaptive_margins)
    assert two.thresholds == pytest.approx([2 * m for m in one.thresholds])


def test_ranges_around_0_are_twice_as_wide_as_their_sizes():
    """Widths are of ranges, and sums in units of sizes."""
    around = Outcome("cost", low=-2.0, high=2.0, free=("nothing",))
    outcomes = paying().outcomes[:1]
    one, two = (eh.run.theory(paying(outcomes=(*outcomes, z), horizon=10**9)) for z in (paying().outcomes[1], around))
    widths = [m - 4.0 * math.sqrt(10**9) for m in (one.thresholds[0], two.thresholds[0])]
    assert widths[1] == pytest.approx(2 * widths[0])


def test_the_theorem_holds_from_the_horizon_that_is_told():
    first = eh.run.theory(dear(1.0, 0.5), n_parameters=2).applies_from
    for horizon, holds in ((int(first), True), (int(first) // 2, False)):
        found = eh.run.theory(dear(1.0, 0.5, horizon=horizon), n_parameters=2)
        assert bool((2 * found.adaptive_margins <= found.slack).all()) is holds
        assert ("Theorem 1 holds at" in found.summary()) is holds


def test_recipes_take_the_numbers_of_theory():
    """Where the theorem holds, two budgets of other units have other margins."""
    costs = [Outcome(name, known={"ad": cost}) for name, cost in (("euros", 1.0), ("cents", 100.0))]
    stated = {"subject_to": (Budget("euros", rate=0.5), Budget("cents", rate=50.0)), "horizon": 2**45}
    problem = replace(dear(1.0, 0.5), outcomes=(Outcome("sale", free=("nothing",)), *costs), **stated)
    found, model = eh.run.theory(problem), eh.models.Tabular(arms=2, n_outcomes=1, confidence=0.5)
    assert "Theorem 1 holds" in found.summary()
    margins = {"thresholds": found.thresholds, "margin": found.adaptive_margins, "reset": True}
    goal = eh.recipes.pgd_adaptive(problem, model, **margins).goals[1]
    assert goal.bound == pytest.approx([0.5 - found.adaptive_margins[0]] * 2)  # in units of plays
    assert found.adaptive_margins[1] == pytest.approx(100 * found.adaptive_margins[0])
    with pytest.raises(InvalidInput, match="margin: expected a number, or one for each of 2 constraints"):
        eh.pgd(problem, model, margin=np.zeros(3))
    goal = eh.pgd(problem, model, margin=found.margins, step=found.step).goals[1]
    assert goal.bound == pytest.approx([0.5 - found.margins[0]] * 2)
    assert goal.step.size == pytest.approx(found.step)  # a sale is worth 1


def test_defaults_stand_beside_theory():
    found = {(z.quantity, z.of): z for z in eh.run.theory(COURT.problem).settings()}
    assert found["price, at most", "ride per round"].default == pytest.approx(20.0)
    assert found["step of pgd", ""].default == pytest.approx(0.02)
    assert found["margin of pgd", "ride per round"].default == Terms(COURT.problem).margin[0]
    assert found["margin beside a free action", "ride per round"].default == Terms(COURT.problem).fluctuation[0]
    assert found["threshold 13 of pgd_adaptive", ""].default == experimental_thresholds(COURT.problem)[13]
    frame = eh.run.theory(COURT.problem).to_frame()
    assert list(frame.columns) == ["quantity", "of", "theory", "default", "source"]
    assert len(frame) == len(found)


def test_the_margin_with_a_null_action_is_what_the_costs_of_its_plays_spread_by():
    """T B / alpha plays of cost alpha on average can be paid for; costs of 0 or c spread the most."""
    least, most = 0.5, 2.0
    assert eh.run.theory(paying()).few_plays == {}  # what is learned may cost next to nothing
    margin = eh.run.theory(paying(), least=least).few_plays[0]
    plays = 10_000 * 0.08 / least
    assert 10_000 * margin == pytest.approx(most * math.sqrt(plays))
    sums = most * np.random.default_rng(0).binomial(int(plays), least / most, size=4000)
    assert sums.std() <= 10_000 * margin
    assert (sums - plays * least <= 10_000 * margin).mean() > 0.97  # two standard deviations and more


def known(costs, **budget):
    names = tuple(map(str, range(len(costs))))
    outcomes = (Outcome("sale"), Outcome("cost", known=dict(zip(names, costs, strict=True))))
    budget = (Budget("cost", **budget),)
    return Problem(actions=names, outcomes=outcomes, maximize="sale", subject_to=budget, horizon=1000)


def test_a_margin_of_few_plays_is_never_above_that_of_all():
    """A budget for more than all rounds pays for all of them; one that nothing exceeds, and income, have no margin."""
    assert eh.run.theory(known([0.0, 1.0, 3.0], rate=2.5)).few_plays == {0: pytest.approx(3.0 / math.sqrt(1000))}
    assert eh.run.theory(known([0.0, 1.0, 3.0], rate=0.25)).few_plays == {
        0: pytest.approx(3.0 * math.sqrt(0.25 / 1000))
    }
    assert eh.run.theory(known([0.0, 1.0, 3.0], rate=100.0)).few_plays == {}
    assert eh.run.theory(known([-1.0, 0.0, 3.0], rate=0.5)).few_plays == {}
    with pytest.raises(InvalidInput, match="none that earns"):
        eh.run.theory(known([-1.0, 0.0, 3.0], rate=0.5), least=1.0)


def test_a_reward_that_is_the_same_for_all_has_no_price():
    problem = known([0.0, 1.0], rate=0.5)
    same = Outcome("sale", known={"0": 0.5, "1": 0.5})
    problem = replace(problem, outcomes=(same, *problem.outcomes[1:], Outcome("other")))
    found = eh.run.theory(problem)
    assert found.prices.tolist() == [0.0]
    assert found.norm == 0.0


@pytest.mark.parametrize(
    ("problem", "arguments", "told"),
    [
        (paying(free=()), {"least": 0.5}, "an action that costs nothing"),
        (paying(subject_to=(Budget("cost", rate=0.08), Budget("sale", rate=0.2))), {"least": 0.5}, "a single budget"),
        (paying(), {"least": 0.0}, "least"),
        (paying(), {"least": 2.5}, "least"),
        (paying(), {"delta": 1.0}, "delta: expected a risk"),
        (paying(), {"n_parameters": 0}, "n_parameters"),
        (paying(), {"width_sum": -1.0}, "width_sum"),
        (paying(subject_to=()), {}, "at least one constraint"),
        (paying(maximize=eh.objectives.GeneralizedGini(("sale", "cost"), (1, 0.5))), {}, "problem.maximize"),
    ],
)
def test_what_theory_cannot_use_is_refused(problem, arguments, told):
    with pytest.raises(InvalidInput, match=told):
        eh.run.theory(problem, **arguments)


def test_a_bound_of_another_problem_is_refused():
    bound = price_bound(BernoulliKnapsacks(arms=3, resources=2), replicas=1, contexts=1, progress=False)
    with pytest.raises(InvalidInput, match="prices: expected a bound of 1 rows"):
        eh.run.theory(paying(), prices=bound)
