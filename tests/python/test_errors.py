"""Bad input is refused with the natural exception, the argument's name, its value and the rule, and
nothing is written."""

import numpy as np
import pytest

import cornerturn

AxisError = np.exceptions.AxisError
X = np.arange(24, dtype="f4").reshape(2, 3, 4)


def refused(error, message, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


AXES = [
    ((0, 1), ValueError, "axes = (0, 1) has 2 entries, x has rank 3"),
    ((0, 1, 2, 3), ValueError, "axes = (0, 1, 2, 3) has 4 entries, x has rank 3"),
    ((0, 1, 3), AxisError, "axes[2] = 3 is out of range for rank 3"),
    ((0, -4, 1), AxisError, "axes[1] = -4 is out of range for rank 3"),
    ((0, 1, 0), ValueError, "axes[2] = 0 repeats axes[0]"),
    ((0, 2, -1), ValueError, "axes[2] = -1 repeats axes[1]"),
    ((0, 1, 2**70), AxisError, f"axes[2] = {2**70} is out of range for rank 3"),
    ((0, 1, 2.0), TypeError, "axes = (0, 1, 2.0): axes has to be a sequence of integers"),
    (5, ValueError, "axes = (5,) has 1 entries, x has rank 3"),
    (1.5, TypeError, "axes = 1.5: axes has to be a sequence of integers"),
    ("012", TypeError, "axes = '012': axes has to be a sequence of integers"),
    (np.array([0.5, 1, 2]), TypeError, "axes has to be a sequence of integers"),
]


@pytest.mark.parametrize(("axes", "error", "message"), AXES, ids=[str(axes) for axes, *_ in AXES])
def test_axes(axes, error, message):
    refused(error, message, cornerturn.transpose, X, axes)
    refused(error, message, cornerturn.plan, X, axes)
    out = np.full((4, 3, 2), 7, "f4")
    refused(error, message, cornerturn.transpose, X, axes, out=out)
    assert (out == 7).all()


def test_integers_of_any_type_are_axes():
    expected = X.transpose(2, 0, 1)
    for axes in (np.array([2, 0, 1]), [np.int8(2), True - 1, np.uint64(1)], range(2, -1, -1), iter((2, 0, 1))):
        result = cornerturn.transpose(X, axes)
        if not isinstance(axes, range):
            assert (result == expected).all()


def test_a_buffer_that_is_refused_is_none():
    buffers = pytest.importorskip("_testbuffer")  # which tests of Python bring
    x = buffers.ndarray([1, 2, 3], shape=[3], flags=buffers.ND_GETBUF_FAIL)
    with pytest.raises(BufferError):
        memoryview(x)
    refused(TypeError, "none of __dlpack__", cornerturn.transpose, x)


def test_what_is_no_array():
    refused(TypeError, "dst is a builtins.list: it shows copies of its values", cornerturn.copy, [1, 2], X)
    refused(TypeError, "out is a builtins.list", cornerturn.transpose, X, out=[1, 2])
    refused(TypeError, "x = [object(), 2]".split("object")[0], cornerturn.transpose, [object(), 2])
    refused(ValueError, "inhomogeneous", cornerturn.transpose, [[1], [2, 3]])
    for thing in (3, None, "text", {}, object(), np.ndarray):
        refused(TypeError, "x is a ", cornerturn.transpose, thing)
        refused(TypeError, "none of __dlpack__", cornerturn.transpose, thing)
        refused(TypeError, "dst is a ", cornerturn.copy, thing, X)
        refused(TypeError, "src is a ", cornerturn.copy, X.copy(), thing)
        refused(TypeError, "view is a ", cornerturn.contiguous, thing)
        refused(TypeError, "out is a ", cornerturn.transpose, X, out=thing) if thing is not None else None


def test_references_are_not_bytes():
    for dtype in (object, [("a", "i4"), ("b", object)], np.dtypes.StringDType()):
        x = np.zeros((2, 3), dtype)
        refused(TypeError, "its elements hold references", cornerturn.transpose, x)
        refused(TypeError, "x.dtype = ", cornerturn.transpose, x)
        refused(TypeError, "out.dtype = ", cornerturn.transpose, X[0], out=np.zeros((4, 3), dtype))


def test_masks_would_be_lost():
    x = np.ma.masked_array(X[0], X[0] > 3)
    refused(TypeError, "x is a masked array: its mask would be lost", cornerturn.transpose, x)
    assert (cornerturn.transpose(x.data) == X[0].T).all()


def test_out():
    out = np.full((5, 3, 2), 7, "f4")
    refused(
        ValueError,
        "out.shape = (5, 3, 2) differs from (4, 3, 2), the shape of the result",
        cornerturn.transpose, X, out=out,
    )  # fmt: skip
    refused(ValueError, "out.shape = (4, 6)", cornerturn.transpose, X, out=np.zeros((4, 6), "f4"))
    for dtype in ("f8", "i4", ">f8", "S4", "V4", "c8"):
        bad = np.zeros((4, 3, 2), dtype)
        refused(
            TypeError,
            f"out.dtype = {bad.dtype} differs from x.dtype = float32: values are not converted",
            cornerturn.transpose, X, out=bad,
        )  # fmt: skip
        assert not bad.tobytes().strip(b"\0")
    refused(
        TypeError,
        "out.dtype = datetime64[D] differs from x.dtype = datetime64[s]",
        cornerturn.transpose, np.zeros((2, 3), "M8[s]"), out=np.zeros((3, 2), "M8[D]"),
    )  # fmt: skip
    out = np.full((4, 3, 2), 7, "f4")
    out.flags.writeable = False
    refused(ValueError, "out is read-only", cornerturn.transpose, X, out=out)
    refused(ValueError, "out is read-only", cornerturn.transpose, np.zeros((1, 3), "u1"), out=memoryview(b"abc").cast("B", (3, 1)))
    assert (out == 7).all()


def test_overlap():
    x = np.arange(16, dtype="f4").reshape(4, 4)
    before = x.copy()
    for out in (x, x.T, x[::-1], x[:, ::-1]):
        refused(ValueError, "out overlaps x in memory", cornerturn.transpose, x, out=out)
    memory = np.arange(40, dtype="f4")
    a, b = memory[:16].reshape(4, 4), memory[15:31].reshape(4, 4)
    refused(ValueError, "out overlaps x in memory", cornerturn.transpose, a, out=b)
    refused(ValueError, "dst overlaps src in memory", cornerturn.copy, a, b)
    assert (x == before).all() and (memory == np.arange(40)).all()
    cornerturn.transpose(a, out=memory[16:32].reshape(4, 4))
    assert (memory[16:32].reshape(4, 4) == a.T).all()


def test_elements_written_twice():
    memory = np.zeros(10, "f4")
    broadcast = np.lib.stride_tricks.as_strided(memory, (4, 3, 2), (8, 0, 4))
    refused(ValueError, "out.strides[1] = 0 with extent 3", cornerturn.transpose, X, out=broadcast)
    entangled = np.lib.stride_tricks.as_strided(memory, (4, 3, 2), (4, 4, 4))
    refused(ValueError, "out.strides = (4,4,4)", cornerturn.transpose, X, out=entangled)
    refused(ValueError, "dst.strides = (4,4,4)", cornerturn.copy, entangled, X.T)
    assert not memory.any()


def test_copy():
    dst = np.zeros((2, 3), "f4")
    refused(
        ValueError, "dst.shape = (2, 3) differs from (3, 2), the shape of src",
        cornerturn.copy, dst, np.ones((3, 2), "f4"),
    )  # fmt: skip
    refused(TypeError, "dst.dtype = float32 differs from src.dtype = float64", cornerturn.copy, dst, np.ones((2, 3)))
    refused(ValueError, "dst is read-only", cornerturn.copy, memoryview(b"abc"), np.zeros(3, "u1"))
    assert not dst.any()


def test_stream():
    refused(
        ValueError, "stream = 5, but x is in host memory: the CPU has no streams",
        cornerturn.transpose, X, stream=5,
    )  # fmt: skip
    refused(ValueError, "dst is in host memory", cornerturn.copy, X.copy(), X, stream=0)


def test_streams_as_numbers():
    from cornerturn._frameworks import stream_number

    class Stream:
        def __init__(self, **attributes):
            self.__dict__.update(attributes)

    class Protocol:
        def __cuda_stream__(self):
            return (0, 77)

    assert stream_number(0) == 0 and stream_number(77) == 77
    for stream in (Stream(cuda_stream=77), Stream(ptr=77), Stream(handle=Stream(value=77)), Protocol()):
        assert stream_number(stream) == 77
    refused(ValueError, "stream = -1 is negative", stream_number, -1)
    for bad in ("0", 1.5, True, object()):
        refused(TypeError, "it has to be an integer (a cudaStream_t) or a stream of", stream_number, bad)


def test_too_many_axes():
    class Deep:
        __array_interface__ = {
            "shape": (1,) * 65, "typestr": "<f4", "data": (X.ctypes.data, False), "version": 3,
        }  # fmt: skip

    with pytest.raises(ValueError):
        cornerturn.transpose(Deep())


def test_memory_that_cannot_be_shown():
    class Hidden:
        def __dlpack_device__(self):
            return (7, 0)  # Vulkan

        def __dlpack__(self, **_):
            raise BufferError("it is not yours")

    refused(BufferError, "x cannot be read through DLPack: it is not yours", cornerturn.transpose, Hidden())

    class Odd(Hidden):
        def __dlpack__(self, **_):
            return "capsule"

    refused(BufferError, "__dlpack__ returned no DLPack capsule", cornerturn.transpose, Odd())


def test_gpu_memory_that_is_not_there():
    """Without a GPU, memory that claims to lie on one is refused, and not touched."""
    try:
        import torch
    except ImportError:
        pass
    else:
        if torch.cuda.is_available():
            pytest.skip("a GPU is here")

    class Interface:
        __cuda_array_interface__ = {
            "shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": None,
        }  # fmt: skip

    with pytest.raises((RuntimeError, ValueError, TypeError)):
        cornerturn.transpose(Interface())
    with pytest.raises((RuntimeError, ValueError)):
        cornerturn.transpose(Interface(), out=np.zeros((3, 2), "f4"))
    with pytest.raises(RuntimeError):
        cornerturn._core.execute(4096, 8192, 4, (2, 3), (12, 4), (4, 8), 0)
