"""Stores of event logs, one module per kind."""
