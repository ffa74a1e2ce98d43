"""PyTorch: tensors that are spread over the processes of a group go from one layout to another."""

from __future__ import annotations

import contextlib
import hashlib
import math
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from cornerturn import _core
from cornerturn._arrays import HOST, dtype_name, shown
from cornerturn._frameworks import framework_of
from cornerturn._torch_permute import stream_of_device
from cornerturn._torch_windows import Window, new_window, window_of
from cornerturn.shards import integers, layout_key, permutation, redistribution


_STORING = ("one pass", "copy engines")
_CHUNK_BYTES = 512 << 20  # of a message: NCCL is slower with shorter ones


class _Members(NamedTuple):
    """The processes that a mesh consists of."""

    group: dist.ProcessGroup
    mesh: tuple[int, ...]
    devices: tuple[int, ...]  # the number in the mesh of every rank of the group
    device: int  # of this process


class _Task(NamedTuple):
    """What a call does. It is the same on every rank but for `part`."""

    members: _Members
    arguments: tuple[Any, ...]  # of shards.redistribution
    part: _core.ShardPart
    moves: bool

    def inverse(self) -> _Task:
        shape, mesh, src, dst, perm, types = self.arguments
        result = tuple(shape[axis] for axis in perm)
        back = tuple(sorted(range(len(perm)), key=perm.__getitem__))
        return _task(self.members, (result, mesh, dst, src, back, types[::-1]))


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
        return _of_dtensor(x, mesh, src, dst, perm, out, dtype, route)
    return _of_local(x, mesh, src, dst, perm, out, shape, dtype, route)


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
    group = _group_of(mesh)
    said: dict[str, Any] = {}
    wrong: Exception | None = None
    local: tuple[int, ...] = ()
    most = 0
    on = torch.device(device if device is not None else _usual_device(group))
    try:
        members = _members(group, mesh)
        extents = integers(shape, "shape")
        key = layout_key(layout, "layout", extents)
        kind = torch.get_default_dtype() if dtype is None else dtype
        said.update(mesh=(members.mesh, members.devices), shape=extents, layout=key)
        said.update(dtype=str(kind), device=on.type)
        same = tuple(range(len(extents)))
        arguments = (extents, members.mesh, key, key, same, (kind.itemsize,))
        parts = [_made(arguments, each, _CHUNK_BYTES)[0].dst_shape for each in members.devices]
        local = tuple(parts[group.rank()])
        most = max(math.prod(part) for part in parts)
    except (ValueError, TypeError) as error:
        wrong = error
    _agree(group, said, wrong, on)
    if on.type != "cuda" or most == 0:
        return torch.empty(local, dtype=dtype, device=on)
    # Memory of one size on all processes, as PyTorch asks for.
    return new_window(most, kind, on, group)[: math.prod(local)].view(local)


def _usual_device(group: dist.ProcessGroup) -> torch.device:
    if "cuda" in _device_types(group) and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def _dtensor() -> Any:
    from torch.distributed.tensor import DTensor

    return DTensor


def _of_dtensor(
    x: Any, mesh: Any, src: Any, dst: Any, perm: Any, out: Any, dtype: Any, route: Any
) -> Any:
    from torch.distributed.tensor import Replicate, Shard

    mesh = x.device_mesh if mesh is None else mesh
    src = x.placements if src is None else src
    local_out = out
    if out is not None:
        if not isinstance(out, type(x)):
            raise TypeError(f"out is a {type(out).__qualname__}, but x is a DTensor")
        local_out = out.to_local()
    result = _of_local(x.to_local(), mesh, src, dst, perm, local_out, x.shape, dtype, route, x)
    if out is not None:
        return out
    order = permutation(perm, x.dim())
    whole = [x.shape[axis] for axis in order]
    placements = []
    for entry in layout_key(dst, "dst", tuple(whole)).split(","):
        placements.append(Replicate() if entry == "R" else Shard(int(entry[1:])))
    strides = [math.prod(max(n, 1) for n in whole[i + 1 :]) for i in range(len(whole))]
    return type(x).from_local(
        result, mesh, placements, run_check=False, shape=torch.Size(whole), stride=tuple(strides)
    )


def _of_local(
    x: Any,
    mesh: Any,
    src: Any,
    dst: Any,
    perm: Any,
    out: Any,
    shape: Any,
    dtype: Any,
    route: Any,
    whole: Any = None,
) -> Tensor:
    group = _group_of(mesh)
    said: dict[str, Any] = {}
    task = window = wrong = None
    try:
        task = _described(group, mesh, x, src, dst, perm, out, shape, dtype, whole, said)
        window = _window_for(task, out, route, said)
    except (ValueError, TypeError) as error:
        wrong = error
    _agree(group, said, wrong, x.device if isinstance(x, Tensor) else torch.device("cpu"))
    assert task is not None
    if out is None:
        return _Redistribute.apply(x, task, x.dtype if dtype is None else dtype)
    if window is None:
        _exchange(x.detach(), task, out.detach())
    else:
        _store(x.detach(), task, window, route)
    framework_of(out).was_written(out)
    return out


