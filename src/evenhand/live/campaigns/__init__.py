"""Campaigns, and what the command line asks of their stores."""
