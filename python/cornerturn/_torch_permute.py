"""PyTorch: the operator cornerturn::permute_copy, `x.permute(dims).contiguous()` in one pass."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import forward_ad

from cornerturn import _core

_execute = _core.execute
_quick_transpose = _core.quick_transpose
_PACKED = torch.contiguous_format


def stream_of_device(device: int) -> int:
    return torch.cuda.current_stream(device).cuda_stream


def _empty_on_cpu(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device="cpu")


def _empty_on_cuda(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device="cuda")


# What the code that torch.compile generates calls for the same: three times as fast.
stream_of_device = getattr(torch._C, "_cuda_getCurrentRawStream", stream_of_device)
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_empty_on_cpu = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", _empty_on_cpu)
_empty_on_cuda = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", _empty_on_cuda)


@lru_cache(maxsize=4096)
def order_of(dims: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """`dims` counted from the front, once they are known to name each of `rank` axes once."""
    if len(dims) != rank:
        raise ValueError(f"dims = {list(dims)} has {len(dims)} entries, but x has rank {rank}")
    for i, dim in enumerate(dims):
        if not -rank <= dim < rank:
            raise ValueError(f"dims[{i}] = {dim} is out of range for rank {rank}")
    order = tuple(dim % rank for dim in dims)
    for i, dim in enumerate(order):
        if dim in order[:i]:
            raise ValueError(f"dims[{i}] = {dims[i]} repeats dims[{order.index(dim)}]")
    return order


@lru_cache(maxsize=4096)
def inverse_of(dims: tuple[int, ...]) -> tuple[int, ...]:
    order = order_of(dims, len(dims))
    return tuple(sorted(range(len(order)), key=order.__getitem__))


class _Layout(NamedTuple):
    """The derivative of a permuted copy; `out_bytes` and `in_bytes` are the strides of both sides in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    out_bytes: tuple[int, ...]
    in_bytes: tuple[int, ...]
    any_elements: bool


@lru_cache(maxsize=4096)
def _layout(
    dims: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...], size: int
) -> _Layout:
    order = order_of(dims, len(shape))
    out = tuple(shape[d] for d in order)
    packed = [1] * len(out)
    for i in reversed(range(len(out) - 1)):
        packed[i] = packed[i + 1] * max(out[i + 1], 1)
    return _Layout(
        out,
        tuple(packed),
        tuple(s * size for s in packed),
        tuple(strides[d] * size for d in order),
        0 not in out,
    )


def _on_cpu(x: Tensor, dims: Sequence[int]) -> Tensor:
    size = x.itemsize
    shape, strides, out_bytes, in_bytes, any_elements = _layout(
        tuple(dims), x.shape, x.stride(), size
    )
    out = _empty_on_cpu(shape, strides, x.dtype)
    if any_elements:
        _execute(out.data_ptr(), x.data_ptr(), size, shape, out_bytes, in_bytes)
    return out


def _on_cuda(x: Tensor, dims: Sequence[int]) -> Tensor:
    size = x.itemsize
    shape, strides, out_bytes, in_bytes, any_elements = _layout(
        tuple(dims), x.shape, x.stride(), size
    )
    device = x.get_device()
    if device == _current_device():
        out = _empty_on_cuda(shape, strides, x.dtype)
    else:
        out = torch.empty_strided(shape, strides, dtype=x.dtype, device=x.device)
    if any_elements:
        stream = stream_of_device(device)
        _execute(out.data_ptr(), x.data_ptr(), size, shape, out_bytes, in_bytes, device, stream)
    return out


def _elsewhere(x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.permute(dims).clone(memory_format=_PACKED)


def _fake(x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.new_empty([x.shape[d] for d in order_of(tuple(dims), x.dim())])


# The operator.
library = torch.library.Library("cornerturn", "DEF")
library.define(
    "permute_copy(Tensor x, int[] dims) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.flexible_layout),
)
permute_copy = torch.ops.cornerturn.permute_copy.default
library.impl("permute_copy", _on_cpu, "CPU")
if torch.version.hip is None:
    library.impl("permute_copy", _on_cuda, "CUDA")
library.impl("permute_copy", _elsewhere, "CompositeExplicitAutograd")
torch.library.register_fake("cornerturn::permute_copy", _fake, lib=library)


class _PermuteCopy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Sequence[int], keyset: Any) -> Tensor:
        ctx.dims = tuple(dims)
        with for_outer_levels():
            return below_autograd(permute_copy, keyset, x, dims)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None, None]:
        return permute_copy(grad, inverse_of(ctx.dims)), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:
        return permute_copy(tangent, ctx.dims)


def apply_at_one_level(function: type[torch.autograd.Function], *args: Any) -> Any:
    """function.apply(...) without its detour through torch.func: a transformation that is at work has
    called the operator's kernel for its own level already, and only has to hear that this is intended.
    """
    apply = torch._C._FunctionBase.__dict__["apply"].__get__(None, function)
    if torch._C._functorch.peek_interpreter_stack() is None:
        return apply(*args)
    with enable_single_level_autograd_function():
        return apply(*args)


def below_autograd(operator: Any, keyset: Any, *args: Any) -> Any:
    with torch._C._AutoDispatchBelowAutograd():
        return operator.redispatch(keyset & torch._C._after_autograd_keyset, *args)


@contextlib.contextmanager
def for_outer_levels() -> Iterator[None]:
    """Inside forward(), which has turned gradients off: transformations around it still want theirs."""
    if torch._C._functorch.peek_interpreter_stack() is None:
        yield
        return
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        yield


def wants_derivatives(x: Tensor) -> bool:
    return (x.requires_grad and torch.is_grad_enabled()) or forward_ad._current_level >= 0


def _autograd(keyset: Any, x: Tensor, dims: Sequence[int]) -> Tensor:
    # The fast path, where no mode, trace or gradient has an interest in the call.
    result = _quick_transpose(x, dims, None)
    if result is not None:
        return result
    if wants_derivatives(x):
        return apply_at_one_level(_PermuteCopy, x, dims, keyset)
    return below_autograd(permute_copy, keyset, x, dims)


library.impl("permute_copy", _autograd, "Autograd", with_keyset=True)


def _vmap(info: Any, in_dims: Any, x: Tensor, dims: Sequence[int]) -> tuple[Tensor, int]:
    batched = x.movedim(in_dims[0], 0)
    order = order_of(tuple(dims), x.dim() - 1)
    return permute_copy(batched, (0, *(d + 1 for d in order))), 0


torch.library.register_vmap("cornerturn::permute_copy", _vmap, lib=library)
