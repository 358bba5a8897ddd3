"""Checks of a log before anything is computed from it, each of which states its finding in a sentence.

Each check returns a sentence, or None if it finds nothing. Those that test for chance err in less than one of 1,000
right logs, whatever the number of actions and columns: they divide this among all that they look at.
"""

from evenhand.logs.checks.balance import balance as balance
from evenhand.logs.checks.budgets import budget as budget, horizon as horizon, lasts as lasts, most_of as most_of
from evenhand.logs.checks.common import (
    Checks as Checks,
    fault_of as fault_of,
    of_log as of_log,
    refusal as refusal,
    scope as scope,
)
from evenhand.logs.checks.overlap import groupings as groupings, overlap as overlap
from evenhand.logs.checks.propensities import propensities as propensities
from evenhand.logs.checks.rows import (
    SURE as SURE,
    Drawn as Drawn,
    foreseen as foreseen,
    quantile as quantile,
    reach as reach,
)
