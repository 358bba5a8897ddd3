"""Functions of the online regression oracles, which predict an outcome vector and learn from the played action.

`Glmtron` and `Gradient` move each outcome's parameter against the GLMtron direction (link(x.theta) - y) x, the gradient
of the square loss up to the link's slope, and project it back to its ball. They differ in the metric of the step.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.models.links import Link, code
from evenhand.numerics.precision import norm2

Projection = Literal["row", "whole"]


@kernel
def project(theta: Floats, radius: float, whole: bool) -> None:
    """Scale every row back to a ball; if `whole`, scale all rows at once and drop signs, as in the published code."""
    if whole:
        norm = math.sqrt((theta * theta).sum())
        theta[:] = np.abs(theta) * (radius / norm if norm > radius else 1.0)
        return
    for m in range(len(theta)):
        square = norm2(theta[m])
        if square > radius * radius:
            theta[m] *= radius / math.sqrt(square)


def check_steps(name: str, step: float, radius: float, projection: str, link: Link, start_at: float) -> None:
    """Refuse steps and radii that are not positive, a start that is not finite, and unknown names."""
    code(link)
    if not math.isfinite(start_at):
        raise InvalidInput(f"{name}.start_at", "a finite number", start_at)
    if not (math.isfinite(step) and step > 0):
        raise InvalidInput(f"{name}.step", "a finite number above 0", step)
    if not radius > 0:
        raise InvalidInput(f"{name}.radius", "a number above 0, or infinity", radius)
    if projection not in ("row", "whole"):
        raise InvalidInput(f"{name}.projection", "'row' or 'whole'", projection)
