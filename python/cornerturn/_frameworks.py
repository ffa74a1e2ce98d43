"""How each framework shows its arrays, makes new ones, and says on which stream to work.

No framework is imported here: who passes an array has imported its framework before.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cornerturn import _core
from cornerturn._arrays import HOST, Array, packed_strides, place, shown


def framework_of(x: Any) -> Framework:
    """The framework that `x` belongs to; one that reads the array protocols where none is known."""
    kind = type(x)
    known = _BY_TYPE.get(kind)
    if known is not None:
        return known
    module = kind.__module__.partition(".")[0]
    for framework in _KNOWN.values():
        if framework.owns(x):
            if module in _KNOWN:  # not a class that somebody made, and may forget
                _BY_TYPE[kind] = framework
            return framework
    return _OTHER


class Framework:
    """A framework with a module of its own: `owns` asks whether an object is an array of it."""

    module = ""
    array_type = ""
    # How it permutes by itself, with all that it knows of its arrays beyond their memory.
    permute: Callable[[Any, tuple[int, ...]], Any] | None = None

    def owns(self, x: Any) -> bool:
        module = sys.modules.get(self.module)
        return module is not None and isinstance(x, getattr(module, self.array_type, ()))

    def read(self, x: Any, name: str) -> Array:
        raise NotImplementedError

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        """A new packed array of x's framework, dtype and device."""
        raise NotImplementedError

    def current_stream(self, device: int) -> int:
        return 0

    def splits_to_views(self, x: Any) -> bool:
        """Does `x.reshape(...)`, when it splits axes of `x` or merges axes of a packed array, copy
        nothing?"""
        return self.permute is not None

    def is_packed(self, x: Any) -> bool:
        """Is `x`, which splits to views, packed?"""
        raise NotImplementedError

    def will_write(self, x: Any, name: str) -> None:
        """Raises where `x` must not be written to, other than by its memory being read-only."""

    def will_lose_gradient(self, x: Any, name: str) -> None:
        """Raises where a gradient is wanted of `x`, which no copy into an array can carry."""

    def stacks(self, arrays: Sequence[Any]) -> bool:
        """Has a list of such arrays to be stacked by the framework, for gradients and tracing?"""
        return False

    def stack(self, arrays: Sequence[Any]) -> Any:
        raise NotImplementedError

    def used_on(self, x: Any, device: int, stream: int) -> None:
        """Says that work on another stream than the current one uses `x`."""


class NumPy(Framework):
    module, array_type = "numpy", "ndarray"

    def owns(self, x: Any) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic))

    def splits_to_views(self, x: Any) -> bool:
        return type(x) is sys.modules["numpy"].ndarray

    def is_packed(self, x: Any) -> bool:
        return x.flags.c_contiguous

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


def permute_tensor(x: Any, order: tuple[int, ...]) -> Any:
    import cornerturn.torch

    _refuse_layout(x, "x")
    return cornerturn.torch.permute(x, order)


def _refuse_layout(x: Any, name: str) -> None:
    if x.layout is not sys.modules["torch"].strided:
        raise TypeError(f"{name} is a tensor of layout {x.layout}: only strided ones are taken")


def _permute_jax(x: Any, order: tuple[int, ...]) -> Any:
    import cornerturn.jax

    return cornerturn.jax.transpose(x, order)


class Torch(Framework):
    module, array_type = "torch", "Tensor"
    permute = staticmethod(permute_tensor)

    def is_packed(self, x: Any) -> bool:
        _refuse_layout(x, "view")
        return x.is_contiguous()

    def read(self, x: Any, name: str) -> Array:
        _refuse_layout(x, name)
        if x.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{name} is on the device {x.device}: only cpu and cuda are taken")
        # What is lazily conjugated or negated is not what its memory holds.
        x = x.resolve_conj().resolve_neg()
        try:
            address = x.data_ptr()
        except RuntimeError as error:
            raise TypeError(f"{name} is a tensor without memory of its own: {error}") from None
        size = x.element_size()
        strides = tuple([stride * size for stride in x.stride()])
        device = x.get_device() if x.is_cuda else HOST
        return Array(address, size, tuple(x.shape), strides, device, x.dtype, False, x)

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        torch = sys.modules["torch"]
        with self._on(like.device, stream):
            return torch.empty(shape, dtype=like.dtype, device=x.device)

    def current_stream(self, device: int) -> int:
        return sys.modules["torch"]._C._cuda_getCurrentRawStream(device)

    def will_write(self, x: Any, name: str) -> None:
        torch = sys.modules["torch"]
        if x.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{name} requires grad: what is written into it would have no gradient; detach it, "
                "or write under torch.no_grad()"
            )
        if x.is_conj() or x.is_neg():
            raise ValueError(f"{name} is lazily conjugated or negated: resolve it first")

    def will_lose_gradient(self, x: Any, name: str) -> None:
        if x.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise ValueError(
                f"{name} requires grad, which a copy into a given array cannot carry: leave out=, "
                "detach it, or copy under torch.no_grad()"
            )

    def used_on(self, x: Any, device: int, stream: int) -> None:
        if device != HOST:
            cuda = sys.modules["torch"].cuda
            x.record_stream(cuda.ExternalStream(stream, device=device))

    def stacks(self, arrays: Sequence[Any]) -> bool:
        torch = sys.modules["torch"]
        return torch.compiler.is_compiling() or any(
            type(x) is not torch.Tensor or x.requires_grad for x in arrays
        )

    def stack(self, arrays: Sequence[Any]) -> Any:
        return sys.modules["torch"].stack(tuple(arrays))

    def _on(self, device: int, stream: int | None) -> contextlib.AbstractContextManager[Any]:
        if stream is None or device == HOST:
            return contextlib.nullcontext()
        cuda = sys.modules["torch"].cuda
        return cuda.stream(cuda.ExternalStream(stream, device=device))


