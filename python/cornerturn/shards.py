"""Arrays that are spread over devices: which of them sends what to which, and how long it takes.

A layout says how an array is spread over a mesh of devices. It is one of

- placements, one for each dimension of the mesh: a text like `"S0,R"`, or a list whose entries are
  such texts or PyTorch's `Shard` and `Replicate`. `S0` splits axis 0 in equal parts, the last ones
  shorter or empty; `S0:64` deals out blocks of 64 indices in rounds (block-cyclic), and `S0:64@1`
  begins with coordinate 1; `R` replicates. Where two dimensions split one axis, the second splits
  the parts of the first.
- a list with a box for each device, `(begin, end)`, two tuples of indices, or a tuple of slices.
- a `jax.sharding.Sharding`.

`cornerturn.torch.redistribute` moves tensors between layouts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any

from cornerturn import _core
from cornerturn._arrays import is_integer, order_of, shown
from cornerturn._plan import itemsize_of
from cornerturn._values import type_name

__all__ = ["Redistribution", "plan", "scalapack"]

_Key = str | tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # placements, or boxes


class Redistribution:
    """A plan for a redistribution, which `plan` makes. `print` shows it."""

    def __init__(self, made_of: tuple[Any, ...], on: str) -> None:
        self._made_of = made_of  # the arguments of `redistribution`
        self._made = redistribution(*made_of)
        self._on = on
        self._facts = json.loads(self._made.to_json(on))

    def __reduce__(self) -> tuple[Any, ...]:
        return Redistribution, (self._made_of, self._on)

    @property
    def predicted_seconds(self) -> float | None:
        """The time by the fastest route on the GPUs of `on`; None without them, and where nothing moves."""
        routes = self._facts.get("routes")
        return routes[0]["predicted_seconds"] if routes else None

    @property
    def bound_seconds(self) -> float | None:
        """The time that the busiest device's bytes take over its links, by copy engines."""
        return self._facts.get("bound_seconds")

    @property
    def route(self) -> str | None:
        """The name of the fastest route: `one pass`, `copy engines` or `packed`."""
        routes = self._facts.get("routes")
        return routes[0]["name"] if routes else None

    def explain(self) -> str:
        """Several lines: layouts, traffic, runs, every route and every message."""
        return self._made.to_string(self._on, True)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        return json.loads(json.dumps(self._facts))

    def __str__(self) -> str:
        return self._made.to_string(self._on, False).rstrip("\n")

    def __repr__(self) -> str:
        sent = max(device["sent"] for device in self._facts["traffic"])
        return (
            f"<Redistribution over {self._facts['devices']} devices, at most {sent} bytes sent by one>"
        )


def plan(
    shape: Sequence[int],
    mesh: Any,
    src: Any,
    dst: Any,
    perm: Sequence[int] | None = None,
    *,
    dtype: Any = "float32",
    to: Any = None,
    on: str = "",
) -> Redistribution:
    """Plans how an array goes from one layout to another, without any device and any communication.

    Args:
        shape: of the whole array.
        mesh: the devices by coordinates: an integer, a tuple of integers or a DeviceMesh. None where
            a layout is a list of boxes or a sharding of JAX.
        src: the layout of the array.
        dst: the layout of the result.
        perm: axis i of the result is axis perm[i] of the array. None keeps the axes.
        dtype: of the elements of the array.
        to: the dtype of the result, where values are converted.
        on: GPUs of a host that need not be here: "8xh200", or "4xFILE.json" with a file like those
            in `devices/hosts`. The plan then has routes and times.

    Raises:
        ValueError: a layout does not fit the shape or the mesh, or its boxes overlap or do not cover
            the array.
        TypeError: an argument is of a wrong kind.

    Example:
        >>> p = cornerturn.shards.plan((32768, 32768), 8, "S0", "S0", (1, 0), on="8xh200")
        >>> p.route
        'one pass'
    """
    extents = integers(shape, "shape")
    order = permutation(perm, len(extents))
    result = tuple(extents[axis] for axis in order)
    made_of = (
        extents,
        mesh_of(mesh, src, dst),
        layout_key(src, "src", extents),
        layout_key(dst, "dst", result),
        order,
        (itemsize_of(dtype),) if to is None else (type_name(dtype), type_name(to)),
    )
    return Redistribution(made_of, on)


def scalapack(desca: Sequence[int]) -> tuple[tuple[int, int], str]:
    """The shape and the placements of a matrix that ScaLAPACK's descriptor describes.

    `desca` holds DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC and LLD. The mesh is the grid of processes.
    ScaLAPACK's local arrays are column-major: pass the transposed view of a row-major one.

    Raises ValueError when `desca` does not describe a dense matrix.
    """
    numbers = integers(desca, "desca")
    if len(numbers) != 9 or numbers[0] != 1:
        raise ValueError(f"desca = {shown(numbers)} is no descriptor of a dense matrix: 9 numbers, first 1")
    _, _, m, n, mb, nb, rsrc, csrc, _ = numbers
    if mb < 1 or nb < 1:
        raise ValueError(f"desca = {shown(numbers)}: MB and NB are positive")
    if rsrc < 0 or csrc < 0:
        raise ValueError(f"desca = {shown(numbers)}: RSRC and CSRC are not negative")
    return (m, n), f"S0:{mb}@{rsrc},S1:{nb}@{csrc}"


