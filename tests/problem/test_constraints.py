"""Constraints: each kind by its definition, and no file that asks which kind one has."""

import ast
import inspect
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import evenhand
from evenhand import goals, recipes, sets
from evenhand.environments import Court
from evenhand.goals import HardBudget, hard_limits
from evenhand.models import Fixed, Logarithmic, Logistic, Ridge
from evenhand.objectives import Linear
from evenhand.problem import Budget, Floor, Groups, Outcome, Parity, Problem, constraints
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import Cases
from evenhand.recipes import fw_dual, lin_cbwk, pgd, primal_lp, resolving, uniform
from evenhand.run import simulate
from tests.examples.problems import EVERYTHING
from tests.worlds import Market

COURT = Court(horizon=1000)
MODEL = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025))


def court(*constraints, horizon=1000):
    return replace(Court(horizon=horizon).problem, subject_to=constraints)


@dataclass(frozen=True)
class Under:
    """The court under other constraints."""

    problem: Problem
    n_features: int = 5

    def start(self, seed, replicas):
        return COURT.start(seed, replicas)


def run(policy, **options):
    return simulate(policy, Under(policy.problem), replicas=3, progress=False, **options)


HOME = Path(evenhand.__file__).parent
FOLDER = HOME / "problem" / "constraints"
TELLING = {"within", "outcomes", "curved", "tightened", "outcome", "by", "tolerance", "spends", "rate", "total"}
ASKING = ("isinstance", "issubclass", "type", "hasattr", "getattr")
FILES = sorted(HOME.rglob("*.py"))


def classes(path):
    return [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]


DECLARED = [n for path in FOLDER.glob("*.py") for n in classes(path)]
CONTRACTS = {n.name for n in DECLARED if any(getattr(b, "id", "") in ("Protocol", "NamedTuple") for b in n.bases)}
KINDS = {n.name for n in DECLARED} - CONTRACTS - {"Statement"}
EXPORTED = {name: getattr(home, name) for home in (sets, goals) for name in home.__all__}
EXPORTED = {name: z for name, z in EXPORTED.items() if hasattr(z, "project") or hasattr(z, "start")}  # no step sizes
CONCRETE = KINDS | {name for name, z in EXPORTED.items() if isinstance(z, type) and not getattr(z, "_is_protocol", 0)}


