"""Logs and problem files: reading them, the meaning and the encoding of their columns, and checks of both."""
