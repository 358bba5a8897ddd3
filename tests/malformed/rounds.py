"""What comes in a round and cannot be used, as (call, message), and what is converted as no number changes."""

import numpy as np

from evenhand.environments import Court
from evenhand.models import Logistic, Ridge
from evenhand.recipes import pgd, ucb
from tests.examples.problems import EVERYTHING
from tests.worlds import Market

POLICY = pgd(EVERYTHING, Ridge(n_features=3, n_outcomes=2), warmup=0, step=0.1, hard=True)
WIDER = pgd(EVERYTHING, Ridge(n_features=300, n_outcomes=2), warmup=0, step=0.1, hard=True)
ELSEWHERE = ucb(Court(horizon=50).problem, Logistic(n_features=5))
WORLD = Market(problem=EVERYTHING)
Y = np.tile([0.5, 1.0], (2, 1, 1))
NAN, INF = np.nan, np.inf
FINITE = "expected a finite number, of size at most 1e+100"
KNOWN, GROUPS = "expected shape (2, 4, 2) or (1, 4, 2)", "expected shape (2, 1, 2) or (2, 4, 2)"
PLAYS = "expected different candidates below 4, or -1"
SHAPE = "outcomes: expected shape (2, 1, 2), a column for each of ('gain', 'hours')"


def lived(rounds=3):
    """A state after some rounds, the context that comes, and a committed decision on the one before."""
    world, state = WORLD.start(1, np.arange(2)), POLICY.start(seed=1, replicas=2)
    for step in range(rounds):
        decision = POLICY.act(state, world.context(step))
        if step < rounds - 1:
            POLICY.learn(state, decision, Y)
    return state, world.context(rounds), decision


def acting(**change):
    def call(state, context, decision):
        POLICY.act(state, context._replace(**{k: f(getattr(context, k)) for k, f in change.items()}))

    return call


def learning(change):
    return lambda state, context, decision: POLICY.learn(state, decision, change(Y))


def committing(**change):
    """A decision of now that was changed before it is committed."""
    return lambda s, c, d: POLICY.commit(s, c, POLICY.decide(s, c)._replace(**change))


def told(change, message):
    """Outcomes that are wrong are so, too, where all are said to be observed."""
    seen = np.ones((2, 1, 2), bool)
    both = learning(change), lambda state, context, decision: POLICY.learn(state, decision, change(Y), seen)
    return [(call, message) for call in both]


def at(index, value):
    def change(z):
        z = z.copy()
        z[index] = value
        return z

    return change


def masked(z):
    return np.ma.masked_array(z, np.zeros(z.shape, bool))


