"""Plays that are decided at one state: a driver that lets their bonuses count each other is what it says."""

import numpy as np
import pytest

from evenhand.models import BayesianRidge, PerAction
from evenhand.policy.batch import decide_all, freeze, pass_on
from evenhand.recipes import resolving
from evenhand.run import play
from tests.batch_costs import SEED, count, counting, main, run
from tests.ignorance import Letters

WORLD = Letters(horizon=200, delay=0)
POLICY = resolving(WORLD.problem, PerAction(inner=BayesianRidge(n_features=2, n_outcomes=2), actions=3))


def test_a_counting_state_has_the_bonuses_of_one_in_which_the_plays_wait():
    """Those of the real state after the same plays: a row lacks them, and a row that counts has them."""
    state, place = POLICY.start(seed=SEED), WORLD.start(SEED, np.array([0]))
    for _ in play(POLICY, state, place, range(60)):
        pass
    rows = freeze(POLICY, state), counting(POLICY, state)
    for j in range(60, 90):
        context = place.context(j)
        decision = POLICY.decide(rows[1], context)
        for at in rows:
            pass_on(POLICY, at, context, decision)
        count(POLICY, rows[1], 1000 + j, decision)
        POLICY.enter(state, context, decision)
    widths = []
    for at in (state, *rows):
        with POLICY._assembly.delay.read(at):
            x = place.context(90).features
            widths.append(POLICY.model.value(at.model, x, np.ones((1, 1, 1, 2)), np.zeros((1, 0))).bonus)
    np.testing.assert_array_equal(widths[0], widths[2])
    assert (widths[0] <= widths[1]).all()
    assert (widths[0] < widths[1]).any()


def test_rows_are_those_of_a_live_campaign():
    """Of half of all rounds: the second row is decided at the state after the first one and its outcomes."""
    state, place, plays = POLICY.start(seed=SEED, replicas=[3]), WORLD.start(SEED, np.array([3])), np.zeros(3)
    for first in (0, 100):
        contexts = [place.context(j) for j in range(first, first + 100)]
        together = type(contexts[0])(*(np.concatenate([c[i] for c in contexts]) for i in range(4)), None)
        for j, (context, decision, _) in enumerate(decide_all(POLICY, state, together), first):
            POLICY.enter(state, context, decision)
            plays[decision.plays[0, 0]] += decision.plays[0, 0] >= 0
            for arrival in place.respond(j, context, decision)[1]:
                POLICY.learn(state, arrival.decision, arrival.y)
    found, _ = run(POLICY, WORLD, 3, 0.5, together=False)
    assert found.tolist() == pytest.approx((plays / 200).tolist())


def test_a_line_for_each_row(capsys):
    main(2, 40)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 16
    assert lines[2].startswith("| `resolving` | one by one | no | ")
