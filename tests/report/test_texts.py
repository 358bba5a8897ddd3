"""What objects show of themselves: names and counts in a few lines, however large they are, and escaped tables."""

import pydoc
import re

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.records import Decision, Offer, Worth
from evenhand.core.texts import amount
from evenhand.offline.lists.plan import Used
from evenhand.report.summary import Ending, Line, Summary, number

NASTY = '<b>"a & b"</b>'


def make(actions=3, horizon=40):
    names = (*(f"action {i}" for i in range(actions - 1)), NASTY)
    costs = dict.fromkeys(names[1:], 1.0)
    return eh.Problem(
        actions=names,
        outcomes=(eh.Outcome("answer"), eh.Outcome("cost", known=costs)),
        maximize="answer",
        subject_to=(eh.Budget("cost", total=horizon / 4),),
        features=(eh.Numeric(f"size of {NASTY}", 0, 1),),
        horizon=horizon,
    )


def started(problem, replicas=1):
    policy = eh.ucb(problem, eh.PerAction.of(problem, eh.Ridge), warmup=0, name=f"mine {NASTY}")
    state = policy.start(seed=3, replicas=replicas)
    return policy, state


def everything(problem, replicas):
    policy, state = started(problem, replicas)
    a = len(problem.actions)
    groups = np.zeros((replicas, 1, 0), np.int64)
    features = np.stack([np.arange(a), np.ones(a), np.ones(a)], 1)[None].repeat(replicas, 0)
    context = eh.Context(features, problem.declared[None], groups, np.ones((1, a), bool))
    decision = policy.act(state, context)
    lines = tuple(Line(f"{NASTY} {i}", 0.5, 0.1, 0.4, None) for i in range(a))
    summary = Summary(NASTY, replicas, "", (0, 0), Ending(0, 0, 0), Ending(0, 0, 0), lines)
    return [problem, policy, state, context, decision, policy.status(state), summary]


@pytest.mark.parametrize(("actions", "replicas"), [(3, 1), (400, 1), (400, 300)])
def test_texts_are_short_however_large_the_problem_is(actions, replicas):
    for thing in everything(make(actions), replicas):
        lines = repr(thing).split("\n")
        assert len(lines) <= 12, thing
        assert max(map(len, lines)) <= 160, thing
        assert "array(" not in repr(thing)


def test_a_trace_says_whose_it_is_and_where_it_ended():
    world = eh.environments.Court(horizon=100)
    policy = eh.uniform(world.problem, world.n_features, name="a < b")
    trace = eh.simulate(policy, world, replicas=2, progress=False)
    assert repr(trace).startswith("Trace of 'a < b': 2 replicas, 100 rounds, seed 0\n  appears ")
    assert len(repr(trace).split("\n")) <= 12
    for thing in (trace, trace.summary()):
        assert "a &lt; b" in thing._repr_html_()
        assert "a < b" not in thing._repr_html_()
    assert repr(trace.summary()) == str(trace.summary())


def test_tables_of_notebooks_are_escaped_and_load_nothing():
    shown = [t for t in everything(make(), 1) if hasattr(t, "_repr_html_")]
    assert {type(t).__name__ for t in shown} == {"Problem", "Policy", "Decision", "Status", "Summary"}
    for thing in shown:
        text = thing._repr_html_()
        assert text.startswith("<table><caption>")
        assert not re.search(r"<(?!/?(table|caption|thead|tbody|tr|th|td)>)", text), text  # no tag with attributes
        assert NASTY not in text
    assert all("&lt;b&gt;&quot;a &amp; b&quot;&lt;/b&gt;" in shown[i]._repr_html_() for i in (0, 1, 4))


def test_a_problem_shows_what_was_stated():
    assert repr(make()) == (
        "Problem: 3 actions over 40 rounds\n"
        f"  actions     action 0, action 1, {NASTY}\n"
        "  maximize    answer\n"
        "  subject to  cost at most 10 in all\n"
        "  learned     answer\n"
        "  known       cost\n"
        f"  features    size of {NASTY}"
    )


