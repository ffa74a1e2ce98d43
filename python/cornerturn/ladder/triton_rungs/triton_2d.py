"""triton_2d: one program an element, in a grid of two axes.

The grid has the matrix's shape, so the division is gone: program (row, col) moves element
(row, col). Nothing else is better than in `triton_1d`, and there is a new limit: the second axis of
a grid ends at 65,535.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .grid import too_many


@triton.jit
def kernel(input, output, rows, cols):
    # A program's number has 32 bits. Its product with the other extent may need more.
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1).to(tl.int64)
    tl.store(output + col * rows + row, tl.load(input + row * cols + col))


def why_not(rows: int, cols: int) -> str | None:
    return too_many(rows, cols)


def solve(input, output, rows: int, cols: int) -> None:
    if rows * cols > 0:
        kernel[(rows, cols)](input, output, rows, cols, num_warps=1)
