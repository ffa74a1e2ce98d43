"""Arrays of other frameworks and of none, by DLPack, the array interfaces, the buffer protocol and `__array__`."""

from __future__ import annotations

import sys
from typing import Any

from cornerturn import _core
from cornerturn._arrays import HOST, Array, is_integer, packed_strides, place, shown
from cornerturn._frameworks.cupy_arrays import CUPY
from cornerturn._frameworks.framework import Framework, numpy_if_installed
from cornerturn._frameworks.numpy_arrays import NUMPY


_DLPACK_HOST = (1, 3)  # memory of the CPU, and pinned memory


class Other(Framework):
    """Arrays of other frameworks and of none, by the protocols that they follow."""

    def read(self, x: Any, name: str) -> Array:
        if isinstance(x, type):  # which shows the protocols of its objects
            raise _no_array(x, name)
        if type(x).__module__ == "torch.fx.proxy":
            raise TypeError(
                f"{name} is a Proxy of torch.fx, which has no memory: call torch.fx.wrap for the function of cornerturn, "
                "or torch.ops.cornerturn.permute_copy"
            )
        if hasattr(x, "__cuda_array_interface__"):
            return _read_cuda_interface(x, name)
        readable = _readable_by_numpy(x)
        if isinstance(x, (list, tuple)) or (not readable and _makes_an_array(x)):
            return _read_values(x, name)
        if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
            on_host = _dlpack_kind(x, name) in _DLPACK_HOST
            if not on_host or not readable:
                return _read_dlpack(x, name)
        elif not readable:
            raise _no_array(x, name)
        numpy = numpy_if_installed()
        if numpy is None:
            return _read_buffer(x, name)
        if not hasattr(x, "__array_interface__"):
            x = memoryview(x)
        return NUMPY.read(numpy.asarray(x), name)

    def will_write(self, x: Any, name: str) -> None:
        if isinstance(x, (list, tuple)) or (not _readable_by_numpy(x) and _makes_an_array(x)):
            raise TypeError(
                f"{name} is a {type(x).__module__}.{type(x).__qualname__}: it shows copies of its values, "
                "and cannot be written to"
            )

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        namespace = getattr(x, "__array_namespace__", None)
        if namespace is not None:
            return namespace().empty(shape, dtype=x.dtype, device=x.device)
        if like.device == HOST:
            return _host_array(like, shape)
        numba = sys.modules.get("numba")
        if numba is not None and type(x).__module__.startswith("numba."):
            with numba.cuda.gpus[like.device]:
                return numba.cuda.device_array(shape, like.dtype)
        if "cupy" in sys.modules:
            return CUPY.empty(None, like, shape, stream)
        torch = sys.modules.get("torch")
        dtype = getattr(torch, str(like.dtype), None)
        if torch is not None and dtype is not None:
            return torch.empty(shape, dtype=dtype, device=f"cuda:{like.device}")
        raise TypeError(
            f"x is a {type(x).__module__}.{type(x).__qualname__} in {place(like)}, and neither "
            f"CuPy nor PyTorch is imported to hold a result of dtype {like.dtype}: pass out="
        )


def _makes_an_array(x: Any) -> bool:
    """Does `x` make arrays of NumPy of its values, and show its memory in no other way?"""
    return hasattr(x, "__array__") and not hasattr(x, "__dlpack__")


def _read_values(x: Any, name: str) -> Array:
    numpy = numpy_if_installed()
    if numpy is None:
        raise _no_array(x, name)
    try:
        array = numpy.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} = {shown(x)}: {error}") from None
    if array.dtype.hasobject:
        raise TypeError(f"{name} = {shown(x)}: its elements are not all numbers, but of dtype object")
    return NUMPY.read(array, name)


def _no_array(x: Any, name: str) -> TypeError:
    return TypeError(
        f"{name} is a {type(x).__module__}.{type(x).__qualname__}: it has none of __dlpack__, "
        "__array_interface__, __cuda_array_interface__ and the buffer protocol"
    )


