"""Lists: the optimum of a linear program, budgets that always hold, honest probabilities, and errors by line."""

import csv
import itertools
import re

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.cli import main
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.offline import Evidence, assign, curve, value
from evenhand.offline.lists.plan import Cases, drawn, places
from tests.offline.test_fair import optimum

HEAD = """
maximize = "sale"
horizon = 100
features = { numeric = ["age"], categorical = ["town"] }
action = { column = "sent", values = { no = "none", letter = "letter", call = "call" } }
propensity = { constant = 0.333333 }
groups = { town = { shares = "log" } }
outcomes = { sale = { range = [0, 1] }, post = { known = { letter = 1, call = 3 } }, fuel = { known = { call = 1 } } }
"""
BUDGET = '[[budget]]\noutcome = "post"\nrate = 0.4\n'
SECOND = '[[budget]]\noutcome = "fuel"\nrate = 0.05\n'
PARITY = '[[parity]]\noutcome = "post"\nby = "town"\ntolerance = 0.05\n'


def files(folder, more=BUDGET, cases=300):
    rng = np.random.default_rng(3)
    lines = ["age,town,sent,sale"]
    for i in range(900):
        age, town, sent = rng.integers(20, 60), "ABC"[rng.integers(3)], i % 3
        chance = 0.1 + sent * (age - 20) / 100 + 0.1 * sent * (town == "A")
        lines.append(f"{age},{town},{('no', 'letter', 'call')[sent]},{int(rng.random() < chance)}")
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    (folder / "problem.toml").write_text(HEAD + more)
    rows = [f"{rng.integers(20, 60)},{'ABC'[rng.integers(3)]},c{i}" for i in range(cases)]
    (folder / "cases.csv").write_text("\n".join(["age,town,who", *rows]) + "\n")
    return folder / "cases.csv", folder / "problem.toml"


def test_a_list_is_the_optimum_of_a_linear_program(tmp_path):
    cases, problem = files(tmp_path, BUDGET + PARITY)
    found = assign(cases, problem, learn_from=tmp_path / "log.csv")
    frames = {}  # the predictions of all actions, by lists in which each is free
    for action in ("none", "letter", "call"):
        others = [a for a in ("none", "letter", "call") if a != action]
        problem.write_text(HEAD.replace("horizon = 100", f"horizon = 100\nwithdrawn = {others}".replace("'", '"')))
        frames[action] = assign(cases, problem, learn_from=tmp_path / "log.csv").expected["sale"]
    worth, cost = np.stack(list(frames.values()), 1), np.array([[0.0, 1.0, 3.0]])
    towns = np.unique(np.array(found.texts["town"]), return_inverse=True)[1]
    best = optimum(worth, cost, towns, 0.4, 0.05)
    rows = np.arange(300)
    assert np.allclose(found.expected["sale"], worth[rows, found.chosen])
    assert worth[rows, found.chosen].mean() <= best + 1e-9
    assert worth[rows, found.chosen].mean() >= best - 3 * np.ptp(worth) / 300  # a case per group is rounded down
    assert found.budgets[0].spent <= 120.0 + 1e-9
    averages = list(found.demands[0].averages.values())
    assert max(averages) - min(averages) <= 2 * (0.05 + 3.0 / min(np.bincount(towns)))


DEMANDS = {
    "floor": '[[floor]]\noutcome = "fuel"\nrate = 0.08\n',
    "floors": '[[floor]]\noutcome = "post"\nby = "town"\nrate = 0.48\n',
    "ratio": '[[ratio]]\nof = "post"\nover = "sale"\nat_most = 2.1\n',
    "parity": PARITY,
}


def limits(name, w, c, towns):
    """The rows of a constraint, whose sums over lotteries are at most 0, `(N,A),(N,A),(N)->(N,A)` each."""
    of = [np.where(towns == g, len(towns) / (towns == g).sum(), 0.0)[:, None] for g in range(3)]
    apart = [(z - 1.0) * c for z in of]
    return {
        "floor": [0.08 - (c == 3.0)],
        "floors": [z * (0.48 - c) for z in of],
        "ratio": [c - 2.1 * w],
        "parity": [sign * z - 0.05 for z in apart for sign in (1.0, -1.0)],
    }[name]


