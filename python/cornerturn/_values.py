"""Values that change on their way: other types, factors, addends, and how they round."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from numbers import Real
from operator import index
from typing import Any, NamedTuple

from cornerturn import _core
from cornerturn._arrays import HOST, Array, Crossing, dtype_name, gpu_side, is_across, shown, with_names
from cornerturn._frameworks import framework_of
from cornerturn._frameworks.framework import numpy_if_installed


class Values(NamedTuple):
    """What is asked for; the default changes nothing."""

    dtype: Any = None
    alpha: float = 1.0
    scale: Any = None
    bias: Any = None
    beta: float = 0.0
    conjugate: bool = False
    saturate: bool = False
    rounding: str | None = None
    seed: int = 0


UNCHANGED = Values()
_PLAIN = re.compile(r"b\d+")  # the library's names of bytes, which are no values
_ROUNDINGS = (None, "nearest", "towards_zero", "stochastic")


def changes(values: Values) -> bool:
    """Do values change? Raises for a wrong value; arrays are checked where they meet the result."""
    # Compared by identity first: arrays do not compare to one truth.
    if all(a is b or _same(a, b) for a, b in zip(values, UNCHANGED, strict=True)):
        return False
    if values.rounding not in _ROUNDINGS:
        names = ", ".join(repr(name) for name in _ROUNDINGS)
        raise ValueError(f"rounding = {shown(values.rounding)} is none of {names}")
    if not 0 <= values.seed < 1 << 64:
        raise ValueError(f"seed = {shown(values.seed)} is out of range: it is from 0 to 2**64 - 1")
    for name in ("alpha", "beta"):
        if not isinstance(getattr(values, name), Real):
            raise TypeError(f"{name} = {shown(getattr(values, name))} is not a number")
    return True


def seed_of(seed: Any) -> int:
    try:
        return index(seed)
    except TypeError:
        raise TypeError(f"seed = {shown(seed)} is not an integer") from None


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, (bool, int, float, str)) and a == b


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
        known = framework_of(numpy.empty(0)).dtype(dtype)
    except TypeError:
        return None
    if len(_numpy_dtypes) < 100:
        _numpy_dtypes[dtype] = known
    return known


def type_name(dtype: Any) -> str:
    """The library's name of a dtype whose values can be converted to, as NumPy understands it where it can."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None)
    numpy = numpy_if_installed()
    if numpy is not None:
        try:
            name = _library_name(numpy.dtype(dtype))
        except TypeError:
            pass
    name = (dtype_name(dtype) if name is None else name).removeprefix("torch.")
    if _PLAIN.fullmatch(name) is None:
        try:
            _core.itemsize(name)
            return name
        except ValueError:
            pass
    raise TypeError(
        f"dtype = {shown(dtype)} is no dtype that values are converted to: name bool, int8 to "
        "int64, uint8 to uint64, float16 to float64, bfloat16, float8_e4m3fn, complex64, ..."
    )


@lru_cache(maxsize=256, typed=True)
def _library_name(dtype: Any) -> str:
    """What the library calls a dtype, if it knows it: as NumPy does, but ">bf16" where NumPy has ">V2"."""
    if getattr(dtype, "isnative", True):
        return dtype_name(dtype)
    if dtype.itemsize == 1:
        return dtype_name(dtype.newbyteorder("="))
    return f"{dtype.byteorder}bf16" if dtype.type.__name__ == "bfloat16" else str(dtype.str)


class _Vector(NamedTuple):
    address: int = 0
    axis: int = -1
    owner: Any = None


def convert(
    dst: Array,
    src: Array,
    values: Values,
    stream: int,
    names: tuple[str, str] = ("dst", "src"),
    crossing: Crossing = Crossing(),
) -> None:
    """dst[i] = alpha * scale * src[i] + bias + beta * dst[i]; both have the same shape."""
    _check_rounding(values.rounding, dst, src)
    places = {dst.device, src.device}
    scale = _vector(values.scale, "scale", src, places)
    bias = _vector(values.bias, "bias", src, places)
    epilogue = _core.Epilogue()
    epilogue.alpha = float(values.alpha)
    if isinstance(values.scale, Real):
        epilogue.alpha *= float(values.scale)
    epilogue.beta = float(values.beta)
    epilogue.scale, epilogue.scale_axis = scale.address, scale.axis
    epilogue.bias, epilogue.bias_axis = bias.address, bias.axis
    epilogue.conjugate = values.conjugate
    epilogue.saturate = values.saturate
    epilogue.stochastic = values.rounding == "stochastic"
    epilogue.seed = values.seed
    if 0 in src.shape:
        return
    # Without names for the operands: who keeps an error keeps this frame.
    try:
        if is_across(dst, src):
            gpu = gpu_side(dst, src).device
            sides = operand(dst, "dtype"), operand(src, "x.dtype")
            if _core.convert_across(*sides, epilogue, gpu, stream, not crossing.non_blocking, crossing.blocks):
                _core.keep((dst.owner, src.owner, scale.owner, bias.owner), gpu, stream)
        else:
            _core.convert(operand(dst, "dtype"), operand(src, "x.dtype"), epilogue, src.device, stream)
    except RuntimeError as error:
        if str(error).startswith("dst.type"):
            raise TypeError(str(error)) from None
        raise
    except ValueError as error:
        renamed = with_names(str(error), names).removeprefix("epilogue.")
        if renamed == str(error):
            raise
        raise ValueError(renamed) from None


