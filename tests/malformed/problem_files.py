"""Problem files that cannot be read, as (content, message): what is wrong by itself, whatever the log."""

from tests.malformed.files import swap
from tests.replay.shop import PROBLEM
from tests.replay.test_factors import PROBLEM as PRICED

BEFORE_POLICY = PROBLEM[: PROBLEM.index("[policy]")]
TWO = swap("[outcomes.post]", '[outcomes.call]\ncolumn = "p"\nrange = [0, 0.5]\n\n[outcomes.post]')
VALUES = 'values = { "" = "none", "A" = "a", "B" = "b" }'
CHANCE, KNOWN = "constant = 0.333333", "known = { a = 1, b = 1 }"


def policy(text):
    """The problem with another policy."""
    return BEFORE_POLICY + (text if text.startswith("[policy") else f"[policy]\n{text}")


def extra(text):
    """The problem with another table, or another line of the policy."""
    return swap("[policy]", text if text.startswith("[") else f"[policy]\n{text}")


def aim(value):
    return swap('maximize = "visit"', f"maximize = {value}")


def priced(old, new):
    """The problem of prices that differ by row, with a change."""
    assert old in PRICED
    return PRICED.replace(old, new)


ROWS = [
    (swap("maximize =", "maximise ="), "problem.toml, line 2: maximise: expected one of the keys maximize"),
    (swap('maximize = "visit"', ""), "problem.toml: maximize: expected a text, or a table of finite..., got nothing"),
    (swap("= 300", "= 3e2"), "problem.toml, line 3: horizon: expected a whole number, ..., got 300.0"),
    (swap("= 300", "= 300\nallow_bad = 1.0"), "problem.toml, line 4: allow_bad: expected a fraction in [0, 1)"),
    (swap('categorical = ["town"]', 'categorical = ["age"]'), "...features: expected columns that are either"),
    (swap('numeric = ["age"]', 'numeric = ["visit"]'), "...expected columns known before acting, got ...'visit'"),
    (swap('by = "town"', 'by = "visit"'), "...expected columns known before acting"),
    (swap(VALUES, "values = {}"), "...action.values"),
    (swap(VALUES, 'values = [1]'), "...action.values: expected a table of names by logged value, or a list of"),
    (swap(CHANCE, 'constant = 0.5\ncolumn = "p"'), "...propensity: expected either ... got both"),
    (swap("range = [0, 1]", "low = 0"), "...outcomes.visit.low: expected one of the keys column, range"),
    (swap("[outcomes.visit]\nrange = [0, 1]", "[outcomes.visit]\nknown = { a = 1 }"), "...outcomes: expected at"),
    (swap(KNOWN, "known = { a = inf }"), "...outcomes.post.known: expected a table of finite numbers"),
    (swap(KNOWN, "known = { a = 1 }\nrange = [1]"), "...outcomes.post.range: expected "),
    (swap(KNOWN, "known = { none = 1, a = 1, b = 1 }"), "...Budget"),
    (swap("rate = 0.3", f"rate = {10**310}"), "...budget[0].rate: expected a finite number or ..., got 1000"),
    (swap("tolerance = 0.1", ""), "...parity[0].tolerance: expected a finite number, as Parity needs one, got nothing"),
    (swap("warmup = 20", "warmup = -1"), "...policy: Staged...: expected ... at least 0"),
    (extra("[interactions]\nc = []\n[policy]"), "...interactions: expected one of none, a, b, got c"),
    (extra("[interactions]\na = ['p']\n[policy]"), "...interactions.a: expected one of age, town, got p"),
    (extra("[groups.town]\nshares = 'even'\n[policy]"), "...groups.town.shares: expected one of log, estimated"),
    (extra("[groups.town]\nshares = { n = 0.4, s = 0.4 }\n[policy]"), "...Groups('town').shares: expected shares that"),
    # policies and models
    (extra("model = 'ridge'\nsteps = 3"),
     "...policy.steps: expected one of the keys name, ..., warmup, hard, ridge, width, clipped, got"),
    (extra("model = 'ridge'\nridge = 0"), "...policy.model: Ridge.ridge: expected a number above 0"),
    (extra("model = 'ridge'\nwidth = -1"), "...policy.width: expected a number of at least 0"),
    (extra("model = 'logistic'").replace("range = [0, 1]", "range = [0, 2]"),
     "...policy.model: Logistic: expected an outcome with a range"),
    (policy('name = "resolving"\nwarmup = 2.5'), "...policy.warmup: expected a whole number, got 2.5"),
    (policy('name = "resolving"\nmodel = "ridge"\nhard = true'), "...policy.hard: expected one of the keys"),
    (policy("name = 3"), "...policy.name: expected a text, got 3"),
    (policy("model = 3"), "...policy.model: expected a text, got 3"),
    (policy("model = 'tree'"), "...policy.model: expected one of ..., ridge, ..., got tree"),
    (policy('name = "square_cbwk"'), "...policy.rate: expected ..., as square_cbwk needs one, got nothing"),
    (policy('name = "fw"'), "...policy.recipe: expected an argument that a file can give, got fw, which needs Python"),
    (policy('name = "mixed_oracle"\nprices = [0.1]'), "...policy: prices: expected 5, one per constraint row, got 1"),
    (policy('name = "bwcr"'), "...policy: problem.subject_to: expected budgets, floors"),
    (policy('name = "fw_linucb"'), "...policy: problem...: expected"),
    (policy("[policy.model]\nname = 'ridge'\nrigde = 2"), "...policy.model.rigde: ...(did you mean ridge?)"),
    (policy("[policy.model]\nname = 'sklearn'"), "...policy.model.estimator: expected an argument that a file can"),
    (policy("[policy.model]\nname = 'ridge'\nwidth = { kind = 'narrow' }"),
     "...policy.model.width.kind: expected one of fixed, ..., got narrow"),
    (policy("[policy.model]\nn_features = 3"), "...policy.model.n_features: expected one of the keys"),
    # objectives
    (aim('{ kind = "gini", outcomes = ["visit"] }'), "...maximize.kind: expected one of ..., got gini"),
    (aim('{ kind = "generalized_gini", outcome = ["visit"] }'), "...maximize.outcome: ...(did you mean outcomes?)"),
    (aim('{ kind = "generalized_gini", outcomes = ["visits"] }'), "...maximize: expected one of the outcomes"),
    (aim('{ kind = "concave", outcomes = ["visit"] }'), "...maximize.build: expected an argument that a file can give"),
    (aim('{ kind = "generalized_gini", outcomes = ["visit", "post"], weights = [1, 0.25] }'), "...policy: "),  # pgd
    # factors
    (priced('times = "price"', 'times = "prize"'), "...times: expected one of ...'price'..., got prize (did you"),
    (priced('times = "price"', 'times = "sale"'), "...known for certain, got itself"),
    (priced('a = "price of a"', 'c = "price of a"'), "...outcomes.price.column: expected one of a, b, got c"),
    (priced('a = "price of a"', "a = 3"), "...outcomes.price.column: expected a text, or a table of texts"),
    (priced('a = "price of a"', 'a = "bought"'), "...known outcomes: expected columns known before acting"),
    (priced("known = { a = 1, b = 1 }", 'known = { a = 1 }\ntimes = "price"'), "...outcomes.post.times: expected one"),
]  # fmt: skip