@pytest.mark.parametrize(
    "names",
    [["floor"], ["floors"], ["ratio"], ["floor", "parity"], ["floors", "ratio"], ["floor", "floors", "ratio"]],
)
def test_limits_of_averages_are_those_of_a_linear_program(tmp_path, names):
    cases, problem = files(tmp_path, BUDGET.replace("0.4", "0.6") + "".join(DEMANDS[name] for name in names))
    evidence = Evidence.read(tmp_path / "log.csv", problem)
    listed = Cases.read(cases, evidence.spec, evidence.problem, evidence.coding)
    tables = evidence.predict(listed.features, listed.known)
    w, towns = tables["sale"].predicted, listed.groups["town"]
    c, n = np.broadcast_to(tables["post"].predicted, w.shape), len(w)
    rows = [c - 0.6, *(z for name in names for z in limits(name, w, c, towns))]
    best = linprog(
        -w.ravel() / n,
        A_ub=np.array([z.ravel() / n for z in rows]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.kron(np.eye(n), np.ones(3)),
        b_eq=np.ones(n),
    )
    assert best.status == 0
    assert (best.ineqlin.marginals[1:] < -1e-6).any(), "one binds beside the budget"
    found = assign(cases, problem, learn_from=tmp_path / "log.csv")
    own = np.arange(n), found.chosen
    assert -best.fun - 3 * np.ptp(w) * len(rows) / n <= w[own].mean() <= -best.fun + 3 * np.ptp(w) * len(rows) / n
    for z in rows:
        assert z[own].mean() <= len(rows) * np.ptp(z, axis=1).max() / n + 1e-9  # a case per limit is rounded
    assert rows[0][own].mean() <= 1e-9
    assert len(found.demands) == len(names)


@pytest.mark.parametrize("more", [BUDGET, BUDGET + PARITY])
@pytest.mark.parametrize("holdout", [0.0, 0.1, 0.25])
def test_no_draw_costs_more_than_the_budget(tmp_path, more, holdout):
    cases, problem = files(tmp_path, more)
    cost = {"none": 0, "letter": 1, "call": 3}
    for seed, budget in itertools.product(range(3), (None, 150.0, 200.5)):
        found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=holdout, seed=seed, budget=budget)
        spent = sum(cost[found.actions[a]] for a in found.chosen)
        assert spent == found.budgets[0].spent <= (120.0 if budget is None else budget)
        assert found.budgets[0].spent >= (120.0 if budget is None else budget) - 12.0
        assert abs(found.held_out.mean() - holdout) <= 0.03
        assert (found.probability >= holdout / 3 - 1e-12).all()
        assert (found.probability <= 1.0).all()


@pytest.mark.parametrize("holdout", [0.0, 0.1])
def test_two_budgets_and_a_parity(tmp_path, holdout):
    """At .9 of post per case, calls are limited by the fuel for 15 of them, and letters by the rest."""
    cases, problem = files(tmp_path, BUDGET.replace("0.4", "0.9") + SECOND + PARITY)
    for seed in range(3):
        found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=holdout, seed=seed)
        names = np.array(found.actions)[found.chosen]
        letters, calls = (names == "letter").sum(), (names == "call").sum()
        assert [used.spent for used in found.budgets] == [letters + 3 * calls, calls]
        assert 270 - 12 <= letters + 3 * calls <= 270
        assert 15 - 3 <= calls <= 15
        assert all(used.price > 0.0 for used in found.budgets)
        (even,) = found.demands
        if not holdout:  # within what a case or two of a group of a hundred use
            assert max(abs(z - 0.9) for z in even.averages.values()) <= 0.05 + 2 * 3 / 80
    assert "fuel: " in str(found)
    assert "One more unit of fuel" in found.summary()


def test_cases_are_held_out_evenly_in_every_group(tmp_path):
    """Of n cases of a town with a plan, n h are held out up to two, as multiples of the golden ratio are even."""
    cases, problem = files(tmp_path, BUDGET + PARITY)
    for seed in range(4):
        found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.2, seed=seed)
        towns, plans = np.array(found.texts["town"]), np.where(found.probability > 0.5, found.chosen, -1)
        for town in "ABC":
            here = towns == town
            assert abs(found.held_out[here].sum() - 0.2 * here.sum()) <= 2.0 * len(set(plans[here]))