def operand(array: Array, name: str = "x.dtype") -> _core.Operand:
    return _core.Operand(array.address, type_of(array.dtype, name), array.shape, array.strides)


def type_of(dtype: Any, name: str) -> str:
    """The library's name of a dtype whose values are converted; `name` is what errors call it."""
    found = _library_name(dtype)
    try:
        _core.itemsize(found)
        return found
    except ValueError:
        raise TypeError(
            f"{name} = {dtype_name(dtype)}: values are converted between bool, int8 to int64, uint8 to "
            "uint64, float16 to float64, bfloat16, float8_e4m3fn, float8_e5m2, complex64 and "
            "complex128; convert it by astype(...) first"
        ) from None


def differ_in_order(a: Any, b: Any) -> bool:
    """Are they one dtype of NumPy with values, but for the order of the bytes?"""
    if getattr(a, "isnative", None) is getattr(b, "isnative", None) or not hasattr(a, "isnative"):
        return False
    return hasattr(b, "isnative") and a.kind in "iufcV" and a.names is None and a.newbyteorder() == b


def _is_whole(dtype: Any) -> bool:
    """Is it a dtype of integers, in either order of bytes, or of truth values?"""
    return _library_name(dtype).lstrip("<>").startswith(("i", "u", "bool"))


def _check_rounding(rounding: str | None, dst: Array, src: Array) -> None:
    if rounding not in ("nearest", "towards_zero"):
        return
    to, source = dtype_name(dst.dtype), dtype_name(src.dtype)
    whole = _is_whole(dst.dtype)
    if _is_whole(src.dtype):
        return
    if whole and rounding == "nearest":
        raise ValueError(
            f"rounding = 'nearest', but {source} is rounded towards zero to {to}, as astype does: say "
            "'towards_zero', or quantise(x, 'tensor_i8')"
        )
    if not whole and rounding == "towards_zero":
        raise ValueError(
            f"rounding = 'towards_zero', but {source} is rounded to {to} as 'nearest' or 'stochastic'"
        )


def _vector(value: Any, name: str, result: Array, places: set[int]) -> _Vector:
    """Where the values of a scale or a bias lie, and the axis of the result that they belong to."""
    if value is None or (name == "scale" and isinstance(value, Real)):
        return _Vector()
    if isinstance(value, Real):
        value = _one_value(float(value), places)
    if isinstance(value, (list, tuple)):
        value = framework_of(value).as_float32(value, name)
    framework = framework_of(value)
    framework.will_be_constant(value, name)
    array = framework.read(value, name)
    if dtype_name(array.dtype) != "float32" or not array.is_packed():
        value = framework.as_float32(value, name)
        array = framework_of(value).read(value, name)
    if array.device not in places:
        where = "on one device" if len(places) == 1 else "on one device, or it in host memory"
        raise ValueError(f"{name} and x have to be {where}")
    if array.rank > result.rank:
        raise ValueError(f"{name} has rank {array.rank}, the result has rank {result.rank}")
    shape = (1,) * (result.rank - array.rank) + array.shape
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    if len(long) > 1 or any(shape[axis] != result.shape[axis] for axis in long):
        raise ValueError(
            f"{name}.shape = {array.shape} does not broadcast against the result's shape "
            f"{result.shape} along one axis"
        )
    return _Vector(array.address, long[0] if long else -1, array.owner)


def _one_value(value: float, places: set[int]) -> Any:
    if HOST in places:
        from array import array

        return array("f", [value])
    raise TypeError("bias is a number, but x is on a GPU: pass a float32 tensor of one element")
