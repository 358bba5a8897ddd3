"""Plans of a few price vectors, beside the linear program of all contexts by HiGHS."""

import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem
from evenhand.planning.moments import Block, Memory, Terms
from evenhand.planning.price_mixture import best_mixture
from tests.planning.programs import optimum, program
from tests.rows import for_each


class Counted:
    """Contexts in memory that count the passes."""

    def __init__(self, block):
        self.held, self.passes = Memory((block,)), 0

    def over(self, job):
        self.passes += 1
        return self.held.over(job)


def labels(terms):
    return [f"row {j}" for j in range(len(terms.bound))]


def kept(found, terms):
    """Whether limits are kept, each in units of its own."""
    return bool((found.used <= terms.bound + 1e-9 * np.where(terms.bound == 0.0, 1.0, np.abs(terms.bound))).all())


@for_each("seed", range(80))
def test_the_optimum_of_all_contexts(seed):
    block, terms = program(seed)
    best, contexts = optimum(block, terms), Counted(block)
    if best is None:
        with pytest.raises(InfeasibleProblem, match="no plan keeps to these limits at once: row"):
            best_mixture(contexts, block, terms, labels(terms), 1e-6)
        return
    found = best_mixture(contexts, block, terms, labels(terms), 1e-6)
    size = 1e-8 * np.abs(terms.weights).max()
    assert found.gap <= 1e-6
    assert found.value <= best + size
    assert found.bound >= best - size
    assert kept(found, terms)
    assert len(found.weights) <= len(terms.bound) + 1
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert contexts.passes <= 30


def shop(count, seed=0, groups=3, tolerance=0.01):
    """Answers that differ by context, two prices of letters, and a parity of what the first one costs."""
    luck = np.random.default_rng(seed)
    x, cell = luck.normal(size=(4, count)), luck.integers(0, groups, count)
    w = np.random.default_rng(99).normal(size=(10, 4))
    answers = 1.0 / (1.0 + np.exp(1.5 - 0.6 * w @ x - 0.5 * (cell == 0) * np.linspace(0.0, 1.0, 10)[:, None]))
    cost = np.zeros((2, 10))
    cost[0, 1:6] = cost[1, 6:] = 1.0
    share, factors = np.bincount(cell) / count, np.zeros((groups, 2 + 2 * groups, 3))
    factors[:, 0, 1] = factors[:, 1, 2] = 1.0
    factors[:, 2 : 2 + groups, 1] = np.diag(1.0 / share) - 1.0
    factors[:, 2 + groups :, 1] = 1.0 - np.diag(1.0 / share)
    bound = np.r_[0.15, 0.1, np.full(2 * groups, tolerance)]
    return Block(answers[None], cell), Terms(np.array([1.0, 0.0, 0.0]), cost, factors, bound)


def tried(block, terms, sample=None):
    contexts = Counted(block)
    sample = np.sort(np.random.default_rng(0).choice(len(block.cell), 20_000, False)) if sample is None else sample
    found = best_mixture(contexts, block.take(sample), terms, labels(terms), 1e-6)
    assert found.gap <= 1e-6
    assert kept(found, terms)
    return found, contexts.passes


COUNT = 100_000


def test_a_plain_case_takes_a_few_passes():
    assert tried(*shop(COUNT))[1] <= 4


def test_no_tolerance_and_tiny_budgets():
    block, terms = shop(COUNT, tolerance=0.0)
    assert tried(block, terms)[1] <= 6
    found, _ = tried(block, terms._replace(bound=np.r_[1e-4, 1e-4, np.zeros(6)]))
    assert found.used[:2] == pytest.approx([1e-4, 1e-4], rel=1e-9)


def test_the_dual_is_what_one_more_unit_is_worth():
    block, terms = shop(COUNT)
    one, _ = tried(block, terms)
    for j in (0, 1):
        more = terms.bound.copy()
        more[j] *= 1.01
        other, _ = tried(block, terms._replace(bound=more))
        assert (other.value - one.value) / (more - terms.bound)[j] == pytest.approx(one.dual[j], rel=0.02)


def test_contexts_that_are_alike():
    block, terms = shop(COUNT)
    few = np.random.default_rng(0).integers(0, 50, COUNT)
    for u in (block.outcomes[:, :, few], block.outcomes.round(1), np.repeat(block.outcomes[:, :, :1], COUNT, 2)):
        assert tried(Block(np.ascontiguousarray(u), block.cell), terms)[1] <= 20


def test_heavy_tails():
    block, terms = shop(COUNT)
    heavy = np.random.default_rng(1).pareto(1.5, (1, 10, COUNT))
    tried(Block(heavy, block.cell), terms)


def test_a_sample_that_says_little():
    block, terms = shop(COUNT)
    ordered = block.take(np.argsort(block.outcomes[0, 0]))
    one, other = tried(block, terms)[0], tried(ordered, terms, np.arange(20_000))[0]
    assert one.value == pytest.approx(other.value, rel=2e-6)


def test_units_change_nothing():
    block, terms = shop(COUNT)
    one, _ = tried(block, terms)
    units = np.r_[1e4, 1e-3, np.full(6, 1e4)]
    scaled = terms._replace(factors=terms.factors * units[:, None], bound=terms.bound * units)
    other, _ = tried(Block(1000.0 * block.outcomes, block.cell), scaled)
    assert other.value == pytest.approx(1000.0 * one.value, rel=1e-9)
    assert other.prices * units / 1000.0 == pytest.approx(one.prices, rel=1e-6, abs=1e-9)


def test_limits_that_exclude_each_other_are_named():
    block, terms = shop(COUNT)
    factors = terms.factors.copy()
    factors[:, :2] *= -1.0  # at least so many letters of each price
    with pytest.raises(InfeasibleProblem, match=r"no plan keeps to these limits at once: row 0, row 1$"):
        tried(block, terms._replace(factors=factors, bound=np.r_[-0.9, -0.2, terms.bound[2:]]))
    with pytest.raises(InfeasibleProblem, match=r"at once: row 0$"):
        tried(block, terms._replace(factors=factors, bound=np.r_[-1.1, -0.2, terms.bound[2:]]))


def test_limits_that_do_not_bind_take_two_passes():
    block, terms = shop(COUNT)
    found, passes = tried(block, terms._replace(bound=np.full(8, 5.0)))
    assert found.value == pytest.approx(block.outcomes[0].max(0).mean(), rel=1e-12)
    assert passes == 2
    assert found.prices.tolist() == [[0.0] * 8]
    assert found.dual.tolist() == [0.0] * 8


def test_without_limits_every_context_has_its_best_action():
    block, terms = shop(100)
    bare = terms._replace(factors=terms.factors[:, :0], bound=terms.bound[:0])
    found = best_mixture(Memory((block,)), block, bare, [], 1e-6)
    assert found.value == pytest.approx(block.outcomes[0].max(0).mean())
    assert found.gap == 0.0
