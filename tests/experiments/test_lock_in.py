import math
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.experiments import Case, Run
from evenhand.experiments.lock_in import LOCKED_IN, lock_in_share, lock_ins
from evenhand.report.results import Measurement, Results


def test_a_run_that_gains_less_than_half_of_the_mean_gain_is_locked_in():
    """Gains of 4, 4, 4 and 1 are 3.25 on average."""
    assert lock_in_share(np.array([6.0, 6.0, 6.0, 3.0]), base=2.0) == 0.25
    assert lock_in_share(np.array([6.0, 6.0, 6.0, 4.0]), base=2.0) == 0.0
    assert lock_in_share(-np.array([4.0, 4.0, 9.0]), base=-10.0) == pytest.approx(1 / 3)  # of regrets


def test_where_nothing_is_gained_nothing_is_said():
    assert math.isnan(lock_in_share(np.array([1.0, 3.0]), base=2.0))
    assert math.isnan(lock_in_share(np.array([1.0]), base=math.nan))


def test_gains_are_counted_above_the_baseline_of_the_same_point():
    def run(at, system, *worth):
        case = Case({"T": at}, system, None, None)
        return Run(case, SimpleNamespace(worth=np.array(worth)) if worth else None)

    runs = [run(1, "ours", 3.0, 9.0, 9.0), run(1, "uniform", 1.0, 3.0), run(2, "ours", 1.0, 1.0), run(1, "refused")]
    (found,) = lock_ins(runs, lambda trace: trace.worth)
    assert (found.system, dict(found.at), found.metric) == ("ours", {"T": 1}, "locked in")
    assert found.mean == pytest.approx(1 / 3)


def test_a_table_has_columns_for_what_was_measured_alone():
    """A share of replicas has no worst replica, and nothing here is published."""
    reward = Measurement.of("ours", {}, "reward", np.array([1.0, 3.0]), worst="low")
    rows = [reward, Measurement("ours", {}, LOCKED_IN, 0.5, None, None, None)]
    head, _, line = Results("own", {}, rows).table({}, ("reward", LOCKED_IN, "late")).splitlines()
    assert head.split() == ["system", "reward", "worst", "locked", "in", "late"]
    assert line.split() == ["ours", "2.0000", "1.0000", "0.5000"]
