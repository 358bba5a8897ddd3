"""Playlists: which songs come first, and is every label heard?

3,000 listeners get a list of 5 of 30 songs. They look at the first places more often than at the last. Most songs that
are liked belong to one of three labels; ranked by likes alone, the two others are hardly heard. As many likes as
possible are to come of it, while every label is heard at least 0.85 times as often as an even share.
"""

from dataclasses import replace

import numpy as np
from picture import drawing, finish, scales, style, table
from world import asked

import evenhand as eh
from evenhand.environments import Audience, Ranking

SONGS, TASTES, LISTENERS = 30, 4, 3000
rng = np.random.default_rng(0)
about = rng.dirichlet(np.full(TASTES, 0.5), SONGS)  # what every song sounds like
about *= np.where(np.arange(SONGS) % 3 == 0, 0.9, 0.4)[:, None]  # one label is liked more than the others
world = Ranking(
    audience=Audience(users=rng.dirichlet(np.full(TASTES, 0.3), 200), items=about),
    labels={f"item {i}": f"label {'ABC'[i % 3]}" for i in range(SONGS)},
    slots=5,
    horizon=LISTENERS,
)
model, replicas = eh.BayesianBilinear(n_user_features=TASTES, n_item_features=TASTES), asked(10)
rows, likes, least = [], [], []
for floor in (0.0, 0.25, 0.5, 0.85, 1.0):
    asks = (eh.Floor("exposure", rate=floor * world.looked.sum(), by="label"),) if floor else ()
    here = replace(world, subject_to=asks)
    trace = eh.simulate(eh.resolving(here.problem, model), here, replicas=replicas, progress=False)
    labels = [column for column, (by, _) in enumerate(here.problem.columns) if by == "label"]
    heard = trace.group_totals[-1][:, labels, here.problem.names.index("exposure")] / LISTENERS
    heard = 3 * heard / heard.sum(1, keepdims=True)  # over an even share
    likes.append(trace.objective()[-1].mean())
    least.append(heard.min(1).mean())
    rows.append([f"{floor:g}", likes[-1], likes[-1] / eh.opt(here).value, heard.min(), *heard.mean(0)])
head = "floor | likes a list | / optimum | least heard, worst | label A | label B | label C"
table(head, ".3f .3f .3f .2f .2f .2f", rows)

axes = drawing("times that the least heard label is heard, over an even share", "likes per list")
axes.plot(least, likes, "o-", color=style.PALETTE[0], lw=style.MAIN, ms=8)
axes.set_xticks(least, [f"{z:.2f}" for z in least])
axes.set_ylim(0.0, 1.1 * max(likes))
scales.linear(axes.yaxis)
lost = [100 * (1 - z / likes[0]) for z in likes]
finish(
    axes,
    "playlists",
    f"Half an even share for every label costs {lost[2]:.0f} % of the likes,\nan even share {lost[4]:.0f} %",
    f"means of {replicas} replicas of {LISTENERS:,} listeners; without a floor the least heard label has "
    f"{100 * least[0]:.0f} % of an even share",
)