@pytest.mark.parametrize("lottery", [[1 / 3, 1 / 3, 1 / 3], [0.0, 0.3, 0.7], [0.6, 0.4, 0.0]])
def test_probabilities_are_those_of_draws(lottery):
    """4,000 seeds: each row and action within five standard errors, which are below .008."""
    rng = np.random.default_rng(0)
    planned, strata, counts, holdout = rng.integers(0, 3, 30), rng.integers(0, 3, 30), np.zeros((30, 3)), 0.3
    for seed in range(4000):
        counts[np.arange(30), drawn(planned, places(strata, seed), holdout, np.array(lottery))] += 1
    chance = holdout * np.array(lottery) + (1 - holdout) * np.eye(3)[planned]
    error = np.sqrt(chance * (1 - chance) / 4000)
    assert (np.abs(counts / 4000 - chance) <= 5 * error).all()


def test_without_a_budget_everybody_gets_the_best(tmp_path):
    cases, problem = files(tmp_path, "")
    found = assign(cases, problem, learn_from=tmp_path / "log.csv")
    assert (found.budgets, found.demands) == ((), ())
    assert (found.probability == 1.0).all()
    assert "budget" not in str(found)


def test_a_list_is_written_as_it_came_with_its_actions(tmp_path, capsys):
    cases, problem = files(tmp_path)
    told = ["--problem", str(problem), "--learn-from", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out.csv")]
    assert main(["assign", str(cases), *told, "--holdout", "0.1", "--seed", "4"]) == 0
    assert "300 cases, by what log.csv says of sale" in capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    given = list(csv.DictReader(cases.read_text().splitlines()))
    assert [[row[name] for name in ("age", "town", "who")] for row in rows] == [list(row.values()) for row in given]
    assert {row["action"] for row in rows} <= {"none", "letter", "call"}
    frame = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.1, seed=4).to_frame()
    assert frame.action.tolist() == [row["action"] for row in rows]
    assert frame.probability.tolist() == pytest.approx([float(row["probability"]) for row in rows], rel=1e-9)
    assert frame["expected sale"].tolist() == pytest.approx([float(row["expected sale"]) for row in rows], rel=5e-6)
    assert max(len(row["expected sale"].lstrip("-0.")) for row in rows) == 6
    assert {row["probability"] for row in rows} <= {"0.9333333333", "0.03333333333"}


def test_values_and_curves_are_of_plans_within_several_budgets(tmp_path):
    _, problem = files(tmp_path, BUDGET + SECOND.replace("0.05", "0.002"))
    said = str(value(tmp_path / "log.csv", problem)).splitlines()
    assert not [line for line in said if line.startswith("note: 'targeted, all limits' uses")]
    worth = next(line for line in said if line.startswith("note: a limit that gives way by one unit"))
    assert re.search(
        r"'targeted, all limits' so much sale: [.0-9]+ for the budget of post; [.0-9]+ for the budget", worth
    )
    used = next(line for line in said if line.startswith("targeted, all limits")).split()[-2:]
    assert [float(z) <= most for z, most in zip(used, (0.4, 0.002), strict=True)] == [True, True]
    lines = str(curve(tmp_path / "log.csv", problem, budgets=2)).splitlines()
    assert (
        "note: 'targeted' and fair lines keep also to fuel per round; the others to the budget on post alone" in lines
    )
    problem.write_text(HEAD + BUDGET)
    assert "all limits" not in str(value(tmp_path / "log.csv", problem))


@pytest.mark.parametrize("name", ["cases.csv", "log.csv", "problem.toml"])
def test_files_that_are_read_are_not_replaced(tmp_path, capsys, name):
    cases, problem = files(tmp_path)
    told = ["--problem", str(problem), "--learn-from", str(tmp_path / "log.csv"), "--out", str(tmp_path / name)]
    before = (tmp_path / name).read_bytes()
    assert main(["assign", str(cases), *told]) == 2
    assert "out: expected a file other than those that are read" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == before
    told[-1] = str(tmp_path / "nowhere" / "out.csv")
    assert main(["assign", str(cases), *told]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["action", "held out", "expected sale"])
