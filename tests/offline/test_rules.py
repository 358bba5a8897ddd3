"""Rules that can be read: the search beside brute force, texts that are read as they were meant, and honest values."""

import shlex
from dataclasses import replace

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.objectives import AlphaFair
from evenhand.offline import rules, value
from evenhand.offline.outcome_models import members_of
from evenhand.offline.trees.search import Branch, Cuts, best_tree
from evenhand.offline.values import policy_of
from evenhand.problem import Budget, Outcome
from tests.offline.logs import draw, problem
from tests.offline.test_commands import files  # noqa: F401
from tests.rows import for_each

NO_USE = np.zeros((1, 1))


def brute(cuts, worth, use, limit, depth):
    """The greatest mean worth of a tree within a limit, by all trees; -inf if there is none."""
    masks = [cuts.holds(cut) for cut in range(len(cuts.conditions))]

    def totals(inside):
        found = [(worth[inside, a].sum(), use[inside, a].sum()) for a in range(worth.shape[1])]
        for yes in masks:
            some, rest = inside & yes, inside & ~yes
            for a in range(worth.shape[1]):
                for b in range(worth.shape[1]):
                    sums = [z[some, a].sum() + z[rest, b].sum() for z in (worth, use)]
                    found.append(tuple(sums))
        return np.array(found).T

    most = limit * len(worth) + 1e-9
    total, used = totals(np.ones(len(worth), bool))
    best = total[used <= most].max(initial=-np.inf)
    for yes in masks if depth == 2 else ():
        (one, first), (other, second) = totals(yes), totals(~yes)
        best = max(best, (one[:, None] + other)[first[:, None] + second <= most].max(initial=-np.inf))
    return best / len(worth)


def drawn(seed, rows=25):
    """Cuts of three features, one of them with gaps, with worth and use of two to four actions."""
    rng = np.random.default_rng(seed)
    x, actions = rng.integers(0, 5, rows).astype(float), int(rng.integers(2, 5))
    x[rng.random(rows) < 0.2 * (seed % 2)] = np.nan
    cuts = Cuts.of({"x": x, "town": rng.choice(["A", "B", "C"], rows), "z": rng.standard_normal(rows)}, 6)
    use = np.abs(rng.standard_normal((rows, actions))) * (rng.random(actions) > 0.3)
    return cuts, rng.standard_normal((rows, actions)), use if seed % 3 else np.tile(np.arange(1.0 * actions), (rows, 1))


@for_each("seed", range(24))
def test_the_search_is_exact(seed):
    cuts, worth, use = drawn(seed)
    limit, rows = np.random.default_rng(seed).uniform(0.0, 1.0), np.arange(len(worth))
    for depth in (1, 2):
        for most, each in ((limit, use), (0.0, np.zeros_like(use))):
            tree, best = best_tree(cuts, worth, each, most, depth), brute(cuts, worth, each, most, depth)
            if tree is None:
                assert best == -np.inf
                continue
            actions = cuts.actions(tree)
            assert abs(worth[rows, actions].mean() - best) <= 1e-9
            assert each[rows, actions].mean() <= most + 1e-9


@for_each("seed", range(6))
def test_neither_order_nor_units_change_a_tree(seed):
    cuts, worth, use = drawn(seed, rows=200)
    assert best_tree(cuts, 1e6 * worth, 0.01 * use, 0.004, 2) == best_tree(cuts, worth, use, 0.4, 2)
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (100, 2)) * 1.0
    pairs = np.repeat(rng.standard_normal((100, 2)) + 3.0 * (x.mean(1, keepdims=True) - 0.5) * [0.0, 1.0], 2, 0)
    for order in (rng.permutation(200) for _ in range(9)):  # y has other rows than x, whose sums are the same
        cuts = Cuts.of({"x": x.ravel()[order], "y": x[:, ::-1].ravel()[order]}, 4)
        assert best_tree(cuts, pairs[order], NO_USE, 0.0, 1) == Branch(0, 0, 1)


