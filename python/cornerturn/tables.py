"""Tables and matrices: columns of polars, pandas and Arrow become the rows of a matrix, and back.

`to_matrix` reads a table, and `from_matrix` makes one, by Arrow's C data interface, which frames of polars
and pandas and tables of pyarrow have. None of these packages is imported here, and pyarrow is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from cornerturn import _core
from cornerturn._arrays import HOST, Array, check_pair, dtype_name, shown
from cornerturn._frameworks import framework_of
from cornerturn._listed import copy_each, unread
from cornerturn._operations import transpose
from cornerturn._options import Dtype
from cornerturn._tables import Column, Columns, columns_of, numpy_view
from cornerturn._threads import with_threads
from cornerturn._values import type_name

if TYPE_CHECKING:
    import numpy
    import numpy.typing

__all__ = ["Table", "from_matrix", "to_matrix"]

ArrayT = TypeVar("ArrayT")


@overload
def to_matrix(table: Any, *, dtype: Dtype | None = None, order: Literal["C", "F"] = "C", nulls: float | None = None, out: None = None, threads: int | None = None) -> numpy.typing.NDArray[Any]: ...


@overload
def to_matrix(table: Any, *, dtype: Dtype | None = None, order: Literal["C", "F"] = "C", nulls: float | None = None, out: ArrayT, threads: int | None = None) -> ArrayT: ...


def to_matrix(
    table: Any,
    *,
    dtype: Dtype | None = None,
    order: Literal["C", "F"] = "C",
    nulls: float | None = None,
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """Returns the columns of a table as those of a matrix, in one pass.

    Args:
        table: a frame of polars or pandas, a table of pyarrow, or another object with
            `__arrow_c_stream__` or `__arrow_c_array__`, in any number of chunks. Its columns are numbers or
            truth values. The index of a pandas frame is left out.
        dtype: the dtype of the matrix, to which values are converted as `astype` does it. None is the one
            that `numpy.result_type` finds for the columns' dtypes.
        order: "C" makes the values of a row neighbours in memory, "F" those of a column.
        nulls: the value that takes the place of nulls. Without it, nulls in columns of floats become NaN,
            and nulls in others are refused.
        out: an array of that shape and dtype in host memory, of any strides, which is written to and returned.
        threads: as in `transpose`.

    Raises:
        TypeError: `table` is no table, or a column holds text, lists, times or other values that are no
            numbers.
        ValueError: a column other than of floats has nulls, and `nulls` is not given; or `nulls` is no
            value of the dtype; or `out` has another shape, or cannot be written to.

    Example:
        >>> import polars
        >>> cornerturn.tables.to_matrix(polars.DataFrame({"a": [1, 2], "b": [0.5, None]}))
        array([[1. , 0.5],
               [2. , nan]])
    """
    if threads is not None:
        options: dict[str, Any] = dict(dtype=dtype, order=order, nulls=nulls, out=out)
        return with_threads(threads, to_matrix, table, **options)
    if order not in ("C", "F"):
        raise ValueError(f"order = {shown(order)} is neither 'C' nor 'F'")
    import numpy

    found = columns_of(table)
    probe = framework_of(numpy.empty(0))
    dtypes = [column.dtype for column in found.columns]
    wanted = probe.dtype(dtype) if dtype is not None else numpy.result_type(*(dtypes or [numpy.float64]))
    type_name(wanted)
    shape = (found.rows, len(found.columns))
    if out is None:
        target = probe.read(result := numpy.empty(shape, wanted, order), "the result")
    else:
        framework_of(out).will_write(out, "out")
        result, target = out, framework_of(out).read(out, "out")
        beside = unread(target._replace(dtype=wanted, device=HOST), shape)
        check_pair(target, beside, "out", "the table", "that of the table")
        target = target._replace(dtype=wanted)
    fills = [_fill(column, nulls, wanted) for column in found.columns]
    _write(target, found, fills)
    if out is not None:
        framework_of(out).was_written(out)
    return result


def _fill(column: Column, nulls: Any, dtype: Any) -> Any:
    """What takes the place of a column's nulls; None where it has none."""
    import numpy

    if not column.has_nulls:
        return None
    if nulls is None:
        if column.dtype.kind == "f" and not _is_whole(dtype):
            return numpy.array(numpy.nan).astype(dtype)
        raise ValueError(
            f"{column} is of {column.dtype} and becomes {dtype}, and has nulls: say with nulls= which value takes their place"
        )
    try:
        with numpy.errstate(all="ignore"):
            value = numpy.array(nulls)
            fill = value.astype(dtype)
            is_kept = fill.shape == () and bool((fill == value) | ((fill != fill) & (value != value)))
            is_rounded = not _is_whole(dtype) and isinstance(nulls, Real) and bool(numpy.isfinite(fill.astype(float)))
    except (TypeError, ValueError, OverflowError):
        is_kept = is_rounded = False
    if not is_kept and not is_rounded:
        raise ValueError(f"nulls = {shown(nulls)} is no value of the dtype {dtype}")
    return fill


