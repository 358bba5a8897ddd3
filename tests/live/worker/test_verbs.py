"""Several verbs in one transaction."""

import evenhand as eh
from evenhand.core.errors import ConcurrentUse

COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)


def test_what_verbs_leave_out_is_as_for_the_campaign():
    campaign = eh.Campaign.open("memory://", "coins", eh.uniform(COIN, 1))
    (said,) = campaign.many([lambda verbs: verbs.decide({}, "first")])
    seen, again = campaign.many(
        [lambda verbs: verbs.observe(said.id, {"gain": 1}), lambda verbs: verbs.observe(said.id, {"gain": 0})]
    )
    assert seen is True
    assert isinstance(again, eh.EvenhandError)


def test_a_verb_that_waits_for_its_own_campaign_is_told_so():
    campaign = eh.Campaign.open("memory://", "coins", eh.uniform(COIN, 1))
    (found,) = campaign.many([lambda _: campaign.decide({}, "first")])
    assert isinstance(found, ConcurrentUse)
    assert "it has to use the verbs that it was given" in str(found)
    assert campaign.decide({}, "first").id == 2
