"""Every dtype that there is, and what has to come out where values of another dtype are asked for.

One expectation holds for every entry, command and function: the result is what `astype` gives, or the
call is refused. The values are small integers, which all types hold: how others are rounded is tested
elsewhere.
"""

import ml_dtypes
import numpy as np

ORDERS = "<>"
COUNTED = [f"{order}{code}" for code in ("i2", "i4", "i8", "u2", "u4", "u8") for order in ORDERS]
FLOATS = [f"{order}{code}" for code in ("f2", "f4", "f8", "c8", "c16") for order in ORDERS]
OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
#: Dtypes with values that are converted, in both orders of bytes.
WITH_VALUES = ["?", "i1", "u1", *COUNTED, *FLOATS, *OF_ML_DTYPES, ">bfloat16", ">float8_e5m2"]
#: All others.
TIMES = [f"{order}{code}" for code in ("M8[s]", "M8[D]", "m8[ms]") for order in ORDERS]
TEXTS = ["S1", "S2", "S4", "S8", "<U1", ">U1", "<U2", ">U2"]
RECORDS = [
    [("a", "<i2")],
    [("a", "<i2"), ("b", "<i2")],
    [("a", ">f4")],
    [("a", "<f4"), ("b", ">i4")],
    [("a", "<f4", (2, 2))],
]
NARROW = (
    "int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float8_e4m3", "float8_e3m4",
    "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu",
)  # fmt: skip
WITHOUT_VALUES = [
    *TIMES, *TEXTS, *RECORDS, "g", "G", *[f"V{size}" for size in (1, 2, 4, 8, 16)],
    *[name for name in NARROW if hasattr(ml_dtypes, name)],
]  # fmt: skip


def dtype_of(name):
    """NumPy's dtype, also of what ml_dtypes adds."""
    order, plain = (name[0], name[1:]) if isinstance(name, str) and name[0] in ORDERS else ("=", name)
    if isinstance(plain, str) and hasattr(ml_dtypes, plain):
        return np.dtype(getattr(ml_dtypes, plain)).newbyteorder(order)
    return np.dtype(name)


def array_of(name, shape=(2, 3)):
    """0, 1, 2, ... as that dtype, or its bytes."""
    dtype = dtype_of(name)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    if name in WITH_VALUES or dtype.kind in "MmSU" or dtype.char in "gG":
        return numbers.astype(dtype)
    return numbers.astype("u1").repeat(dtype.itemsize).view(dtype).reshape(shape)


def has_values(name):
    """Also of another spelling: "f4" is "<f4" or ">f4"."""
    return dtype_of(name).newbyteorder("=") in {dtype_of(one).newbyteorder("=") for one in WITH_VALUES}


def may_become(source, wanted):
    """Are values of the one converted to the other?"""
    if not has_values(source) or not has_values(wanted):
        return False
    return dtype_of(wanted).kind == "c" or dtype_of(source).kind != "c"


def becomes(array, wanted, factor=1):
    """What NumPy makes of it."""
    if factor != 1:
        array = array.astype("c16" if array.dtype.kind == "c" else "f8") * factor
    return array.astype(dtype_of(wanted))


def same(result, expected):
    """Do they agree in dtype, shape and every bit?"""
    return (
        result.dtype == expected.dtype
        and result.dtype.isnative == expected.dtype.isnative
        and result.shape == expected.shape
        and result.tobytes() == expected.tobytes()
    )
