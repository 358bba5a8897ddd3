"""The world, the models and the objectives that all parts of the experiment share.

The objectives of Do et al. 2023 are the users' utility plus beta times an objective of the items' exposures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from evenhand.environments import LastFM, Listeners, Ranking
from evenhand.experiments.fair_ranking import FairRankingExperiment
from evenhand.models import BayesianBilinear, Bilinear, SelfNormalised
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, Moreau, Objective, WeightedSum

CLICK = "click"
SMOOTHING = Moreau(1.0)  # the paper's beta_0 = 1
POWER = 0.5
OFFSET = 1e-3  # bounds the slope of the welfare for items that were never exposed
RIDGE = 0.1
WIDTH = SelfNormalised(delta=0.1 / 3)


def world(settings: FairRankingExperiment) -> Ranking:
    """Build the rankings of 10 slots for the audience of the data, or for a synthetic one of the same shape."""
    wide = settings.items == "2k"
    if settings.data:
        audience = LastFM(path=settings.data, items="2k" if wide else 50, factors=settings.factors).audience
    else:
        users, items = (1880, 2500) if wide else (50, 50)
        audience = Listeners(users=users, items=items, factors=settings.factors).audience
    plain = Ranking(audience=audience, horizon=settings.rounds)
    return replace(plain, maximize=inequality(plain.exposures).objective)


def model(settings: FairRankingExperiment) -> Bilinear | BayesianBilinear:
    """Build the regression that all systems share."""
    if settings.model == "bayesian":
        return untuned(settings)
    return clipped(settings) if settings.model == "clipped" else printed(settings)


def printed(settings: FairRankingExperiment) -> Bilinear:
    """Build the ridge regression of the paper, whose confidence bounds are not clipped."""
    return Bilinear(
        n_user_features=settings.factors, n_item_features=settings.factors, ridge=RIDGE, width=WIDTH, clipped=False
    )


def clipped(settings: FairRankingExperiment) -> Bilinear:
    """Build the same regression with bounds clipped at 0 and 1, the range of a click."""
    return replace(printed(settings), clipped=True)


def untuned(settings: FairRankingExperiment) -> BayesianBilinear:
    """Build the Bayesian model, which has no width to set."""
    return BayesianBilinear(n_user_features=settings.factors, n_item_features=settings.factors)


class Aim(NamedTuple):
    """An objective f = utility + beta f_item."""

    name: str
    beta: float
    of_items: Objective
    smoothing: Moreau | None

    @property
    def objective(self) -> WeightedSum:
        return WeightedSum(((1.0, Linear({CLICK: 1.0})), (self.beta, self.of_items)))


def inequality(exposures: Sequence[str]) -> Aim:
    """Return the objective of equation 2: f_item is minus the mean absolute difference of exposures."""
    return Aim("eq. 2", 1.0, GeneralizedGini.difference(exposures), SMOOTHING)


def aim(name: str, exposures: Sequence[str], beta: float | None = None) -> Aim:
    """Return an objective of Section 5 and Appendix B.1 by name, by default at the beta of its figure over the rounds.

    >>> aim("gini welfare", ("a", "b")).objective.outcomes
    ('click', 'a', 'b')
    """
    printed = _printed(name, exposures)
    return printed if beta is None else printed._replace(beta=beta)


def _printed(name: str, exposures: Sequence[str]) -> Aim:
    m = len(exposures)
    if name == "eq. 2":
        return inequality(exposures)
    if name == "gini welfare":
        weights = tuple((m - j) / m for j in range(m))
        return Aim(name, 0.5, GeneralizedGini(tuple(exposures), weights), SMOOTHING)
    if name == "equal exposure":
        return Aim(name, 0.5, EqualExposure(tuple(exposures)), SMOOTHING)
    return Aim(name, 0.5, AlphaFair.welfare(exposures, POWER, OFFSET), None)
