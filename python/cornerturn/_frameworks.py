"""How each framework shows its arrays, makes new ones, and says on which stream to work.

No framework is imported here: whoever passes an array has imported its framework before.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cornerturn import _core
from cornerturn._arrays import HOST, Array, dtype_name, packed_strides, place, shown


def framework_of(x: Any) -> Framework:
    """The framework that `x` belongs to. Where none is known, one that reads the array protocols."""
    kind = type(x)
    # Tensors are not looked up: torch.compile has no guard for a dictionary whose keys are classes.
    if kind.__module__.startswith("torch") and _TORCH.owns(x):
        return _TORCH
    known = _BY_TYPE.get(kind)
    if known is not None:
        return known
    module = kind.__module__.partition(".")[0]
    for framework in _KNOWN.values():
        if framework.owns(x):
            if module in _KNOWN:  # classes that a user has made are not kept alive here
                _BY_TYPE[kind] = framework
            return framework
    return _OTHER


def is_traced() -> bool:
    """Is torch.compile or torch.export looking at what happens?"""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def has_to_be_seen(x: Any) -> bool:
    """Is `x` a tensor of PyTorch that is traced, transformed, or of a subclass of its own?"""
    framework = framework_of(x)
    return framework.module == "torch" and not framework.is_plain(x)


class Framework:
    """A framework with a module of its own: `owns` asks whether an object is an array of it."""

    module = ""
    array_type = ""
    # `cornerturn.torch` and `cornerturn.jax` have an operator, which keeps what these frameworks know
    # of an array beyond its memory: its gradient, and who is tracing it.
    has_operator = False

    def owns(self, x: Any) -> bool:
        module = sys.modules.get(self.module)
        return module is not None and isinstance(x, getattr(module, self.array_type, ()))

    def read(self, x: Any, name: str) -> Array:
        raise NotImplementedError

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        """A new packed array of x's framework and device, of the dtype of `like`."""
        raise NotImplementedError

    def rank(self, x: Any, name: str) -> int:
        return self.read(x, name).rank

    def dtype(self, dtype: Any) -> Any:
        """The framework's own dtype for what the caller calls by any name."""
        import numpy

        try:
            return numpy.dtype(dtype)
        except TypeError:
            pass
        try:
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, dtype_name(dtype)))
        except (ImportError, AttributeError):
            raise TypeError(
                f"dtype = {shown(dtype)} is no dtype of NumPy (ml_dtypes has bfloat16 and 8-bit floats)"
            ) from None

    def current_stream(self, device: int) -> int:
        return 0

    def splits_to_views(self, x: Any) -> bool:
        """Does `x.reshape(...)` copy nothing when it splits axes of `x`, or merges axes of a packed
        array?"""
        return self.has_operator

    def is_packed(self, x: Any, name: str) -> bool:
        source = self.read(x, name)
        return source.is_packed() and source.owner is x

    def will_write(self, x: Any, name: str) -> None:
        """Raises where `x` must not be written to, other than by its memory being read-only."""

    def will_lose_gradient(self, x: Any, name: str) -> None:
        """Raises where a gradient is wanted of `x`, which no copy into an array can carry."""

    def will_change_values(self, name: str) -> None:
        """Raises where values cannot change on their way."""

    def was_written(self, x: Any) -> None:
        """Tells the framework that the memory of `x` has other values now."""

    def is_plain(self, x: Any) -> bool:
        """Is `x` nothing but memory, so that nobody but the engine has to see what happens to it?"""
        return True

    def as_float32(self, x: Any, name: str) -> Any:
        """The numbers in `x` as packed float32."""
        numpy = _numpy_if_installed()
        if numpy is None:
            raise TypeError(f"{name} has to be contiguous and of dtype float32: NumPy is not here")
        try:
            return numpy.ascontiguousarray(x, dtype=numpy.float32)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} = {shown(x)} are no real numbers: {error}") from None

    def stacks(self, arrays: Sequence[Any]) -> bool:
        """Must the framework itself stack a list of such arrays, for gradients and tracing?"""
        return False

    def may_stack(self, arrays: Sequence[Any]) -> bool:
        """Does the framework stack such a list at the speed of memory?"""
        return False

    def stack(self, arrays: Sequence[Any]) -> Any:
        raise NotImplementedError

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        """`x` with new last axes, along which it is the same everywhere: a view where there are views."""
        raise NotImplementedError

    def used_on(self, x: Any, device: int, stream: int) -> None:
        """Tells the framework that work on another stream than the current one uses `x`."""


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

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        x = x.reshape(*x.shape, *[1 for _ in extents])
        return sys.modules["numpy"].broadcast_to(x, (*x.shape[: -len(extents)], *extents))


