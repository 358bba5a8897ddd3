"""The reference that no constraint holds back."""

from evenhand.environments import Court
from evenhand.models import Fixed, Logistic
from evenhand.recipes import ucb
from evenhand.run.simulation import play, simulate


def test_it_plays_what_looks_best_at_constant_prices():
    court = Court(horizon=200)
    policy = ucb(court.problem, Logistic(n_features=5, width=Fixed(0.1)), warmup=20)
    state = policy.start(seed=1, replicas=3)
    for r in play(policy, state, court.start(1, state.replicas), range(200)):
        assert (r.decision.prices == 1.0).all()
        assert r.decision.steered.all() == (r.step >= 20)
        if r.step >= 20:
            assert (r.decision.plays[:, 0] == r.decision.worth.argmax(1)).all()


def test_it_overspends_where_that_pays():
    court = Court(horizon=1000)
    trace = simulate(ucb(court.problem, Logistic(n_features=5)), court, replicas=3, progress=False)
    assert (trace.total("ride") + trace.total("voucher") > 1.5 * (50 + 200)).all()