def test_a_feature_in_other_units_is_cut_at_the_same_rows():
    x = np.random.default_rng(0).standard_normal(500)
    one, other = (Cuts.of({"x": z}, 20) for z in (x, 1e4 * x + 7.0))
    assert len(one.conditions) == 20
    assert (one.codes == other.codes).all()


def test_names_that_are_frequent_are_cut_first():
    cuts = Cuts.of({"town": np.array([*"aaabbbbcc"])}, 2)
    assert [z.value for z in cuts.conditions] == ["a", "b"]


def test_of_equal_trees_that_with_fewer_cuts_comes_first_then_the_first_feature_and_the_least_cut():
    x = np.repeat([1.0, 2.0, 3.0, 4.0], 5)
    worth = np.stack([np.zeros(20), np.repeat([-1.0, 0.0, 0.0, 1.0], 5)], 1)
    cuts = Cuts.of({"b": x, "a": x}, 8)
    assert best_tree(cuts, worth, NO_USE, 0.0, 2) == best_tree(cuts, worth, NO_USE, 0.0, 1) == Branch(0, 0, 1)
    assert cuts.rule(Branch(0, 0, 1), ("none", "mail")) == "none where b < 2; else mail"
    assert best_tree(cuts, 0.0 * worth, NO_USE, 0.0, 2) == 0


NAMES = [
    "age",
    "zip code",
    "it's",
    'the "old" one',
    "5'9\"",
    "a; b",
    "x = 1",
    "up and down",
    "a where b",
    "",
    "else no",
    "and",
]


@for_each("seed", range(20))
def test_a_rule_is_read_as_the_tree_that_it_was_written_from(seed):
    rng = np.random.default_rng(seed)
    log, rows = draw(300, seed).evidence, 300
    number, name, other = rng.permutation(NAMES[:9])[:3].tolist()
    x = rng.choice([*(10.0 ** rng.uniform(-9, 9, 8)), -2.5, 0.1 + 0.2, 0.3], rows)
    x[rng.random(rows) < 0.3 * (seed % 2)] = np.nan
    columns = {number: x, name: rng.choice(NAMES, rows), other: rng.standard_normal(rows) * 1e-4}
    actions = tuple(rng.permutation([*NAMES[:9], "else no"])[:3].tolist())
    stated = problem(actions=actions, outcomes=(Outcome("sale"),), subject_to=())
    log, cuts = replace(log, columns=columns, problem=stated), Cuts.of(columns, 7)
    for _ in range(20):
        some = rng.integers(0, len(cuts.conditions), 3).tolist()
        a, b, c, d = rng.integers(0, 3, 4).tolist()
        for tree in (Branch(some[0], Branch(some[1], a, b), Branch(some[2], c, d)), Branch(some[0], a, b), a):
            assert (policy_of(cuts.rule(tree, actions), log).argmax(1) == cuts.actions(tree)).all()


def test_days_are_cut_between_and_read():
    from evenhand.logs.dates import days

    z = np.array([20_000.0, 20_000.5, 20_003.25, 20_009.0] * 5)
    cuts = Cuts.of({"since": z}, 9, ("since",))
    assert [cuts.holds(t).sum() for t in range(len(cuts.conditions))] == [10, 15]  # no day is within a day
    for t, condition in enumerate(cuts.conditions):
        assert ((z < days(condition.value)) == cuts.holds(t)).all()


@pytest.fixture(scope="module")
def log():
    return draw(3000, 1).evidence


@pytest.fixture(scope="module")
def found(log):
    return rules(log, cuts=16)


def test_the_rule_keeps_to_the_budget_in_the_log_and_can_be_valued(log, found):
    stated = value(log, rules=[found.rule]).policies[-1]
    assert 0.3 < stated.used["cents"].value <= 0.4 * (1.0 + 1e-9)
    assert sum(z.rows for z in found.leaves) == 3000
    leaves = sum(z.share * z.value.value for z in found.leaves)
    assert leaves == pytest.approx(stated.value.value, abs=1e-12)
    assert leaves > found.learned.value.value  # chosen where it is high by chance


