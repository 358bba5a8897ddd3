import math

import numpy as np
import pytest
from scipy.special import ndtr

from evenhand.core.luck import Luck, Stream, philox
from tests.rows import for_each

WORD = 2**64


def numpys_block(counter, key):
    """NumPy's generator adds 1 to its 256-bit counter before the first block."""
    whole = (sum(c << (64 * i) for i, c in enumerate(counter)) - 1) % WORD**4
    before = [(whole >> (64 * i)) % WORD for i in range(4)]
    return np.random.Philox(counter=np.array(before, np.uint64), key=np.array(key, np.uint64)).random_raw(4)


def ours(counter, key):
    return np.array(philox(*(np.uint64(z) for z in (*counter, *key))), np.uint64)


COUNTERS = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 7, 0), (WORD - 1,) * 4, (2, 9_999, 99, 0)]


@for_each("counter", COUNTERS)
@for_each("key", [(0, 0), (1, 2), (WORD - 1, WORD - 1)])
def test_philox_gives_the_words_of_numpys_own(counter, key):
    np.testing.assert_array_equal(ours(counter, key), numpys_block(counter, key))


def test_philox_agrees_with_numpy_on_random_counters_and_keys():
    words = np.random.default_rng(1).integers(0, WORD, size=(200, 6), dtype=np.uint64).tolist()
    for w in words:
        np.testing.assert_array_equal(ours(w[:4], w[4:]), numpys_block(w[:4], w[4:]))


def test_uniforms_are_the_upper_53_bits_at_counter_block_round_replica():
    luck = Luck(seed=11, replicas=np.array([4, 6]))
    got = luck.uniform(Stream.CHOICE, np.array([9, 30]), 7)
    for r, (replica, t) in enumerate(((4, 9), (6, 30))):
        blocks = [numpys_block((b, t, replica, 0), (11, int(Stream.CHOICE))) for b in range(2)]
        words = np.concatenate(blocks)[:7]
        np.testing.assert_array_equal(got[r], (words >> np.uint64(11)) * 2.0**-53)


@pytest.mark.parametrize("draw", [Luck.uniform, Luck.normal])
def test_a_draw_depends_on_nothing_but_seed_stream_replica_and_round(draw):
    together = draw(Luck(seed=5, replicas=np.array([3, 0, 12])), Stream.CONTEXT, np.array([8]), 9)
    alone = draw(Luck(seed=5, replicas=np.array([12])), Stream.CONTEXT, np.array([8]), 9)
    shorter = draw(Luck(seed=5, replicas=np.array([12])), Stream.CONTEXT, np.array([8]), 3)
    np.testing.assert_array_equal(together[2:], alone)
    np.testing.assert_array_equal(alone[:, :3], shorter)
    assert draw(Luck(seed=5, replicas=np.array([1])), Stream.OUTCOME, np.array([8]), 0).shape == (1, 0)


def test_every_replica_may_be_in_a_round_of_its_own():
    luck = Luck(seed=5, replicas=np.array([1, 2]))
    apart = luck.uniform(Stream.CHOICE, np.array([7, 9]), 2)
    np.testing.assert_array_equal(apart[0], luck.uniform(Stream.CHOICE, np.array([7]), 2)[0])
    np.testing.assert_array_equal(apart[1], luck.uniform(Stream.CHOICE, np.array([9]), 2)[1])


def test_seed_stream_replica_and_round_all_matter():
    base = {"seed": 1, "replica": 1, "stream": Stream.CONTEXT, "t": 1}
    others = [{"seed": 2}, {"replica": 2}, {"stream": Stream.OUTCOME}, {"t": 2}, {"seed": WORD - 1}]
    drawn = []
    for change in ({}, *others):
        z = base | change
        luck = Luck(seed=z["seed"], replicas=np.array([z["replica"]]))
        drawn.append(luck.uniform(z["stream"], np.array([z["t"]]), 4).tobytes())
    assert len(set(drawn)) == len(drawn)


