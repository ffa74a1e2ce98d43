"""Arrays of CuPy."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from cornerturn._arrays import Array
from cornerturn._frameworks.framework import Framework


class CuPy(Framework):
    module, array_type = "cupy", "ndarray"

    def read(self, x: Any, name: str) -> Array:
        return Array(
            x.data.ptr, x.itemsize, x.shape, x.strides, x.device.id, x.dtype, False, x
        )

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        return self.empty_at(like.device, like.dtype, shape, stream, False)

    def empty_at(
        self, device: int, dtype: Any, shape: tuple[int, ...], stream: int | None, pinned: bool
    ) -> Any:
        cupy = sys.modules["cupy"]
        on: Any = contextlib.nullcontext()
        if stream is not None:
            on = cupy.cuda.ExternalStream(stream, device)
        with cupy.cuda.Device(device), on:
            return cupy.empty(shape, dtype)

    def current_stream(self, device: int) -> int:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            return cupy.cuda.get_current_stream().ptr


CUPY = CuPy()
