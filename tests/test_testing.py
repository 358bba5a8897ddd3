"""The shipped contract checks catch parts that break their promises: one broken part per promise."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from evenhand import recipes
from evenhand.choices import Pick, Random, TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Worth
from evenhand.environments import Arrival, Court
from evenhand.goals import DualGradient, Steady
from evenhand.goals.hard_budget import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import NullModel, Ridge
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Floor, Within, constraint_rows
from evenhand.problem.rows import Rows
from evenhand.sets import Ball, Box, Intersection
from evenhand.testing import check_choice, check_constraint, check_environment, check_goal, check_model, check_policy
from tests.examples.problems import COURT, EVERYTHING

INNER = Ridge(n_features=3)
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Model:
    """Ridge whose bonus is luck, with one fault."""

    fault: str = ""
    n_features: int = 3
    n_outcomes: int = 1

    def start(self, replicas, low, high, horizon):
        return INNER.start(replicas, low, high, horizon)

    def draws(self, candidates):
        return 0 if self.fault == "has no luck to be random with" else 1

    def value(self, state, x, w, u):
        if self.fault == "prices all by the first":
            w = w[:, :, :1].copy()
        mean, bonus, random, *_ = INNER.value(state, x, w, u)
        if u.shape[1]:
            bonus, random = bonus + u[:, :, None] - 0.5, True
        if self.fault == "denies its luck":
            random = False
        if self.fault in ("random without luck", "has no luck to be random with"):
            random = True
        if self.fault == "has luck of its own":
            bonus = bonus + RNG.normal()
        if self.fault == "lucky mean" and u.shape[1]:
            mean = mean + u[:, :, None]
        if self.fault == "compares candidates":
            mean = mean - mean.max(2, keepdims=True)
        if self.fault == "value moves the state":
            state.count += 1
        if self.fault == "mixes replicas":
            mean = mean + 1e-15 * mean.mean(0)
        if self.fault == "depends on the place in the batch":
            mean = mean + 0.1 * np.arange(len(mean))[:, None, None]
        if self.fault == "nan":
            mean[0] = np.nan
        if self.fault == "wrong shape":
            mean = mean[:, 0]
        return Worth(mean, bonus, random)

    def update(self, state, x, y, seen, w, lesson=None):
        if self.fault == "learns what was not seen":
            seen = np.ones_like(seen)
        INNER.update(state, x, y, seen, w)


MODEL_FAULTS = {
    "value moves the state": "`value` leaves the state as it is",
    "mixes replicas": "in a batch has the values that it has alone",
    "depends on the place in the batch": "in a batch has the values that it has alone",
    "nan": "the mean is finite",
    "wrong shape": "the mean has shape",
    "learns what was not seen": "what was not seen leaves no trace in a model",
    "prices all by the first": "a candidate is valued at its own prices",
    "compares candidates": "a candidate is valued at its own prices|a candidate is valued alike among others and alone",
    "denies its luck": "what is not `random` does not depend on luck",
    "random without luck": "without luck on offer nothing is `random`",
    "has no luck to be random with": "`random` needs `draws`",
    "has luck of its own": "the same luck gives the same bonus",
    "lucky mean": "the mean does not depend on luck",
}


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_a_faulty_model_is_caught(fault):
    check_model(Model())
    with pytest.raises(AssertionError, match=MODEL_FAULTS[fault]):
        check_model(Model(fault))


ROWS, BOUND = constraint_rows(EVERYTHING)
DUAL, HARD = DualGradient(rows=ROWS, bound=BOUND, step=Steady(0.1)), hard_budget(EVERYTHING)


class SkewedRows:
    """Rows whose pull forgets the known outcomes."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self):
        return len(self._rows)

    def post(self, frame, shares, y, z):
        return self._rows.post(frame, shares, y, z)

    def pull(self, frame, shares, q):
        prices, offset = self._rows.pull(frame, shares, q)
        return prices, 0.999 * offset


@dataclass(frozen=True)
class Goal:
    """A dual goal, with one fault."""

    fault: str = ""

    @property
    def rows(self) -> Any:
        return SkewedRows(ROWS) if self.fault == "no adjoint" else ROWS

    def start(self, replicas):
        return DUAL.start(replicas)

    def price(self, state):
        q, o = DUAL.price(state)
        if self.fault == "price moves the state":
            state.price *= 0.5
        if self.fault == "matrix product":
            o = o + 1e-15 * q.mean()
        if self.fault == "infinite":
            o = o + np.inf
        if self.fault == "wrong shape":
            q = q[:, 0]
        return q, o

    def on_decision(self, state, decision, estimate):
        if self.fault == "acts on rounds of 0":
            state.price += 0.1

    def on_outcome(self, state, decision, rounds, v):
        DUAL.on_outcome(state, decision, np.ones_like(rounds) if self.fault == "learns from rounds of 0" else rounds, v)


