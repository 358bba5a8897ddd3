from evenhand.choices import (
    Cycle as Cycle,
    EpsilonGreedy as EpsilonGreedy,
    Gamma as Gamma,
    Gibbs as Gibbs,
    GradientLottery as GradientLottery,
    InverseGap as InverseGap,
    Lottery as Lottery,
    Random as Random,
    Staged as Staged,
    TopK as TopK,
)
from evenhand.constraints import Budget as Budget, Parity as Parity
from evenhand.environments import (
    Court as Court,
    Delayed as Delayed,
    FixedContexts as FixedContexts,
    Lessons as Lessons,
    Logged as Logged,
    MixedArms as MixedArms,
    MixedContexts as MixedContexts,
    MultiObjective as MultiObjective,
    WithoutContexts as WithoutContexts,
)
from evenhand.errors import (
    CannotSave as CannotSave,
    EvenhandError as EvenhandError,
    InfeasibleProblem as InfeasibleProblem,
    InvalidInput as InvalidInput,
    MissingExtra as MissingExtra,
    StateMismatch as StateMismatch,
)
from evenhand.logs import replay as replay
from evenhand.models import (
    Aggregation as Aggregation,
    Beside as Beside,
    Blank as Blank,
    Cover as Cover,
    Experts as Experts,
    Fixed as Fixed,
    Glmtron as Glmtron,
    Gradient as Gradient,
    Logarithmic as Logarithmic,
    Logistic as Logistic,
    OnlineToBatch as OnlineToBatch,
    Ridge as Ridge,
    Scalarised as Scalarised,
    SelfNormalised as SelfNormalised,
    Sklearn as Sklearn,
    Tabular as Tabular,
)
from evenhand.objectives import (
    AlphaFair as AlphaFair,
    Concave as Concave,
    EqualExposure as EqualExposure,
    GeneralizedGini as GeneralizedGini,
    Linear as Linear,
    Moreau as Moreau,
    Randomized as Randomized,
    WeightedSum as WeightedSum,
    Within as Within,
)
from evenhand.optimum import opt as opt, opt_without_contexts as opt_without_contexts
from evenhand.policy import Policy as Policy
from evenhand.problem import Groups as Groups, Outcome as Outcome, Problem as Problem
from evenhand.recipes import (
    bwcr as bwcr,
    fw as fw,
    fw_dual as fw_dual,
    fw_epsilon_greedy as fw_epsilon_greedy,
    fw_linucb as fw_linucb,
    fw_squarecb as fw_squarecb,
    lin_cbwk as lin_cbwk,
    mixed_oracle as mixed_oracle,
    molincb as molincb,
    optimistic as optimistic,
    pgd as pgd,
    pgd_adaptive as pgd_adaptive,
    primal_lp as primal_lp,
    resolving as resolving,
    square_cbwk as square_cbwk,
    two_stage_square_cbwk as two_stage_square_cbwk,
    uniform as uniform,
)
from evenhand.records import Context as Context, Decision as Decision
from evenhand.simulation import play as play, simulate as simulate
from evenhand.system import discover as discover
from evenhand.trace import Trace as Trace
from evenhand.version import __version__ as __version__
