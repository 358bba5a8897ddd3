"""Rules that can be read: trees of depth 1 and 2, learned within a budget."""
