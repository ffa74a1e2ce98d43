"""PyTorch: an operator that permutes, and `.contiguous()`, `.clone()` and `.copy_()` made fast.

`torch.ops.cornerturn.permute_copy(x, dims)` is `x.permute(dims).contiguous()` in one pass over the
memory. Autograd (any order, and forward mode), `torch.func`, `torch.compile` and CUDA graphs know it.
`permute` calls it, or goes straight to the engine where nothing needs to see the call.
`redistribute` moves tensors that are spread over processes between layouts. `relayout_pages` moves pages
of one pool to those of another one, each in another layout.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from cornerturn import _core, _torch_clone, _torch_values
from cornerturn._torch_pages import relayout_pages
from cornerturn._torch_permute import permute_copy

__all__ = ["disable", "empty_shard", "enable", "permute", "redistribute", "relayout_pages"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_quick_transpose = _core.quick_transpose


def permute(x: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns `x.permute(dims).contiguous()`, made in one pass: a new tensor, never a view of `x`.

    `x` may have any strides and any dtype. The result is on its device, and the work runs on that
    device's current stream. `dims` names each axis once; negative numbers count from the end. The
    function is differentiable.

    Raises ValueError when `dims` is not a permutation of the axes, and TypeError when `x` is no
    tensor or `dims` are no integers.
    """
    if torch.compiler.is_dynamo_compiling():
        return permute_copy(x, dims)
    if not isinstance(x, Tensor):
        raise TypeError(f"x is a {type(x).__qualname__}: not a torch.Tensor")
    result = _quick_transpose(x, dims, None)
    if result is not None:
        return result
    try:
        order = tuple(map(index, dims))
    except TypeError:
        raise TypeError(f"dims = {dims!r} is not a sequence of integers") from None
    _torch_values.spread(x)
    return permute_copy(x, order)


# enable(): how many ask for it, and who does the copies, by device type.
_active: dict[str, tuple[int, Any]] = {}
_round = 0  # how often disable() has ended all of them
_lock = threading.Lock()
_TYPES = ("cpu", "cuda")


class enable:
    """From this call on `.contiguous()`, `.clone()` and `.copy_()` of permuted tensors use Cornerturn.

    `device_types` are "cpu" and "cuda"; where none is given, those that are here. It holds for the whole
    process, and so for autograd's threads too, until `disable()` is called. As a context manager it ends
    with its block, and as a decorator it holds while the function runs. Functions that copy by way of the
    three, as `.reshape()` and `.to(memory_format=...)` do, use Cornerturn as well. Results are PyTorch's, bit
    for bit and stride for stride: PyTorch has handled memory formats, subclasses and gradients before
    Cornerturn is called. Copies that change the type or the device stay PyTorch's, and so do those that
    Cornerturn's plan would do as PyTorch does. Code that `torch.compile` generates copies by itself; call
    `permute` there.

    With the environment variable CORNERTURN_TORCH=1 it is called when PyTorch is imported.

    Raises ValueError for another device type.
    """

    def __init__(self, *device_types: str) -> None:
        for i, device_type in enumerate(device_types):
            if device_type not in _TYPES:
                raise ValueError(f"device_types[{i}] = {device_type!r} is none of 'cpu', 'cuda'")
        here = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        self._device_types = sorted(set(device_types or here))
        self._round = _turn_on(self._device_types)
        self._is_on = True

    def __repr__(self) -> str:
        active = [device_type for device_type in self._device_types if device_type in _active]
        state = "on for " + " and ".join(active) if active else "off"
        return f"<cornerturn.torch.enable: {state}>"

    def __enter__(self) -> enable:
        if not self._is_on or self._round != _round:
            self._round = _turn_on(self._device_types)
            self._is_on = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_on:
            self._is_on = False
            _turn_off(self._device_types, self._round)

    def __call__(self, function: FunctionT) -> FunctionT:
        """`function`, which runs with Cornerturn, and nothing else does."""
        self.__exit__()

        @functools.wraps(function)
        def enabled(*args: Any, **options: Any) -> Any:
            with enable(*self._device_types):
                return function(*args, **options)

        return cast(FunctionT, enabled)


def disable() -> None:
    """All copies are PyTorch's own again, however often Cornerturn was enabled for them.

    Nothing happens where they are.
    """
    global _round
    with _lock:
        _round += 1
        for _, copies in _active.values():
            copies.end()
        _active.clear()


def _copies_on(device_type: str) -> Any:
    """Who does the copies on these devices until its end() is called."""
    try:
        return _core.TorchCopies(device_type == "cuda")
    except RuntimeError as error:
        warnings.warn(
            f"{error}. So Cornerturn does .clone() and .contiguous() from Python, and .copy_() stays PyTorch's",
            RuntimeWarning,
            stacklevel=4,
        )
        return _torch_clone.Clones(device_type)


def _turn_on(device_types: Sequence[str]) -> int:
    with _lock:
        for device_type in device_types:
            users, copies = _active.get(device_type, (0, None))
            _active[device_type] = users + 1, copies or _copies_on(device_type)
        return _round


def _turn_off(device_types: Sequence[str], since: int) -> None:
    with _lock:
        if since != _round:
            return  # disable() has ended it
        for device_type in device_types:
            users, copies = _active.pop(device_type)
            if users > 1:
                _active[device_type] = users - 1, copies
            else:
                copies.end()


def __getattr__(name: str) -> Any:
    if name in ("empty_shard", "redistribute"):  # torch.distributed is imported when first asked for
        from cornerturn import _torch_shards

        return globals().setdefault(name, getattr(_torch_shards, name))
    raise AttributeError(f"module 'cornerturn.torch' has no attribute {name!r}")
