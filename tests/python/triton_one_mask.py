"""`triton_block` with one mask for its load and its store: the mistake that chapter 10 of the guide explains."""

import triton
import triton.language as tl


@triton.jit
def kernel(input, output, rows, cols, SIDE: tl.constexpr):
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    col = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    block = tl.load(input + row[:, None] * cols + col[None, :], mask=inside)
    tl.store(output + col[:, None] * rows + row[None, :], tl.trans(block), mask=inside)


def solve(input, output, rows, cols):
    kernel[(triton.cdiv(rows, 32), triton.cdiv(cols, 32))](input, output, rows, cols, SIDE=32)
