"""Arrays of NumPy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import HOST, Array
from cornerturn._frameworks.framework import Framework


class NumPy(Framework):
    module, array_type = "numpy", "ndarray"

    def owns(self, x: Any) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic))

    def splits_to_views(self, x: Any) -> bool:
        return type(x) is sys.modules["numpy"].ndarray

    def may_stack(self, arrays: Sequence[Any]) -> bool:
        array, first = sys.modules["numpy"].ndarray, arrays[0]
        return all(
            type(x) is array and x.flags.c_contiguous and x.shape == first.shape and x.dtype == first.dtype
            for x in arrays
        )

    def stack(self, arrays: Sequence[Any]) -> Any:
        return sys.modules["numpy"].stack(arrays)

    def rank(self, x: Any, name: str) -> int:
        return x.ndim if self.splits_to_views(x) else super().rank(x, name)

    def is_packed(self, x: Any, name: str) -> bool:
        return x.flags.c_contiguous if self.splits_to_views(x) else super().is_packed(x, name)

    def read(self, x: Any, name: str) -> Array:
        numpy = sys.modules["numpy"]
        masked = sys.modules.get("numpy.ma")
        if masked is not None and isinstance(x, masked.MaskedArray):
            raise TypeError(f"{name} is a masked array: its mask would be lost; pass {name}.data")
        array = numpy.asarray(x)
        dtype = array.dtype
        if dtype.hasobject or dtype.kind in "OT":
            raise TypeError(
                f"{name}.dtype = {dtype}: its elements hold references, which cannot be moved as "
                "bytes"
            )
        interface = array.__array_interface__
        address, readonly = interface["data"]
        return Array(
            address, array.itemsize, array.shape, array.strides, HOST, dtype, readonly, array
        )

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        return sys.modules["numpy"].empty(shape, like.dtype)

    def empty_at(
        self, device: int, dtype: Any, shape: tuple[int, ...], stream: int | None, pinned: bool
    ) -> Any:
        import numpy

        return numpy.empty(shape, dtype)

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        x = x.reshape(*x.shape, *[1 for _ in extents])
        return sys.modules["numpy"].broadcast_to(x, (*x.shape[: -len(extents)], *extents))


NUMPY = NumPy()
