"""The ladder: every kernel on the way from the obvious transposition to the limit of the memory.

Each rung is a function of two matrices, `cornerturn.ladder.smem(a, b)`: `b`, of shape (cols, rows),
receives the transpose of `a`, of shape (rows, cols). A rung that copies (`copy`, `cute_copy`,
`cute_tma_copy`) takes a `b` of the shape of `a`.

    >>> import cornerturn.ladder, numpy
    >>> a = numpy.arange(12.0, dtype=numpy.float32).reshape(3, 4)
    >>> b = numpy.empty((4, 3), numpy.float32)
    >>> cornerturn.ladder.smem_chunk_xor(a, b)
    >>> b[1]
    array([1., 5., 9.], dtype=float32)

- On a GPU a rung takes tensors of PyTorch, arrays of CuPy and all that has
  `__cuda_array_interface__`, packed row by row. It runs on the caller's current stream.
- In host memory, for NumPy's arrays for instance, the CUDA rungs run in an emulator, which looks for
  races, stray accesses and elements left out. The Triton rungs run in Triton's interpreter, if
  TRITON_INTERPRET=1 was set before `triton` was first imported.
- A rung that does not take a matrix raises ValueError, which says why. `rung.why_not(rows, cols)` asks
  before.

`rungs()` lists them, `run()` verifies and measures all of them, and `python -m cornerturn.ladder`
shows that.
"""

from __future__ import annotations

from ._report import Report
from ._run import run
from ._rung import Rung, all_rungs, missing

__all__ = ["Report", "Rung", "rungs", "run"]


def rungs() -> list[str]:
    """The names of all rungs in the order of the climb: CUDA, CuTe, Triton."""
    return list(all_rungs())


def __getattr__(name: str) -> Rung:
    rung = all_rungs().get(name)
    if rung is None:
        raise AttributeError(missing(name))
    return rung


def __dir__() -> list[str]:
    return sorted([*__all__, *rungs()])
