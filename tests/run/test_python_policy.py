"""Algorithms with `select` and `update`, and worlds with `step`, beside those of the house."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import CannotSave, InvalidInput
from evenhand.environments import Delayed
from evenhand.objectives import Linear
from evenhand.run.python_policy import Selecting

PROBLEM = eh.Problem(
    actions=("a", "b", "c"),
    outcomes=(eh.Outcome("wins"), eh.Outcome("cost", known={"b": 1, "c": 2})),
    maximize=Linear({"wins": 2.0}),
    subject_to=(eh.Budget("cost", rate=0.5),),
    horizon=60,
)


class Traits:
    """Every action has a trait of its own, and wins with it as its chance."""

    def context(self, luck):
        return luck.random((3, 2))

    def step(self, luck, context, action):
        return luck.random() < context[action, 0]


class Noted:
    """Draws an action at random, and notes all that it is told."""

    made: list["Noted"] = []  # noqa: RUF012

    def __init__(self, luck):
        self.luck, self.selected, self.told = luck, [], []
        Noted.made.append(self)

    def select(self, context):
        action = int(self.luck.integers(3))
        self.selected.append((context, action))
        return action

    def update(self, context, action, reward):
        self.told.append((context, action, reward))


WORLD = eh.run.Stepped(problem=PROBLEM, n_features=2, world=Traits())


def run(world=WORLD, replicas=2, **options):
    Noted.made.clear()
    policy = eh.Wrapped(make=Noted, name="noted").policy(world.problem, world.n_features)
    trace = eh.simulate(policy, world, replicas=replicas, seed=4, progress=False, **options)
    return trace, list(Noted.made)[-len(trace.replicas) :]


def test_it_is_told_what_was_played_and_what_came_of_it():
    trace, made = run(record="all")
    assert (trace.total("cost") <= 30).all()
    masked = 0
    for r, mine in enumerate(made):
        plays, y = trace.plays.actions[:, r, 0], trace.plays.outcomes[:, r, 0, 0]
        assert len(mine.selected) == len(mine.told) == 60
        for i, ((seen, chosen), (context, action, reward)) in enumerate(zip(mine.selected, mine.told, strict=True)):
            np.testing.assert_array_equal(context, seen)
            assert action == plays[i]
            assert reward == 2.0 * y[i]
            masked += action != chosen
    assert masked > 0  # the budget is over before the end


def test_all_policies_meet_the_same_cases_and_luck():
    trace, made = run(record="all")
    other = eh.simulate(eh.uniform(PROBLEM, 2), WORLD, replicas=2, seed=4, record="all", progress=False)
    same = trace.plays.actions[:, :, 0] == other.plays.actions[:, :, 0]
    assert 0.2 < same.mean() < 0.9
    assert (trace.plays.outcomes[..., 0, 0] == other.plays.outcomes[..., 0, 0])[same].all()
    contexts = WORLD.start(4, np.arange(2))
    for step in (0, 1, 59):
        for r in range(2):
            np.testing.assert_array_equal(contexts.context(step).features[r], made[r].selected[step][0])


def test_replicas_act_as_they_do_alone_and_in_several_processes():
    both, _ = run()
    alone, _ = run(replicas=[1])
    np.testing.assert_array_equal(both.totals[:, 1], alone.totals[:, 0])
    assert (both.totals[-1, 0] != both.totals[-1, 1]).any()
    two, _ = run(jobs=2)
    np.testing.assert_array_equal(both.totals, two.totals)


def test_late_outcomes_belong_to_their_contexts():
    _, made = run(Delayed(WORLD, delay=7))
    for mine in made:
        assert len(mine.told) == 60 - 7
        for (seen, _), (context, _, _) in zip(mine.selected, mine.told, strict=False):
            np.testing.assert_array_equal(context, seen)


class Scales(Noted):
    """Writes in the arrays that it gets, as `x -= x.mean(0)` does."""

    def select(self, context):
        context *= np.nan
        return super().select(np.zeros_like(context))

    def update(self, context, action, reward):
        super().update(context.copy(), action, reward)
        context *= np.nan


def test_an_algorithm_may_write_in_what_it_gets():
    run(record="all")
    cases = [[z[0] for z in mine.selected] for mine in Noted.made[-2:]]
    Noted.made.clear()
    policy = eh.Wrapped(make=Scales).policy(WORLD.problem, WORLD.n_features)
    eh.simulate(policy, WORLD, replicas=2, seed=4, progress=False)
    for mine, seen in zip(Noted.made[-2:], cases, strict=True):
        assert len(mine.told) == 60
        for (context, _, _), same in zip(mine.told, seen, strict=True):
            np.testing.assert_array_equal(context, same)


class Loud(Noted):
    """Tells more than the class that it extends."""


def test_its_code_is_that_of_its_classes_also_where_there_is_no_file():
    """A class that is typed in, as in a notebook, has no file, but its methods may have one."""

    def code(make):
        return eh.Wrapped(make=make).policy(PROBLEM, 2).model.code

    assert "Draws an action at random" in code(Noted)
    assert code(partial(Loud)) == code(Loud)
    assert "Tells more" in code(Loud)
    assert code(Noted) in code(Loud)
    typed = type("Typed", (), {"select": Noted.select, "update": Noted.update, "__module__": "__main__"})
    assert "self.luck.integers(3)" in code(typed)


def test_beside_the_recipes_of_the_house():
    mine = eh.Wrapped(make=Noted, name="mine").policy(PROBLEM, 2)
    model = eh.BayesianRidge(n_features=2)
    found = eh.compare([mine, eh.resolving(PROBLEM, model), eh.uniform(PROBLEM, 2)], WORLD, replicas=3, progress=False)
    assert found.names == ("mine", "resolving", "uniform")
    assert found.differences()[0].mean > 0


def test_only_what_is_rewarded_has_to_be_seen():
    """An outcome without a weight may stay unknown; one with a weight is waited for."""
    Noted.made.clear()
    model = Selecting(make=Noted, n_features=2, weights=(2.0, 0.0), names=("wins", "hours"))
    state = model.start(1, np.zeros(2), np.ones(2), 60)
    x = np.arange(6.0).reshape(1, 3, 2)
    model.value(state, x, np.zeros((1, 1, 1, 2)), np.array([[0.5]]))
    w = np.zeros((1, 1, 1, 2))
    model.update(state, x[:, :1], np.array([[[np.nan, 1.0]]]), np.array([[[False, True]]]), w)
    assert Noted.made[0].told == []
    model.update(state, x[:, :1], np.array([[[1.0, np.nan]]]), np.array([[[True, False]]]), w)
    assert [(action, reward) for _, action, reward in Noted.made[0].told] == [(0, 2.0)]


class Wrong(Noted):
    def select(self, context):
        return 3


class Half:
    def __init__(self, luck):
        pass

    def select(self, context):
        return 0


@pytest.mark.parametrize(
    ("make", "problem", "words"),
    [
        (Noted(None), PROBLEM, r"Wrapped\.make: expected a class, .* got an object of the class Noted"),
        (Wrong, PROBLEM, "select: expected the number of an action, from 0 to 2, got 3"),
        (Half, PROBLEM, r"Wrapped\.make: expected what makes an object with a method update, got Half"),
        (Noted, replace(PROBLEM, n_plays=2, subject_to=()), r"problem\.n_plays: expected 1"),
        (
            Noted,
            replace(PROBLEM, maximize=Linear({"wins": 1.0, "cost": -0.1})),
            r"problem\.maximize: expected a weighted sum of",
        ),
        (
            Noted,
            replace(PROBLEM, outcomes=(eh.Outcome("wins", times="cost"), PROBLEM.outcomes[1])),
            r"problem\.maximize: expected outcomes without a factor, .* got wins",
        ),
    ],
)
def test_what_cannot_be_wrapped(make, problem, words):
    with pytest.raises(InvalidInput, match=words):
        eh.simulate(
            eh.Wrapped(make=make).policy(problem, 2), replace(WORLD, problem=problem), replicas=1, progress=False
        )


class Narrow(Traits):
    def context(self, luck):
        return luck.random((3, 1))


class Wide(Traits):
    def step(self, luck, context, action):
        return [1.0, 0.0]


class Silent(Traits):
    def step(self, luck, context, action):
        return float("nan")


class Named(Traits):
    """Its outcomes have names, in another order than in the problem."""

    def step(self, luck, context, action):
        return {"hours": luck.random() if action else 0.0, "wins": super().step(luck, context, action)}


class Listed(Named):
    def step(self, luck, context, action):
        came = super().step(luck, context, action)
        return came["wins"], came["hours"]


class Misnamed(Traits):
    def step(self, luck, context, action):
        return {"win": 1.0}


class Worded(Traits):
    def step(self, luck, context, action):
        return "yes"


def test_several_outcomes_come_by_name_or_in_the_order_of_the_problem():
    problem = replace(
        PROBLEM,
        outcomes=(eh.Outcome("wins"), eh.Outcome("hours", free=("a",))),
        subject_to=(eh.Budget("hours", rate=0.3),),
    )
    named, listed = (
        eh.simulate(
            eh.uniform(problem, 2),
            eh.run.Stepped(problem=problem, n_features=2, world=world),
            replicas=2,
            seed=4,
            progress=False,
        )
        for world in (Named(), Listed())
    )
    assert (named.total("wins") == np.round(named.total("wins"))).all()
    assert (named.total("hours") % 1 > 0).all()
    np.testing.assert_array_equal(named.totals, listed.totals)


@pytest.mark.parametrize(
    ("world", "problem", "words"),
    [
        (Narrow(), PROBLEM, r"Stepped\.world\.context: expected finite numbers of shape \(3, 2\), got shape \(3, 1\)"),
        (Wide(), PROBLEM, r"Stepped\.world\.step: expected 1 finite outcomes, wins"),
        (Silent(), PROBLEM, r"Stepped\.world\.step: expected 1 finite outcomes, wins"),
        (Misnamed(), PROBLEM, r"Stepped\.world\.step: expected 1 finite outcomes, wins, got some for win"),
        (Worded(), PROBLEM, r"Stepped\.world\.step: expected 1 finite outcomes, wins, got 'yes'"),
        (Traits, PROBLEM, r"Stepped\.world: expected an object with a method context, got the class Traits"),
        (Half(None), PROBLEM, r"Stepped\.world: expected an object with a method context, got Half"),
        (Traits(), replace(PROBLEM, groups=(eh.Groups("town", ["n", "s"]),)), r"groups: expected none"),
    ],
)
def test_worlds_that_do_not_fit(world, problem, words):
    def play():
        made = eh.run.Stepped(problem=problem, n_features=2, world=world)
        eh.simulate(eh.uniform(problem, 2), made, replicas=1, progress=False)

    with pytest.raises(InvalidInput, match=words):
        play()


class Shuffled(Traits):
    """Three traits that are dealt to the actions anew: any action may have the features that another had before."""

    def context(self, luck):
        return np.eye(3)[luck.permutation(3)][:, :2]

    def step(self, luck, context, action):
        return luck.random() < 0.5


def test_a_play_belongs_to_the_latest_context_with_its_features():
    trace, made = run(
        eh.run.Stepped(problem=replace(PROBLEM, subject_to=()), n_features=2, world=Shuffled()), record="all"
    )
    for r, mine in enumerate(made):
        assert [action for _, action, _ in mine.told] == trace.plays.actions[:, r, 0].tolist()
        for (seen, _), (context, _, _) in zip(mine.selected, mine.told, strict=True):
            np.testing.assert_array_equal(context, seen)
    outcomes = trace.plays.outcomes[:, :, 0, 0]
    assert 0.3 < (outcomes[:, 0] == outcomes[:, 1]).mean() < 0.7  # replicas have luck of their own


def test_an_algorithm_in_a_sweep_that_is_kept(tmp_path):
    """Its finished cells are read back; as its state cannot be written, others start anew."""
    worlds = {rate: eh.environments.Court(horizon=40, ride=rate) for rate in (0.1, 0.2)}

    def sweep(**options):
        def policies(problem):
            return [eh.Wrapped(make=Noted, name="noted").policy(problem, 5)]

        return eh.sweep(policies, "rides", worlds, replicas=2, progress=False, **options)

    kept = sweep(out=tmp_path)
    Noted.made.clear()
    again, fresh = sweep(out=tmp_path), sweep()
    for rate in worlds:
        np.testing.assert_array_equal(kept[rate]["noted"].totals, fresh[rate]["noted"].totals)
        np.testing.assert_array_equal(again[rate]["noted"].totals, fresh[rate]["noted"].totals)
    assert sum(len(mine.selected) > 0 for mine in Noted.made) == 4  # of the fresh sweep: two cells of two replicas
    policy = eh.Wrapped(make=Noted).policy(PROBLEM, 2)
    with pytest.raises(CannotSave, match="an algorithm of your own"):
        policy.save(policy.start(seed=0), tmp_path / "state.npz")


class Known(Named):
    """Its true means are known: an action wins with its trait as its chance, and takes half an hour."""

    def expected(self, context, action):
        return {"wins": context[action, 0], "hours": 0.5 * (action > 0)}


def test_a_world_that_states_its_means_has_an_optimum():
    problem = replace(PROBLEM, outcomes=(eh.Outcome("wins"), eh.Outcome("hours")), maximize="wins", subject_to=())
    world = eh.run.Stepped(problem=problem, n_features=2, world=Known())
    best = eh.opt(world, contexts=500, replicas=2, progress=False)
    assert best.value == pytest.approx(0.75, abs=0.02)  # the mean of the largest of three uniform numbers
    trace = eh.simulate(eh.uniform(problem, 2), world, replicas=20, seed=4, progress=False)
    assert trace.expected[-1, :, 0].mean() / 60 == pytest.approx(0.5, abs=0.04)
    alone = eh.simulate(eh.uniform(problem, 2), world, replicas=[7], seed=4, progress=False)
    np.testing.assert_array_equal(alone.expected[:, 0], trace.expected[:, 7])
    with pytest.raises(InvalidInput, match=r"environment: expected one with a known truth, .* got Stepped without it"):
        eh.opt(WORLD, contexts=5, replicas=1, progress=False)


class Scaled(Noted):
    def __init__(self, luck, epsilon):
        super().__init__(luck)


def test_a_cell_is_found_by_the_arguments_of_an_algorithm_if_these_have_a_hash(tmp_path):
    court = eh.environments.Court(horizon=20)

    def files(make, world=court):
        policy = eh.Wrapped(make=make, name="scaled").policy(world.problem, world.n_features)
        eh.sweep(lambda problem: [policy], "rides", {0.1: world}, replicas=1, progress=False, out=tmp_path)
        return len(list(tmp_path.glob("*.npz")))

    assert [files(partial(Scaled, epsilon=e)) for e in (0.1, 0.2, 0.1)] == [1, 2, 2]
    words = (
        r"^out: expected policies and environments that have a hash, .* a dataclass, .* `functools\.partial` .* got "
    )
    with pytest.raises(InvalidInput, match=words + "function: <function"):
        files(lambda luck: Noted(luck))
    with pytest.raises(InvalidInput, match=words + "Traits: <"):
        files(Noted, WORLD)


class Costed(Noted):
    """Notes the outcomes, too, for whose parameter it asks."""

    def update(self, context, action, reward, outcomes):
        self.told.append((action, reward, outcomes))


def test_an_algorithm_that_asks_for_outcomes_is_told_of_costs():
    problem = replace(PROBLEM, outcomes=(eh.Outcome("wins"), eh.Outcome("hours")), subject_to=())
    world = eh.run.Stepped(problem=problem, n_features=2, world=Known())
    policy = eh.Wrapped(make=Costed).policy(problem, 2)
    Noted.made.clear()
    trace = eh.simulate(policy, world, replicas=2, progress=False, record="all")
    for r, algorithm in enumerate(Noted.made[-2:]):
        told = algorithm.told
        assert len(told) == 60
        assert all(reward == 2.0 * outcomes["wins"] for _, reward, outcomes in told)
        np.testing.assert_array_equal([outcomes["hours"] for *_, outcomes in told], trace.plays.outcomes[:, r, 0, 1])
    state = policy.start(seed=0)
    decision = policy.act(state, eh.Context(np.zeros((1, 3, 2)), np.zeros((1, 3, 0)), np.zeros((1, 1, 0), int),
                                            np.ones((1, 3), bool)))  # fmt: skip
    policy.observe(state, decision, {"wins": 1.0, "hours": None})
    assert Noted.made[-1].told[-1][2] == {"wins": 1.0}, "what was not observed is not told"


def test_nothing_is_said_of_what_a_wrapped_algorithm_believes():
    """No warning of candidates that look the same, as each is named by its place, and no worth in explanations."""
    problem = replace(PROBLEM, features=(eh.Numeric("age", 0, 100),))
    policy = eh.Wrapped(make=Noted).policy(problem, problem.n_features)
    state = policy.start(seed=0)
    context = policy.encode({"age": 30})
    decision = policy.act(state, context)  # warnings are errors
    said = policy.explain(state, context, decision)
    assert "worth" not in said
    assert "nan" not in said
    assert "probability unknown" in said
    assert "what it believes of the candidates is not known" in said


def test_the_number_of_features_is_that_of_the_problem_or_of_the_world():
    stated = replace(WORLD.problem, features=(eh.Numeric("age", 0, 9), eh.Categorical("town", ("a", "b", "c"))))
    assert eh.Wrapped(make=Noted).policy(stated).model.n_features == eh.uniform(stated).model.n_features == 4
    with pytest.raises(
        InvalidInput, match=r"a model or a recipe states n_features, for .* n_features=world.n_features"
    ):
        eh.simulate(eh.uniform(WORLD.problem, 7), WORLD, replicas=2)


class Lonely(Noted):
    """Is made of nothing."""

    def __init__(self):
        super().__init__(None)


class Deaf(Noted):
    """Is told no reward."""

    def update(self, context, action):
        pass


class Blind(Noted):
    """Is shown no context."""

    def select(self):
        return 0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Lonely, r"^Wrapped.make: expected one that is called with \(luck\), got one that takes \(\)"),
        (Blind, r"^Wrapped.make.select: expected one that is called with \(context\), got one that takes \(\)"),
        (
            Deaf,
            r"^Wrapped.make.update: expected one that is called with \(context, action, reward\), "
            r"got one that takes \(context, action\)",
        ),
    ],
)
def test_an_algorithm_of_other_arguments_is_refused_by_name(make, said):
    policy = eh.Wrapped(make=make).policy(WORLD.problem, WORLD.n_features)
    with pytest.raises(InvalidInput, match=said):
        eh.simulate(policy, WORLD, replicas=1, progress=False)
