"""Choices: values into plays and probabilities."""

from evenhand.choices.base import Choice, Pick
from evenhand.choices.inverse_gap import Gamma, InverseGap
from evenhand.choices.random import Random
from evenhand.choices.staged import Staged
from evenhand.choices.top_k import TopK

__all__ = ["Choice", "Gamma", "InverseGap", "Pick", "Random", "Staged", "TopK"]
