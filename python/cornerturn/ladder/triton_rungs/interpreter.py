"""Triton's interpreter: kernels on the CPU, for machines without a GPU."""

from __future__ import annotations

import triton

# Triton decides this when a kernel is defined, which is when the rungs are imported.
INTERPRETED = bool(triton.knobs.runtime.interpret)
