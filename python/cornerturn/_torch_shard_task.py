"""What one process says in a call of `redistribute`: its group and mesh, its part, and the plan for them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from cornerturn import _core
from cornerturn._arrays import dtype_name, shown
from cornerturn._frameworks.torch_tensors import TORCH
from cornerturn._torch_agreement import device_types
from cornerturn._torch_windows import Window, window_of
from cornerturn.shards import integers, layout_key, permutation, redistribution

_STORING = ("one pass", "copy engines")
CHUNK_BYTES = 512 << 20  # of a message: NCCL is slower with shorter ones


class Members(NamedTuple):
    """The processes that a mesh consists of."""

    group: dist.ProcessGroup
    mesh: tuple[int, ...]
    devices: tuple[int, ...]  # the number in the mesh of every rank of the group
    device: int  # of this process


class Call(NamedTuple):
    """The arguments of `redistribute` as they came; of a DTensor the local parts, and itself as `whole`."""

    x: Any
    mesh: Any
    src: Any
    dst: Any
    perm: Any
    out: Any
    shape: Any
    dtype: Any
    route: Any
    whole: Any = None


class Task(NamedTuple):
    """What a call does. It is the same on every rank but for `part`."""

    members: Members
    arguments: tuple[Any, ...]  # of shards.redistribution
    part: _core.ShardPart
    moves: bool

    def inverse(self) -> Task:
        shape, mesh, src, dst, perm, types = self.arguments
        result = tuple(shape[axis] for axis in perm)
        back = tuple(sorted(range(len(perm)), key=perm.__getitem__))
        return task_of(self.members, (result, mesh, dst, src, back, types[::-1]))


def is_tensor(value: Any) -> bool:
    """As its class says: `isinstance` would ask the object as well, which may say anything."""
    return issubclass(type(value), Tensor)


def group_of(mesh: Any) -> dist.ProcessGroup:
    """Without a group nobody can be told: what is wrong here is refused on this process alone."""
    if not dist.is_initialized():
        raise RuntimeError("torch.distributed has no process group: call init_process_group, or use torchrun")
    if not issubclass(type(mesh), DeviceMesh):
        return dist.group.WORLD
    if mesh.get_coordinate() is None:
        raise ValueError(f"mesh = {shown(mesh)}: this process, rank {dist.get_rank()}, is not in it")
    if mesh.ndim == 1:
        return mesh.get_group()
    if mesh.size() == dist.get_world_size():
        return dist.group.WORLD
    return mesh._flatten().get_group()


def members_of(group: dist.ProcessGroup, mesh: Any) -> Members:
    size = group.size()
    if not issubclass(type(mesh), DeviceMesh):
        extents = (size,) if mesh is None else integers(mesh, "mesh")
        if any(extent < 1 for extent in extents) or math.prod(extents) != size:
            raise ValueError(f"mesh = {extents}, but the group has {size} ranks")
        return Members(group, extents, tuple(range(size)), group.rank())
    in_mesh = {rank: device for device, rank in enumerate(mesh.mesh.flatten().tolist())}
    devices = tuple(in_mesh[rank] for rank in dist.get_process_group_ranks(group))
    return Members(group, tuple(mesh.shape), devices, in_mesh[dist.get_rank()])


def described(group: dist.ProcessGroup, call: Call, said: dict[str, Any]) -> Task:
    """Checks the arguments; what every process has to say alike goes into `said`."""
    x, mesh, src, dst, perm, out, shape, dtype, _, _ = call
    if not is_tensor(x):
        raise TypeError(f"x is a {type(x).__qualname__}: not a torch.Tensor")
    members = members_of(group, mesh)
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
    task = task_of(members, (extents, members.mesh, from_key, to_key, order, types))
    if list(x.shape) != task.part.src_shape:
        raise ValueError(
            f"x.shape = {tuple(x.shape)}, but src = {shown(from_key)} of shape = {extents} gives it "
            f"{tuple(task.part.src_shape)}"
        )
    if out is not None:
        _check_out(group, out, x, task)
    return task


def _result_dtype(dtype: Any, out: Any, x: Tensor) -> torch.dtype:
    of_out = out.dtype if is_tensor(out) else x.dtype
    if dtype is None:
        return of_out
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype = {shown(dtype)} is no torch.dtype")
    if out is not None and of_out != dtype:
        raise TypeError(f"out.dtype = {of_out}, but dtype = {dtype}")
    return dtype


def _check_tensor(group: dist.ProcessGroup, tensor: Tensor, name: str) -> None:
    if tensor.is_nested or tensor.layout is not torch.strided:
        kind = "a nested tensor" if tensor.is_nested else f"a tensor of layout {tensor.layout}"
        raise TypeError(f"{name} is {kind}: only strided ones can be redistributed")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{name}.device = {tensor.device} is neither the CPU nor a GPU")
    if tensor.device.type not in device_types(group):
        raise ValueError(
            f"{name}.device = {tensor.device}, but the group's backend exchanges "
            f"{' and '.join(sorted(device_types(group)))} tensors"
        )
    TORCH.refuse_without_memory(tensor, name)


def _whole_shape(x: Tensor, mesh: tuple[int, ...], key: Any) -> tuple[int, ...]:
    """The sharding of an array with equal parts."""
    if not isinstance(key, str):
        for i, (_, end) in enumerate(key):
            if len(end) != x.dim():
                raise ValueError(f"src[{i}] ends at {shown(end)}, but x has rank {x.dim()}")
        return tuple(max((end[i] for _, end in key), default=0) for i in range(x.dim()))
    extents = list(x.shape)
    for parts, entry in zip(mesh, key.split(","), strict=False):
        axis = entry[1:].partition(":")[0]
        if entry.startswith("S") and axis.isdigit() and int(axis) < len(extents):
            extents[int(axis)] *= parts
    return tuple(extents)


def _check_out(group: dist.ProcessGroup, out: Any, x: Tensor, task: Task) -> None:
    if not is_tensor(out):
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
    TORCH.will_lose_gradient(x, "x")
    TORCH.will_write(out, "out")
    same = out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    if same and out.numel() > 0 and x.numel() > 0:
        raise ValueError("out and x are in the same storage: they must not overlap")


def window_for(task: Task, call: Call, said: dict[str, Any]) -> Window | None:
    """Where the others' parts of the result are, if the route is to store into them."""
    out, route = call.out, call.route
    if route not in (None, *_STORING, "packed"):
        raise ValueError(f"route = {shown(route)} is none of 'one pass', 'copy engines' and 'packed'")
    said["route"] = None if route is None else str(route)
    window = None
    if route != "packed" and out is not None and out.is_cuda:
        window = window_of(out, task.members.group)
    said["out"] = "a part made by empty_shard" if window is not None else None
    if route in _STORING and window is None:
        raise ValueError(f"route = {shown(route)}, but out is no part that empty_shard has made")
    return window


@lru_cache(maxsize=256)
def made(
    arguments: tuple[Any, ...], device: int, chunk_bytes: int
) -> tuple[_core.ShardPart, bool]:
    what = redistribution(*arguments)
    return _core.ShardPart(what, device, chunk_bytes), what.moves()


def task_of(members: Members, arguments: tuple[Any, ...]) -> Task:
    return Task(members, arguments, *made(arguments, members.device, CHUNK_BYTES))
