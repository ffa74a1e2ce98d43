"""Values that change on their way: other types, factors, addends, and how they round."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

from cornerturn import _core
from cornerturn._arrays import HOST, Array, check_pair, dtype_name, order_of, packed_strides, shown
from cornerturn._frameworks import Framework, framework_of, stream_number


class Values(NamedTuple):
    """What is asked for; the default changes nothing."""

    dtype: Any = None
    alpha: float = 1.0
    scale: Any = None
    bias: Any = None
    beta: float = 0.0
    conjugate: bool = False
    saturate: bool = False
    rounding: str = "nearest"
    seed: int = 0


_NOTHING = Values()


def changes(values: Values) -> bool:
    # Compared by identity first: arrays do not compare to one truth.
    return any(a is not b and not _same(a, b) for a, b in zip(values, _NOTHING, strict=True))


def only_dtype(values: Values) -> bool:
    """Is another dtype all that is asked for? False also where one cannot tell at a glance."""
    dtype, alpha, scale, bias, beta, conjugate, saturate, rounding, seed = values
    return (
        dtype is not None
        and scale is None
        and bias is None
        and conjugate is False
        and saturate is False
        and type(alpha) is type(beta) is float
        and type(rounding) is str
        and type(seed) is int
        and (alpha, beta, rounding, seed) == (1.0, 0.0, "nearest", 0)
    )


_numpy_dtypes: dict[Any, Any] = {}


def numpy_dtype(dtype: Any) -> Any:
    """NumPy's own dtype for what the caller calls by any name; None where there is none."""
    try:
        return _numpy_dtypes[dtype]
    except (KeyError, TypeError):
        pass
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(dtype, (str, type, numpy.dtype)):
        return None
    try:
        known = numpy.dtype(dtype_of(framework_of(numpy.empty(0)), dtype))
    except TypeError:
        return None
    if len(_numpy_dtypes) < 100:
        _numpy_dtypes[dtype] = known
    return known


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, (bool, int, float, str)) and a == b


class _Vector(NamedTuple):
    address: int = 0
    axis: int = -1
    owner: Any = None


def transpose_values(
    x: Any, axes: Sequence[int] | None, out: Any, stream: Any, values: Values
) -> Any:
    """`transpose` of values that change."""
    framework = framework_of(x)
    _check(values)
    if values.beta != 0 and out is None:
        raise ValueError(f"beta = {shown(values.beta)}, but there is no out to be multiplied by it")
    if framework.module == "jax":
        raise TypeError("x is a JAX array: its values are converted by JAX, with x.astype(dtype)")
    if framework.module == "torch":
        import cornerturn.torch

        order = order_of(axes, x.dim())
        if out is None and stream is None and x.requires_grad:
            return cornerturn.torch.permute_values(x, order, values)
    return run(framework, x, order_of(axes, framework.read(x, "x").rank), out, stream, values)


def run(
    framework: Framework, x: Any, order: Sequence[int], out: Any, stream: Any, values: Values
) -> Any:
    """The work itself, whatever autograd thinks of it."""
    source = framework.read(x, "x").permuted(order)
    dtype = source.dtype if values.dtype is None else dtype_of(framework, values.dtype)
    like = source._replace(dtype=dtype)
    if stream is None:
        number = 0 if source.device == HOST else framework.current_stream(source.device)
    elif source.device == HOST:
        raise ValueError(
            f"stream = {shown(stream)}, but x is in host memory: the CPU has no streams"
        )
    else:
        number = stream_number(stream)
    if out is None:
        result = framework.empty(x, like, source.shape, None if stream is None else number)
        target = framework_of(result).read(result, "the result")
        itemsize = _core.itemsize(dtype_name(dtype))
        target = target._replace(strides=packed_strides(source.shape, itemsize))
    else:
        result = out
        framework.will_lose_gradient(x, "x")
        writer = framework_of(out)
        writer.will_write(out, "out")
        target = writer.read(out, "out")
        check_pair(target, like, "out", "dtype" if values.dtype is not None else "x", "the result")
    scale = _vector(values.scale, "scale", source)
    bias = _vector(values.bias, "bias", source)
    alpha = float(values.alpha)
    if isinstance(values.scale, Real):
        alpha *= float(values.scale)
    if 0 in source.shape:
        return result
    try:
        _core.execute_converting(
            target.address,
            source.address,
            dtype_name(dtype),
            dtype_name(source.dtype),
            source.shape,
            target.strides,
            source.strides,
            alpha=alpha,
            beta=float(values.beta),
            scale=scale.address,
            scale_axis=scale.axis,
            bias=bias.address,
            bias_axis=bias.axis,
            conjugate=values.conjugate,
            saturate=values.saturate,
            stochastic=values.rounding == "stochastic",
            seed=values.seed,
            device=source.device,
            stream=number,
        )
    except RuntimeError as error:
        if str(error).startswith("dst.type"):
            raise TypeError(str(error)) from None
        raise
    if stream is not None:
        framework.used_on(x, source.device, number)
    return result


