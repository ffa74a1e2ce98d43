"""Arrays of JAX, as far as `cornerturn.jax` does not take them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import Array
from cornerturn._frameworks.framework import Framework
from cornerturn._frameworks.numpy_arrays import NUMPY
from cornerturn._frameworks.protocols import OTHER


class JAX(Framework):
    """What `cornerturn.jax` does not do itself: arrays that are read into somebody else's `out`."""

    module, array_type = "jax", "Array"
    has_operator = True

    def rank(self, x: Any, name: str) -> int:
        return x.ndim

    def is_packed(self, x: Any, name: str) -> bool:
        return True

    def will_change_values(self, name: str) -> None:
        raise TypeError(
            f"{name} is a JAX array: its values are changed by JAX, with {name}.astype(dtype) for "
            f"instance; or pass numpy.asarray({name})"
        )

    def read(self, x: Any, name: str) -> Array:
        jax = sys.modules["jax"]
        if isinstance(x, jax.core.Tracer):
            raise TypeError(f"{name} is traced by JAX: it has no memory to read or write")
        if len(x.devices()) == 1 and next(iter(x.devices())).platform == "cpu":
            import numpy

            return NUMPY.read(numpy.asarray(x), name)
        return OTHER.read(x, name)

    def stacks(self, arrays: Sequence[Any]) -> bool:
        return True

    def stack(self, arrays: Sequence[Any]) -> Any:
        return sys.modules["jax"].numpy.stack(list(arrays))

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        x = x.reshape(*x.shape, *[1 for _ in extents])
        return sys.modules["jax"].numpy.broadcast_to(x, (*x.shape[: -len(extents)], *extents))

    def will_write(self, x: Any, name: str) -> None:
        raise TypeError(f"{name} is a JAX array, which cannot be written to")


JAX_ARRAYS = JAX()
