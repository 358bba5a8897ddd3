"""Stores: where the logs of campaigns are kept, in a module per kind."""
