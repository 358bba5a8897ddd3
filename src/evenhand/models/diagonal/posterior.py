"""What the models share that know each coefficient apart from all others, so that a case costs as much as it has.

Equation: the posterior of theta_j is normal with precision P_j = rho + I_j and mean origin_j + h_j / P_j. An
observation z of curvature c (1 where the model is linear, in units of the noise) with S = sum_j z_j^2 / P_j adds

    c z_j^2 / (1 + c (S - z_j^2 / P_j))    to I_j,

which leaves 1 / P_j at the variance of the exact posterior after one observation; the covariances of that are forgotten
(assumed density filtering). S of the other features is what makes it honest: of the sum c z_j^2 each feature
would learn as if all others were known. The penalty rho is in no sum, so that it can change without a pass over all
columns, and so can the factor by which sums have faded. Where features of different cases do not overlap, all of this
is the exact posterior.

Of the first columns covariances may be known: they are a block (`models.diagonal.block`), whose variance is in S.

The penalty is one of a few multiples of the mean square of features, by its evidence: the product of the densities with
which each outcome was predicted, before it was learned, at that penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import Packed
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models.base import AFFORDABLE, AHEAD, ZEROS, ColumnGain, Gain, Lesson, Note
from evenhand.models.diagonal import block as joint, directions as directions_of
from evenhand.models.diagonal.block import BlockState, Inner, adopt, renew
from evenhand.models.diagonal.directions import UNUSED, DirectionState
from evenhand.models.diagonal.prediction import Cells, Known
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import LEAST, STRONG
from evenhand.problem.problem import Problem

WIDE = 1000  # numbers of a case above which the models that users get by default keep no covariances
MANY, FEW = 300, 8  # or above which they do where a case has so few that are not 0
RANK = 64  # directions that cases of more than that have in common, at most
_POWERS = np.arange(-3.0, 7.0)  # of 4, by which penalties differ from the one believed before any data
_BELIEVED = int(np.flatnonzero(_POWERS == 0.0).item())  # the place of the penalty believed before any data
_SPARSE = 0.25  # the part of a row's numbers up to which those that are not 0 are looked up by themselves
_SMALL = 1e-30  # a factor below which sums are multiplied by it


@dataclass
class DiagonalState:
    """The posterior of each coefficient by itself; with coefficients by action there are A rows per replica.

    G penalties compete, in units of the mean square of features.
    """

    information: Floats  # (R A, d) I over `factor`
    moment: Floats  # (R A, d, M) h over `factor`
    expected: Floats  # (R A, d) sums of z_j^2 over plays whose outcomes are to come; (0, 0) without any
    factor: Floats  # (R,) by which the sums have faded
    touched: Floats  # (R,) coefficients with data
    novel: Floats  # (R,) how many more each observation gives data to lately
    losses: Floats  # (R, G) sums over observations, from which the evidence of each penalty is made
    missed: Floats  # (R, G, M, M) sums of squared errors, where the noise is estimated
    sigma: Floats  # (R, M, M) covariance of the noise, where it is estimated
    chosen: Floats  # (R,) the penalty, in units of the mean square of features
    count: Floats  # (R,) observations
    size: Floats  # (R,) sum of |x|^2
    zeros: Floats = field(metadata=ZEROS)  # (R, M) observations in which an outcome was declared 0
    rounds: Floats  # (R,) rounds in which something was seen
    taught: Floats  # (R,) of these, rows that others played
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    affordable: Floats = field(metadata=AFFORDABLE)  # (R, A) plays of each action that budgets can pay for, or (R, 0)
    origin: Floats  # (R A, d, M) theta before any data, or (R A, 1, M) if it is the same for all columns
    scales: Floats  # (G,) the penalties, in units of the mean square of features
    doubts: Floats  # (G,) log densities of the penalties before any data
    ends: Floats  # (2, M) of the ranges
    units: Floats  # (M,) in which outcomes are stated
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy
    block: BlockState | None  # the first columns, whose entries above are 0, and directions; None without either
    directions: DirectionState | None  # that cases have in common; None without any


Attribute = Callable[[Floats, Floats, Floats], Floats]  # theta, features and prices, as `_shared.linear_parts`


def known(s: DiagonalState) -> Known:
    """Return how much is known in a state."""
    books = s.rounds, s.taught, s.horizon, s.ahead, s.affordable
    return Known(s.factor, s.touched, s.novel, s.chosen, s.count, s.size, *books)


def is_wide(problem: Problem) -> bool:
    """Return whether models of a problem keep no covariances by default.

    That is where rows are packed, where a case has more than 1,000 numbers, and where it has more than 300 of which at
    most eight are not 0: the levels of a few features, of which one says little of others.
    """
    count = problem.n_features - 1  # without the intercept
    return problem.packed is not None or count > WIDE or (count > MANY and len(problem.features) < FEW)


def block_of(problem: Problem) -> int:
    """Return how many first columns of packed rows are a block by default: exact ones, of rows without directions."""
    packing = problem.packing
    if packing is None or packing.size.pairs > FEW:
        return 0
    exact = packing.slots[-1][1] if packing.slots else 1
    return exact if 1 < exact <= RANK else 0


def note(s: DiagonalState, replica: int) -> Note:
    """Say what the model is, and how many coefficients have data."""
    count = s.information.size // len(s.factor)
    own = f" beside the first {stated_columns(s)}" if stated_columns(s) else ""
    if s.directions is not None:
        found = int(s.directions.found[replica])
        own += f" beside {found} direction{'s' * (found != 1)} that cases have in common"
    data = f"{s.touched[replica]:,.0f} of {count:,} have data"
    return Note(f"each coefficient by itself, without covariances{own}: {data}")


def check_rows(name: str, n_features: int, packed: Packed | None, block: int, rank: int | None) -> int:
    """Return the number of features of a candidate: those stated, or twice the pairs of packed rows."""
    validate.whole(f"{name}.block", block, 0)
    validate.whole(f"{name}.rank", rank or 0, 0)
    if block > (n_features if packed is None else packed.columns):
        raise InvalidInput(f"{name}.block", "at most as many columns as there are", block)
    if packed is None:
        validate.whole(f"{name}.n_features", n_features, 1)
        return n_features
    validate.whole(f"{name}.packed.columns", packed.columns, 1)
    validate.whole(f"{name}.packed.pairs", packed.pairs, 1)
    if n_features not in (0, 2 * packed.pairs):
        raise InvalidInput(f"{name}.n_features", f"{2 * packed.pairs}, twice the pairs of packed rows", n_features)
    return 2 * packed.pairs


def sizes(n_features: int, packed: Packed | None, block: int, rank: int | None) -> tuple[int, int, int]:
    """Return the numbers of columns in the block, of directions, and of the features that one is made of.

    Unless stated, there are directions where packed rows have more than eight pairs, and no block.
    """
    pairs = n_features if packed is None else packed.pairs
    many = packed is not None and pairs > FEW and not block
    return block, (RANK if many else 0) if rank is None else rank, pairs


def columns_of(n_features: int, packed: Packed | None) -> int:
    """Return the number of coefficients of an action."""
    return n_features if packed is None else packed.columns


def start(
    columns: int,
    ranges: tuple[Floats, Floats],
    units: Floats,
    prior: tuple[Prior, float, float],
    sizes: tuple[int, int, int],
    block: tuple[int, int, int],
) -> DiagonalState:
    """Return the state before any data.

    Args:
        columns: d.
        ranges: of the outcomes, `(M),(M)`.
        units: in which they are stated, `(M)`.
        prior: the prior, and the variances of means before any data, by default and by the prior.
        sizes: the numbers of replicas and of actions, and the horizon.
        block: the numbers of its columns and of directions, and k.
    """
    (n_replicas, actions, horizon), (low, high), m, rows = sizes, ranges, len(units), sizes[0] * sizes[1]
    scales, doubts = _penalties(*prior[1:], m)
    each = columns if np.ndim(np.asarray(prior[0].mean)) else 1
    origin = prior[0].origin(n_replicas, actions, m, each) / units[:, None]
    books = [np.zeros(n_replicas) for _ in range(6)]
    return DiagonalState(
        information=np.zeros((rows, columns)),
        moment=np.zeros((rows, columns, m)),
        expected=np.zeros((0, 0)),
        factor=np.ones(n_replicas),
        touched=books[0],
        novel=books[5],
        losses=np.zeros((n_replicas, len(scales))),
        missed=np.zeros((n_replicas, len(scales), m, m)),
        sigma=np.zeros((n_replicas, m, m)),
        chosen=np.full(n_replicas, 1.0 / prior[2]),
        count=books[1],
        size=books[2],
        zeros=np.zeros((n_replicas, m)),
        rounds=books[3],
        taught=books[4],
        ahead=np.ones(n_replicas),
        affordable=np.zeros((n_replicas, 0)),
        origin=np.ascontiguousarray(origin.transpose(0, 2, 1)),
        scales=scales,
        doubts=doubts,
        ends=np.stack([low, high]) / units,
        units=units,
        horizon=np.full(n_replicas, float(horizon)),
        block=joint.start(sum(block[:2]), rows, n_replicas, m, len(scales)) if sum(block[:2]) else None,
        directions=directions_of.start(n_replicas, *block[1:]) if block[1] else None,
    )


def _penalties(default: float, believed: float, outcomes: int) -> tuple[Floats, Floats]:
    """Return penalties around the one believed in, and their log densities, `->(G),(G)`.

    The spread of means counts as one observation of it. A prior that is narrower than the default is replaced by that
    once the evidence is 20 to 1 (`numerics.evidence.fit`).
    """
    narrow, powers = believed < default, 4.0**_POWERS
    doubts = 0.5 * outcomes * (np.log(powers) - powers)
    if not narrow:
        return powers / believed, doubts
    wide = -0.5 * outcomes - STRONG
    return np.append(powers / believed, 1.0 / default), np.append(np.where(powers < 1.0, doubts - STRONG, doubts), wide)


def read(state: DiagonalState, x: Floats, n_features: int, packed: Packed | None) -> Cells:
    """Look up the coefficients of candidates, `(C,n)`, which lead with the index of an action where n is one more.

    Raises:
        InvalidInput: an index in a packed row that no column has.
    """
    return gather(state, *locate(state, x, n_features, packed))


def gather(state: DiagonalState, places: Ints, z: Floats) -> Cells:
    """Look up what is known at some places, for features `(C,k)`; directions need an order of their own."""
    rows, level = places[:, :, 0] // state.information.shape[1], np.zeros((*z.shape[:2], state.moment.shape[2]))
    _, places, x, inner, z = _split(state, places, z)
    if state.block is not None:  # one after another, so that a candidate's bits do not depend on others
        level = np.add.accumulate((x - z)[..., None] * _origin(state, places), 2)[:, :, -1].copy()
    cells = cells_of(state, places, z, Inner(inner, rows, level, joint.arrays(state.block)))
    if state.directions is None or not state.expected.size:
        return cells
    left = np.divide(z, x, out=np.zeros(z.shape), where=z != 0.0)  # of what waits as well, which is counted by x
    return cells._replace(expected=cells.expected * left * left)


def cells_of(state: DiagonalState, places: Ints, z: Floats, inner: Inner) -> Cells:
    """Look up what is known of features outside the block, `(C,k)`."""
    m, own = state.moment.shape[2], _origin(state, places)
    waits = state.expected.reshape(-1)[places] if state.expected.size else np.zeros((*places.shape[:2], 0))
    some = state.information.reshape(-1)[places], state.moment.reshape(-1, m)[places]
    return Cells(places, z, *some, own, waits, inner)


def _origin(state: DiagonalState, places: Ints) -> Floats:
    """Return theta before any data at some places, `(C,k)->(C,k|1,M)`."""
    (_, each, m), row = state.origin.shape, places[:, :, 0] // state.information.shape[1]
    own: Floats = state.origin.reshape(-1, m)[places] if each > 1 else state.origin[row]
    return own


def _split(state: DiagonalState, places: Ints, z: Floats) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return an order of features, places and features in it, those of the block, and what is left of the others."""
    columns, tail = places % state.information.shape[1], z
    order, inner = np.broadcast_to(np.arange(z.shape[2]), z.shape), np.zeros((*z.shape[:2], 0))
    if state.block is not None:
        inner, tail = joint.inside(stated_columns(state), columns, z)
    if state.directions is None:
        return order, places, z, inner, tail
    order, columns = directions_of.ordered(columns, tail)
    places, (z, tail) = np.take_along_axis(places, order, 2), (np.take_along_axis(y, order, 2) for y in (z, tail))
    s, t = np.empty((*z.shape[:2], state.directions.lower.shape[1])), np.empty(z.shape)
    directions_of.project(directions_of.arrays(state.directions), columns, tail, s, t)
    return order, places, z, np.concatenate([inner, s], 2), t


