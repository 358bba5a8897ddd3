"""Memories against plain NumPy, and what they do in policies, campaigns and files."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.environments import Delayed
from evenhand.live import Campaign
from evenhand.live.dashboard.page import render_file
from evenhand.logs.settings import Settings
from evenhand.models import BayesianRidge, Memories, PerAction, Restarting, Ridge
from evenhand.run.simulation import play
from evenhand.testing import check_policy
from tests.calls import ask, tell
from tests.drift_worlds import WORLDS, Drifting, share
from tests.sales import Sales

ONE = np.ones((1, 1, 1))
INNER = BayesianRidge(n_features=9, n_outcomes=2)
QUICK = {
    "memories": Memories(inner=INNER, half_lives=(60, 20), judge=30, every=5),
    "memories of ridges": Memories(inner=Ridge(n_features=9, n_outcomes=2), half_lives=(40,), judge=30, every=5),
    "restarting": Restarting(inner=INNER, nats=1, young=10, every=30),
}
QUICK["restarting memories"] = Restarting(inner=QUICK["memories"], nats=1, young=10, every=30)
QUICK["memories that restart"] = Memories(inner=QUICK["restarting"], half_lives=(60, 20), judge=30, every=5)


def learning(model, y):
    """The state after outcomes of one feature that is 1, and the means before each of them."""
    state, means = model.start(1, np.zeros(1), np.ones(1), 2000), []
    for value in y:
        means.append(ask(model, state, ONE, ONE)[0].item())
        tell(model, state, ONE, value * ONE, np.ones(1), ONE)
    return state, np.array(means)


def test_weights_are_those_of_discounted_squared_errors_in_units_of_one_noise():
    """By hand: ridge 1 on a feature of 1 has mean sum w y / (1 + sum w), and memories fade after a lesson."""
    lives, judge, doubt, every = (np.inf, 20.0, 6.0), 15.0, 0.7, 4
    model = Memories(inner=Ridge(n_features=1), half_lives=(6, 20), judge=judge, doubt=doubt, every=every)
    y = np.random.default_rng(0).random(60) * 0.3 + 0.5 * (np.arange(60) >= 40)
    errors, judged, sums, count, said = np.zeros(3), 0.0, np.zeros(3), np.zeros(3), []
    for t, value in enumerate(y):
        mean = sums / (1.0 + count)
        worse = 0.5 * errors / ((1.0 / 16.0 + errors.min()) / (1.0 + judged)) + doubt * np.arange(3)
        w = np.exp(worse.min() - worse)
        said.append(w @ mean / w.sum())
        errors = errors * 0.5 ** (1.0 / judge) + (value - mean) ** 2
        judged = judged * 0.5 ** (1.0 / judge) + 1.0
        keep = 0.5 ** (every / np.array(lives)) if t % every == every - 1 else 1.0
        sums, count = keep * (sums + value), keep * (count + 1.0)
    state, means = learning(model, y)
    np.testing.assert_allclose(means, said, rtol=1e-9)
    np.testing.assert_allclose(state.errors[0, :, 0], errors, rtol=1e-9)
    assert model.weights(state)[0].argmax() > 0


def test_means_are_averaged_and_what_one_memory_knows_is_not_explored():
    """One replica whose outcomes change, and one whose outcomes do not."""
    model = Memories(inner=BayesianRidge(n_features=1), half_lives=(20, 5), judge=10, every=2)
    state, w = model.start(2, np.zeros(1), np.ones(1), 2000), np.ones((2, 1, 1))
    for t in range(60):
        tell(model, state, w, np.array([t >= 40, 0.3])[:, None, None], np.ones(2), w)
    said = np.array([ask(model.inner, member, w, w) for member in state.members])[:, :, :, 0, 0]
    own = model.weights(state)
    assert own.argmax(1).tolist() == [2, 0]
    mean, bonus = ask(model, state, w, w)
    np.testing.assert_allclose(mean[:, 0, 0], (own.T * said[:, 0]).sum(0), rtol=1e-12)
    assert bonus[:, 0, 0].tolist() == said[:, 1].min(0).tolist()
    assert said[:, 1].argmin(0).tolist() == [2, 1]


def acts(model):
    """The plays of two replicas."""
    world = Sales(subject_to=(eh.Budget("dollars", total=20),), horizon=150)
    policy = eh.resolving(world.problem, model)
    state = policy.start(seed=3, replicas=2)
    return np.array([r.taken.plays for r in play(policy, state, world.start(3, state.replicas), range(150))])


def test_one_that_forgets_nothing_acts_as_the_model_inside():
    for model in (Memories(inner=INNER, half_lives=()), Restarting(inner=INNER, nats=50)):
        assert (acts(model) == acts(INNER)).all()


def test_either_inside_the_other_acts_as_the_memories_where_nothing_begins_anew():
    """Memories let both models of `Restarting` fade, which keeps the horizon of what it wraps up to date."""
    quick = {"half_lives": (60, 20), "judge": 30, "every": 5}
    plain = Memories(inner=INNER, **quick)
    for model in (
        Memories(inner=Restarting(inner=INNER, nats=1e9, young=10, every=30), **quick),
        Restarting(inner=plain, nats=1e9, young=10, every=30),
    ):
        assert (acts(model) == acts(plain)).all()


@pytest.mark.parametrize("late", [0, 7])
@pytest.mark.parametrize("model", QUICK.values(), ids=QUICK)
def test_policies_act_alike_in_a_batch_alone_and_after_saving(model, late):
    world = Sales(subject_to=(eh.Budget("dollars", total=15),), horizon=100)
    check_policy(eh.resolving(world.problem, model), Delayed(world, late) if late else world)


def test_a_single_half_life_is_forgetting_and_nothing_else():
    model = Memories(inner=Ridge(n_features=1), half_lives=(10,), keeps_all=False, every=1)
    y = np.random.default_rng(1).random(50)
    w = 0.5 ** (np.arange(50, 0, -1) / 10)
    state, _ = learning(model, y)
    assert ask(model, state, ONE, ONE)[0].item() == pytest.approx(w @ y / (1.0 + w.sum()))


def test_a_memory_explores_as_if_no_more_rounds_were_to_come_than_it_lasts():
    """ln(1 + m^2) with m = min(rounds to come, h / ln 2) before any data, as one feature has q = 1."""
    one = {"judge": 5, "keeps_all": False, "inner": BayesianRidge(n_features=1)}
    state = {life: learning(Memories(half_lives=(life,), **one), [0.5])[0] for life in (10, 100, 1e6)}
    ahead = {life: s.members[0].ahead.item() * 2000 for life, s in state.items()}
    assert ahead == pytest.approx({10: 10 / np.log(2), 100: 100 / np.log(2), 1e6: 1999})


def test_rows_that_are_taught_age_memories_and_use_up_no_rounds():
    problem = Sales(subject_to=(), horizon=100).problem
    policy = eh.resolving(problem, PerAction(inner=Memories(inner=Ridge(n_features=1, n_outcomes=2)), actions=4))
    assert policy.model.by_action == 4
    model = Memories(inner=BayesianRidge(n_features=1), half_lives=(10,), every=5)
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    lesson = eh.models.base.ROUND._replace(weight=2.0, taught=True)
    for _ in range(4):
        model.update(state, ONE, ONE, ONE > 0, ONE[None], lesson)
    assert (state.rounds.item(), state.age.item()) == (0.0, 2.0)
    keep = 0.5 ** (6 / 10)
    assert state.members[1].count.item() == pytest.approx(6 * keep + 2)


def test_notes_say_the_weights_and_since_when_the_world_has_changed():
    model = Memories(inner=Ridge(n_features=1), half_lives=(30,), judge=20, every=5)
    calm, _ = learning(model, np.full(100, 0.3))
    (said,) = model.notes(calm, 0)
    assert said.text.startswith("memories: all ")
    assert not said.alarm
    state, _ = learning(model, np.repeat([0.0, 1.0], 100))
    said, alarm = model.notes(state, 0)
    assert alarm.alarm
    assert not said.alarm
    assert 101 <= state.since.item() <= 120
    assert f"since round {state.since.item():.0f} of those learned" in alarm.text
    weights = model.weights(state)[0]
    assert said.text == f"memories: all {weights[0]:.0%}, half-life 30 {weights[1]:.0%}"


MAIL = eh.Problem(
    actions=("none", "letter"), outcomes=(eh.Outcome("answer", free=("none",)),), maximize="answer", horizon=500
)


def answered(model, rounds, answer):
    """A campaign whose letters are answered, or not, by their number."""
    campaign = Campaign.open("memory://", "mail", eh.resolving(MAIL, model))
    for t in range(rounds):
        reply = campaign.decide({}, key=f"{t}", offered=["letter"])
        campaign.observe(reply.id, {"answer": answer(t)})
    return campaign


@pytest.mark.parametrize("kind", ["memories", "restarting"])
def test_status_report_and_page_say_what_the_model_says(kind):
    inner = PerAction.of(MAIL, Ridge)
    model = {
        "memories": Memories(inner=inner, half_lives=(15,), judge=10, every=3),
        "restarting": Restarting(inner=inner, nats=3, young=5, every=20),
    }[kind]
    calm, changed = (answered(model, 100, answer) for answer in (lambda t: 0, lambda t: int(t >= 60)))
    assert calm.report()["alarms"] == []
    first = {"memories": "memories: all ", "restarting": "began anew: never"}[kind]
    assert first in str(calm.status())
    assert first in render_file(calm)
    (alarm,) = changed.report()["alarms"]
    assert alarm.startswith("The world has changed: ")
    assert alarm in render_file(changed)
    assert changed.report()["notes"][-1]["alarm"]
    assert "  alarm      " in str(changed.status())


def test_wrappers_pass_on_what_the_model_inside_says():
    memories = Memories(inner=Ridge(n_features=1), half_lives=(30,), judge=20, every=5)
    outer = Restarting(inner=memories, nats=1e9)
    assert [n.text[:14] for n in outer.notes(learning(outer, np.full(50, 0.3))[0], 0)] == [
        "began anew: ne", "memories: all "
    ]  # fmt: skip
    other = Memories(inner=Restarting(inner=Ridge(n_features=1)), half_lives=(30,), judge=20, every=5)
    assert [n.text[:14] for n in other.notes(learning(other, np.full(50, 0.3))[0], 0)] == [
        "memories: all ", "began anew: ne"
    ]  # fmt: skip


def test_models_without_notes_say_nothing():
    campaign = answered(PerAction.of(MAIL, Ridge), 3, lambda t: 0)
    assert campaign.status().notes == ()
    assert "The model" not in render_file(campaign)


def test_a_problem_file_names_them():
    shop = Sales(subject_to=(), horizon=100).problem
    table = {"name": "resolving", "model": {"name": "memories", "inner": {"kind": "bayesian_ridge"}, "judge": 300}}
    assert Settings.of(table).build_model(shop, 9) == Memories(inner=INNER, judge=300)
    table["model"] = {"name": "restarting", "inner": {"kind": "bayesian_ridge"}, "nats": 9}
    assert Settings.of(table).build(shop, 9).model == Restarting(inner=INNER, nats=9)
    table["model"] = {"name": "restarting", "inner": {"kind": "memories", "inner": {"kind": "bayesian_ridge"}}}
    assert Settings.of(table).build_model(shop, 9) == Restarting(inner=Memories(inner=INNER))
    table["model"] = {"name": "restarting", "inner": {"kind": "null_model"}}
    with pytest.raises(eh.core.errors.InvalidInput, match=r"inner.*bayesian_ridge"):
        Settings.of(table).build_model(shop, 9)


@pytest.mark.slow
def test_memories_follow_a_slow_drift_and_cost_next_to_nothing_without_one():
    """Shares of the oracle, 4 replicas. In 6 of 8,000 rounds standard errors are .001; the docs have those numbers."""
    for name, least in (("slow", 0.03), ("nothing drifts", -0.004)):
        world = Drifting(effects=WORLDS[name], horizon=4000)
        best = world.best(4)
        plain, more = (share(world, model, 4, best=best)[0].mean() for model in (INNER, Memories(inner=INNER)))
        assert more - plain > least
