"""Tables to matrices and back, beside pyarrow, polars and pandas themselves."""

import random
import re
import subprocess
import sys

import numpy as np
import pytest

import cornerturn
from cornerturn.tables import from_matrix, to_matrix

RANDOM = np.random.default_rng(8)
NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bool")


def refused(error, message, call, *args, **kwargs):
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)


def values(dtype, rows):
    return RANDOM.integers(0, 2 if dtype == "bool" else 100, rows).astype(dtype)


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow")


@pytest.fixture
def polars():
    return pytest.importorskip("polars")


@pytest.mark.parametrize("seed", range(80))
def test_tables_of_pyarrow(pa, seed):
    chance = random.Random(seed)
    some = chance.sample(NUMBERS, chance.choice((1, 1, 2, 4)))
    if "bool" in some and len(some) > 1 and chance.random() < 0.5:
        some.remove("bool")
    columns = chance.choice((1, 3, 17, 40))
    batches, expected, nulls = [], [], []
    kinds = [chance.choice(some) for _ in range(columns)]
    has_nulls = [kind.startswith("float") and chance.random() < 0.3 for kind in kinds]
    for rows in [chance.choice((0, 1, 7, 8, 100, 1000)) for _ in range(chance.choice((1, 2, 5)))]:
        first = chance.choice((0, 1, 5, 8))  # slices begin anywhere in their buffers
        whole = [values(kind, rows + first + 3) for kind in kinds]
        masks = [RANDOM.random(rows + first + 3) < (0.2 if n else 0) for n in has_nulls]
        arrays = [pa.array(x, mask=mask if n else None) for x, mask, n in zip(whole, masks, has_nulls)]
        batch = pa.RecordBatch.from_arrays(arrays, [f"c{k}" for k in range(columns)])
        batches.append(batch.slice(first, rows))
        expected.append([x[first : first + rows] for x in whole])
        nulls.append([mask[first : first + rows] for mask in masks])
    table = pa.Table.from_batches(batches)
    dtype = np.result_type(*kinds)
    wanted = np.empty((table.num_rows, columns), dtype)
    for k in range(columns):
        wanted[:, k] = np.concatenate([chunk[k] for chunk in expected])
        if has_nulls[k]:
            wanted[np.concatenate([chunk[k] for chunk in nulls]), k] = np.nan
    got = to_matrix(table)
    assert got.dtype == dtype and got.flags.c_contiguous
    np.testing.assert_array_equal(got, wanted)
    got = to_matrix(table, order="F", threads=1)
    assert got.flags.f_contiguous
    np.testing.assert_array_equal(got, wanted)
    out = np.zeros((columns, table.num_rows, 2), dtype)[..., 0].T
    assert to_matrix(table, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(to_matrix(table, dtype="float64"), wanted.astype("f8"))
    np.testing.assert_array_equal(to_matrix(batches[0]), wanted[: batches[0].num_rows])


def test_frames_of_polars(polars):
    frame = polars.DataFrame({f"c{k}": values("float32", 1000) for k in range(50)})
    np.testing.assert_array_equal(to_matrix(frame), frame.to_numpy())
    frame = polars.concat([frame, frame, frame[100:200]], rechunk=False)
    assert frame.n_chunks() > 1
    np.testing.assert_array_equal(to_matrix(frame), frame.to_numpy())
    frame = polars.DataFrame({"i": [1, 2, 3], "f": [0.5, None, 1.5], "b": [True, False, True]})
    np.testing.assert_array_equal(to_matrix(frame), [[1, 0.5, 1], [2, np.nan, 0], [3, 1.5, 1]])
    assert to_matrix(polars.DataFrame()).shape == (0, 0)


def test_frames_of_pandas(pa):
    pandas = pytest.importorskip("pandas")
    x = RANDOM.random((100, 7))
    for frame in (
        pandas.DataFrame(x),
        pandas.DataFrame({f"c{k}": x[:, k].copy() for k in range(7)}),
        pandas.DataFrame(x, index=[f"row {k}" for k in range(100)]),
        pandas.DataFrame(x).iloc[::-2],
        pandas.DataFrame(x).astype("Float64"),
        pandas.DataFrame(x, columns=list("aabbccd")),
    ):
        np.testing.assert_array_equal(to_matrix(frame), frame.to_numpy("f8"))
    mixed = pandas.DataFrame({"i": np.arange(3, dtype="i4"), "n": pandas.array([1, None, 3], "Int64"), "f": [0.5, np.nan, 2]})
    np.testing.assert_array_equal(to_matrix(mixed, nulls=-1), [[0, 1, 0.5], [1, -1, -1], [2, 3, 2]])
    refused(ValueError, "column 1, 'n', is of int64", to_matrix, mixed)
    refused(TypeError, "column 1, 'when', holds values of the dtype datetime64", to_matrix, pandas.DataFrame({"a": [1], "when": np.array(["2020-01-01"], "M8[s]")}))
    refused(TypeError, "column 0, 't', holds text", to_matrix, pandas.DataFrame({"t": ["x", "y"]}))
    refused(TypeError, "column 0, 't', holds values of the dtype object", to_matrix, pandas.DataFrame({"t": ["x", 1]}, dtype=object))


def test_frames_of_pandas_need_no_pyarrow():
    pytest.importorskip("pandas")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas, numpy, cornerturn\n"
        "frame = pandas.DataFrame({'a': numpy.arange(3), 'b': [0.5, 1, 2]})\n"
        "assert (cornerturn.tables.to_matrix(frame) == frame.to_numpy()).all()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nulls(pa):
    table = pa.table({"a": pa.array([1, None, 3], pa.int32()), "b": pa.array([None, 0.5, 2], pa.float32())})
    refused(ValueError, "column 0, 'a', is of int32 and becomes float64, and has nulls: say with nulls=", to_matrix, table)
    refused(ValueError, "column 0, 'a',", to_matrix, table, dtype="f8")
    np.testing.assert_array_equal(to_matrix(table, nulls=-1), [[1, -1], [-1, 0.5], [3, 2]])
    np.testing.assert_array_equal(to_matrix(table, nulls=np.nan), [[1, np.nan], [np.nan, 0.5], [3, 2]])
    np.testing.assert_array_equal(to_matrix(table, nulls=0.1, dtype="f4")[1, 0], np.float32(0.1))
    np.testing.assert_array_equal(to_matrix(table, nulls=7, dtype="i2"), [[1, 7], [7, 0], [3, 2]])
    refused(ValueError, "column 0, 'b', is of float32 and becomes int8, and has nulls", to_matrix, table.select(["b"]), dtype="i1")
    for nulls, dtype in ((0.5, "i4"), (np.nan, "i4"), (300, "u1"), (-1, "u1"), ("x", "f4"), ([1], "f4"), (1e300, "f4")):
        refused(ValueError, "is no value of the dtype", to_matrix, table, nulls=nulls, dtype=dtype)
    truths = pa.table({"a": [True, None, False]})
    refused(ValueError, "column 0, 'a', is of bool", to_matrix, truths)
    assert to_matrix(truths, nulls=True).tolist() == [[True], [True], [False]]
    none_here = pa.table({"a": pa.array([None, 1, 2], pa.int64())}).slice(1)
    assert to_matrix(none_here).tolist() == [[1], [2]]


def test_what_is_no_number_is_refused_by_name(pa):
    import datetime

    moment = datetime.datetime(2020, 1, 1)
    wrong = {
        "text": (pa.array(["x"]), pa.array(["x"], pa.large_string()), pa.array(["x"], pa.string_view())),
        "bytes": (pa.array([b"x"]), pa.array([b"x"], pa.binary(1)), pa.array([b"x"], pa.binary_view())),
        "entries of a dictionary": (pa.array(["x"]).dictionary_encode(),),
        "lists": (pa.array([[1]]), pa.array([[1]], pa.list_(pa.int8(), 1)), pa.array([[1]], pa.large_list(pa.int8()))),
        "structures": (pa.array([{"a": 1}]),),
        "points in time": (pa.array([moment]), pa.array([moment], pa.timestamp("s", "UTC"))),
        "dates": (pa.array([moment.date()]),),
        "times of day": (pa.array([moment.time()]),),
        "spans of time": (pa.array([moment - moment]),),
        "decimals": (pa.array([1], pa.decimal128(5, 2)),),
        "nothing but nulls": (pa.nulls(1),),
        "maps": (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),),
    }
    for what, arrays in wrong.items():
        for array in arrays:
            out = np.full((1, 2), 7, "f8")
            table = pa.table({"right": [1.0], "my column": array})
            refused(TypeError, f"column 1, 'my column', holds {what}: a matrix takes numbers", to_matrix, table, out=out)
            assert (out == 7).all()
    refused(TypeError, "table is a builtins.list: it has neither", to_matrix, [1, 2])
    refused(TypeError, 'it is one column of Arrow\'s format "l", and no table', to_matrix, pa.chunked_array([[1, 2]]))
    refused(TypeError, "no table", to_matrix, pa.array([1, 2]))


