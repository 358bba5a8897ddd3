"""The log of a campaign: events, ids, the life of a campaign, and the proof that a log is undamaged."""