@dataclass(frozen=True)
class Limit:
    """A hard budget, with one fault."""

    fault: str = ""
    rows: Any = field(default_factory=lambda: HARD.rows)

    def start(self, replicas):
        return HARD.start(replicas)

    def room(self, state, frame):
        worst, left = HARD.room(state, frame)
        if self.fault == "room moves the state":
            state.taken[0] += 0.1
        if self.fault == "mixes replicas":
            left = np.broadcast_to(left.min(0), left.shape)
        if self.fault == "one room":
            left = left[:, 0]
        return worst, left

    def fits(self, state, decision):
        fits = HARD.fits(state, decision)
        return ~fits if self.fault == "fits what does not" else fits

    def over(self, state):
        return HARD.over(state) | (self.fault == "over too soon")

    def on_decision(self, state, decision, estimate):
        HARD.on_decision(state, decision, estimate)

    def on_outcome(self, state, decision, rounds, v):
        HARD.on_outcome(state, decision, rounds, v)
        if self.fault == "settles rounds of 0":
            state.taken[0] += 0.5


GOAL_FAULTS = {
    "no adjoint": "`pull` is the adjoint of `post`",
    "price moves the state": "`price`, `room` and `fits` leave the state as it is",
    "matrix product": "in a batch has the readings that it has alone",
    "infinite": "prices are finite",
    "wrong shape": "prices have shapes",
    "acts on rounds of 0": "entries with counted = 0 leave no trace in a goal",
    "learns from rounds of 0": "entries with counted = 0 leave no trace in a goal",
}
LIMIT_FAULTS = {
    "over too soon": "where a limit is over, nothing fits",
    "one room": "room has shapes",
    "fits what does not": "plays fit together where the sum of their worst cases is left",
    "room moves the state": "`price`, `room` and `fits` leave the state as it is",
    "mixes replicas": "plays fit together where the sum|in a batch has the readings that it has alone",
    "settles rounds of 0": "entries with counted = 0 leave no trace in a goal",
}


@pytest.mark.parametrize("fault", GOAL_FAULTS)
def test_a_faulty_goal_is_caught(fault):
    check_goal(Goal(), EVERYTHING)
    with pytest.raises(AssertionError, match=GOAL_FAULTS[fault]):
        check_goal(Goal(fault), EVERYTHING)


@pytest.mark.parametrize("fault", LIMIT_FAULTS)
def test_a_faulty_limit_is_caught(fault):
    check_goal(Limit(), EVERYTHING)
    with pytest.raises(AssertionError, match=LIMIT_FAULTS[fault]):
        check_goal(Limit(fault), EVERYTHING)


def test_a_goal_that_neither_prices_nor_limits_is_none():
    with pytest.raises(AssertionError, match="a goal prices outcomes"):
        check_goal(object(), EVERYTHING)


@dataclass
class Memory:
    told: np.ndarray


