"""Plans within limits: linear programs of the cases at the margin, one for each fold of a log."""
