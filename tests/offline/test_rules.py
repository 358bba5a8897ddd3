"""Rules that can be read: the search beside brute force, texts that are read as they were meant, and honest values."""

import shlex
from dataclasses import replace

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.objectives import AlphaFair
from evenhand.offline import rules, value
from evenhand.offline.outcome_models import members_of
from evenhand.offline.plans.allocation import Resource
from evenhand.offline.trees.cuts import Branch, Cuts
from evenhand.offline.trees.search import best_tree
from evenhand.offline.values import policy_of
from evenhand.problem import Budget, Floor, Outcome, Parity
from tests.offline.logs import draw, problem
from tests.offline.test_commands import files  # noqa: F401
from tests.rows import for_each


def brute(cuts, worth, limits, depth):
    """The greatest mean worth of a tree within limits, -inf if there is none, and the least use beyond them."""
    masks = [cuts.holds(cut) for cut in range(len(cuts.conditions))]
    uses = [z.uses() / z.units[:, None, None] for z in limits]
    table = np.concatenate([worth[None], *(np.broadcast_to(z, (len(z), *worth.shape)) for z in uses)])
    most = np.concatenate([z.most / z.units for z in limits])

    def totals(inside):
        found = [table[:, inside].sum(1)]
        for cut in masks:
            yes, no = (table[:, inside & z].sum(1) for z in (cut, ~cut))
            found.append((yes[:, :, None] + no[:, None]).reshape(len(table), -1))
        return np.concatenate(found, 1)

    best, least, every = -np.inf, np.inf, np.ones(len(worth), bool)
    for cut in (every, *masks) if depth == 2 else (every,):
        one, other = totals(cut), totals(~cut)
        each = zip(one[1:], other[1:], most, strict=True)
        over = sum(np.maximum((u[:, None] + v) / len(worth) - b, 0.0) for u, v, b in each)
        best = max(best, (one[0][:, None] + other[0])[over <= 1e-9].max(initial=-np.inf))
        least = min(least, float(over.min()))
    return best / len(worth), least


def drawn(seed, rows=25):
    """Cuts of three features, one of them with gaps, with worth and use of two to four actions."""
    rng = np.random.default_rng(seed)
    x, actions = rng.integers(0, 5, rows).astype(float), int(rng.integers(2, 5))
    x[rng.random(rows) < 0.2 * (seed % 2)] = np.nan
    cuts = Cuts.of({"x": x, "town": rng.choice(["A", "B", "C"], rows), "z": rng.standard_normal(rows)}, 6)
    use = np.abs(rng.standard_normal((rows, actions))) * (rng.random(actions) > 0.3)
    return cuts, rng.standard_normal((rows, actions)), use if seed % 3 else np.tile(np.arange(1.0 * actions), (rows, 1))


def limits_of(seed, worth, use):
    """A budget, a parity of groups, and a floor in every group."""
    rng, rows = np.random.default_rng(seed), len(worth)
    groups = np.arange(rows) % 3
    floors = np.diag(rows / np.bincount(groups))
    return (
        Resource.budget(use, rng.uniform(0.0, 1.0)),
        Resource.parity(use, groups, rng.uniform(0.05, 0.4)),
        Resource.of_groups(-rng.random(worth.shape), groups, floors, -np.full(3, rng.uniform(0.2, 0.55))),
    )


@for_each("seed", range(24))
def test_the_search_is_exact(seed):
    cuts, worth, use = drawn(seed)
    rows, limits = np.arange(len(worth)), limits_of(seed, worth, use)
    for count in range(4):
        some = [*limits[:count], Resource.budget(np.zeros_like(worth[:1]), 0.0)]
        for depth in (1, 2):
            found, (best, least) = best_tree(cuts, worth, some, depth), brute(cuts, worth, some, depth)
            actions = cuts.actions(found.tree)
            over = np.concatenate([np.maximum(z.used(actions) / len(rows) - z.most, 0.0) for z in some])
            assert found.beyond == pytest.approx(over, abs=1e-9)
            if best == -np.inf:
                nearest = best_tree(cuts, 0.0 * worth, some, depth).beyond
                assert (nearest / np.concatenate([z.units for z in some])).sum() == pytest.approx(least, abs=1e-9)
                continue
            assert found.worth == pytest.approx(worth[rows, actions].mean())
            assert found.worth == found.bound == pytest.approx(best, abs=1e-9)
            assert over.max() <= 1e-9


@for_each("seed", range(6))
def test_a_search_that_is_cut_short_states_a_bound(seed):
    cuts, worth, use = drawn(seed, rows=100)
    limits = [Resource.budget(use, 0.3), Resource.parity(use, np.arange(100) % 3, 0.1)]
    best = best_tree(cuts, worth, limits, 2).worth
    short = best_tree(cuts, worth, limits, 2, pairs=3.0)
    assert short.worth <= best <= short.bound
    assert short.worth == best or not short.complete