def test_what_is_asked_of_a_matrix(pa):
    table = pa.table({"a": [1.0, 2], "b": [3.0, 4]})
    refused(ValueError, "order = 'K' is neither", to_matrix, table, order="K")
    refused(TypeError, "dtype = 'text' is no dtype", to_matrix, table, dtype="text")
    refused(TypeError, "is no dtype that values are converted to", to_matrix, table, dtype="S4")
    refused(ValueError, "out.shape = (2, 3) differs from (2, 2), that of the table", to_matrix, table, out=np.zeros((2, 3)))
    refused(TypeError, "out.dtype = float32 differs", to_matrix, table, out=np.zeros((2, 2), "f4"))
    read_only = np.zeros((2, 2))
    read_only.flags.writeable = False
    refused(ValueError, "out is read-only", to_matrix, table, out=read_only)
    refused(ValueError, "the table's capsule was read before", lambda t: [to_matrix(t), to_matrix(t)], OnlyOnce(table))
    refused(RuntimeError, "the table cannot be read: ", to_matrix, pa.RecordBatchReader.from_batches(table.schema, failing(table)))


class OnlyOnce:
    def __init__(self, table):
        self.capsule = table.__arrow_c_stream__()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


def failing(table):
    yield from table.to_batches()
    raise OSError("the disk is gone")