@dataclass(frozen=True)
class Choice:
    """A blind draw or the two best, with one fault."""

    fault: str = ""
    n_plays: int = 1
    reads_bonus: bool = False

    def draws(self, candidates):
        return self.n_plays

    def start(self, replicas):
        return Memory(np.zeros(replicas))

    def pick(self, state, worth, offer, t, u):
        inner = Random(n_plays=self.n_plays)
        if self.fault == "forgets the budget":
            offer = offer._replace(left=offer.left + 9.0)
        if self.fault == "reads the bonus":
            inner = TopK(1)
        plays, odds, chance, forced = inner.pick(None, worth, offer, t, u)[:4]
        if self.fault == "moves its state":
            state.told += 1
        if self.fault == "writes into the values":
            worth.mean[:] = 0.0
        if self.fault == "plays the masked":
            plays[:, 0] = 0
        if self.fault == "negative":
            chance = chance - 0.01
        if self.fault == "probability on the masked":
            chance = np.full_like(chance, 1 / chance.shape[1])
        if self.fault == "sums to less":
            chance = 0.9 * chance
        if self.fault == "stops early":
            plays[u[:, 0] < 0.2], odds[u[:, 0] < 0.2] = -1, 1.0
        if self.fault == "plays twice":
            plays[:, 1] = plays[:, 0]
        if self.fault == "biased":
            plays = np.where(offer.playable[:, :1], 0, plays)
            odds = np.where(plays >= 0, np.take_along_axis(chance, np.maximum(plays, 0), 1), 1.0)
        if self.fault == "biased later":
            odds[:, 1:] = np.where(plays[:, 1:] >= 0, 1.0, odds[:, 1:])
        if self.fault == "another propensity":
            odds = np.where(plays >= 0, 0.9 * odds, odds)
        if self.fault == "propensity of 0":
            odds = 0.0 * odds
        if self.fault == "unsure of nothing":
            odds = np.where(plays >= 0, odds, 0.5)
        if self.fault == "mixes replicas":
            plays, odds, chance, *_ = inner.pick(None, worth, offer, t, u[::-1])
        if self.fault == "half forced":
            forced = forced - 0.5
        if self.fault == "one play too many":
            plays = np.concatenate([plays, np.full_like(plays, -1)], 1)
        if self.fault == "leaves room":
            plays[:, 1] = -1
            odds[:, 1] = 1.0
        if self.fault == "starts late":
            plays = plays[:, ::-1]
        return Pick(plays, odds, chance, forced)


CHOICE_FAULTS = {
    "moves its state": "`pick` leaves the state as it is",
    "writes into the values": "`pick` leaves what it is handed as it is",
    "plays the masked": "the first play is made wherever|what is played is playable",
    "negative": "chances are never negative",
    "probability on the masked": "what is not playable has no chance",
    "sums to less": "chances sum to 1",
    "stops early": "the first play is made wherever anything is playable",
    "biased": "candidate 0 comes first with the stated 0.3333, not 1.0000",
    "another propensity": "the propensity of the first play is its chance",
    "propensity of 0": "propensities are above 0",
    "unsure of nothing": "where nothing can be played, that is certain",
    "mixes replicas": "a replica has the same plays in a batch and alone",
    "reads the bonus": "has the same plays whatever the bonus",
    "half forced": "`forced` is 0 or 1",
    "one play too many": "plays have shape",
}


@pytest.mark.parametrize("fault", CHOICE_FAULTS)
def test_a_faulty_choice_is_caught(fault):
    check_choice(Choice())
    with pytest.raises(AssertionError, match=CHOICE_FAULTS[fault]):
        check_choice(Choice(fault))


class Strict:
    """The first that is playable, looked up without asking whether there is one."""

    n_plays, reads_bonus = 1, False

    def draws(self, candidates):
        return 0

    def start(self, n_replicas):
        return None

    def pick(self, state, worth, offer, t, u):
        first = np.array([np.flatnonzero(one)[0] for one in offer.playable])
        lottery = np.eye(offer.playable.shape[1])[first]
        return Pick(first[:, None], np.ones((len(t), 1)), lottery, np.zeros(len(t)))


def test_an_error_of_a_choice_names_the_offer_on_which_it_was_raised():
    """An IndexError of code in a batch of 64 rounds says nothing of where nothing could be played."""
    with pytest.raises(
        AssertionError, match=r"^`pick` answers where none of 4 candidates is playable, .*IndexError: ind"
    ):
        check_choice(Strict())


CHOICE_FAULTS_OF_TWO = {
    "plays twice": "no candidate is played twice",
    "biased later": r"a list of plays begins with \[0, 2\] with the stated 0\.3333",
    "leaves room": "a place stays empty only where nothing fits",
    "starts late": "empty places come after",
    "forgets the budget": "plays fit together",
}


@pytest.mark.parametrize("fault", CHOICE_FAULTS_OF_TWO)
def test_a_faulty_choice_of_two_is_caught(fault):
    check_choice(Choice(n_plays=2))
    with pytest.raises(AssertionError, match=CHOICE_FAULTS_OF_TWO[fault]):
        check_choice(Choice(fault, n_plays=2))


@dataclass(frozen=True)
class World:
    """A court, with one fault."""

    fault: str = ""
    n_features: int = 5

    @property
    def problem(self):
        return COURT.problem

    def start(self, seed, replicas):
        return _FaultyWorld(self.fault, COURT.start(seed, replicas), len(replicas))


