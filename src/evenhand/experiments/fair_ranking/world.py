"""The world and the models that all parts of the experiment share."""

from __future__ import annotations

from dataclasses import replace

from evenhand.environments import LastFM, Listeners, Ranking
from evenhand.experiments.fair_ranking import FairRankingExperiment
from evenhand.experiments.fair_ranking.aims import inequality
from evenhand.models import BayesianBilinear, Bilinear, SelfNormalised

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
    return Bilinear(who=settings.factors, what=settings.factors, ridge=RIDGE, width=WIDTH, clipped=False)


def clipped(settings: FairRankingExperiment) -> Bilinear:
    """Build the same regression with bounds clipped at 0 and 1, the range of a click."""
    return replace(printed(settings), clipped=True)


def untuned(settings: FairRankingExperiment) -> BayesianBilinear:
    """Build the Bayesian model, which has no width to set."""
    return BayesianBilinear(who=settings.factors, what=settings.factors)
