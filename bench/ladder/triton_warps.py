#!/usr/bin/env python3
"""Times Triton's kernels of one element a program with 1, 2, 4 and 8 warps, and prints JSON.

usage: triton_warps.py [SIDE]

It needs PyTorch, Triton and a GPU, but not the built package: the kernels are read from the source tree. Each is
checked. Its grid has a program for each element of a matrix of SIDE x SIDE floats (4096), so that the programs a
second are how many blocks the GPU starts. The line is one of RUNS.jsonl for collect.py.
"""

import json
import statistics
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "cornerturn" / "ladder"))

from triton_rungs import triton_1d, triton_2d, triton_trans_1x1  # noqa: E402

ROUNDS = 9


def seconds(call):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e-3


def main():
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    a = torch.rand(side, side, device="cuda")
    b = torch.empty(side, side, device="cuda")
    subjects = {}
    for module, grid in (
        (triton_1d, (side * side,)), (triton_2d, (side, side)), (triton_trans_1x1, (side, side))
    ):  # fmt: skip
        for warps in (1, 2, 4, 8):
            name = module.__name__.rpartition(".")[2]
            call = lambda module=module, grid=grid, warps=warps: module.kernel[grid](a, b, side, side, num_warps=warps)
            b.fill_(-1)
            call()
            if not torch.equal(b, a.t()):
                sys.exit(f"triton_warps.py: {name} with {warps} warps: the result is wrong")
            subjects[name, warps] = call
    times = {key: [] for key in subjects}
    for _ in range(ROUNDS):
        for key, call in subjects.items():
            times[key].append(seconds(call))
    rows = []
    for (name, warps), seen in times.items():
        median = statistics.median(seen)
        rows.append({
            "kernel": name, "warps": warps, "seconds": median, "runs": len(seen), "blocks": side * side,
            "blocks_a_second": float(f"{side * side / median:.4g}"),
        })  # fmt: skip
    print(json.dumps({"shape": [side, side], "dtype": "f32", "warps": rows}))


if __name__ == "__main__":
    main()
