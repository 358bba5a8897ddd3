"""Problems that examples of several kinds share."""

from dataclasses import replace

from evenhand.environments import Court
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear as LinearObjective
from evenhand.problem import Budget, Groups, NeverWorse, Outcome, Parity, Problem, Within
from evenhand.problem.constraints import Region
from evenhand.sets import Ball, Box
from tests.day_worlds import Days, cases, forecast
from tests.shop import Shop

# Everything at once: learned and known outcomes, signed ones, two groupings, shares known and unknown.
EVERYTHING = Problem(
    actions=("nothing", "call", "visit", "both"),
    outcomes=(
        Outcome("gain"),
        Outcome("hours", low=-0.5, high=2.0),
        Outcome("letters", known={"call": 1, "both": 2}),
        Outcome("miles", known={"visit": 3.5, "both": 3.0}),
    ),
    maximize=LinearObjective({"gain": 1.0, "hours": -0.1, "miles": -0.01}),
    subject_to=(
        Budget("letters", total=40),
        Budget("hours", rate=0.4),
        Parity("miles", by="district", tolerance=0.1),
        Parity("hours", by="age", tolerance=0.05),
    ),
    groups=(Groups("district", {"north": 0.25, "middle": 0.25, "south": 0.5}), Groups("age", ["young", "old"])),
    horizon=150,
)
SHOP = Shop(
    horizon=60,
    n_plays=2,
    maximize=AlphaFair(("sale", "minutes"), alpha=1.0, offset=20.0),
    subject_to=(Budget("minutes", rate=0.6), Parity("sale", by="side", tolerance=2.0)),
)
# As little as possible: one action, no groups, nothing known.
LITTLE = Problem(actions=("go",), outcomes=(Outcome("gain"),), maximize="gain", horizon=30)
LITTLE_SPENT = Problem(
    actions=("go",), outcomes=(Outcome("gain"),), maximize="gain", subject_to=(Budget("gain", rate=0.4),), horizon=30
)
COURT = Court(horizon=200)
# Two days of a shop, with an allowance for each and one for both.
_MONEY = Budget("money", total=6.0, per=1.0), Budget("money", total=10.0), Budget("money", total=9.0, per=0.7, window=2)
TWO_DAYS = Days(times=cases(1, 2, 0.1), subject_to=_MONEY, until=2.0, traffic=forecast(0.1))

GINI = GeneralizedGini(("gain", "hours", "letters"))
REGIONS = (
    Region("a disc", ("gain", "hours"), Ball((0.2, 0.1), 0.15)),
    Region("by district", ("letters district=north", "letters district=south"), Ball((0.05, 0.05), 0.01)),
)
# A concave objective under budgets and parity.
SHARED = replace(EVERYTHING, maximize=GINI)
CURVED = replace(
    SHARED,
    subject_to=(
        *SHARED.subject_to,
        *(Within(r.outcomes, r.within) for r in REGIONS),
        Within(("gain",), Box((0.1,), (0.9,))),
    ),
)
# The same without parity, and nobody to tell from another.
SPENT = replace(SHARED, subject_to=SHARED.spending)
UNSPENT = replace(SHARED, subject_to=())
PAID = replace(EVERYTHING, subject_to=EVERYTHING.spending)
NEVER_WORSE = Problem(
    actions=("old", "new"),
    outcomes=(Outcome("gain"), Outcome("usual", known=0.5)),
    maximize="gain",
    subject_to=(NeverWorse("gain", than="usual", alpha=0.1, slack=2.0),),
    horizon=30,
)
