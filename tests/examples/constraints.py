"""An example of every constraint, in any units, on a problem with outcomes in four units."""

from dataclasses import replace

from evenhand.problem import Groups, Outcome, Problem, constraints as c
from evenhand.sets import Halfspaces

ONE_EACH = (1.0,) * 4
ROUNDS = 30
SIDES = Groups("side", {"left": 0.5, "right": 0.5})


def bazaar(unit=ONE_EACH, constraints=(), maximize="gain", plays=1):
    """Two learned outcomes that may be spent, and a known one, each in its own unit."""
    gain, hours, cents, fee = unit
    return Problem(
        actions=("a", "b", "c", "d"),
        outcomes=(
            Outcome("gain", high=gain),
            Outcome("hours", high=hours),
            Outcome("cents", high=cents),
            Outcome("fee", known={"b": 0.5 * fee, "c": fee}),
            *(Outcome(k.than, known=0.3 * gain) for k in constraints if isinstance(k, c.NeverWorse)),
        ),
        maximize=maximize,
        subject_to=constraints,
        groups=(SIDES,),
        horizon=ROUNDS,
        n_plays=plays,
    )


def two(unit, plays=1):
    """Budgets in two units."""
    _, hours, cents, _ = unit
    return c.Budget("hours", rate=0.4 * hours * plays), c.Budget("cents", rate=0.35 * cents * plays)


def _triangle(h, c):
    return Halfspaces(((1 / h, 1 / c), (-1.0, 0.0), (0.0, -1.0)), (0.6, 0.0, 0.0))


# By name: a function of the four units and the number of plays.
CONSTRAINTS = {
    "budgets": two,
    "soft budgets": lambda u, p=1: tuple(replace(b, hard=False) for b in two(u, p)),
    "a known budget": lambda u, p=1: (c.Budget("fee", rate=0.3 * u[3] * p), c.Budget("cents", rate=0.35 * u[2] * p)),
    "Budget, of a group": lambda u, p=1: (c.Budget("cents side=left", rate=0.15 * u[2] * p),),
    "Budget, by group": lambda u, p=1: (
        *two(u, p),
        c.Budget("hours", rate={"left": 0.2 * u[1] * p, "right": 0.1 * u[1] * p}, by="side"),
    ),
    "Budget, by group per day": lambda u, p=1: (c.Budget("fee", total=4 * u[3] * p, per=10, by="side"),),
    "Floor": lambda u, p=1: (*two(u, p), c.Floor("gain", rate=0.3 * u[0] * p)),
    "Floor, by group": lambda u, p=1: (*two(u, p), c.Floor("gain", rate=0.2 * u[0] * p, by="side")),
    "Floor, per day": lambda u, p=1: (*two(u, p), c.Floor("gain", total=3 * u[0] * p, per=10)),
    "Floor, by group per day": lambda u, p=1: (*two(u, p), c.Floor("gain", total=2 * u[0] * p, by="side", per=10)),
    "Parity": lambda u, p=1: (*two(u, p), c.Parity("cents", by="side", tolerance=0.05 * u[2] * p)),
    "Ratio": lambda u, p=1: (*two(u, p), c.Ratio("cents", over="hours", at_most=0.9 * u[2] / u[1])),
    "Ratio, by group": lambda u, p=1: (c.Ratio("gain", over="fee", at_least=0.9 * u[0] / u[3], by="side"),),
    "Ratio, a share": lambda u, p=1: (c.Ratio("gain side=left", over="gain", at_least=0.55),),
    "NeverWorse": lambda u, p=1: (c.NeverWorse("gain", than="usual", alpha=0.1, slack=2.0 * u[0], action="a"),),
    "Within": lambda u, p=1: (c.Within(("hours", "cents"), _triangle(p * u[1], p * u[2])),),
    "Parity, per day": lambda u, p=1: (*two(u, p), c.Parity("cents", by="side", tolerance=0.05 * u[2] * p, per=10)),
    "Ratio, per day": lambda u, p=1: (*two(u, p), c.Ratio("cents", over="hours", at_most=0.9 * u[2] / u[1], per=10)),
}
