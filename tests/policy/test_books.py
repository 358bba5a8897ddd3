"""The table of outcomes: it holds the sums of its entries, exactly, and whatever was entered can be taken back."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.environments import Delayed
from evenhand.policy import books
from evenhand.policy.checks import EVERY_PLAY, NOTHING
from tests.policy.test_status import SHOP
from tests.rows import for_each
from tests.worlds import Market

PROBLEM = eh.Problem(
    actions=("a", "b", "c"),
    outcomes=(
        eh.Outcome("gain"),
        eh.Outcome("bill", mean=0.3),
        eh.Outcome("fee", known={"a": 0.1, "b": 0.7}),
        eh.Outcome("shown", known=1.0, sure=False),
    ),
    maximize="gain",
    groups=(eh.Groups("kind", ["x", "y"], of={"a": "x", "b": "x", "c": "y"}),),
    horizon=200,
    n_plays=2,
)
M, L, R, P = 1, 3, 3, 2


class Round:
    """A decision of two plays in three replicas and its outcomes, some of them unseen and some plays unexposed."""

    def __init__(self, rng):
        self.plays = np.where(rng.random((R, P)) < 0.9, rng.permuted(np.tile(np.arange(3), (R, 1)), axis=1)[:, :P], -1)
        self.counted = (self.plays[:, 0] >= 0).astype(float)
        self.groups = PROBLEM.groups_of(np.zeros((R, 0), int))[:, np.maximum(self.plays, 0)][np.arange(R), np.arange(R)]
        self.known = rng.lognormal(0, 2, (R, P, L))
        self.observe(rng)

    def observe(self, rng):
        """Outcomes, or others in their place."""
        self.exposed = rng.random((R, P)) < 0.7
        self.missing = rng.random((R, P, M + L)) < 0.2
        z = np.where(self.missing, 0.0, rng.lognormal(0, 2, (R, P, M + L)))
        self.learned, self.arrived = z[..., :M].copy(), z[..., M:].copy()

    def commit(self, table, times=1.0):
        books.commit(self.plays, self.counted, self.groups, self.known, PROBLEM.certain, times, table)

    def arrive(self, table, times=1.0, plays=None, share=None):
        plays, share = self.plays if plays is None else plays, self.counted if share is None else share
        masks = self.missing, self.exposed
        books.arrive(plays, share, self.groups, self.learned, self.arrived, *masks, times, table)

    def in_parts(self, table):
        """The second place first; the share of the rest is what makes it a whole."""
        for p, share in ((1, 0.5 * (self.plays[:, 1] >= 0)), (0, None)):
            share = 1.0 - 0.5 * (self.plays[:, 1] >= 0) if share is None else share
            only = np.where(np.arange(P) == p, self.plays, -1)
            self.arrive(table, 1.0, only, share * self.counted)

    def lines(self, r, p):
        """Of the table, that a play belongs to."""
        return (0, 1 + self.groups[r, p, 0])


def by_hand(committed, arrived):
    """The table in exact arithmetic."""
    width = books.start(PROBLEM, 1).shape[2]
    terms = [[[[] for _ in range(width)] for _ in range(3)] for _ in range(R)]
    for z in committed:
        for r in np.flatnonzero(z.counted):
            terms[r][0][books.DECIDED].append(1.0)
            for p in np.flatnonzero(z.plays[r] >= 0):
                for line in z.lines(r, p):
                    terms[r][line][books.PLAYED].append(1.0)
                    terms[r][line][FIRST + 2 * S + 1].append(z.known[r, p, 1])  # the fee alone is certain
    for z in arrived:
        for r in np.flatnonzero(z.counted):
            terms[r][0][books.ARRIVED].append(1.0)
            for p in np.flatnonzero(z.plays[r] >= 0):
                for line in z.lines(r, p):
                    terms[r][line][books.CAME].append(1.0)
                    terms[r][line][-S - 1].append(float(not z.exposed[r, p]))
                    for i, y in enumerate([*z.learned[r, p], *z.arrived[r, p]]):
                        terms[r][line][FIRST + i].append(y)
                        terms[r][line][i - S].append(float(z.missing[r, p, i]))
    return np.array([[[math.fsum(x) for x in line] for line in one] for one in terms])


FIRST, S = books.FIRST, M + L
ROUNDED = [*range(FIRST + S, FIRST + 2 * S), *range(FIRST + 2 * S + L, FIRST + 2 * S + 2 * L)]


@for_each("seed", range(5))
def test_a_table_has_the_exact_sums_of_its_entries_whatever_was_taken_back(seed):
    """Of 300 rounds some are cancelled, some arrive in parts, some never, and some are revised twice."""
    rng, table = np.random.default_rng(seed), books.start(PROBLEM, R)
    committed, arrived = [], []
    for i in range(300):
        one = Round(rng)
        one.commit(table)
        if i % 5 == 0:
            one.commit(table, -1.0)
            continue
        committed.append(one)
        if i % 5 == 1:
            continue
        for _ in range(2 * (i % 5 == 2)):
            one.arrive(table)
            one.arrive(table, -1.0)
            one.observe(rng)
        one.in_parts(table) if i % 5 == 3 else one.arrive(table)
        arrived.append(one)
    table[..., ROUNDED] = 0.0  # what rounding took
    np.testing.assert_array_equal(table, by_hand(committed, arrived))
    rounds = [sum(z.counted[r] for z in committed) - sum(z.counted[r] for z in arrived) for r in range(R)]
    np.testing.assert_array_equal(books.rounds_to_come(table), rounds)


def test_masks_that_are_empty_say_that_all_was_seen_and_exposed():
    one, short, long = Round(np.random.default_rng(1)), books.start(PROBLEM, R), books.start(PROBLEM, R)
    one.missing[:], one.exposed[:] = False, True
    one.arrive(long)
    books.arrive(one.plays, one.counted, one.groups, one.learned, one.arrived, NOTHING, EVERY_PLAY, 1.0, short)
    np.testing.assert_array_equal(short, long)


@pytest.mark.parametrize("late", [0, 9])
def test_a_trace_reads_exact_sums(late):
    """What is certain counts from the decision on, and everything else when it arrives."""
    world = Delayed(Market(problem=SHOP, n_features=8), late)
    policy = eh.resolving(SHOP, eh.BayesianRidge(n_features=8), warmup=20)
    trace = eh.simulate(policy, world, replicas=2, seed=3, record="all", progress=False)
    m = len(SHOP.names)
    for r in range(2):
        kept = trace.plays.counted[:, r] > 0
        for i in range(m):
            z = trace.plays.outcomes[kept, r, :, i]
            assert trace.totals[-1, r, i] == math.fsum(z[~np.isnan(z)])
            for c in range(len(SHOP.columns)):
                inside = (trace.plays.groups[kept, r] == c).any(2)
                assert trace.group_totals[-1, r, c, i] == math.fsum(z[~np.isnan(z) & inside])
    assert (trace.under_way[trace.at(50)] == late).all()
