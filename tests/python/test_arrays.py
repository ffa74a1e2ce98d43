"""transpose, contiguous and copy against NumPy's own answer, for arrays of every kind."""

import array
import ctypes
import gc
import inspect
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import cornerturn
from cornerturn import _core

DTYPES = [
    "?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16", "g", "G",
    ">i2", ">f8", "M8[ns]", "m8[D]", "S1", "S7", "U3", "U100", "V5", "V300",
    [("a", "<i4"), ("b", "<f8", (3,)), ("c", "S3")],
]  # fmt: skip


def filled(shape, dtype):
    """An array of any dtype whose bytes all differ from those of its neighbours."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    data = (np.arange(size, dtype=np.uint64) * 40503 >> 7).astype(np.uint8)
    if dtype.kind == "b":
        data &= 1
    if dtype.kind == "U":  # code points that exist
        data[...] = 0
        data[::4] = 65 + np.arange(len(data[::4])) % 26
    return np.frombuffer(data.tobytes(), dtype).reshape(shape)


def same(result, expected):
    assert type(result) is np.ndarray
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("axes", [None, (1, 0, 2), (2, 0, 1), [-1, -2, -3], (0, 1, 2)], ids=str)
def test_dtypes(dtype, axes):
    x = filled((5, 7, 6), dtype)
    assert not x.flags.writeable
    expected = x.transpose(axes)
    result = cornerturn.transpose(x, axes)
    same(result, expected)
    assert result.flags.c_contiguous and result.flags.writeable and result.flags.owndata
    out = np.zeros(expected.shape, dtype)
    assert cornerturn.transpose(x, axes, out=out) is out
    same(out, expected)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
def test_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(42).reshape(6, 7).astype(getattr(ml_dtypes, name))
    same(cornerturn.transpose(x), x.T)
    out = np.zeros((7, 6), x.dtype)
    cornerturn.transpose(x, out=out)
    same(out, x.T)
    same(cornerturn.rearrange(x, "a (b c) -> c (a b)", c=7), x.reshape(6, 1, 7).transpose(2, 0, 1).reshape(7, 6))


VIEWS = {
    "window": lambda x: x[1:7, 2:, :5],
    "stepped": lambda x: x[::2, ::3, ::4],
    "mirrored": lambda x: x[::-1, :, ::-2],
    "broadcast": lambda x: np.broadcast_to(x[:, :1, :], x.shape),
    "one column": lambda x: x[:, :, 3:4],
    "no rows": lambda x: x[:, :0],
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "fortran": lambda x: np.asfortranarray(x),
    "axis dropped": lambda x: x[3],
    "axis added": lambda x: x[:, None, :, :, None],
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "c16", "S3"])
def test_views(view, dtype):
    x = view(filled((8, 9, 10), dtype))
    for axes in (None, np.roll(range(x.ndim), 1), range(x.ndim)):
        expected = x.transpose(axes)
        same(cornerturn.transpose(x, axes), expected)
        wide = np.zeros(tuple(2 * n for n in expected.shape), dtype)
        out = wide[tuple(slice(0, n) for n in expected.shape)][::-1] if x.ndim else wide
        cornerturn.transpose(x, axes, out=out)
        same(out, expected)
        assert np.count_nonzero(wide) == np.count_nonzero(out)  # nothing beside it is written


def test_ranks_without_axes():
    same(cornerturn.transpose(np.array(5.0)), np.array(5.0))
    same(cornerturn.transpose(np.float32(3)), np.array(3, "f4"))
    same(cornerturn.transpose(np.array(5.0), ()), np.array(5.0))
    same(cornerturn.transpose(np.arange(3)), np.arange(3))
    same(cornerturn.transpose(np.empty((0, 3))), np.empty((3, 0)))
    x = np.arange(2**20, dtype="f4").reshape((2,) * 20)
    same(cornerturn.transpose(x), x.T)
    x = np.zeros((1,) * 64, "i4")
    same(cornerturn.transpose(x), x)


def test_larger_than_the_caches():
    x = filled((1200, 1700), "f4")
    same(cornerturn.transpose(x), x.T)
    x = filled((20, 200, 200, 3), "u1")
    same(cornerturn.transpose(x, (0, 3, 1, 2)), x.transpose(0, 3, 1, 2))


def test_subclasses_give_arrays():
    matrix = np.arange(6).view(np.recarray).reshape(2, 3)
    same(cornerturn.transpose(matrix), np.arange(6).reshape(2, 3).T)


def test_memory_mapped(tmp_path):
    np.save(tmp_path / "x.npy", filled((30, 40), "f8"))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    same(cornerturn.transpose(x), np.asarray(x).T)


def test_contiguous():
    x = filled((6, 7, 8), "f4")
    assert cornerturn.contiguous(x) is x
    assert cornerturn.contiguous(x[2:4]) is not x
    view = x.transpose(2, 0, 1)
    result = cornerturn.contiguous(view)
    same(result, view)
    assert result.flags.c_contiguous and not np.shares_memory(result, x)
    empty = x[:, :0].T
    assert cornerturn.contiguous(empty) is empty


def test_copy():
    src, dst = filled((6, 7), "i4"), np.zeros((7, 6), "i4")
    assert cornerturn.copy(dst.T, src) is None
    same(dst, src.T)
    wide = np.zeros((12, 14), "i4")
    cornerturn.copy(wide[::-2, 1::2], src)
    expected = np.zeros((12, 14), "i4")
    expected[::-2, 1::2] = src
    same(wide, expected)
    cornerturn.copy(wide[:6, :7], np.broadcast_to(np.int32(9), (6, 7)))
    assert (wide[:6, :7] == 9).all()


class Interface:
    """An array that is known by `__array_interface__` alone."""

    def __init__(self, x):
        self.__array_interface__ = x.__array_interface__
        self.keep = x


class Dlpack:
    """An array that is known by DLPack alone."""

    def __init__(self, x, versioned=True):
        self.x, self.versioned = x, versioned

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        if options and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        return self.x.__dlpack__(stream=stream, **options)


X = np.arange(24, dtype="f4").reshape(4, 6)


@pytest.mark.parametrize(
    "x",
    [Interface(X), Interface(X[::-1, ::2]), Dlpack(X), Dlpack(X[1:, ::2]), Dlpack(X, False), memoryview(X)],
    ids=["interface", "interface of a view", "dlpack", "dlpack of a view", "old dlpack", "buffer"],
)  # fmt: skip
def test_objects_with_a_protocol(x):
    expected = np.asarray(x) if isinstance(x, memoryview) else getattr(x, "keep", getattr(x, "x", None))
    if isinstance(x, Interface):
        expected = np.asarray(x)
    same(cornerturn.transpose(x), expected.T)
    same(cornerturn.rearrange(x, "a b -> b a"), expected.T)
    out = np.zeros_like(expected.T)
    cornerturn.transpose(x, out=out)
    same(out, expected.T)


def test_buffers():
    same(cornerturn.transpose(array.array("d", [1, 2, 3])), np.array([1.0, 2, 3]))
    same(cornerturn.transpose(b"abc"), np.array([97, 98, 99], "u1"))
    rows = ((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6))
    same(cornerturn.transpose(rows), np.array([[1, 4], [2, 5], [3, 6]], "i4"))
    target = bytearray(6)
    out = memoryview(target).cast("B", (3, 2))
    assert cornerturn.transpose(memoryview(b"abcdef").cast("B", (2, 3)), out=out) is out
    assert target == b"adbecf"


def test_without_numpy(monkeypatch):
    """Where NumPy is not installed a buffer gives a memoryview."""
    x = memoryview(bytes(range(24))).cast("i", (2, 3))
    expected = np.asarray(x).T
    monkeypatch.setitem(sys.modules, "numpy", None)
    result = cornerturn.transpose(x)
    assert type(result) is memoryview and result.format == "i" and result.shape == (3, 2)
    assert result.tobytes() == expected.tobytes()
    assert cornerturn.transpose(memoryview(b"").cast("B")).nbytes == 0
    with pytest.raises(TypeError, match="none of __dlpack__"):
        cornerturn.transpose([1, 2])


def test_array_api_namespace():
    """An object of the array API standard gets its result from its own namespace."""

    class Namespace:
        @staticmethod
        def empty(shape, dtype, device):
            assert device == "cpu"
            return Wrapped(np.empty(shape, dtype))

    class Wrapped(Dlpack):
        dtype = np.dtype("f4")
        device = "cpu"

        def __array_namespace__(self):
            return Namespace

        @property
        def __array_interface__(self):
            return self.x.__array_interface__

    result = cornerturn.transpose(Wrapped(X))
    assert type(result) is Wrapped
    same(result.x, X.T)


def test_owners_are_given_back():
    owner = Interface(filled((50, 60), "f4"))
    alive = weakref.ref(owner)
    cornerturn.transpose(owner)
    x = filled((50, 60), "f4").copy()
    count = sys.getrefcount(x)
    for source in (x, Dlpack(x), Dlpack(x, False), memoryview(x)):
        cornerturn.transpose(source)
    del owner, source
    gc.collect()
    assert alive() is None
    assert sys.getrefcount(x) == count


def test_a_source_that_only_the_call_holds():
    for _ in range(20):
        same(cornerturn.transpose(Dlpack(filled((300, 200), "f8"))), filled((300, 200), "f8").T)


def test_gil_is_released():
    """Another Python thread runs while a long transposition does."""
    x = np.zeros((6000, 6000), "f8")
    out = np.zeros((6000, 6000), "f8")
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)  # lets go of the GIL

    switch = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    try:
        sys.setswitchinterval(1000)  # from here on only who lets go of the GIL is interrupted
        before = counted[0]
        cornerturn.transpose(x, out=out)
        after = counted[0]
    finally:
        sys.setswitchinterval(switch)
        stop.set()
        thread.join()
    assert after > before


def test_many_threads():
    x = filled((200, 300), "f4")
    results = [None] * 8

    def work(i):
        results[i] = [cornerturn.transpose(x[i:, :]) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, made in enumerate(results):
        assert all(result.tobytes() == x[i:, :].T.tobytes() for result in made)


def frames_of(call):
    """The functions of the package whose code runs during a call, and its result."""
    names = []

    def look(frame, event, _):
        if event == "call" and "cornerturn" in frame.f_code.co_filename:
            names.append(frame.f_code.co_name)

    sys.setprofile(look)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    return [name for name in names if name in ("transpose", "copy", "quick")], result


def test_calls_reach_the_engine_without_a_frame_of_python():
    """From Python 3.12 on. The functions stay functions of Python, and their code does all the rest."""
    x, moved = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    out = np.empty(moved.shape)
    calls = [
        lambda: cornerturn.transpose(x, (2, 0, 1)),
        lambda: cornerturn.transpose(x, axes=[2, 0, -2]),
        lambda: cornerturn.transpose(x, 2, 0, 1),
        lambda: cornerturn.transpose(x, (2, 0, 1), out=out),
        lambda: cornerturn.transpose(x, out=out, axes=(2, 0, 1)),
        lambda: cornerturn.copy(out, moved) or out,
    ]
    without = sys.version_info >= (3, 12)
    for call in calls:
        out[...] = 0
        names, result = frames_of(call)
        assert np.array_equal(result, moved) and names == ([] if without else ["quick"])
    names, result = frames_of(lambda: cornerturn.transpose(x, (2, 0, 1), dtype="float32"))
    assert np.array_equal(result, moved) and "transpose" in names
    names, _ = frames_of(lambda: cornerturn.copy(out.astype("f4"), moved, convert=True))
    assert "copy" in names
    for function in (cornerturn.transpose, cornerturn.copy):
        assert inspect.isfunction(function) and "alpha" in inspect.signature(function).parameters
    wrong = [
        lambda: cornerturn.transpose(),
        lambda: cornerturn.transpose(x, color=1),
        lambda: cornerturn.transpose(x, 0, axes=1),
        lambda: cornerturn.copy(x),
    ]
    for call in wrong:
        with pytest.raises(TypeError):
            call()
    assert _core.quick_transpose_first(len) is False
