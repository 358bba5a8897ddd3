"""Runs of events that a fold enters in compiled calls leave the state that single events leave, bit for bit."""

import random
import re
from functools import cache, partial

import numpy as np
import pytest
from numba.core.errors import NumbaError

import evenhand as eh
from evenhand.core.errors import EvenhandError, EvenhandWarning, InvalidInput
from evenhand.live import Campaign
from evenhand.live.fold.runs import fold_runs
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from evenhand.policy.cases import StatedCase
from evenhand.policy.kernels import events as entering
from evenhand.problem.features import encode, encode_all
from tests.rows import for_each
from tests.states import equal, same_bits

START = 1_900_000_000 * 10**6  # microseconds since 1970


@cache
def shop(total=60.0):
    """A policy that plans, with a budget that is used up, and a cost that is only known for certain afterwards."""
    problem = eh.Problem(
        actions=("none", "letter", "gift"),
        features=(eh.Numeric("age", 20, 60), eh.Categorical("way", ("web", "phone", "shop"), other="web")),
        outcomes=(
            eh.Outcome("answer"),
            eh.Outcome("cents", high=3.0, fallback=1.0),
            eh.Outcome("stamps", known={"letter": 1}),
        ),
        maximize="answer",
        subject_to=(eh.Budget("cents", total=total, hard=True), eh.Budget("stamps", total=total / 2)),
        horizon=400,
    )
    return eh.resolving(problem, eh.PerAction.of(problem))


@cache
def fair():
    """Two plays of a list, estimated shares of groups, and prices that move at every outcome."""
    problem = eh.Problem(
        actions=("a", "b", "c", "d"),
        features=(eh.Numeric("age", 20, 60),),
        groups=(eh.Groups("town", ("north", "south")),),
        outcomes=(eh.Outcome("gain"), eh.Outcome("ride", known={"a": 1, "c": 1})),
        maximize="gain",
        subject_to=(eh.Budget("ride", total=150.0), eh.Parity("ride", by="town", tolerance=0.1)),
        horizon=400,
        n_plays=2,
    )
    return eh.pgd(problem, eh.models.Ridge(n_features=4 * problem.n_features), step=0.05)


class Log:
    """A campaign in which anything happens."""

    def __init__(self, policy, seed, rounds=230):
        self.clock, self.luck, self.policy = [START], random.Random(seed), policy
        self.store, self.waits, self.settled = MemoryStore(now=lambda: self.clock[0]), list[int](), list[int]()
        self.campaign = Campaign.open(self.store, "one", policy, seed=seed, patience=50.0, on_expiry="fallback")
        for number in range(rounds):
            self.step(number)

    def step(self, number):
        luck, campaign = self.luck, self.campaign
        self.clock[0] += luck.randrange(2_000_000)
        case = {"age": luck.uniform(10.0, 70.0)}
        case |= {"way": luck.choice(("web", "phone", "fax"))} if len(self.policy.problem.features) > 1 else {}
        case |= {"town": luck.choice(("north", "north", "south"))} if self.policy.problem.groups else {}
        offered = self.policy.problem.actions[:-1] if luck.random() < 0.05 else None
        said = campaign.decide(case, f"key {number}", offered=offered)
        if said.action is not None:
            self.waits.append(said.id)
        while self.waits and luck.random() < 0.6:
            ref = self.waits.pop(luck.randrange(len(self.waits)))
            try:
                if luck.random() < 0.05:
                    campaign.cancel(ref)
                else:
                    campaign.observe(ref, self.outcomes())
                    self.settled.append(ref)
            except EvenhandError:  # it expired
                pass
        if self.settled and luck.random() < 0.03:
            campaign.observe(luck.choice(self.settled), self.outcomes(), revise=True)

    def outcomes(self):
        names = self.policy.problem.observed
        each = [{name: round(self.luck.random(), 2) for name in names} for _ in range(self.policy.problem.n_plays)]
        if self.luck.random() < 0.1:
            each[-1] = None if len(each) > 1 else {**each[0], names[0]: None if len(names) > 1 else 1}
        return each if len(each) > 1 else each[0]

    def folds(self, events=None):
        """The fold of single events, and that of runs."""
        folding, events = self.campaign._worker.folding, list(self.campaign.events()) if events is None else events
        single, runs, found = folding.fresh(), folding.fresh(), folding.survey(self.campaign.events())
        for fold in (single, runs):
            fold.known = max((mark.known for mark in found.marks), default=0)
            fold.corrected = found.corrected(fold.known, 0)
        return single, runs, partial(single.fold, events), partial(fold_runs, runs, events, 10**6)


