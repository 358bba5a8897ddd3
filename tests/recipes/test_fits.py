"""What recipes say about themselves, against problems that they are built on; and what is printed of it."""

import json
import re
from dataclasses import replace
from functools import partial

import pytest

import evenhand as eh
from evenhand import models, recipes
from evenhand.choices import Rate, TopK
from evenhand.cli import main
from evenhand.core.catalogue import catalogue, parts
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.kinds import USES, WORDS, fit, read_words
from evenhand.environments import Matching
from evenhand.goals import HardBudget
from evenhand.problem import NeverWorse, Ratio, Within
from evenhand.problem.constraints import stated_rows
from evenhand.sets import Box
from tests.rows import for_each

CENTS, HOURS = eh.Budget("cents", total=1900), eh.Budget("hours", total=200)
PLAIN = eh.Problem(
    actions=("none", "mail", "call"),
    outcomes=(
        eh.Outcome("answer"),
        eh.Outcome("sale"),
        eh.Outcome("usual", known=0.2),
        eh.Outcome("cents", known={"mail": 1, "call": 3}),
        eh.Outcome("hours", free=("none",)),
    ),
    groups=(eh.Groups("town", ("a", "b")),),
    maximize="answer",
    horizon=1000,
)
GINI = eh.objectives.GeneralizedGini(("answer", "sale"), (1, 0.5))
# By word: the constraints or the change that make a problem have it.
LIMITS = {
    "budgets": CENTS,
    "known costs": CENTS,
    "learned costs": HOURS,
    "budgets per period": eh.Budget("cents", total=90, per=100),
    "parity": eh.Parity("answer", by="town", tolerance=0.1),
    "floors": eh.Floor("sale", rate=0.1),
    "ratios": Ratio("cents", over="sale", at_most=20.0),
    "convex sets": Within(("answer", "sale"), Box((0.0, 0.0), (0.5, 0.5))),
    "never worse": NeverWorse("answer", than="usual", alpha=0.1, slack=50.0),
}
CHANGES = {"concave objectives": {"maximize": GINI}, "several plays": {"n_plays": 2}, "no constraints": {}}
RECIPES = catalogue("recipe")
MATCHING = Matching(users=5, arms=3, horizon=40)
PRICED_MATCHING = replace(MATCHING, costs=(0.0, 0.5, 1.0), subject_to=(eh.Budget("cost", rate=1.0),))
# What a recipe accepts without a promise: constraints that it ignores or prices among others, without a test of it.
IGNORED = {
    "ucb": {*LIMITS, "several plays"},
    "linucb_rank": {*LIMITS, "concave objectives"},
    "unbiased_linucb_rank": {*LIMITS, "concave objectives"},
    "fairlearn_rank": {*LIMITS, "concave objectives"},
    "uniform": {*LIMITS, "concave objectives"},
    "square_cbwk": set(LIMITS),
    "lin_cbwk": set(LIMITS),
    "two_stage_square_cbwk": set(LIMITS),
    "fw": set(LIMITS),
    "dual_bwc": {"concave objectives"},
    "primal_bwc": {"concave objectives"},
}
SOFTLY = {"budgets per period", "ratios", "convex sets", "never worse"}  # priced or limited by shared code


def problem(word, beside=()):
    if word in LIMITS:
        return replace(PLAIN, subject_to=(*beside, LIMITS[word]))
    return replace(PLAIN, subject_to=beside, **CHANGES[word])


def build(name, p, hard=False):
    """The policy of a recipe, with whatever its signature asks for."""
    if name.endswith("_allocation") or catalogued(name).fit.use == "many users to arms at once":
        p = (PRICED_MATCHING if p.subject_to else MATCHING).problem
    model = models.Ridge(n_features=3, n_outcomes=max(1, len(p.learned)), width=models.Fixed(0.1))
    made = partial(getattr(recipes, name), p)
    special = {
        "fw": lambda: made(partial((recipes.lin_cbwk if p.spending else ucb), model=model)),
        "uniform": lambda: made(3),
        "random_allocation": lambda: made(3),
        "square_cbwk": lambda: made(model, rate=20.0),
        "lagrange_cbw": lambda: made(model, rate=20.0),
        "two_stage_square_cbwk": lambda: made(model, rate=20.0, explore=5, radius=0.01),
        "mixed_oracle": lambda: made(model, (0.0,) * len(stated_rows(p)[1])),
        "fw_squarecb": lambda: made(model, rate=Rate(100.0, 0.5)),
        "fw_epsilon_greedy": lambda: made(model, epsilon=0.2),
        "fw_rank": lambda: made(model, TopK(p.n_plays)),
        "fairlearn_rank": lambda: made(model, share=0.3, utility="answer"),
        "linucb_rank": lambda: made(model, utility="answer"),
        "unbiased_linucb_rank": lambda: made(model, utility="answer"),
    }
    return special.get(name, lambda: made(model, **({"hard": True} if hard else {})))()


def ucb(p, model):
    return recipes.ucb(p, model, warmup=0)


def catalogued(name):
    return next(s for s in RECIPES if s.name == name)


@for_each("system", RECIPES, ids=lambda s: s.name)
def test_every_recipe_says_what_it_fits_and_is_built_on_it(system):
    assert system.fit, "state use= and fits= in @named"
    words = system.fit.words
    allocates = system.fit.use == "many users to arms at once"
    assert allocates == ("allocation" in words)
    beside = (CENTS,) if "budgets" in words and "no constraints" not in words else ()
    for word in words:
        if word in LIMITS or word in CHANGES:
            build(system.name, problem(word, () if word == "no constraints" else beside))
    if "no constraints" not in words and not allocates:
        with pytest.raises(EvenhandError, match=r"no |at least|expected"):
            build(system.name, PLAIN)


