"""After a restore no number of a decision is given out twice, and what was lost is refused in words."""

import pytest

import evenhand as eh
from evenhand.live import Unknown

COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
POLICY = eh.uniform(COIN, 1)


def test_an_outcome_of_a_lost_decision_is_not_that_of_another(tmp_path):
    first, copy, second = f"sqlite:///{tmp_path}/a.db", tmp_path / "copy.db", f"sqlite:///{tmp_path}/b.db"
    with eh.Campaign.open(first, "c", POLICY) as campaign:
        early = campaign.decide({}, key="early")
        eh.live.backup(first, copy)
        lost = campaign.decide({}, key="order of A")
    eh.live.restore(copy, second, by="ada", why="disk lost")
    with eh.Campaign.open(second, "c", POLICY) as campaign:
        new = campaign.decide({}, key="order of B")
        with pytest.raises(Unknown, match=f"decision {lost.id} was lost in the restore of"):
            campaign.observe(lost.id, {"gain": 1})
        assert campaign.find("order of B")["state"] == "waiting"
        assert campaign.observe(new.id, {"gain": 0})
        assert campaign.observe(early.id, {"gain": 1})
