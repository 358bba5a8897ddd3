"""A gateway that speaks as OpenAI's API: a campaign picks the model of each request, within dollars by day and month.

A bill is known after the call, a rating comes later or never. A new model is a row more in the table: see
docs/described.md. `python examples/completions.py [REPLICAS]` also compares the log with the best plan for it.
"""

import sys
from datetime import UTC, datetime, timedelta

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

import evenhand as eh
from evenhand.live.stores.memory import MemoryStore

LIMITS = {"free": (1.0, 7.0), "pro": (1.5, 12.0)}  # dollars of a day and of the month
START = datetime(2026, 10, 1, tzinfo=UTC)
DAYS, PER_DAY, ANSWER = 10, 300, 4.0  # an answer has at most so many thousand tokens
MODELS = eh.problem.Actions(  # dollars per million tokens in and out, seconds to the first token, thousands of tokens
    [
        {"action": "mini", "price_in": 0.15, "price_out": 0.6, "seconds": 0.4, "context": 32},
        {"action": "flash", "price_in": 0.3, "price_out": 2.5, "seconds": 0.3, "context": 200},
        {"action": "base", "price_in": 1.25, "price_out": 10.0, "seconds": 0.8, "context": 64},
        {"action": "pro", "price_in": 3.0, "price_out": 15.0, "seconds": 1.5, "context": 200},
    ],
    features=(eh.Numeric("price_out", 0, 20), eh.Numeric("seconds", 0, 2), eh.Numeric("context", 0, 200)),
)


def dollars(model: str, words_in: float, words_out: float) -> float:
    """The bill of a call, by thousands of tokens."""
    row = MODELS.rows[model]
    return (row["price_in"] * words_in + row["price_out"] * words_out) / 1000


worst = {m: dollars(m, row["context"], ANSWER) for m, row in MODELS.rows.items()}
problem = eh.Problem(
    actions=MODELS.names,
    described=MODELS,
    outcomes=(eh.Outcome("good"), eh.Outcome("usd", high=worst)),
    features=(eh.Numeric("tokens", 0, 16), eh.Categorical("code", ("no", "yes"))),
    groups=(eh.Groups("tier", {"free": 0.7, "pro": 0.3}),),
    maximize="good",
    subject_to=(
        eh.Budget("usd", total={tier: day for tier, (day, _) in LIMITS.items()}, by="tier", per="day"),
        eh.Budget("usd", total={tier: month for tier, (_, month) in LIMITS.items()}, by="tier", per="month"),
    ),
    since="2026-10-01T00:00+00:00",
    until="2026-10-11T00:00+00:00",
    traffic=eh.problem.Traffic(PER_DAY, per="day"),
)


class Gateway:
    """Answers requests, and takes ratings."""

    def __init__(self, campaign: eh.Campaign, call) -> None:
        self.campaign, self.call, self.bills = campaign, call, {}

    def create(self, request: dict) -> dict:
        """As `POST /v1/chat/completions`: the answer has the model that gave it, and the usage that was billed."""
        case = {name: request[name] for name in ("tokens", "code", "tier")}
        fits = [m for m, row in MODELS.rows.items() if request["tokens"] + ANSWER <= row["context"]]
        made = self.campaign.decide(case, key=request["id"], offered=fits)
        if made.action is None:
            return {"id": request["id"], "error": {"code": "insufficient_quota"}}
        text, size = self.call(made.action, request)
        self.bills[request["id"]] = dollars(made.action, request["tokens"], size)
        self.campaign.observe(made.id, {"usd": self.bills[request["id"]], "good": None})  # frees its worst case
        return {"id": request["id"], "model": made.action, "choices": [{"message": {"content": text}}]}

    def rate(self, request: str, good: bool) -> None:
        """As a thumb up or down in the client, whenever it comes."""
        self.campaign.observe(request, {"usd": self.bills[request], "good": float(good)}, revise=True)


# What follows stands for users and for models.
def chance(model: str, request: dict) -> float:
    """How often a model's answer is good: dear models do better what is long or has code."""
    hard = 0.03 * request["tokens"] + 0.25 * (request["code"] == "yes")
    return 0.92 - hard * {"mini": 1.1, "flash": 0.7, "base": 0.4, "pro": 0.15}[model]


def serve(seed: int) -> tuple[float, float, dict[str, float]]:
    """Serve a run: the expected number of good answers, that of the best plan for the log, and the dollars."""
    rng, now, requests = np.random.default_rng(seed), START, []
    n = problem.n_described
    policy = eh.resolving(problem, eh.Stacked((eh.BayesianRidge(n_features=n), eh.BayesianRidge(n_features=n))))
    store = MemoryStore(now=lambda: int(now.timestamp() * 1e6))
    campaign = eh.Campaign.open(store, "gateway", policy, seed=seed, on_expiry="release")
    gateway = Gateway(campaign, lambda model, request: ("...", min(rng.exponential(0.5), ANSWER)))
    for i in range(DAYS * PER_DAY):
        now = START + timedelta(days=(i + 0.5) / PER_DAY)
        tier, code = ("free" if rng.random() < 0.7 else "pro"), ("yes" if rng.random() < 0.3 else "no")
        request = {"id": f"{i}", "tokens": 16 * rng.random() ** 2, "code": code, "tier": tier}
        answer = gateway.create(request)
        if "model" in answer and rng.random() < 0.5:  # half of the users never rate
            gateway.rate(request["id"], rng.random() < chance(answer["model"], request))
        requests.append(request)
    log = campaign.decisions()
    played = [MODELS.names.index(z) if z in MODELS.names else -1 for z in log["action"]]
    good = np.array([[chance(m, z) for m in MODELS.names] for z in requests])
    billed, spent = np.array([gateway.bills.get(z["id"], 0.0) for z in requests]), {}
    use = np.array([[dollars(m, z["tokens"], 0.5) for m in MODELS.names] for z in requests])
    rows, totals = [], []
    for tier, (day, month) in LIMITS.items():
        of_tier = np.array([z["tier"] == tier for z in requests])
        for first in range(DAYS):
            rows.append(of_tier & (np.arange(len(requests)) // PER_DAY == first))
            totals.append(day)
            assert billed[rows[-1]].sum() <= day  # on every day of every run
        rows.append(of_tier)
        totals.append(month)
        spent[tier] = billed[of_tier].sum()
        assert spent[tier] <= month
    once = kron(eye_array(len(requests)), np.ones((1, len(MODELS.names))))
    limits = vstack([once, csr_array((np.array(rows)[:, :, None] * use).reshape(len(rows), -1))])
    plan = linprog(-good.ravel(), limits, [*np.ones(len(requests)), *totals])
    gained = sum(good[i, a] for i, a in enumerate(played) if a >= 0)
    return gained, -plan.fun, spent


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        gained, best, spent = serve(seed)
        used = ", ".join(f"{tier} {z:.2f} of {LIMITS[tier][1]:.0f} dollars" for tier, z in spent.items())
        print(f"run {seed}: {gained:,.0f} good answers, {gained / best:.3f} of the best plan for the log; {used}")