@pytest.fixture(params=["shop", pytest.param("fair", marks=pytest.mark.slow)])
def policy(request):
    return {"shop": shop, "fair": fair}[request.param]()


def same(one, other):
    # tokens of receipts are drawn by chance, and decide nothing
    assert one.state.receipts.base == other.state.receipts.base
    np.testing.assert_array_equal(one.state.receipts.waiting(), other.state.receipts.waiting())
    one.state.receipts = other.state.receipts
    equal(one.state, other.state)
    assert (one.seq, one.reach, one.first) == (other.seq, other.reach, other.first)
    assert list(one.pending) == list(other.pending)
    for ref in one.pending:
        assert (one.pending.due(ref), one.pending.fate(ref)) == (other.pending.due(ref), other.pending.fate(ref))
        for z, y in zip(one.pending.decision(ref, ())[1:14], other.pending.decision(ref, ())[1:14], strict=True):
            same_bits(z, y)


@for_each("seed", range(4))
def test_runs_leave_the_state_of_single_events(policy, seed, entered, monkeypatch):
    monkeypatch.setattr("evenhand.live.fold.runs._FEW", 3)
    single, runs, fold, fold_all = Log(policy, seed).folds()
    plans, plan = [], entering.StepEntry._plan
    monkeypatch.setattr(entering.StepEntry, "_plan", lambda *told: plans.append(plan(*told)))
    fold()
    fold_all()
    same(single, runs)
    assert sum(entered) > 0.7 * single.seq
    assert len(plans) < 100  # of 230 decisions; stale views would plan at each


