from evenhand import (
    choices as choices,
    core as core,
    environments as environments,
    goals as goals,
    live as live,
    models as models,
    objectives as objectives,
    offline as offline,
    policy as policy,
    problem as problem,
    recipes as recipes,
    replay as replay,
    run as run,
    sets as sets,
    testing as testing,
    welfare as welfare,
)
from evenhand.core.errors import EvenhandError as EvenhandError
from evenhand.core.records import Context as Context
from evenhand.live import Campaign as Campaign
from evenhand.models import (
    BayesianBilinear as BayesianBilinear,
    BayesianLogistic as BayesianLogistic,
    BayesianRidge as BayesianRidge,
    PerAction as PerAction,
    Ridge as Ridge,
    Stacked as Stacked,
)
from evenhand.offline import assign as assign, curve as curve, value as value
from evenhand.policy import Policy as Policy
from evenhand.problem import (
    Budget as Budget,
    Categorical as Categorical,
    Floor as Floor,
    Groups as Groups,
    Holdout as Holdout,
    Numeric as Numeric,
    Outcome as Outcome,
    Parity as Parity,
    Problem as Problem,
    Ratio as Ratio,
    Within as Within,
)
from evenhand.recipes import lyapunov as lyapunov, pgd as pgd, resolving as resolving, ucb as ucb, uniform as uniform
from evenhand.replay import replay_log as replay_log
from evenhand.run import (
    Wrapped as Wrapped,
    compare as compare,
    opt as opt,
    simulate as simulate,
    sweep as sweep,
)
from evenhand.version import __version__ as __version__
