"""A rehearsal of the work of a campaign's server, which compiles its kernels before the first request."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import CannotErase, CannotSave
from evenhand.core.records import Context
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.dashboard.decision import decision_page
from evenhand.live.dashboard.page import page
from evenhand.live.dashboard.report import to_json
from evenhand.live.dashboard.tally import Tally
from evenhand.live.stores._clock import clock
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.batches import Deciding
from evenhand.logs.problem_file import read_spec
from evenhand.models.base import Model, reads_packed
from evenhand.policy.cases import known_outcomes, offer_mask
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.replay.run import of_problem_file, policies

_ROUNDS, _SECOND, _PATIENCE = 60, 1_000_000, 1_000
_MANY = 8  # decisions in a row that are frozen


class _Shapes:
    """Makes contexts of the shapes that a problem has, with any cases."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self._problem, self._n, self._packed = problem, model.n_features, reads_packed(model)

    def context(self, case: Any, offered: Any, known: Any) -> Context:
        problem, i = self._problem, int(case["round"])
        features = np.random.default_rng(i).uniform(-1.0, 1.0, (1, len(problem.actions), self._n))
        if self._packed:  # after the number of the action, pairs of an index and a value
            features[:, :, 0] = np.arange(len(problem.actions))
            features[:, :, 1::2] = np.arange(self._n // 2)
        groups = [problem.columns.index((g.name, g.names[i % len(g.names)])) for g in problem.groups]
        placed = problem.groups_of(np.array([groups], np.int64).reshape(1, -1))
        unit = None if problem.unit is None else np.array([i])
        return Context(features, known_outcomes(problem, known), placed, offer_mask(problem, offered), None, unit)

    def to_dict(self) -> dict[str, Any]:
        return {}


def of_campaign(path: Path) -> dict[str, Callable[[], object]]:
    """Return, by name, jobs that compile the kernels of a problem file: those of its replay, and those of its server.

    Raises:
        InvalidInput: as for `evenhand.replay.run.of_problem_file`.
    """
    policy, rounds = policies(path)[0], read_spec(path).settings.warmup + _ROUNDS
    return of_problem_file(path) | {f"{policy.name}, served": partial(rehearse, policy, rounds)}


def rehearse(policy: Policy, rounds: int = _ROUNDS) -> None:
    """Run the operations of clients, pages and upkeep on a campaign in memory.

    Args:
        policy: of the campaign.
        rounds: decisions before some are made at one state.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=900)
    >>> rehearse(eh.uniform(shop, 1))
    """
    now = [_begin(policy.problem)]
    shapes = _Shapes(policy.problem, policy.model)
    store = MemoryStore(now=lambda: now[0])
    campaign = Campaign.open(store, "rehearsal", policy, encoder=shapes, patience=_PATIENCE)
    made = list[str]()
    for i in range(rounds):
        now[0] += _SECOND
        said = campaign.decide({"round": i}, key=f"{i}")
        if said.action is not None:
            made.append(f"{i}")
        if i % 3 == 2:  # outcomes of the latest decision, and of earlier ones
            for key in (made.pop(), *made[-4:-3]):
                campaign.observe(key, _outcomes(policy, i))
            made = made[-4:]
    if made:
        campaign.cancel(made.pop())
    campaign.many([Deciding({"round": i}, f"many {i}", frozen=True) for i in range(_MANY)])
    now[0] += (_PATIENCE + 1) * _SECOND
    campaign.refresh()  # lets the others expire
    settled = [z.key for z in campaign.events() if z.kind == "decided" and _has_outcome(campaign, z.seq)]
    tally = Tally(campaign)
    tally.update()
    page(campaign, campaign.status(), tally)
    to_json(campaign, campaign.status(), tally)
    if settled:
        found = campaign.find(str(settled[-1]))
        decision_page(campaign.name, found, campaign.why(found["id"]))
        campaign.observe(str(settled[-1]), _outcomes(policy, -1), revise=True)
        campaign.relearn()
        with suppress(CannotErase, CannotSave):
            campaign.erase([str(settled[0])])
    campaign.decide({"round": 0}, key="last")


def _begin(problem: Problem) -> int:
    """Return a time at which a campaign can begin, in microseconds since 1970."""
    now = clock()
    time = problem.clock.of_micros(now)
    if time is None or 0.0 <= time < problem.clock.last:
        return now
    return now - int(86_400e6 * time)


def _outcomes(policy: Policy, i: int) -> Any:
    """Return outcomes of each play, at one end of their range or the other."""
    ends = np.nan_to_num(policy.problem.span_by_action[i % 2, 0], posinf=1.0, neginf=-1.0).tolist()
    one = dict(zip(policy.problem.observed, ends, strict=True))
    return one if policy.choice.n_plays == 1 else [one] * policy.choice.n_plays


def _has_outcome(campaign: Campaign, seq: int) -> bool:
    return any(event.kind == "observed" for event in campaign.store.about(campaign.name, seq))
