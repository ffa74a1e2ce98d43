"""cuda::copy of CCCL, once cudax::copy, through the library bench_gpu_cccl."""

import ctypes
import os

import geometry

SIZES = (1, 2, 4, 8, 16)
MOST = 2**31 - 1


def span(modes, side):
    """How many elements lie between the first and the last one of `modes`, both included."""
    return 1 + sum((m.extent - 1) * abs(getattr(m, side)) for m in modes)


def is_interleaved(modes):
    """Whether a destination that cuda::copy refuses: one stride does not step over all of the next smaller mode."""
    return any(inner.extent * abs(inner.dst) > abs(outer.dst) for outer, inner in zip(modes, modes[1:]))


class Cccl:
    """cuda::copy(device_mdspan, device_mdspan, stream)"""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(os.environ.get("CORNERTURN_CCCL_LIBRARY", library)))
        self.copy = self.library.cornerturn_cccl_copy
        self.copy.restype = ctypes.c_char_p
        self.copy.argtypes = [ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 6]
        number = self.library.cornerturn_cccl_version()
        self.version = f"CCCL {number // 1000000}.{number // 1000 % 1000}.{number % 1000}"

    def prepare(self, case, stream):
        size = case["element_bytes"]
        if size not in SIZES:
            return "cuda::copy is compiled for elements of 1, 2, 4, 8 and 16 bytes"
        modes = geometry.fused(case) or [geometry.Mode(1, 1, 1)]
        if max(span(modes, "src"), span(modes, "dst")) > MOST:
            return "cuda::copy is compiled for indices of 32 bits"
        if is_interleaved(modes):
            return "cuda::copy takes no destination with interleaved strides"
        self.arrays = [(ctypes.c_int32 * len(modes))(*values) for values in zip(*modes)]
        self.offsets = case["src_offset"] * size, case["dst_offset"] * size
        self.size, self.rank, self.stream = size, len(modes), stream
        return None

    def run(self, src, dst):
        error = self.copy(self.size, self.rank, *self.arrays, src + self.offsets[0], dst + self.offsets[1], self.stream)
        if error:
            raise RuntimeError(f"cuda::copy: {error.decode()}")
