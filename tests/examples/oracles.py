"""An example of every oracle of allocations and of every curve of satisfaction."""

import numpy as np

from evenhand import welfare as w

# By name: an oracle, whether it keeps capacities, and the share of the best welfare that it promises where no bonus is
# below 0 and all arms have room.
ORACLES = {
    "exact": (w.Exact(), True, 1.0 - 1e-4),
    "priced": (w.Priced(), True, 0.95),
    "greedy": (w.Greedy(), True, 0.5),
    "sequential": (w.Sequential(), True, 0.5),
    "proportional": (w.Proportional(), True, 0.0),
    "anyone": (w.Anyone(), True, 0.0),
    "rounded": (w.Rounded(), True, 0.0),
    "continuous_greedy": (w.ContinuousGreedy(), False, 1.0 - 1.0 / np.e),
}

CURVES = {
    "linear": w.Linear(),
    "capped": w.Capped(1.5),
    "logarithmic": w.Logarithmic(0.7),
    "power": w.Power(0.4),
    "piecewise": w.Piecewise(at=(0.5, 1.5, 2.5), values=(0.5, 1.0, 1.2)),
    "per_arm": w.PerArm((w.Capped(0.8), w.Logarithmic(1.0), w.Piecewise(at=(1.0,), values=(0.9,)))),
}
