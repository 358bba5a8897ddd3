"""Every promise of a campaign holds after every event of thousands of random schedules, and mutants are caught."""

import time

import pytest

from evenhand.live.fold.fold import StaleFold
from evenhand.live.worker.worker import Worker
from tests.live.schedules import Schedule

pytestmark = pytest.mark.filterwarnings("ignore:.*is superseded")


@pytest.fixture(autouse=True)
def _all_of_the_rounds_so_far_at_one_state(monkeypatch):
    """As these campaigns have nine rounds."""
    monkeypatch.setattr("evenhand.policy.batch._PART", 1)


@pytest.mark.parametrize("part", range(4))
def test_a_few_schedules(part):
    for seed in range(100 * part, 100 * (part + 1)):
        played(Schedule(seed))


def test_a_few_schedules_of_a_policy_that_learns():
    for seed in range(40):
        played(Schedule(seed, learns=True))


def test_a_few_schedules_of_problem_files_whose_workers_start_with_the_first_one():
    for seed in range(20):
        played(Schedule(seed, files=True))


@pytest.mark.slow
def test_a_few_long_schedules():
    for seed in range(20):
        played(Schedule(seed, length=80, workers=4))


@pytest.mark.slow
def test_thousands_of_schedules():
    start = time.perf_counter()
    for seed in range(1000, 3000):
        played(Schedule(seed, workers=4))
    print(f"{2000 / (time.perf_counter() - start):.0f} schedules a second")


@pytest.mark.slow
def test_many_schedules_of_a_policy_that_learns():
    for seed in range(1000, 1600):
        played(Schedule(seed, learns=True))


def played(schedule):
    """Play a schedule, naming it if a promise is broken."""
    try:
        schedule.run()
    except Exception as error:
        error.add_note(f"{schedule.seed = }, {schedule.learns = }, {schedule.length = }")
        raise


class Hasty(Worker):
    """Decides on the balance that it had at its last verb, and takes in what others wrote only afterwards."""

    def _catch_up(self, log):
        while (ref := self.fold.pending.overdue(log.now)) is not None:
            self.enter(log, "expired", self.fold.expiry(), ref=ref)

    def enter(self, log, kind, body, *, ref=None, key=None, own=None, made=None):
        event = log.append(kind, body, ref=ref, key=key, own=own)
        try:
            self.fold.fold(log.tail(self.fold.seq))
        except StaleFold:
            self.fold = self._fold_log(log)
        return event


class Proud(Worker):
    """Believes in its state when a transaction has failed."""

    @property
    def _stale(self):
        return False

    @_stale.setter
    def _stale(self, value):
        pass


class Forgetful(Worker):
    """Decides on under a policy that was replaced."""

    first = None

    def _catch_up(self, log):
        super()._catch_up(log)
        self.first = self.first or self.fold.policy
        self.fold.decide = lambda context: self.first.decide(self.fold.state, context)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [Hasty, Proud, Forgetful])
def test_a_worker_that_does_not_follow_the_log_is_caught(mutant):
    wanted = "may spend" if mutant is Hasty else ""
    for seed in range(400):
        try:
            Schedule(seed, worker=mutant, learns=mutant is Forgetful).run()
        except Exception as error:
            if wanted in f"{error}":
                return
    pytest.fail("no schedule caught it")