class _FaultyWorld:
    steps, counts_idle_steps = 30, True

    def __init__(self, fault, inner, replicas):
        self._fault, self._inner, self._replicas, self._calls = fault, inner, replicas, 0
        self._answered = 0

    def context(self, step):
        self._calls += 1
        context = self._inner.context(self._calls - 1 if self._fault == "counts its calls" else step)
        if self._fault == "context by place":
            context = context._replace(features=context.features + np.arange(self._replicas)[:, None, None])
        if self._fault == "nan":
            context = context._replace(features=context.features * np.nan)
        if self._fault == "strange group":
            context = context._replace(groups=context.groups + 1)
        return context

    def respond(self, step, context, decision):
        taken, ((when, _, y, _, _),) = self._inner.respond(step, context, decision)
        if self._fault == "luck by place":
            y = np.where(np.arange(self._replicas)[:, None, None] % 2 == 0, y, 1.0 - y)
        if self._fault == "counts its answers":
            self._answered += 1
            y = y if self._answered % 2 else 1.0 - y
        if self._fault == "outcome out of range":
            y = y + 0.5
        if self._fault == "answers a batch only":
            return taken, [] if self._replicas == 1 else [Arrival(when, taken, y)]
        if self._fault == "changes the play":
            taken = taken._replace(plays=np.zeros_like(taken.plays))
        if self._fault == "counts what was not played":
            taken = taken._replace(counted=taken.counted + 1)
        return taken, [Arrival(when, taken, y)]

    def expected(self, context, plays):
        mean = self._inner.expected(context, plays)
        return mean[..., 0] if self._fault == "expects too little" else mean


WORLD_FAULTS = {
    "counts its calls": "a context is a pure function of",
    "context by place": "a context does not depend on the batch",
    "nan": r"context\.features\[0, 0, 0\]: expected a finite number",
    "strange group": r"context\.groups\[\d, \d, 0\]: expected columns \[0, 1\] of 'group'",
    "luck by place": "outcomes do not depend on the batch",
    "counts its answers": "what follows from a decision does not depend on earlier steps",
    "outcome out of range": "outcome 'appears' of replica 0",
    "answers a batch only": "outcomes arrive alike in a batch and alone",
    "changes the play": "a world takes the plays of a decision as they are",
    "counts what was not played": r"decision\.counted\[0\]: expected 0 or 1, and 0 where nothing is played, got 2",
    "expects too little": r"outcomes: expected shape \(3, 1, 1\), a column for each of \('appears',\), got \(3, 1\)",
}


@pytest.mark.parametrize("fault", WORLD_FAULTS)
def test_a_faulty_environment_is_caught(fault):
    check_environment(World())
    with pytest.raises((AssertionError, InvalidInput), match=WORLD_FAULTS[fault]):
        check_environment(World(fault))


def _policy(model=None, choice=None):
    problem = COURT.problem
    return Policy(
        problem=problem,
        model=model or Ridge(n_features=5),
        goals=(reward(problem), hard_budget(problem)),
        choice=choice or Random(),
    )


@dataclass
class Diary:
    notes: Any


@dataclass(frozen=True)
class Forgetful:
    """A model that keeps what it learns where saving does not look: in a dictionary."""

    n_features: int = 5
    n_outcomes: int = 1

    def start(self, replicas, low, high, horizon):
        return Diary({"total": np.zeros(replicas)})

    def draws(self, candidates):
        return 0

    def value(self, state, x, w, u):
        mean = w[:, :, 0, :1] * (state.notes["total"][:, None, None] + x.sum(2)[:, None, :])
        return Worth(mean, 0.0 * mean)

    def update(self, state, x, y, seen, w, lesson=None):
        state.notes["total"] = state.notes["total"] + y[:, 0, 0]


@dataclass(frozen=True)
class Peeking:
    """A choice whose probabilities depend on the whole batch."""

    n_plays: int = 1
    reads_bonus: bool = True

    def draws(self, candidates):
        return 1

    def start(self, replicas):
        return None

    def pick(self, state, worth, offer, t, u):
        mean = worth.mean + 0.5 * (np.arange(3) == 2) * (len(worth.mean) > 1)
        return TopK(1).pick(state, worth._replace(mean=mean), offer, t, u)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (_policy(Forgetful()), "a state holds arrays and numbers"),
        (_policy(choice=Peeking()), "replica 0 acts as it does alone"),
        (_policy(NullModel(n_features=5), choice=Choice("propensity of 0")), "propensities are above 0"),
    ],
    ids=["state in a dictionary", "batch", "probabilities"],
)
def test_a_faulty_policy_is_caught(policy, message):
    check_policy(_policy(), Court(horizon=100))
    with pytest.raises(AssertionError, match=message):
        check_policy(policy, Court(horizon=100))


