"""A campaign that is fed what a simulation meets takes the same actions, also after a fold of the whole log."""

import numpy as np
import pytest

from evenhand.environments import Delayed, Logged
from evenhand.live import Campaign
from evenhand.live.stores.memory import MemoryStore
from evenhand.run import play
from tests.examples.recipes import POLICIES
from tests.live.worlds import Arrays, case_of, named

ROUNDS = 60


def serves(world):
    """A log takes back decisions that differ from its own; outcomes in parts are learned from arrays alone.

    A campaign goes by the clock of its store, not by times of a world.
    """
    if world.problem.until is not None:
        return False
    return not isinstance(world, Logged) and not (isinstance(world, Delayed) and isinstance(world.delay, tuple))


SERVED = [(policy, world) for policy, world in POLICIES if serves(world)]


@pytest.mark.parametrize(("policy", "world"), SERVED, ids=lambda z: getattr(z, "name", ""))
def test_every_recipe_takes_the_actions_of_its_simulation(policy, world):
    store, state = MemoryStore(), policy.start(seed=3)
    campaign = Campaign.open(store, "one", policy, seed=3, encoder=Arrays())
    there = world.start(3, np.arange(1))
    wait: dict[int, int] = {}
    for now in play(policy, state, there, range(min(ROUNDS, there.steps))):
        if now.step == ROUNDS // 2:  # another worker takes over
            campaign = Campaign.open(store, "one", policy, encoder=Arrays())
        case = {**case_of(now.context), "step": now.step}
        said = campaign.decide(case, key=f"case {now.step}")
        played = [a if a is None else policy.problem.actions.index(a) for a in said.actions]
        assert [-1 if a is None else a for a in played] == now.decision.plays[0].tolist()
        stated = [None if p != p else p for p in now.decision.propensities[0].tolist()]
        assert [p for p, a in zip(said.probabilities, played, strict=True) if a is not None] == [
            p for p, a in zip(stated, played, strict=True) if a is not None
        ]
        if now.taken.counted[0]:
            wait[int(now.taken.id[0])] = said.id
        for arrival in now.arrivals:
            if not arrival.decision.counted[0]:
                continue
            number = wait.pop(int(arrival.decision.id[0]))
            campaign.observe(number, named(policy.problem, arrival.y, arrival.exposed))
    folded = Campaign.open(store, "one", policy, encoder=Arrays())
    assert policy.status(state).accounts == folded.status().accounts
    assert policy.status(state).rounds == folded.status().rounds
