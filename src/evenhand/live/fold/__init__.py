"""The state of a campaign, which is a fold of its log: cases, policies, snapshots, corrections."""
