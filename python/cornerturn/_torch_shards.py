"""PyTorch: tensors that are spread over the processes of a group go from one layout to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from cornerturn import _torch_shard_task
from cornerturn._frameworks import framework_of
from cornerturn._torch_agreement import agree, device_types
from cornerturn._torch_exchange import exchange, store
from cornerturn._torch_shard_task import Call, Task, described, group_of, made, members_of, window_for
from cornerturn._torch_windows import new_window
from cornerturn.shards import integers, layout_key, permutation


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
        ValueError, TypeError: on every process with the same line, which names the process, the
            argument and the rule: an argument is wrong, or differs between processes. On the CPU
            every call compares them. On GPUs the first one with its arguments does.
        RuntimeError: the exchange fails, or a process does not take part within the time limit of
            the group. What is in `out` is then undefined.
    """
    if isinstance(x, _dtensor()):
        return _of_dtensor(Call(x, mesh, src, dst, perm, out, x.shape, dtype, route, x))
    return _of_local(Call(x, mesh, src, dst, perm, out, shape, dtype, route))


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
    local: tuple[int, ...] = ()
    most = 0
    on = torch.device(device if device is not None else _usual_device(group))
    try:
        members = members_of(group, mesh)
        extents = integers(shape, "shape")
        key = layout_key(layout, "layout", extents)
        kind = torch.get_default_dtype() if dtype is None else dtype
        said.update(mesh=(members.mesh, members.devices), shape=extents, layout=key)
        said.update(dtype=str(kind), device=on.type)
        same = tuple(range(len(extents)))
        arguments = (extents, members.mesh, key, key, same, (kind.itemsize,))
        chunk = _torch_shard_task.CHUNK_BYTES
        parts = [made(arguments, each, chunk)[0].dst_shape for each in members.devices]
        local = tuple(parts[group.rank()])
        most = max(math.prod(part) for part in parts)
    except (ValueError, TypeError) as error:
        wrong = error
    agree(group, said, wrong, on)
    if on.type != "cuda" or most == 0:
        return torch.empty(local, dtype=dtype, device=on)
    # Memory of one size on all processes, as PyTorch asks for.
    return new_window(most, kind, on, group)[: math.prod(local)].view(local)


def _usual_device(group: dist.ProcessGroup) -> torch.device:
    if "cuda" in device_types(group) and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def _dtensor() -> Any:
    from torch.distributed.tensor import DTensor

    return DTensor


def _of_dtensor(call: Call) -> Any:
    from torch.distributed.tensor import Replicate, Shard

    x, out = call.x, call.out
    mesh = x.device_mesh if call.mesh is None else call.mesh
    src = x.placements if call.src is None else call.src
    if out is not None and not isinstance(out, type(x)):
        raise TypeError(f"out is a {type(out).__qualname__}, but x is a DTensor")
    local_out = None if out is None else out.to_local()
    result = _of_local(call._replace(x=x.to_local(), mesh=mesh, src=src, out=local_out))
    if out is not None:
        return out
    order = permutation(call.perm, x.dim())
    whole = [x.shape[axis] for axis in order]
    placements = []
    for entry in layout_key(call.dst, "dst", tuple(whole)).split(","):
        placements.append(Replicate() if entry == "R" else Shard(int(entry[1:])))
    strides = [math.prod(max(n, 1) for n in whole[i + 1 :]) for i in range(len(whole))]
    return type(x).from_local(
        result, mesh, placements, run_check=False, shape=torch.Size(whole), stride=tuple(strides)
    )


def _of_local(call: Call) -> Tensor:
    x, out = call.x, call.out
    group = group_of(call.mesh)
    said: dict[str, Any] = {}
    task = window = wrong = None
    try:
        task = described(group, call, said)
        window = window_for(task, call, said)
    except (ValueError, TypeError) as error:
        wrong = error
    agree(group, said, wrong, x.device if isinstance(x, Tensor) else torch.device("cpu"))
    assert task is not None
    if out is None:
        return _Redistribute.apply(x, task, x.dtype if call.dtype is None else call.dtype)
    if window is None:
        exchange(x.detach(), task, out.detach())
    else:
        store(x.detach(), task, window, call.route)
    framework_of(out).was_written(out)
    return out


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, task: Task, dtype: torch.dtype) -> Tensor:
        ctx.task, ctx.dtype = task, x.dtype
        out = x.new_empty(task.part.dst_shape, dtype=dtype)
        exchange(x, task, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        # All processes made the same call, so they need not compare it again.
        return _Redistribute.apply(gradient, ctx.task.inverse(), ctx.dtype), None, None
