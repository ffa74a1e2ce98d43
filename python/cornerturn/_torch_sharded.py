"""PyTorch: the DTensors of a call of `redistribute`, and the local parts that they stand for."""

from __future__ import annotations

import math
from typing import Any

import torch

from cornerturn._arrays import shown
from cornerturn._torch_shard_task import Call, is_tensor
from cornerturn.shards import integers, layout_key, permutation


def is_dtensor(value: Any) -> bool:
    return is_tensor(value) and issubclass(type(value), _dtensor())


def local(call: Call) -> Call:
    """This call with the local parts for `x` and `out`; itself where x is no DTensor."""
    x, out = call.x, call.out
    if not is_dtensor(x):
        if is_dtensor(out):
            raise TypeError(f"out is a {type(out).__qualname__}, but x is a {type(x).__qualname__}")
        return call
    if out is not None and not is_dtensor(out):
        raise TypeError(f"out is a {type(out).__qualname__}, but x is a DTensor")
    src = x.placements if call.src is None else call.src
    _check_layouts(call, src)
    if out is not None:
        _check_out(call)
    part = None if out is None else out.to_local()
    return call._replace(x=x.to_local(), src=src, out=part, shape=tuple(x.shape), whole=x)


def result_of(call: Call, part: Any) -> Any:
    """The DTensor that a new local part belongs to."""
    from torch.distributed.tensor import Replicate, Shard

    shape = _result_shape(call)
    entries = _placements(call.dst, "dst", shape)
    placements = [Replicate() if entry == "R" else Shard(int(entry[1:])) for entry in entries]
    strides = [math.prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape))]
    return type(call.whole).from_local(
        part, call.mesh, placements, run_check=False, shape=torch.Size(shape), stride=tuple(strides)
    )


def _check_layouts(call: Call, src: Any) -> None:
    x, mesh, shape = call.x, call.mesh, tuple(call.x.shape)
    if call.shape is not None and integers(call.shape, "shape") != shape:
        raise ValueError(f"shape = {shown(call.shape)}, but x is a DTensor of shape {shape}")
    if mesh != x.device_mesh:
        raise ValueError(f"mesh = {shown(mesh)}, but x is a DTensor on {shown(x.device_mesh)}")
    if layout_key(src, "src", shape) != layout_key(x.placements, "x.placements", shape):
        raise ValueError(f"src = {shown(src)}, but x is a DTensor with {shown(x.placements)}")
    if call.dst is not None:
        _placements(call.dst, "dst", _result_shape(call, x))


def _check_out(call: Call) -> None:
    """The local parts alone do not tell a DTensor that lies otherwise."""
    out, shape = call.out, _result_shape(call, call.x)
    if out.device_mesh != call.mesh:
        raise ValueError(f"out is a DTensor on {shown(out.device_mesh)}, but x is on {shown(call.mesh)}")
    if tuple(out.shape) != shape:
        raise ValueError(f"out.shape = {tuple(out.shape)}, but the result has {shape}")
    if call.dst is not None and _placements(out.placements, "out.placements", shape) != _placements(
        call.dst, "dst", shape
    ):
        raise ValueError(f"out is a DTensor with {shown(out.placements)}, but dst = {shown(call.dst)}")


def _placements(layout: Any, name: str, shape: tuple[int, ...]) -> list[str]:
    key = layout_key(layout, name, shape)
    if not isinstance(key, str) or ":" in key:
        raise ValueError(f"{name} = {shown(layout)}: a DTensor has placements Shard and Replicate alone")
    return key.split(",")


def _result_shape(call: Call, x: Any = None) -> tuple[int, ...]:
    x = call.whole if x is None else x
    return tuple(x.shape[axis] for axis in permutation(call.perm, x.dim()))


def _dtensor() -> Any:
    from torch.distributed.tensor import DTensor

    return DTensor