# ---- What the arguments say


def _group_of(mesh: Any) -> dist.ProcessGroup:
    """Without a group nobody can be told: what is wrong here is refused on this process alone."""
    if not dist.is_initialized():
        raise RuntimeError("torch.distributed has no process group: call init_process_group, or use torchrun")
    if not hasattr(mesh, "get_coordinate"):
        return dist.group.WORLD
    if mesh.get_coordinate() is None:
        raise ValueError(f"mesh = {shown(mesh)}: this process, rank {dist.get_rank()}, is not in it")
    if mesh.ndim == 1:
        return mesh.get_group()
    if mesh.size() == dist.get_world_size():
        return dist.group.WORLD
    return mesh._flatten().get_group()


def _members(group: dist.ProcessGroup, mesh: Any) -> _Members:
    size = group.size()
    if not hasattr(mesh, "get_coordinate"):
        extents = (size,) if mesh is None else integers(mesh, "mesh")
        if any(extent < 1 for extent in extents) or math.prod(extents) != size:
            raise ValueError(f"mesh = {extents}, but the group has {size} ranks")
        return _Members(group, extents, tuple(range(size)), group.rank())
    in_mesh = {rank: device for device, rank in enumerate(mesh.mesh.flatten().tolist())}
    devices = tuple(in_mesh[rank] for rank in dist.get_process_group_ranks(group))
    return _Members(group, tuple(mesh.shape), devices, in_mesh[dist.get_rank()])


def _described(
    group: dist.ProcessGroup,
    mesh: Any,
    x: Any,
    src: Any,
    dst: Any,
    perm: Any,
    out: Any,
    shape: Any,
    dtype: Any,
    whole: Any,
    said: dict[str, Any],
) -> _Task:
    """Checks the arguments; what every process has to say alike goes into `said`."""
    if not isinstance(x, Tensor):
        raise TypeError(f"x is a {type(x).__qualname__}: not a torch.Tensor")
    members = _members(group, mesh)
    said["mesh"] = (members.mesh, members.devices)
    said["x.dtype"] = str(x.dtype)
    kind = _result_dtype(dtype, out, x)
    said["dtype"] = str(kind)
    said["x.device"] = x.device.type
    said["x.requires_grad"] = torch.is_grad_enabled() and x.requires_grad and out is None
    _check_tensor(group, x, "x")
    for name, layout in (("src", src), ("dst", dst)):
        if layout is None:
            raise TypeError(f"{name} is None: it has to be a layout")
    order = said["perm"] = permutation(perm, x.dim())
    if whole is not None:
        _check_whole(whole, mesh, src, dst)
    # A rank's own shape says enough for the names of axes; equal parts say the rest.
    extents = tuple(x.shape) if shape is None else integers(shape, "shape")
    if len(extents) != x.dim():
        raise ValueError(f"shape = {extents} has {len(extents)} axes, but x has rank {x.dim()}")
    from_key = said["src"] = layout_key(src, "src", extents)
    if shape is None:
        extents = _whole_shape(x, members.mesh, from_key)
    said["shape"] = extents
    to_key = said["dst"] = layout_key(dst, "dst", tuple(extents[axis] for axis in order))
    types = (x.itemsize,) if kind == x.dtype else (dtype_name(x.dtype), dtype_name(kind))
    task = _task(members, (extents, members.mesh, from_key, to_key, order, types))
    if list(x.shape) != task.part.src_shape:
        raise ValueError(
            f"x.shape = {tuple(x.shape)}, but src = {shown(from_key)} of shape = {extents} gives it "
            f"{tuple(task.part.src_shape)}"
        )
    if out is not None:
        _check_out(group, out, x, task)
    return task


def _result_dtype(dtype: Any, out: Any, x: Tensor) -> torch.dtype:
    of_out = out.dtype if isinstance(out, Tensor) else x.dtype
    if dtype is None:
        return of_out
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype = {shown(dtype)} is no torch.dtype")
    if out is not None and of_out != dtype:
        raise TypeError(f"out.dtype = {of_out}, but dtype = {dtype}")
    return dtype


