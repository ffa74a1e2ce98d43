"""PyTorch: eager and compiled, and a kernel in Triton, on tensors over the harness's buffers."""

import geometry
import torch

TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}
NAMES = {1: "|u1", 2: "<i2", 4: "<f4", 8: "<f8", 16: "<c16"}


class Memory:
    """Bytes of the GPU at an address, for torch.as_tensor."""

    def __init__(self, address, bytes_, element_bytes):
        self.__cuda_array_interface__ = {
            "shape": (bytes_ // element_bytes,),
            "typestr": NAMES[element_bytes],
            "data": (address, False),
            "version": 2,
        }


def flat(address, bytes_, element_bytes):
    return torch.as_tensor(Memory(address, bytes_, element_bytes), device="cuda")


def view(address, case, side):
    tensor = flat(address, case[side + "_span_bytes"], case["element_bytes"])
    return tensor.as_strided(case["shape"], case[side + "_strides"], case[side + "_offset"])


class Torch:
    """out.copy_(view of x): what x.permute(...).contiguous() runs."""

    version = torch.__version__

    def prepare(self, case, stream):
        torch.cuda.set_stream(torch.cuda.ExternalStream(stream))
        self.case = case
        self.views = {}
        if min(case["src_strides"] + case["dst_strides"], default=0) < 0:
            return "torch has no negative strides"
        if case["element_bytes"] not in TYPES:
            return "torch has elements of 1, 2, 4, 8 and 16 bytes"
        return None

    def run(self, src, dst):
        views = self.views.get(src)
        if views is None:
            views = self.views[src] = view(src, self.case, "src"), view(dst, self.case, "dst")
        self.copy(*views)

    def copy(self, src, dst):
        dst.copy_(src)


class TorchCompile(Torch):
    """torch.compile(lambda out, x: out.copy_(x)), compiled for the shape and the strides."""

    def prepare(self, case, stream):
        reason = super().prepare(case, stream)
        if reason:
            return reason
        torch.compiler.reset()

        def permute(dst, src):
            dst.copy_(src)

        self.compiled = torch.compile(permute, dynamic=False, fullgraph=True)
        return None

    def copy(self, src, dst):
        self.compiled(dst, src)


def triton_peer():
    import triton
    import triton.language as tl

    @triton.jit
    def transpose(src, dst, rows, cols, src_pitch, dst_pitch, src_step, dst_step, R: tl.constexpr, C: tl.constexpr):
        across = tl.cdiv(rows, R)
        tile = tl.program_id(0)
        batch = tl.program_id(1).to(tl.int64)
        m = (tile % across * R + tl.arange(0, R)).to(tl.int64)
        n = (tile // across * C + tl.arange(0, C)).to(tl.int64)
        inside = (m < rows)[:, None] & (n < cols)[None, :]
        values = tl.load(src + batch * src_step + m[:, None] * src_pitch + n[None, :], mask=inside)
        inside_dst = (n < cols)[:, None] & (m < rows)[None, :]
        tl.store(dst + batch * dst_step + n[:, None] * dst_pitch + m[None, :], tl.trans(values), mask=inside_dst)

    class Triton:
        """A masked tile through tl.trans, the fastest of three tiles for the case."""

        version = triton.__version__
        tiles = [(64, 64, 4), (32, 128, 4), (128, 128, 8)]

        def prepare(self, case, stream):
            torch.cuda.set_stream(torch.cuda.ExternalStream(stream))
            self.case = case
            self.views = {}
            self.matrices = geometry.matrices(case, longest_batch=65535)
            if self.matrices is None:
                return "the Triton kernel transposes batches of matrices"
            if case["element_bytes"] not in (1, 2, 4, 8):
                return "the Triton kernel takes elements of 1, 2, 4 and 8 bytes"
            self.tile = min(self.tiles, key=lambda tile: self.seconds(tile, case["src"], case["dst"]))
            return None

        def seconds(self, tile, src, dst):
            self.tile = tile
            times = []
            for _ in range(4):  # the first one compiles
                start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                self.run(src, dst)
                stop.record()
                stop.synchronize()
                times.append(start.elapsed_time(stop))
            return min(times)

        def run(self, src, dst):
            case, m = self.case, self.matrices
            views = self.views.get(src)
            if views is None:
                views = self.views[src] = tuple(
                    flat(address, case[side + "_span_bytes"], case["element_bytes"])[case[side + "_offset"] :]
                    for address, side in ((src, "src"), (dst, "dst"))
                )
            rows, cols, warps = self.tile
            grid = (triton.cdiv(m.rows, rows) * triton.cdiv(m.cols, cols), m.batch.extent)
            transpose[grid](*views, m.rows, m.cols, m.src_pitch, m.dst_pitch, m.batch.src, m.batch.dst,
                            R=rows, C=cols, num_warps=warps)  # fmt: skip

    return Triton()
