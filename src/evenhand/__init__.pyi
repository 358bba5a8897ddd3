from evenhand.choices import *
from evenhand.core.catalogue import *
from evenhand.core.errors import *
from evenhand.core.luck import *
from evenhand.core.records import *
from evenhand.environments import *
from evenhand.live import *
from evenhand.models import *
from evenhand.objectives import *
from evenhand.policy import *
from evenhand.problem import *
from evenhand.recipes import *
from evenhand.replay import *
from evenhand.run import *
from evenhand.sets import *
from evenhand.version import __version__ as __version__