@dataclass(frozen=True)
class Letters:
    """At most 0.2 letters per round; with one fault."""

    fault: str = ""
    label: str = "letters"
    hard: Any = None
    spends: bool = False
    worst: str = "high"

    def rows(self, problem):
        if self.fault == "names only":
            return ("letters",)
        m, sign = len(problem.learned), -1.0 if self.fault == "wrong side" else 1.0
        weights = sign * np.array([[float(name == "letters") for name in problem.names]])
        return Rows.plain(["letters"], weights[:, :m], weights[:, :1] if self.fault == "narrow" else weights[:, m:])

    def bound(self, problem):
        return np.zeros(2) if self.fault == "two bounds" else np.array([0.2])

    def limit(self, horizon):
        if self.fault == "no limit":
            return None
        return 0.3 if self.fault == "lenient" else 0.1 if self.fault == "strict" else 0.2

    def total_over(self, horizon):
        return 0.2 if self.spends else 0.2 * horizon

    def measure(self, run):
        if self.fault == "0 / 0":
            with np.errstate(invalid="ignore"):
                return run.totals[:, :, run.problem.names.index("letters")] / run.elapsed
        average = run.totals[:, :, run.problem.names.index("letters")] / np.maximum(run.elapsed, 1.0)
        if self.fault == "means":
            return average.mean(1)
        return average + 1e-15 * average.mean() if self.fault == "mixes replicas" else average


@pytest.mark.parametrize(
    ("constraint", "promise"),
    [
        (Letters("names only"), "`rows` returns Rows, not tuple"),
        (Letters("narrow"), "weights of known outcomes have shape"),
        (Letters("two bounds"), "the bound is a finite number for each of 1 rows"),
        (Letters("wrong side"), "where all rows are within their bounds, the measure is within its limit"),
        (Letters("strict"), "where all rows are within their bounds, the measure is within its limit"),
        (Letters("lenient"), "where a row is over its bound, the measure is past its limit"),
        (Letters(worst="low"), "where a row is over its bound, the measure is past its limit"),
        (Letters("0 / 0"), "measures are finite, also before the first round"),
        (Letters("means"), "measures have shape"),
        (Letters("mixes replicas"), "a replica is measured alike in a batch and alone"),
        (Letters("no limit"), "the limit and the total are finite numbers, not None and"),
        (Letters(label=""), "the label is a text"),
        (Letters(worst="most"), "`worst` is 'low' or 'high', not 'most'"),
        (Letters(hard="yes"), "`hard` is True, False or None, not 'yes'"),
        (Letters(hard=True), "what is hard spends"),
        (Letters(spends=True), "the total of what is spent is the limit times the horizon"),
    ],
    ids=repr,
)
def test_a_faulty_constraint_is_caught(constraint, promise):
    check_constraint(Letters(), EVERYTHING, rounds=0)
    with pytest.raises(AssertionError, match=promise):
        check_constraint(constraint, EVERYTHING, rounds=0)


DISC = Within(("gain", "hours"), Intersection((Ball((0.2, 0.2), 0.3), Box((0.0, 0.0), (1.0, 0.4)))))