def _check_tensor(group: dist.ProcessGroup, tensor: Tensor, name: str) -> None:
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name}.layout = {tensor.layout}: only strided tensors can be redistributed")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{name}.device = {tensor.device} is neither the CPU nor a GPU")
    if tensor.device.type not in _device_types(group):
        raise ValueError(
            f"{name}.device = {tensor.device}, but the group's backend exchanges "
            f"{' and '.join(sorted(_device_types(group)))} tensors"
        )


def _check_whole(whole: Any, mesh: Any, src: Any, dst: Any) -> None:
    """What a DTensor asks for besides."""
    if mesh != whole.device_mesh:
        raise ValueError(f"mesh = {shown(mesh)}, but x is a DTensor on {shown(whole.device_mesh)}")
    shape = tuple(whole.shape)
    if layout_key(src, "src", shape) != layout_key(whole.placements, "x.placements", shape):
        raise ValueError(f"src = {shown(src)}, but x is a DTensor with {shown(whole.placements)}")
    to = layout_key(dst, "dst", shape)
    if not isinstance(to, str) or ":" in to:
        raise ValueError(f"dst = {shown(dst)}: a DTensor has placements Shard and Replicate alone")


def _whole_shape(x: Tensor, mesh: tuple[int, ...], key: Any) -> tuple[int, ...]:
    """Of an array with equal parts."""
    if not isinstance(key, str):
        return tuple(max((box[1][i] for box in key), default=0) for i in range(x.dim()))
    extents = list(x.shape)
    for parts, entry in zip(mesh, key.split(","), strict=False):
        axis = entry[1:].partition(":")[0]
        if entry.startswith("S") and axis.isdigit() and int(axis) < len(extents):
            extents[int(axis)] *= parts
    return tuple(extents)


def _check_out(group: dist.ProcessGroup, out: Any, x: Tensor, task: _Task) -> None:
    if not isinstance(out, Tensor):
        raise TypeError(f"out is a {type(out).__qualname__}: not a torch.Tensor")
    _check_tensor(group, out, "out")
    wanted = tuple(task.part.dst_shape)
    if tuple(out.shape) != wanted:
        raise ValueError(f"out.shape = {tuple(out.shape)}, but dst gives it {wanted}")
    if out.device != x.device:
        raise ValueError(f"out.device = {out.device}, but x is on {x.device}")
    if out.is_conj() or out.is_neg():
        raise ValueError("out is a lazily conjugated or negated view: it cannot be written to")
    if torch._debug_has_internal_overlap(out) == 1:
        raise ValueError("out has elements that share memory")
    framework_of(x).will_lose_gradient(x, "x")
    framework_of(out).will_write(out, "out")
    same = out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    if same and out.numel() > 0 and x.numel() > 0:
        raise ValueError("out and x are in the same storage: they must not overlap")


def _window_for(task: _Task, out: Any, route: Any, said: dict[str, Any]) -> Window | None:
    """Where the others' parts of the result are, if the route is to store into them."""
    if route not in (None, *_STORING, "packed"):
        raise ValueError(f"route = {shown(route)} is none of 'one pass', 'copy engines' and 'packed'")
    said["route"] = route
    window = None
    if route != "packed" and out is not None and out.is_cuda:
        window = window_of(out, task.members.group)
    said["out"] = "a part made by empty_shard" if window is not None else None
    if route in _STORING and window is None:
        raise ValueError(f"route = {shown(route)}, but out is no part that empty_shard has made")
    return window


@lru_cache(maxsize=256)
def _made(
    arguments: tuple[Any, ...], device: int, chunk_bytes: int
) -> tuple[_core.ShardPart, bool]:
    what = redistribution(*arguments)
    return _core.ShardPart(what, device, chunk_bytes), what.moves()


def _task(members: _Members, arguments: tuple[Any, ...]) -> _Task:
    return _Task(members, arguments, *_made(arguments, members.device, _CHUNK_BYTES))


# ---- Do all processes ask for the same?

# What the processes of a group have agreed on before.
_agreed: weakref.WeakKeyDictionary[dist.ProcessGroup, set[bytes]] = weakref.WeakKeyDictionary()


def _device_types(group: dist.ProcessGroup) -> set[str]:
    return {device.type for device in group._device_types}


def _agree(
    group: dist.ProcessGroup, said: dict[str, Any], wrong: Exception | None, where: torch.device
) -> None:
    """Raises on every process, with the same line, where one of them is wrong or differs. `where`
    the call's tensor is, need not be the current GPU."""
    agreed = _agreed.setdefault(group, set())
    digest = hashlib.sha256(repr(sorted(said.items())).encode()).digest()
    if where.type == "cuda" and wrong is None and digest in agreed:
        return
    with contextlib.ExitStack() as stack:
        if where.type == "cuda":
            stack.enter_context(torch.cuda.device(where))
        _compare(group, said, wrong, digest, agreed)


