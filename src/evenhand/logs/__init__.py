"""Logs and problem files: reading them, the meaning and the encoding of their columns, and checks of both."""

from evenhand.logs.sources import Query

__all__ = ["Query"]
