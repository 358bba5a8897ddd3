"""Environments, the sources of contexts and outcomes.

Their `horizon` is the number of rounds T. Some are drawn at random, an instance for every whole number
`instance`. Numbers out of their range raise `InvalidInput`.
"""

from evenhand.core import registry
from evenhand.environments.audience import Audience as Audience, LastFM as LastFM, Listeners as Listeners
from evenhand.environments.audience_matching import AudienceMatching as AudienceMatching
from evenhand.environments.base import Arrival as Arrival, Environment as Environment, World as World
from evenhand.environments.bernoulli_knapsacks import BernoulliKnapsacks as BernoulliKnapsacks
from evenhand.environments.court import Court as Court
from evenhand.environments.delayed import Delayed as Delayed
from evenhand.environments.hours import Hours as Hours
from evenhand.environments.knapsack import FixedContexts as FixedContexts
from evenhand.environments.lessons import Lessons as Lessons
from evenhand.environments.logged import Logged as Logged
from evenhand.environments.matching import Matching as Matching
from evenhand.environments.mixture import MixedArms as MixedArms, MixedContexts as MixedContexts
from evenhand.environments.multi_objective import MultiObjective as MultiObjective
from evenhand.environments.networks import Requests as Requests, Routing as Routing
from evenhand.environments.packing_covering import PackingCovering as PackingCovering
from evenhand.environments.pay_per_click import PayPerClick as PayPerClick
from evenhand.environments.ranking import Absences as Absences, Offers as Offers, Phases as Phases, Ranking as Ranking
from evenhand.environments.sensors import Sensors as Sensors
from evenhand.environments.without_contexts import WithoutContexts as WithoutContexts

__all__ = registry.public(__name__)
