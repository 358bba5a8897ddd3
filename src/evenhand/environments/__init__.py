"""Environments, the sources of contexts and outcomes.

Their `horizon` is the number of rounds T. Some are drawn at random, an instance for every whole number
`instance`. Numbers out of their range raise `InvalidInput`.
"""

from evenhand.environments.audience import Audience
from evenhand.environments.audience_matching import AudienceMatching
from evenhand.environments.base import Arrival, Environment, World
from evenhand.environments.bernoulli_knapsacks import BernoulliKnapsacks
from evenhand.environments.court import Court
from evenhand.environments.delayed import Delayed
from evenhand.environments.hours import Hours
from evenhand.environments.knapsack import FixedContexts
from evenhand.environments.last_fm import LastFM
from evenhand.environments.lessons import Lessons
from evenhand.environments.listeners import Listeners
from evenhand.environments.logged import Logged
from evenhand.environments.matching import Matching
from evenhand.environments.mixture import MixedArms, MixedContexts
from evenhand.environments.multi_objective import MultiObjective
from evenhand.environments.offers import Absences, Offers, Phases
from evenhand.environments.packing_covering import PackingCovering
from evenhand.environments.pay_per_click import PayPerClick
from evenhand.environments.ranking import Ranking
from evenhand.environments.requests import Requests
from evenhand.environments.routing import Routing
from evenhand.environments.sensors import Sensors
from evenhand.environments.without_contexts import WithoutContexts

__all__ = [
    "Absences",
    "Arrival",
    "Audience",
    "AudienceMatching",
    "BernoulliKnapsacks",
    "Court",
    "Delayed",
    "Environment",
    "FixedContexts",
    "Hours",
    "LastFM",
    "Lessons",
    "Listeners",
    "Logged",
    "Matching",
    "MixedArms",
    "MixedContexts",
    "MultiObjective",
    "Offers",
    "PackingCovering",
    "PayPerClick",
    "Phases",
    "Ranking",
    "Requests",
    "Routing",
    "Sensors",
    "WithoutContexts",
    "World",
]