def _readable_by_numpy(x: Any) -> bool:
    """Does `x` follow a protocol of host memory?"""
    if hasattr(x, "__array_interface__"):
        return True
    try:
        memoryview(x).release()
    except TypeError:
        return False
    except BufferError:
        return False
    return True


def _dlpack_kind(x: Any, name: str) -> int:
    """The kind of device that the memory of `x` belongs to, as DLPack numbers them."""
    device = x.__dlpack_device__()
    if not isinstance(device, tuple) or len(device) != 2 or not all(map(is_integer, device)):
        raise BufferError(
            f"{name} cannot be read through DLPack: __dlpack_device__ returned {shown(device)}, not two integers"
        )
    return int(device[0])


def _read_dlpack(x: Any, name: str) -> Array:
    kind = _dlpack_kind(x, name)
    options: dict[str, Any] = {} if kind in _DLPACK_HOST else {"stream": 1}  # 1: the default stream
    try:
        try:
            capsule = x.__dlpack__(max_version=(1, 0), **options)
        except TypeError:  # from before DLPack 1.0
            capsule = x.__dlpack__(**options)
        memory = _core.Memory.from_dlpack(capsule)
    except BufferError as error:
        raise BufferError(f"{name} cannot be read through DLPack: {error}") from error
    return _of_memory(memory, memory.dtype)


def _read_buffer(x: Any, name: str) -> Array:
    try:
        memory = _core.Memory.from_buffer(x)
    except BufferError as error:
        raise BufferError(f"{name} cannot be read as a buffer: {error}") from error
    if "O" in memory.dtype:
        raise TypeError(
            f"{name} has elements of format {memory.dtype!r}: references cannot be moved as bytes"
        )
    return _of_memory(memory, memory.dtype)


def _of_memory(memory: Any, dtype: Any) -> Array:
    return Array(
        memory.address,
        memory.itemsize,
        tuple(memory.shape),
        tuple(memory.strides),
        memory.device,
        dtype,
        memory.readonly,
        memory,
    )


def _read_cuda_interface(x: Any, name: str) -> Array:
    interface = x.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError(f"{name} has a mask, which would be lost")
    dtype = interface["typestr"]
    if dtype[1] == "O":
        raise TypeError(f"{name} has elements that hold references, which cannot be moved as bytes")
    itemsize = int(dtype[2:].partition("[")[0]) * (4 if dtype[1] == "U" else 1)
    numpy = numpy_if_installed()
    if numpy is not None:
        descr = interface.get("descr")
        dtype = numpy.dtype(descr if dtype[1] == "V" and descr else dtype)
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    address, readonly = interface["data"]
    if strides is None:
        strides = packed_strides(shape, itemsize)
    device = _core.gpu_of(address) if address else 0
    if device == HOST:
        raise ValueError(
            f"{name} has __cuda_array_interface__, but its address {address:#x} is not in the memory "
            "of a GPU that is here"
        )
    stream = interface.get("stream")
    if stream is not None:
        _core.synchronize(device, stream)
    return Array(address, itemsize, shape, tuple(strides), device, dtype, readonly, x)


def _host_array(like: Array, shape: tuple[int, ...]) -> Any:
    numpy = numpy_if_installed()
    if numpy is None:
        size = like.itemsize
        for extent in shape:
            size *= extent
        data = memoryview(bytearray(size))
        try:
            return data.cast(like.dtype, shape) if size else data
        except (ValueError, TypeError):
            raise TypeError(
                f"x has elements of format {like.dtype!r}: without NumPy there is nothing to hold "
                "the result; pass out="
            ) from None
    dtype = like.dtype
    if isinstance(dtype, str):
        try:
            dtype = numpy.dtype(dtype)
        except TypeError:
            try:
                import ml_dtypes

                dtype = numpy.dtype(getattr(ml_dtypes, dtype))
            except (ImportError, AttributeError):
                raise TypeError(
                    f"x.dtype = {dtype}: NumPy has no such dtype (ml_dtypes may have it); pass out="
                ) from None
    return numpy.empty(shape, dtype)


OTHER = Other()
