"""Transposes and permutes arrays of any framework at the speed of memory.

    >>> import cornerturn, numpy
    >>> images = numpy.zeros((8, 224, 224, 3), numpy.uint8)
    >>> cornerturn.transpose(images, (0, 3, 1, 2)).shape
    (8, 3, 224, 224)

Arrays are whatever has `__dlpack__`, `__array_interface__`, `__cuda_array_interface__` or the buffer
protocol: of NumPy, PyTorch, CuPy, JAX and others, in host memory or on an NVIDIA GPU, with any
strides (negative, and zero in what is read), of any dtype whose elements do not hold references. A
result is a new packed array (last axis fastest) of the caller's own framework, on the device of `x`;
an object without a framework gives a NumPy array. On a GPU the work is one launch on the framework's
current stream, and the call does not wait for it; on the CPU it is done when the call returns. The
GIL is released as soon as more than a few KiB have to be moved.

Errors: TypeError for an argument of a wrong kind (not an array, a dtype that cannot be moved or that
differs), ValueError for a wrong value (axes, shapes, devices, read-only or overlapping memory),
BufferError where an object does not show its memory, RuntimeError where this build or this machine
cannot do it or CUDA fails. Each names the argument, its value and the rule; nothing has been written
then. `cornerturn.torch` and `cornerturn.jax` hold what is special to these two; importing this
package imports no framework.

`Layout`, `Swizzle`, `explain` and `solve` are the swizzle lab: tiles in a GPU's shared memory and what
accesses to them cost. It needs no GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cornerturn._blocks import dequantise, quantise, quantise_both
from cornerturn._core import version as _version
from cornerturn._einops import rearrange
from cornerturn._operations import contiguous, copy, transpose
from cornerturn._plan import Plan, plan
from cornerturn._tensor import amax

if TYPE_CHECKING:
    from cornerturn._explain import AccessCost, Explanation, explain
    from cornerturn._layout import Conversion, Layout, Swizzle, convert_swizzle
    from cornerturn._solve import Answer, Solution, solve

__version__ = _version()
__all__ = [
    "AccessCost",
    "Answer",
    "Conversion",
    "Explanation",
    "Layout",
    "Plan",
    "Solution",
    "Swizzle",
    "__version__",
    "amax",
    "contiguous",
    "convert_swizzle",
    "copy",
    "dequantise",
    "explain",
    "plan",
    "quantise",
    "quantise_both",
    "rearrange",
    "solve",
    "transpose",
]

# The swizzle lab is imported when it is first asked for.
_LAB = {
    "AccessCost": "_explain",
    "Answer": "_solve",
    "Conversion": "_layout",
    "Explanation": "_explain",
    "Layout": "_layout",
    "Solution": "_solve",
    "Swizzle": "_layout",
    "convert_swizzle": "_layout",
    "explain": "_explain",
    "solve": "_solve",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in ("jax", "ladder", "torch"):
        return importlib.import_module(f"cornerturn.{name}")
    if name in _LAB:
        found = getattr(importlib.import_module(f"cornerturn.{_LAB[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'cornerturn' has no attribute {name!r}")