class CuPy(Framework):
    module, array_type = "cupy", "ndarray"

    def read(self, x: Any, name: str) -> Array:
        return Array(
            x.data.ptr, x.itemsize, x.shape, x.strides, x.device.id, x.dtype, False, x
        )

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        cupy = sys.modules["cupy"]
        on: Any = contextlib.nullcontext()
        if stream is not None:
            on = cupy.cuda.ExternalStream(stream, like.device)
        with cupy.cuda.Device(like.device), on:
            return cupy.empty(shape, like.dtype)

    def current_stream(self, device: int) -> int:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            return cupy.cuda.get_current_stream().ptr


class JAX(Framework):
    """What `cornerturn.jax` does not do itself: arrays that are read into somebody else's `out`."""

    module, array_type = "jax", "Array"
    permute = staticmethod(_permute_jax)

    def is_packed(self, x: Any) -> bool:
        return True

    def read(self, x: Any, name: str) -> Array:
        jax = sys.modules["jax"]
        if isinstance(x, jax.core.Tracer):
            raise TypeError(f"{name} is traced by JAX: it has no memory to read or write")
        if len(x.devices()) == 1 and next(iter(x.devices())).platform == "cpu":
            import numpy

            return _NUMPY.read(numpy.asarray(x), name)
        return _OTHER.read(x, name)

    def stacks(self, arrays: Sequence[Any]) -> bool:
        return True

    def stack(self, arrays: Sequence[Any]) -> Any:
        return sys.modules["jax"].numpy.stack(list(arrays))

    def will_write(self, x: Any, name: str) -> None:
        raise TypeError(f"{name} is a JAX array, which cannot be written to")


class Other(Framework):
    """Arrays of other frameworks and of none, by the protocols that they follow."""

    def read(self, x: Any, name: str) -> Array:
        if isinstance(x, type):  # which shows the protocols of its objects
            raise _no_array(x, name)
        if hasattr(x, "__cuda_array_interface__"):
            return _read_cuda_interface(x, name)
        readable = _readable_by_numpy(x)
        if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
            on_host = x.__dlpack_device__()[0] in _DLPACK_HOST
            if not on_host or not readable:
                return _read_dlpack(x, name)
        elif not readable:
            raise _no_array(x, name)
        numpy = _numpy_if_installed()
        if numpy is None:
            return _read_buffer(x, name)
        if not hasattr(x, "__array_interface__"):
            x = memoryview(x)
        return _NUMPY.read(numpy.asarray(x), name)

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
            return _CUPY.empty(None, like, shape, stream)
        torch = sys.modules.get("torch")
        dtype = getattr(torch, str(like.dtype), None)
        if torch is not None and dtype is not None:
            return torch.empty(shape, dtype=dtype, device=f"cuda:{like.device}")
        raise TypeError(
            f"x is a {type(x).__module__}.{type(x).__qualname__} in {place(like)}, and neither "
            f"CuPy nor PyTorch is imported to hold a result of dtype {like.dtype}: pass out="
        )


_DLPACK_HOST = (1, 3)  # memory of the CPU, and such that is pinned


def _no_array(x: Any, name: str) -> TypeError:
    return TypeError(
        f"{name} is a {type(x).__module__}.{type(x).__qualname__}: it has none of __dlpack__, "
        "__array_interface__, __cuda_array_interface__ and the buffer protocol"
    )


def _numpy_if_installed() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


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


def _read_dlpack(x: Any, name: str) -> Array:
    kind = x.__dlpack_device__()[0]
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
    itemsize = int(dtype[2:]) * (4 if dtype[1] == "U" else 1)
    numpy = _numpy_if_installed()
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
    numpy = _numpy_if_installed()
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


_NUMPY = NumPy()
_TORCH = Torch()
_CUPY = CuPy()
_JAX = JAX()
_OTHER = Other()
_BY_TYPE: dict[type, Framework] = {}
_KNOWN: dict[str, Framework] = {"numpy": _NUMPY, "torch": _TORCH, "cupy": _CUPY, "jax": _JAX}
