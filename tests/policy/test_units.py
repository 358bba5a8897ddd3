"""Caps on what one unit gets in a window, actions that it keeps, and holdouts by unit, beside counts by hand."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput, StaleDecision, StateMismatch
from evenhand.problem import Budget, Cap, Holdout, Unit

CAPS = (Cap("letter", at_most=3, within=7), Cap("cost", at_most=2.5, within=30))


def problem(unit, **others):
    return eh.Problem(
        actions=("nothing", "letter", "call"),
        outcomes=(
            eh.Outcome("visit"),
            eh.Outcome("letter", known={"letter": 1}),
            eh.Outcome("cost", known={"letter": 0.1, "call": 1}),
        ),
        maximize="visit",
        features=(eh.Numeric("age", 0, 1),),
        horizon=5_000,
        unit=unit,
        **others,
    )


def visits(decision, luck):
    return {"visit": float(luck.random() < {"nothing": 0.1, "letter": 0.4, "call": 0.5}[decision.action])}


@pytest.mark.parametrize("seed", range(6))
def test_no_window_of_any_unit_exceeds_a_cap(seed, tmp_path):
    """Random times and units, late outcomes, cancelled decisions, saved states: sums over windows are counted anew."""
    luck = np.random.default_rng(seed)
    policy = eh.resolving(problem(Unit("who", caps=CAPS), until=100.0, subject_to=(Budget("letter", total=600.0),)))
    state, time, waiting, made = policy.start(seed=seed), 0.0, [], []
    capped = 0
    for _ in range(700):
        time = min(time + luck.exponential(0.1), 99.0)
        who = int(luck.integers(12))
        context = policy.encode({"age": luck.random(), "who": who}, time=time)
        decision = policy.act(state, context)
        used = [sum(z for w, t, *uses in made if w == who and time - 7 < t for z in [uses[0]])]
        capped += decision.action != "letter" and used[0] == 3
        row = [who, time, float(decision.action == "letter"), decision.known[0, 0, 1]]
        if luck.random() < 0.1:
            policy.cancel(state, decision)
        else:
            made.append(row)
            waiting.append(decision)
        while len(waiting) > 5:
            late = waiting.pop(int(luck.integers(len(waiting))))
            policy.observe(state, late, visits(late, luck))
        if luck.random() < 0.01:
            policy.save(state, tmp_path / "state.npz")
            state = policy.load(tmp_path / "state.npz")
    for i, (who, time, *_) in enumerate(made):
        for column, cap in enumerate(CAPS):
            window = [row[2 + column] for row in made[: i + 1] if row[0] == who and time - cap.within < row[1]]
            assert sum(window) <= cap.at_most + 1e-9
    assert capped > 20
    assert state.units.entries[0] < 700


def test_replicas_have_books_of_their_own():
    policy = eh.resolving(problem(Unit("who", caps=CAPS)))
    both, alone = policy.start(seed=3, replicas=2), policy.start(seed=3, replicas=[1])
    luck = np.random.default_rng(0)
    for _ in range(150):
        units = luck.integers(0, 4, 2)
        one = policy.encode({"age": luck.random(), "who": "x"})
        wide = one._replace(features=np.repeat(one.features, 2, 0), groups=np.repeat(one.groups, 2, 0), unit=units)
        play = policy.act(both, wide)
        same = policy.act(alone, one._replace(unit=units[1:].copy()))
        assert play.plays[1] == same.plays[0]
        y = (luck.random((2, 1, 1)) < 0.5).astype(float)
        policy.learn(both, play, y)
        policy.learn(alone, same, y[1:])


def test_a_cap_that_was_reached_since_makes_a_decision_stale():
    policy = eh.resolving(problem(Unit("who", caps=[Cap("cost", at_most=1, within=30)])))
    state = policy.start()
    context = policy.encode({"age": 0.5, "who": "anna"}, offered=["call"])
    first, second = policy.decide(state, context), policy.decide(state, context)
    policy.commit(state, context, first)
    with pytest.raises(StaleDecision, match="a cap of the unit forbids"):
        policy.commit(state, context, second)
    assert policy.act(state, context).action is None
    policy.cancel(state, first)
    assert policy.act(state, context).action == "call"


def test_an_explanation_says_what_caps_left_before_the_decision():
    policy = eh.resolving(problem(Unit("who", caps=CAPS), until=100.0), explore=0.01)
    state, told = policy.start(seed=1), []
    cases = [(who, "nothing") for who in range(60)] + [(99, "letter")] * 3 + [(99, "nothing", "letter")]
    for day, (who, *offer) in enumerate(cases):
        context = policy.encode({"age": 0.5, "who": who}, time=day / 10, offered=offer)
        decision = policy.act(state, context)
        policy.observe(state, decision, {"visit": float(decision.action == "letter")})
        told.append(policy.explain(state, context, decision))
    for had, text in enumerate(told[-4:]):  # without the decision itself
        assert f"a cap of this unit: {had} of 3 letter within 7 units of time" in text
    assert ["a cap forbids it" in text for text in told[-4:]] == [False, False, False, True]
    assert "nothing is worth most of what may be played" in told[-1]


def test_a_status_counts_units_and_what_caps_and_kept_actions_decided(tmp_path):
    luck, unit = np.random.default_rng(5), Unit("who", caps=(Cap("letter", at_most=2, within=7),), sticky=3)
    policy = eh.resolving(problem(unit, until=100.0), explore=0.1)
    state, made, capped, kept = policy.start(seed=2), [], 0, 0
    for step in range(300):
        time, who = step / 4, int(luck.integers(8))
        context = policy.encode({"age": luck.random(), "who": who}, time=time)
        decision = policy.act(state, context)
        since, before = (
            [row for row in made if row[0] == who and time - 7 < row[1]],
            policy.explain(state, context, decision),
        )
        capped += sum(action == "letter" for *_, action in since) == 2
        kept += "keeps the action" in before
        made.append((who, time, decision.action))
        if luck.random() < 0.05:
            policy.save(state, tmp_path / "state.npz")
            state = policy.load(tmp_path / "state.npz")
    use = policy.status(state).unit
    assert (use.decisions, use.caps[0].reached, use.kept) == (300, capped, kept)
    assert min(capped, kept) > 20
    assert use.known == len({who for who, t, _ in made if t > 74.75 - 7})
    shown = str(policy.status(state))
    assert f"letter  at most 2 in 7 units of time: reached in {capped} of 300 decisions" in shown
    frame = policy.status(state).to_frame()
    assert frame[frame.what.isin(["unit", "cap", "kept"])].value.tolist() == [use.known, capped, kept]


def test_a_unit_keeps_its_action_with_the_probability_of_the_draw_that_it_comes_from():
    """Also where a cap or the offer ends it: a new one is drawn then, and kept from there on."""
    policy = eh.resolving(problem(Unit("who", caps=CAPS, sticky=14), until=300.0), explore=0.1)
    state, luck, kept, drawn = policy.start(), np.random.default_rng(0), {}, 0
    letters = defaultdict(list)
    for i in range(900):
        who, time = int(luck.integers(30)), i / 4
        offered = ["nothing", "letter", "call"] if luck.random() < 0.8 else ["nothing", "letter"]
        decision = policy.act(state, policy.encode({"age": 0.5, "who": who}, time=time, offered=offered))
        action, since, chance = kept.get(who, (None, -math.inf, 0.0))
        used = [(a, c) for t, a, c in letters[who] if time - 7 < t], [c for t, _, c in letters[who] if time - 30 < t]
        fits = sum(a for a, _ in used[0]) + (action == "letter") <= 3
        cost = {"nothing": 0.0, "letter": 0.1, "call": 1.0}
        fits &= sum(used[1]) + cost.get(action, 0.0) <= 2.5 + 1e-9
        if time - since < 14 and action in offered and fits:
            assert (decision.action, decision.probability) == (action, chance)
        else:
            drawn += 1
            assert decision.action in offered
            kept[who] = decision.action, time, decision.probability
        letters[who].append((time, decision.action == "letter", cost[decision.action]))
        policy.observe(state, decision, visits(decision, luck))
    assert 30 < drawn < 600


def test_an_action_that_later_decisions_kept_outlives_the_cancelled_first_one():
    policy = eh.uniform(problem(Unit("who", sticky=30)), 0)
    state = policy.start()
    for who in range(40):
        context = policy.encode({"age": 0.5, "who": who})
        first, second = policy.act(state, context), policy.act(state, context)
        policy.cancel(state, first)
        assert policy.act(state, context).action == second.action
    context, drawn = policy.encode({"age": 0.5, "who": "x"}), set()
    for _ in range(40):  # of a unit whose only decision is cancelled, nothing is kept
        drawn.add((decision := policy.act(state, context)).action)
        policy.cancel(state, decision)
    assert len(drawn) == 3


def test_kept_actions_are_as_frequent_as_their_probabilities_say():
    """Chi-square over units, by the actions of their last decision, whose probabilities are those of first draws."""
    policy = eh.resolving(problem(Unit("who", sticky=5_000)), explore=0.2)
    state, luck = policy.start(seed=1), np.random.default_rng(1)
    for i in range(600):
        decision = policy.act(state, policy.encode({"age": 0.5, "who": i % 300}))
        policy.observe(state, decision, visits(decision, luck))
        if i == 299:
            first = decision
    assert policy.act(state, policy.encode({"age": 0.5, "who": 299})).probability == first.probability
    weights = Counter()
    for i in range(300):
        last = policy.decide(state, policy.encode({"age": 0.5, "who": i}))
        weights[last.action] += 1.0 / last.probability
    for action in ("nothing", "letter", "call"):  # each sum is 300 on average; its variance is at most 300 (1/.2 - 1)
        assert abs(weights[action] - 300) < 4 * math.sqrt(300 * (1 / 0.2 - 1))


def test_a_holdout_is_by_unit():
    policy = eh.resolving(problem(Unit("who", sticky=30)), holdout=Holdout(0.3, lottery={"nothing": 1}))
    state, sides = policy.start(seed=2), defaultdict(set)
    for i in range(800):
        context = policy.encode({"age": 0.5, "who": i % 200})
        decision = policy.act(state, context)
        sides[i % 200].add(float(decision.carried[0, 0]))
    assert all(len(side) == 1 for side in sides.values())
    share = np.mean([2.0 in side for side in sides.values()])
    assert abs(share - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 200)


def test_memory_follows_the_units_of_the_longest_window():
    policy = eh.uniform(problem(Unit("who", caps=[Cap("letter", at_most=3, within=7)]), until=1e4), 0)
    state = policy.start()
    base = policy.encode({"age": 0.5, "who": "x"}, offered=["letter"])
    for i in range(4_000):
        context = base._replace(unit=np.array([i * 7919 + 1]), time=np.array([i / 100]))
        policy.act(state, context)
    size = sum(getattr(state.units, z).nbytes for z in vars(state.units))
    assert size <= 100 * 1_024  # a window has 700 units, and room is doubled at powers of 2


def test_one_state_follows_another_only_with_the_same_windows():
    old = eh.resolving(problem(Unit("who", caps=CAPS)))
    state = old.start()
    old.act(state, old.encode({"age": 0.5, "who": 1}))
    more = eh.resolving(problem(Unit("who", caps=[Cap("letter", at_most=5, within=7), CAPS[1]])))
    assert more.adopt(state, of=old).units.entries.tolist() == state.units.entries.tolist()
    for unit in (None, Unit("who", caps=CAPS[:1]), Unit("who", caps=CAPS, sticky=3)):
        with pytest.raises((InvalidInput, StateMismatch), match="unit"):
            eh.resolving(problem(unit)).adopt(state, of=old)


def test_a_longer_time_of_kept_actions_counts_from_the_first_decision_and_a_shorter_one_ends_them():
    """Under a policy that takes over, with the probabilities of the draws, also for those of ten days ago."""
    names, old = ("nothing", "letter", "call"), eh.uniform(problem(Unit("who", sticky=7), until=100.0), 0)
    state, first = old.start(), {}
    for who in range(40):
        first[who] = old.act(state, old.encode({"age": 0.5, "who": who}, time=who / 10, offered=names))
    for sticky, keeps in ((14, True), (2, False)):
        new = eh.uniform(problem(Unit("who", sticky=sticky), until=100.0), 0)
        own, same = new.adopt(state, of=old), 0
        for who, before in first.items():
            later = new.act(own, new.encode({"age": 0.5, "who": who}, time=10.0 + who / 100, offered=names))
            same += later.action == before.action
            assert later.probability == before.probability
        assert (same == 40) is keeps
        assert keeps or same < 30


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Cap("letter", at_most=0, within=7), "at_most: expected a finite number above 0, got 0"),
        (lambda: Cap("letter", at_most=1, within=math.inf), "within: expected a finite number above 0, got inf"),
        (lambda: Unit("who"), "at least one cap"),
        (lambda: Unit("", sticky=3), "Unit.name"),
        (lambda: Unit("who", sticky=-1), "Unit.sticky"),
        (lambda: Unit("who", attribution=1e8), "Unit.attribution: expected a number of days above 0, at most 36,525"),
        (lambda: Unit("who", caps=["letter"]), "a sequence of `Cap`"),
        (lambda: problem(Unit("who", caps=[Cap("visit", at_most=1, within=7)])), "known for certain, got visit"),
        (lambda: problem(Unit("who", caps=[Cap("leter", at_most=1, within=7)])), "did you mean letter"),
        (lambda: problem(Unit("age", sticky=7)), "a name that no feature and no grouping has"),
        (lambda: problem(Unit("who", sticky=7), n_plays=2), "n_plays: expected 1 where unit= is stated, got 2"),
    ],
)
def test_bad_units_are_refused(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


def test_cases_that_come_late_exceed_no_cap():
    """Windows of which entries were dropped, at the unit's own later decision or to make room, count as full."""
    for others in (0, 200):
        policy = eh.uniform(problem(Unit("who", caps=[Cap("letter", at_most=3, within=7)]), until=300.0), 0)
        state, base = policy.start(), policy.encode({"age": 0.5, "who": "anna"}, offered=["letter"])
        played = []
        for time in (1, 2, 3, 100):
            played.append(policy.act(state, base._replace(time=np.array([float(time)]))).action)
        for i in range(others):
            policy.act(state, base._replace(unit=np.array([i + 1]), time=np.array([200.0 + i / 100])))
        assert played == ["letter"] * 4
        assert policy.act(state, base._replace(time=np.array([4.0]))).action is None
        assert policy.act(state, base._replace(time=np.array([210.0]))).action == "letter"


