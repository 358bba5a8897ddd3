"""An example of every estimator of what a policy is worth."""

from evenhand.offline import estimators as e

ESTIMATORS = [
    e.DirectMethod(),
    e.DoublyRobust(),
    e.DRos(),
    e.IPS(),
    e.MIPS(),
    e.MRDR(),
    e.Slope(),
    e.Slope(errors=2.0),
    e.SNDR(),
    e.SNIPS(),
    e.Switch(),
    e.Switch(cap=3.0),
]
