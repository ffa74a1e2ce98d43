"""Arrays of JAX, as far as `cornerturn.jax` does not take them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import Array, shown
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

    def taken(self, x: Any, indices: Any, axis: int, missing: bool) -> Any:
        numpy = sys.modules["jax"].numpy
        indices = numpy.asarray(indices)
        if indices.ndim != 1 or not numpy.issubdtype(indices.dtype, numpy.integer):
            raise TypeError(f"indices = {shown(indices)}: they have to be integers along one axis")
        self._check_range(indices, x.shape[axis], axis, missing)
        if not missing:
            return numpy.take(x, indices, axis)
        absent = (indices == -1).reshape(-1, *[1 for _ in range(x.ndim - axis - 1)])
        return numpy.where(absent, 0, numpy.take(x, indices, axis)).astype(x.dtype)

    def _check_range(self, indices: Any, extent: int, axis: int, missing: bool) -> None:
        """JAX itself takes what is out of range from elsewhere. What it traces cannot be looked at."""
        if isinstance(indices, sys.modules["jax"].core.Tracer):
            return
        least = -1 if missing else -extent
        wrong = (indices >= extent) | (indices < least)
        if wrong.any():
            k = int(wrong.argmax())
            raise ValueError(
                f"indices[{k}] = {indices[k]} is out of range: axis {axis} has the extent {extent}, so that an index "
                f"is {least} to {extent - 1}"
            )

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        x = x.reshape(*x.shape, *[1 for _ in extents])
        return sys.modules["jax"].numpy.broadcast_to(x, (*x.shape[: -len(extents)], *extents))

    def will_write(self, x: Any, name: str) -> None:
        raise TypeError(f"{name} is a JAX array, which cannot be written to")


JAX_ARRAYS = JAX()