@pytest.mark.slow
def test_observations_for_which_arrays_grow_are_entered_by_python(entered, monkeypatch):
    """An action has room for 256 observations at first."""
    monkeypatch.setattr("evenhand.live.fold.runs._FEW", 3)
    problem = eh.Problem(
        actions=("none", "letter"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(eh.Outcome("answer"), eh.Outcome("stamps", known={"letter": 1})),
        maximize="answer",
        subject_to=(eh.Budget("stamps", total=600.0),),
        horizon=900,
    )
    policy = eh.resolving(problem, eh.PerAction.of(problem, eh.models.BayesianLogistic))
    single, runs, fold, fold_all = Log(policy, 8, 700).folds()
    fold()
    assert single.state.model.past.y.shape[1] > 256
    fold_all()
    same(single, runs)
    assert sum(entered) > 0.7 * single.seq


def test_what_waits_can_be_settled_afterwards(policy):
    log = Log(policy, 5)
    single, runs, fold, fold_all = log.folds()
    fold()
    fold_all()
    for each in (single, runs):
        for ref in list(each.pending):
            policy.cancel(each.state, each.pending.decision(ref, ()))
    same(single, runs)


@pytest.mark.parametrize("text", ['{"y": 1', "[1]", '{"y":{"answer":7,"cents":0}}', '{"y":{"answer":1}}'])
def test_a_wrong_event_is_refused_where_single_events_refuse_it(text, monkeypatch):
    monkeypatch.setattr("evenhand.live.fold.runs._FEW", 3)
    log = Log(shop(), 6)
    events = list(log.campaign.events())
    at = next(i for i, e in enumerate(events) if i > 200 and e.kind == "observed")
    events[at] = events[at]._replace(body=text)
    single, runs, fold, fold_all = log.folds(events)
    with pytest.raises(EvenhandError) as one:
        fold()
    with pytest.raises(type(one.value)) as found:
        fold_all()
    assert str(found.value) == str(one.value)
    assert single.seq == runs.seq == at
    same(single, runs)


def test_a_damaged_outcome_is_refused_where_it_was_corrected_before(monkeypatch):
    monkeypatch.setattr("evenhand.live.fold.runs._FEW", 3)
    log = Log(shop(), 6)
    events = list(log.campaign.events())
    at = next(i for i, e in enumerate(events) if i > 200 and e.kind == "observed")
    ref, answer = events[at].ref, read(events[at])["y"]
    events[at] = events[at]._replace(body='{"y": 1')
    single, runs, fold, fold_all = log.folds(events)
    for each, way in ((single, fold), (runs, fold_all)):
        each.corrected = {**each.corrected, ref: answer}
        with pytest.raises(EvenhandError, match=f"event {at + 1}"):
            way()
        assert each.seq == at


@pytest.mark.parametrize("flag", ["f", "r"])
def test_a_decision_without_one_of_its_flags_is_refused(flag, monkeypatch):
    monkeypatch.setattr("evenhand.live.fold.runs._FEW", 3)
    log = Log(shop(), 6)
    events = list(log.campaign.events())
    at = next(i for i, e in enumerate(events) if i > 200 and e.kind == "decided")
    events[at] = events[at]._replace(body=re.sub(f'"{flag}":[01]', f'"{flag}":null', events[at].body))
    single, runs, fold, fold_all = log.folds(events)
    for each, way in ((single, fold), (runs, fold_all)):
        with pytest.raises(TypeError):
            way()
        assert each.seq == at


class _Partly(Log):
    """A campaign that never observes the first of its outcomes."""

    def outcomes(self):
        return {self.policy.problem.observed[0]: None, "cents": 0.1}


@pytest.mark.parametrize("space", ["", " "])
def test_events_that_are_seldom_plain_are_folded_one_by_one(space, entered):
    log = _Partly(shop(6000.0), 3)
    events = [e._replace(body=e.body.replace(":null", f":{space}null")) for e in log.campaign.events()]
    single, runs, fold, fold_all = log.folds(events)
    fold()
    fold_all()
    same(single, runs)
    assert not entered


def test_few_events_are_folded_one_by_one(entered):
    _, fold, _, _ = (log := Log(shop(), 7)).folds()
    fold_runs(fold, log.campaign.events(), 40)
    assert fold.seq > 300
    assert not entered


def test_many_cases_are_encoded_as_one_by_one():
    encode, problem = shop()._assembly.encoder, shop().problem
    ages, ways = [10, 20.0, 33.3, np.float64(59.9), 1, 1e9, 20 + 1e-13], ["web", "fax", "phone", "shop", 3]
    cases = [{"age": age, "way": ways[i % 5]} for i, age in enumerate(ages)]
    for some in (cases, [case for case in cases if type(case["age"]) is float]):
        many, each = encode.stacked(some), [encode.one(StatedCase(case)) for case in some]
        for field in ("features", "known", "groups", "offered"):
            np.testing.assert_array_equal(getattr(many, field), np.concatenate([getattr(c, field) for c in each]))
    for case in (
        {"age": 33.0},
        {"age": np.nan, "way": "web"},
        {"age": 33.0, "way": None},
        {"age": 3.0, "way": "", "b": 1},
    ):
        with pytest.raises(InvalidInput) as one:
            encode.one(StatedCase(case))
        with pytest.raises(InvalidInput) as found:
            encode.stacked([cases[0], case])
        assert str(found.value) == str(one.value)
    assert problem.n_features == many.features.shape[2] - 1


@pytest.mark.parametrize(
    ("low", "high"), [(2**53 + 1, 2**54), (0, 2**70), (-(2**53) - 1, 7), (0.1, 0.3), (20, 60), (-1e308, 7e307)]
)
def test_many_numbers_have_the_bits_of_single_ones(low, high):
    feature = eh.Numeric("x", low, high)
    values = [0.0, -0.0, 1e30, -1e30, float(low), float(high), 0.3 * low + 0.7 * high, 5e-324]
    with np.errstate(all="raise", under="ignore"):
        many = encode_all((feature,), (1,), [values], len(values))
    for value, found in zip(values, many, strict=True):
        assert encode((feature,), (1,), [value]).tobytes() == found.tobytes()


def test_kernels_that_cannot_be_compiled_leave_it_to_python_once_and_for_all(monkeypatch):
    calls = []

    def fails(*_):
        calls.append(1)
        raise NumbaError("no such type")

    monkeypatch.setattr(entering, "_enter", _Failing(fails))
    monkeypatch.setattr(entering, "_loaded", set())
    monkeypatch.setattr(entering, "_failed", set())
    log = Log(shop(), 8)
    single, runs, fold, _ = log.folds()
    events = list(log.campaign.events())
    fold()
    with pytest.warns(EvenhandWarning, match="no such type"):
        fold_runs(runs, events[:200], 10**6)
    for first in range(200, len(events), 100):
        fold_runs(runs, events[first : first + 100], 10**6)
    same(single, runs)
    assert calls == [1]


class _Failing:
    def __init__(self, call):
        self.code = call
