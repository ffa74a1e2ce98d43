"""triton_block: one program a block of 32 x 32 elements.

Now a warp's load is part of a row of the source and its store part of a row of the destination:
whole sectors on both sides. Between them `tl.trans` exchanges the block's axes; as lanes then hold
the wrong elements for a coalesced store, the compiler moves the block through shared memory, in a
layout that it chooses itself. What the CUDA rungs write out, padding, swizzles and
barriers, is not in the source.

At the edges of the matrix a block is only partly inside, so the load has a mask, and the store the
transposed mask. The offsets are numbers of 32 bits, which end at 2^31 elements: `triton_block_tuned`
goes on from there.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .grid import too_many

SIDE = 32


@triton.jit
def kernel(input, output, rows, cols, SIDE: tl.constexpr):
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    col = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    inside_output = (col < cols)[:, None] & (row < rows)[None, :]
    block = tl.load(input + row[:, None] * cols + col[None, :], mask=inside)
    tl.store(output + col[:, None] * rows + row[None, :], tl.trans(block), mask=inside_output)


def why_not(rows: int, cols: int) -> str | None:
    if rows * cols > 2**31 - 1:
        return f"its offsets have 32 bits, {rows} x {cols} elements need more"
    return too_many(triton.cdiv(rows, SIDE), triton.cdiv(cols, SIDE))


def solve(input, output, rows: int, cols: int) -> None:
    if rows * cols > 0:
        grid = (triton.cdiv(rows, SIDE), triton.cdiv(cols, SIDE))
        kernel[grid](input, output, rows, cols, SIDE=SIDE)