def _check(values: Values) -> None:
    if values.rounding not in ("nearest", "stochastic"):
        raise ValueError(f"rounding = {shown(values.rounding)} is neither 'nearest' nor 'stochastic'")
    if not isinstance(values.seed, int) or not 0 <= values.seed < 1 << 64:
        raise ValueError(f"seed = {shown(values.seed)} is not an integer from 0 to 2**64 - 1")
    for name in ("alpha", "beta"):
        if not isinstance(getattr(values, name), Real):
            raise TypeError(f"{name} = {shown(getattr(values, name))} is not a number")


def dtype_of(framework: Framework, dtype: Any) -> Any:
    """The framework's own dtype for what the caller calls by any name."""
    name = dtype_name(dtype) if isinstance(dtype, str) else None
    if framework.module == "torch":
        torch = sys.modules["torch"]
        if isinstance(dtype, torch.dtype):
            return dtype
        found = getattr(torch, name or _numpy_name(dtype), None)
        if not isinstance(found, torch.dtype):
            raise TypeError(f"dtype = {shown(dtype)} is no dtype of PyTorch")
        return found
    import numpy

    try:
        return numpy.dtype(dtype)
    except TypeError:
        pass
    try:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name or dtype_name(dtype)))
    except (ImportError, AttributeError):
        raise TypeError(
            f"dtype = {shown(dtype)} is no dtype of NumPy (ml_dtypes has bfloat16 and 8-bit floats)"
        ) from None


def _numpy_name(dtype: Any) -> str:
    import numpy

    try:
        return str(numpy.dtype(dtype))
    except TypeError:
        return str(dtype)


def _vector(value: Any, name: str, result: Array) -> _Vector:
    """Where the values of a scale or a bias lie, and the axis of the result that they belong to."""
    if value is None or (name == "scale" and isinstance(value, Real)):
        return _Vector()
    if isinstance(value, Real):
        value = _one_value(float(value), result)
    array = framework_of(value).read(value, name)
    if dtype_name(array.dtype) != "float32":
        raise TypeError(f"{name}.dtype = {dtype_name(array.dtype)}: it has to be float32")
    if array.device != result.device:
        raise ValueError(f"{name} and x have to be on one device")
    if array.rank > result.rank:
        raise ValueError(f"{name} has rank {array.rank}, the result has rank {result.rank}")
    shape = (1,) * (result.rank - array.rank) + array.shape
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    if len(long) > 1 or any(shape[axis] != result.shape[axis] for axis in long):
        raise ValueError(
            f"{name}.shape = {array.shape} does not broadcast against the result's shape "
            f"{result.shape} along one axis"
        )
    if not array.is_packed():
        raise ValueError(f"{name} is not contiguous")
    return _Vector(array.address, long[0] if long else -1, array.owner)


def _one_value(value: float, result: Array) -> Any:
    if result.device == HOST:
        from array import array

        return array("f", [value])
    raise TypeError("bias is a number, but x is on a GPU: pass a float32 tensor of one element")