# ---- What cornerturn.torch uses as well.


def integers(values: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(index(value) for value in ((values,) if is_integer(values) else values))
    except TypeError:
        raise TypeError(f"{name} = {shown(values)} is not a sequence of integers") from None


def permutation(perm: Any, rank: int) -> tuple[int, ...]:
    if perm is None:
        return tuple(range(rank))
    try:
        return order_of(perm, rank)
    except (TypeError, ValueError) as error:
        text = str(error).replace("axes", "perm").replace("x has rank", "the array has rank")
        raise type(error)(text) from None


def mesh_of(mesh: Any, src: Any, dst: Any) -> tuple[int, ...]:
    """The extents of a mesh."""
    if mesh is not None:
        return integers(getattr(mesh, "shape", mesh), "mesh")
    for layout in (src, dst):
        if _is_jax(layout):
            return (layout.num_devices,)
        if _is_boxes(layout):
            return (len(layout),)
    raise TypeError("mesh is None: placements need a mesh")


def layout_key(layout: Any, name: str, shape: tuple[int, ...]) -> _Key:
    """A layout as a value that can be compared and sent."""
    if isinstance(layout, str):
        return str(layout)  # of a subclass as well
    if _is_jax(layout):
        return _boxes_of_jax(layout, name, shape)
    if not isinstance(layout, Sequence):
        raise TypeError(f"{name} = {shown(layout)} is no layout: placements or boxes")
    if _is_boxes(layout):
        return tuple(_box(box, f"{name}[{i}]", shape) for i, box in enumerate(layout))
    return ",".join(
        _placement(entry, f"{name}[{i}]", len(shape)) for i, entry in enumerate(layout)
    )


def _placement(entry: Any, name: str, rank: int) -> str:
    if isinstance(entry, str):
        return entry
    kind = type(entry).__name__
    if kind == "Replicate":
        return "R"
    if kind == "Shard":
        axis = index(entry.dim)
        if not -rank <= axis < rank:
            raise ValueError(f"{name} = {shown(entry)}: the axis is out of range for rank {rank}")
        return f"S{axis % rank}"
    if kind == "Partial":
        raise TypeError(f"{name} = {shown(entry)}: partial values have to be reduced first")
    raise TypeError(f"{name} = {shown(entry)} is none of Shard, Replicate, 'S<axis>', 'R'")


def _is_boxes(layout: Any) -> bool:
    return (
        isinstance(layout, Sequence)
        and not isinstance(layout, str)
        and any(isinstance(entry, tuple) and not hasattr(entry, "dim") for entry in layout)
    )


def _box(box: Any, name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(box) == len(shape) and all(isinstance(part, slice) for part in box):
        if any(part.step not in (None, 1) for part in box):
            raise ValueError(f"{name} = {shown(box)}: a box has no steps")
        ends = [part.indices(extent) for part, extent in zip(box, shape, strict=True)]
        return tuple(end[0] for end in ends), tuple(end[1] for end in ends)
    if len(box) != 2:
        raise TypeError(f"{name} = {shown(box)} is no box: (begin, end), or a tuple of slices")
    return integers(box[0], f"{name}[0]"), integers(box[1], f"{name}[1]")


def _is_jax(layout: Any) -> bool:
    return hasattr(layout, "devices_indices_map") and hasattr(layout, "num_devices")


def _boxes_of_jax(layout: Any, name: str, shape: tuple[int, ...]) -> _Key:
    """The boxes of its devices in the order of their numbers, which two shardings have in common."""
    try:
        slices = layout.devices_indices_map(shape)
    except ValueError as error:
        raise ValueError(f"{name} does not fit shape {shape}: {error}") from None
    in_order = sorted(slices, key=lambda device: device.id)
    return tuple(_box(slices[device], f"{name}[{i}]", shape) for i, device in enumerate(in_order))


def core_layout(shape: tuple[int, ...], mesh: tuple[int, ...], key: _Key, name: str) -> _core.ShardLayout:
    if isinstance(key, str):
        return _core.ShardLayout.placed(shape, mesh, key, name)
    made = _core.ShardLayout.boxes(shape, key, name)
    if made.devices != math.prod(mesh):
        raise ValueError(f"{name} has {made.devices} boxes, but the mesh has {math.prod(mesh)} devices")
    return made


@lru_cache(maxsize=256)
def redistribution(
    shape: tuple[int, ...],
    mesh: tuple[int, ...],
    src: _Key,
    dst: _Key,
    perm: tuple[int, ...],
    types: tuple[int] | tuple[str, str],
) -> _core.Redistribution:
    """`types`: bytes of an element, which is moved unread, or the names of both sides' dtypes."""
    result = tuple(shape[axis] for axis in perm)
    layouts = (core_layout(shape, mesh, src, "src"), core_layout(result, mesh, dst, "dst"))
    if len(types) == 1:
        return _core.Redistribution(*layouts, perm, types[0])
    try:
        return _core.Redistribution.converting(*layouts, perm, *types)
    except RuntimeError as error:
        raise TypeError(str(error)) from None
