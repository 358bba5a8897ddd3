"""The table of known optima: every recipe in every simulated environment, held against the best static policy."""
