"""The best actions of a long list under several limits, by linear programs of the cases at the margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.offline.outcome_models import parts_of
from evenhand.planning.moments import Block, Contexts, Job, Memory, Sums, Terms
from evenhand.planning.program import largest
from evenhand.planning.smoothed_dual import minimise, scale_of

FREE = 2_000  # cases about which the first program decides
_SAMPLE, _GROWS = 20_000, 8  # cases from which the first prices are, and by how much samples grow
_MIXED = 100  # cases that are undecided when prices are smoothed least
_HOTTEST, _FALL = 0.3, 0.25  # the first temperature of smoothed prices, and the factor from one to the next
_STEPS = 30  # passes of Newton's method at each
_PENALTIES = (1e4, 1e8)  # for a unit beyond a limit: of the largest worth, for the largest use of one case
_PASSES = 40
_EXACT = 1e-11  # of the largest worth, per case: how far the optimum may be away
_MORE = 1e-6  # of the largest use of a case, beyond limits, before lotteries are cut back: prices are those of more
_BINDING = 1e-4  # of that, within which a limit binds
_WITHIN = 1e-9  # of the largest use, per case: sums are rounded
_AT_ONCE = 2**14  # cases that are read at once, on which no bit depends
_SWEEPS = 10  # over the cases with a lottery, for whole actions that keep to the limits


@dataclass(frozen=True, kw_only=True, eq=False)
class Resource:
    """The use of a resource by each action, and the limits on it.

    Equation: mean_i factor[m, groups_i] use[i, a_i] <= most[m] for every limit m.

    Args:
        use: `(N,A)`, or `(1,A)` if it is that of every case.
        most: `(M)` the limits, per case.
        factor: `(M,G)` of the cases of each group in each limit.
        groups: `(N)` the group of every case; None if there is one.
        units: `(M)` the largest use of one case, with its factor; 1 where there is none.
        shared: `(M,G)` the part of the factor that is divided by the share of the group among all cases.
        weights: `(N)` how many cases each one counts as, which its use has already; None if it is one.
    """

    use: Floats
    most: Floats
    factor: Floats
    groups: Ints | None
    units: Floats
    shared: Floats | None = None
    weights: Floats | None = None

    @staticmethod
    def budget(use: Floats, most: float) -> Resource:
        """Limit the average use of all cases."""
        units = np.array([_largest(use)])
        return Resource(use=use, most=np.array([most]), factor=np.ones((1, 1)), groups=None, units=units)

    @staticmethod
    def parity(use: Floats, groups: Ints, tolerance: float) -> Resource:
        """Limit how far the average use of each group is from that of all, in both directions."""
        sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
        shared = np.diag(len(groups) / sizes[1])
        both = np.concatenate([shared - 1.0, 1.0 - shared])
        most = np.full(len(both), tolerance)
        return Resource.of_groups(use, sizes[0], both, most, np.concatenate([shared, -shared]))

    @staticmethod
    def of_groups(
        use: Floats, groups: Ints | None, factor: Floats, most: Floats, shared: Floats | None = None
    ) -> Resource:
        """Limit sums of the use by group, with a factor of each group in each limit, `(N or 1,A),(N),(M,G),(M)->`."""
        units = largest(factor) * _largest(use)
        return Resource(use=use, most=most, factor=factor, groups=groups, units=units, shared=shared)

    def of(self, rows: Ints | slice) -> Resource:
        """Return the resource for some cases; the limits remain those of all."""
        use = self.use if len(self.use) == 1 else self.use[rows]
        groups = None if self.groups is None else self.groups[rows]
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, use=use, groups=groups, weights=weights)

    def used(self, actions: Ints, by: Bools | None = None) -> Floats:
        """Sum the use of each limit by the actions of all cases, or of some, `(N),(N)->(M)`."""
        own = self.use[0, actions] if len(self.use) == 1 else self.use[np.arange(len(actions)), actions]
        return self.summed(own if by is None else np.where(by, own, 0.0))

    def summed(self, own: Floats) -> Floats:
        """Sum the use of all cases by limit, `(N)->(M)`."""
        if self.groups is None:
            return self.factor[:, 0] * float(own.sum())
        return np.asarray(self.factor @ np.bincount(self.groups, own, self.factor.shape[1]))

    def beyond(self, own: Floats) -> Floats:
        """Return the average use beyond each limit, by the use of all cases, `(N)->(M)`."""
        return self.summed(own) / len(own) - self.most

    def influence(self, own: Floats, prices: Floats) -> Floats:
        """Return the influence of cases on the average use at prices of the limits, by their own use, `(N),(M)->(N)`.

        A limit of an average of a group moves with the use of the group's cases beside that average. The average use
        itself, a constant, is left out.
        """
        groups = np.zeros(len(own), np.int64) if self.groups is None else self.groups
        found = (prices @ self.factor)[groups] * own
        if self.shared is not None:
            each = np.ones(len(own)) if self.weights is None else self.weights
            sizes = np.bincount(groups, each)
            means = np.bincount(groups, own) / np.where(sizes > 0.0, sizes, 1.0)
            found -= (prices @ self.shared)[groups] * means[groups] * each
        return np.asarray(found)

    def uses(self) -> Floats:
        """Return the use of each limit by every action of every case, `->(M,N,A)`."""
        factor = self.factor if self.groups is None else self.factor[:, self.groups]
        return factor[:, :, None] * self.use

    def charge(self, worth: Floats, prices: Floats) -> None:
        """Subtract the cost of every action's use at prices of the limits, `(N,A),(M)->`."""
        groups = np.zeros(1, np.int64) if self.groups is None else self.groups
        _charge(worth, self.use, np.asarray(prices @ self.factor), groups)


