"""Values out of range, refunds and rounds after the horizon say so where they happen, once."""

import warnings

import pandas as pd
import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandWarning
from evenhand.live.http import app
from evenhand.policy.after_horizon import decide_late
from evenhand.policy.checks import refunds
from evenhand.recipes import uniform
from tests.live.http_campaign import serving

ROUNDS = 3
CENTS = eh.Outcome("cents", known={"letter": 80})


def shop(cents=CENTS):
    return eh.Problem(
        actions=("none", "letter"),
        features=(eh.Numeric("age", 20, 60), eh.Categorical("channel", ("web", "phone"), other="web")),
        outcomes=(eh.Outcome("answer"), cents),
        maximize="answer",
        subject_to=(eh.Budget("cents", total=200),),
        horizon=ROUNDS,
    )


def policy(**options):
    problem = shop(**options)
    return eh.resolving(problem, eh.PerAction.of(problem))


CASE = {"age": 30, "channel": "web"}


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert all(w.category is EvenhandWarning for w in found)
    assert {w.filename for w in found} <= {__file__}, "warnings are about the call of the user"
    return [str(w.message) for w in found]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (CASE, []),
        (CASE | {"age": 20}, []),
        (CASE | {"age": 60.5}, ["age: 60.5 is out of its range, so the nearest end counts (said once)"]),
        (CASE | {"channel": "fax"}, ["channel: 'fax' is none of its levels, so another counts (said once)"]),
    ],
)
def test_a_value_out_of_range_is_warned_of_once_by_feature(case, said):
    one = policy()
    assert told(lambda: one.encode(case)) == said
    assert told(lambda: one.encode(case | {"age": 1e6} if "age" in str(said) else case)) == []
    assert told(lambda: policy().encode(case)) == said, "another policy says it again"
    assert told(lambda: policy().encode_frame([CASE, case, case])) == said
    assert told(lambda: policy().encode_frame(pd.DataFrame([CASE, case]))) == said


REFUND = "cents: -80 is below 0, so a budget gets it back"


def test_a_cost_below_zero_is_warned_of_unless_it_was_declared():
    known = {"cents": {"letter": -80}}
    one = policy()
    assert told(lambda: one.encode(CASE, known={"cents": {"letter": 10}})) == []
    assert told(lambda: one.encode(CASE, known=known)) == [f"{REFUND} (said once)"]
    assert told(lambda: one.encode(CASE, known=known)) == []
    ranged = policy(cents=eh.Outcome("cents", known={"letter": 80}, low=-100, high=100))
    assert told(lambda: ranged.encode(CASE, known=known)) == []
    declared = eh.Outcome("cents", known={"letter": 80, "none": -1})
    assert told(lambda: policy(cents=declared).encode(CASE, known=known)) == []


def test_outcomes_that_no_budget_reads_may_be_below_zero():
    problem = eh.Problem(
        actions=("a", "b"), outcomes=(eh.Outcome("gain"), eh.Outcome("worth", known=1)), maximize="gain", horizon=9
    )
    assert refunds(problem, -problem.declared) == {}


def test_a_round_after_the_horizon_is_warned_of_once():
    one = policy()
    state, context = one.start(), one.encode(CASE)
    for _ in range(ROUNDS):
        assert told(lambda: one.act(state, context)) == []
    said = "the horizon of 3 rounds is over: nothing is played any longer (policy.late.decide_late goes on)"
    assert told(lambda: one.act(state, context)) == [said]
    assert told(lambda: one.decide(state, context)) == []
    assert told(lambda: decide_late(one, state, context)) == []


def test_replicas_that_go_on_and_simulations_do_not_warn():
    world = eh.environments.MixedArms(horizon=20)
    assert told(lambda: eh.simulate(uniform(world.problem, world.n_features), world, replicas=2, progress=False)) == []
    one = policy()
    state, context = one.start(replicas=2), one.encode(CASE)
    context = type(context)(*(None if z is None else z.repeat(2, 0) for z in context))
    state.t[0] = ROUNDS
    assert told(lambda: one.decide(state, context)) == []


def test_replies_warn_each_time_and_also_if_they_are_repeated():
    campaign = eh.Campaign.open("memory://", "shop", policy())
    campaign.change(after="go on", why="a long autumn", by="anna")
    first = campaign.decide(CASE, key="0")
    assert first.warnings == ()
    odd = campaign.decide(CASE | {"age": 99}, key="1", offered=["letter"], known={"cents": {"letter": -80}})
    wanted = ("age: 99 is out of its range, so the nearest end counts", REFUND)
    assert odd.warnings == wanted
    again = campaign.decide(CASE | {"age": 99}, key="1", offered=["letter"], known={"cents": {"letter": -80}})
    assert (again.repeated, again.warnings) == (True, wanted)
    assert "warning  age: 99" in repr(odd)
    campaign.decide(CASE, key="2")
    late = campaign.decide(CASE, key="3")
    assert late.warnings == ("the horizon of 3 rounds is over",)


@pytest.mark.parametrize("frozen", [False, True])
def test_replies_over_http_have_warnings(frozen):
    campaign = eh.Campaign.open("memory://", "shop", policy())
    cases = [CASE, CASE | {"channel": "fax"}, CASE, CASE]
    with serving(app(campaign)) as client:
        asked = [{"key": f"{i}", "case": case, "frozen": frozen} for i, case in enumerate(cases)]
        found = [one["warnings"] for one in client.post("/decide", json=asked).json()]
        assert found == [
            [],
            ["channel: 'fax' is none of its levels, so another counts"],
            [],
            ["the horizon of 3 rounds is over"],
        ]
        described = str(client.get("/openapi.json").json()["paths"]["/decide"])
    assert "'warnings'" in described
