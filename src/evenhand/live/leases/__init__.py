"""Campaigns under one hard budget: a pool grants each of them a part, and takes back what it does not need."""