def net(worth: Floats, resources: Sequence[Resource], prices: Sequence[Floats]) -> Floats:
    """Return the worth of actions minus their use at some prices, `(N,A)->(N,A)`."""
    found = worth.copy()
    for resource, price in zip(resources, prices, strict=True):
        resource.charge(found, price)
    return found


def _nets(worth: Floats, resources: Sequence[Resource], prices: Sequence[Floats]) -> Iterator[tuple[slice, Floats]]:
    """Yield the rows of parts, and what `net` returns of them."""
    for part in parts_of(len(worth), _AT_ONCE):
        yield part, net(worth[part], [z.of(part) for z in resources], prices)


@kernel
def _charge(worth: Floats, use: Floats, prices: Floats, groups: Ints) -> None:
    """Take off the use of a resource at the price in each group, `(N,A),(N,A),(G),(N)->`; `(1,A)` and `(1)` for all."""
    differ, grouped = len(use) > 1, len(groups) > 1
    for i in range(len(worth)):
        j, price = i if differ else 0, prices[groups[i if grouped else 0]]
        for a in range(worth.shape[1]):
            worth[i, a] -= price * use[j, a]


def _largest(use: Floats) -> float:
    return float(largest(use.reshape(1, -1))[0])


class Allocation(NamedTuple):
    """The best actions of all cases within some limits."""

    actions: Ints  # (N,) without lotteries
    prices: tuple[Floats, ...]  # by resource, (M,) what one more unit per case is worth per case
    value: float  # of the optimum, which has lotteries in a few cases; per case
    split: Ints  # (L,) these cases
    lotteries: Floats  # (L,A)
    beyond: float = 0.0  # the largest use beyond a limit, in units of one case; inf if prices prove that all exceed one

    def of(self, table: Floats) -> Floats:
        """Return the value of every case in a table of actions, a mean where it has a lottery, `(N or 1,A)->(N)`."""
        own = np.asarray(table[np.arange(len(self.actions)) % len(table), self.actions])
        own[self.split] = (self.lotteries * table[self.split % len(table)]).sum(1)
        return own


