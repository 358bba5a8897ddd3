"""Names in, names out: cases by name, decisions and outcomes by name, and a status in words."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.environments.logged import blocks
from evenhand.models import BayesianRidge, Fixed, Ridge
from evenhand.run import play, simulate
from tests.examples.problems import EVERYTHING
from tests.examples.recipes import POLICIES
from tests.worlds import Market

AGE, CHANNEL = eh.Numeric("age", 20, 60), eh.Categorical("channel", ("web", "phone", "shop"))
MAIL = eh.Problem(
    actions=("none", "letter", "call"),
    features=(AGE, CHANNEL),
    outcomes=(
        eh.Outcome("answer"),
        eh.Outcome("cents", high=9.0, mean={"letter": 2.0, "call": 4.0}),
        eh.Outcome("minutes", known={"call": 3}),
    ),
    maximize="answer",
    subject_to=(eh.Budget("minutes", total=60), eh.Parity("minutes", by="channel", tolerance=0.5)),
    groups=(eh.Groups("channel", ("web", "phone", "shop")), eh.Groups("zone", {"town": 0.75, "land": 0.25})),
    horizon=50,
)
CASE = {"age": 50, "channel": "phone", "zone": "land"}
UNITS = [1.0, 0.5, 1.0, 0.0]


def policy(n, problem=MAIL):
    return eh.resolving(problem, BayesianRidge(n_features=n, n_outcomes=len(problem.learned)))


def test_the_numbers_of_a_case_do_not_depend_on_the_unit_in_which_it_is_stated():
    in_months = eh.Numeric("age", 240, 720)
    assert in_months.encode(600) == AGE.encode(50) == (0.5,)
    assert AGE.encode(-1e300) == (-1.0,)
    assert eh.Numeric("new", 0, 1).encode(True) == (1.0,)
    assert eh.Numeric("new", 0, 1).encode(np.float32(0.5)) == (0.0,)


def problem_of(problem):
    return {name: getattr(problem, name) for name in problem.__dataclass_fields__}


BLOCKS, NUMBERED = np.append(UNITS, 0.0)[blocks(3, 4)], [[a, *UNITS] for a in range(3)]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (BayesianRidge(n_features=12), BLOCKS),
        (LinearRegression(), BLOCKS),  # which takes any number
        (eh.PerAction.of(MAIL), NUMBERED),
        (eh.Stacked((eh.PerAction.of(MAIL, Ridge),)), NUMBERED),
        (eh.models.Bootstrapped(inner=eh.PerAction.of(MAIL)), NUMBERED),
        (eh.models.OnlineToBatch(inner=eh.PerAction.of(MAIL)), NUMBERED),
        (BayesianRidge(n_features=4), [UNITS] * 3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_features_are_laid_out_as_the_model_reads_them(model, expected):
    """As blocks of actions, after the number of the action, or the same for all."""
    context = eh.resolving(MAIL, model).encode(CASE)
    np.testing.assert_array_equal(context.features[0], expected)
    np.testing.assert_array_equal(context.groups, [[[1, 4]]])
    np.testing.assert_array_equal(context.known, MAIL.declared[None])
    assert context.offered.all()


def test_offers_and_known_outcomes_of_a_case_are_stated_by_name():
    context = policy(12).encode(CASE, offered=["none", "call"], known={"minutes": {"call": 7}, "cents": 1.5})
    np.testing.assert_array_equal(context.offered, [[True, False, True]])
    np.testing.assert_array_equal(context.known[0], [[1.5, 0], [1.5, 0], [1.5, 7]])
    np.testing.assert_array_equal(MAIL.declared[:, 1], [0, 0, 3])  # the problem stays as it is


def test_a_model_of_another_number_of_features_is_named():
    """Also of one that could be read with the number of the action first, but as a number like others."""
    expected = (
        r"model\.n_features: expected PerAction\.of\(problem\), or a model of 12 features, 4 for each of 3 actions"
    )
    for n in (7, 5):
        with pytest.raises(InvalidInput, match=expected):
            policy(n).encode(CASE)


def test_a_context_can_be_changed_without_a_trace_in_the_problem():
    mail = policy(12)
    context = mail.encode(CASE, offered=(a for a in ["call"]))  # an iterator, which can be read once
    np.testing.assert_array_equal(context.offered, [[False, False, True]])
    context.known[:] = 99.0
    np.testing.assert_array_equal(mail.encode(CASE).known[0], MAIL.declared)


def test_a_context_can_be_changed_without_a_trace_in_the_next_one():
    own = policy(12)
    fresh, changed = [z.copy() for z in own.encode(CASE)[:4]], own.encode(CASE)
    for z in changed[:4]:
        z[...] = 0
    for z, before in zip(own.encode(CASE), fresh, strict=False):
        np.testing.assert_array_equal(z, before)


def test_a_name_is_refused_in_place_of_another_and_beside_all_of_them():
    instead = {name: value for name, value in CASE.items() if name != "age"} | {"aeg": 50}
    with pytest.raises(InvalidInput, match=r"(?s)aeg: .*an unknown name.*age: expected a value"):
        policy(12).encode(instead)
    with pytest.raises(InvalidInput, match=r"aeg: .*an unknown name"):
        policy(12).encode(CASE | {"aeg": 50})


def test_the_rows_of_a_data_frame_are_cases():
    frame = pd.DataFrame({"age": [50, 30], "channel": ["phone", "web"], "zone": ["land", "town"], "more": [1, 2]})
    found = policy(12).encode_frame(frame)
    for context, case in zip(found, frame.drop(columns="more").to_dict("records"), strict=True):
        for left, right in zip(context, policy(12).encode(case), strict=True):
            np.testing.assert_array_equal(left, right)


def test_a_decision_names_its_action_and_says_none_where_nothing_is_played(tmp_path):
    mail = policy(12)
    state = mail.start()
    decision = mail.act(state, mail.encode(CASE, offered=["letter"]))
    assert decision.action == "letter"
    assert decision.actions == ("letter",)
    assert decision.probability == 1.0
    mail.save_decision(decision, tmp_path / "waiting.npz")
    assert mail.load_decision(tmp_path / "waiting.npz").action == "letter"
    nothing = mail.act(state, mail.encode(CASE, offered=[]))
    assert nothing.action is None
    assert nothing.probability is None
    assert nothing.plays[0, 0] == -1


def test_several_plays_are_sent_to_what_has_a_number_for_each():
    several = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("seen"),), maximize="seen", horizon=9, n_plays=2)
    lists = eh.uniform(several, several.n_features * 2)
    decision = lists.act(lists.start(), lists.encode({}))
    with pytest.raises(InvalidInput, match="2 plays; see `actions` and `propensities`"):
        decision.probability  # noqa: B018


def test_a_batch_has_no_single_action():
    mail = policy(12)
    context = mail.encode(CASE)
    twice = context._replace(features=np.repeat(context.features, 2, 0), groups=np.repeat(context.groups, 2, 0))
    decision = mail.decide(mail.start(replicas=2), twice)
    for name in ("action", "actions", "probability"):
        with pytest.raises(InvalidInput, match="decision: expected one"):
            getattr(decision, name)


def test_candidates_that_are_no_actions_have_no_names():
    problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=9)
    plain = eh.resolving(problem, Ridge(n_features=1, width=Fixed(0.0)))
    context = eh.Context(
        np.arange(3.0).reshape(1, 3, 1), np.zeros((1, 3, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool)
    )
    with pytest.raises(InvalidInput, match="without names"):
        _ = plain.decide(plain.start(), context).action


def test_outcomes_by_name_are_those_of_the_arrays():
    mail = policy(12)
    named, plain = mail.start(), mail.start()
    context = mail.encode(CASE, offered=["call"])
    mail.observe(named, mail.act(named, context), {"cents": 4.5, "answer": 1})
    mail.learn(plain, mail.act(plain, context), np.array([[[1.0, 4.5]]]))
    np.testing.assert_array_equal(named.model.theta, plain.model.theta)
    np.testing.assert_array_equal(named.books, plain.books)
    mail.observe(named, mail.act(named, context), {"cents": None, "answer": 0.5})
    mail.learn(plain, mail.act(plain, context), np.array([[[0.5, 0.0]]]), observed=np.array([[[True, False]]]))
    mail.observe(named, mail.act(named, context), {"cents": 2, "answer": np.bool_(True)})
    mail.learn(plain, mail.act(plain, context), np.array([[[1.0, 2.0]]]))
    mail.observe(named, mail.act(named, context), [None])
    mail.learn(plain, mail.act(plain, context), np.zeros((1, 1, 2)), exposed=np.array([[False]]))
    np.testing.assert_array_equal(named.books, plain.books)
    np.testing.assert_array_equal(named.model.theta, plain.model.theta)
    assert mail.status(named) == mail.status(plain)


def test_a_list_of_cases_does_as_well_as_a_data_frame():
    mail = policy(12)
    first, second = mail.encode_frame([CASE, CASE | {"age": 30}])
    np.testing.assert_array_equal(first.features, mail.encode(CASE).features)
    np.testing.assert_array_equal(second.features, mail.encode(CASE | {"age": 30}).features)


@pytest.mark.parametrize(
    "other",
    [
        {"actions": ("none", "letter", "call", "visit")},
        {"actions": ("call", "letter", "none")},
        {"horizon": 99},
        {"subject_to": (eh.Budget("minutes", total=61), MAIL.subject_to[1])},
        {"features": (eh.Numeric("age", 20, 61), *MAIL.features[1:])},
    ],
    ids=["more actions", "other order", "horizon", "budget", "range of a feature"],
)
def test_a_state_is_that_of_one_policy(other):
    """Also where arrays have the same shapes; kernels would read beyond those of fewer actions."""

    def of(problem):
        return eh.resolving(problem, eh.PerAction.of(problem, BayesianRidge))

    mine, theirs = of(MAIL), of(replace(MAIL, **other))
    state = theirs.start()
    with pytest.raises(InvalidInput, match=r"^state: expected one of this policy"):
        mine.act(state, mine.encode(CASE))
    mine.act(of(MAIL).start(), mine.encode(CASE))  # that of an equal one


def test_what_was_not_observed_is_in_no_average():
    mail = policy(12)
    state = mail.start()
    assert math.isnan(mail.status(state).averages["answer"])
    assert ["average", "answer", "-"] in [line.split() for line in str(mail.status(state)).splitlines()]
    context = mail.encode(CASE, offered=["letter"])
    mail.expire(state, mail.act(state, context))
    assert math.isnan(mail.status(state).averages["answer"])
    mail.observe(state, mail.act(state, context), {"answer": 1, "cents": 2})
    status = mail.status(state)
    assert status.averages["answer"] == status.objective == 1.0


def test_several_plays_are_named_and_observed_in_their_order():
    problem = eh.Problem(
        actions=("a", "b", "c"), outcomes=(eh.Outcome("click"),), maximize="click", n_plays=2, horizon=9
    )
    lists = eh.resolving(problem, BayesianRidge(n_features=3))
    state = lists.start()
    decision = lists.act(state, lists.encode({}, offered=["b"]))
    assert decision.actions == ("b", None)
    lists.observe(state, decision, [{"click": 1.0}, None])
    decision = lists.act(state, lists.encode({}, offered=["a", "c"]))
    assert set(decision.actions) == {"a", "c"}
    lists.observe(state, decision, [None, {"click": 0.5}])
    status = lists.status(state)
    assert status.averages == {"click": 0.75}


def test_a_status_says_what_a_trace_says():
    world, market = Market(problem=EVERYTHING), eh.resolving(EVERYTHING, BayesianRidge(n_features=3, n_outcomes=2))
    trace = simulate(market, world, replicas=[3, 8], seed=1, progress=False)
    state, there = market.start(seed=1, replicas=[3, 8]), world.start(1, np.array([3, 8]))
    for _ in play(market, state, there, range(there.steps)):
        pass
    for r in range(2):
        status = market.status(state, r)
        assert status.rounds == state.t[r] > 100
        assert status.waiting == 0
        for name in EVERYTHING.names:
            assert math.isclose(status.averages[name] * status.rounds, trace.total(name)[r], abs_tol=1e-9)
        for c in EVERYTHING.subject_to:
            if c.spends:
                account = status.accounts[c.outcome]
                assert math.isclose(account.spent, trace.total(c.outcome)[r], abs_tol=1e-9)
                assert math.isclose(account.left + account.spent, c.total_over(150))
                assert account.held == 0
                assert math.isclose(account.pace, account.spent / c.total_over(150) / (status.rounds / 150))
            elif c.by == "district":  # of known shares; a trace divides by all steps, also those without a decision
                measured = trace.measure(c)[-1, r] * trace.elapsed[-1, r]
                assert math.isclose(status.standings[c.label].value * status.rounds, measured, abs_tol=1e-9)
        gain = trace.as_arrived().objective()[-1, r] * trace.elapsed[-1, r]
        assert math.isclose(status.objective * status.rounds, gain, abs_tol=1e-9)


@pytest.mark.parametrize("each", [made for made, _ in POLICIES], ids=lambda p: p.name)
def test_every_policy_has_a_status_from_the_start(each):
    state = each.start(replicas=2)
    status = each.status(state, 1)
    assert status.rounds == 0
    assert status.objective is None
    assert str(status).startswith("0 of ")
    shown = status.averages, status.accounts, status.standings, status.credits, status.held_out, status.prices
    assert len(status.to_frame()) == sum(map(len, shown)) + len(status.traffic)
    with pytest.raises(InvalidInput, match="replica"):
        each.status(state, 2)


def test_a_status_in_words_says_what_is_missed_and_what_is_held():
    problem = eh.Problem(
        actions=("none", "call"),
        outcomes=(eh.Outcome("answer"), eh.Outcome("minutes", high=9.0)),
        maximize="answer",
        subject_to=(eh.Budget("minutes", total=90), eh.Floor("answer", rate=0.5)),
        horizon=20,
    )
    calls = policy(2, problem)
    state = calls.start()
    for _ in range(3):
        calls.observe(state, calls.act(state, calls.encode({}, offered=["call"])), {"answer": 0, "minutes": 4})
    calls.act(state, calls.encode({}, offered=["call"]))
    told = str(calls.status(state))
    assert told.splitlines()[0] == "4 of 20 rounds decided, 1 outcome to come"
    assert "12 of 90 spent, 9 held, 69 left; pace 67%" in told
    assert "0 (at least 0.5), missed so far" in told
