"""Models: what outcomes are worth at given prices, and how far that may be off."""

from evenhand.models.base import Model
from evenhand.models.beside import Beside
from evenhand.models.blank import Blank
from evenhand.models.logistic import Logistic
from evenhand.models.ridge import Ridge
from evenhand.models.widths import Fixed, Logarithmic, SelfNormalised, Width

__all__ = ["Beside", "Blank", "Fixed", "Logarithmic", "Logistic", "Model", "Ridge", "SelfNormalised", "Width"]
