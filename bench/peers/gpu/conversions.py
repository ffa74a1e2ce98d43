#!/usr/bin/env python3
"""PyTorch on the conversions that bench_conversions measures, each beside a plain copy of its bytes.

usage: conversions.py [--suite everyday.json] [--json FILE] [--max-seconds N]

Of each packed case: x.permute(axes).to(dtype, memory_format=torch.contiguous_format), as it is and
under torch.compile. Caches are cold: other data, 8 times the second-level cache, lies between two uses
of a buffer. Medians of 11 rounds, all contestants in turns.
"""
import argparse
import json
import math
import statistics
import time
from pathlib import Path

import geometry
import torch

HERE = Path(__file__).resolve().parent
PAIRS = [("f32", "bf16"), ("f32", "f8_e4m3"), ("bf16", "f32"), ("bf16", "f8_e4m3"), ("u8", "f32"), ("f32", "f16")]
TYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8_e4m3": torch.float8_e4m3fn,
    "u8": torch.uint8,
}
ROUNDS = 11
MOST_BYTES = 3 << 30


def milliseconds(run):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


def measure(case, source, target):
    """Seconds of eager, compiled and the plain copy; None where the case is no packed permutation."""
    packed = geometry.packed_permutation(case)
    if packed is None:
        return None
    shape, axes = packed
    elements = math.prod(shape)
    from_, to = TYPES[source], TYPES[target]
    moved = elements * (from_.itemsize + to.itemsize)
    cache = 8 * torch.cuda.get_device_properties(0).L2_cache_size
    slots = max(2, min(64, cache // moved + 1))
    inputs = [torch.randint(0, 200, shape, dtype=torch.uint8, device="cuda").to(from_) for _ in range(slots)]
    plain = torch.zeros(slots, 2, moved // 2, dtype=torch.uint8, device="cuda")

    def permuted(x):
        return x.permute(axes).to(to, memory_format=torch.contiguous_format)

    torch.compiler.reset()
    compiled = torch.compile(permuted, dynamic=False, fullgraph=True)
    runs = {
        "eager": lambda slot: permuted(inputs[slot]),
        "compiled": lambda slot: compiled(inputs[slot]),
        "copy": lambda slot: plain[slot, 1].copy_(plain[slot, 0]),
    }
    if not torch.equal(permuted(inputs[0]).view(torch.uint8), compiled(inputs[0]).view(torch.uint8)):
        raise RuntimeError(f"{case['name']}: compiled and eager differ")
    times = {name: [] for name in runs}
    slot = 0
    for round_ in range(ROUNDS + 1):
        for name, run in runs.items():
            slot = (slot + 1) % slots
            took = milliseconds(lambda run=run, slot=slot: run(slot))
            if round_ > 0:
                times[name].append(took)
    return {name: statistics.median(values) / 1e3 for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", default=HERE.parents[1] / "suites" / "everyday.json")
    parser.add_argument("--json")
    parser.add_argument("--max-seconds", type=float, default=1e9)
    arguments = parser.parse_args()
    suite = json.loads(Path(arguments.suite).read_text())
    report = {
        "kind": "cornerturn-conversions-torch",
        "torch": torch.__version__,
        "gpu": torch.cuda.get_device_name(0),
        "cases": [],
    }
    started = time.monotonic()
    for source, target in PAIRS:
        for case in suite["cases"]:
            bytes_ = 4 * math.prod(case["shape"])
            if 4 not in case["element_bytes"] or not 0 < bytes_ <= MOST_BYTES:
                continue
            if time.monotonic() - started > arguments.max_seconds:
                break
            seconds = measure(case, source, target)
            if seconds is None:
                continue
            report["cases"].append({"case": case["name"], "from": source, "to": target, "seconds": seconds})
            shares = {k: 100 * seconds["copy"] / seconds[k] for k in ("eager", "compiled")}
            print(f"{case['name']:32} {source:>8} {target:>8} eager {shares['eager']:5.1f} %"
                  f"  compiled {shares['compiled']:5.1f} %", flush=True)  # fmt: skip
            if arguments.json:
                Path(arguments.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
