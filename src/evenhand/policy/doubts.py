"""What a case states that can be used, but probably not as intended, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.core.checked import shown
from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.problem.problem import Problem


def replaced(name: str, value: object) -> str:
    """Say that a feature has a value that it was not declared to have, so that another one counts in its place.

    >>> replaced("age", 150)
    'age: 150 is out of its range, so the nearest end counts'
    >>> replaced("channel", "fax")
    "channel: 'fax' is none of its levels, so another counts"
    """
    if isinstance(value, str):
        return f"{name}: {shown(value)} is none of its levels, so another counts"
    return f"{name}: {shown(value)} is out of its range, so the nearest end counts"


def credited(problem: Problem, known: Floats) -> dict[str, str]:
    """Say which known outcomes of a budget are below 0, although they were not declared so, `(A,L)->`, by name.

    An outcome is declared so by its `low`, or by one of its declared values.

    >>> from evenhand.environments import Court
    >>> problem = Court().problem
    >>> list(credited(problem, -problem.declared).values())
    ['ride: -1 is below 0, so a budget gets it back', 'voucher: -1 is below 0, so a budget gets it back']
    """
    lows = {outcome.name: outcome.widest[0] for outcome in problem.outcomes}
    found = dict[str, str]()
    for name in dict.fromkeys(s.outcome for s in problem.stated if s.spends and s.outcome in problem.known):
        column = problem.known.index(str(name))
        least = float(known[:, column].min(initial=0.0))
        if least < 0.0 <= min(lows[str(name)], float(problem.declared[:, column].min())):
            found[str(name)] = f"{name}: {amount(least)} is below 0, so a budget gets it back"
    return found


def over(problem: Problem) -> str:
    """Say that a decision comes after the horizon, or after the end of a run that has dates."""
    return f"the horizon of {problem.horizon:,} rounds is over" if problem.until is None else "the run has ended"


def stated(case: Mapping[str, object], outside: Sequence[str]) -> dict[str, str]:
    """Say which features of a case have values that count as others, by name."""
    return {name: replaced(name, case[name]) for name in outside}
