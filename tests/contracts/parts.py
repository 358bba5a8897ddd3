"""The lists of examples of every kind: a part has one entry, in `tests/examples/`."""

from tests.examples.choices import ALLOCATIONS, CHOICES, FOR_FOUR, RATES  # noqa: F401
from tests.examples.environments import AUDIENCES, ENVIRONMENTS, OFFERS  # noqa: F401
from tests.examples.goals import GOALS, MIRRORS, STEPS  # noqa: F401
from tests.examples.models import EXPERTS, MODELS, MORE_MODELS, PRIORS, WIDTHS, takes  # noqa: F401
from tests.examples.objectives import OBJECTIVES, SMOOTHINGS, SUMS, WRITTEN  # noqa: F401
from tests.examples.recipes import RECIPES  # noqa: F401
