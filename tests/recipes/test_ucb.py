"""The reference that no constraint holds back."""

from evenhand.environments import Court
from evenhand.models import Fixed, Logistic
from evenhand.recipes import ucb
from evenhand.run import simulate


def test_it_plays_what_looks_best_at_constant_prices():
    court = Court(horizon=200)
    policy = ucb(court.problem, Logistic(n_features=5, width=Fixed(0.1)), warmup=20)
    state = policy.start(seed=1, replicas=3)
    world = court.start(1, state.replicas)
    for step in range(200):
        context = world.context(step)
        decision = policy.decide(state, context)
        best = policy.worth(state, context, decision).argmax(1)
        policy.commit(state, context, decision)
        assert (decision.prices == 1.0).all()
        assert (decision.forced == 0).all() == (step >= 20)
        if step >= 20:
            assert (decision.plays[:, 0] == best).all()
        for arrival in world.respond(step, context, decision)[1]:
            policy.learn(state, arrival.decision, arrival.y)


def test_it_overspends_where_that_pays():
    court = Court(horizon=1000)
    trace = simulate(ucb(court.problem, Logistic(n_features=5)), court, replicas=3, progress=False)
    assert (trace.total("ride") + trace.total("voucher") > 1.5 * (50 + 200)).all()