def allocate(
    worth: Floats,
    resources: Sequence[Resource],
    order: Ints,
    near: tuple[Floats, ...] | None = None,
    free: int = FREE,
) -> Allocation:
    """Choose the actions with the greatest worth within limits, `(N,A)->(N)`.

    Equation: max mean_i sum_a p_ia w_ia s.t. the limits of all resources, where p_i is a lottery.

    At the prices of the limits, one action is the best by far in most cases. These actions are taken as given, and a
    linear program decides about the cases at the margin. Its prices are new: where an action that was taken as given is
    not the best at these, a program with more cases is solved. At the end no case has a better action at the prices of
    the program, so its optimum is that of the whole list, by duality.

    At most as many cases as limits bind have a lottery of several actions; with these, no limit is exceeded. Each case
    gets one of them, so that no limit is exceeded or, where that is not possible, by the least part of what one case
    uses. One budget is kept.

    Args:
        worth: `(N,A)`.
        resources: what actions use in each case.
        order: `(N)` all cases; of cases that are alike, those that come first have the first of their actions.
        near: prices that are close to the best ones, if some are known.
        free: the number of cases about which the first program decides.

    Raises:
        InfeasibleProblem: no lotteries keep to the limits.

    >>> worth = np.array([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0], [0.0, 0.5]])
    >>> money = Resource.budget(np.array([[0.0, 1.0]]), 0.5)
    >>> even = Resource.parity(money.use, np.array([0, 0, 1, 1]), 0.0)
    >>> allocate(worth, [money], np.arange(4)).actions.tolist()
    [1, 1, 0, 0]
    >>> allocate(worth, [money, even], np.arange(4)).actions.tolist()
    [1, 0, 1, 0]
    """
    found = nearest(worth, resources, order, near, free)
    if found.beyond > 1e-6 + _WITHIN * len(worth):
        raise InfeasibleProblem("no policy keeps to all limits of the list")
    return found


def nearest(
    worth: Floats,
    resources: Sequence[Resource],
    order: Ints,
    near: tuple[Floats, ...] | None = None,
    free: int = FREE,
    passes: int = _PASSES,
) -> Allocation:
    """Return the same as `allocate` or, where no lotteries keep to the limits, actions that exceed them."""
    if not resources:
        best = _best(worth)[0]
        value = float(worth[np.arange(len(worth)), best].mean())
        return Allocation(best, (), value, np.empty(0, np.int64), np.empty((0, worth.shape[1])))
    if near is None:
        near = (
            tuple(np.zeros(len(z.most)) for z in resources) if len(worth) <= free else _first(worth, resources, order)
        )
    for penalty in _PENALTIES:
        found = _sift(worth, resources, order, near, free, passes, penalty)
        if found.beyond <= 1e-6 + _WITHIN * len(worth) or found.beyond == np.inf:
            break
    return found


def _sift(
    worth: Floats,
    resources: Sequence[Resource],
    order: Ints,
    prices: tuple[Floats, ...],
    free: int,
    passes: int,
    penalty: float,
) -> Allocation:
    """Solve with a price of the use beyond limits."""
    count = len(worth)
    size = float(largest((worth - worth[:, :1]).reshape(1, -1))[0])
    for _ in range(passes):
        each = [_best(paid) for _, paid in _nets(worth, resources, prices)]
        best, ahead = np.concatenate([at for at, _ in each]), np.concatenate([by for _, by in each])
        # all cases that are as near as the last one: where many are alike, they are one in the program
        near = ahead <= np.partition(ahead, free)[free] if free < count else np.ones(count, bool)
        given, rows = np.flatnonzero(~near), order[near[order]]
        left = [count * z.most - z.used(best, ~near) for z in resources]
        at = _program(worth, resources, rows, left, size, penalty)
        missed = 0.0
        for part, paid in _nets(worth, resources, at.prices):
            missed = _missed(paid, best[part], np.flatnonzero(~near[part]), missed)
        if missed <= _EXACT * size * count:
            break
        if at.beyond > 1e-6 + _WITHIN * count and _exclude(
            worth, net(worth, resources, at.prices), resources, at.prices
        ):
            at = at._replace(beyond=np.inf)
            break
        prices, free = at.prices, 2 * free
    value = at.value + float(worth[given, best[given]].sum())
    best[rows] = at.actions
    return _cut_back(at._replace(actions=best, value=value / count, split=rows[at.split]), resources)


