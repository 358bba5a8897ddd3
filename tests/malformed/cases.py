"""Features, cases, data frames and outcomes by name that do not fit."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

import evenhand as eh
from tests.malformed.tables import each
from tests.policy.test_names import AGE, CASE, CHANNEL, MAIL, policy, problem_of

NAN = math.nan
TWO = "Categorical('c').levels: expected at least two different levels"
ENCODED = policy(12)
FRAME = pd.DataFrame({"age": [50, 30], "channel": ["phone", "web"], "zone": ["land", "town"], "more": [1, 2]})
numeric, levels = partial(eh.Numeric, "age"), partial(eh.Categorical, "c")


class Short:
    """A feature of one's own that says less than it promises."""

    name, units = "x", ("x1", "x2")

    def encode(self, value):
        return (1.0,)


def short(value):
    problem = replace(MAIL, features=(Short(),), groups=(), subject_to=())
    eh.resolving(problem, eh.PerAction.of(problem)).encode({"x": value})


def mail(*features):
    return lambda: eh.Problem(**{**problem_of(MAIL), "features": features})


def case(message, change, **more):
    return (lambda: ENCODED.encode(CASE | change, **more)), message


def frame(message, change):
    return (lambda: ENCODED.encode_frame(change(FRAME))), message


def told(message, said):
    """Outcomes of a decision that goes on to wait for them."""

    def call():
        state = ENCODED.start()
        decision = ENCODED.act(state, ENCODED.encode(CASE, offered=["letter"]))
        try:
            ENCODED.observe(state, decision, said)
        finally:
            assert ENCODED.status(state).waiting == 1
            ENCODED.observe(state, decision, {"answer": 1, "cents": 2})

    return call, message


ROWS = [
    (lambda: numeric(5, 5), "Numeric('age'): expected a range"),
    (lambda: numeric(NAN, 5), "Numeric('age').low: expected a finite"),
    (lambda: numeric(-1e308, 1e308), "Numeric('age'): expected a range"),
    (lambda: eh.Numeric("", 0, 1), "Numeric.name"),
    (lambda: numeric(lo=3), "lo: expected one of the arguments of Numeric"),
    (lambda: eh.Numeric(), "name, low, high: expected a value each, as in Numeric(name, low, high), got nothing"),
    (lambda: numeric(), "low, high: expected a value each, as in Numeric(name, low, high), got nothing"),
    (lambda: numeric(18), "high: expected a value, as Numeric needs one"),
    *each(levels, "Categorical('c').levels: expected a sequence", "web"),
    *each(levels, "Categorical.levels: expected a sequence", {"web", "phone"}, None),
    *each(levels, TWO, ("web",), ("web", "web")),
    (lambda: levels(("web", "shop"), other="fax"), "Categorical('c').other"),
    *each(AGE.encode, "age: expected a finite number", "old", math.inf, None),
    *each(CHANNEL.encode, "channel: expected one of ('web', 'phone', 'shop'), got ", "fax", NAN),
    *each(replace(CHANNEL, other="web").encode, "channel: expected one of",
          None, NAN, pd.NA, b"web", ["web"], np.array(["web", "shop"]), {}),
    (mail(AGE, eh.Numeric("zone", 0, 1)),
     "features: 'zone': expected a name other than that of a grouping, as no case can be in group 'town'"),
    (mail(AGE, AGE), "features: expected names that differ"),
    (mail("age"), "Problem.features[0]: expected a Feature"),
    (lambda: short("one"), "Short('x').encode: expected as many numbers as it has units, 2, got 1"),
    # cases
    (lambda: ENCODED.encode(None), "case: expected a mapping from ['age'... got None"),
    (lambda: ENCODED.encode({"aeg": 3}), "aeg: ...did you mean age?"),
    (lambda: ENCODED.encode({"age": 50, "channel": "web"}), "zone: expected a value"),
    case("zip: expected one of", {"zip": 1}),
    case("zone: expected one of ('town', 'land'), got 'sea'", {"zone": "sea"}),
    case("channel: expected one of", {"channel": ["web"]}),
    case("channel: ...got 'phon' (did you mean phone?)", {"channel": "phon"}),
    case("offered: expected one of the actions", {}, offered=["fax"]),
    case("offered: ...got 'cal' (did you mean call?)", {}, offered=["cal"]),
    case("offered: expected a collection", {}, offered="call"),
    case("offered: expected a collection", {}, offered=5),
    case("known: expected one of the known outcomes", {}, known={"answer": 1}),
    case("known: ...got 'minute' (did you mean minutes?)", {}, known={"minute": 1}),
    case("known: expected a mapping", {}, known=["minutes"]),
    case("known: minutes: expected one of the actions", {}, known={"minutes": {"fax": 1}}),
    case("known: minutes: expected a finite number", {}, known={"minutes": NAN}),
    # frames
    frame("row 1: channel: expected one of", lambda f: f.assign(channel=["web", "fax"])),
    frame("row 1: channel: expected one of ... got <NA>",
          lambda f: f.assign(channel=pd.array(["web", None], "string"))),
    frame("channel: expected a column, ...got 2 of this name", lambda f: pd.concat([f, f[["channel"]]], axis=1)),
    frame("age: expected a column", lambda f: f.drop(columns="age")),
    frame("row 1: age: expected a value", lambda f: [CASE, {"channel": "phone", "zone": "land"}]),
    frame("frame: expected a data frame, or a sequence of cases, got {'age'", lambda f: CASE),
    # outcomes
    told("outcomes['cents']: expected a number, or None", {"answer": 1}),
    told("outcomes: expected one of", {"answer": 1, "cents": 2, "anwser": 1}),
    told("outcomes['answer']: expected a finite number", {"answer": "yes", "cents": 2}),
    told("outcomes['answer']: expected a finite number", {"answer": NAN, "cents": 2}),
    told("...answer", {"answer": 2, "cents": 2}),
    told("outcomes: expected those of 1 plays", [{"answer": 1, "cents": 2}] * 2),
    told("outcomes: expected a mapping", [1]),
    told("outcomes: expected a mapping from names to numbers, or a sequence", 1),
    told("outcomes: expected ...(`expire` settles what will never arrive), got None", None),
]  # fmt: skip
