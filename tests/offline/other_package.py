"""What the Open Bandit Pipeline makes of the logs of `six_worlds`, in an environment of its own, without evenhand.

    python -m tests.offline.six_worlds 100 FOLDER
    python3.11 -m venv /tmp/obp && /tmp/obp/bin/pip install obp==0.4.1
    /tmp/obp/bin/python tests/offline/other_package.py FOLDER > tests/offline/other_package.json

By world and estimator: the largest difference to our estimates, how often the bootstrap's interval of 95 % holds at the
end of a log, and the share of logs in which it does not at some look.
"""

import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

RESAMPLES = 1000


def estimators():
    """The estimators of the package by our names, each a function of arrays that returns one and its arguments."""
    from obp import ope

    def single(z):
        given = {name: z[name] for name in ("reward", "action", "pscore")}
        return (
            given
            | {"action_dist": z["policy"][:, :, None]}
            | {"estimated_rewards_by_reg_model": z["predicted"][:, :, None]}
        )

    def slate(z, policy, pscore, names):
        rows, places = z["reward"].shape
        ids = {"slate_id": np.repeat(np.arange(rows), places), "position": np.tile(np.arange(places), rows)}
        return ids | {"reward": z["reward"].ravel()} | dict(zip(names, (pscore.ravel(), policy.ravel()), strict=True))

    def names(end):
        return "pscore" + end, "evaluation_policy_pscore" + end

    def whole(z):
        both = (np.repeat(z[name].prod(1), z[name].shape[1]) for name in ("policy", "pscore"))
        return slate(z, *both, names(""))

    def cascade(z):
        return slate(z, z["policy"].cumprod(1), z["pscore"].cumprod(1), names("_cascade"))

    def independent(z):
        return slate(z, z["own_policy"], z["own_pscore"], names("_item_position"))

    return {
        "doubly_robust": (ope.DoublyRobust(), single),
        "ips": (ope.InverseProbabilityWeighting(), single),
        "snips": (ope.SelfNormalizedInverseProbabilityWeighting(), single),
        "sndr": (ope.SelfNormalizedDoublyRobust(), single),
        "switch": (ope.SwitchDoublyRobust(tau=10.0), single),
        "direct_method": (ope.DirectMethod(), single),
        "whole lists": (ope.SlateStandardIPS(len_list=3), whole),
        "cascade": (ope.SlateRewardInteractionIPS(len_list=3), cascade),
        "independent": (ope.SlateIndependentIPS(len_list=3), independent),
    }


def main(folder):
    warnings.simplefilter("ignore")
    import obp

    looks, found = defaultdict(list), defaultdict(dict)
    for path in sorted(Path(folder).glob("*.npz")):
        kind, seed, _ = path.stem.split("+")
        looks[kind, int(seed)].append(path)
    for (kind, seed), paths in looks.items():
        for i, path in enumerate(paths):
            z = dict(np.load(path))
            for name, (one, given) in estimators().items():
                if f"ours_{name}" not in z:
                    continue
                asked = given(z)
                off = abs(float(one.estimate_policy_value(**asked)) - float(z[f"ours_{name}"]))
                ends = one.estimate_interval(**asked, n_bootstrap_samples=RESAMPLES, random_state=seed)
                _, low, high = ends.values()
                holds = bool(low <= z["truth"] <= high)
                own = found[kind].setdefault(name, {"logs": 0, "off": 0.0, "held": 0, "ever": set()})
                own["off"] = max(own["off"], off)
                own["ever"] |= set() if holds else {seed}
                if i == len(paths) - 1:
                    own["logs"] += 1
                    own["held"] += holds
    for each in found.values():
        for own in each.values():
            own |= {"held": own["held"] / own["logs"], "ever": len(own["ever"]) / own["logs"]}
    print(json.dumps({"package": f"obp {obp.__version__}", "resamples": RESAMPLES, "worlds": found}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
