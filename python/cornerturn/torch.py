"""PyTorch: an operator that permutes, and `.contiguous()` and `.clone()` made fast.

`torch.ops.cornerturn.permute_copy(x, dims)` is `x.permute(dims).contiguous()` in one pass over the
memory: known to autograd (any order, and forward mode), `torch.func`, `torch.compile` and CUDA
graphs. `permute` calls it, or goes straight to the engine where nobody is looking on.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import forward_ad

from cornerturn import _core

__all__ = ["enable", "permute"]

_execute = _core.execute
_quick_transpose = _core.quick_transpose
_HOST = -1
_PACKED = torch.contiguous_format


def _stream_of_device(device: int) -> int:
    return torch.cuda.current_stream(device).cuda_stream


def _empty_on_cpu(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device="cpu")


def _empty_on_cuda(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device="cuda")


# What the code that torch.compile generates calls for the same: three times as fast.
_stream_of_device = getattr(torch._C, "_cuda_getCurrentRawStream", _stream_of_device)
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_empty_on_cpu = getattr(torch._C._dynamo.guards, "_empty_strided_cpu", _empty_on_cpu)
_empty_on_cuda = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", _empty_on_cuda)


@lru_cache(maxsize=4096)
def _order(dims: tuple[int, ...], rank: int) -> tuple[int, ...]:
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
def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    order = _order(dims, len(dims))
    return tuple(sorted(range(len(order)), key=order.__getitem__))


class _Layout(NamedTuple):
    """Of a permuted copy; `out_bytes` and `in_bytes` are the strides of both sides in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    out_bytes: tuple[int, ...]
    in_bytes: tuple[int, ...]
    any_elements: bool


@lru_cache(maxsize=4096)
def _layout(
    dims: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...], size: int
) -> _Layout:
    order = _order(dims, len(shape))
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
        stream = _stream_of_device(device)
        _execute(out.data_ptr(), x.data_ptr(), size, shape, out_bytes, in_bytes, device, stream)
    return out


def _elsewhere(x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.permute(dims).clone(memory_format=_PACKED)


def _fake(x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.new_empty([x.shape[d] for d in _order(tuple(dims), x.dim())])


# The operator.
_library = torch.library.Library("cornerturn", "DEF")
_library.define(
    "permute_copy(Tensor x, int[] dims) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.flexible_layout),
)
_op = torch.ops.cornerturn.permute_copy.default
_library.impl("permute_copy", _on_cpu, "CPU")
if torch.version.hip is None:
    _library.impl("permute_copy", _on_cuda, "CUDA")
_library.impl("permute_copy", _elsewhere, "CompositeExplicitAutograd")
torch.library.register_fake("cornerturn::permute_copy", _fake, lib=_library)


class _PermuteCopy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Sequence[int], keyset: Any) -> Tensor:
        ctx.dims = tuple(dims)
        if torch._C._functorch.peek_interpreter_stack() is None:
            return _below_autograd(keyset, x, dims)
        # This has turned gradients off; the outer transformations still want theirs.
        with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
            return _below_autograd(keyset, x, dims)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None, None]:
        return _op(grad, _inverse(ctx.dims)), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:
        return _op(tangent, ctx.dims)


# Function.apply without its detour through torch.func: a transformation that is at work has called
# this kernel for its own level already, and only has to hear that this is intended.
_apply = torch._C._FunctionBase.__dict__["apply"].__get__(None, _PermuteCopy)


def _apply_at_one_level(*args: Any) -> Tensor:
    if torch._C._functorch.peek_interpreter_stack() is None:
        return _apply(*args)
    with enable_single_level_autograd_function():
        return _apply(*args)


def _below_autograd(keyset: Any, x: Tensor, dims: Sequence[int]) -> Tensor:
    with torch._C._AutoDispatchBelowAutograd():
        return _op.redispatch(keyset & torch._C._after_autograd_keyset, x, dims)