def _is_whole(dtype: Any) -> bool:
    return type_name(dtype).lstrip("<>").startswith(("i", "u", "bool"))


def _write(target: Array, found: Columns, fills: Sequence[Any]) -> None:
    first = 0
    framework = framework_of(numpy_view(target))
    for chunk in found.chunks():
        rows = target._replace(
            address=target.address + first * target.strides[0], shape=(chunk.rows, target.shape[1])
        )
        first += chunk.rows
        if chunk.rows == 0 or not chunk.columns:
            continue
        copy_each(rows.permuted((1, 0)), chunk.columns, True, framework, 0, ("the matrix", "the columns"))
        for k, fill in enumerate(fills):
            if fill is not None and (where := chunk.nulls(k)) is not None:
                numpy_view(rows)[where, k] = fill


class Table:
    """A table that `from_matrix` has made. Frames of polars and pandas, and pyarrow, read it.

    `names` are those of its columns, and `values` is the array that holds them, a row of it for each
    column.
    """

    def __init__(self, values: Any, names: Sequence[str]) -> None:
        self.values = values
        self.names = tuple(names)

    def __repr__(self) -> str:
        columns, rows = self.values.shape
        return f"<cornerturn.tables.Table: {rows} rows, {columns} columns of {dtype_name(self.values.dtype)}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table as one chunk. Whoever reads it shares the memory of `values`."""
        block = framework_of(self.values).read(self.values, "values")
        code = _codes()[dtype_name(block.dtype)]
        names = list(self.names)
        return _core.arrow_stream(block.owner, names, code, block.address, block.shape[1], block.strides[0])


def from_matrix(
    matrix: Any, names: Sequence[str] | None = None, *, dtype: Dtype | None = None, threads: int | None = None
) -> Table:
    """Returns a table whose columns are those of a matrix, in one block of new memory, in one pass.

    `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)` and `pyarrow.table(table)` read it
    without another copy.

    Args:
        matrix: an array of two axes in host memory, of integers or floats.
        names: those of the columns. None calls them "column_0", "column_1", ...
        dtype: the dtype of the columns, as in `transpose`. None is that of the matrix.
        threads: as in `transpose`.

    Raises:
        TypeError, ValueError: as in `transpose`; or the matrix has not two axes, or is not in host memory,
            or its dtype is none of Arrow's; or there are more or fewer names than columns.

    Example:
        >>> import polars
        >>> polars.DataFrame(cornerturn.tables.from_matrix(numpy.eye(2), ["x", "y"])).columns
        ['x', 'y']
    """
    framework = framework_of(matrix)
    framework.will_lose_gradient(matrix, "matrix")
    source = framework.read(matrix, "matrix")
    if source.rank != 2:
        raise ValueError(f"matrix has the shape {source.shape}: it has to have two axes")
    if source.device != HOST:
        raise ValueError(f"matrix is in the memory of GPU {source.device}: it has to be in host memory")
    found = dtype_name(source.dtype if dtype is None else framework.dtype(dtype)).lstrip("<>=")
    if dtype is None and not getattr(source.dtype, "isnative", True):
        dtype = framework.dtype(source.dtype.newbyteorder("="))
        found = dtype_name(dtype)
    if found not in _codes():
        raise TypeError(f"matrix is of dtype {found}: columns are of integers, or of floats of 16 to 64 bits")
    columns = source.shape[1]
    names = [f"column_{k}" for k in range(columns)] if names is None else list(names)
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"names[{k}] = {shown(name)} is a {type(name).__name__}: it has to be a str")
    if len(names) != columns:
        raise ValueError(f"names has {len(names)} entries, the matrix has {columns} columns")
    values: Any = transpose(matrix, (1, 0), dtype=dtype, threads=threads)
    return Table(values, names)


def _codes() -> dict[str, str]:
    from cornerturn._tables import FORMATS

    return {name: code for code, name in FORMATS.items() if name != "bool"}
