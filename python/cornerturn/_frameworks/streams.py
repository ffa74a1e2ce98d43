"""The stream that a call works on, as a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cornerturn._arrays import HOST, shown
from cornerturn._frameworks.framework import Framework


def stream_for(framework: Framework, device: int, stream: Any, name: str) -> int:
    """The stream to work on, as a number; 0 for the CPU."""
    if stream is None:
        return 0 if device == HOST else framework.current_stream(device)
    if device == HOST:
        raise ValueError(
            f"stream = {shown(stream)}, but {name} is in host memory: the CPU has no streams"
        )
    return stream_number(stream)


def stream_number(stream: Any) -> int:
    """A cudaStream_t as an integer, from an integer or from a framework's stream."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        if stream < 0:
            raise ValueError(f"stream = {stream} is negative: it has to be a cudaStream_t")
        return stream
    protocol: Callable[[], tuple[int, int]] | None = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return protocol()[1]
    for attribute in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba and the driver
        value = getattr(stream, attribute, None)
        value = getattr(value, "value", value)
        if isinstance(value, int):
            return value
    raise TypeError(
        f"stream = {shown(stream)}: it has to be an integer (a cudaStream_t) or a stream of PyTorch, "
        "CuPy or Numba"
    )
