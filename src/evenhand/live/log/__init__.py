"""The log of a campaign: events, ids, the life of a campaign, and what a log proves."""
