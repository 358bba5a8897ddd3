"""Foundations: array types, errors, checks of input, per-round records, luck and the catalogue."""
