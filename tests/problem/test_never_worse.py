"""Never worse than a baseline: ten rounds by hand, thousands of random rounds with late outcomes, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput, StaleDecision
from evenhand.core.records import Context
from evenhand.environments import Arrival
from evenhand.goals import HardCredit
from evenhand.models import BayesianLogistic
from evenhand.problem import Budget, NeverWorse, Numeric, Outcome, Problem
from evenhand.recipes import resolving
from evenhand.run import Trace, simulate

ALPHA, SLACK = 0.1, 3.0
LIMIT = NeverWorse("sale", than="usual", alpha=ALPHA, slack=SLACK, action="old")


def shop(limit=LIMIT, **more):
    return Problem(
        actions=("call", "old", "mail"),
        outcomes=(Outcome("sale"), Outcome("usual", known=0.5)),
        maximize="sale",
        subject_to=(limit,),
        features=(Numeric("visits", 0, 1),),
        **{"horizon": 400, **more},
    )


class Same:
    """The same case in every round, in which nothing is ever sold."""

    def __init__(self, problem, case):
        self.problem, self.n_features, self._case = problem, problem.n_features, case
        self.steps, self.counts_idle_steps = problem.horizon, True

    def start(self, seed, replicas):
        case = Context(*(np.repeat(z, len(replicas), 0) for z in self._case[:4]))
        return Same(self.problem, case)

    def context(self, step):
        return self._case

    def respond(self, step, context, decision):
        return decision, [Arrival(step, decision, np.zeros((len(decision.plays), 1, 1)))]

    def expected(self, context, plays):
        return None


class Ledger:
    """The credit of every replica at the worst outcome of what waits, added up from events, not from the goal."""

    def __init__(self, replicas):
        self.credit = np.full(replicas, SLACK)

    def check(self):
        assert (self.credit >= -1e-9).all()


def test_ten_rounds_by_hand():
    problem = shop()
    policy = resolving(problem)
    goal, place = next((g, i) for i, g in enumerate(policy.goals) if isinstance(g, HardCredit))
    state = policy.start(seed=0)
    credit = SLACK
    for action, sale in [("call", 0), ("call", 1), ("old", 0), ("mail", 0), ("old", 1), ("call", None), ("old", None)]:
        case = policy.encode({"visits": 0.5}, known={"usual": 0.4})
        decision = policy.decide(state, case)
        played = np.array([[problem.actions.index(action)]])
        decision = decision._replace(plays=played, features=case.features[:, played[0]], known=case.known[:, played[0]])
        policy.commit(state, case, decision)
        held = 0.0 if action == "old" else 0.9 * 0.4
        assert goal.room(state.goals[place], case)[1].item() == pytest.approx(credit - held)
        np.testing.assert_allclose(goal.room(state.goals[place], case)[0][0, :, 0], [0.36, 0.0, 0.36])
        if sale is None:
            policy.cancel(state, decision)
            assert state.goals[place].credit.item() == pytest.approx(credit)
            continue
        policy.observe(state, decision, {"sale": float(sale)})
        credit += 0.04 if action == "old" else sale - 0.36
        assert policy.status(state).credits == {"sale / usual": pytest.approx(credit)}
    assert f"credit     sale / usual  {credit:.4g} left" in str(policy.status(state))


def test_what_is_not_observed_counts_as_the_least_outcome():
    problem = replace(shop(), outcomes=(Outcome("sale", low=-1.0), Outcome("usual", known=0.5)))
    policy = resolving(problem)
    state = policy.start(seed=0)
    case = policy.encode({"visits": 0.5}, offered=("call",), known={"usual": 0.4})
    for sale, left in ((None, SLACK - 1.36), (1.0, SLACK - 1.36 + 1.0 - 0.36)):
        decision = policy.act(state, case)
        policy.observe(state, decision, {"sale": sale})
        assert policy.status(state).credits["sale / usual"] == pytest.approx(left)


def test_a_decision_that_the_credit_no_longer_pays_for_is_stale():
    policy = resolving(shop(replace(LIMIT, slack=0.5)))
    state = policy.start(seed=0)
    case = policy.encode({"visits": 0.5}, offered=("call",), known={"usual": 0.4})
    one, other = policy.decide(state, case), policy.decide(state, case)
    policy.commit(state, case, one)
    with pytest.raises(StaleDecision, match="no longer fit"):
        policy.commit(state, case, other)


def attack(replicas, rounds, seed, limit=LIMIT):
    """Outcomes are late, cancelled or never seen, and the sums are checked after each event."""
    problem = replace(shop(limit), horizon=rounds)
    policy = resolving(problem, BayesianLogistic(n_features=6))
    rng = np.random.default_rng(seed)
    state, waiting, ledger = policy.start(replicas=replicas, seed=seed), [], Ledger(replicas)
    chance = rng.uniform(0.0, 0.7, (2, 3, replicas))
    tried = np.zeros(replicas)
    for _ in range(rounds):
        usual, visits = rng.uniform(0.1, 0.7, replicas), rng.random(replicas)
        x = np.einsum("ab,rf->rabf", np.eye(3), np.stack([np.ones(replicas), visits], 1)).reshape(replicas, 3, 6)
        known = np.repeat(usual[:, None, None], 3, 1)
        case = Context(x, known, np.zeros((replicas, 1, 0), np.int64), np.ones((1, 3), bool))
        decision = policy.act(state, case)
        other = decision.plays[:, 0] != 1
        tried += other
        ledger.credit -= np.where(other, (1 - ALPHA) * usual, 0.0)
        ledger.check()
        waiting.append((decision, usual, visits, rng.random()))
        while waiting and rng.random() < 0.6:
            decision, usual, visits, luck = waiting.pop(rng.integers(len(waiting)))
            other = decision.plays[:, 0] != 1
            if luck < 0.1:
                policy.cancel(state, decision)
                ledger.credit += np.where(other, (1 - ALPHA) * usual, 0.0)
            else:
                p = np.where(
                    decision.plays[:, 0] == 1,
                    usual,
                    np.take_along_axis(chance[0] + (chance[1] - chance[0]) * visits, decision.plays.T, 0)[0],
                )
                y = (rng.random(replicas) < p) * 1.0
                seen = luck > 0.2
                policy.learn(state, decision, y[:, None, None], None if seen else np.zeros((replicas, 1, 1), bool))
                ledger.credit += np.where(other, y * seen, ALPHA * usual)
            ledger.check()
    place = next(i for i, g in enumerate(policy.goals) if isinstance(g, HardCredit))
    np.testing.assert_allclose(state.goals[place].credit, ledger.credit, atol=1e-9)
    return tried


def test_the_observed_sum_is_never_below():
    assert (attack(8, 60, 3) > 0).any()


@pytest.mark.slow
def test_the_observed_sum_is_never_below_in_a_thousand_replicas():
    assert (attack(1000, 250, 0) > 10).reshape(4, 250).mean(1).min() > 0.5


def test_a_summary_judges_the_credit_and_not_the_ratio(tmp_path):
    problem = shop(replace(LIMIT, slack=30.0), horizon=60)
    policy = resolving(problem)
    case = policy.encode({"visits": 0.5}, offered=("call",), known={"usual": 0.4})
    world = Same(problem, case)
    trace = simulate(policy, world, replicas=3, progress=False)
    np.testing.assert_allclose(trace.credits, np.full((3, 1), 30.0 - 60 * 0.36))
    lines = {line.name: line for line in trace.summary().lines}
    assert (lines["sale / usual"].mean, lines["sale / usual"].missed) == (0.0, False)
    line = lines["credit of sale / usual"]
    assert (line.mean, line.limit, line.missed) == (pytest.approx(8.4), 0.0, False)
    broken = replace(trace, credits=np.array([[2.0], [-0.5], [9.0]]))
    assert {line.name: line.missed for line in broken.summary().lines}["credit of sale / usual"]
    trace.save(tmp_path / "trace.npz")
    np.testing.assert_array_equal(Trace.load(tmp_path / "trace.npz", problem).credits, trace.credits)
    alone = replace(trace, credits=None)  # of a policy without the limit: only the ratio says anything
    assert {line.name: line.missed for line in alone.summary().lines}["sale / usual"]


def test_without_slack_the_baseline_comes_first_and_credit_is_earned():
    policy = resolving(shop(replace(LIMIT, slack=0.0)))
    state, first = policy.start(seed=1), []
    for _ in range(12):
        decision = policy.act(state, policy.encode({"visits": 0.5}))
        first.append(decision.action)
        policy.observe(state, decision, {"sale": 1.0})
    assert first[:9] == ["old"] * 9  # which earn .45, what another action may lose
    assert set(first[9:]) - {"old"}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: replace(LIMIT, alpha=0.0), r"NeverWorse\('sale'\)\.alpha: expected a number above 0 and below 1"),
        (lambda: replace(LIMIT, alpha=1.0), r"NeverWorse\('sale'\)\.alpha: expected a number above 0 and below 1"),
        (lambda: replace(LIMIT, slack=-1.0), r"NeverWorse\('sale'\)\.slack: expected a finite number of at least 0"),
        (lambda: shop(replace(LIMIT, than="sale")), r"NeverWorse\('sale'\).*|Ratio\('sale'\)\.over"),
        (lambda: shop(replace(LIMIT, than="usul")), r"did you mean usual"),
        (lambda: shop(replace(LIMIT, action="odl")), r"NeverWorse\('sale'\)\.action: .*did you mean old"),
        (lambda: shop(NeverWorse("usual", than="usual", alpha=0.1)), r"usual"),
        (lambda: resolving(shop(withdrawn=("old",))), r"withdrawn: expected not 'old', the baseline of NeverWorse"),
        (lambda: resolving(shop(n_plays=2)), r"NeverWorse\('sale'\): expected one play per round"),
    ],
)
def test_bad_input_is_refused_by_name(made, message):
    with pytest.raises(InvalidInput, match=message):
        made()


def test_an_outcome_without_a_least_value_is_refused():
    with pytest.raises(InvalidInput, match=r"NeverWorse\('gain'\): expected an outcome with a finite least value"):
        Problem(
            actions=("old", "new"),
            outcomes=(Outcome("gain", low=-np.inf, high=np.inf), Outcome("usual", known=0.5)),
            maximize="gain",
            subject_to=(NeverWorse("gain", than="usual", alpha=0.1),),
            horizon=9,
        )


def test_beside_a_budget_both_hold():
    problem = replace(
        shop(),
        outcomes=(Outcome("sale"), Outcome("usual", known=0.5), Outcome("cost", known={"call": 1})),
        subject_to=(LIMIT, Budget("cost", total=4)),
    )
    policy = resolving(problem)
    state = policy.start(seed=2)
    calls = 0
    for _ in range(60):
        decision = policy.act(state, policy.encode({"visits": 0.5}))
        calls += decision.action == "call"
        policy.observe(state, decision, {"sale": 1.0 if decision.action == "call" else 0.0})
    assert calls <= 4
    assert "sale / usual" in str(policy.status(state))


@pytest.mark.parametrize("known", [{"old": 0.4}, {"call": 0.4, "old": 0.5, "mail": 0.5}, -0.1])
def test_what_the_baseline_brings_is_one_number_in_a_case_and_as_declared(known):
    expected = r"expected one number of at least 0 for all"
    problem = shop()
    with pytest.raises(InvalidInput, match=r"NeverWorse\('sale'\)\.than: " + expected + "|Ratio"):
        replace(problem, outcomes=(Outcome("sale"), Outcome("usual", known=known)))
    policy = resolving(problem)
    state = policy.start()
    with pytest.raises(InvalidInput, match="known outcome 'usual': " + expected):
        policy.decide(state, policy.encode({"visits": 0.5}, known={"usual": known}))
