"""JAX: a transposition that XLA calls through its foreign-function interface.

`transpose(x, axes)` is `jax.numpy.transpose(x, axes)`, on the CPU and on NVIDIA GPUs with
Cornerturn's kernels: under `jax.jit`, `jax.vmap`, `jax.grad` and the other transformations, with
shapes that are fixed or symbolic. On a GPU it runs on XLA's stream and may be part of its graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax._src.dispatch import prim_requires_devices_during_lowering
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike

from cornerturn import _core

__all__ = ["transpose"]

_TARGET = "cornerturn_transpose"
# XLA's name of a platform and JAX's.
_PLATFORMS = {"cpu": "cpu", "CUDA": "cuda"}


def transpose(x: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Returns `x` with its axes in the order `axes`, or reversed, as `jax.numpy.transpose` does.

    The dtype may be any whose elements are whole bytes. Where Cornerturn has no kernels (TPUs, AMD
    GPUs, CUDA when it was built without) XLA transposes. Where an array is spread over devices,
    each one transposes its part: the result is spread alike, with its axes permuted, and nothing
    travels.

    Raises ValueError when `axes` is not a permutation of the axes, and TypeError for dtypes that XLA
    packs several to the byte (int4) and for those that are not numbers (PRNG keys).
    """
    x = jnp.asarray(x)
    order = _order(axes, x.ndim)
    _check_dtype(x.dtype)
    return _transpose(x, axes=order)


def _order(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(reversed(range(rank)))
    try:
        axes = tuple(map(index, axes))
    except TypeError:
        raise TypeError(f"axes = {axes!r} is not a sequence of integers") from None
    if len(axes) != rank:
        raise ValueError(f"axes = {axes} has {len(axes)} entries, but x has rank {rank}")
    for i, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise ValueError(f"axes[{i}] = {axis} is out of range for rank {rank}")
    order = tuple(axis % rank for axis in axes)
    for i, axis in enumerate(order):
        if axis in order[:i]:
            raise ValueError(f"axes[{i}] = {axes[i]} repeats axes[{order.index(axis)}]")
    return order


def _check_dtype(dtype: Any) -> None:
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        raise TypeError(f"x has dtype {dtype}: its elements are not numbers")
    if dtype == jax.dtypes.float0:
        raise TypeError("x has dtype float0: it has no elements in memory")
    if jnp.issubdtype(dtype, jnp.integer):
        bits = jnp.iinfo(dtype).bits
    elif jnp.issubdtype(dtype, jnp.floating):
        bits = jnp.finfo(dtype).bits
    else:
        return
    if bits < 8:
        raise TypeError(f"x has dtype {dtype}: XLA packs its elements, {8 // bits} to the byte")


_primitive = Primitive(_TARGET)


@partial(jax.jit, static_argnames="axes")
def _transpose(x: Array, axes: tuple[int, ...]) -> Array:
    return _primitive.bind(x, axes=axes)


@_primitive.def_impl
def _eager(x: Array, *, axes: tuple[int, ...]) -> Array:
    return _transpose(x, axes=axes)


@_primitive.def_abstract_eval
def _shape(x: Any, *, axes: tuple[int, ...]) -> Any:
    sharding = x.sharding
    if sharding.mesh.empty:
        return x.update(shape=tuple(x.shape[a] for a in axes))
    spec = sharding.spec
    partitions = [spec[a] for a in axes]
    return x.update(
        shape=tuple(x.shape[a] for a in axes),
        sharding=sharding.update(spec=spec.update(partitions=partitions)),
    )


def _gradient(cotangent: Any, x: Any, *, axes: tuple[int, ...]) -> list[Any]:
    if type(cotangent) is ad.Zero:
        return [ad.Zero(x.aval.to_tangent_aval())]
    inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return [_primitive.bind(cotangent, axes=inverse)]


def _batch(args: Any, dims: Any, *, axes: tuple[int, ...]) -> tuple[Any, int]:
    (x,), (batch,) = args, dims
    # The result's first axis is the batch: no pass over the memory but the one.
    order = (batch, *(a + (a >= batch) for a in axes))
    return _primitive.bind(x, axes=order), 0


ad.deflinear2(_primitive, _gradient)
batching.primitive_batchers[_primitive] = _batch


# ---- On every device, its part

# XLA asks how to divide it when it knows the devices: JAX has to tell it of them.
prim_requires_devices_during_lowering.add(_primitive)
_part = Primitive(f"{_TARGET}_part")


@_part.def_abstract_eval
def _shape_of_part(x: Any, *, axes: tuple[int, ...]) -> Any:
    return x.update(shape=tuple(x.shape[a] for a in axes))


@partial(custom_partitioning, static_argnums=(1,))
def _by_parts(x: Array, axes: tuple[int, ...]) -> Array:
    return _part.bind(x, axes=axes)


def _permuted_spec(axes: tuple[int, ...], spec: Any) -> PartitionSpec:
    whole = (*spec, *[None] * (len(axes) - len(spec)))
    return PartitionSpec(*[whole[a] for a in axes])


def _result_sharding(axes: tuple[int, ...], mesh: Any, arguments: Any, _: Any) -> NamedSharding:
    sharding = arguments[0].sharding
    return NamedSharding(sharding.mesh, _permuted_spec(axes, sharding.spec))


def _partition(axes: tuple[int, ...], mesh: Any, arguments: Any, result: Any) -> Any:
    (x,) = arguments
    to = _result_sharding(axes, mesh, arguments, result)
    return to.mesh, partial(_part.bind, axes=axes), to, (x.sharding,)


def _rule(axes: tuple[int, ...], *_: Any) -> str:
    """`i0 i1 i2 -> i2 i0 i1`: an axis of the result is spread as the axis that it was."""
    names = [f"i{a}" for a in range(len(axes))]
    return f"{' '.join(names)} -> {' '.join(names[a] for a in axes)}"


_by_parts.def_partition(
    _partition, infer_sharding_from_operands=_result_sharding, sharding_rule=_rule
)


def _in_parts(x: Array, *, axes: tuple[int, ...]) -> Array:
    return _by_parts(x, axes) if axes else _part.bind(x, axes=axes)


def _xla_transpose(x: Array, *, axes: tuple[int, ...]) -> Array:
    return jax.lax.transpose(x, axes)


def _lower(ctx: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    import numpy

    return jax.ffi.ffi_lowering(_TARGET)(ctx, x, axes=numpy.array(axes, numpy.int64))


for _each in (_primitive, _part):
    mlir.register_lowering(_each, mlir.lower_fun(_xla_transpose, multiple_results=False))
for _name, _handler in _core.jax_targets().items():
    jax.ffi.register_ffi_target(_TARGET, _handler, platform=_name)
    mlir.register_lowering(_part, _lower, platform=_PLATFORMS[_name])
    mlir.register_lowering(
        _primitive, mlir.lower_fun(_in_parts, multiple_results=False), platform=_PLATFORMS[_name]
    )