def questions(path):
    """Where a file asks which kind a part is: by class, by a member that only some constraints have, or by a pattern.

    Constraints, sets and goals of one's own are as good as those that are shipped. A class may know itself, and
    `problem.constraints.base` says once which constraints fulfil the contracts that only some do.
    """
    tree = ast.parse(path.read_text())
    asked = CONCRETE - {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    if path != FOLDER / "base.py":
        asked |= CONTRACTS - {"Constraint"}
    for node in ast.walk(tree):
        parts = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ASKING:
            parts = node.args
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        within = [n for part in parts for n in ast.walk(part)]
        named = {n.id for n in within if isinstance(n, ast.Name)} | {
            n.attr for n in within if isinstance(n, ast.Attribute)
        }
        texts = {n.value for n in within if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        if named & asked or (path.parent.name == "recipes" and (named & CONTRACTS or texts & TELLING)):
            yield node.lineno


def test_the_kinds_are_all_known():
    assert {"Budget", "Floor", "Parity", "Within"} <= {*constraints.__all__} - CONTRACTS == KINDS
    assert {"Constraint", "OneOutcome", "Curved", "Region", "Rest", "States", "Sums"} <= CONTRACTS
    assert {"Ball", "Box", "Intersection", "LinearReward", "HardBudget"} <= CONCRETE
    assert {Path(inspect.getfile(getattr(recipes, name))) for name in recipes.__all__} <= set(FILES)


def test_no_code_asks_which_kind_a_constraint_a_set_or_a_goal_is():
    assert {path: asked for path in FILES if (asked := list(questions(path)))} == {}


def test_no_recipe_imports_a_kind_of_constraint_nor_a_contract_that_only_some_fulfil():
    for path in (HOME / "recipes").glob("*.py"):
        tree = ast.walk(ast.parse(path.read_text()))
        imports = [node for node in tree if isinstance(node, ast.ImportFrom) and node.module]
        named = {a.name for node in imports if "problem" in node.module for a in node.names}
        assert not named & (KINDS | {"Curved"}), path


# Totals


@given(st.floats(1e-3, 1e9), st.integers(1, 10**7))
def test_a_stated_total_is_the_total_to_the_last_bit(total, horizon):
    assert Budget("x", total=total).total_over(horizon) == total
    assert Floor("x", total=total).total_over(horizon) == total
    assert Budget("x", total=total).limit(horizon) == total / horizon


@pytest.mark.parametrize("kind", [Budget, Floor])
def test_a_total_is_a_rate_times_the_horizon(kind):
    """The same sum in either words, and each has to be named: 500 could be either."""
    total, rate = kind("x", total=500), kind("x", rate=0.05)
    assert (
        (total.limit(10_000), total.total_over(10_000)) == (rate.limit(10_000), rate.total_over(10_000)) == (0.05, 500)
    )


def test_a_hard_limit_holds_the_stated_total_to_the_last_bit():
    """For about every eleventh pair of round numbers total / horizon * horizon is another number."""
    inexact = [(b, t) for b in range(1, 60) for t in range(61, 120) if b / t * t != b]
    assert len(inexact) > 100
    for total, horizon in inexact[:40]:
        (limit,) = hard_limits(court(Budget("ride", total=total), horizon=horizon), True)
        assert limit.total.tolist() == [float(total)]


def test_a_rate_is_multiplied_once():
    assert Budget("x", rate=0.1).total_over(3) == 0.1 * 3
    assert Parity("x", by="g", tolerance=0.1).total_over(3) == 0.1 * 3
    assert Parity("x", by="g", tolerance=0.1).limit(3) == 0.1


# Hard or soft

SOFT, HARD, OPEN = (Budget("ride", total=50, hard=h) for h in (False, True, None))
CARDS = Budget("voucher", total=200)


@pytest.mark.parametrize(
    ("budget", "hard", "totals"),
    [
        (SOFT, True, [200.0]),
        (SOFT, False, None),
        (HARD, True, [50.0, 200.0]),
        (HARD, False, [50.0]),
        (OPEN, True, [50.0, 200.0]),
        (OPEN, False, None),
    ],
)
def test_a_constraint_says_itself_whether_it_is_hard_and_else_the_recipe_does(budget, hard, totals):
    limits = hard_limits(court(budget, CARDS), hard)
    assert [g.total.tolist() for g in limits] == ([] if totals is None else [totals])
    policy = pgd(court(budget, CARDS), MODEL, hard=hard)
    assert [type(g) is HardBudget for g in policy.goals] == [False, False] + [True] * len(limits)
    assert policy.name.endswith(", hard") == bool(limits)


def test_a_soft_budget_is_overspent_under_a_hard_recipe_and_a_hard_one_kept_under_a_soft_recipe():
    soft = run(lin_cbwk(court(SOFT, CARDS), MODEL, max_price=1e-9))
    assert (soft.total("ride") > 60).all()
    assert (soft.total("voucher") <= 200).all()
    hard = run(pgd(court(HARD, CARDS), MODEL, step=0.0, margin=0.0))
    assert (hard.total("ride") <= 50).all()
    assert (hard.total("voucher") > 210).all()


def test_the_same_problem_without_any_hard_limit_has_no_goal_for_one():
    assert hard_limits(court(), True) == ()
    assert hard_limits(court(Parity("ride", by="group", tolerance=0.1)), True) == ()
    assert len(uniform(court(), 5).goals) == 1
    assert len(resolving(court(), MODEL).goals) == 1


# Floors


def test_a_floor_is_the_negative_outcome_above_a_negative_bound():
    rows, bound = constraint_rows(
        replace(EVERYTHING, subject_to=(Floor("letters", rate=0.3), Floor("hours", total=30.0)))
    )
    np.testing.assert_array_equal(bound, [-0.3, -0.2])
    y, z = np.array([[[0.5, 1.5]]]), np.array([[[2.0, 3.0]]])
    frame = Cases(np.zeros((1, 4, 2)), np.array([[[0, 3]]]))
    np.testing.assert_allclose(rows.post(frame, np.full((1, 5), 0.5), y, z), [[-2.0, -1.5]])


@pytest.mark.parametrize("group", range(3))
def test_a_floor_by_group_divides_the_outcome_of_each_group_by_its_share(group):
    """sum c 1{g} / share_g >= rate T for every g, summed over a run by hand."""
    floor = Floor("miles", rate=2.0, by="district")
    rows, bound = floor.rows(EVERYTHING), floor.bound(EVERYTHING)
    assert rows.names == tuple(f"miles district={g} at least" for g in ("north", "middle", "south"))
    np.testing.assert_array_equal(bound, [-2.0] * 3)
    rng, total, direct = np.random.default_rng(group), np.zeros(3), np.zeros(3)
    shares = np.array([0.25, 0.25, 0.5])
    for _ in range(50):
        case, miles = rng.integers(3), rng.random()
        frame = Cases(np.zeros((1, 4, 2)), np.array([[[case, 3]]]))
        v = rows.post(frame, EVERYTHING.shares[None], np.zeros((1, 1, 2)), np.array([[[0.0, miles]]]))
        total += v[0]
        direct[case] += miles
    np.testing.assert_allclose(total, -direct / shares)


def test_what_a_floor_measures_is_a_direct_count():
    problem = court(Floor("ride", rate=0.01), Floor("ride", rate=0.01, by="group"))
    trace = run(uniform(problem, 5), seed=2, record="all")
    ride = trace.plays.outcomes[:, :, 0, problem.names.index("ride")]
    everybody, each = (trace.measure(c)[-1] for c in problem.subject_to)
    for r in range(3):
        inside = [sum(ride[s, r] for s in range(1000) if trace.plays.groups[s, r, 0] == g) for g in (0, 1)]
        assert everybody[r] == pytest.approx(ride[:, r].mean())
        assert each[r] == pytest.approx(min(inside) / 500)
    lines = {line.name: line for line in trace.summary().lines}
    assert lines["ride per round, at least"].limit == lines["least ride by group"].limit == 0.01
    assert lines["least ride by group"].worst == each.min()


def test_a_group_of_which_nobody_came_does_not_break_its_floor():
    groups = (Groups("age", ["young", "old", "ancient"]),)
    problem = replace(court(), groups=groups, subject_to=(Floor("ride", rate=0.1, by="age"),))
    floor = problem.subject_to[0]
    sums = replace(
        run(uniform(court(), 5)),
        problem=problem,
        group_rounds=np.array([[[0.0, 0.0, 0.0]], [[6.0, 4.0, 0.0]]]),
        group_totals=np.array([[[0.0, 0.0, 0.0]], [[3.0, 1.0, 0.0]]])[..., None] * np.ones(3),
        totals=np.array([[[0.0] * 3], [[4.0] * 3]]),
        elapsed=np.array([[0.0], [10.0]]),
    )
    np.testing.assert_allclose(floor.measure(sums), [[0.0], [0.25]])  # 1 of the 4 that are old


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [pgd, resolving, fw_dual, primal_lp], ids=lambda r: r.__name__)
def test_a_floor_is_reached_where_it_would_not_be_otherwise(recipe):
    """Rides do not pay for themselves where they cost, so that without a floor there are hardly any."""
    dear = Outcome("appears", low=-1.0), Outcome("ride", known={"ride": 1.0}), Outcome("cost", known={"ride": 1.0})
    problem = Problem(
        actions=("nothing", "ride"),
        outcomes=dear,
        maximize=Linear({"appears": 0.1, "cost": -1.0}),
        subject_to=(Floor("ride", rate=0.2, by="g"),),
        groups=(Groups("g", {"a": 0.3, "b": 0.7}),),
        horizon=1500,
    )
    model = Ridge(n_features=3, width=Fixed(0.05))
    extra = {"hard": False} if recipe is not resolving else {}
    extra |= {"step": 0.1} if recipe in (pgd, fw_dual) else {}
    free = replace(problem, subject_to=(Floor("ride", rate=-1.0, by="g"),))
    kept, without = (
        simulate(recipe(p, model, **extra), Market(problem=p), replicas=3, progress=False).measure(p.subject_to[0])[-1]
        for p in (problem, free)
    )
    assert (kept >= 0.2 - 0.03).all()
    assert (without < 0.1).all()