def _cut_back(found: Allocation, resources: Sequence[Resource]) -> Allocation:
    """Change lotteries by as little as keeps a plan to limits that it exceeds by rounding, or by what prices need.

    Equation: min sum dp^2 s.t. u_m . dp = -o_m, sum_a dp_ia = 0 of the actions that lotteries have, where o_m is the
    use beyond each limit that binds.
    """
    units, count = np.concatenate([z.units for z in resources]), len(found.actions)
    used = np.concatenate([z.summed(found.of(z.use)) - count * z.most for z in resources]) / units
    binding = np.abs(used) <= _BINDING + _WITHIN * count
    if not (len(found.split) and binding.any()):
        return found
    cases, played = np.nonzero(found.lotteries > 0.0)
    shape, some = found.lotteries.shape, [z.of(found.split) for z in resources]
    uses = np.concatenate([np.broadcast_to(z.uses(), (len(z.most), *shape)) for z in some]) / units[:, None, None]
    rows = np.concatenate([uses[binding][:, cases, played], cases == np.arange(len(found.split))[:, None]])
    change = np.concatenate([-np.maximum(used[binding], 0.0), np.zeros(len(found.split))])
    lotteries = found.lotteries.copy()
    lotteries[cases, played] += np.linalg.lstsq(rows, change, rcond=None)[0]
    lotteries = np.maximum(lotteries, 0.0)
    return found._replace(lotteries=lotteries / lotteries.sum(1, keepdims=True))


def _exclude(worth: Floats, paid: Floats, resources: Sequence[Resource], prices: tuple[Floats, ...]) -> bool:
    """Tell whether prices prove that limits exclude each other: at these, all lotteries within them are worth less.

    Equation: lambda . B + mean_i max_a (w_ia - lambda . u_ia) < mean_i min_a w_ia (Farkas), `(N,A),(N,A)->()`.
    """
    spared = sum(float(price @ z.most) for z, price in zip(resources, prices, strict=True))
    most, least = float(paid.max(1).mean()), float(worth.min(1).mean())
    size = max(abs(most), abs(spared), abs(least))
    return most + spared < least - _WITHIN * size


def _first(worth: Floats, resources: Sequence[Resource], order: Ints) -> tuple[Floats, ...]:
    """Prices at which few cases are undecided: from samples that grow to all cases."""
    cases, terms = program_of(worth, resources)
    scale = scale_of(cases.take(order[:_SAMPLE]), terms)
    prices, temperature, rows = np.zeros(len(terms.bound)), _HOTTEST, 0
    while rows < len(worth):
        rows = min(_SAMPLE if not rows else _GROWS * rows, len(worth))
        some: Contexts = cases if rows == len(worth) else Memory((cases.take(order[:rows]),))
        coolest = _MIXED / rows
        while True:
            prices, _ = minimise(some, terms, scale, prices, max(temperature, coolest), _STEPS)
            if temperature <= coolest:
                break
            temperature *= _FALL
    return tuple(np.split(prices, np.cumsum([len(z.most) for z in resources])[:-1]))