@for_each("system", [s for s in RECIPES if "allocation" not in s.fit.words], ids=lambda s: s.name)
def test_what_a_recipe_does_not_name_it_refuses_or_ignores(system):
    beside = (CENTS,) if "budgets" in system.fit.words and "no constraints" not in system.fit.words else ()
    for word in {*LIMITS, *CHANGES} - set(system.fit.words) - IGNORED.get(system.name, set()) - SOFTLY:
        with pytest.raises(EvenhandError):
            build(system.name, problem(word, () if word == "no constraints" else beside))


@for_each("system", [s for s in RECIPES if "hard budgets" in s.fit.words and s.name != "fw"], ids=lambda s: s.name)
def test_hard_budgets_have_a_hard_limit(system):
    asked = system.fit.words["hard budgets"]
    assert asked in ("", "with hard=True")
    assert limited(build(system.name, problem("budgets"), hard=bool(asked)))
    assert limited(build(system.name, problem("budgets"))) == (not asked)


def limited(policy):
    return any(isinstance(goal, HardBudget) for goal in policy.goals)


def test_words_with_conditions_are_read_and_unknown_ones_refused():
    found = fit("rankings", "budgets (on average, or never), parity")
    assert (found.use, found.words) == ("rankings", {"budgets": "on average, or never", "parity": ""})
    assert str(found) == "budgets (on average, or never), parity"
    with pytest.raises(InvalidInput, match=r"use: expected one of start here.*did you mean rankings\?"):
        fit("ranking", "parity")
    with pytest.raises(InvalidInput, match=r"fits: .*parties \(did you mean parity\?\)|fits: expected words"):
        fit("rankings", "parties")
    assert read_words("Hard_budgets, parity,hard-budgets") == ["hard budgets", "parity"]
    for text in ("", "budgets,,parity"):
        with pytest.raises(InvalidInput, match=r"for: expected words of budgets, .*got none$"):
            read_words(text)


def heads(text):
    """The names that begin the lines of a list."""
    return re.findall(r"^ {2,4}(\w+)  ", text, re.MULTILINE)


def test_recipes_are_listed_by_use_with_resolving_first(capsys):
    assert main(["systems", "--kind", "recipe"]) == 0
    shown = capsys.readouterr().out
    assert heads(shown)[0] == "resolving"
    assert sorted(heads(shown)) == sorted(recipes.__all__)
    assert [line[2:-1] for line in shown.splitlines() if re.fullmatch(r"  \w.*:", line)] == list(USES)
    assert main(["systems", "--kind", "model"]) == 0
    shown = capsys.readouterr().out
    assert {"Ridge", "PerAction", "Fixed"} <= set(heads(shown))
    assert "resolving" not in heads(shown)


def test_the_list_of_everything_has_a_sentence_each_and_no_number_of_a_row(capsys):
    assert main(["systems"]) == 0
    shown = capsys.readouterr().out
    every = [s for kind in dict.fromkeys(s.kind for s in catalogue()) for s in parts(kind)]
    assert sorted(heads(shown)) == sorted(s.name for s in every)
    assert all(re.search(r"[.)]$", s.says) and len(s.says) < 130 for s in every)
    for s in catalogue():
        assert not re.search(rf"(?<![\w-]){s.id}(?![\w(-])", shown), s.id
    assert max(map(len, shown.splitlines())) <= 118


def test_no_part_is_explained_by_the_number_of_a_row(capsys):
    for s in catalogue():
        assert main(["systems", s.name]) == 0
        assert not re.search(rf"\({s.id}\)", capsys.readouterr().out)
    assert main(["systems", "K1"]) == 2
    assert "expected a name from `evenhand systems`, got K1" in capsys.readouterr().err


def test_what_fits_is_said_with_the_reason_and_what_lacks_one_word(capsys):
    assert main(["systems", "--for", "rankings, parity"]) == 0
    fits, _, near = capsys.readouterr().out.partition("These fit all of it but one, which is named first:")
    assert WORDS["parity"] in fits
    assert {"resolving", "fw_rank"} <= set(heads(fits))
    assert not {"pgd", "linucb_rank", "ucb"} & set(heads(fits))
    assert re.search(r"  rankings: +.*\bpgd\b", near)
    assert re.search(r"  parity: +.*\blinucb_rank\b", near)
    assert main(["systems", "--for", "no contexts, rankings"]) == 0
    assert "no no" not in capsys.readouterr().out
    assert main(["systems", "zzzz"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert main(["systems", "--for", "budget"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"pgd .*\n(?: .*\n)*? +budgets: on average; never exceeded with hard=True", told)
    assert "These fit all of it but" not in told


def test_nothing_that_fits_is_said(capsys):
    assert main(["systems", "--for", "allocation, rankings"]) == 0
    assert "No recipe fits all of it." in capsys.readouterr().out


def test_what_fits_as_json(capsys):
    assert main(["systems", "--for", "allocation,budgets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [s["name"] for s in found][:2] == ["resolving_allocation", "pgd_allocation"]
    assert found[0]["fits"]["budgets"] == "never exceeded"
    assert len(found) == 3
