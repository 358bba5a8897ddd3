"""Rounds in blocks are those of the ordinary loop, bit for bit; `test_blocks_compiled.py` compiles them."""

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from benchmarks.drawn import own_coefficients
from evenhand.choices import Rate, Staged, TopK
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.views import view_of
from evenhand.environments import Court, Logged
from evenhand.environments.logged import blocks as blocks_of_actions
from evenhand.models import Fixed, NullModel, PerAction, Ridge
from evenhand.policy.kernels.views import views
from evenhand.policy.state import Receipts
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.recipes import lin_cbwk, pgd, square_cbwk, ucb, uniform
from evenhand.run import Checkpoints, blocks, simulate
from evenhand.run.recorder import Recorder, empty
from evenhand.run.simulation import _run, _Task
from evenhand.testing import check_compiled
from tests.core.test_kernel_cache import apart
from tests.examples.recipes import RECIPES
from tests.rows import for_each
from tests.run.interpreter import check_interpreted
from tests.run.test_checkpoints import cut_short, same

LINUCB = own_coefficients(200, 5, 4)
OWN = PerAction(inner=Ridge(n_features=4, width=Fixed(0.5)), actions=5)
COURT = Court(horizon=300, ride=0.01, voucher=0.05)  # budgets that are used up
RIDGE = Ridge(n_features=5, width=Fixed(0.1))


@pytest.mark.parametrize(
    "policy",
    [
        uniform(COURT.problem, 5),
        pgd(COURT.problem, RIDGE, warmup=20, hard=True),
        lin_cbwk(COURT.problem, RIDGE),
        square_cbwk(COURT.problem, RIDGE, rate=Rate(30.0, 0.5)),
    ],
    ids=lambda policy: policy.name,
)
def test_court(policy):
    assert check_interpreted(policy, COURT, rounds=300) > 290
    trace = simulate(policy, COURT, replicas=2, progress=False, compiled=False)
    assert (trace.total("ride") <= 3).all()
    assert (trace.total("voucher") <= 15).all()


def test_a_budget_that_gets_something_back():
    """The ordinary loop enters the first decision that gives back; the others follow in blocks."""
    cost = Outcome("cost", known={"arm 1": 1.0, "arm 2": -0.5, "arm 3": 2.0})
    problem = replace(LINUCB.problem, outcomes=(Outcome("gain"), cost), subject_to=(Budget("cost", total=9.0),))
    policy, world = uniform(problem, LINUCB.n_features), replace(LINUCB, problem=problem)
    assert 190 < check_interpreted(policy, world, replicas=1) < 199
    assert check_interpreted(policy, world) > 100
    assert (simulate(policy, world, replicas=3, progress=False, compiled=False).total("cost") <= 9.0).all()


PLACES = Problem(
    actions=("none", "letter"),
    outcomes=(Outcome("visit"), Outcome("mail", known={"letter": 1})),
    maximize="visit",
    subject_to=(Budget("mail", rate=0.3), Parity("mail", by="place", tolerance=0.02)),
    groups=(Groups("place", ("near", "far", "abroad")),),  # whose shares are not known
    horizon=150,
)


def places(rows=500):
    rng = np.random.default_rng(3)
    actions, groups, units = rng.integers(0, 2, rows), rng.integers(0, 3, (rows, 1)), rng.random((rows, 2))
    visits = (rng.random((rows, 1)) < 0.2 + 0.3 * actions[:, None]).astype(float)
    layout, even = blocks_of_actions(2, 2), np.full(rows, 0.5)
    return Logged(
        problem=PLACES, units=units, layout=layout, actions=actions, propensities=even, outcomes=visits, groups=groups
    )


def test_a_log_is_converted_once_for_kernels():
    """As views are made anew after every round that Python does."""
    log = replace(places(), groups=places().groups.astype(np.int32))
    world = log.start(0, np.arange(3))
    first, again = world.view(), world.view()
    assert first.groups.dtype == np.int64
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert np.shares_memory(first.read, world._cases)


# By recipe, the examples whose parts all have views. An example of none of these is run by Python alone.
SEEN = {
    "fw_linucb_rank": [0],
    "fw_rank": [1],
    "linucb_rank": [0],
    "uniform": [0],
    "ucb": [0, 2],
    "lin_cbwk": [0, 1],
    "resolving": [7, 9],
    "pgd": [0],
    "pgd_adaptive": [0, 1],
    "mixed_oracle": [0, 1],
}


def seen(policy, world):
    view = getattr(world.start(5, np.arange(2)), "view", lambda: None)()
    return view is not None and views(policy, policy.start(replicas=2)) is not None


def test_the_list_of_examples_with_views_is_complete():
    found = {name: [i for i, pair in enumerate(pairs) if seen(*pair)] for name, pairs in RECIPES.items()}
    assert {name: places for name, places in found.items() if places} == SEEN


@pytest.mark.parametrize(("name", "place"), [(name, i) for name, places in SEEN.items() for i in places])
def test_examples_of_recipes(name, place):
    policy, world = RECIPES[name][place]
    assert check_interpreted(policy, world) > 10


