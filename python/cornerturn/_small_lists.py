"""Lists of small arrays of NumPy, by NumPy's own functions: below some 10 us a plan pays for nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._operations import transpose

_BYTES = 1 << 16  # of the result, at most
_KINDS = "biufc"  # numbers, of which both know the same


def taken_small(x: Any, indices: Any, axis: Any, axes: Any) -> Any:
    """What `take` gives; None where x is not small or not NumPy's, or where something may be wrong."""
    if not _is_plain(x):
        return None
    numpy: Any = sys.modules["numpy"]
    if type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return None
    if type(indices) is list:
        indices = numpy.asarray(indices)
    if type(indices) is not numpy.ndarray or indices.ndim != 1 or indices.dtype.kind not in "iu":
        return None
    extent = x.shape[axis]
    if extent == 0 or x.nbytes // extent * indices.size > _BYTES:
        return None
    try:
        taken = x.take(indices, axis)
    except (IndexError, TypeError):
        return None  # the general path says which one
    return taken if axes is None else transpose(taken, axes)


def stacked_small(parts: Sequence[Any], axes: Any) -> Any:
    """What `stack` gives; None as in `taken_small`."""
    first = parts[0] if parts else None
    if not _is_plain(first) or first.nbytes * len(parts) > _BYTES:
        return None
    kind, shape, dtype = type(first), first.shape, first.dtype
    if any(type(part) is not kind or part.shape != shape or part.dtype != dtype for part in parts):
        return None
    numpy: Any = sys.modules["numpy"]
    stacked = numpy.stack(parts, out=numpy.empty((len(parts), *shape), dtype))
    return stacked if axes is None else transpose(stacked, axes)


def _is_plain(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(x) is numpy.ndarray and x.dtype.kind in _KINDS and x.dtype.isnative