def test_what_being_readable_costs_is_a_difference_by_pairs(found):
    plan = next(p for p in found.values.policies if p.policy == "targeted, cents 0.4")
    assert found.price.value == pytest.approx(plan.value.value - found.learned.value.value)
    assert found.price.se < np.hypot(plan.value.se, found.learned.value.se)
    assert {p.policy for p in found.values.policies} == {
        *("as logged", "all none", "only small, cents 0.4", "only large, cents 0.4"),
        *("targeted, cents 0.4", "a rule of depth 2"),
    }


def test_a_rule_has_not_seen_the_fold_in_which_it_is_valued(log, found):
    mine, changed = members_of(np.arange(3000), 5, 0)[2], log.outcomes.copy()
    changed[mine] = 1.0 - changed[mine]
    columns = {name: np.where(np.isin(np.arange(3000), mine), z + 1.0, z) for name, z in log.columns.items()}
    other = replace(log, outcomes=changed, columns=columns)
    one, two = (z.scores_apart(z.models(), 1, 2)["sale"].scores for z in (log, other))
    assert (one == two).all()
    again = rules(other, cuts=16)
    assert again.by_fold[2] == found.by_fold[2]
    assert again.by_fold != found.by_fold


def test_its_value_is_that_of_the_rules_of_folds_with_the_error_that_these_have_in_common():
    log, policy = draw(900, 6).evidence, np.zeros((900, 3))
    learned = rules(log, cuts=8)
    for rule, mine in zip(learned.by_fold, members_of(np.arange(900), 5, 0), strict=True):
        policy[mine] = policy_of(rule, log)[mine]
    fixed = value(log, policies={"fixed": policy}).policies[-1]
    assert fixed.value.value == learned.learned.value.value
    assert 1.2 * fixed.value.se < learned.learned.value.se < 1.5 * fixed.value.se


def test_without_a_budget_it_is_beside_the_best_action_for_every_case(log):
    free = rules(replace(log, problem=problem(subject_to=())), depth=1, cuts=8)
    assert [p.policy for p in free.values.policies][-2:] == ["targeted, no budget", "a rule of depth 1"]
    assert len(free.leaves) == 2


def test_a_learned_budget_is_kept_by_scores(log):
    stated = problem(subject_to=(Budget("sale", rate=0.3),), maximize="cents")
    one = rules(replace(log, problem=stated), cuts=8)
    assert value(replace(log, problem=stated), rules=[one.rule]).policies[-1].used["sale"].value <= 0.3 * (1.0 + 1e-9)


def test_it_is_written(found, tmp_path):
    assert {path.suffix for path in found.write(tmp_path)} == {".json", ".parquet", ".html", ".svg"}
    frame = found.to_frame()
    assert frame["rows"].tolist() == [z.rows for z in found.leaves]
    assert found.results().find("a rule of depth 2", "sale that being readable costs").mean == found.price.value
    assert found.rule.partition(" ")[0] in found.plot().svg()


def test_what_cannot_be_asked_is_said(log):
    dear = problem(subject_to=(Budget("sale", rate=0.1),), maximize="cents")
    fair = problem(maximize=AlphaFair(("sale", "cents"), alpha=1.0), subject_to=())
    for asked, message in (
        ({"depth": 3}, "depth: expected 1 or 2"),
        ({"depth": True}, "depth: expected a whole number"),
        ({"cuts": 0}, "cuts: expected a whole number of at least 1"),
        ({"log": replace(log, columns={})}, r"drawn.toml: features: expected at least one, .* got none"),
        ({"log": replace(log, problem=fair)}, "drawn.toml: maximize: expected a weighted sum"),
        ({"log": replace(log, problem=dear)}, "drawn.toml: budget: expected at least 0.172787 per case, .* got 0.1"),
    ):
        with pytest.raises(InvalidInput, match=message):
            rules(**{"log": log} | asked)


def test_the_command_prints_a_rule_that_value_reads(files, tmp_path, capsys):  # noqa: F811
    assert main(["rules", *files, "--cuts", "8", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    again = said.partition("to value it, as it is or changed: ")[2].partition("\n")[0]
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"results.json", "report.html", "rules.svg"}
    assert main(shlex.split(again)[1:]) == 0
    assert said.partition("rule: ")[2].partition("\n")[0] in capsys.readouterr().out