def _autograd(keyset: Any, x: Tensor, dims: Sequence[int]) -> Tensor:
    # The short way down, where nobody on the long one has an interest in the call.
    result = _quick_transpose(x, dims, None)
    if result is not None:
        return result
    if (x.requires_grad and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
        return _apply_at_one_level(x, dims, keyset)
    return _below_autograd(keyset, x, dims)


_library.impl("permute_copy", _autograd, "Autograd", with_keyset=True)


def _vmap(info: Any, in_dims: Any, x: Tensor, dims: Sequence[int]) -> tuple[Tensor, int]:
    batched = x.movedim(in_dims[0], 0)
    order = _order(tuple(dims), x.dim() - 1)
    return _op(batched, (0, *(d + 1 for d in order))), 0


torch.library.register_vmap("cornerturn::permute_copy", _vmap, lib=_library)


def permute(x: Tensor, dims: Sequence[int]) -> Tensor:
    """`x.permute(dims).contiguous()` in one pass: a new contiguous tensor, never a view of `x`.

    `x` may have any strides and any dtype; the result is on its device, the work on that device's
    current stream. `dims` names each axis once, negative numbers count from the end.
    Differentiable.

    Raises ValueError when `dims` is not a permutation of the axes, TypeError when `x` is no tensor
    or `dims` are no integers.
    """
    if torch.compiler.is_dynamo_compiling():
        return _op(x, dims)
    if not isinstance(x, Tensor):
        raise TypeError(f"x is a {type(x).__qualname__}: not a torch.Tensor")
    result = _quick_transpose(x, dims, None)
    if result is not None:
        return result
    try:
        order = tuple(map(index, dims))
    except TypeError:
        raise TypeError(f"dims = {dims!r} is not a sequence of integers") from None
    return _op(x, order)


class _PermuteValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], values: Any) -> Tensor:
        ctx.dims, ctx.values, ctx.dtype = dims, values, x.dtype
        return _run_values(x, dims, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        # The factor of an element goes with it to where it came from.
        values, inverse = ctx.values, _inverse(ctx.dims)
        scale = values.scale
        if isinstance(scale, Tensor):
            rank = len(ctx.dims)
            scale = scale.reshape((1,) * (rank - scale.dim()) + tuple(scale.shape))
            scale = scale.permute(inverse).contiguous()
        back = values._replace(dtype=ctx.dtype, scale=scale, bias=None)
        return permute_values(grad, inverse, back), None, None


def _run_values(x: Tensor, dims: tuple[int, ...], values: Any) -> Tensor:
    from cornerturn._frameworks import framework_of
    from cornerturn._values import run

    return run(framework_of(x), x, dims, None, None, values)


@torch.compiler.disable
def permute_values(x: Tensor, dims: tuple[int, ...], values: Any) -> Tensor:
    """A permuted copy whose values change. The gradient is converted back."""
    for name in ("scale", "bias"):
        value = getattr(values, name)
        if isinstance(value, Tensor) and value.requires_grad:
            raise ValueError(f"{name} requires grad: a gradient is made for x alone; detach it")
    if not (x.requires_grad and torch.is_grad_enabled()):
        return _run_values(x, dims, values)
    return _PermuteValues.apply(x, dims, values)


# enable(): how many ask for it, and what was registered, by dispatch key.
_active: dict[str, tuple[int, torch.library.Library]] = {}
_lock = threading.Lock()
_KEYS = {"cpu": "CPU", "cuda": "CUDA"}


def _clone_on(device_of: Callable[[Tensor], tuple[int, int]]) -> Callable[..., Tensor]:
    def clone(x: Tensor, *, memory_format: torch.memory_format | None = None) -> Tensor:
        # The result's strides are PyTorch's business; what differs is who fills it.
        out = torch.empty_like(x, memory_format=memory_format or torch.preserve_format)
        strides = x.stride()
        out_strides = out.stride()
        ordinary = (
            strides != out_strides
            and x.numel() > 1
            and x.layout is torch.strided
            and not (x.is_conj() or x.is_neg() or x._is_zerotensor())
        )
        if not ordinary:
            return out.copy_(x)
        size = x.itemsize
        _execute(
            out.data_ptr(),
            x.data_ptr(),
            size,
            tuple(x.shape),
            tuple(s * size for s in out_strides),
            tuple(s * size for s in strides),
            *device_of(x),
        )
        return out

    return clone


def _cpu_of(x: Tensor) -> tuple[int, int]:
    return _HOST, 0


def _cuda_of(x: Tensor) -> tuple[int, int]:
    device = x.get_device()
    return device, _stream_of_device(device)


_CLONES = {"cpu": _clone_on(_cpu_of), "cuda": _clone_on(_cuda_of)}


class enable(contextlib.ContextDecorator):
    """While active, `.contiguous()` and `.clone()` of permuted tensors use Cornerturn.

    A context manager and a decorator. `device_types`: "cuda" (when none is given) and "cpu". So do
    all that copy by way of them, as `.reshape()` does. It holds for the whole process, so for
    autograd's threads too. Results are PyTorch's, bit for bit and stride for stride: memory
    formats, subclasses and gradients are handled above the place where it steps in, and what needs
    no permutation stays PyTorch's copy. Code that `torch.compile` generates copies by itself; call
    `permute` there.

    Raises ValueError for another device type.
    """

    def __init__(self, *device_types: str) -> None:
        for i, device_type in enumerate(device_types):
            if device_type not in _KEYS:
                raise ValueError(f"device_types[{i}] = {device_type!r} is none of 'cpu', 'cuda'")
        self._device_types = sorted(set(device_types or ("cuda",)))

    def __enter__(self) -> enable:
        with _lock:
            for device_type in self._device_types:
                users, library = _active.get(device_type, (0, None))
                if library is None:
                    library = torch.library.Library("aten", "IMPL")
                    library.impl("clone", _CLONES[device_type], _KEYS[device_type])
                _active[device_type] = users + 1, library
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            for device_type in self._device_types:
                users, library = _active.pop(device_type)
                if users > 1:
                    _active[device_type] = users - 1, library
                else:
                    library._destroy()
