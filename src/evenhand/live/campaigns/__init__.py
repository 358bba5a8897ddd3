"""Campaigns, and the command line's operations on their stores."""
