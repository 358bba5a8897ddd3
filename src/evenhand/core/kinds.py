"""The kinds of parts, the package of each, and the uses of recipes. Imports little, so that help appears at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion

# The folder or module of a system determines its kind, so that no second list has to be kept up to date.
KINDS = {
    "evenhand.recipes": "recipe",
    "evenhand.models": "model",
    "evenhand.objectives": "objective",
    "evenhand.problem.constraints": "constraint",
    "evenhand.environments": "environment",
    "evenhand.goals": "goal",
    "evenhand.choices": "choice",
    "evenhand.welfare": "welfare",
    "evenhand.sets": "set",
    "evenhand.run.optimum": "benchmark",
    "evenhand.run.optimum_of_satisfaction": "benchmark",
    "evenhand.run.theory": "benchmark",
    "evenhand.offline": "estimate",
    "evenhand.offline.slates": "estimate",
    "evenhand.offline.estimators": "estimator",
    "evenhand.experiments": "experiment",
}

# What each kind is, for `evenhand systems`.
HEADS = {
    "recipe": "recipes: a policy in one call",
    "model": "models: predict outcomes, and say how far to trust that",
    "objective": "objectives: what is maximised",
    "constraint": "constraints: what is limited",
    "environment": "environments: worlds to try policies in",
    "goal": "goals: what a policy is made of, prices and limits",
    "choice": "choices: what a policy is made of, from worths to an action",
    "welfare": "welfare: allocations of many users, and how they are computed",
    "set": "sets: in which averages may have to stay",
    "benchmark": "benchmarks: the best that is possible, to compare with",
    "estimate": "estimates: what a log says, without running a policy",
    "estimator": "estimators: of what a policy is worth, for `evenhand value --estimator`",
    "experiment": "experiments: `evenhand reproduce` runs them",
}

# The uses by which `evenhand systems` groups recipes, in its order.
USES = (
    "start here",
    "budgets and fairness",
    "objectives that are not a plain sum",
    "no features of cases",
    "rankings",
    "many users to arms at once",
    "to compare with",
)

# What a problem may have, with what it means and how it is stated.
WORDS: dict[str, str] = {
    "budgets": 'the sum of an outcome stays below a total: Budget("cents", total=500)',
    "hard budgets": "a budget is exceeded in no run, whatever the model says: Budget(..., hard=True)",
    "budgets per period": 'every day or every 100 cases has a total of its own: Budget("cents", total=40, per="day")',
    "parity": 'groups get the same on average, within a tolerance: Parity("ride", by="town", tolerance=0.05)',
    "floors": 'the sum of an outcome reaches a total: Floor("sale", rate=0.1)',
    "ratios": 'one sum over another stays below a number: problem.Ratio("cents", over="sale", at_most=20)',
    "convex sets": "average outcomes stay in a convex set: problem.Within(...)",
    "never worse": "never below a part of what a baseline would have brought: problem.NeverWorse(...)",
    "known costs": 'costs are known before the decision: Outcome("cents", known={"letter": 80})',
    "learned costs": 'costs are learned from what is observed: Outcome("hours", high=8)',
    "concave objectives": "the goal is not a plain sum: maximize=objectives.GeneralizedGini(...)",
    "several plays": "several actions are played in a round: Problem(n_plays=3)",
    "rankings": "items are shown in an order, and places count: Problem(n_plays=10)",
    "allocation": "many users are given one arm each in a round, with diminishing returns: welfare.Satisfaction(...)",
    "contexts": "a case has features: Problem(features=...), or numbers per candidate",
    "no contexts": "nothing is known about a case",
    "late outcomes": "outcomes come after later decisions",
    "drift": "what cases are like, or how they respond, changes over the run",
    "no constraints": "nothing is limited: Problem(subject_to=())",
}


class Fit(NamedTuple):
    """The use of a recipe, and by word the conditions under which it fits, empty where there are none."""

    use: str
    words: Mapping[str, str]

    def __str__(self) -> str:
        return ", ".join(f"{word} ({note})" if note else word for word, note in self.words.items())


def fit(use: str, fits: str) -> Fit:
    """Read the words of a recipe about itself: separated by commas, each with or without a note in brackets.

    Raises:
        InvalidInput: an unknown use or word.

    >>> fit("budgets and fairness", "budgets (on average), parity").words
    {'budgets': 'on average', 'parity': ''}
    """
    if use not in USES:
        raise InvalidInput("use", f"one of {', '.join(USES)}", f"{use}{suggestion(use, USES)}")
    found = {}
    for entry in re.split(r",\s*(?![^(]*\))", fits):
        word, _, note = entry.partition(" (")
        found[_plural(word, "fits")] = note.removesuffix(")")
    return Fit(use, found)


def read_words(text: str) -> list[str]:
    """Read words separated by commas, also in the singular.

    Raises:
        InvalidInput: no word, or an unknown one; the message lists all, and the one that was probably meant.

    >>> read_words("Budget, learned-costs")
    ['budgets', 'learned costs']
    >>> read_words("parrity")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: for: expected words of budgets, hard budgets, budgets per period, parity, \
floors, ratios, convex sets, never worse, known costs, learned costs, concave objectives, several plays, rankings, \
allocation, contexts, no contexts, late outcomes, drift, no constraints, got parrity (did you mean parity?)
    """
    plain = [" ".join(re.split(r"[\s_-]+", part.strip().lower())) for part in text.split(",")]
    return list(dict.fromkeys(_plural(word, "for") for word in plain))


def _plural(word: str, field: str) -> str:
    for known in (word, f"{word}s"):
        if known in WORDS:
            return known
    raise InvalidInput(field, f"words of {', '.join(WORDS)}", f"{word or 'none'}{suggestion(word, WORDS)}")
