"""PyTorch: tensors that are spread over the processes of a group go from one layout to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from cornerturn import _torch_shard_task
from cornerturn._arrays import Array, shown
from cornerturn._frameworks.torch_tensors import TORCH
from cornerturn._torch_agreement import agree, device_types
from cornerturn._torch_exchange import exchange, store
from cornerturn._torch_shard_task import Call, Task, described, group_of, made, members_of, window_for
from cornerturn._torch_sharded import is_dtensor, is_tensor, local, result_of
from cornerturn._torch_windows import new_window
from cornerturn.shards import core_layout, integers, layout_key


@torch.compiler.disable
def redistribute(
    x: Tensor,
    mesh: Any = None,
    src: Any = None,
    dst: Any = None,
    perm: Sequence[int] | None = None,
    out: Tensor | None = None,
    *,
    shape: Sequence[int] | None = None,
    dtype: torch.dtype | None = None,
    route: str | None = None,
) -> Tensor:
    """Brings an array that is spread over the processes of a group into another layout.

    Every process of the mesh calls it with its own part of the array and gets its part of the
    result. Where `out` is a part that `empty_shard` made, kernels or copy engines store into the
    memory of the other GPUs. Elsewhere copies of Cornerturn's permute the parts into messages, which
    the group's backend exchanges, and out of them. All sizes follow from the arguments, so the
    processes ask each other for none. The function is differentiable: the way back is the inverse
    redistribution, and the gradient of a replicated array is replicated, as DTensor has it.

    Args:
        x: this process's part, with any strides; or a DTensor.
        mesh: a DeviceMesh, or a tuple of integers for the processes of the default group in the
            order of their ranks. None means a DTensor's own mesh, or all processes in a row.
        src: the layout of the array, as `cornerturn.shards` describes it. A DTensor has its own.
        dst: the layout of the result.
        perm: axis i of the result is axis perm[i] of the array. None keeps the axes.
        out: takes this process's part of the result, or is a DTensor.
        shape: of the whole array; needed where parts differ in shape.
        dtype: of the result, to which values are converted, as by `x.to(dtype)`. None means that of
            `out`, or that of `x`. Messages hold the smaller of the two types.
        route: "one pass", "copy engines" or "packed". None means what the plan chooses of those that
            `out` allows.

    Returns:
        This process's part of the result, packed; a DTensor where `x` is one; or `out`.

    Raises:
        ValueError, TypeError: on every process of the mesh with the same line, which names the
            process, the argument and the rule: an argument is wrong, or differs between processes. On
            the CPU every call compares them. On GPUs the first one with its arguments does.
        RuntimeError: as well on every process, where a tensor or a layout raises what is neither of
            the two; the exchange fails, or a process does not take part within the time limit of the
            group. What is in `out` is then undefined.
    """
    if mesh is None:
        mesh = _mesh_of(x, out)
    group = group_of(mesh)
    call = Call(x, mesh, src, dst, perm, out, shape, dtype, route)
    said: dict[str, Any] = {}
    work = window = wrong = None
    on = torch.device("cpu")
    try:
        # The others wait for this process: whatever Python raises in here has to be said to them.
        if is_tensor(x):
            on = x.device
        call = local(call)
        task = described(group, call, said)
        window = window_for(task, call, said)
        work = _work(task, call.x, call.out, call.x.dtype if dtype is None else dtype)
    except Exception as error:
        wrong = error
    agree(group, said, wrong, on)
    assert work is not None
    if out is None:
        result = _Redistribute.apply(call.x, work)
        return result if call.whole is None else result_of(call, result)
    if window is None:
        exchange(work.source, work.task, work.target)
    else:
        store(work.source, work.task, window, route)
    TORCH.was_written(call.out)
    return out


def empty_shard(
    shape: Sequence[int],
    mesh: Any,
    layout: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
) -> Tensor:
    """This process's part of an array, in memory into which the other processes' GPUs can store.

    Every process of the mesh calls it; they wait for each other. As `out` of `redistribute` it lets
    kernels or copy engines put the result where it belongs. On GPUs between which there is no such
    way, and on the CPU, it is an ordinary tensor.

    Args:
        shape: of the whole array.
        mesh: as for `redistribute`.
        layout: of the array.
        dtype: of the elements; None means PyTorch's default.
        device: None means the current GPU where the group exchanges tensors of GPUs, else the CPU.

    Returns:
        A packed tensor, whose values are undefined.

    Raises:
        ValueError, TypeError: an argument is wrong, or differs between processes.
    """
    group = group_of(mesh)
    said: dict[str, Any] = {}
    wrong: Exception | None = None
    mine: tuple[int, ...] = ()
    most = 0
    on = _usual_device(group)
    try:
        if device is not None:
            on = torch.empty(0, device=device).device  # raises where there is none
        members = members_of(group, mesh)
        extents = integers(shape, "shape")
        key = layout_key(layout, "layout", extents)
        kind = torch.get_default_dtype() if dtype is None else dtype
        if not isinstance(kind, torch.dtype):
            raise TypeError(f"dtype = {shown(dtype)} is no torch.dtype")
        said.update(mesh=(members.mesh, members.devices), shape=extents, layout=key)
        said.update(dtype=str(kind), device=on.type)
        core_layout(extents, members.mesh, key, "layout")
        same = tuple(range(len(extents)))
        arguments = (extents, members.mesh, key, key, same, (kind.itemsize,))
        chunk = _torch_shard_task.CHUNK_BYTES
        parts = [made(arguments, each, chunk)[0].dst_shape for each in members.devices]
        mine = tuple(parts[group.rank()])
        most = max(math.prod(part) for part in parts)
    except Exception as error:
        wrong = error
    agree(group, said, wrong, on)
    if on.type != "cuda" or most == 0:
        return torch.empty(mine, dtype=dtype, device=on)
    # Memory of one size on all processes, as PyTorch asks for.
    return new_window(most, kind, on, group)[: math.prod(mine)].view(mine)


def _usual_device(group: dist.ProcessGroup) -> torch.device:
    if "cuda" in device_types(group) and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def _mesh_of(*tensors: Any) -> Any:
    """That of the first DTensor. What is wrong with a tensor is found later."""
    for tensor in tensors:
        if is_dtensor(tensor):
            return tensor.device_mesh
    return None


class _Work(NamedTuple):
    """A task, and the memory on both sides of it, so that nobody has to ask a tensor for it later."""

    task: Task
    dtype: torch.dtype  # of x
    source: Array
    target: Array
    result: Tensor


def _work(task: Task, x: Tensor, out: Tensor | None, dtype: torch.dtype) -> _Work:
    result = x.new_empty(task.part.dst_shape, dtype=dtype) if out is None else out
    return _Work(task, x.dtype, TORCH.read(x.detach(), "x"), TORCH.read(result.detach(), "out"), result)


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, work: _Work) -> Tensor:
        ctx.task, ctx.dtype = work.task, work.dtype
        exchange(work.source, work.task, work.target)
        return work.result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        # All processes made the same call, so they need not compare it again.
        work = _work(ctx.task.inverse(), gradient, None, ctx.dtype)
        return _Redistribute.apply(gradient, work), None
