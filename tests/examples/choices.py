"""An example of every choice and rate."""

from evenhand import choices as c
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear as LinearObjective
from evenhand.welfare import (
    Anyone,
    Capped,
    Greedy,
    Linear as LinearCurve,
    Logarithmic as LogarithmicCurve,
    PerArm,
    Piecewise,
    Power,
    Proportional,
    Sequential,
)

RATES = [c.Rate(2.0), c.Rate(5.0, 0.5), c.OracleRate(regret=2.0, growth=0.5, delta=0.1, lipschitz=0.5, diameter=0.1)]
FOR_FOUR = [  # they know their candidates one by one
    c.GradientLottery(GeneralizedGini(("a", "b")), candidates=4, scale=0.5, steps=20),
    c.Staged(10, c.GradientLottery(AlphaFair(("a", "b"), alpha=1.0, offset=2.0), candidates=4, scale=2.0)),
    c.FairLearn(2, candidates=4, share=0.3, tolerance=0.5),
    c.FairLearn(9, candidates=4, share=1.0),
    c.Unbiased(1, candidates=4),
    c.Staged(5, c.Unbiased(3, candidates=4)),
    c.OptimisticProgram(objective=LinearObjective({"a": 1.0}), start_at=(0.0,), candidates=4),
    c.OptimisticProgram(objective=GeneralizedGini(("a",)), start_at=(0.5,), candidates=4, nothing=0, every=5),
    c.Random((0.1, 0.2, 0.0, 0.7)),
    c.Random((0.1, 0.2, 0.0, 0.7), n_plays=3),
    c.Staged(10, c.Random((0.0, 1.0, 0.0, 0.0)), warmup=c.TopK(1)),
]
CHOICES = [
    *FOR_FOUR,
    *(c.InverseGap(rate) for rate in RATES),
    c.Staged(10, c.InverseGap(c.Rate(20.0)), warmup=c.TopK(1)),
    c.Cycle(),
    c.InverseGap(c.Rate(9.0), n_plays=2),
    c.InverseGap(c.Rate(1.0, 0.5), n_plays=9),
    c.Cycle(2),
    c.EpsilonGreedy(0.1),
    c.EpsilonGreedy(0.0),
    c.EpsilonGreedy(0.3, n_plays=2),
    c.EpsilonGreedy(1.0, n_plays=3),
    c.Gibbs(0.05),
    c.Gibbs(0.2, n_plays=2),
    c.Gibbs(1e-3, n_plays=9),
    c.Staged(7, c.Gibbs(2.0), warmup=c.Cycle()),
    c.GreedyRatio(1),
    c.GreedyRatio(1, nothing=0),
    c.GreedyRatio(1, nothing=1, rent=0.3),
    c.LinearProgram(1, (0.1,)),
    c.LinearProgram(1, (-0.2,)),
    c.LinearProgram(2, (), nothing=1),
    c.Lottery(1),
    c.Lottery(1, nothing=1),
    c.Lottery(2),
    c.TopK(),
    c.TopK(2),
    c.TopK(9),  # more than are ever on offer
    c.Random(),
    c.Random(n_plays=2),
    c.Random(n_plays=9),
    c.Staged(10, c.TopK(1)),
    c.Staged(10, c.TopK(2)),
    c.Staged(10, c.Gibbs(0.1, n_plays=3), warmup=c.Cycle(3)),
    c.Staged(10, c.TopK(2), warmup=c.Staged(5, c.TopK(2), warmup=c.TopK(2))),
]
_EACH = PerArm((Capped(0.4), LogarithmicCurve(1.0), Piecewise(at=(0.5, 2.0), values=(0.5, 1.0))))
ALLOCATIONS = [
    c.Allocate(users=4, arms=3, curve=Capped(0.5)),
    c.Allocate(users=1, arms=1, curve=Power(0.5)),
    c.Allocate(users=5, arms=1, curve=LinearCurve(), capacity=(4,), may_stay=True),
    c.Allocate(users=1, arms=4, curve=LogarithmicCurve(0.2), optimism="inside"),
    c.Allocate(users=4, arms=3, curve=_EACH, capacity=(2, 1, 1)),
    c.Allocate(users=4, arms=3, curve=_EACH, capacity=(0, 3, 2), optimism="inside", may_stay=True),
    c.Allocate(users=3, arms=3, curve=Capped(0.5), oracle=Greedy(), capacity=(1, 1, 1)),
    c.Allocate(users=3, arms=2, curve=Capped(0.5), oracle=Sequential()),
    c.Allocate(users=3, arms=2, curve=Capped(0.5), oracle=Sequential(), capacity=(2, 1), may_stay=True),
    c.Allocate(users=3, arms=2, curve=Power(0.3), oracle=Proportional(), capacity=(2, 2)),
    c.Allocate(users=3, arms=2, curve=LinearCurve(), oracle=Anyone()),
    c.Allocate(users=3, arms=2, curve=LinearCurve(), oracle=Anyone(), capacity=(0, 1), may_stay=True),
]