def _program(
    worth: Floats, resources: Sequence[Resource], rows: Ints, left: Sequence[Floats], size: float, penalty: float
) -> Allocation:
    """Solve the linear program of some rows by HiGHS, with a variable for each action of those that are alike.

    The value is a sum, and cases are numbered as the rows are.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    worth, some = worth[rows], [z.of(rows) for z in resources]
    facts = [
        worth,
        *(z.use for z in some if len(z.use) > 1),
        *(z.groups[:, None] for z in some if z.groups is not None),
    ]
    _, first, kind, copies = np.unique(
        np.hstack(facts), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    kinds, n_actions = len(first), worth.shape[1]
    units = np.concatenate([z.units for z in resources])
    uses = np.concatenate([np.broadcast_to(z.of(first).uses(), (len(z.most), kinds, n_actions)) for z in some])
    gain, limits = worth[first], len(units)
    variables = np.arange(kinds * n_actions)
    one_each = csr_array((np.ones(len(variables)), (variables // n_actions, variables)))
    scaled = csr_array((uses / units[:, None, None]).reshape(limits, -1))
    # The solver's tolerances are absolute, so worth and uses are scaled to a size of 1.
    for method in ("highs-ipm", "highs-ds"):  # as the first one fails for some programs that have an optimum
        result = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
            np.concatenate([((gain[:, :1] - gain) / size).ravel(), np.full(limits, penalty)]),
            A_ub=csr_array(hstack([scaled, -eye_array(limits)])),
            b_ub=np.concatenate(left) / units + _MORE,
            A_eq=csr_array(hstack([one_each, csr_array((kinds, limits))])),
            b_eq=copies.astype(float),
            method=method,
        )
        if result.status == 0:
            break
    else:
        raise InfeasibleProblem(f"the linear program of the list was not solved: {result.message}")
    chances, beyond = result.x[: len(variables)].reshape(kinds, n_actions), float(result.x[len(variables) :].max())
    each = np.maximum(-result.ineqlin.marginals, 0.0) * size / units
    prices = tuple(np.split(each, np.cumsum([len(z.most) for z in resources])[:-1]))
    paid = -net(np.zeros_like(gain), [z.of(first) for z in some], prices)
    room, beyond = np.concatenate(left) / units, max(beyond, 0.0)
    actions, split, lotteries = _whole(chances, paid, uses / units[:, None, None], room + beyond, kind.ravel(), copies)
    value = float((chances * gain).sum()) - _MORE * float(np.concatenate(prices) @ units)
    return Allocation(actions, prices, value, split, lotteries, beyond)


def _whole(
    chances: Floats, paid: Floats, uses: Floats, room: Floats, kind: Ints, copies: Ints
) -> tuple[Ints, Ints, Floats]:
    """Give whole actions to cases of several kinds, `(K,A),(K,A),(M,K,A),(M),(n),(K)->(n),(L),(L,A)`.

    Returns also the cases with a lottery, and the lotteries. Their actions begin with those that cost least, and are
    exchanged while limits are exceeded less, or while more is paid within them.
    """
    counts = np.floor(chances + 1e-6).astype(np.int64)
    left = copies - counts.sum(1)
    kinds = np.repeat(np.arange(len(copies)), left)
    lotteries = np.maximum(chances - counts, 0.0)[kinds]
    options = [np.flatnonzero(row > 1e-6) for row in chances[kinds]]
    whole = np.array([z[paid[k, z].argmin()] for k, z in zip(kinds, options, strict=True)], np.int64)
    over = (uses * counts).sum((1, 2)) + uses[:, kinds, whole].sum(1) - room
    for _ in range(_SWEEPS):
        before = whole.copy()
        for i, (k, mine) in enumerate(zip(kinds, options, strict=True)):
            each = over[:, None] + uses[:, k, mine] - uses[:, k, whole[i], None]
            worst = np.round(np.maximum(each, 0.0).max(0), 9)
            whole[i] = mine[np.lexsort([-paid[k, mine], worst])[0]]
            over = each[:, mine == whole[i]][:, 0]
        if (whole == before).all():
            break
    np.add.at(counts, (kinds, whole), 1)
    found = np.empty(len(kind), np.int64)
    found[np.argsort(kind, kind="stable")] = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())
    split = list[Ints]()
    for (k, a), times in zip(*np.unique(np.column_stack([kinds, whole]), axis=0, return_counts=True), strict=True):
        split.append(np.flatnonzero((kind == k) & (found == a))[-times:])
    return found, np.concatenate([np.empty(0, np.int64), *split]), lotteries / lotteries.sum(1, keepdims=True)


@kernel
def _best(worth: Floats) -> tuple[Ints, Floats]:
    """The best action of every case, and how far it is ahead of the second, `(N,A)->(N),(N)`."""
    best, ahead = np.empty(len(worth), np.int64), np.empty(len(worth))
    for i in range(len(worth)):
        at, first, second = 0, worth[i, 0], -np.inf
        for a in range(1, worth.shape[1]):
            if worth[i, a] > first:
                at, first, second = a, worth[i, a], first
            elif worth[i, a] > second:
                second = worth[i, a]
        best[i], ahead[i] = at, first - second
    return best, ahead


@kernel
def _missed(worth: Floats, actions: Ints, rows: Ints, found: float) -> float:
    """Add how much less the actions of some rows are worth than the best ones, `(N,A),(N),(n)->()`."""
    for i in rows:
        best = worth[i, 0]
        for a in range(1, worth.shape[1]):
            best = max(best, worth[i, a])
        found += best - worth[i, actions[i]]
    return found


class Cases(NamedTuple):
    """The cases of a list as contexts, of which some are copied at a time."""

    outcomes: Sequence[Floats]  # (N,A) each
    cell: Ints  # (N,)

    def take(self, rows: Ints | slice) -> Block:
        """Return some of them."""
        return Block(np.stack([np.ascontiguousarray(u[rows].T) for u in self.outcomes]), self.cell[rows])

    def over(self, job: Job) -> Sums:
        """Sum the results of a job, as of all cases at once."""
        return job(map(self.take, parts_of(len(self.cell), _AT_ONCE)))


def program_of(worth: Floats, resources: Sequence[Resource]) -> tuple[Cases, Terms]:
    """State a list as a linear program over contexts, whose rows are the limits of all resources, `(N,A)->(M)`.

    The first outcome is the worth. The use of a resource is another one: known if it is that of every case.
    """
    order = sorted(range(len(resources)), key=lambda j: len(resources[j].use) == 1)
    alike = [resources[j].use[0] for j in order if len(resources[j].use) == 1]
    each = [worth, *(resources[j].use for j in order if len(resources[j].use) > 1)]
    places, cell = _cells(resources, len(worth))
    weights = np.zeros(1 + len(resources))
    weights[0] = 1.0
    factors = [np.zeros((z.factor.shape[0], len(at), len(weights))) for z, at in zip(resources, places, strict=True)]
    for j, (z, at) in enumerate(zip(resources, places, strict=True)):
        factors[j][:, :, 1 + order.index(j)] = z.factor[:, at]
    return Cases(each, cell), Terms(
        weights=weights,
        known=np.array(alike).reshape(len(alike), worth.shape[1]),
        factors=np.ascontiguousarray(np.swapaxes(np.concatenate(factors), 0, 1)),
        bound=np.concatenate([z.most for z in resources]),
    )


def _cells(resources: Sequence[Resource], count: int) -> tuple[list[Ints], Ints]:
    """Number the combinations of groups, `->(C) by resource, (N)`: the group of each in a combination, and of cases."""
    places, cell = list[Ints](), np.zeros(count, np.int64)
    for z in resources:
        size = z.factor.shape[1]
        if z.groups is not None:
            cell = cell * size + z.groups
        there = np.flatnonzero(np.bincount(cell))
        number = np.empty(there[-1] + 1, np.int64)
        number[there] = np.arange(len(there))
        cell = number[cell]
        groups = there % size if z.groups is not None else np.zeros(len(there), np.int64)
        before = there // size if z.groups is not None else there
        places = [*(place[before] for place in places), groups]
    return places, cell
