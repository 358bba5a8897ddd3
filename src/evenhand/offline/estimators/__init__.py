"""Estimators of the value of a policy by a log, a file each; `base` has their contract."""

from evenhand.core import registry
from evenhand.offline.estimators.base import Estimator as Estimator
from evenhand.offline.estimators.direct_method import DirectMethod as DirectMethod
from evenhand.offline.estimators.doubly_robust import DoublyRobust as DoublyRobust
from evenhand.offline.estimators.dros import DRos as DRos
from evenhand.offline.estimators.ips import IPS as IPS
from evenhand.offline.estimators.mips import MIPS as MIPS
from evenhand.offline.estimators.mrdr import MRDR as MRDR
from evenhand.offline.estimators.slope import Slope as Slope
from evenhand.offline.estimators.sndr import SNDR as SNDR
from evenhand.offline.estimators.snips import SNIPS as SNIPS
from evenhand.offline.estimators.switch import Switch as Switch

__all__ = registry.public(__name__)
