"""The version, said once."""

__version__ = "0.9.0"