def test_a_policy_shows_its_parts():
    shown = repr(started(make())[0])
    model = "PerAction of Ridge (3 features, 1 learned outcome, width Fixed(value=0))"
    assert shown.startswith(f"Policy 'mine {NASTY}'\n  model       {model}\n")
    assert "goals       LinearReward\n" in shown
    inner = eh.PerAction(inner=eh.Ridge(n_features=2), actions=3)
    plain = eh.Problem(actions=("a", "b", "c"), outcomes=(eh.Outcome("answer"),), maximize="answer", horizon=1000)
    assert repr(eh.ucb(plain, inner)) == (
        "Policy 'ucb'\n"
        "  model     PerAction of Ridge (3 features, 1 learned outcome, width Fixed(value=0))\n"
        "  goals     LinearReward\n"
        "  choice    Staged(rounds=50, then=TopK(n_plays=1), warmup=None)\n"
        "  problem   3 actions over 1,000 rounds\n"
        "  maximize  answer"
    )


def test_a_policy_shows_the_numbers_that_its_recipe_resolved():
    court = eh.environments.Court(tolerance=0.01, horizon=2000)
    shown = repr(eh.pgd(court.problem, eh.models.Logistic(n_features=5, width=eh.models.Fixed(0.3)), hard=True))
    assert "1 learned outcome, width Fixed(value=0.3))" in shown
    assert (
        "DualGradient(step=Steady(size=0.04472), bound=[0.03882, 0.1888, 0.01" in shown
    )  # the budgets less the margin
    assert "HardBudget(total=[100, 400])" in shown
    two = eh.Problem(
        actions=("a", "b"), outcomes=(eh.Outcome("sale"), eh.Outcome("cost", high=9)), maximize="sale", horizon=9
    )
    assert "Stacked of BayesianLogistic, BayesianRidge (2 features, 2" in repr(eh.resolving(two))


def test_decisions_show_what_is_played_by_name():
    policy, state = started(make())
    context = policy.encode({f"size of {NASTY}": 0.5}, offered=["action 1"])
    assert repr(context).endswith("offered   (1, 3), 1 of 3")
    decision = policy.decide(state, context)
    assert repr(decision) == "Decision (not committed)\n  action 1  with probability 1"
    assert repr(policy.act(state, context)).startswith("Decision (number 0)\n")
    assert repr(state) == (
        "PolicyState: 1 replica, seed 3\n  numbered          0\n  decided rounds    1\n  outcomes to come  1"
    )
    nothing = policy.decide(state, context._replace(offered=np.zeros((1, 3), bool)))
    assert repr(nothing) == "Decision (not committed): nothing is played"


def test_decisions_of_a_batch_show_how_often_each_action_is_played():
    decision = everything(make(), 5)[4]._replace(plays=np.array([[1], [0], [1], [-1], [1]]))
    shown = "Decision (number 0) of 5 replicas\n  action 1  in 3 replicas\n  action 0  in 1 replica"
    assert repr(decision) == shown
    assert "candidate 1  in 3" in repr(decision._replace(names=()))


def test_a_context_of_lists_shows_their_types():
    assert "features  list" in repr(eh.Context([1], [2], [3], [4]))


@pytest.mark.parametrize("record", [eh.Context, Decision, Worth, Offer])
def test_help_shows_every_field_with_its_shape(record):
    shown = pydoc.render_doc(record, renderer=pydoc.plaintext)
    for field in record._fields:
        line = re.search(rf"^ \|  {field} +\S.*$", shown, re.MULTILINE)
        assert line, field
        assert "(" in line[0] or field == "random"


def test_amounts_have_no_exponents_where_digits_can_be_read():
    """150,000,000 was told as 1.5e+08, and .00001 as 1e-05."""
    assert [amount(x, 6) for x in (1.5e8, 6000.0, 1234.5, 0.25)] == ["150,000,000", "6,000", "1,234.5", "0.25"]
    assert [amount(x) for x in (0.00001, -0.00001234, -53210.7)] == ["0.00001", "-0.00001234", "-53,211"]
    assert number(1e-5) == "0.00001"
    assert str(Used("spend", 2e8, False, 1.5e8, 0.0)) == "spend: 150,000,000 of 200,000,000"
