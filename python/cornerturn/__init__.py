"""Transposes and permutes arrays of any framework at the speed of memory.

    >>> import cornerturn, numpy
    >>> images = numpy.zeros((8, 224, 224, 3), numpy.uint8)
    >>> cornerturn.transpose(images, (0, 3, 1, 2)).shape
    (8, 3, 224, 224)

An array is any object with `__dlpack__`, `__array_interface__`, `__cuda_array_interface__` or the
buffer protocol: arrays of NumPy, PyTorch, CuPy, JAX and others, in host memory or on an NVIDIA GPU.
Strides may be negative, and zero in what is read. The dtype may be any whose elements do not hold
references. A result is a new packed array (last axis fastest) of the caller's own framework, on the
device of `x`. An object without a framework gives a NumPy array. On a GPU the work is a launch or a few on
the framework's current stream, and the call does not wait for it. On the CPU it is done when the
call returns. `to`, and `transpose` and `copy` with an array that is there, also go from host memory to
a GPU and back. The GIL is released as soon as more than a few KiB have to be moved.

A long call on the CPU hears Ctrl-C after each GiB, and leaves its result unfinished then.

A TypeError says that an argument is of a wrong kind: it is not an array, or its dtype cannot be
moved or differs. A ValueError says that a value is wrong: axes, shapes, devices, read-only or
overlapping memory. A BufferError says that an object does not show its memory. A RuntimeError says
that this build or this machine cannot do it, or that CUDA fails. Each names the argument, its value
and the rule, and nothing has been written then. `cornerturn.torch` and `cornerturn.jax` hold what
is special to these two frameworks. Importing this package imports no framework.

`Layout`, `Swizzle`, `explain`, `solve` and `lab_page` are the swizzle lab, which says what accesses to
tiles in a GPU's shared memory cost. `check` runs a CUDA source on the CPU and says what is wrong with it.
Neither needs a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cornerturn._core import version as _version
from cornerturn._casts import convert_scales, quantise_groups, transpose_blocks
from cornerturn._einops import rearrange, repeat
from cornerturn._files import transpose_file
from cornerturn._in_place import transpose_in_place
from cornerturn._names import ascontiguousarray, moveaxis, permute_dims, swapaxes
from cornerturn._operations import contiguous, copy, transpose
from cornerturn._pattern import EinopsError
from cornerturn._plan import Plan, plan
from cornerturn._quantise import amax, dequantise, nvfp4_tensor_scale, quantise, quantise_both
from cornerturn._rechunk import rechunk
from cornerturn._stacks import put, stack, take, unstack
from cornerturn._threads import tell_threadpoolctl as _tell_threadpoolctl
from cornerturn._threads import threads
from cornerturn._to import to

if TYPE_CHECKING:
    from cornerturn._check import check
    from cornerturn._check_report import CheckReport, Finding, KernelCounts, LineCounts, Place
    from cornerturn._explain import AccessCost, Explanation, explain, lab_page
    from cornerturn._layout import Conversion, Layout, Swizzle, convert_swizzle
    from cornerturn._solve import Answer, Solution, solve

_tell_threadpoolctl()
__version__ = _version()
__all__ = [
    "AccessCost",
    "Answer",
    "CheckReport",
    "Conversion",
    "EinopsError",
    "Explanation",
    "Finding",
    "KernelCounts",
    "Layout",
    "LineCounts",
    "Place",
    "Plan",
    "Solution",
    "Swizzle",
    "__version__",
    "amax",
    "ascontiguousarray",
    "check",
    "contiguous",
    "convert_scales",
    "convert_swizzle",
    "copy",
    "dequantise",
    "explain",
    "lab_page",
    "moveaxis",
    "nvfp4_tensor_scale",
    "permute_dims",
    "plan",
    "put",
    "quantise",
    "quantise_both",
    "quantise_groups",
    "rearrange",
    "rechunk",
    "repeat",
    "solve",
    "stack",
    "swapaxes",
    "take",
    "threads",
    "to",
    "transpose",
    "transpose_blocks",
    "transpose_file",
    "transpose_in_place",
    "unstack",
]

# Modules that need a framework are imported when they are first asked for.
_MODULES = ("dask", "jax", "ladder", "shards", "tables", "torch", "xarray", "zarr")
# What looks at kernels, and the swizzle lab, are imported when they are first asked for.
_LATER = {
    "AccessCost": "_explain",
    "Answer": "_solve",
    "CheckReport": "_check_report",
    "Conversion": "_layout",
    "Explanation": "_explain",
    "Finding": "_check_report",
    "KernelCounts": "_check_report",
    "Layout": "_layout",
    "LineCounts": "_check_report",
    "Place": "_check_report",
    "Solution": "_solve",
    "Swizzle": "_layout",
    "check": "_check",
    "convert_swizzle": "_layout",
    "explain": "_explain",
    "lab_page": "_explain",
    "solve": "_solve",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"cornerturn.{name}")
    if name in _LATER:
        found = getattr(importlib.import_module(f"cornerturn.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'cornerturn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