def test_what_a_unit_gives_back_makes_no_room():
    """The window moves on past a refund, and what it made room for would then exceed the cap."""
    caps = Cap("letter", at_most=3, within=7), Cap("cost", at_most=5, within=7)
    policy = eh.uniform(problem(Unit("who", caps=caps), until=300.0), 0)
    state, played = policy.start(), []
    for time, cost in ((0, -4), (3, 5), (4, 4)):
        known = {"cost": {"letter": cost}}
        context = policy.encode({"age": 0.5, "who": 1}, time=time, offered=["letter"], known=known)
        played.append(policy.act(state, context).action)
    assert played == ["letter", "letter", None]


@pytest.mark.parametrize("who", [None, "", 1.5, True, [1], "\ud800", pytest.param(10**5000, id="digits"), b"anna"])
def test_a_case_states_its_unit_as_a_text_or_a_whole_number(who):
    policy = eh.resolving(problem(Unit("who", sticky=7)))
    with pytest.raises(InvalidInput, match="who: expected a text or a whole number"):
        policy.encode({"age": 0.5, "who": who})


def test_a_context_without_a_unit_is_refused():
    policy = eh.resolving(problem(Unit("who", sticky=7)))
    context = policy.encode({"age": 0.5, "who": "anna"})
    with pytest.raises(InvalidInput, match=r"context\.unit"):
        policy.act(policy.start(), context._replace(unit=None))
    with pytest.raises(InvalidInput, match="who: expected a value"):
        policy.encode({"age": 0.5})