@pytest.mark.parametrize("dtype", NUMBERS[:-1])
def test_from_matrix(pa, dtype):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    x = values(dtype, 60).reshape(12, 5)
    table = from_matrix(x)
    assert repr(table) == f"<cornerturn.tables.Table: 12 rows, 5 columns of {dtype}>"
    for matrix in (x, np.asfortranarray(x), x[::-1], x.astype(x.dtype.newbyteorder("S")), from_matrix(x).values.T):
        table = from_matrix(matrix, list("abcde"))
        assert not np.shares_memory(table.values, matrix)
        read = pa.table(table)
        read.validate(full=True)
        assert read.column_names == list("abcde") and read.schema.field("c").type == pa.from_numpy_dtype(dtype)
        np.testing.assert_array_equal(np.column_stack([column.to_numpy() for column in read.columns]), matrix)
        if dtype != "float16":
            np.testing.assert_array_equal(polars.DataFrame(table).to_numpy(), matrix)
        np.testing.assert_array_equal(pandas.DataFrame.from_arrow(table).to_numpy(), matrix)
        np.testing.assert_array_equal(to_matrix(table), matrix)
    np.testing.assert_array_equal(to_matrix(from_matrix(x, dtype="f8", threads=1)), x.astype("f8"))


def test_a_table_is_read_by_columns_without_a_copy_and_outlives_its_maker(pa):
    x = RANDOM.random((1000, 3))
    table = from_matrix(x)
    read = pa.table(table)
    address = read.column(1).chunk(0).buffers()[1].address
    assert address == table.values[1].ctypes.data
    column = read.column(2)
    capsule = table.__arrow_c_stream__()  # nobody reads it
    del table, read, capsule
    np.testing.assert_array_equal(column.to_numpy(), x[:, 2])


def test_what_is_no_matrix_is_refused():
    refused(ValueError, "matrix has the shape (3,): it has to have two axes", from_matrix, np.zeros(3))
    refused(TypeError, "matrix is of dtype complex128", from_matrix, np.zeros((2, 2), complex))
    refused(TypeError, "matrix is of dtype bool", from_matrix, np.zeros((2, 2), bool))
    refused(ValueError, "names has 1 entries, the matrix has 2 columns", from_matrix, np.zeros((2, 2)), ["a"])
    refused(TypeError, "names[1] = 5 is a int: it has to be a str", from_matrix, np.zeros((2, 2)), ["a", 5])


def test_tensors(pa):
    torch = pytest.importorskip("torch")
    x = torch.randn(6, 4)
    assert torch.equal(torch.from_numpy(to_matrix(from_matrix(x))), x)
    out = torch.zeros(6, 4)
    version = out._version
    assert to_matrix(from_matrix(x), out=out) is out and torch.equal(out, x) and out._version > version
    refused(ValueError, "requires grad", from_matrix, x.requires_grad_())
    refused(ValueError, "requires grad", to_matrix, from_matrix(x.detach()), out=out.requires_grad_())


def test_the_memory_of_a_table_is_given_back(pa):
    freed = []

    class Owned:
        def __init__(self, batch):
            self.batch = batch

        def __arrow_c_array__(self, requested_schema=None):
            return self.batch.__arrow_c_array__()

        def __del__(self):
            freed.append(1)

    before = pa.total_allocated_bytes()
    batch = pa.RecordBatch.from_pydict({"a": np.arange(100_000.0)})
    assert to_matrix(Owned(batch)).sum() == np.arange(100_000.0).sum()
    del batch
    assert pa.total_allocated_bytes() <= before + 1_000_000 and freed