def test_no_draw_needs_no_room():
    assert Luck(seed=1, replicas=np.arange(3)).uniform(Stream.CHOICE, np.array([0]), 0).shape == (3, 0)


def test_the_largest_word_still_gives_a_number_below_1():
    assert float(np.uint64(WORD - 1) >> np.uint64(11)) * 2.0**-53 < 1.0


@pytest.fixture(scope="module")
def sample():
    """400 replicas x 250 rounds."""
    luck = Luck(seed=2024, replicas=np.arange(400))
    return np.stack([luck.uniform(Stream.CHOICE, np.array([t]), 1)[:, 0] for t in range(250)], 1)


# All limits below are five standard errors: one in 1.7 million good generators would fail, and the seed is fixed.
def test_uniforms_lie_in_the_unit_interval_and_have_its_moments(sample):
    n = sample.size
    assert sample.min() >= 0.0
    assert sample.max() < 1.0
    assert abs(sample.mean() - 1 / 2) <= 5 * math.sqrt(1 / 12 / n)
    assert abs((sample**2).mean() - 1 / 3) <= 5 * math.sqrt((1 / 5 - 1 / 9) / n)


def test_uniforms_fill_a_hundred_boxes_evenly(sample):
    counts = np.bincount((sample.ravel() * 100).astype(int), minlength=100)
    expected = sample.size / 100
    chi = ((counts - expected) ** 2 / expected).sum()  # 99 degrees of freedom: mean 99, variance 198
    assert abs(chi - 99) <= 5 * math.sqrt(198)


@pytest.mark.parametrize("name", ["next round", "next replica", "another stream", "another seed"])
def test_uniforms_are_uncorrelated(sample, name):
    if name == "next round":
        a, b = sample[:, :-1], sample[:, 1:]
    elif name == "next replica":
        a, b = sample[:-1], sample[1:]
    else:
        seed, stream = (2024, Stream.OUTCOME) if name == "another stream" else (2025, Stream.CHOICE)
        luck = Luck(seed=seed, replicas=np.arange(400))
        a, b = sample, np.stack([luck.uniform(stream, np.array([t]), 1)[:, 0] for t in range(250)], 1)
    correlation = 12 * ((a - 0.5) * (b - 0.5)).mean()
    assert abs(correlation) <= 5 / math.sqrt(a.size)


def test_normals_are_box_muller_of_the_uniforms():
    luck, t = Luck(seed=8, replicas=np.array([1, 5])), np.array([3])
    for size in (1, 2, 5, 6):
        u = luck.uniform(Stream.OUTCOME, t, size + size % 2)
        pairs = np.sqrt(-2 * np.log(1 - u[:, ::2])) * np.exp(2j * math.pi * u[:, 1::2])
        expected = np.stack([pairs.real, pairs.imag], 2).reshape(2, -1)[:, :size]
        np.testing.assert_allclose(luck.normal(Stream.OUTCOME, t, size), expected, rtol=1e-9, atol=1e-12)


def test_normals_have_the_moments_and_the_distribution_of_the_normal():
    """100,000 draws; five standard errors, and for Kolmogorov-Smirnov a probability of 1e-6 (2 exp(-2 n d^2))."""
    z = Luck(seed=2024, replicas=np.arange(1000)).normal(Stream.OUTCOME, np.array([1]), 100)
    n = z.size
    for power, (mean, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}.items():
        assert abs((z**power).mean() - mean) <= 5 * math.sqrt(variance / n)
    ordered = np.sort(z.ravel())
    gap = np.abs(ndtr(ordered) - (np.arange(n) + 0.5) / n).max() + 0.5 / n
    assert gap <= math.sqrt(math.log(2e6) / 2 / n)
    # neither the two of a pair, nor neighbours across pairs, have anything in common
    for a, b in ((z[:, ::2], z[:, 1::2]), (z[:, 1:-1:2], z[:, 2::2]), (z[:, ::2] ** 2 - 1, z[:, 1::2] ** 2 - 1)):
        assert abs((a * b).mean()) <= 5 * math.sqrt((a**2).mean() * (b**2).mean() / a.size)
