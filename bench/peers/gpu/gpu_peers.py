#!/usr/bin/env python3
"""Measures one peer on a GPU by the rules of `cornerturn bench --device gpu`.

usage: gpu_peers.py --peer NAME [--per-class N] [--library libbench_gpu_python.so] [options of
       `cornerturn bench`, e.g. --suite everyday,ttc57 --json OUT.json --max-seconds 60]

NAME is torch, torch_compile, triton, jax, cupy, cublas_geam, cutensor or cccl. --per-class: only so many cases
of each class, element size and suite, for peers that compile for every case. The harness owns the
buffers, the clock, the plain copy and the check, and calls back for each run. A peer that is not
installed is skipped, with exit code 3. cccl needs libbench_gpu_cccl.so in build/cuda/lib, or where
CORNERTURN_CCCL_LIBRARY says.
"""
import argparse
import collections
import ctypes
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parents[2] / "build" / "cuda" / "lib" / "libbench_gpu_python.so"

Prepare = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
Seconds = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)


def torch():
    import torch_peers

    return torch_peers.Torch()


def torch_compile():
    import torch_peers

    return torch_peers.TorchCompile()


def triton():
    import torch_peers

    return torch_peers.triton_peer()


def jax():
    import jax_peer

    return jax_peer.Jax()


def cupy():
    import cupy_peers

    return cupy_peers.CuPy()


def cublas_geam():
    import cupy_peers

    return cupy_peers.CublasGeam()


def cutensor():
    import cutensor_peer

    return cutensor_peer.CuTensor()


def cccl():
    import cccl_peer

    return cccl_peer.Cccl(LIBRARY.with_name("libbench_gpu_cccl.so"))


PEERS = {f.__name__: f for f in (torch, torch_compile, triton, jax, cupy, cublas_geam, cutensor, cccl)}


class Chosen:
    """Lets so many cases of each suite, class and element size through."""

    def __init__(self, per_class):
        self.per_class = per_class
        self.seen = collections.Counter()

    def reason_to_skip(self, case):
        key = case["suite"], case["class"], case["element_bytes"]
        self.seen[key] += 1
        if self.per_class and self.seen[key] > self.per_class:
            return f"only {self.per_class} of each class are measured"
        return None


def answering(function):
    """Runs function(*arguments) and leaves what it returns or raises in the caller's buffer."""

    def call(*arguments):
        *rest, answer, size = arguments
        try:
            text = function(*rest) or ""
        except Exception as error:  # it must not cross the C frames
            text = f"{type(error).__name__}: {error}".splitlines()[0]
        data = text.encode()[: size - 1] + b"\0"
        ctypes.memmove(answer, data, len(data))

    return call


def callbacks(peer, chosen):
    """The three functions that the harness calls."""

    def prepare(case_json, stream):
        case = json.loads(case_json)
        return chosen.reason_to_skip(case) or peer.prepare(case, stream or 0)

    def seconds(answer, size):
        value = [0.0]

        def measure():
            value[0] = peer.own_seconds()

        answering(measure)(answer, size)
        return value[0]

    own = Seconds(seconds) if hasattr(peer, "own_seconds") else Seconds()
    return Prepare(answering(prepare)), Run(answering(peer.run)), own


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--peer", required=True, choices=PEERS)
    parser.add_argument("--per-class", type=int, default=0)
    parser.add_argument("--library", default=os.environ.get("CORNERTURN_GPU_PEERS_LIBRARY", LIBRARY))
    arguments, rest = parser.parse_known_args()
    sys.path.insert(0, str(HERE))
    try:
        peer = PEERS[arguments.peer]()
    except Exception as error:  # not installed, or installed for another CUDA
        print(f"{arguments.peer}: skipped: {type(error).__name__}: {error}")
        sys.exit(3)
    library = ctypes.CDLL(str(arguments.library))
    library.cornerturn_gpu_peer.argtypes = [
        ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p, ctypes.c_char_p, Prepare, Run, Seconds,
    ]  # fmt: skip
    options = [f"gpu_peers {arguments.peer}".encode()] + [a.encode() for a in rest]
    argv = (ctypes.c_char_p * len(options))(*options)
    functions = callbacks(peer, Chosen(arguments.per_class))
    sys.exit(
        library.cornerturn_gpu_peer(
            len(options), argv, arguments.peer.encode(), peer.version.encode(), *functions
        )
    )


if __name__ == "__main__":
    main()
