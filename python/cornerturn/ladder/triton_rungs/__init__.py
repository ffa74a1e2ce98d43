"""The rungs in Triton, one file each. Every file has

- the kernel, in the form in which Triton compiles it;
- `solve(input, output, rows, cols)`: `input` holds rows x cols elements, row by row, `output` gets
  the cols x rows elements of the transposed matrix; both are tensors of PyTorch;
- `why_not(rows, cols)`: why the kernel cannot do this matrix, or None.

They import `triton`; `cornerturn.ladder` imports them when they are used. With TRITON_INTERPRET=1
in the environment before that, Triton's interpreter runs them on the CPU.
"""
