"""What comes in a round and cannot be used, as (call, field, phrase), and what is converted as no number changes."""

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


def masked(z):
    return np.ma.masked_array(z, np.zeros(z.shape, bool))


ROUNDS = {
    "no context": (lambda s, c, d: POLICY.decide(s, None), "context", "a Context"),
    "features for a context": (lambda s, c, d: POLICY.decide(s, c.features), "context", "a Context"),
    "a plain tuple for a context": (lambda s, c, d: POLICY.decide(s, tuple(c)), "context", "a Context"),
    "features as lists": (acting(features=lambda x: x.tolist()), "context.features", "an array, got list"),
    "features as objects": (acting(features=lambda x: x.astype(object)), "context.features", "numbers, got object"),
    "features as text": (acting(features=lambda x: x.astype(str)), "context.features", "numbers, got <U"),
    "complex features": (acting(features=lambda x: x + 0j), "context.features", "numbers, got complex128"),
    "features as dates": (acting(features=lambda x: x.astype("M8[s]")), "context.features", "numbers, got datetime64"),
    "features of records": (acting(features=lambda x: x.view([("a", "f8")])), "context.features", "numbers"),
    "features of 80 bits": (acting(features=lambda x: x.astype("g")), "context.features", "numbers, got float128"),
    "masked features": (acting(features=masked), "context.features", "an array, got MaskedArray"),
    "flat features": (acting(features=lambda x: x.ravel()), "context.features", "shape (2, A, 3)"),
    "a feature that is NaN": (acting(features=lambda x: x * np.nan), "context.features[0, 0, 0]", "finite"),
    "a feature that is infinite": (acting(features=lambda x: x + np.inf), "context.features[0, 0, 0]", "finite"),
    "NaN in half precision": (acting(features=lambda x: (x * np.nan).astype("e")), "context.features", "finite"),
    "no candidates": (acting(features=lambda x: x[:, :0]), "context", "shape"),
    "known as objects": (acting(known=lambda z: z.astype(object)), "context.known", "numbers, got object"),
    "complex known outcomes": (acting(known=lambda z: z + 0j), "context.known", "numbers, got complex128"),
    "known as nothing": (acting(known=lambda z: None), "context.known", "an array, got NoneType"),
    "groups as objects": (acting(groups=lambda g: g.astype(object)), "context.groups", "whole numbers, got object"),
    "groups by name": (acting(groups=lambda g: g.astype(str)), "context.groups", "whole numbers, got <U"),
    "groups in parts": (acting(groups=lambda g: g + 0.5), "context.groups", "whole numbers, got float64"),
    "groups far away": (acting(groups=lambda g: g + 2**60), "context.groups[0, 0, 0]", "columns"),
    "offered as objects": (acting(offered=lambda o: o.astype(object)), "context.offered", "true or false, got object"),
    "masked offers": (acting(offered=masked), "context.offered", "an array, got MaskedArray"),
    "no state": (lambda s, c, d: POLICY.decide(None, c), "state", "a PolicyState"),
    "a policy for a state": (lambda s, c, d: POLICY.act(POLICY, c), "state", "a PolicyState"),
    "a model's state": (lambda s, c, d: POLICY.act(s.model, c), "state", "a PolicyState"),
    "a state of fewer features": (lambda s, c, d: WIDER.decide(s, c), "state", "one of this policy"),
    "a state of another problem": (lambda s, c, d: ELSEWHERE.learn(s, d, Y), "state", "one of this policy"),
    "a foreign state that is over": (lambda s, c, d: ELSEWHERE.over(s), "state", "one of this policy"),
    "a decision as text": (lambda s, c, d: POLICY.learn(s, "go", Y), "decision", "a Decision"),
    "no decision": (lambda s, c, d: POLICY.learn(s, None, Y), "decision", "a Decision"),
    "plays for a decision": (lambda s, c, d: POLICY.learn(s, d.plays, Y), "decision", "a Decision"),
    "no decision to commit": (lambda s, c, d: POLICY.commit(s, c, None), "decision", "a Decision"),
    "no decision to cancel": (lambda s, c, d: POLICY.cancel(s, None), "decision", "a Decision"),
    "an action to cancel": (lambda s, c, d: POLICY.cancel(s, 1), "decision", "a Decision"),
    "no decision to expire": (lambda s, c, d: POLICY.expire(s, None), "decision", "a Decision"),
    "a decision of lists": (
        lambda s, c, d: POLICY.learn(s, d._replace(plays=d.plays.tolist()), Y), "decision.plays", "an array",
    ),
    "no decision in a fresh state": (
        lambda s, c, d: POLICY.learn(POLICY.start(replicas=2), None, Y), "decision", "a Decision",
    ),
    "no decision to commit in a fresh state": (
        lambda s, c, d: POLICY.commit(POLICY.start(replicas=2), c, None), "decision", "a Decision",
    ),
    "a decision whose counts are a number": (
        lambda s, c, d: POLICY.learn(s, d._replace(counted=np.ones(())), Y), "decision.counted", "1 axes, got one of 0",
    ),
    "a decision of flat prices": (
        lambda s, c, d: POLICY.learn(s, d._replace(prices=np.zeros(0)), Y), "decision.prices", "4 axes, got one of 1",
    ),
    "a decision of objects": (
        lambda s, c, d: POLICY.learn(s, d._replace(known=d.known.astype(object)), Y), "decision.known", "numbers",
    ),
    "a decision without groups": (
        lambda s, c, d: POLICY.cancel(s, d._replace(groups=None)), "decision.groups", "an array",
    ),
    "a decision without a number": (
        lambda s, c, d: POLICY.expire(s, d._replace(id=np.zeros(1, np.int64))), "decision.id", "shape (3,)",
    ),
    "a decision that was not committed": (
        lambda s, c, d: POLICY.cancel(s, POLICY.decide(s, c)), "decision", "never committed",
    ),
    "no outcomes": (learning(lambda y: None), "outcomes", "an array, got NoneType"),
    "outcomes as a number": (learning(lambda y: 0.5), "outcomes", "an array, got float"),
    "outcomes as lists": (learning(lambda y: y.tolist()), "outcomes", "an array, got list"),
    "outcomes as objects": (learning(lambda y: y.astype(object)), "outcomes", "numbers, got object"),
    "outcomes as text": (learning(lambda y: y.astype(str)), "outcomes", "numbers, got <U"),
    "complex outcomes": (learning(lambda y: y + 0j), "outcomes", "numbers, got complex128"),
    "masked outcomes": (learning(masked), "outcomes", "an array, got MaskedArray"),
    "outcomes of one replica": (learning(lambda y: y[:1]), "outcomes", "shape (2, 1, 2)"),
    "an outcome that is NaN": (learning(lambda y: y * np.nan), "outcome 'gain' of replica 0", "finite"),
    "observed as text": (lambda s, c, d: POLICY.learn(s, d, Y, "all"), "observed", "an array, got str"),
    "observed as numbers": (lambda s, c, d: POLICY.learn(s, d, Y, Y), "observed", "true or false"),
    "exposed as a flag": (lambda s, c, d: POLICY.learn(s, d, Y, exposed=True), "exposed", "an array, got bool"),
    "pending as a list": (lambda s, c, d: POLICY.learn(s, d, Y, pending=[True]), "pending", "an array, got list"),
    "explained for nobody": (lambda s, c, d: POLICY.explain(s, c, d, "0"), "replica", "whole number"),
    "explained for too many": (lambda s, c, d: POLICY.explain(s, c, d, 2), "replica", "from 0 to 1"),
    "worth of no context": (lambda s, c, d: POLICY.worth(s, None, d), "context", "a Context"),
    "a path as a number": (lambda s, c, d: POLICY.save(s, 3), "path", "the path of a file"),
    "a context to be saved": (lambda s, c, d: POLICY.save(c, "state.npz"), "state", "a PolicyState"),
    "an action to be saved": (lambda s, c, d: POLICY.save_decision(3, "d.npz"), "decision", "a Decision"),
}  # fmt: skip

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