@for_each("seed", range(6))
def test_neither_order_nor_units_change_a_tree(seed):
    cuts, worth, use = drawn(seed, rows=200)
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, 200)
    for each in ([], [Resource.parity(use, groups, 0.2)]):
        scaled = [replace(z, use=0.01 * z.use, most=0.01 * z.most, units=0.01 * z.units) for z in each]
        one = best_tree(cuts, 1e6 * worth, [Resource.budget(0.01 * use, 0.004), *scaled], 2)
        assert one.tree == best_tree(cuts, worth, [Resource.budget(use, 0.4), *each], 2).tree
    x = rng.integers(0, 2, (100, 2)) * 1.0
    pairs = np.repeat(rng.standard_normal((100, 2)) + 3.0 * (x.mean(1, keepdims=True) - 0.5) * [0.0, 1.0], 2, 0)
    for order in (rng.permutation(200) for _ in range(9)):  # y has other rows than x, whose sums are the same
        cuts = Cuts.of({"x": x.ravel()[order], "y": x[:, ::-1].ravel()[order]}, 4)
        assert best_tree(cuts, pairs[order], [], 1).tree == Branch(0, 0, 1)


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
    assert best_tree(cuts, worth, [], 2).tree == best_tree(cuts, worth, [], 1).tree == Branch(0, 0, 1)
    assert cuts.rule(Branch(0, 0, 1), ("none", "mail")) == "none where b < 2; else mail"
    assert best_tree(cuts, 0.0 * worth, [], 2).tree == 0


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


def test_conditions_that_narrower_ones_imply_are_not_told():
    cuts = Cuts.of({"x": np.array([1.0, 2.0, 3.0, np.nan]), "town": np.array([*"aabc"])}, 9)
    inner, outer = Branch(1, Branch(0, 0, 1), 2), Branch(0, 0, Branch(1, 1, 2))
    names = ("a", "b", "c")
    assert cuts.rule(inner, names) == "a where x < 2; b where x < 3; else c"
    assert [cuts.words(path) for path, _ in cuts.leaves(outer)] == [
        "x < 2",
        "x >= 2 or missing and x < 3",
        "x >= 3 or missing",
    ]


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


def test_the_rule_keeps_to_all_limits_and_says_which_cannot_be_kept(log):
    limits = Budget("cents", rate=0.5), Parity("cents", by="area", tolerance=0.02), Floor("sale", rate=0.3)
    free, within = (replace(log, problem=problem(subject_to=z)) for z in (limits[:1], limits))
    plain, learned = rules(free, cuts=16), rules(within, cuts=16)
    (first, _), (even, sold) = (value(within, rules=[z.rule]).policies[-1].kept[1:] for z in (plain, learned))
    assert first.used.value > 0.1
    assert even.used.value <= 0.02 * (1.0 + 1e-9)
    assert sold.used.value >= 0.3
    assert [p.policy for p in learned.values.policies][-2] == "targeted, all limits"
    assert plain.values.policies[-2].policy == "targeted, cents 0.5"
    assert not [note for note in learned.notes if "compare" in note]
    floors = Budget("cents", rate=0.5), Floor("sale", rate=0.5)
    with pytest.raises(InfeasibleProblem, match=r"^no rule of depth 2 .* misses sale per case, at least 0.5, by 0\.07"):
        rules(replace(log, problem=problem(subject_to=floors)), cuts=16)


def test_what_being_readable_costs_is_a_difference_by_pairs(found):
    plan = next(p for p in found.values.policies if p.policy == "targeted, all limits")
    assert found.price.value == pytest.approx(plan.value.value - found.learned.value.value)
    assert found.price.se < np.hypot(plan.value.se, found.learned.value.se)
    assert {p.policy for p in found.values.policies} == {
        *("as logged", "all none", "only small, cents 0.4", "only large, cents 0.4"),
        *("targeted, all limits", "a rule of depth 2"),
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
    stated = problem(subject_to=problem().subject_to[:1])
    log, policy = draw(900, 6, stated=stated).evidence, np.zeros((900, 3))
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
    ):
        with pytest.raises(InvalidInput, match=message):
            rules(**{"log": log} | asked)
    with pytest.raises(InfeasibleProblem, match=r"no rule of depth 2 .* the budget of sale, by 0\.0727\d+ per case"):
        rules(replace(log, problem=dear))


def test_the_command_prints_a_rule_that_value_reads(files, tmp_path, capsys):  # noqa: F811
    assert main(["rules", *files, "--cuts", "8", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    again = said.partition("to value it, as it is or changed: ")[2].partition("\n")[0]
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"results.json", "report.html", "rules.svg"}
    assert main(shlex.split(again)[1:]) == 0
    assert said.partition("rule: ")[2].partition("\n")[0] in capsys.readouterr().out
