"""Rankings and allocations are solved by the goals that there are: nothing here is a special case anywhere else."""

import time

import numpy as np
import pytest

from evenhand.choices import TopK
from evenhand.environments import Delayed
from evenhand.goals import DualGradient, FrankWolfe, HardBudget, Steady
from evenhand.models import Fixed, Ridge
from evenhand.policy import Policy
from evenhand.problem import Budget, Floor, Parity
from evenhand.problem.constraints import constraint_rows
from evenhand.run import simulate
from evenhand.testing import check_environment, check_policy
from tests.wide.allocation import Allocation, OneEach
from tests.wide.ranking import Ranking
