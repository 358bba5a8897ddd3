"""Decisions with known outcome and probability, in the formats of other contextual bandit libraries."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.live.coded import Coded, of_stored
from evenhand.live.events import read
from evenhand.live.history import History, outcome_columns
from evenhand.live.stores.base import Store

Case = Mapping[str, Any]


class Logged(NamedTuple):
    """One decision with its outcome and probability."""

    case: Case
    action: int
    probability: float
    reward: float


@dataclass(frozen=True)
class Feedback:
    """Iterates over the decisions of a campaign whose outcome was observed and whose probability is known, in order.

    Args:
        history: the campaign's history.
        outcome: the outcome that is the reward.
        coded: the encoder of cases, for campaigns of problem files.
    """

    history: History
    outcome: str
    coded: Coded | None

    @staticmethod
    def of(store: Store, campaign: str, outcome: str | None) -> Feedback:
        """Read the feedback of a campaign.

        Raises:
            InvalidInput: a decision has several plays; or the outcome is missing, was not observed, or is maximised
                times a factor and not named: outcomes are exported as they were observed.
        """
        history = History.of(store, campaign)
        if history.plays > 1:
            raise InvalidInput("campaign", "one play per decision", f"{campaign!r}, with {history.plays}")
        *_, last = [read(event)["encoding"] for event in store.scan(campaign, kinds=("opened", "switched"))]
        stated = of_stored(last) if "units" in last else None
        found = [name.removeprefix("outcome ") for name in history.outcomes]
        if outcome is None:
            maximized = stated.policy.problem.maximize if stated else None
            if stated and any(o.name == maximized and o.times for o in stated.policy.problem.outcomes):
                got = f"none: {maximized!r} is maximised times a factor, but exported as it was observed"
                raise InvalidInput("outcome", f"the name of the reward, one of {found}", got)
            best = maximized if isinstance(maximized, str) else found[0] if len(found) == 1 else None
            if best is None:
                raise InvalidInput("outcome", f"the name of the reward, one of {found}", "none")
            outcome = best
        if found and outcome not in found:
            raise InvalidInput("outcome", f"one that was observed, of {found}", f"{outcome!r}{meant(outcome, found)}")
        return Feedback(history, outcome, stated.coded if stated else None)

    def __iter__(self) -> Iterator[Logged]:
        for event in self.history.decided():
            state, outcomes = self.history.end(event)
            body = read(event)
            if state == "observed" and body["p"][0] is not None:
                reward = dict(outcome_columns(outcomes)).get(f"outcome {self.outcome}")
                if reward is not None:
                    yield Logged(body["case"], body["a"][0], body["p"][0], float(reward))

    def numbers(self) -> tuple[tuple[str, ...], Callable[[Case], Any]]:
        """Return the names of a case's numbers, and the function that computes them.

        For campaigns of problem files they are the policy's features: an intercept, standardised numbers, and
        indicators. For others they are the numbers of the case, unchanged; texts are left out.
        """
        if self.coded is not None:
            return self.coded.units.names, self.coded.units.row
        names = tuple(name for name, of in self.history.cases.items() if of <= {int, float, bool})
        return names, lambda case: [float(case.get(name, np.nan)) for name in names]


def write_npz(out: Path, feedback: Feedback, decisions: Iterable[Logged]) -> None:
    """Write the logged bandit feedback of the Open Bandit Pipeline.

    `dict(numpy.load(FILE))` has `n_rounds`, `n_actions`, `context` (n, d), `action`, `reward`, `position` (all 0),
    `pscore`, and the names `actions` and `features`.
    """
    features, numbers = feedback.numbers()
    context, reward, pscore, action = array("d"), array("d"), array("d"), array("q")
    for logged in decisions:
        context.extend(numbers(logged.case))
        action.append(logged.action)
        reward.append(logged.reward)
        pscore.append(logged.probability)
    count = len(action)
    with out.open("wb") as file:  # so that NumPy appends no .npz to the name
        np.savez_compressed(
            file,
            n_rounds=np.array(count),
            n_actions=np.array(len(feedback.history.actions)),
            context=np.frombuffer(context, float).reshape(count, len(features)),
            action=np.frombuffer(action, np.int64),
            reward=np.frombuffer(reward, float),
            position=np.zeros(count, np.int64),
            pscore=np.frombuffer(pscore, float),
            actions=np.array(list(feedback.history.actions), str),
            features=np.array(features, str),
        )


def write_vw(out: Path, feedback: Feedback, decisions: Iterable[Logged]) -> None:
    """Write lines for `vw --cb K`, where K is the number of actions.

    A line is `ACTION:COST:PROBABILITY | FEATURES`. Actions count from 1, in the order of the problem; the cost is the
    outcome with the other sign; numbers are `name:value` and texts `name=value`. Blanks, colons, bars and per cent
    signs in names and texts are written as in URLs, `%20`.
    """
    with out.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(map(_line, decisions))


def _line(logged: Logged) -> str:
    r"""Format a decision for Vowpal Wabbit.

    >>> _line(Logged({"age": 33, "zip code": "a:b"}, 0, 0.25, 1.0))
    '1:-1.0:0.25 | age:33.0 zip%20code=a%3Ab\n'
    """
    cost = 0.0 - logged.reward  # no -0
    return f"{logged.action + 1}:{cost!r}:{logged.probability!r} | {' '.join(_features(logged.case))}\n"


def _features(case: Case) -> Iterator[str]:
    for name, value in case.items():
        if isinstance(value, str):
            yield f"{_escape(name)}={_escape(value)}"
        elif isinstance(value, Real):
            yield f"{_escape(name)}:{float(value)!r}"


def _escape(text: str) -> str:
    """Escape a text for use in a feature's name."""
    return re.sub(r"[\s:|%]", lambda z: "".join(f"%{byte:02X}" for byte in z[0].encode()), text)
