"""Tensors of PyTorch."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import HOST, Array, shown
from cornerturn._frameworks.framework import Framework


def is_traced() -> bool:
    """Is torch.compile or torch.export looking at what happens?"""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


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
        self.refuse_without_memory(x, name)
        # The memory of a tensor that is lazily conjugated or negated does not hold its values.
        x = x.resolve_conj().resolve_neg()
        address = x.data_ptr()
        size = x.element_size()
        strides = tuple([stride * size for stride in x.stride()])
        device = x.get_device() if x.is_cuda else HOST
        return Array(address, size, tuple(x.shape), strides, device, x.dtype, False, x)

    def refuse_without_memory(self, x: Any, name: str) -> None:
        """Raises unless `x` has strides and memory of its own, on the CPU or a GPU."""
        self._refuse_layout(x, name)
        if x.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{name} is on the device {x.device}: only cpu and cuda are taken")
        if self._is_a_shell(x):
            raise TypeError(f"{name} is a {type(x).__name__}, a tensor without memory of its own")
        try:
            x.data_ptr()
        except RuntimeError as error:
            raise TypeError(f"{name} is a tensor without memory of its own: {error}") from None

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        torch = sys.modules["torch"]
        with self._on(like.device, stream):
            return torch.empty(shape, dtype=like.dtype, device=x.device)

    def empty_at(
        self, device: int, dtype: Any, shape: tuple[int, ...], stream: int | None, pinned: bool
    ) -> Any:
        torch = sys.modules["torch"]
        if device == HOST:
            return torch.empty(shape, dtype=dtype, device="cpu", pin_memory=pinned)
        with self._on(device, stream):
            return torch.empty(shape, dtype=dtype, device=f"cuda:{device}")

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

    def will_be_constant(self, x: Any, name: str) -> None:
        if (x.requires_grad and sys.modules["torch"].is_grad_enabled()) or self._has_tangent(x):
            raise ValueError(f"{name} requires grad: a gradient is made for x alone; detach it")

    def was_written(self, x: Any) -> None:
        sys.modules["torch"].autograd.graph.increment_version(x)

    def is_plain(self, x: Any) -> bool:
        torch = sys.modules["torch"]
        return (
            self.is_memory(x)
            and not (x.requires_grad and torch.is_grad_enabled())
            and torch.autograd.forward_ad._current_level < 0
            and not torch.autograd.profiler._is_profiler_enabled
        )

    def is_memory(self, x: Any) -> bool:
        torch = sys.modules["torch"]
        return (
            not torch.compiler.is_compiling()
            and type(x) in (torch.Tensor, torch.nn.Parameter)
            and x.device.type != "meta"
            and torch._C._len_torch_dispatch_stack() == 0
            and torch._C._functorch.peek_interpreter_stack() is None
            and not torch._C._is_tracing()
        )

    def recorded(self, name: str) -> Any:
        torch = sys.modules["torch"]
        if not torch.autograd.profiler._is_profiler_enabled:
            return contextlib.nullcontext()
        return torch.profiler.record_function(name)

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

    def puts(self, out: Any, x: Any) -> bool:
        torch = sys.modules["torch"]
        if self.is_memory(out) and out.is_leaf:
            self.will_write(out, "out")  # PyTorch does not change what it differentiates by, either
        graded = torch.is_grad_enabled()
        return any(
            not self.is_memory(t) or (graded and t.requires_grad) or self._has_tangent(t) for t in (out, x)
        )

    def put(self, out: Any, indices: Any, x: Any, axis: int, missing: bool, convert: bool) -> None:
        torch = sys.modules["torch"]
        indices = self._indices(indices, out).long()
        if x.dtype != out.dtype and not convert:
            raise TypeError(f"x.dtype = {x.dtype} differs from out.dtype = {out.dtype}: convert=True converts the values")
        shape = (*out.shape[:axis], indices.shape[0], *out.shape[axis + 1 :])
        if tuple(x.shape) != shape:
            raise ValueError(f"x has the shape {tuple(x.shape)} with its axes in order, but what the indices name has {shape}")
        given = torch.arange(indices.shape[0], device=out.device)
        if missing:
            (given,) = torch.where(indices != -1)
            indices, x = indices[given], x.index_select(axis, given)
        else:
            indices = torch.where(indices < 0, indices + out.shape[axis], indices)
        if self.is_memory(indices) and indices.device.type == "cpu":
            self._check_once(indices, given)
        try:
            out.index_copy_(axis, indices, x.to(out.dtype))
        except IndexError as error:
            raise ValueError(f"indices = {shown(indices)}: {error}") from None

    def _check_once(self, indices: Any, given: Any) -> None:
        ordered, places = indices.sort(stable=True)
        equal = (ordered[1:] == ordered[:-1]).nonzero()
        if equal.shape[0]:
            a, b = (int(given[places[int(equal[0]) + k]]) for k in (0, 1))
            raise ValueError(f"indices[{a}] and indices[{b}] are equal: a place is written once at most")

    def _indices(self, indices: Any, x: Any) -> Any:
        torch = sys.modules["torch"]
        indices = torch.as_tensor(indices, device=x.device)
        if indices.dim() != 1 or indices.dtype not in (torch.int32, torch.int64):
            raise TypeError(
                f"indices has {indices.dim()} axes and the dtype {indices.dtype}: it has to have one axis, of int32 or int64"
            )
        return indices

    def taken(self, x: Any, indices: Any, axis: int, missing: bool) -> Any:
        torch = sys.modules["torch"]
        indices = self._indices(indices, x)
        absent = indices == -1 if missing else None
        if not missing:
            indices = torch.where(indices < 0, indices + x.shape[axis], indices)
        try:
            result = x.index_select(axis, indices if absent is None else indices.masked_fill(absent, 0))
        except IndexError as error:
            raise ValueError(f"indices = {shown(indices)}: {error}") from None
        if absent is None:
            return result
        return result.masked_fill(absent.reshape(-1, *[1 for _ in range(x.dim() - axis - 1)]), 0)

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
        if x.is_nested:
            raise TypeError(f"{name} is a nested tensor: only strided ones are taken")
        if x.layout is not sys.modules["torch"].strided:
            raise TypeError(f"{name} is a tensor of layout {x.layout}: only strided ones are taken")

    def _on(self, device: int, stream: int | None) -> contextlib.AbstractContextManager[Any]:
        if stream is None or device == HOST:
            return contextlib.nullcontext()
        cuda = sys.modules["torch"].cuda
        return cuda.stream(cuda.ExternalStream(stream, device=device))


def _numpy_name(dtype: Any) -> str:
    import numpy

    try:
        return str(numpy.dtype(dtype))
    except TypeError:
        return str(dtype)


TORCH = Torch()
