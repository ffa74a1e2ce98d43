"""JAX, which runs on a stream of its own: it is timed by the clock, over many calls at a time.

Sixteen permutations at the most, of different arrays, are one compiled function; several calls of it
are in flight, so that what the clock sees is the device's time and no launch waits for the host.
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import cupy
import geometry
import jax
import jax.numpy as jnp

TYPES = {1: "u1", 2: "u2", 4: "f4", 8: "f8"}
COLD_BYTES = 480e6  # all arrays together: several times an L2 cache


class Jax:
    """jax.jit(lambda x: jnp.transpose(x, axes))"""

    version = jax.__version__

    def __init__(self):
        jax.config.update("jax_enable_x64", True)

    def prepare(self, case, stream):
        self.case = case
        self.stream = cupy.cuda.ExternalStream(stream)
        self.sources = None
        if case["element_bytes"] not in TYPES:
            return "JAX has elements of 1, 2, 4 and 8 bytes"
        packed = geometry.packed_permutation(case)
        if packed is None:
            return "JAX permutes packed arrays"
        self.shape, axes = packed
        self.permute = jax.jit(lambda x: jnp.transpose(x, axes))

        def several(sources):
            out = []
            for x in sources:  # one after the other, none of them fused
                if out:
                    x, _ = jax.lax.optimization_barrier((x, out[-1]))
                out.append(jnp.transpose(x, axes))
            return out

        self.several = jax.jit(several)
        return None

    def array(self, address, side):
        memory = cupy.cuda.UnownedMemory(address, self.case[side + "_span_bytes"], None)
        shape = self.shape if side == "src" else self.case["shape"]
        return cupy.ndarray(shape, TYPES[self.case["element_bytes"]], cupy.cuda.MemoryPointer(memory, 0))

    def run(self, src, dst):
        self.stream.synchronize()
        x = jnp.from_dlpack(self.array(src, "src"))
        y = self.permute(x)
        y.block_until_ready()
        with self.stream:
            cupy.copyto(self.array(dst, "dst"), cupy.from_dlpack(y))
        self.stream.synchronize()
        count = max(2, min(16, int(COLD_BYTES / (2 * y.nbytes)) + 1))
        self.sources = [jnp.copy(x) for _ in range(count)]
        self.calls = 5 if y.nbytes < 1e9 else 2
        jax.block_until_ready(self.several(self.sources))

    def own_seconds(self):
        start = time.perf_counter()
        for _ in range(self.calls):
            last = self.several(self.sources)
        jax.block_until_ready(last)
        return (time.perf_counter() - start) / (self.calls * len(self.sources))
