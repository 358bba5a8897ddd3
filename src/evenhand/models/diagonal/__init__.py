"""Regressions that know each coefficient apart from all others: what they share, a linear and a logistic one."""
