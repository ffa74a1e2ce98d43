"""cuTENSOR's permutation, through its C interface."""

import ctypes
import sys
from pathlib import Path

import geometry

REAL_TYPES = {2: (2, "32F"), 4: (0, "32F"), 8: (1, "64F")}  # cudaDataType_t: R_16F, R_32F, R_64F
IDENTITY = 1  # CUTENSOR_OP_IDENTITY
DEFAULT_ALGORITHM = -1  # CUTENSOR_ALGO_DEFAULT
NO_JIT = 0  # CUTENSOR_JIT_MODE_NONE


def load(name, pattern):
    """The library of a wheel, or the one that the loader finds."""
    for folder in sys.path:
        found = sorted(Path(folder or ".").glob(f"{pattern}/{name}"))
        if found:
            return ctypes.CDLL(str(found[0]), ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(name)


def alignment_of(offset):
    """What the harness's page-aligned buffers are aligned to, so many bytes on."""
    return min(128, offset & -offset) if offset else 128


def names_of(numbers):
    return (ctypes.c_int32 * len(numbers))(*(n + 1 for n in numbers))


class CuTensor:
    def __init__(self):
        load("libcublasLt.so.13", "nvidia/*/lib")  # cuTENSOR looks for it
        self.library = load("libcutensor.so.2", "cutensor/lib")
        self.library.cutensorGetErrorString.restype = ctypes.c_char_p
        self.library.cutensorGetVersion.restype = ctypes.c_size_t
        number = self.library.cutensorGetVersion()
        self.version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        self.handle = ctypes.c_void_p()
        self.call("cutensorCreate", ctypes.byref(self.handle))
        self.preference = ctypes.c_void_p()
        self.call("cutensorCreatePlanPreference", self.handle, ctypes.byref(self.preference),
                  ctypes.c_int(DEFAULT_ALGORITHM), ctypes.c_int(NO_JIT))  # fmt: skip
        self.plan = ctypes.c_void_p()
        self.made = []

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            text = self.library.cutensorGetErrorString(ctypes.c_int(status)).decode()
            raise RuntimeError(f"{name}: {text}")

    def tensor(self, modes, side, type_, alignment):
        count = len(modes)
        extents = (ctypes.c_int64 * count)(*(m.extent for m in modes))
        strides = (ctypes.c_int64 * count)(*(getattr(m, side) for m in modes))
        tensor = ctypes.c_void_p()
        self.call("cutensorCreateTensorDescriptor", self.handle, ctypes.byref(tensor), ctypes.c_uint32(count),
                  extents, strides, ctypes.c_int(type_), ctypes.c_uint32(alignment))  # fmt: skip
        self.made.append(("cutensorDestroyTensorDescriptor", tensor))
        return tensor

    def forget(self):
        for destroy, what in self.made:
            self.call(destroy, what)
        self.made = []

    def prepare(self, case, stream):
        self.forget()
        size = case["element_bytes"]
        if size not in REAL_TYPES:
            return "cuTENSOR has elements of 2, 4 and 8 bytes"
        modes = geometry.fused(case) or [geometry.Mode(1, 1, 1)]
        if min(min(m.src, m.dst) for m in modes) < 0:
            return "cuTENSOR has no negative strides"
        type_, compute = REAL_TYPES[size]
        self.stream = ctypes.c_void_p(stream)
        self.offsets = case["src_offset"] * size, case["dst_offset"] * size
        read = [k for k, mode in enumerate(modes) if mode.src != 0]  # without a mode, the source is broadcast along it
        src = self.tensor([modes[k] for k in read], "src", type_, alignment_of(self.offsets[0]))
        dst = self.tensor(modes, "dst", type_, alignment_of(self.offsets[1]))
        operation = ctypes.c_void_p()
        self.call("cutensorCreatePermutation", self.handle, ctypes.byref(operation), src, names_of(read),
                  ctypes.c_int(IDENTITY), dst, names_of(range(len(modes))),
                  ctypes.c_void_p.in_dll(self.library, f"CUTENSOR_COMPUTE_DESC_{compute}"))  # fmt: skip
        self.made.append(("cutensorDestroyOperationDescriptor", operation))
        self.plan = ctypes.c_void_p()
        self.call("cutensorCreatePlan", self.handle, ctypes.byref(self.plan), operation, self.preference,
                  ctypes.c_uint64(0))  # fmt: skip
        self.made.append(("cutensorDestroyPlan", self.plan))
        self.one = ctypes.c_double(1) if compute == "64F" else ctypes.c_float(1)
        return None

    def run(self, src, dst):
        self.call("cutensorPermute", self.handle, self.plan, ctypes.byref(self.one),
                  ctypes.c_void_p(src + self.offsets[0]), ctypes.c_void_p(dst + self.offsets[1]), self.stream)  # fmt: skip
