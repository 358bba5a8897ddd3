"""How far the value of a rule is from what it is worth: `python -m tests.offline.rule_values LOGS [ROWS]`.

The whole procedure is run in every log. The truth is what the rules that are learned without each fold are worth in a
population of 65,536 cases of a Sobol sequence, by true means.
"""

import sys
from dataclasses import replace

import numpy as np
from scipy.stats.qmc import MultivariateNormalQMC

from evenhand.offline import rules
from evenhand.offline.scores import Z
from evenhand.offline.values import policy_of
from tests.offline.logs import draw, means_of, problem

TRAITS = MultivariateNormalQMC(np.zeros(4), seed=99).random(65_536)
MEANS = means_of(TRAITS)
POPULATION = replace(draw(len(TRAITS), 99).evidence, columns={f"x{i}": TRAITS[:, i] for i in range(4)})


def errors(logs, rows=1000, rate=0.4, first=0):
    """By log, the error of the value in standard errors, the error itself, and the standard error."""
    stated, found = problem(rate=rate, subject_to=problem(rate=rate).subject_to[:1]), []
    for seed in range(first, first + logs):
        log = replace(draw(rows, 3000 + seed).evidence, problem=stated)
        one = rules(log, depth=2, cuts=16, seed=seed)
        each = [float((policy_of(z, POPULATION) * MEANS).sum(1).mean()) for z in one.by_fold]
        off = one.learned.value.value - float(np.mean(each))
        found.append([off / one.learned.value.error, off, one.learned.value.se])
    return np.array(found)


if __name__ == "__main__":
    count, rows = (int(z) for z in (*sys.argv[1:], *("400", "1000")[len(sys.argv) - 1 :]))
    t = errors(count, rows)
    mean, se = t[:, 1].mean(), t[:, 1].std() / np.sqrt(count)
    print(f"{count} logs of {rows} rows: bias {mean:+.5f} +- {se:.5f} ({mean / se:+.2f} of its errors)")
    print(f"outside: {(np.abs(t[:, 0]) > Z).mean():.3f}; error {t[:, 1].std():.4f}, stated {t[:, 2].mean():.4f}")
