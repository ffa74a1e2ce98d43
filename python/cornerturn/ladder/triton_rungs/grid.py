"""How many programs a launch may have, which the rungs' `why_not` go by."""

from __future__ import annotations

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MOST_X = 2**31 - 1
MOST_Y = 65_535


def too_many(x: int, y: int = 1) -> str | None:
    """Why no grid has x by y programs, if so."""
    if x > MOST_X:
        return f"its grid would have {x} programs along x, a grid has {MOST_X}"
    if y > MOST_Y:
        return f"its grid would have {y} programs along y, a grid has {MOST_Y}"
    return None