def stated_columns(state: DiagonalState) -> int:
    """Return the number of columns in the block, without directions."""
    rank = 0 if state.directions is None else state.directions.lower.shape[1]
    return 0 if state.block is None else state.block.gram.shape[1] - rank


def locate(state: DiagonalState, x: Floats, n_features: int, packed: Packed | None) -> tuple[Ints, Floats]:
    """Return places and features of candidates, `(C,n)->(C,k),(C,k)`: of rows that are mostly 0, of all else."""
    first, z = _first(state, x, n_features)
    if packed is not None:
        return _columns(state, first, z, x.shape[2] - n_features)
    used = z != 0.0
    counts = np.asarray(used.sum(2))
    most = max(int(counts.max()), 1)
    if most > _SPARSE * n_features:
        return first + np.arange(n_features), np.ascontiguousarray(z)
    at, short = np.nonzero(used), np.zeros((*z.shape[:2], most))
    columns, ends = np.zeros(short.shape, np.int64), counts.ravel().cumsum()
    slot = np.arange(len(at[0])) - np.repeat(ends - counts.ravel(), counts.ravel())
    columns[at[0], at[1], slot], short[at[0], at[1], slot] = at[2], z[at]
    return first + columns, short


def _first(state: DiagonalState, x: Floats, n_features: int) -> tuple[Ints, Floats]:
    """Return the place of the first coefficient of each candidate, and its numbers, `(C,n)->(C,1),(C,n)`."""
    (rows, d), lead = state.information.shape, x.shape[2] - n_features
    action = x[:, :, :1].astype(np.int64) if lead else np.zeros((*x.shape[:2], 1), np.int64)
    return d * (action + (np.arange(len(x)) * (rows // len(x)))[:, None, None]), x[:, :, lead:]


def _columns(state: DiagonalState, first: Ints, z: Floats, lead: int) -> tuple[Ints, Floats]:
    """Return the places and values of packed rows."""
    index, d = z[:, :, ::2], state.information.shape[1]
    column = index.astype(np.int64)
    bad = np.argwhere((column != index) | (column < 0) | (column >= d))
    if len(bad):
        r, c, i = bad[0].tolist()
        expected = f"the index of a column, a whole number from 0 to {d - 1}"
        raise InvalidInput(f"features[{r}, {c}, {lead + 2 * i}]", expected, index[r, c, i])
    return first + column, np.ascontiguousarray(z[:, :, 1::2])


def plays(
    state: DiagonalState, x: Floats, seen: Bools, n_features: int, packed: Packed | None
) -> Iterator[tuple[Cells, slice]]:
    """Yield the coefficients of one play of each replica after another, `(P,n),(P,M)->`, as the one before left them.

    Features of what was not seen are not read.
    """
    told = np.where(np.asarray(seen.all(2))[:, :, None], x, 0.0)
    for p in range(x.shape[1]):
        own = slice(p, p + 1)
        if state.directions is not None:
            _grow(state, state.directions, *locate(state, told[:, own], n_features, packed))
        yield read(state, told[:, own], n_features, packed), own


def _grow(state: DiagonalState, own: DirectionState, places: Ints, z: Floats) -> None:
    """Let a play of each replica make a direction if it is unlike those before."""
    _, places, z, inner, _ = _split(state, places, z)
    first = stated_columns(state)
    columns = places % state.information.shape[1]
    z = np.where(columns < first, 0.0, z)
    directions_of.grow(directions_of.arrays(own), np.where(z != 0.0, columns, UNUSED), z, inner[:, :, first:].copy())


def add(state: DiagonalState, cells: Cells, information: Floats, moment: Floats) -> None:
    """Add to sums, `(1,k),(1,k,M)`, of one play per replica; pairs that are not used share the first column's place."""
    used = information > 0.0
    places = cells.places[used]
    state.information.reshape(-1)[places] += information[used]
    state.moment.reshape(-1, moment.shape[3])[places] += moment[used]


def count_rounds(state: DiagonalState, seen: Bools, lesson: Lesson) -> None:
    """Count the rounds of a lesson, `(P,M)`."""
    size = lesson.weight * lesson.share * np.asarray(seen.all(2)).any(1)
    state.rounds += size
    if lesson.taught:
        state.taught += size


def gains(
    state: DiagonalState, x: Floats, rows: tuple[int, Packed | None], curvature: Callable[[Floats], Floats]
) -> Iterator[Gain | ColumnGain]:
    """Yield what plays will add to the block, and to sums of squares by column, `(P,n)->`.

    `rows` is n and the size of packed rows, and `curvature` that of the block at its mean features.
    """
    places, z = locate(state, x, *rows)
    if state.block is not None:
        _, places, z, inner, _ = _split(state, places, z)  # not what directions leave, as they come while plays wait
        z = np.where(places % state.information.shape[1] < stated_columns(state), 0.0, z)
        lead = x[:, :, : x.shape[2] - rows[0]]
        believed = 1.0 / state.scales.item(_BELIEVED)  # of each replica, whatever others have chosen since
        yield Gain(state.block, np.concatenate([lead, inner], 2), curvature, believed)
    yield ColumnGain(state, state.information.shape, places, z * z)


def given(state: DiagonalState, curve: Floats) -> Floats:
    """Return curvatures of plays to come, as what is kept apart leaves them to the block, `(R A)->(R A)`."""
    assert state.block is not None
    apart = np.repeat(state.block.apart, len(curve) // len(state.block.apart))
    return curve / (1.0 + curve * apart)


def fade(state: DiagonalState, keep: Floats, ahead: Floats) -> bool:
    """Multiply all sums and counts, `(),()->`; returns whether anything changed."""
    s, some = state, False
    s.ahead[:] = ahead
    for r in np.flatnonzero(keep < 1.0).tolist():
        part, some = keep[r] if s.count[r] * keep[r] >= LEAST else 0.0, True
        for sums in (s.count, s.size, s.rounds, s.taught, s.zeros, s.losses, s.missed, s.factor):
            sums[r] *= part
        if s.factor[r] < _SMALL and s.touched[r] > 0.0:
            each = len(s.information) // len(s.factor)
            block = [s.block.gram, s.block.moment] if s.block else []
            for whole_sums in (s.information, s.moment, *block):
                whole_sums[r * each : (r + 1) * each] *= s.factor[r]
            s.factor[r] = 1.0
            s.touched[r] *= part > 0.0
            if s.block is not None:
                s.block.penalties[r] = 0.0
        elif part == 0.0:
            s.factor[r] = 1.0
        if s.block is not None:
            _fade_block(s, s.block, r)
    return some


def _fade_block(s: DiagonalState, b: BlockState, r: int) -> None:
    """Invert the block of a replica again, whose sums have faded."""
    if s.count[r] > 0.0:
        block, f = joint.arrays(b), float(s.factor[r])
        renew(block, s.scales, r, float(s.size[r] / s.count[r]), float(s.count[r]), f)
        adopt(block, int(np.argmax(s.scales == s.chosen[r])), r, f)
        return
    each = len(b.gram) // len(b.penalty)
    b.inverse[r * each : (r + 1) * each] = 0.0
    b.theta[r * each : (r + 1) * each] = 0.0
    for books in (b.penalties, b.penalty, b.fitted, b.apart):
        books[r] = 0.0
    if s.directions is not None:
        s.directions.found[r] = 0.0


def contributions(
    state: DiagonalState, x: Floats, w: Floats, rows: tuple[int, Packed | None], attribute: Attribute
) -> Floats:
    """Attribute a difference to features, `(2,n),(K,1|2,M)->(K,n)`; `rows` is n and the size of packed rows."""
    (n, packed), m = rows, state.moment.shape[2]
    first, z = _first(state, x, n)
    packs = packed is not None
    places, z = _columns(state, first, z, x.shape[2] - n) if packs else (first + np.arange(n), z)
    cells, (order, _, used, _, _) = gather(state, places, z), _split(state, places, z)
    (replicas, _, k), count = z.shape, np.maximum(state.count, LEAST)
    rho = state.chosen * np.where(state.count > 0.0, state.size / count, 1.0)
    f = state.factor[:, None, None]
    off = f[..., None] * cells.moment / (rho[:, None, None] + f * cells.information)[..., None]
    if state.block is not None:
        off = _shared(state, state.block, cells, used, off)
    theta = np.take_along_axis(cells.origin + off, np.argsort(order, 2)[..., None], 2)
    theta = theta.transpose(0, 1, 3, 2).reshape(2 * replicas, m, k)
    which = np.broadcast_to(np.array([[0.0], [1.0]]), (replicas, 2, 1))  # in place of an action: a row of theta each
    found = attribute(np.ascontiguousarray(theta), np.concatenate([which, z], 2), w)
    out = np.zeros((*found.shape[:2], x.shape[2]))
    out[:, :, slice(x.shape[2] - n + packs, None, 1 + packs)] = found[:, :, 1:]
    return out


def _shared(state: DiagonalState, block: BlockState, cells: Cells, x: Floats, off: Floats) -> Floats:
    """Return what a candidate's features have coefficients of, in the block and apart from it, `(C,k),(C,k,M)->`."""
    rows, columns = np.divmod(cells.places, state.information.shape[1])
    first = stated_columns(state)
    if state.directions is not None:
        own, named = directions_of.arrays(state.directions), (x != 0.0) & (columns >= first)
        off = np.divide(cells.z, x, out=np.zeros(x.shape), where=named)[..., None] * off
        for r, c, m in np.ndindex(*x.shape[:2], off.shape[3]):
            weights, out = block.theta[rows[r, c, 0], first:, m].copy(), np.empty(x.shape[2])
            directions_of.spread(own, r, weights, np.where(named[r, c], columns[r, c], UNUSED), weights.copy(), out)
            off[r, c, :, m] += out
    stated = columns < first
    off[stated] = block.theta[rows[stated], columns[stated]]
    return off
