"""The arguments of a kernel that `check` launches: arrays on their way to files and back, and numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from cornerturn._arrays import shown

if TYPE_CHECKING:
    import numpy

# The names of elements, NumPy's and the command's.
TYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8_e4m3",
    "float8_e5m2": "f8_e5m2",
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": "bool",
}
OF_ML_DTYPES = {"bfloat16", "float8_e4m3fn", "float8_e5m2"}


class Word(NamedTuple):
    """An argument as a word of the command, and what becomes of the array in it."""

    text: str
    value: Any
    dtype: Any = None  # of the array that is to be returned; None where the command says its type
    shape: tuple[int, ...] | None = None


def word_of(value: Any, i: int, folder: str, to_tensor: bool) -> Word:
    """`value` as the command takes it; an array goes to a file in `folder`."""
    import numpy

    name = f"args[{i}]"
    if isinstance(value, str):
        return Word(value, value)
    if value is None:
        return Word("nullptr", value)
    if isinstance(value, (bool, numpy.bool_)):
        return Word("true" if value else "false", value)
    if isinstance(value, numpy.generic):
        return Word(f"{type_of(value.dtype, name)}={number_of(value, name)}", value)
    if isinstance(value, (int, float)):
        return Word(number_of(value, name), value)
    array, type_name = array_of(value, name)
    return written(array, type_name, i, folder, to_tensor)._replace(value=value)


def number_of(value: Any, name: str) -> str:
    if not isinstance(value, int) and not hasattr(value, "__index__"):
        return repr(float(value))
    number = int(value)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"{name} = {shown(value)}: integers have 64 bits at most")
    return f"{number}ull" if number >= 2**63 else str(number)


def type_of(dtype: numpy.dtype[Any], name: str) -> str:
    if dtype.name not in TYPES:
        raise TypeError(f"{name} has dtype {dtype}: numbers are of {', '.join(TYPES)}")
    return TYPES[dtype.name]


def array_of(value: Any, name: str) -> tuple[numpy.ndarray[Any, Any], str | None]:
    """An array of NumPy, and its elements' name where NumPy has none for them."""
    import numpy

    if isinstance(value, numpy.ndarray):
        return numpy.asarray(value), None
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return array_of_tensor(value.detach(), name)
    if not any(hasattr(value, way) for way in ("__array__", "__array_interface__", "__dlpack__")):
        raise TypeError(f"{name} = {shown(value)} is neither an array nor a number, nor a text such as 'out:f32[64]'")
    return numpy.asarray(value), None


def array_of_tensor(tensor: Any, name: str) -> tuple[numpy.ndarray[Any, Any], str | None]:
    import torch

    if tensor.device.type != "cpu":
        raise ValueError(f"{name} is a tensor on {tensor.device}: it has to be in host memory")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in OF_ML_DTYPES:
        return tensor.numpy(), None
    integer = torch.int16 if tensor.dtype.itemsize == 2 else torch.uint8
    return tensor.contiguous().view(integer).numpy().view(f"u{tensor.dtype.itemsize}"), dtype


def written(array: numpy.ndarray[Any, Any], known_as: str | None, i: int, folder: str, to_tensor: bool) -> Word:
    import numpy

    name = f"args[{i}]"
    if array.dtype.hasobject:
        raise TypeError(f"{name} has dtype {array.dtype}, whose elements hold references")
    if not array.dtype.isnative:
        raise ValueError(f"{name} has dtype {array.dtype.str}: elements have to be in this machine's order of bytes")
    if array.ndim == 0:
        raise ValueError(f"{name} is an array without axes: pass a number, or an array of one element")
    if array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: an array has to have an element")
    type_name = TYPES.get(known_as or array.dtype.name)
    if type_name is None and to_tensor:
        raise TypeError(f"{name} has dtype {array.dtype}: tensors have elements of {', '.join(TYPES)}")
    packed = numpy.ascontiguousarray(array)
    if type_name is None:  # structures, complex numbers: their bytes
        packed, type_name = packed.reshape(-1).view(numpy.uint8), "u8"
    elif array.dtype.name in OF_ML_DTYPES:
        packed = packed.view(f"u{array.dtype.itemsize}")
    path = os.path.join(folder, f"{i}.npy")
    numpy.save(path, packed)
    extents = ",".join(str(extent) for extent in packed.shape)
    dtype = named_dtype(known_as) if known_as else array.dtype
    return Word(f"inout:{type_name}[{extents}]={path}", array, dtype, array.shape)


def named_dtype(name: str) -> numpy.dtype[Any]:
    """NumPy's dtype of a name; where ml_dtypes is not installed, whole numbers stand for its types."""
    import numpy

    if name not in OF_ML_DTYPES:
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return numpy.dtype("u2" if name == "bfloat16" else "u1")
    dtype: numpy.dtype[Any] = numpy.dtype(getattr(ml_dtypes, name))
    return dtype


def read(saved: dict[str, Any], word: Word | None = None) -> Any:
    """An array that the command saved, or a number, which has no axes."""
    import numpy

    if saved["type"] == "none":
        return None
    array = numpy.load(saved["file"])
    if word is not None and word.dtype is not None and word.shape is not None:
        return array.view(word.dtype).reshape(word.shape)
    name = next(name for name, short in TYPES.items() if short == saved["type"])
    array = array.view(named_dtype(name))
    is_number = word is None and array.ndim == 0
    return array[()].item() if is_number else array