@dataclass(frozen=True)
class Mine:
    """A choice that has no view."""

    n_plays: int = 1
    reads_bonus: bool = True

    def draws(self, candidates):
        return 1

    def start(self, n_replicas):
        return None

    def pick(self, *arguments):
        return TopK(1).pick(*arguments)


def test_a_part_without_a_view_is_asked_by_python():
    assert check_compiled(replace(ucb(LINUCB.problem, OWN, warmup=0), choice=Mine()), LINUCB) == 0


class Contrary(TopK):
    """A choice that inherits a view which does not say what it does."""

    def pick(self, state, worth, offer, t, u):
        return super().pick(state, worth._replace(mean=-worth.mean), offer, t, u)


class Hearing(TopK):
    """A choice that adds an ability, of which the view that it inherits knows nothing."""

    def on_outcome(self, state, decision, exposed):
        HEARD.append(len(decision.plays))


HEARD = []


class Alike(TopK):
    """A choice that changes nothing."""


def test_a_class_that_changes_what_it_inherits_has_no_view():
    policy = ucb(LINUCB.problem, OWN, warmup=0)
    assert check_compiled(replace(policy, choice=Contrary(1)), LINUCB) == 0
    assert check_compiled(replace(policy, choice=Alike(1)), LINUCB) == 199


@pytest.mark.parametrize("choice", [Hearing(1), Staged(50, Hearing(1))], ids=["alone", "after a warm-up"])
def test_a_choice_that_adds_an_ability_is_asked_by_python(choice):
    HEARD.clear()
    policy = replace(ucb(LINUCB.problem, OWN, warmup=0), choice=choice)
    assert check_compiled(policy, LINUCB) == 0
    rounds = HEARD.copy()
    simulate(policy, LINUCB, replicas=3, progress=False, compiled=True)
    assert len(rounds) > 10
    assert HEARD[len(rounds) :]


class Wider(TopK):
    """A choice that adds a public method which nobody asks yet."""

    def width(self, state):
        return self.n_plays


def test_a_class_that_adds_a_public_method_has_no_view():
    assert view_of(Alike(1), None) is not None
    assert view_of(Wider(1), None) is None


class HearingWithAView(Hearing):
    def view(self, state):
        return TopK(1).view(state)


def test_a_choice_that_hears_has_no_use_for_a_view_of_its_own():
    """As kernels tell choices of no outcome."""
    policy = replace(ucb(LINUCB.problem, OWN, warmup=0), choice=HearingWithAView(1))
    assert views(policy, policy.start(replicas=2)) is None


class WrongView(NamedTuple):
    n_plays: int

    @kernel
    def pick(self, worth, offer, t, u):
        return worth.mean.nonsense


@dataclass(frozen=True)
class Wrong(Mine):
    """A choice with a kernel that cannot be compiled."""

    def view(self, state):
        return WrongView(1)


def test_kernels_that_cannot_be_compiled_are_named_and_python_goes_on():
    policy = ucb(LINUCB.problem, OWN, warmup=0)
    with pytest.warns(EvenhandWarning, match=r"Python does them; see File .*test_blocks\.py"):
        trace = simulate(replace(policy, choice=Wrong()), LINUCB, replicas=2, progress=False, compiled=True)
    same(trace, simulate(policy, LINUCB, replicas=2, progress=False, compiled=False))


class UntypedView(NamedTuple):
    n_plays: int
    what: object  # Numba has no type for it

    @kernel
    def pick(self, worth, offer, t, u):
        return worth


@dataclass(frozen=True)
class Untyped(Mine):
    """A choice with a view that Numba cannot type."""

    def view(self, state):
        return UntypedView(1, object())


@pytest.mark.parametrize("compiled", [None, True])
def test_views_that_cannot_be_typed_are_told_once_and_python_goes_on(compiled):
    policy, alone = ucb(LINUCB.problem, OWN, warmup=0), {"replicas": 20, "progress": False}
    with pytest.warns(
        EvenhandWarning,
        match=r"rounds cannot be compiled, so Python does them: Cannot determine Numba type of .*(object|UntypedView)",
    ) as told:
        trace = simulate(replace(policy, choice=Untyped()), LINUCB, compiled=compiled, **alone)
    assert len(told) == 1
    same(trace, simulate(policy, LINUCB, compiled=False, **alone))


@dataclass
class MovingState:
    seen: np.ndarray  # (R,) updates; Python puts another array here


class MovingView(NamedTuple):
    seen: np.ndarray

    @kernel
    def value(self, x, w):
        shape = len(x), w.shape[1], x.shape[1]
        return np.zeros(shape), np.zeros(shape)

    @kernel
    def update(self, x, y, seen, w):
        for r in range(len(self.seen)):
            self.seen[r] += 1.0

    @kernel
    def pauses(self, t, candidates):
        return t[0] % 7 == 3


@dataclass(frozen=True)
class Moving(NullModel):
    """A model whose state gets another array in the rounds that it leaves to Python."""

    def start(self, n_replicas, low, high, horizon):
        return MovingState(np.zeros(n_replicas))

    def update(self, state, x, y, seen, w, lesson=None):
        state.seen = state.seen + 1.0

    def view(self, state):
        return MovingView(state.seen)


