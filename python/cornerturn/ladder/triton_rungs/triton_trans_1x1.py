"""triton_trans_1x1: one program a block, with a block of one element.

The form of a Triton transposition, at the smallest size there is. A block's offsets are the sum of a
column of row offsets, `row[:, None]`, and a row of column offsets, `col[None, :]`; `tl.trans` turns
the block, and the destination's offsets are written in the same way with the two swapped. It does
what `triton_2d` does, no faster. But only the two 1s must grow to make it `triton_block`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .grid import too_many


@triton.jit
def kernel(input, output, rows, cols):
    row = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)
    col = tl.program_id(1).to(tl.int64) + tl.arange(0, 1)
    block = tl.load(input + row[:, None] * cols + col[None, :])
    tl.store(output + col[:, None] * rows + row[None, :], tl.trans(block))


def why_not(rows: int, cols: int) -> str | None:
    return too_many(rows, cols)


def solve(input, output, rows: int, cols: int) -> None:
    if rows * cols > 0:
        kernel[(rows, cols)](input, output, rows, cols, num_warps=1)
