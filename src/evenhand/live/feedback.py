"""Decisions whose outcome and probability are known, as other libraries of contextual bandits read them."""

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
from evenhand.live.coded import Coded, of_kept
from evenhand.live.events import read
from evenhand.live.history import History, said
from evenhand.live.stores.base import Store

Case = Mapping[str, Any]


class Logged(NamedTuple):
    """One decision."""

    case: Case
    action: int
    probability: float
    reward: float


@dataclass(frozen=True)
class Feedback:
    """The decisions of a campaign that were observed and whose probability is known, in their order.

    Args:
        history: of the campaign.
        outcome: that is the reward.
        coded: makes numbers of cases, for campaigns of problem files.
    """

    history: History
    outcome: str
    coded: Coded | None

    @staticmethod
    def of(store: Store, campaign: str, outcome: str | None) -> Feedback:
        """Those of a campaign.

        Raises:
            InvalidInput: several plays per decision, or an outcome that is missing, was not observed, or is maximised
                times a factor, unless it is named: what is exported is the outcome as it was observed.
        """
        history = History.of(store, campaign)
        if history.plays > 1:
            raise InvalidInput("campaign", "one play per decision", f"{campaign!r}, with {history.plays}")
        *_, last = [read(event)["encoding"] for event in store.scan(campaign, kinds=("opened", "switched"))]
        stated = of_kept(last) if "units" in last else None
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
        """The decisions."""
        for event in self.history.decided():
            state, outcomes = self.history.end(event)
            body = read(event)
            if state == "observed" and body["p"][0] is not None:
                reward = dict(said(outcomes)).get(f"outcome {self.outcome}")
                if reward is not None:
                    yield Logged(body["case"], body["a"][0], body["p"][0], float(reward))

    def numbers(self) -> tuple[tuple[str, ...], Callable[[Case], Any]]:
        """The names of the numbers of a case, and what makes them.

        For campaigns of problem files they are those of the policy: an intercept, standardised numbers, and indicators.
        For others they are the numbers in the case as they are; texts are left out.
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
    with out.open("wb") as file:  # a name without .npz stays as it is
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
    r"""A decision for Vowpal Wabbit.

    >>> _line(Logged({"age": 33, "zip code": "a:b"}, 0, 0.25, 1.0))
    '1:-1.0:0.25 | age:33.0 zip%20code=a%3Ab\n'
    """
    cost = 0.0 - logged.reward  # no -0
    return f"{logged.action + 1}:{cost!r}:{logged.probability!r} | {' '.join(_features(logged.case))}\n"


def _features(case: Case) -> Iterator[str]:
    for name, value in case.items():
        if isinstance(value, str):
            yield f"{_escaped(name)}={_escaped(value)}"
        elif isinstance(value, Real):
            yield f"{_escaped(name)}:{float(value)!r}"


def _escaped(text: str) -> str:
    """A text as a part of a feature's name."""
    return re.sub(r"[\s:|%]", lambda z: "".join(f"%{byte:02X}" for byte in z[0].encode()), text)
