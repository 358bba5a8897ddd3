"""Problems, outcomes, groups and constraints that make no sense."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from evenhand.environments import Court
from evenhand.objectives import Linear
from evenhand.problem import Budget, Floor, Groups, Outcome, Parity, Problem, Ratio, Traffic, Within
from evenhand.sets import Ball
from evenhand.welfare import Capped, Satisfaction
from tests.ads import Ads
from tests.malformed.tables import changes, each, wrong

NAN, INF = math.nan, math.inf
DID = "did you mean"
BALL = Ball((0.4, 0.1, 0.0), 0.1)
COST = Outcome("cost", known={"go": 1})
problem = partial(
    Problem,
    actions=("stay", "go"),
    outcomes=(Outcome("gain"), COST),
    maximize="gain",
    subject_to=(Budget("cost", rate=0.5),),
    groups=(Groups("side", {"left": 0.5, "right": 0.5}),),
    horizon=10,
)
budget, parity, floor = partial(Budget, "cost"), partial(Parity, "cost", by="side", tolerance=0.1), partial(Floor, "x")
ratio = partial(Ratio, "cost", over="gain")
bill = partial(Outcome, "cost", mean={"go": 0.5})
matches = partial(Satisfaction, Capped(1.0), 2)


def under(*constraints):
    return problem(subject_to=constraints)


def court(*constraints):
    return replace(Court(horizon=1000).problem, subject_to=constraints)


def sold(*outcomes):
    """A problem of which one outcome is multiplied by another."""
    return problem(outcomes=(*outcomes, Outcome("price", known={"go": 2.0})), subject_to=(), maximize="sale")


ROWS = [
    *wrong(problem, "horizon: expected a whole number of at least 1", horizon=(0, -3)),
    *wrong(problem, "Problem.horizon: expected a whole number", horizon=(9.5, NAN, "100", [100])),
    (lambda: problem(horizon=10**400), "Problem.horizon: ...at most 64 bits"),
    (lambda: problem(horizon=2**60), "horizon: ...at most 9,007,199,254,740,992"),
    *wrong(problem, "n_plays: expected a whole number", n_plays=(0, -1)),
    *wrong(problem, "Problem.n_plays: expected a whole number", n_plays=(1.5, True, None, "2")),
    (lambda: problem(n_plays=3, groups=(Groups("by", ("x", "y"), of={"stay": "x", "go": "y"}),)),
     "n_plays: expected at most 2, the number of actions, as some"),
    (lambda: problem(actions=()), "actions and outcomes: expected at least one each, got 0 and 2"),
    (lambda: problem(outcomes=()), "actions and outcomes: expected at least one each, got 2 and 0"),
    *wrong(problem, "Problem.actions: expected a sequence of texts", actions=("stay", 2)),
    *wrong(problem, "Problem.actions[0]: ...text", actions=((1, 2), (["stay"], ["go"]))),
    *changes(
        problem,
        ({"outcomes": ["gain", "cost"]}, "Problem.outcomes[0]: ...an Outcome"),
        ({"outcomes": [Outcome]}, "Problem.outcomes[0]: ...the class Outcome"),
        ({"subject_to": budget(rate=1)}, "Problem.subject_to: expected a sequence of Constraint objects, got"),
        ({"subject_to": [Budget]}, "Problem.subject_to[0]: ...the class Budget"),
        ({"subject_to": ["cost"]}, "Problem.subject_to[0]: expected a Constraint, got 'cost'"),
        ({"actions": ("go", "go")}, "actions: expected names that differ"),
        ({"outcomes": (Outcome("gain"),) * 2}, "outcomes: expected names that differ"),
        ({"groups": (Groups("s", ["a", "b"]), Groups("s", ["c", "d"]))}, "groups: expected names that differ"),
        ({"groups": {"side": ["l", "r"]}}, "Problem.groups...Groups"),
        ({"maximize": "joy"}, "maximize: expected one of the outcomes ['gain', 'cost'], got joy"),
        ({"maximize": "gian"}, f"maximize: ...({DID} gain?)"),
        ({"maximize": Linear({"joy": 1})}, "maximize: expected one of the outcomes"),
        ({"maximize": 1}, "Problem.maximize: ...a text or an Objective"),
        ({"maximize": Linear}, "Problem.maximize: ...the class Linear"),
        ({"maximize": {"gain": 1}}, "Problem.maximize: ...an Objective"),
        ({"minimize": "cost"}, 'minimize: ...give a weight of -1: maximize=Linear({"cost": -1})'),
        ({"horizn": 3}, f"horizn: ...({DID} horizon?)"),
        ({"measures": (3,)}, "Problem.measures[0]: expected a Measure, got 3"),
        ({"measures": (matches(of="gain", name="gain"),)}, "measures: expected names that differ from each other"),
        ({"actions": ("go",)}, "no mixture of the actions keeps to Budget (cost per round: "),
        ({"outcomes": (Outcome("gain"), Outcome("cost", known={"fly": 1}))},
         "Outcome('cost').known: expected one of the actions ('stay', 'go'), got fly"),
        ({"outcomes": (Outcome("gain"), Outcome("cost", known={"goo": 1}))}, f"Outcome('cost').known: ...({DID} go?)"),
        ({"outcomes": (bill(mean={"c": 0.5}), Outcome("gain"))}, "Outcome('cost').mean: expected one of the actions"),
        ({"outcomes": (bill(low=0.1), Outcome("gain"))},
         "Outcome('cost').mean: expected a mean for every action, as 0 is out"),
    ),
    # outcomes
    (lambda: Outcome("gain", low=1, high=1), "Outcome('gain'): expected low < high, got low=1, high=1"),
    *wrong(partial(Outcome, "gain"), "Outcome('gain'): expected low < high", low=(2,), high=(NAN,)),
    *each(lambda v: Outcome("c", known={"go": v}), "Outcome('c').known['go']: expected a finite number", NAN, INF),
    *wrong(partial(Outcome, "gain"), "Outcome.{}...number", low=("0",), high=(1j,), known=({"go": "1"}, [1, 0])),
    (lambda: Outcome(None), "Outcome.name: ...text"),
    (lambda: Outcome("cost", known=1, sure="yes"), "Outcome.sure: expected True or False"),
    *changes(
        bill,
        ({"known": 1.0}, "Outcome('cost'): expected either `known` or `mean`, got both"),
        ({"mean": {"go": 2.0}}, "Outcome('cost').mean['go']: expected a mean in [0, 1], its range, got 2.0"),
        ({"mean": NAN}, "Outcome('cost').mean: expected a finite number"),
        ({"free": ("go",)}, "Outcome('cost').mean['go']: expected 0, as the action is free, got 0.5"),
        ({"fallback": 1.5}, "Outcome('cost').fallback: expected a number in [0, 1], its range, got 1.5"),
        ({"fallback": INF}, "Outcome('cost').fallback: expected a finite number"),
        ({"known": 1.0, "mean": None, "fallback": 1.0}, "Outcome('cost').fallback: expected None, as a known"),
        ({"mean": None, "sure": False}, "Outcome('cost').sure: expected True, as a learned outcome"),
    ),
    *changes(
        partial(Outcome, "cost"),
        ({"free": "nothing"}, "Outcome.free: "),
        ({"free": ("nothing",), "low": 0.5}, "Outcome('cost').free: "),
        ({"free": ("nothing",), "known": {"go": 1}}, "Outcome('cost').free: "),
    ),
    # a factor is known for certain, so that there are no chains
    *wrong(partial(Outcome, "fee", times="price"), "...times: expected None, as only a", known=(2,), mean=(0.5,)),
    (lambda: sold(Outcome("sale", times="prise")), f"...times: expected one of ...'price'..., got prise ({DID} price"),
    (lambda: sold(Outcome("sale", times="sale")), "...known for certain, got itself"),
    (lambda: sold(Outcome("sale", times="smile"), Outcome("smile")),
     "...known for certain, got 'smile', which is learned"),
    (lambda: sold(Outcome("sale", times="bill"), Outcome("bill", mean=0.5)), "...got 'bill', of which only the mean"),
    (lambda: sold(Outcome("sale", times="off"), Outcome("off", known=0.0)), "...other than 0: a typical value"),
    # satisfaction
    *changes(
        matches,
        ({"name": ""}, "Satisfaction.name: expected a text that is not empty"),
        ({"worst": "x"}, "Satisfaction.worst"),
    ),
    (lambda: Satisfaction(None, 2), "Satisfaction.curve: expected a function of matches"),
    (lambda: Satisfaction(Capped(1.0), 0), "Satisfaction.arms: expected a whole number of at least 1, got 0"),
    # groups
    *each(partial(Groups, "side"), "Groups('side'): expected at least two different groups",
          ["left"], ["left", "left"], ["l", "r", "r"], []),
    *each(partial(Groups, "side"), "Groups.shares: expected a mapping to numbers or a sequence of texts",
          "left", 2),
    (lambda: Groups("side", [1, 2]), "Groups.shares...text"),
    (lambda: Groups("side", {"a": "0.5", "b": "0.5"}), "Groups.shares['a']: expected a number, got '0.5'"),
    *each(partial(Groups, "s"), "Groups('s').shares['a']: expected a share in (0, 1)",
          {"a": 0, "b": 1}, {"a": 1.5, "b": -0.5}, {"a": NAN, "b": 0.5}),
    *each(partial(Groups, "s"), "Groups('s').shares: expected shares that sum to 1",
          {"a": 0.4, "b": 0.5}, {"a": 0.6, "b": 0.5}),
    (lambda: Groups("side", ["l", "r"], of=3), "Groups.of: ...mapping"),
    # constraints
    *wrong(budget, "Budget('cost').{}: expected a finite number above 0", total=(0, -5, INF), rate=(-0.1, NAN)),
    (lambda: budget(total=np.ones(2)), "Budget('cost').total: expected a number, or a sequence of spans"),
    *wrong(budget, "Budget.{}: expected a ...number", rate=("0.5",), total=("5",)),
    *wrong(partial(budget, total=5), "Budget('cost').per: expected a period, where carry=", carry=(True,), window=(2,)),
    *wrong(partial(budget, total=5), "Budget('cost').per: expected one of ('hour', 'day', 'week', 'month')",
           per=(True, False)),
    (lambda: Traffic(5, per=True), "Traffic.per: expected one of ('hour', 'day', 'week', 'month'), or a number"),
    (lambda: problem(traffic=Traffic(5)), "until: expected the end of the run, where traffic= is stated"),
    (lambda: budget(rate=0.5, per=10), "Budget('cost').total: expected a total, where per= is given"),
    *wrong(partial(budget, total=5, per=4), "Budget('cost').window: expected a whole number", window=(0,)),
    (lambda: budget(total=5, per=4, carry=True, window=2), "Budget('cost').window: expected 1, where carry= or"),
    *wrong(budget, "Budget('cost').total: expected a number, totals of months with per=", total=([], {}, {"may": 5})),
    (lambda: budget(total=[(0, 5, 4)], per=5), "Budget('cost').total: expected a number, totals of months"),
    (lambda: budget(total=[(0, 5, -4)]), "Budget('cost').total: expected a finite number above 0"),
    (lambda: under(budget(total=[(0, 5, 4)])), "Budget('cost').total: expected a span that contains 5 to 10"),
    (lambda: under(budget(total=[(0, 10, 4), (7, 3, 4)])), "Budget('cost').total[1]: expected a start before its end"),
    (lambda: under(budget(total=5, per="day")), "Budget('cost').per: expected a number above 0, as the problem has no"),
    (lambda: under(budget(total=5, per=5, window=3)), "Budget('cost').window: expected at most the 2 periods"),
    (lambda: problem(subject_to=(budget(total={"june": 5}, per="month"),), since="2026-05-25", until="2026-06-04"),
     "Budget('cost').total: expected a total for each of the months ['june', 'may']"),
    (lambda: problem(since="2026-05-25"), "until: expected the end of the run"),
    (lambda: problem(since="2026-05-25", until="2026-05-24"), "until: expected a time after since=2026-05-25"),
    (lambda: problem(horizon=0, traffic=Traffic(5)), "until: expected the end of the run, where traffic= is"),
    (lambda: budget(), "Budget('cost'): expected exactly one of total= and rate="),
    (lambda: budget(total=5, rate=0.5), "Budget('cost'): expected exactly one of total= and rate="),
    (lambda: budget(5), "Budget: expected at most 1 argument ... by name (total=, rate=, ...window=, by=), got 2"),
    (lambda: budget(rate=1, hard="no"), "Budget.hard: ...True or False"),
    (lambda: under(Budget("joy", total=5)), "Budget: expected one of the outcomes"),
    (lambda: under(Budget("csot", rate=1)), f"Budget: ...({DID} cost?)"),
    (lambda: under(Budget(COST, rate=1)), "Budget.outcome: ...text"),
    *wrong(parity, "Parity('cost').tolerance: expected a finite number", tolerance=(-0.1, INF, NAN)),
    (lambda: parity(tolerance="1"), "Parity.tolerance: ...number"),
    (lambda: parity(hard=True), "Parity('cost').hard: expected False or None, as no play"),
    (lambda: under(Parity("joy", by="side", tolerance=0.1)), "Parity: expected one of the outcomes ['gain', 'cost']"),
    (lambda: under(parity(by="height")), "Parity('cost').by: expected one of ['side'], got height"),
    (lambda: problem(subject_to=(parity(by="side"),), groups=()),
     "Parity('cost').by: expected a grouping of the problem, groups=(Groups('side', (...)),), got side without one"),
    (lambda: Budget("cost", total="5"), "Budget.total: expected a number or a mapping to numbers or mappings or "
     "sequences or a sequence of sequences, got '5'"),
    (lambda: under(parity(by="sdie")), f"Parity('cost').by: ...({DID} side?)"),
    (lambda: floor(), "Floor('x'): expected exactly one of total= and rate="),
    (lambda: floor(rate=1, total=2), "Floor('x'): expected exactly one of total= and rate="),
    (lambda: floor(5), "Floor: expected at most 1 argument ... by name (total=, rate=, by=, hard=, per=), got 2"),
    *wrong(floor, "Floor('x').{}: expected a finite number", rate=(NAN,), total=(INF,)),
    (lambda: floor(rate="0.1"), "Floor.rate: ...number"),
    (lambda: floor(rate=0.1, hard=True), "Floor('x').hard: expected False or None, as forbidding plays"),
    (lambda: court(Floor("bus", rate=0.1)), "Floor: expected one of the outcomes"),
    (lambda: court(Floor("ride", rate=0.1, by="age")), "Floor('ride').by: expected one of ['group']"),
    (lambda: ratio(), "Ratio('cost'): expected exactly one of at_most= and at_least=, got at_most=None, at_least=None"),
    (lambda: ratio(at_most=1, at_least=0.5), "Ratio('cost'): expected exactly one of at_most= and at_least="),
    (lambda: Ratio("cost", "gain"), "Ratio: expected at most 1 argument ... by name (over=, at_most=, at_least=, by="),
    (lambda: Ratio("cost", at_most=1), "over: expected a value, as Ratio needs one"),
    *wrong(ratio, "Ratio('cost').{}: expected a finite number of at least 0", at_most=(-0.1, INF, NAN),
           at_least=(-2, INF)),
    (lambda: ratio(at_most="0.3"), "Ratio.at_most: ...number"),
    (lambda: ratio(at_most=1, hard=True), "Ratio('cost').hard: expected False or None, as once the capital is lost"),
    (lambda: ratio(at_most=1, over="cost"), "Ratio('cost').over: expected another outcome, or for a share"),
    (lambda: ratio(at_most=1, over="cost", by="side"), "Ratio('cost').over: expected another outcome, or for a share"),
    (lambda: under(Ratio("csot", over="gain", at_most=1)), f"Ratio('csot').of: ...({DID} cost?)"),
    (lambda: under(ratio(over="gian", at_most=1)), f"Ratio('cost').over: ...({DID} gain?)"),
    (lambda: under(ratio(over="gian", at_most=1, by="side")), f"Ratio('cost').over: ...({DID} gain?)"),
    (lambda: under(ratio(at_most=1, by="sdie")), f"Ratio('cost').by: ...({DID} side?)"),
    (lambda: under(Ratio("cost side=left", over="gain", at_most=1, by="side")), "Ratio('cost side=left').of: expected"),
    *each(lambda z: under(Ratio(z[0], over=z[1], at_most=1)), "Ratio('...').over: expected a sum of the same group",
          ("cost side=left", "gain"), ("cost side=left", "cost side=right"), ("cost", "gain side=left")),
    (lambda: problem(outcomes=(Outcome("gain", low=-1), Outcome("cost")), subject_to=(ratio(at_most=1),)),
     "Ratio('cost').over: expected an outcome that is never negative, ...got gain, which may be -1"),
    (lambda: problem(outcomes=(Outcome("gain", known={"go": -2}), Outcome("cost")), subject_to=(ratio(at_most=1),)),
     "Ratio('cost').over: expected an outcome that is never negative, ...got gain, which may be -2"),
    *each(lambda names: Within(names, BALL), "Within.outcomes: expected at least one name, each once",
          (), ("a", "a", "b"), "abc", (1, 2, 3), 3, {"a", "b", "c"}),
    *each(partial(Within, ("a",)), "Within.within: expected a set such as Ball", 3.0, Ball),
    (lambda: Within(("a",), BALL), "Within.within: expected a set of 1 coordinates, one per outcome, got"),
    (lambda: Within(("a", "b", "c"), BALL, norm="two"), "Within.norm: expected one of"),
    (lambda: Within(("a", "b", "c"), BALL, hard=True), "Within.hard: expected False or None"),
    (lambda: Ads(extra=(Within(("click", "clack", "spend"), BALL),)).problem,
     "Within.outcomes: expected one of the outcomes ['click', 'spend'], got clack"),
]  # fmt: skip