def test_lists_with_columns_that_are_written(tmp_path, name):
    cases, problem = files(tmp_path)
    cases.write_text(cases.read_text().replace("who", name, 1))
    with pytest.raises(InvalidInput, match="expected another name, as a column of this name is written"):
        assign(cases, problem, learn_from=tmp_path / "log.csv")


def test_ties_are_broken_by_chance(tmp_path):
    cases, problem = files(tmp_path)
    problem.write_text(problem.read_text().replace('numeric = ["age"], categorical = ["town"]', ""))
    halves = []
    for seed in range(8):
        found = assign(cases, problem, learn_from=tmp_path / "log.csv", seed=seed)
        halves.append((found.chosen[:150] > 0).sum() / (found.chosen > 0).sum())
    assert 0.4 < np.mean(halves) < 0.6
    assert np.std(halves) > 0.0


def test_small_units_and_sums_that_are_rounded(tmp_path):
    cases, problem = files(tmp_path, BUDGET.replace("0.4", "0.1"), cases=20)
    text = problem.read_text().replace("letter = 1, call = 3", "letter = 0.1, call = 0.3")
    problem.write_text(text)
    found = assign(cases, problem, learn_from=tmp_path / "log.csv")
    assert found.budgets[0].spent == pytest.approx(2.0)
    problem.write_text(
        text.replace("letter = 0.1, call = 0.3", "letter = 1e-9, call = 3e-9").replace("0.1", "2.5e-10", 1)
    )
    for seed in range(20):
        found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.1, seed=seed)
        assert found.budgets[0].spent <= found.budgets[0].total * (1 + 1e-9)


def test_actions_with_a_single_row(tmp_path):
    cases, problem = files(tmp_path)
    head, *lines = (tmp_path / "log.csv").read_text().splitlines()
    few = [line for line in lines if ",call," not in line] + ["30,A,call,1"]
    (tmp_path / "log.csv").write_text("\n".join([head, *few]) + "\n")
    insists = problem.read_text().replace("constant = 0.333333", "constant = 0.333333, unchecked = true")
    assert insists != problem.read_text()  # its shares are others by now
    problem.write_text(insists)
    with pytest.raises(InvalidInput, match=r"log.csv: expected at least two rows with 'call', got 1 rows"):
        assign(cases, problem, learn_from=tmp_path / "log.csv")
    problem.write_text(problem.read_text().replace("horizon = 100", 'horizon = 100\nwithdrawn = ["call"]'))
    assert assign(cases, problem, learn_from=tmp_path / "log.csv").actions == ("none", "letter")


def test_one_case(tmp_path):
    cases, problem = files(tmp_path, cases=1)
    found = assign(cases, problem, learn_from=tmp_path / "log.csv")
    assert found.budgets[0].spent <= 0.4


RESOLVING = '[policy]\nname = "resolving"\n'
WITHIN = '[[within]]\noutcomes = ["sale", "post"]\nwithin = { kind = "ball", centre = [0.3, 0.3], radius = 0.2 }\n'