@dataclass(frozen=True)
class RowsOnly:
    """The rows of a constraint, without its set."""

    inner: Any

    def __getattr__(self, name):
        if name in ("inner", "outcomes", "within", "curved", "tightened"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def forgets_kinds(problem, model):
    """As by a question for the classes that it knows; a recipe that reads no constraint at all may drop this one."""
    known = tuple(c for c in problem.subject_to if not isinstance(c, Letters | Within))
    return recipes.fw_dual(replace(problem, subject_to=known), model)


def forgets_sets(problem, model):
    return recipes.resolving(replace(problem, subject_to=tuple(map(RowsOnly, problem.subject_to))), model)


def stumbles(problem, model):
    return recipes.ucb(problem, model) if not problem.subject_to else problem.subject_to[1]


@pytest.mark.parametrize(
    ("recipe", "constraint", "promise"),
    [
        (forgets_kinds, Letters(), "keeps a constraint or refuses it, but drops rows of letters"),
        (forgets_kinds, DISC, "keeps a constraint or refuses it, but drops"),
        (forgets_sets, DISC, "keeps a constraint or refuses it, but drops a set of distance of gain, hours from Inter"),
        (stumbles, Letters(), "refuses with a sentence, not by IndexError: tuple index out of range"),
    ],
)
def test_a_recipe_that_drops_a_constraint_is_caught(monkeypatch, recipe, constraint, promise):
    monkeypatch.setattr(recipes, "__all__", ["pgd", "ucb", "lin_cbwk"])
    check_constraint(constraint, EVERYTHING)
    monkeypatch.setattr(recipes, "__all__", [recipe.__name__])
    monkeypatch.setattr(recipes, recipe.__name__, recipe, raising=False)
    with pytest.raises(AssertionError, match=f"^{recipe.__name__} {promise}"):
        check_constraint(constraint, EVERYTHING)


@pytest.mark.parametrize(
    "constraint",
    [
        *EVERYTHING.subject_to,
        Floor("gain", rate=0.5),
        Floor("hours", rate=0.3, by="age"),
        Within(("gain", "hours"), Box((0.2, 0.2), (0.6, 0.6))),
        Within(("gain", "hours"), Ball((0.2, 0.2), 0.3)),
    ],
    ids=repr,
)
def test_shipped_constraints_keep_their_contract(constraint):
    check_constraint(constraint, EVERYTHING)


class Half:
    """A part with one member of each contract, and without the others."""

    n_features = n_plays = 1
    problem, label = EVERYTHING, "half"


@pytest.mark.parametrize(
    ("check", "missing"),
    [
        (check_choice, "Half has all members of `Choice`, unlike reads_bonus, draws, start, pick"),
        (check_model, "Half has all members of `Model`, unlike n_outcomes, draws, start, value, update"),
        (check_environment, "Half has all members of `Environment`, unlike start"),
        (
            lambda half: check_constraint(half, EVERYTHING, rounds=0),
            "members of `Constraint`, unlike hard, spends, worst, rows",
        ),
    ],
)
def test_what_a_part_lacks_is_named(check, missing):
    with pytest.raises(AssertionError, match=missing):
        check(Half())


@dataclass(frozen=True)
class Wrong:
    """A choice, a model or a world whose one method returns something else than the contract asks for."""

    inner: Any
    method: str
    changed: Any

    def __getattr__(self, name):
        if name in ("inner", "method", "changed"):
            raise AttributeError(name)
        member = getattr(self.inner, name)
        if name == "start" and isinstance(self.inner, Court):
            return lambda seed, replicas: Wrong(member(seed, replicas), self.method, self.changed)
        return (lambda *args: self.changed(member(*args))) if name == self.method else member


@pytest.mark.parametrize(
    ("check", "part", "promise"),
    [
        (check_choice, Wrong(TopK(1), "pick", tuple), "what `pick` returns is of type Pick, not tuple"),
        (
            check_choice,
            Wrong(TopK(1), "pick", lambda p: p._replace(forced=None)),
            "`forced` of what `pick` returns is an",
        ),
        (
            check_choice,
            Wrong(TopK(1), "pick", lambda p: p._replace(plays=p.plays * 1.0)),
            "plays are whole numbers, not f",
        ),
        (check_choice, Wrong(TopK(1), "draws", lambda n: None), "draws is a whole number of at least 0, not None"),
        (check_model, Wrong(INNER, "value", tuple), "what `value` returns is of type Worth, not tuple"),
        (
            check_model,
            Wrong(INNER, "value", lambda w: w._replace(bonus=None)),
            "`bonus` of what `value` returns is an array",
        ),
        (check_model, Wrong(INNER, "draws", lambda n: 0.5), "draws is a whole number of at least 0, not 0.5"),
        (check_environment, Wrong(Court(), "context", tuple), "a context is of type Context, not tuple"),
        (check_environment, Wrong(Court(), "respond", lambda r: r[1]), "`respond` returns a decision and its arrivals"),
        (
            check_environment,
            Wrong(Court(), "respond", lambda r: (r[0], [r[1][0].y])),
            "an arrival is of type Arrival, not",
        ),
    ],
)
def test_what_a_part_returns_is_of_the_type_that_its_contract_says(check, part, promise):
    with pytest.raises(AssertionError, match=promise):
        check(part)
