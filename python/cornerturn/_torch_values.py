"""PyTorch: the operators that change values on their way, that write into a tensor, and that quantise.

torch.compile, torch.export, torch.func, subclasses of tensors and profilers see each call as one
operator. Plain tensors go to the engine without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from cornerturn import _blocks, _stored, _tensor
from cornerturn._arrays import dtype_name
from cornerturn._blocks import How
from cornerturn._frameworks import framework_of
from cornerturn._move import fill_memory, new_copy
from cornerturn._torch_permute import (
    apply_at_one_level,
    below_autograd,
    for_outer_levels,
    inverse_of,
    library,
    order_of,
    wants_derivatives,
)
from cornerturn._values import Values

_TAGS = (torch.Tag.pt2_compliant_tag,)
_VALUES = (
    "ScalarType? dtype=None, float alpha=1.0, Tensor? scale=None, Tensor? bias=None, float beta=0.0, "
    "bool conjugate=False, bool saturate=False, str? rounding=None, int seed=0"
)
_TARGETS = ("CPU",) if torch.version.hip is not None else ("CPU", "CUDA")


def _as_arguments(values: Values, x: Tensor) -> tuple[Any, ...]:
    """`values` as the operators take them: tensors for vectors, a seed of 64 bits with a sign."""
    dtype = None if values.dtype is None else framework_of(x).dtype(values.dtype)
    seed = values.seed if values.seed < 1 << 63 else values.seed - (1 << 64)
    alpha, scale = float(values.alpha), values.scale
    if isinstance(scale, Real):
        alpha, scale = alpha * float(scale), None
    vectors = []
    for name, value in (("scale", scale), ("bias", values.bias)):
        if isinstance(value, Tensor):
            framework_of(value).will_be_constant(value, name)
        vectors.append(framework_of(x).vector(value, x, name))
    return (
        dtype,
        alpha,
        *vectors,
        float(values.beta),
        values.conjugate,
        values.saturate,
        values.rounding,
        seed,
    )


def _as_values(*arguments: Any) -> Values:
    values = Values(*arguments)
    return values._replace(seed=values.seed % (1 << 64))


def spread(x: Tensor) -> None:
    """Lets DTensor spread the operators over its devices, where `x` is one."""
    if type(x).__name__ == "DTensor" and not torch.compiler.is_compiling():
        from cornerturn import _torch_sharding

        _torch_sharding.register()


def _fake_permuted(x: Tensor, dims: Sequence[int], dtype: torch.dtype | None) -> Tensor:
    return x.new_empty([x.shape[d] for d in order_of(tuple(dims), x.dim())], dtype=dtype or x.dtype)


# permute_convert: a new tensor.
library.define(f"permute_convert(Tensor x, int[] dims, {_VALUES}) -> Tensor", tags=_TAGS)
_convert = torch.ops.cornerturn.permute_convert.default


def _convert_on_device(x: Tensor, dims: Sequence[int], *arguments: Any) -> Tensor:
    framework = framework_of(x)
    source = framework.read(x, "x").permuted(order_of(tuple(dims), x.dim()))
    return new_copy(framework, x, source, values=_as_values(*arguments))


def _convert_fake(
    x: Tensor, dims: Sequence[int], dtype: torch.dtype | None = None, *_: Any, **__: Any
) -> Tensor:
    return _fake_permuted(x, dims, dtype)


class _PermuteConvert(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Sequence[int], keyset: Any, *arguments: Any) -> Tensor:
        ctx.dims, ctx.values, ctx.dtype = tuple(dims), Values(*arguments), x.dtype
        with for_outer_levels():
            return below_autograd(_convert, keyset, x, dims, *arguments)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The factor of an element goes with it to where it came from.
        values, inverse = ctx.values, inverse_of(ctx.dims)
        scale = values.scale
        if scale is not None:
            rank = len(ctx.dims)
            scale = scale.reshape((1,) * (rank - scale.dim()) + tuple(scale.shape))
            scale = scale.permute(inverse).contiguous()
        back = values._replace(dtype=ctx.dtype, scale=scale, bias=None)
        return _convert(grad, inverse, *back), *(None,) * (2 + len(values))

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor | None:
        dtype = ctx.values.dtype or ctx.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            return None
        return _convert(tangent, ctx.dims, *ctx.values._replace(bias=None))


def _convert_with_autograd(keyset: Any, x: Tensor, dims: Sequence[int], *arguments: Any) -> Tensor:
    arguments = tuple(Values(*arguments))
    if wants_derivatives(x):
        return apply_at_one_level(_PermuteConvert, x, dims, keyset, *arguments)
    return below_autograd(_convert, keyset, x, dims, *arguments)


def _convert_batched(info: Any, in_dims: Any, x: Tensor, dims: Sequence[int], *arguments: Any) -> Any:
    if in_dims[0] is None or any(isinstance(dim, int) for dim in in_dims[1:]):
        return _one_by_one(_convert, info, in_dims, (x, dims, *arguments))  # scales differ
    batched = x.movedim(in_dims[0], 0)
    return _convert(batched, _with_batch(dims, x.dim() - 1), *arguments), 0


# permute_into: a tensor that is there.
library.define(f"permute_into(Tensor(a!) out, Tensor x, int[] dims, {_VALUES}) -> ()", tags=_TAGS)
_into = torch.ops.cornerturn.permute_into.default


def _into_on_device(out: Tensor, x: Tensor, dims: Sequence[int], *arguments: Any) -> None:
    framework = framework_of(x)
    source = framework.read(x, "x").permuted(order_of(tuple(dims), x.dim()))
    fill_memory(out, x, source, None, _as_values(*arguments), ("out", "x", "the shape of the result"))


def _into_fake(
    out: Tensor, x: Tensor, dims: Sequence[int], dtype: torch.dtype | None = None, *_: Any, **__: Any
) -> None:
    order = order_of(tuple(dims), x.dim())
    shape = torch.Size([x.shape[d] for d in order])
    if out.shape != shape:
        raise ValueError(
            f"out.shape = {tuple(out.shape)} differs from {tuple(shape)}, the shape of the result"
        )
    if out.dtype != (dtype or x.dtype):
        raise TypeError(f"out.dtype = {out.dtype} differs from the result's dtype {dtype or x.dtype}")


def _into_written(keyset: Any, out: Tensor, *arguments: Any) -> None:
    torch.autograd.graph.increment_version(out)
    with torch._C._AutoDispatchBelowADInplaceOrView():
        _into.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, out, *arguments)


def _into_without_gradient(keyset: Any, out: Tensor, x: Tensor, *arguments: Any) -> None:
    _refuse_gradients(x, "x")
    framework_of(out).will_write(out, "out")
    below_autograd(_into, keyset, out, x, *arguments)


def _into_batched(
    info: Any, in_dims: Any, out: Tensor, x: Tensor, dims: Sequence[int], *arguments: Any
) -> tuple[None, None]:
    if in_dims[0] is None or any(isinstance(dim, int) for dim in in_dims[2:]):
        raise ValueError("out, scale and bias: under vmap out has the batch, scale and bias have not")
    batched = out.movedim(in_dims[0], 0)
    source = x.expand(info.batch_size, *x.shape) if in_dims[1] is None else x.movedim(in_dims[1], 0)
    _into(batched, source, _with_batch(dims, source.dim() - 1), *arguments)
    return None, None


# What quantises: whole numbers and codes come out, which have no gradient.
_HOW = "str format, bool pad, str scale, str layout, float tensor_scale, int? seed"  # a _blocks.How
library.define(f"quantise(Tensor x, int[] dims, int axis, {_HOW}) -> Tensor[]", tags=_TAGS)
library.define("quantise_tensor(Tensor x, str format, int[] dims) -> (Tensor, Tensor)", tags=_TAGS)
library.define(f"quantise_both(Tensor x, {_HOW}) -> Tensor[]", tags=_TAGS)
library.define(
    f"dequantise(Tensor blocks, int[] dims, Tensor? scales, ScalarType dtype, {_HOW}) -> Tensor",
    tags=_TAGS,
)
library.define("amax(Tensor x) -> Tensor", tags=_TAGS)
library.define("transpose_blocks(Tensor values, Tensor scales, str format) -> (Tensor, Tensor)", tags=_TAGS)
library.define("convert_scales(Tensor scales, str to, str layout, int lines, int count) -> Tensor", tags=_TAGS)
library.define(f"quantise_groups(Tensor x, int[] sizes, int[] dims, {_HOW}) -> Tensor[]", tags=_TAGS)
_quantise = torch.ops.cornerturn.quantise.default
_quantise_tensor = torch.ops.cornerturn.quantise_tensor.default
_quantise_both = torch.ops.cornerturn.quantise_both.default
_dequantise = torch.ops.cornerturn.dequantise.default
_amax = torch.ops.cornerturn.amax.default
_transpose_blocks = torch.ops.cornerturn.transpose_blocks.default
_convert_scales = torch.ops.cornerturn.convert_scales.default
_quantise_groups = torch.ops.cornerturn.quantise_groups.default


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name)


def _quantise_on_device(x: Tensor, dims: Sequence[int], axis: int, *how: Any) -> list[Tensor]:
    return _blocks.quantise_blocks(x, How(*how), dims, axis)


def _new(x: Tensor) -> Callable[[tuple[int, ...], str], Tensor]:
    return lambda extents, dtype: x.new_empty(extents, dtype=_dtype(dtype))


def _fake_blocks(x: Tensor, shape: tuple[int, ...], how: How, axis: int) -> list[Tensor]:
    how = how.of_shape(len(shape), axis)
    shapes = _blocks.quantised_shapes(shape, how, axis)
    values = _new(x)(shapes.values, how.row.dtype)
    return [values] if how.row.packed else [values, _blocks.make_scales(_new(x), shapes.blocks, how)]


def _quantise_fake(x: Tensor, dims: Sequence[int], axis: int, *how: Any) -> list[Tensor]:
    order = order_of(tuple(dims), x.dim())
    return _fake_blocks(x, tuple(x.shape[d] for d in order), How(*how), axis)


def _quantise_tensor_on_device(x: Tensor, format: str, dims: Sequence[int]) -> tuple[Tensor, Tensor]:
    values, scale = _tensor.quantise_tensor(x, format, dims, None)
    return values, torch.tensor(scale, dtype=torch.float64, device=x.device)


def _quantise_tensor_fake(x: Tensor, format: str, dims: Sequence[int]) -> tuple[Tensor, Tensor]:
    values = _fake_permuted(x, dims, _dtype(_tensor.FORMATS[format]))
    return values, x.new_empty((), dtype=torch.float64)


def _quantise_both_on_device(x: Tensor, *how: Any) -> list[Tensor]:
    return _blocks.quantise_blocks_both(x, How(*how))


def _quantise_both_fake(x: Tensor, *how: Any) -> list[Tensor]:
    rows, columns = x.shape
    return _fake_blocks(x, (rows, columns), How(*how), 1) + _fake_blocks(x, (columns, rows), How(*how), 1)


def _dequantise_on_device(
    blocks: Tensor, dims: Sequence[int], scales: Tensor | None, dtype: torch.dtype, *how: Any
) -> Tensor:
    return _blocks.dequantise_blocks(blocks, How(*how), dims, scales, dtype)


def _dequantise_fake(
    blocks: Tensor, dims: Sequence[int], scales: Tensor | None, dtype: torch.dtype, *how: Any
) -> Tensor:
    shape = _blocks.dequantised_shape(tuple(blocks.shape), How(*how))
    return blocks.new_empty([shape[d] for d in order_of(tuple(dims), len(shape))], dtype=dtype)


def _amax_on_device(x: Tensor) -> Tensor:
    return torch.tensor(_tensor.amax(x), dtype=torch.float64, device=x.device)


def _amax_fake(x: Tensor) -> Tensor:
    return x.new_empty((), dtype=torch.float64)


def _transpose_blocks_fake(values: Tensor, scales: Tensor, format: str) -> tuple[Tensor, Tensor]:
    return _stored.transposed_blocks(_new(values), values.shape, format)


def _convert_scales_fake(scales: Tensor, to: str, layout: str, lines: int, count: int) -> Tensor:
    return _stored.converted_scales(_new(scales), dtype_name(scales.dtype), to, layout, lines, count)


def _quantise_groups_on_device(x: Tensor, sizes: Sequence[int], dims: Sequence[int], *how: Any) -> list[Tensor]:
    return _stored.quantise_in_groups(x, How(*how), sizes, tuple(dims))


def _quantise_groups_fake(x: Tensor, sizes: Sequence[int], dims: Sequence[int], *how: Any) -> list[Tensor]:
    return _stored.grouped_arrays(_new(x), x.shape, How(*how), sizes, dims)[0]


def _without_gradient(operator: Any) -> Callable[..., Any]:
    def work(keyset: Any, x: Tensor, *arguments: Any) -> Any:
        _refuse_gradients(x, "x")
        return below_autograd(operator, keyset, x, *arguments)

    return work


def _refuse_gradients(x: Tensor, name: str) -> None:
    framework_of(x).will_lose_gradient(x, name)


def _with_batch(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    return (0, *(d + 1 for d in order_of(tuple(dims), rank)))


def _one_by_one(operator: Any, info: Any, in_dims: Any, arguments: Sequence[Any]) -> Any:
    """vmap where one pass cannot do it: a call for each of the batch, stacked."""
    found = [
        operator(
            *(
                value.select(dim, i) if isinstance(dim, int) else value
                for value, dim in zip(arguments, in_dims, strict=True)
            )
        )
        for i in range(info.batch_size)
    ]
    if isinstance(found[0], Tensor):
        return torch.stack(found), 0
    stacked = [torch.stack(parts) for parts in zip(*found)]
    if isinstance(found[0], tuple):
        return tuple(stacked), (0,) * len(stacked)
    return stacked, [0] * len(stacked)


def _batched(operator: Any) -> Callable[..., Any]:
    def rule(info: Any, in_dims: Any, *arguments: Any) -> Any:
        return _one_by_one(operator, info, in_dims, arguments)

    return rule


def _register(name: str, on_device: Any, fake: Any, batched: Any, autograd: Any) -> None:
    for target in _TARGETS:
        library.impl(name, on_device, target)
    torch.library.register_fake(f"cornerturn::{name}", fake, lib=library)
    torch.library.register_vmap(f"cornerturn::{name}", batched, lib=library)
    library.impl(name, autograd, "Autograd", with_keyset=True)


_register(
    "permute_convert", _convert_on_device, _convert_fake, _convert_batched, _convert_with_autograd
)
_register("permute_into", _into_on_device, _into_fake, _into_batched, _into_without_gradient)
library.impl("permute_into", _into_written, "ADInplaceOrView", with_keyset=True)
for _name, _operator, _on_device, _fake in (
    ("quantise", _quantise, _quantise_on_device, _quantise_fake),
    ("quantise_tensor", _quantise_tensor, _quantise_tensor_on_device, _quantise_tensor_fake),
    ("quantise_both", _quantise_both, _quantise_both_on_device, _quantise_both_fake),
    ("dequantise", _dequantise, _dequantise_on_device, _dequantise_fake),
    ("amax", _amax, _amax_on_device, _amax_fake),
    ("transpose_blocks", _transpose_blocks, _stored.transpose_stored, _transpose_blocks_fake),
    ("convert_scales", _convert_scales, _stored.convert_stored, _convert_scales_fake),
    ("quantise_groups", _quantise_groups, _quantise_groups_on_device, _quantise_groups_fake),
):
    _register(_name, _on_device, _fake, _batched(_operator), _without_gradient(_operator))


# What the general functions call.
def permute_values(x: Tensor, dims: tuple[int, ...], values: Values) -> Tensor:
    """A permuted copy whose values change. The gradient is converted back."""
    spread(x)
    return _convert(x, dims, *_as_arguments(values, x))


def permute_into(out: Tensor, x: Tensor, dims: tuple[int, ...], values: Values) -> None:
    _into(out, x, dims, *_as_arguments(values, x))


def quantise(x: Tensor, how: How, dims: tuple[int, ...], axis: int) -> list[Tensor]:
    return _quantise(x, dims, axis, *how)


def quantise_tensor(x: Tensor, format: str, dims: tuple[int, ...]) -> tuple[Tensor, float]:
    values, factor = _quantise_tensor(x, format, dims)
    return values, factor.item()


def quantise_both(x: Tensor, how: How) -> list[Tensor]:
    return _quantise_both(x, *how)


def dequantise(
    blocks: Tensor, how: How, dims: tuple[int, ...], scales: Tensor | None, dtype: torch.dtype
) -> Tensor:
    return _dequantise(blocks, dims, scales, dtype, *how)


def transpose_blocks(values: Tensor, scales: Tensor, format: str) -> tuple[Tensor, Tensor]:
    return _transpose_blocks(values, scales, format)


def convert_scales(scales: Tensor, to: str, layout: str, lines: int, count: int) -> Tensor:
    return _convert_scales(scales, to, layout, lines, count)


def quantise_groups(x: Tensor, how: How, sizes: Sequence[int], dims: Sequence[int]) -> list[Tensor]:
    return _quantise_groups(x, sizes, dims, *how)


def amax(x: Tensor) -> float:
    return _amax(x.detach()).item()  # a number has no derivative
