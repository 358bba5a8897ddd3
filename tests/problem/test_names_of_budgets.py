"""Names of several budgets on one sum, in statuses, prices and explanations."""

import evenhand as eh

PARTS = {
    "actions": ("small", "large"),
    "outcomes": (eh.Outcome("good"), eh.Outcome("usd", known={"large": 1.0})),
    "maximize": "good",
    "since": "2026-10-01",
    "until": "2026-11-01",
    "traffic": eh.problem.Traffic(10, per="day"),
}
DAY, MONTH = eh.Budget("usd", total=5, per="day"), eh.Budget("usd", total=50, per="month")


def names(*budgets, **more):
    return [s.rows.names[0] for s in eh.Problem(**PARTS, **more, subject_to=budgets).stated]


def test_several_budgets_on_one_sum_have_names_by_their_periods():
    own, soft = (
        eh.Budget("usd", total=[("2026-10-01", "2026-10-12", 30), ("2026-10-12", "2026-11-01", 40)]),
        eh.Budget("usd", total=9, hard=False),
    )
    week, two = eh.Budget("usd", total=20, per="day", window=7), eh.Budget("usd", total=7, per=2)
    months = eh.Budget("usd", total={"october": 50}, per="month")
    found = names(DAY, MONTH, own, soft, week, two, months, eh.Budget("usd", total=80))
    assert found[:6] == [
        "usd per day",
        "usd per month",
        "usd in own spans",
        "usd in all, soft",
        "usd in 7 days",
        "usd per 2 days",
    ]
    assert found[6:] == ["usd per month (2)", "usd in all"]
    assert names(DAY) == names(MONTH) == ["usd"]  # as ever where it is the only one
    tier = (eh.Groups("tier", {"free": 0.5, "pro": 0.5}),)
    free = eh.Budget("usd tier=free", total=3, per="day")
    assert names(DAY, free, groups=tier) == ["usd", "usd tier=free"]
    assert names(free, eh.Budget("usd tier=free", total=9), groups=tier) == [
        "usd tier=free per day",
        "usd tier=free in all",
    ]


def test_budgets_on_one_sum_are_priced_explained_and_switched_by_their_names():
    problem = eh.Problem(**PARTS, subject_to=(DAY, MONTH))
    policy = eh.resolving(problem)
    state = policy.start(seed=1)
    for hour in range(1, 4):
        case = policy.encode({}, time=f"2026-10-01T0{hour}:00", offered=["large"])
        decision = policy.act(state, case)
    text = policy.explain(state, case, decision)
    assert "usd per day: 2 of 5 left" in text
    assert "usd per month: 47 of 50 left" in text
    assert {"usd per day", "usd per month"} <= set(policy.status(state).prices)
    larger = eh.resolving(eh.Problem(**PARTS, subject_to=(eh.Budget("usd", total=6, per="day"), MONTH)))
    after = larger.status(larger.adopt(state, of=policy))
    assert {name: (a.spent, a.left_now) for name, a in after.accounts.items()} == {
        "usd per day": (3.0, 3.0),
        "usd per month": (3.0, 47.0),
    }
