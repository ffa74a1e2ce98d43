"""CuPy, and cuBLAS through CuPy's bindings, on arrays over the harness's buffers."""

import cupy
import geometry
import numpy as np

TYPES = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}


def view(address, case, side):
    size = case["element_bytes"]
    memory = cupy.cuda.UnownedMemory(address, case[side + "_span_bytes"], None)
    start = cupy.cuda.MemoryPointer(memory, case[side + "_offset"] * size)
    return cupy.ndarray(case["shape"], TYPES[size], start, [s * size for s in case[side + "_strides"]])


class CuPy:
    """cupy.copyto(out, view of x)"""

    version = cupy.__version__

    def prepare(self, case, stream):
        self.stream = cupy.cuda.ExternalStream(stream)
        self.stream.use()
        self.case = case
        self.views = {}
        if case["element_bytes"] not in TYPES:
            return "CuPy has elements of 1, 2, 4, 8 and 16 bytes"
        return None

    def run(self, src, dst):
        views = self.views.get(src)
        if views is None:
            views = self.views[src] = view(src, self.case, "src"), view(dst, self.case, "dst")
        cupy.copyto(views[1], views[0])


class CublasGeam:
    """cublas?geam with beta = 0"""

    def __init__(self):
        from cupy_backends.cuda.libs import cublas

        self.cublas = cublas
        self.handle = cupy.cuda.device.get_cublas_handle()
        self.version = str(cublas.getVersion(self.handle))
        self.call = {4: (cublas.sgeam, "f4"), 8: (cublas.dgeam, "f8"), 16: (cublas.zgeam, "c16")}

    def prepare(self, case, stream):
        size = case["element_bytes"]
        if size not in self.call:
            return "geam takes elements of 4, 8 and 16 bytes"
        self.matrix = geometry.matrices(case)
        if self.matrix is None:
            return "geam transposes one matrix"
        if max(self.matrix[:4]) >= 2**31:
            return "geam counts in 32 bits"
        self.stream = cupy.cuda.ExternalStream(stream)
        self.stream.use()  # which CuPy gives to cuBLAS with each call
        self.function, kind = self.call[size]
        self.one, self.zero = np.ones(1, kind), np.zeros(1, kind)
        self.offsets = case["src_offset"] * size, case["dst_offset"] * size
        return None

    def run(self, src, dst):
        m, cublas = self.matrix, self.cublas
        src, dst = src + self.offsets[0], dst + self.offsets[1]
        self.function(
            self.handle, cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, m.rows, m.cols,
            self.one.ctypes.data, src, m.src_pitch, self.zero.ctypes.data, dst, m.dst_pitch, dst, m.dst_pitch,
        )  # fmt: skip