def _compare(
    group: dist.ProcessGroup,
    said: dict[str, Any],
    wrong: Exception | None,
    digest: bytes,
    agreed: set[bytes],
) -> None:
    host = "cpu" in _device_types(group)
    device = torch.device("cpu") if host else torch.device("cuda", torch.cuda.current_device())
    mine = torch.tensor([wrong is not None, *digest], dtype=torch.uint8, device=device)
    all_of_them = [torch.empty_like(mine) for _ in range(group.size())]
    dist.all_gather(all_of_them, mine, group=group)
    records = torch.stack(all_of_them).cpu()
    if not records[:, 0].any() and bool((records == records[0]).all()):
        agreed.add(digest)
        return
    details: list[Any] = [None] * group.size()
    dist.all_gather_object(details, (said, None if wrong is None else (type(wrong), str(wrong))), group=group)
    raise _first_wrong(details)


def _first_wrong(details: list[tuple[dict[str, Any], tuple[type[Exception], str] | None]]) -> Exception:
    for rank, (_, wrong) in enumerate(details):
        if wrong is not None:
            kind = TypeError if issubclass(wrong[0], TypeError) else ValueError
            return kind(f"rank {rank}: {wrong[1]}")
    first = details[0][0]
    for rank, (said, _) in enumerate(details):
        for name, value in said.items():
            if value != first.get(name):
                hint = "; shape= says it where parts differ" if name == "shape" else ""
                return ValueError(
                    f"rank {rank}: {name} = {shown(value)}, but rank 0 has {shown(first.get(name))}: "
                    f"it has to be the same on every rank{hint}"
                )
    raise AssertionError("no process is wrong, and none differs")


# ---- The exchange


def _exchange(x: Tensor, task: _Task, out: Tensor) -> None:
    x = x.resolve_conj().resolve_neg()
    gpu, stream = (HOST, 0) if x.device.type == "cpu" else _gpu_of(x)
    part, members = task.part, task.members
    x_at = (x.data_ptr(), [stride * x.itemsize for stride in x.stride()])
    out_at = (out.data_ptr(), [stride * out.itemsize for stride in out.stride()])
    if not task.moves:
        part.keep(*out_at, *x_at, gpu, stream)
        return
    waiting: list[Any] = []

    def receive() -> None:
        chunk, incoming, work = waiting.pop(0)
        work.wait()
        part.unpack(chunk, *out_at, incoming.data_ptr(), members.devices, gpu, stream)

    # While a chunk travels, the one before it is unpacked. The next one is packed by then: it sets out
    # before the kernel that unpacks takes all multiprocessors.
    for chunk, (sends, receives) in enumerate(zip(part.sent, part.received, strict=True)):
        sent = [sends[device] for device in members.devices]
        received = [receives[device] for device in members.devices]
        outgoing = torch.empty(sum(sent), dtype=torch.uint8, device=x.device)
        incoming = torch.empty(sum(received), dtype=torch.uint8, device=x.device)
        part.pack(chunk, outgoing.data_ptr(), members.devices, *x_at, gpu, stream)
        work = dist.all_to_all_single(
            incoming, outgoing, received, sent, group=members.group, async_op=True
        )
        waiting.append((chunk, incoming, work))
        if len(waiting) > 2:
            receive()
    part.keep(*out_at, *x_at, gpu, stream)  # while the last chunk travels
    while waiting:
        receive()


def _store(x: Tensor, task: _Task, window: Window, route: str | None) -> None:
    """Into the memory of the others, between two points at which all streams wait for each other."""
    x = x.resolve_conj().resolve_neg()
    part, members, size = task.part, task.members, x.itemsize
    addresses = [0] * len(members.devices)
    for rank, device in enumerate(members.devices):
        addresses[device] = window.addresses[rank]
    strides = [stride * size for stride in x.stride()]
    with torch.cuda.device(x.device):
        window.wait_for_all()
        part.send(addresses, part.dst_strides, x.data_ptr(), strides, *_gpu_of(x), route or "")
        window.wait_for_all()


def _gpu_of(x: Tensor) -> tuple[int, int]:
    device = x.get_device()
    return device, stream_of_device(device)


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, task: _Task, dtype: torch.dtype) -> Tensor:
        ctx.task, ctx.dtype = task, x.dtype
        out = x.new_empty(task.part.dst_shape, dtype=dtype)
        _exchange(x, task, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        # All processes made the same call, so they need not compare it again.
        return _Redistribute.apply(gradient, ctx.task.inverse(), ctx.dtype), None, None
