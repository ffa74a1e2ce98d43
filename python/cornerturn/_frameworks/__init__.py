"""How each framework shows its arrays, makes new ones, and says on which stream to work.

No framework is imported here: whoever passes an array has imported its framework before.
"""

from __future__ import annotations

from typing import Any

from cornerturn._frameworks.cupy_arrays import CUPY
from cornerturn._frameworks.framework import Framework
from cornerturn._frameworks.jax_arrays import JAX_ARRAYS
from cornerturn._frameworks.numpy_arrays import NUMPY
from cornerturn._frameworks.protocols import OTHER
from cornerturn._frameworks.streams import stream_for, stream_number
from cornerturn._frameworks.torch_tensors import TORCH, is_traced

__all__ = ["Framework", "framework_named", "framework_of", "has_to_be_seen", "is_traced", "stream_for", "stream_number"]

_BY_TYPE: dict[type, Framework] = {}
_KNOWN: dict[str, Framework] = {"numpy": NUMPY, "torch": TORCH, "cupy": CUPY, "jax": JAX_ARRAYS}


def framework_of(x: Any) -> Framework:
    """The framework that `x` belongs to. Where none is known, one that reads the array protocols."""
    kind = type(x)
    # Tensors are not looked up: torch.compile has no guard for a dictionary whose keys are classes.
    if kind.__module__.startswith("torch") and TORCH.owns(x):
        return TORCH
    known = _BY_TYPE.get(kind)
    if known is not None:
        return known
    module = kind.__module__.partition(".")[0]
    for framework in _KNOWN.values():
        if framework.owns(x):
            if module in _KNOWN:  # classes that a user has made are not kept alive here
                _BY_TYPE[kind] = framework
            return framework
    return OTHER


def framework_named(module: str) -> Framework:
    """One of numpy, torch, cupy and jax, whether it is imported or not."""
    return _KNOWN[module]


def has_to_be_seen(x: Any) -> bool:
    """Is `x` a tensor of PyTorch that is traced, transformed, or of a subclass of its own?"""
    framework = framework_of(x)
    return framework.module == "torch" and not framework.is_plain(x)
