"""The columns of tables as arrays in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cornerturn import _core
from cornerturn._arrays import HOST, Array, shown
from cornerturn._frameworks import framework_of

# Arrow's codes of the types that are numbers.
FORMATS = {
    "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64",
}  # fmt: skip
# What the codes of other types begin with, and what they are called.
_OTHERS = {
    "u": "text", "U": "text", "vu": "text", "z": "bytes", "Z": "bytes", "vz": "bytes", "w": "bytes",
    "+l": "lists", "+L": "lists", "+vl": "lists", "+vL": "lists", "+w": "lists", "+s": "structures",
    "+m": "maps", "+u": "values of several types", "+r": "runs", "td": "dates", "tt": "times of day",
    "ts": "points in time", "tD": "spans of time", "ti": "spans of time", "d": "decimals", "n": "nothing but nulls",
}  # fmt: skip


class Column(NamedTuple):
    number: int
    name: str
    dtype: Any  # NumPy's
    has_nulls: bool

    def __str__(self) -> str:
        return f"column {self.number}, {shown(self.name)},"


class Chunk(NamedTuple):
    rows: int
    columns: Sequence[Array]
    nulls: Callable[[int], Any]  # the rows in which a column is null; None: in none


class Columns(NamedTuple):
    rows: int
    columns: Sequence[Column]
    chunks: Callable[[], Iterator[Chunk]]


def columns_of(table: Any) -> Columns:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        found = _of_pandas(table)
        if found is not None:
            return found
        table = table.reset_index(drop=True)  # Arrow would show the index as columns
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return _of_arrow(_core.ArrowTable.from_stream(table.__arrow_c_stream__()))
        if hasattr(table, "__arrow_c_array__"):
            return _of_arrow(_core.ArrowTable.from_array(*table.__arrow_c_array__()))
    except RuntimeError as error:
        raise RuntimeError(" ".join(str(error).split())) from None
    raise TypeError(
        f"table is a {type(table).__module__}.{type(table).__qualname__}: it has neither __arrow_c_stream__ nor "
        "__arrow_c_array__"
    )


def _refuse(number: int, name: Any, what: str) -> TypeError:
    return TypeError(f"column {number}, {shown(name)}, holds {what}: a matrix takes numbers and truth values")


def _of_pandas(frame: Any) -> Columns | None:
    """Columns that are arrays of NumPy already. None where some are not."""
    import numpy

    series = [column for _, column in frame.items()]
    if not all(isinstance(column.dtype, numpy.dtype) for column in series):
        return None
    for k, (name, column) in enumerate(zip(frame.columns, series, strict=True)):
        if column.dtype.kind not in "biufc":
            raise _refuse(k, name, f"values of the dtype {column.dtype}")
    arrays = [column.to_numpy(copy=False) for column in series]
    sources = [framework_of(array).read(array, f"column {k}") for k, array in enumerate(arrays)]
    columns = [Column(k, str(name), array.dtype, False) for k, (name, array) in enumerate(zip(frame.columns, arrays))]
    chunk = Chunk(len(frame), sources, lambda _: None)
    return Columns(len(frame), columns, lambda: iter([chunk]))


def _of_arrow(table: Any) -> Columns:
    import numpy

    for k, (name, code, has_dictionary) in enumerate(table.columns):
        if has_dictionary:
            raise _refuse(k, name, "entries of a dictionary")
        if code not in FORMATS:
            known = (what for start, what in sorted(_OTHERS.items(), reverse=True) if code.startswith(start))
            raise _refuse(k, name, next(known, f"values of Arrow's format {code!r}"))
    chunks = table.chunks
    columns = [
        Column(k, name, numpy.dtype(FORMATS[code]), any(_count_nulls(rows, pieces[k]) for rows, pieces in chunks))
        for k, (name, code, _) in enumerate(table.columns)
    ]

    def each() -> Iterator[Chunk]:
        for rows, pieces in chunks:
            arrays = [_array(table, column.dtype, rows, piece) for column, piece in zip(columns, pieces)]
            yield Chunk(rows, arrays, lambda k, rows=rows, pieces=pieces: _null_rows(rows, pieces[k]))

    return Columns(sum(rows for rows, _ in chunks), columns, each)


_Piece = tuple[int, int, int, int]  # what _core.ArrowTable says of a column in a chunk


def _array(table: Any, dtype: Any, rows: int, piece: _Piece) -> Array:
    _, values, first, _ = piece
    if dtype.kind == "b":
        truth = (_bits(values, first, rows) if rows else _bits(0, 0, 0)).view(bool)
        return framework_of(truth).read(truth, "column")
    size = dtype.itemsize
    return Array(values + first * size, size, (rows,), (size,), HOST, dtype, True, table)


def _count_nulls(rows: int, piece: _Piece) -> int:
    validity, _, first, count = piece
    if rows == 0 or validity == 0 or count == 0:
        return 0
    return rows - int(_bits(validity, first, rows).sum(dtype=int))  # a slice may have none of those counted


def _null_rows(rows: int, piece: _Piece) -> Any:
    import numpy

    if _count_nulls(rows, piece) == 0:
        return None
    return numpy.flatnonzero(_bits(piece[0], piece[2], rows) == 0)


def _bits(address: int, first: int, count: int) -> Any:
    """Bits of memory, each in a byte."""
    import numpy

    if count == 0:
        return numpy.empty(0, numpy.uint8)
    start = first // 8
    size = (first + count + 7) // 8 - start
    packed = numpy_view(Array(address + start, 1, (size,), (1,), HOST, _byte(), True, None))
    return numpy.unpackbits(packed, count=first % 8 + count, bitorder="little")[first % 8 :]


@lru_cache(maxsize=None)
def _byte() -> Any:
    import numpy

    return numpy.dtype(numpy.uint8)


class _Shown:
    def __init__(self, array: Array) -> None:
        self.owner = array.owner
        self.__array_interface__ = {
            "version": 3,
            "data": (array.address, array.readonly),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
        }


def numpy_view(array: Array) -> Any:
    """Memory of the host as an array of NumPy, whose dtype is the array's own."""
    import numpy

    return numpy.asarray(_Shown(array)).view(array.dtype)