class Torch(Framework):
    module, array_type = "torch", "Tensor"
    has_operator = True

    def rank(self, x: Any, name: str) -> int:
        self._refuse_layout(x, name)
        return x.dim()

    def dtype(self, dtype: Any) -> Any:
        torch = sys.modules["torch"]
        if isinstance(dtype, torch.dtype):
            return dtype
        found = getattr(torch, dtype.removeprefix("torch.") if isinstance(dtype, str) else _numpy_name(dtype), None)
        if not isinstance(found, torch.dtype):
            raise TypeError(f"dtype = {shown(dtype)} is no dtype of PyTorch")
        return found

    def is_packed(self, x: Any, name: str) -> bool:
        self._refuse_layout(x, name)
        return x.is_contiguous()

    def read(self, x: Any, name: str) -> Array:
        self._refuse_layout(x, name)
        if x.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{name} is on the device {x.device}: only cpu and cuda are taken")
        # The memory of a tensor that is lazily conjugated or negated does not hold its values.
        x = x.resolve_conj().resolve_neg()
        if self._is_a_shell(x):
            raise TypeError(f"{name} is a {type(x).__name__}, a tensor without memory of its own")
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
                f"{name} requires grad, which only a new array on the current stream can carry: leave "
                "out= and stream=, detach it, or work under torch.no_grad()"
            )
        if self._has_tangent(x):
            raise ValueError(
                f"{name} has a tangent, which only a new array on the current stream can carry: leave "
                "out= and stream=, or take forward_ad.unpack_dual(...).primal"
            )

    def was_written(self, x: Any) -> None:
        sys.modules["torch"].autograd.graph.increment_version(x)

    def is_plain(self, x: Any) -> bool:
        torch = sys.modules["torch"]
        return (
            not torch.compiler.is_compiling()
            and type(x) in (torch.Tensor, torch.nn.Parameter)
            and not (x.requires_grad and torch.is_grad_enabled())
            and x.device.type != "meta"
            and torch._C._len_torch_dispatch_stack() == 0
            and torch.autograd.forward_ad._current_level < 0
            and torch._C._functorch.peek_interpreter_stack() is None
            and not torch._C._is_tracing()
            and not torch.autograd.profiler._is_profiler_enabled
        )

    def as_float32(self, x: Any, name: str) -> Any:
        torch = sys.modules["torch"]
        if x.is_complex():
            raise TypeError(f"{name}.dtype = {x.dtype}: it has to be of real numbers")
        return x.to(torch.float32).contiguous()

    def vector(self, value: Any, x: Any, name: str) -> Any:
        """A scale or a bias as a tensor on x's device."""
        torch = sys.modules["torch"]
        if value is None or isinstance(value, torch.Tensor):
            return value
        try:
            return torch.as_tensor(value, dtype=torch.float32, device=x.device)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(f"{name} = {shown(value)} are no real numbers: {error}") from None

    def used_on(self, x: Any, device: int, stream: int) -> None:
        if device != HOST:
            cuda = sys.modules["torch"].cuda
            x.record_stream(cuda.ExternalStream(stream, device=device))

    def stacks(self, arrays: Sequence[Any]) -> bool:
        torch = sys.modules["torch"]
        return all(isinstance(x, torch.Tensor) for x in arrays) and not all(map(self.is_plain, arrays))

    def stack(self, arrays: Sequence[Any]) -> Any:
        return sys.modules["torch"].stack(tuple(arrays))

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        shape = tuple(x.shape)
        x = x.reshape(*shape, *[1 for _ in extents])
        return x.expand(*shape, *extents)

    def _is_a_shell(self, x: Any) -> bool:
        """Is `x` of a subclass whose values are elsewhere, or nowhere?"""
        torch = sys.modules["torch"]
        if type(x) in (torch.Tensor, torch.nn.Parameter):
            return False
        from torch._subclasses.fake_tensor import FakeTensor
        from torch.utils._python_dispatch import is_traceable_wrapper_subclass

        return isinstance(x, FakeTensor) or is_traceable_wrapper_subclass(x)

    def _has_tangent(self, x: Any) -> bool:
        forward_ad = sys.modules["torch"].autograd.forward_ad
        return forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None

    def _refuse_layout(self, x: Any, name: str) -> None:
        if x.layout is not sys.modules["torch"].strided:
            raise TypeError(f"{name} is a tensor of layout {x.layout}: only strided ones are taken")

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

            return _NUMPY.read(numpy.asarray(x), name)
        return _OTHER.read(x, name)

    def stacks(self, arrays: Sequence[Any]) -> bool:
        return True

    def stack(self, arrays: Sequence[Any]) -> Any:
        return sys.modules["jax"].numpy.stack(list(arrays))

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        x = x.reshape(*x.shape, *[1 for _ in extents])
        return sys.modules["jax"].numpy.broadcast_to(x, (*x.shape[: -len(extents)], *extents))

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
        if isinstance(x, (list, tuple)) or (not readable and _makes_an_array(x)):
            return _read_values(x, name)
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
            return _CUPY.empty(None, like, shape, stream)
        torch = sys.modules.get("torch")
        dtype = getattr(torch, str(like.dtype), None)
        if torch is not None and dtype is not None:
            return torch.empty(shape, dtype=dtype, device=f"cuda:{like.device}")
        raise TypeError(
            f"x is a {type(x).__module__}.{type(x).__qualname__} in {place(like)}, and neither "
            f"CuPy nor PyTorch is imported to hold a result of dtype {like.dtype}: pass out="
        )


_DLPACK_HOST = (1, 3)  # memory of the CPU, and pinned memory


def _numpy_name(dtype: Any) -> str:
    import numpy

    try:
        return str(numpy.dtype(dtype))
    except TypeError:
        return str(dtype)


def _makes_an_array(x: Any) -> bool:
    """Does `x` make arrays of NumPy of its values, and show its memory in no other way?"""
    return hasattr(x, "__array__") and not hasattr(x, "__dlpack__")


def _read_values(x: Any, name: str) -> Array:
    numpy = _numpy_if_installed()
    if numpy is None:
        raise _no_array(x, name)
    try:
        array = numpy.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} = {shown(x)}: {error}") from None
    if array.dtype.hasobject:
        raise TypeError(f"{name} = {shown(x)}: its elements are not all numbers, but of dtype object")
    return _NUMPY.read(array, name)


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


_NUMPY = NumPy()
_TORCH = Torch()
_CUPY = CuPy()
_JAX = JAX()
_OTHER = Other()
_BY_TYPE: dict[type, Framework] = {}
_KNOWN: dict[str, Framework] = {"numpy": _NUMPY, "torch": _TORCH, "cupy": _CUPY, "jax": _JAX}
