"""Lists of known cases: who gets what, within all limits."""
