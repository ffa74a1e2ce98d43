"""What a DLPack capsule says may be anything: it is refused in one line, or read as it is."""

import ctypes

import numpy as np
import pytest

import cornerturn


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Exporter:
    """Shows six numbers, with what is changed."""

    def __init__(self, **changes):
        self.values = np.arange(6, dtype=np.float32)
        self.shape = (ctypes.c_int64 * 2)(*changes.pop("extents", (2, 3)))
        told = dict(data=self.values.ctypes.data, device_type=1, rank=2, code=2, bits=32, lanes=1, shape=self.shape)
        self.managed = Managed(Tensor(**(told | changes)))

    def __dlpack_device__(self):
        return self.managed.tensor.device_type, 0

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.managed), b"dltensor", None)


NOTHING = ctypes.POINTER(ctypes.c_int64)()
REFUSED = [
    (dict(rank=-1), "its rank is -1: it has to be 0 to 64"),
    (dict(rank=-(2**31)), "its rank is -2147483648: "),
    (dict(rank=65), "its rank is 65: "),
    (dict(rank=10**9), "its rank is 1000000000: "),
    (dict(shape=NOTHING), "its rank is 2, but it has no shape"),
    (dict(rank=10**9, shape=NOTHING), "its rank is 1000000000: "),
    (dict(extents=(2, -3)), "its shape[1] is -3: extents are not negative"),
    (dict(extents=(2**62, 2**62)), "more elements than memory has bytes"),
    (dict(data=None), "it has elements, but its address is null"),
    (dict(bits=0), "its elements have no bits"),
    (dict(lanes=0), "its elements have no bits"),
    (dict(bits=4), "smaller than a byte"),
    (dict(device_type=99), "neither in host memory nor on a CUDA GPU"),
]  # fmt: skip


@pytest.mark.parametrize("changes, text", REFUSED)
def test_capsules_that_are_refused(changes, text):
    with pytest.raises(BufferError) as caught:
        cornerturn.transpose(Exporter(**changes))
    line = str(caught.value)
    assert line.startswith("x cannot be read through DLPack: ") and text in line and len(line) < 200
    with pytest.raises(BufferError):
        cornerturn.copy(np.zeros((2, 3), np.float32), Exporter(**changes))


def test_capsules_that_are_read():
    assert cornerturn.transpose(Exporter()).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert cornerturn.transpose(Exporter(rank=0, shape=NOTHING)).tolist() == 0
    assert cornerturn.transpose(Exporter(extents=(0, 3), data=None)).shape == (3, 0)


@pytest.mark.parametrize("kind", [1, 3])
def test_host_memory_is_asked_for_without_a_stream(kind):
    """Pinned memory too: only memory of a GPU is ready on a stream."""
    asked = []

    class Asked(Exporter):
        def __dlpack__(self, **options):
            asked.append(options)
            return super().__dlpack__()

    assert cornerturn.transpose(Asked(device_type=kind)).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert asked and not any("stream" in options for options in asked)


@pytest.mark.parametrize("capsule", [None, 5, "text", object()])
def test_what_is_no_capsule(capsule):
    class NoCapsule(Exporter):
        def __dlpack__(self, **_):
            return capsule

    with pytest.raises(BufferError, match="^x cannot be read through DLPack: __dlpack__ returned no DLPack capsule$"):
        cornerturn.transpose(NoCapsule())


@pytest.mark.parametrize("device", [None, 5, (), (1,), ("cpu", 0)])
def test_what_is_no_device(device):
    class NoDevice(Exporter):
        def __dlpack_device__(self):
            return device

    with pytest.raises(BufferError, match="^x cannot be read through DLPack: __dlpack_device__ returned .*, not two integers$"):
        cornerturn.transpose(NoDevice())