ROWS = [
    (lambda s, c, d: POLICY.decide(s, None), "context...a Context"),
    (lambda s, c, d: POLICY.decide(s, c.features), "context...a Context"),
    (lambda s, c, d: POLICY.decide(s, tuple(c)), "context...a Context"),
    (acting(features=lambda x: x.tolist()), "context.features...an array, got list"),
    (acting(features=lambda x: x.astype(object)), "context.features...numbers, got object"),
    (acting(features=lambda x: x.astype(str)), "context.features...numbers, got <U"),
    (acting(features=lambda x: x + 0j), "context.features...numbers, got complex128"),
    (acting(features=lambda x: x.astype("M8[s]")), "context.features...numbers, got datetime64"),
    (acting(features=lambda x: x.view([("a", "f8")])), "context.features...numbers"),
    (acting(features=lambda x: x.astype("g")), "context.features...numbers, got float128"),
    (acting(features=masked), "context.features...an array, got MaskedArray"),
    (acting(features=lambda x: (x * np.nan).astype("e")), "context.features...finite"),
    (acting(features=lambda x: x[:, :0]), "context...shape"),
    (acting(known=lambda z: z.astype(object)), "context.known...numbers, got object"),
    (acting(known=lambda z: z + 0j), "context.known...numbers, got complex128"),
    (acting(known=lambda z: None), "context.known...an array, got NoneType"),
    (acting(groups=lambda g: g.astype(object)), "context.groups...whole numbers, got object"),
    (acting(groups=lambda g: g.astype(str)), "context.groups...whole numbers, got <U"),
    (acting(groups=lambda g: g + 2**60), "context.groups[0, 0, 0]...columns"),
    (acting(offered=lambda o: o.astype(object)), "context.offered...true or false, got object"),
    (acting(offered=masked), "context.offered...an array, got MaskedArray"),
    (lambda s, c, d: POLICY.decide(None, c), "state...a PolicyState"),
    (lambda s, c, d: POLICY.act(POLICY, c), "state...a PolicyState"),
    (lambda s, c, d: POLICY.act(s.model, c), "state...a PolicyState"),
    (lambda s, c, d: WIDER.decide(s, c), "state...one of this policy"),
    (lambda s, c, d: ELSEWHERE.learn(s, d, Y), "state...one of this policy"),
    (lambda s, c, d: ELSEWHERE.over(s), "state...one of this policy"),
    (lambda s, c, d: POLICY.learn(s, "go", Y), "decision...a Decision"),
    (lambda s, c, d: POLICY.learn(s, None, Y), "decision...a Decision"),
    (lambda s, c, d: POLICY.learn(s, d.plays, Y), "decision...a Decision"),
    (lambda s, c, d: POLICY.commit(s, c, None), "decision...a Decision"),
    (lambda s, c, d: POLICY.cancel(s, None), "decision...a Decision"),
    (lambda s, c, d: POLICY.cancel(s, 1), "decision...a Decision"),
    (lambda s, c, d: POLICY.expire(s, None), "decision...a Decision"),
    (lambda s, c, d: POLICY.learn(s, d._replace(plays=d.plays.tolist()), Y), "decision.plays...an array"),
    (lambda s, c, d: POLICY.learn(POLICY.start(replicas=2), None, Y), "decision...a Decision"),
    (lambda s, c, d: POLICY.commit(POLICY.start(replicas=2), c, None), "decision...a Decision"),
    (lambda s, c, d: POLICY.learn(s, d._replace(counted=np.ones(())), Y), "decision.counted...1 axes, got one of 0"),
    (lambda s, c, d: POLICY.learn(s, d._replace(prices=np.zeros(0)), Y), "decision.prices...4 axes, got one of 1"),
    (lambda s, c, d: POLICY.learn(s, d._replace(known=d.known.astype(object)), Y), "decision.known...numbers"),
    (lambda s, c, d: POLICY.cancel(s, d._replace(groups=None)), "decision.groups...an array"),
    (lambda s, c, d: POLICY.expire(s, d._replace(id=np.zeros(1, np.int64))), "decision.id...shape (3,)"),
    (lambda s, c, d: POLICY.cancel(s, POLICY.decide(s, c)), "decision...never committed"),
    (learning(lambda y: None), "outcomes...an array, got NoneType"),
    (learning(lambda y: 0.5), "outcomes...an array, got float"),
    (learning(lambda y: y.tolist()), "outcomes...an array, got list"),
    (learning(lambda y: y.astype(object)), "outcomes...numbers, got object"),
    (learning(lambda y: y.astype(str)), "outcomes...numbers, got <U"),
    (learning(lambda y: y + 0j), "outcomes...numbers, got complex128"),
    (learning(masked), "outcomes...an array, got MaskedArray"),
    (learning(lambda y: y[:1]), "outcomes...shape (2, 1, 2)"),
    (lambda s, c, d: POLICY.learn(s, d, Y, "all"), "observed...an array, got str"),
    (lambda s, c, d: POLICY.learn(s, d, Y, Y), "observed...true or false"),
    (lambda s, c, d: POLICY.learn(s, d, Y, exposed=True), "exposed...an array, got bool"),
    (lambda s, c, d: POLICY.learn(s, d, Y, pending=[True]), "pending...an array, got list"),
    (lambda s, c, d: POLICY.explain(s, c, d, "0"), "replica...whole number"),
    (lambda s, c, d: POLICY.explain(s, c, d, 2), "replica...from 0 to 1"),
    (lambda s, c, d: POLICY.worth(s, None, d), "context...a Context"),
    (lambda s, c, d: POLICY.save(s, 3), "path...the path of a file"),
    (lambda s, c, d: POLICY.save(c, "state.npz"), "state...a PolicyState"),
    (lambda s, c, d: POLICY.save_decision(3, "d.npz"), "decision...a Decision"),
    # two replicas, four candidates, three features, two known outcomes, groupings of columns 0-2 and 3-4
    (acting(features=at((1, 2, 0), NAN)), f"context.features[1, 2, 0]: {FINITE}, got nan"),
    (acting(features=at((0, 0, 1), INF)), f"context.features[0, 0, 1]: {FINITE}, got inf"),
    (acting(features=at((1, 3, 2), -INF)), f"context.features[1, 3, 2]: {FINITE}, got -inf"),
    (acting(features=lambda x: np.ones((2, 4, 4))), "context.features: expected shape (2, A, 3), got (2, 4, 4)"),
    (acting(features=lambda x: x[:, :, :2]), "context.features: expected shape (2, A, 3), got (2, 4, 2)"),
    (acting(features=lambda x: x[0]), "context.features: expected shape (2, A, 3), got (4, 3)"),
    (acting(features=lambda x: x[:1]), "context.features: expected shape (2, A, 3), got (1, 4, 3)"),
    (acting(features=lambda x: np.ones((3, 4, 3))), "context.features: expected shape (2, A, 3), got (3, 4, 3)"),
    (acting(known=at((0, 1, 1), NAN)), f"context.known[0, 1, 1]: {FINITE}, got nan"),
    (acting(known=lambda z: z.tolist()), "context.known: expected an array, got list"),
    (acting(groups=lambda g: g.tolist()), "context.groups: expected an array, got list"),
    (acting(offered=lambda o: o.tolist()), "context.offered: expected an array, got list"),
    (acting(known=lambda z: z[..., :1]), f"context.known: {KNOWN}, got (1, 4, 1)"),
    (acting(known=lambda z: z[:, :3]), f"context.known: {KNOWN}, got (1, 3, 2)"),
    (acting(known=lambda z: np.ones((3, 4, 2))), f"context.known: {KNOWN}, got"),
    (acting(known=lambda z: z[0]), f"context.known: {KNOWN}, got (4, 2)"),
    (acting(groups=lambda g: g[:, :, :1]), f"context.groups: {GROUPS}, got (2, 1, 1)"),
    (acting(groups=lambda g: g[:, 0]), f"context.groups: {GROUPS}, got (2, 2)"),
    (acting(groups=lambda g: g[:, [0, 0, 0]]), f"context.groups: {GROUPS}"),
    (acting(groups=at((1, 0, 1), 1)), "context.groups[1, 0, 1]: expected columns [3, 4] of 'age', got"),
    (acting(groups=at((0, 0, 0), 3)), "context.groups[0, 0, 0]: expected columns [0, 1, 2] of 'district', got"),
    (acting(groups=at((0, 0, 0), -1)), "context.groups[0, 0, 0]: expected columns [0, 1, 2] of 'district', got"),
    (acting(groups=lambda g: g.astype(float)), "context.groups: expected whole numbers, got float64"),
    (acting(offered=lambda o: o * 1.0), "context.offered: expected true or false, got float64"),
    (acting(offered=lambda o: o[:, :3]), "context.offered: expected shape (2, 4) or (1, 4), got (2, 3)"),
    (acting(offered=lambda o: o[0]), "context.offered: expected shape (2, 4) or (1, 4), got (4,)"),
    # outcomes (2, 1, 2): gain in [0, 1], hours in [-0.5, 2]
    *told(at((1, 0, 0), NAN), "outcome 'gain' of replica 1: expected a finite number in [0, 1] (as declared), got"),
    *told(at((0, 0, 1), INF), "outcome 'hours' of replica 0: expected a finite number in [-0.5, 2] (as declared), got"),
    *told(at((0, 0, 0), 1.1), "outcome 'gain' of replica 0: expected a finite number in [0, 1] (as declared), got"),
    *told(at((1, 0, 1), -0.6), "outcome 'hours' of replica 1: expected a finite number in [-0.5, 2] (as declared)"),
    *told(lambda y: y[..., :1], f"{SHAPE}, got (2, 1, 1)"),
    *told(lambda y: np.zeros((2, 2, 2)), f"{SHAPE}, got (2, 2, 2)"),
    *told(lambda y: y[:1], f"{SHAPE}, got (1, 1, 2)"),
    *told(lambda y: y[:, 0], f"{SHAPE}, got (2, 2)"),
    (lambda s, c, d: POLICY.learn(s, d, Y, np.ones((2, 1), bool)),
     "observed: expected true or false, of shape (2, 1, 2), got bool of shape (2, 1)"),
    # decisions that were changed, settled or made elsewhere
    (lambda s, c, d: POLICY.learn(s, POLICY.decide(s, c), Y), "decision: ...got one that was never committed"),
    (lambda s, c, d: POLICY.commit(s, c, d), "decision: expected one that was not committed yet, got number 2"),
    (lambda s, c, d: POLICY.commit(s, c._replace(features=np.nan * c.features), POLICY.decide(s, c)),
     "context.features[0, 0, 0]: expected a finite number"),
    (lambda s, c, d: POLICY.commit(s, c._replace(groups=c.groups + 50), POLICY.decide(s, c)), "context.groups"),
    *((committing(counted=np.array([z, 1.0])), "decision.counted[0]: expected 0 or 1") for z in (NAN, -1.0, 0.5, 2.0)),
    (committing(plays=np.array([[4], [0]])), f"decision.plays[0]: {PLAYS}"),
    (committing(plays=np.array([[-2], [0]]), counted=np.array([0.0, 1.0])), f"decision.plays[0]: {PLAYS}"),
    (committing(plays=np.array([[-1], [0]])), "decision.counted[0]: expected 0 or 1, and 0 where nothing is played"),
    (committing(forced=np.zeros(0)), "decision: expected one of this state"),
    (committing(known=np.zeros((2, 0, 0))), "decision: expected one of this state"),
    (committing(groups=np.zeros((2, 3, 0), np.int64)), "decision: expected one of this state"),
    (lambda s, c, d: POLICY.explain(s, c, d, -1), "replica: expected a"),
    (lambda s, c, d: POLICY.worth(s, c._replace(features=np.ones((2, 4, 4))), d), "context.features: expected shape"),
    (lambda s, c, d: POLICY.worth(s, c, d._replace(row_prices=np.zeros((2, 1)))),
     "decision: expected one of this policy, with "),
    (acting(features=lambda x: np.full_like(x, 1e200)), f"context.features[0, 0, 0]: {FINITE}"),  # squares overflow
]  # fmt: skip

TAKEN = {  # conversions that change no number
    "big-endian features": {"features": lambda x: x.astype(">f8")},
    "big-endian everything": {
        "features": lambda x: x.astype(">f8"),
        "known": lambda z: z.astype(">f8"),
        "groups": lambda g: g.astype(">i8"),
    },
    "features in a file": {"features": lambda x: x.view(np.memmap)},
    "read-only features": {"features": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape)},
    "features with gaps": {"features": lambda x: np.repeat(x, 2, 2)[:, :, ::2]},
    "small groups": {"groups": lambda g: g.astype(np.int8)},
    "big-endian small groups": {"groups": lambda g: g.astype(">u2")},
}
WHOLE = {  # kinds that have all whole numbers from 0 to 3
    "half precision": "e",
    "big-endian half precision": ">e",
    "single precision": "f",
    "big-endian single precision": ">f4",
    "bytes": "b",
    "big-endian integers": ">i2",
    "unsigned integers": "L",
    "big-endian unsigned integers": ">u8",
}
