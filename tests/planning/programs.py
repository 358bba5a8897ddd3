"""Random linear programs over contexts, their optimum by HiGHS, and what passes find in plain NumPy."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from evenhand.planning.moments import Block, Terms


def program(seed):
    """A few contexts with one to five actions, budgets on some outcomes and parities of others; some are coarse."""
    luck = np.random.default_rng(seed)
    count, actions, cells = int(luck.choice([1, 5, 40, 200, 400])), int(luck.integers(1, 6)), int(luck.integers(1, 5))
    u, known = luck.gamma(1.0, size=(luck.integers(1, 4), actions, count)), np.zeros((luck.integers(0, 3), actions))
    u[0] = luck.normal(size=(actions, count))
    u[1:, 0] *= luck.random() < 0.5
    known[:] = luck.gamma(1.0, size=known.shape) * (luck.random(known.shape) < 0.7)
    if luck.random() < 0.4:
        u, known = u.round(int(luck.random() < 0.7)), known.round(1)
    cell, width = luck.integers(0, cells, count), len(u) + len(known)
    share, rows, bound = np.bincount(cell, minlength=cells) / count, [], []
    for o, amount in enumerate(amounts_of(Block(u, cell), known)[1:], 1):
        plain = np.zeros((cells, width))
        plain[:, o] = 1.0
        rows.append(plain)
        least = float(amount.min(0).mean()) if luck.random() < 0.9 else 0.0
        bound.append(least + luck.uniform(0.02, 0.7) * float(amount.max(0).mean()))
        if luck.random() < 0.5:
            tolerance = luck.choice([0.0, 0.01, 0.1]) * float(amount.mean())
            for c in np.flatnonzero(share):
                apart = np.zeros((cells, width))
                apart[:, o] = (np.arange(cells) == c) / share[c] - 1.0
                rows += [apart, -apart]
                bound += [tolerance, tolerance]
    unit = 10.0 ** luck.integers(-4, 5, len(bound))
    weights = np.zeros(width)
    weights[0] = 10.0 ** luck.integers(-3, 4)
    weights[-1] -= 0.3 * weights[0] * (luck.random() < 0.3)
    factors = np.array(rows).reshape(len(bound), cells, width).transpose(1, 0, 2) * unit[:, None]
    return Block(u, cell), Terms(weights, known, np.ascontiguousarray(factors), np.array(bound) * unit)


def amounts_of(block, known):
    """All outcomes of every action, `->(V+K,A,n)`."""
    alike = np.broadcast_to(known[:, :, None], (*known.shape, len(block.cell)))
    return np.concatenate([block.outcomes, alike])


def stated(block, terms):
    """The worth of every action and its rows, `->(n,A),(M,n,A)`."""
    amounts = amounts_of(block, terms.known)
    worth = np.einsum("o,oan->na", terms.weights, amounts)
    return worth, np.einsum("nmo,oan->mna", terms.factors[block.cell], amounts)


def optimum(block, terms):
    """The value per context of the best plan, None where no plan keeps to the limits."""
    worth, rows = stated(block, terms)
    count, actions = worth.shape
    variables, unit, units = np.arange(worth.size), np.abs(worth).max() or 1.0, np.abs(rows).max((1, 2), initial=0.0)
    units[units == 0.0] = 1.0
    limits = {
        "A_ub": csr_array(rows.reshape(len(rows), worth.size) / units[:, None] / count),
        "b_ub": terms.bound / units,
    }
    found = linprog(
        -worth.ravel() / unit / count,
        **(limits if len(rows) else {}),
        A_eq=csr_array((np.ones(worth.size), (variables // actions, variables))),
        b_eq=np.ones(count),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return -found.fun * unit if found.status == 0 else None
