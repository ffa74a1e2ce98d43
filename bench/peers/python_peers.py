#!/usr/bin/env python3
"""Measures numpy or torch by the rules of `cornerturn bench`.

usage: python_peers.py LIBRARY.so numpy|torch [options of `cornerturn bench`]

The harness (libbench_python.so) owns the buffers, the clock and the checks, and calls back for each
run, so the rules are the same code as for every other peer.
"""
import ctypes
import importlib
import json
import sys

Prepare = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t
)
Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Peer:
    """Keeps the views of the case that is being measured, made once for each pair of buffers."""

    def __init__(self, module):
        self.module = module
        self.version = module.__version__
        self.case = None
        self.views = {}

    def prepare(self, case, threads):
        """Returns the reason for skipping `case`, or None."""
        self.case = case
        self.views = {}
        return self.reason_to_skip(case, threads)

    def run(self, src, dst):
        views = self.views.get(src)
        if views is None:
            views = self.views[src] = (
                self.view(src, "src"),
                self.view(dst, "dst"),
            )
        self.copy(*views)


def bytes_at(address, size):
    return (ctypes.c_ubyte * size).from_address(address)


class NumpyPeer(Peer):
    """np.copyto(out, view of x)"""

    def reason_to_skip(self, case, threads):
        if threads > 1:
            return "numpy has one thread"
        if len(case["shape"]) > 64:
            return "numpy has at most 64 dimensions"
        return None

    def view(self, address, side):
        np = self.module
        case = self.case
        size = case["element_bytes"]
        kind = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(size, f"V{size}")
        return np.ndarray(
            case["shape"],
            kind,
            bytes_at(address, case[side + "_span_bytes"]),
            case[side + "_offset"] * size,
            [s * size for s in case[side + "_strides"]],
        )

    def copy(self, src, dst):
        self.module.copyto(dst, src)


class TorchPeer(Peer):
    """out.copy_(view of x)"""

    def reason_to_skip(self, case, threads):
        torch = self.module
        torch.set_num_threads(threads)
        if min(case["src_strides"] + case["dst_strides"], default=0) < 0:
            return "torch has no negative strides"
        if case["element_bytes"] not in (1, 2, 4, 8, 16):
            return "torch has elements of 1, 2, 4, 8 and 16 bytes"
        return None

    def view(self, address, side):
        torch = self.module
        case = self.case
        size = case["element_bytes"]
        kind = {
            1: torch.uint8,
            2: torch.int16,
            4: torch.float32,
            8: torch.float64,
            16: torch.complex128,
        }[size]
        flat = torch.frombuffer(bytes_at(address, case[side + "_span_bytes"]), dtype=kind)
        return flat.as_strided(case["shape"], case[side + "_strides"], case[side + "_offset"])

    def copy(self, src, dst):
        dst.copy_(src)


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("numpy", "torch"):
        sys.exit(__doc__)
    name = sys.argv[2]
    module = importlib.import_module(name)
    peer = {"numpy": NumpyPeer, "torch": TorchPeer}[name](module)

    @Prepare
    def prepare(case_json, threads, answer, size):
        reason = peer.prepare(json.loads(case_json), threads) or ""
        text = reason.encode()[: size - 1] + b"\0"
        ctypes.memmove(answer, text, len(text))

    run = Run(peer.run)
    library = ctypes.CDLL(sys.argv[1])
    library.cornerturn_bench_peer.argtypes = [
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.c_char_p,
        ctypes.c_char_p,
        Prepare,
        Run,
    ]
    arguments = [f"bench_{name}".encode()] + [a.encode() for a in sys.argv[3:]]
    argv = (ctypes.c_char_p * len(arguments))(*arguments)
    sys.exit(
        library.cornerturn_bench_peer(
            len(arguments), argv, name.encode(), peer.version.encode(), prepare, run
        )
    )


if __name__ == "__main__":
    main()