def test_a_part_may_pause_and_then_move_its_arrays():
    policy = uniform(LINUCB.problem, LINUCB.n_features)
    policy = replace(policy, model=Moving(LINUCB.n_features))
    assert 160 < check_interpreted(policy, LINUCB) < 199 - 200 // 7 + 2


def test_a_check_that_fails_raises_what_it_always_raised():
    policy, outcomes = ucb(LINUCB.problem, OWN, warmup=0), LINUCB.outcomes.copy()
    outcomes[100] = 1.5
    told = []
    for compiled in (False, True):
        with pytest.raises(InvalidInput) as error:
            simulate(policy, replace(LINUCB, outcomes=outcomes), replicas=2, progress=False, compiled=compiled)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert "1.5" in told[0]


@pytest.mark.parametrize("replicas", [1, 3])
def test_an_interrupted_run_goes_on(replicas, tmp_path, monkeypatch):
    policy, settings = ucb(LINUCB.problem, OWN, warmup=0), Checkpoints(folder=tmp_path)
    options = {"replicas": replicas, "seed": 4}
    cut_short(monkeypatch, policy, LINUCB, 77, settings, compiled=True, **options)
    found = simulate(policy, LINUCB, progress=False, checkpoints=settings, compiled=True, **options)
    same(found, simulate(policy, LINUCB, progress=False, compiled=False, **options))


def test_progress_is_told_between_blocks():
    policy = ucb(LINUCB.problem, OWN, warmup=0)
    told = []
    _run(_Task(policy, LINUCB, np.arange(1), None, 0, "grid", True), lambda steps: not told.append(steps))
    assert told == [64, 64, 64, 0]


@pytest.mark.slow
def test_processes_share_replicas():
    policy = ucb(LINUCB.problem, OWN, warmup=0)
    shared, alone = (
        simulate(policy, LINUCB, replicas=4, jobs=jobs, progress=False, compiled=jobs == 2) for jobs in (2, 1)
    )
    same(shared, alone)


def test_blocks_are_used_where_they_pay():
    policy = ucb(LINUCB.problem, OWN, warmup=0)
    assert check_compiled(policy, LINUCB, rounds=5) == 4  # they are kept from now on
    state, world = policy.start(), LINUCB.start(0, np.arange(1))
    recorder = Recorder(policy, state, world, empty(policy.problem, 1, 200), False)
    kept = blocks.Blocks(policy, state, world, recorder)
    assert [kept.pays(steps) for steps in (1_999, 2_000, 300_000)] == [False, True, True]
    other = replace(policy, choice=Wrong())
    new = blocks.Blocks(other, state, world, recorder)
    assert [new.pays(steps) for steps in (2_000, 299_999, 300_000)] == [False, False, True]
    without = blocks.Blocks(replace(policy, choice=Mine()), state, world, recorder)
    assert not without.pays(10**6)
    state = policy.start(replicas=150)
    assert blocks.Blocks(other, state, world, recorder).pays(2_000)  # times replicas


@for_each("before", [0, 5, 64])
@for_each("n", [0, 1, 58, 59, 60, 64, 65, 128, 200])
def test_the_book_of_receipts_is_as_after_decisions_that_were_settled(before, n):
    policy, world = uniform(COURT.problem, 5), COURT.start(0, np.arange(1))
    books = Receipts(), Receipts()
    context = world.context(0)
    decision = policy.decide(policy.start(), context)
    for i in range(before + n):
        for book in books if i < before else books[:1]:
            fresh = decision._replace(id=np.full(3, -1))
            book.number(fresh.id, 1)
            book.settle(fresh, 1)
    blocks._skip(books[1], n)
    assert (books[0].base, books[0].count, len(books[0].tokens)) == (
        books[1].base,
        books[1].count,
        len(books[1].tokens),
    )
    assert not books[1].tokens.any()


VIEW = """
from typing import NamedTuple
from evenhand.core.kernel import kernel
from evenhand.core.views import view_of

class View(NamedTuple):
    x: float

    @kernel
    def radius(self, a, b):
        return self.x + {number}
"""
ASKS = """
from evenhand.core.kernel import kernel
import evenhand.core.pointers
from inner import View

@kernel
def ask(view):
    return view.radius(1, 2)

print(ask(View(1.0)), ask.misses)
"""


def test_an_edit_of_a_method_of_a_view_elsewhere_is_seen(tmp_path):
    environment = apart(tmp_path)
    (tmp_path / "outer.py").write_text(ASKS)
    said = []
    for number in (1, 1, 2):
        (tmp_path / "inner.py").write_text(VIEW.format(number=number))
        done = subprocess.run(
            [sys.executable, "outer.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout.split())
    assert said == [["2.0", "1"], ["2.0", "0"], ["3.0", "1"]]


class Sized(NamedTuple):
    """A record of some kernel that has a field with the name of a method of views."""

    value: float
    price: float


@kernel
def add(record):
    return record.value + record.price


def test_records_of_kernels_may_have_fields_with_the_names_of_methods():
    assert add(Sized(1.0, 2.0)) == 3.0
