"""Actions that are appended to a campaign."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.commands import policies
from evenhand.live.campaigns.history import History
from evenhand.live.fold.cases import NameEncoder
from evenhand.live.fold.phases import Phase
from evenhand.live.stores.memory import MemoryStore
from tests.replay.shop import PROBLEM, rows, write
from tests.states import near

SHOP = eh.Problem(
    actions=("none", "letter"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(eh.Outcome("answer", free=("none",)), eh.Outcome("cents", high=90.0, mean={"letter": 30.0})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=1500),),
    horizon=120,
)
MORE = replace(
    SHOP,
    actions=("none", "letter", "call"),
    outcomes=(SHOP.outcomes[0], eh.Outcome("cents", high=90.0, mean={"letter": 30.0, "call": 20.0})),
)
OLD, NEW = (eh.resolving(p, eh.PerAction.of(p)) for p in (SHOP, MORE))


def lived(store, rounds=40):
    campaign, said = eh.Campaign.open(store, "shop", OLD, seed=4, on_expiry="release"), []
    for i in range(rounds):
        said.append(campaign.decide({"age": 20 + i}, key=f"{i}", offered=("none", "letter") if i == 7 else None))
        if i % 10:
            settle(campaign, said[-1], i)
    return campaign, [s for i, s in enumerate(said) if i % 10 == 0]


def settle(campaign, said, i):
    played = said.action != "none"
    campaign.observe(said.id, {"answer": float(played and i % 3 > 0), "cents": 20.0 * played})


def test_a_campaign_goes_on_with_an_appended_action():
    store = MemoryStore()
    campaign, late = lived(store)
    spent, first = campaign.status().accounts["cents"], list(campaign.decisions()["action"])
    campaign.switch(NEW)
    assert (campaign.status().accounts["cents"].spent, campaign.status().accounts["cents"].held) == (
        spent.spent,
        spent.held,
    )
    campaign.cancel(late.pop().id)
    for i, said in enumerate(late):
        settle(campaign, said, i)
    before, paid = campaign.status().accounts["cents"].spent, next(z for z in late if z.action != "none")
    campaign.observe(paid.id, {"answer": 0.0, "cents": 50.0}, revise=True)
    assert campaign.status().accounts["cents"].spent == before + 30.0
    assert campaign.decide({"age": 20}, key="0").repeated
    said = [campaign.decide({"age": 20 + i % 40}, key=f"more {i}") for i in range(60)]
    for i, one in enumerate(said):
        settle(campaign, one, i)
    assert "call" in {one.action for one in said}
    assert campaign.status().accounts["cents"].spent <= 1500
    assert list(campaign.decisions()["action"]) == first + [one.action for one in said]
    again = eh.Campaign.open(store, "shop", NEW, seed=4, on_expiry="release")
    assert again.report()["actions"] == campaign.report()["actions"]
    assert eh.live.audit(store, "shop", [OLD, NEW]).clean
    with pytest.raises(eh.live.Conflict, match="switched from"):
        again.explain(late[0].id)
    assert "call" in again.explain(said[-1].id)


def test_a_log_that_is_folded_anew_has_the_model_and_the_contexts_of_an_adopted_state():
    """The prices of decisions that were made before differ; what was learned of them does not."""
    campaign, _ = lived(MemoryStore())
    adopted = NEW.adopt(campaign._worker.fold.state, of=OLD)
    worker = campaign._worker
    events = [e for e in campaign.events() if e.kind != "opened"]
    anew = worker.folding.base._replace(body=worker.folding.base.body.replace(OLD.fingerprint(), NEW.fingerprint()))
    worker.folding.phases.give(Phase(NEW, NameEncoder(NEW)))
    folded = replace(worker.folding, base=anew).of(lambda after: [e for e in (anew, *events) if e.seq > after]).state
    near(adopted.model, folded.model, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(adopted.books, folded.books)
    place = next(i for i, g in enumerate(NEW.goals) if hasattr(g, "append"))
    ours, theirs = adopted.goals[place].history, folded.goals[place].history
    np.testing.assert_array_equal(ours.features, theirs.features)
    np.testing.assert_array_equal(ours.known, theirs.known)
    # A case that named what was offered did not offer what came later; a plan that adopts counts it all the same.
    assert not theirs.offered[0, 7, 2]
    assert theirs.offered[0, :7, 2].all()
    assert ours.offered[0, :8, 2].all()


def test_pages_and_exports_know_the_appended_action(tmp_path):
    store = MemoryStore()
    campaign, _ = lived(store)
    campaign.switch(NEW)
    assert History.of(store, "shop").actions == ["none", "letter", "call"]
    campaign.save_report(tmp_path / "page.html")
    assert "call" in (tmp_path / "page.html").read_text()
    campaign.snapshot()
    assert eh.Campaign.open(store, "shop", NEW, seed=4, on_expiry="release").status() == campaign.status()


@pytest.mark.parametrize("actions", [("none", "call", "letter"), ("none",), ("call", "none", "letter")])
def test_other_actions_than_appended_ones_are_refused_by_name(actions):
    campaign, _ = lived(MemoryStore(), 2)
    free = tuple(a for a in actions if a == "none")
    other = replace(SHOP, actions=actions, outcomes=(eh.Outcome("answer", free=free), eh.Outcome("cents", mean=0.5)))
    with pytest.raises(InvalidInput, match=r"policy: problem.actions: expected \('none', 'letter'\), after which"):
        campaign.switch(eh.resolving(other, eh.PerAction.of(other)))


def test_a_problem_file_takes_over_with_an_action_more(tmp_path):
    log, file = write(tmp_path, rows(200), PROBLEM)
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "post", file, log_path=log, learn=False)
    for i in range(20):
        said = campaign.decide({"age": 25 + i, "town": "south"}, key=f"{i}")
        campaign.observe(said.id, {"visit": i % 2})
    spent, values = campaign.status().accounts["post"].spent, '"B" = "b"'
    file.write_text(PROBLEM.replace(values, f'{values}, "C" = "c"').replace("b = 1", "b = 1, c = 1"))
    changed = eh.live.switch_campaign(store, "post", file)
    assert changed.policy.problem.actions == ("none", "a", "b", "c")
    assert changed.status().accounts["post"].spent == spent
    said = [changed.decide({"age": 30, "town": "north"}, key=f"more {i}").action for i in range(60)]
    assert "c" in said
    assert eh.live.open_campaign(store, "post", file).status() == changed.status()
    each = policies(store, "post")
    told = [stated.coded for stated in each]
    assert eh.live.audit(store, "post", [stated.policy for stated in each], encoders=told).clean
    file.write_text(PROBLEM.replace(values, '"C" = "c", "B" = "b"').replace("b = 1", "b = 1, c = 1"))
    with pytest.raises(InvalidInput, match=r"policy: problem.actions: expected \('none', 'a', 'b', 'c'\)"):
        eh.live.switch_campaign(store, "post", file)