@pytest.mark.parametrize(
    ("more", "asked", "message"),
    [
        (
            BUDGET + WITHIN + RESOLVING,
            {},
            "constraints: expected limits of totals and averages over the whole list, got",
        ),
        (BUDGET + SECOND, {"budget": 3.0}, "budget: expected none, as problem.toml has 2 budgets"),
        ("", {"budget": 3.0}, "budget: expected none"),
        (BUDGET, {"budget": -1.0}, "budget: expected a finite number of at least 0"),
        (BUDGET, {"budget": 10.0, "holdout": 0.5}, "budget: expected at least 200, which the cheapest"),
        (BUDGET, {"budget": 200.0, "holdout": 0.5, "seed": 1}, "budget: expected at least 20"),
        (BUDGET, {"holdout": 1.0}, r"holdout: expected a share in \[0, 1\)"),
        (BUDGET, {"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_assigned(tmp_path, more, asked, message):
    cases, problem = files(tmp_path, more)
    with pytest.raises(InvalidInput, match=message):
        assign(cases, problem, learn_from=tmp_path / "log.csv", **asked)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,A,z", "'age' is not a finite number .first in line 302: 'x'"),
        ("nan,A,z", "'age' is not a finite number"),
        ("30,D,z", "'town' is not one of the log's values"),
        ("30,A", "more or fewer fields than the header .first in line 302"),
    ],
)
def test_cases_that_are_none(tmp_path, row, message):
    cases, problem = files(tmp_path)
    cases.write_text(cases.read_text() + row + "\n")
    with pytest.raises(InvalidInput, match=message):
        assign(cases, problem, learn_from=tmp_path / "log.csv")


def test_a_name_that_the_log_has_not_is_refused_with_what_to_write(tmp_path):
    cases, problem = files(tmp_path)
    cases.write_text(cases.read_text() + "30,D,z\n")
    with pytest.raises(InvalidInput, match="write one of the log's groups of 'town', as"):
        assign(cases, problem, learn_from=tmp_path / "log.csv")
    grouped = problem.read_text()
    problem.write_text(re.sub(r"groups = .*\n", "", grouped))
    assert problem.read_text() != grouped
    with pytest.raises(InvalidInput, match="rows that can all be used, as every case is decided") as caught:
        assign(cases, problem, learn_from=tmp_path / "log.csv")
    said = str(caught.value)
    assert "allow_bad" not in said
    stated = re.search(r"or state features\.levels\.town = (\[.*?\]), by which a name that the log has not", said)[1]
    inside = 'categorical = ["town"]'
    problem.write_text(problem.read_text().replace(inside, f"{inside}, levels = {{ town = {stated} }}"))
    found = assign(cases, problem, learn_from=tmp_path / "log.csv")
    assert len(found.chosen) == 301
    base = re.search(r"counts as '(.)'", said)[1]
    cases.write_text(cases.read_text().replace("30,D,z", f"30,{base},z"))
    same = assign(cases, problem, learn_from=tmp_path / "log.csv")
    for name, each in found.expected.items():
        if name not in ("letter", "call"):
            assert same.expected[name][-1] == pytest.approx(each[-1], rel=1e-6)


def test_a_list_without_a_value_is_refused_with_what_to_write(tmp_path):
    cases, problem = files(tmp_path)
    cases.write_text(cases.read_text() + ",A,z\n")
    with pytest.raises(InvalidInput, match=r"state features\.missing\.age = 'indicator' for rows without a value"):
        assign(cases, problem, learn_from=tmp_path / "log.csv")


def test_lists_without_a_column_or_a_row(tmp_path):
    cases, problem = files(tmp_path)
    cases.write_text("age,who\n30,c1\n")
    with pytest.raises(InvalidInput, match="town': expected a column of cases"):
        assign(cases, problem, learn_from=tmp_path / "log.csv")
    cases.write_text("age,town\n")
    with pytest.raises(InvalidInput, match="expected at least one row, got a header alone"):
        assign(cases, problem, learn_from=tmp_path / "log.csv")


def test_parities_that_no_policy_keeps(tmp_path):
    """Where the cheapest actions cost more in one town, a tolerance of 0 needs more than the budget."""
    more = BUDGET.replace("0.4", "0.1") + PARITY.replace("0.05", "0")
    cases, problem = files(tmp_path, more)
    text = problem.read_text().replace("letter = 1, call = 3 }", 'none = 0, letter = 1, call = 3 }, column = "fee"')
    problem.write_text(text)
    for name in ("log.csv", "cases.csv"):
        head, *rows = (tmp_path / name).read_text().splitlines()
        fees = [f"{row},{0.3 if ',A,' in row else 0.0}" for row in rows]
        (tmp_path / name).write_text("\n".join([head + ",fee", *fees]) + "\n")
    with pytest.raises((InfeasibleProblem, InvalidInput)):
        assign(cases, problem, learn_from=tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("more", "budget", "message"),
    [
        (
            DEMANDS["floor"].replace("0.08", "0.2"),
            120.0,
            "no plan keeps to the budget of post (0.6 per case is what the others allow) and fuel per case, at "
            "least 0.2 (0.13333 per case is what the others allow)",
        ),
        (
            DEMANDS["ratio"].replace("2.1", "0.1") + DEMANDS["floors"].replace("0.48", "0.1"),
            None,
            "no plan keeps to least post by town, at least 0.1 (0.01144 per case is what the others allow) and "
            "post / sale, at most 0.1 (0.08525 more per case is what the others allow)",
        ),
    ],
)
def test_limits_that_exclude_each_other_are_named(tmp_path, more, budget, message):
    """Calls of a fifth of the cases cost .6 of post each; the parity is kept by some such list, and is not named."""
    cases, problem = files(tmp_path, BUDGET.replace("0.4", "0.7") + PARITY.replace("0.05", "3.0") + more)
    with pytest.raises(InfeasibleProblem) as caught:
        assign(cases, problem, learn_from=tmp_path / "log.csv", budget=budget)
    assert re.sub(r"(\.\d{5})\d+", r"\1", str(caught.value)) == message  # the last digits are the solver's


ODD = ["=1+1", "+49 30", "-1+A1", "@SUM(1)", "-7.5", "+3", "a=1", ""]
LOUD = {"A": "=A", "B": "@B", "C": "-C"}  # the towns of a log whose levels a spreadsheet would run


def loud(folder):
    """Write files with such texts as columns, towns and names of columns."""
    cases, problem = files(folder, BUDGET + PARITY, cases=80)
    log = folder / "log.csv"
    for path in (log, cases):
        head, *rows = path.read_text().splitlines()
        texts = [",".join(LOUD.get(z, z) for z in row.split(",")) for row in rows]
        path.write_text("\n".join([head, *texts]) + "\n")
    head, *rows = cases.read_text().splitlines()
    odd = [f"{row},{ODD[i % len(ODD)]}" for i, row in enumerate(rows)]
    cases.write_text("\n".join([f"{head},=who?", *odd]) + "\n")
    return cases, problem, log


def read(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_a_spreadsheet_runs_no_cell(tmp_path):
    cases, problem, log = loud(tmp_path)
    found = assign(cases, problem, learn_from=log)
    head, *rows = read(found.write(tmp_path / "out.csv"))
    assert head[:4] == ["age", "town", "who", "'=who?"]
    assert {row[1] for row in rows} == {"'=A", "'@B", "'-C"}
    assert [row[3] for row in rows[:8]] == ["'=1+1", "'+49 30", "'-1+A1", "'@SUM(1)", "-7.5", "+3", "a=1", ""]
    assert not [z for row in rows for z in row if z.startswith(("=", "@")) or z in ("-C", "+49 30", "-1+A1")]


def test_a_list_that_a_program_reads_on_is_taken_back(tmp_path):
    """With the texts as they came, what is assigned is a log of its own once the outcomes are there."""
    cases, problem, log = loud(tmp_path)
    args = [str(cases), "--problem", str(problem), "--learn-from", str(log), "--holdout", "0.3", "--verbatim"]
    assert main(["assign", *args, "--out", str(tmp_path / "out.csv")]) == 0
    head, *rows = read(tmp_path / "out.csv")
    assert [row[:4] for row in rows] == read(cases)[1:]
    assert assign(tmp_path / "cases.csv", problem, learn_from=log, holdout=0.3).texts["=who?"] == [r[3] for r in rows]
    with (tmp_path / "back.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "sale"], *([*row, i % 2] for i, row in enumerate(rows))])
    text = problem.read_text().replace('column = "sent"', 'column = "action"').replace("no = ", "none = ")
    problem.write_text(text.replace("constant = 0.333333", 'column = "probability"'))
    back = Evidence.read(tmp_path / "back.csv", problem)
    assert back.rows == 80
    assert set(back.columns["town"].tolist()) == set(LOUD.values())
    assert back.propensities.tolist() == [float(row[head.index("probability")]) for row in rows]
    assert [back.problem.actions[a] for a in back.actions] == [row[head.index("action")] for row in rows]


def test_numbers_beyond_those_of_the_log_are_told(tmp_path):
    cases, problem = files(tmp_path)
    ask = {"learn_from": tmp_path / "log.csv", "seed": 4}
    assert assign(cases, problem, **ask).checks["range"] is None
    lines = cases.read_text().splitlines()
    cases.write_text("\n".join([*lines[:-1], "4000,A,c299"]) + "\n")
    said = "0.3% of the cases lie beyond the log in 'age', which counts as its end: 20 to 59 there, 20 to 4,000 in the"
    assert assign(cases, problem, **ask).checks["range"] == f"{said} list"
    cases.write_text("\n".join([*lines[:-1], "61,A,c299"]) + "\n")
    assert assign(cases, problem, **ask).checks["range"] is None  # one of 300, and near
