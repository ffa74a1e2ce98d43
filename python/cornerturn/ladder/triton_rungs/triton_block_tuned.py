"""triton_block_tuned: block sizes and warps that are measured, and matrices of any size.

Which block is best depends on the GPU, the element and the matrix: a larger one gives every warp more
to load before it must wait, a smaller one lets more of them share a multiprocessor. `triton.autotune`
runs all of CONFIGS when a shape and an element are first seen and keeps the fastest.

The rest is what a kernel needs to take any matrix: offsets of 64 bits, and a grid of one axis, as the
second one ends at 65,535 blocks. Neighbouring programs take blocks below each other, whose parts of
the destination's rows lie side by side.

The autotuner needs a GPU to measure on. In the interpreter the first configuration runs.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .grid import too_many
from .interpreter import INTERPRETED

CONFIGS = [
    triton.Config({"ROWS": rows, "COLS": cols}, num_warps=warps)
    for rows, cols, warps in [
        (32, 32, 4),
        (32, 64, 4),
        (64, 32, 4),
        (64, 64, 4),
        (64, 64, 8),
        (32, 128, 4),
        (128, 32, 4),
        (64, 128, 8),
        (128, 128, 8),
    ]
]


def measured(launch, quantiles):
    """Enough runs to tell two configurations apart, far fewer than Triton's own choice."""
    return triton.testing.do_bench(launch, warmup=2, rep=10, quantiles=quantiles)


@triton.jit
def kernel(input, output, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    blocks_down = tl.cdiv(rows, ROWS)
    block = tl.program_id(0)
    row = (block % blocks_down).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = (block // blocks_down).to(tl.int64) * COLS + tl.arange(0, COLS)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    inside_output = (col < cols)[:, None] & (row < rows)[None, :]
    values = tl.load(input + row[:, None] * cols + col[None, :], mask=inside)
    tl.store(output + col[:, None] * rows + row[None, :], tl.trans(values), mask=inside_output)


if not INTERPRETED:
    kernel = triton.autotune(CONFIGS, key=["rows", "cols"], do_bench=measured)(kernel)


def why_not(rows: int, cols: int) -> str | None:
    smallest = min(c.kwargs["ROWS"] for c in CONFIGS), min(c.kwargs["COLS"] for c in CONFIGS)
    return too_many(triton.cdiv(rows, smallest[0]) * triton.cdiv(cols, smallest[1]))


def solve(input, output, rows: int, cols: int) -> None:
    def grid(config):
        return (triton.cdiv(rows, config["ROWS"]) * triton.cdiv(cols, config["COLS"]),)

    if rows * cols > 0:
        fixed = CONFIGS[0].kwargs if INTERPRETED else {}
        kernel[grid](input, output, rows, cols, **fixed)
