#!/usr/bin/env python3
"""Measures PyTorch on the cases that `bench_link --list` prints, on the GPU that is here.

usage: torch_peer.py CASES.json [--json OUT.json] [--suite A,B,...] [--case TEXT] [--seconds N]

strided copy_            dst.copy_(src), with views of any strides on both sides
contiguous, then copied  src.contiguous() where it lies, then across; out of the GPU: the same
copied, then permuted    the bytes from the first to the last element across, then dst.copy_(view)

Results are compared with those of a copy within the GPU before they are timed. A time is the median
of calls, each from the call to the end of the GPU's work, by the host's clock. Calls go through
several buffers one after the other. 100 % is a dense copy of as many bytes, in pinned memory, in
the same run. Cases with a scale are left out.
"""

import argparse
import datetime
import json
import mmap
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

COLD_BYTES = 256 << 20
MOST_SLOTS = 64
MOST_CALLS = 100

# Bytes that are moved unread have integers of their size.
TYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "f8_e4m3": "float8_e4m3fn", "u8": "uint8"}


def key(case: dict) -> tuple[str, str, str, str]:
    """By which a case is known in every file of results."""
    return case["suite"], case["case"], case["way"], case["memory"]


def span(case: dict, side: str) -> tuple[int, int]:
    """The first element of a side, and how many there are to the last, of strides that are positive."""
    steps = zip(case["shape"], case[f"{side}_strides"])
    return case[f"{side}_offset"], 1 + sum((extent - 1) * stride for extent, stride in steps)


class Buffers:
    """Both sides of a case, as flat arrays of so many slots."""

    def __init__(self, torch, case: dict):
        self.torch, self.case = torch, case
        self.into = case["way"] == "into"
        self.types = {side: getattr(torch, TYPES[case[name]]) for side, name in (("src", "from"), ("dst", "to"))}
        self.spans = {side: span(case, side) for side in ("src", "dst")}
        host = "src" if self.into else "dst"
        bytes_of_host = sum(self.spans[host]) * self.types[host].itemsize
        self.slots = max(1, min(MOST_SLOTS, COLD_BYTES // max(bytes_of_host, case["bytes"])))
        self.flat = {}
        for side in ("src", "dst"):
            count = sum(self.spans[side])
            make = self.on_host if side == host else self.on_gpu
            self.flat[side] = [make(count, self.types[side]) for _ in range(self.slots)]
        self.fill()

    def on_gpu(self, count, dtype):
        return self.torch.empty(count, dtype=dtype, device="cuda")

    def on_host(self, count, dtype):
        torch, memory = self.torch, self.case["memory"]
        if memory != "mapped":
            return torch.empty(count, dtype=dtype, pin_memory=memory == "pinned")
        size = count * dtype.itemsize
        with tempfile.TemporaryFile() as file:
            file.truncate(size)
            return torch.frombuffer(mmap.mmap(file.fileno(), size), dtype=dtype)

    def fill(self):
        """Small numbers, which every type holds; of slots but the first the same ones."""
        torch = self.torch
        first = self.flat["src"][0]
        numbers = torch.randint(0, 16, first.shape, dtype=torch.uint8, device="cuda")
        for flat in self.flat["src"]:
            flat.copy_(numbers.to(first.dtype))
        for flat in self.flat["dst"]:
            flat.view(torch.uint8).fill_(0x5A)

    def view(self, side: str, flat):
        return flat.as_strided(self.case["shape"], self.case[f"{side}_strides"], self.spans[side][0])

    def of(self, slot: int):
        src, dst = (self.flat[side][slot] for side in ("src", "dst"))
        return self.view("src", src), self.view("dst", dst)


def contestants(buffers: Buffers) -> dict:
    """Calls for a slot, by their names."""
    torch, into = buffers.torch, buffers.into
    host = "src" if into else "dst"
    first, count = buffers.spans[host]
    element = buffers.types[host].itemsize
    pinned = torch.empty(buffers.case["bytes"], dtype=torch.uint8, pin_memory=True)
    there = torch.empty(buffers.case["bytes"], dtype=torch.uint8, device="cuda")
    is_dense = count * element == buffers.case["bytes"]

    def dense(_):
        (there if into else pinned).copy_(pinned if into else there, non_blocking=True)

    def strided(slot):
        src, dst = buffers.of(slot)
        dst.copy_(src, non_blocking=True)

    def contiguous(slot):
        src, dst = buffers.of(slot)
        if into:
            dst.copy_(src.contiguous(), non_blocking=True)
        else:
            dst.copy_(src.contiguous().cpu())

    def permuted(slot):
        src, dst = buffers.of(slot)
        flat = buffers.flat[host][slot]
        if into:
            crossed = flat[first:].to("cuda", non_blocking=True)
            dst.copy_(crossed.as_strided(src.shape, src.stride(), 0))
            return
        scratch = torch.empty(flat.shape, dtype=flat.dtype, device="cuda")
        buffers.view("dst", scratch).copy_(src)
        flat[first:].copy_(scratch[first:], non_blocking=True)

    calls = {"dense": dense, "strided copy_": strided, "contiguous, then copied": contiguous}
    if into or is_dense:  # else what lies between the elements would be overwritten
        calls["copied, then permuted"] = permuted
    return calls


def is_right(buffers: Buffers, call, expected) -> bool:
    """As numbers, which all types of the cases have. A destination on the host is looked at on the GPU."""
    flat = buffers.flat["dst"][0]
    flat.view(buffers.torch.uint8).fill_(0x5A)
    call(0)
    buffers.torch.cuda.synchronize()
    return buffers.torch.equal(buffers.view("dst", flat.to("cuda")).float(), expected)


def timed(torch, call, slots: int, budget: float) -> list[float]:
    """The first call is not counted, but where it takes long there is one more and no other."""
    times: list[float] = []
    for slot in range(MOST_CALLS + 1):
        started = time.perf_counter()
        call(slot % slots)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
        if slot > 0 and (sum(times) >= 2 * budget or sum(times[1:]) >= budget):
            break
    return times[1:]


def measured(torch, case: dict, budget: float) -> dict:
    buffers = Buffers(torch, case)
    source = buffers.view("src", buffers.flat["src"][0].to("cuda"))
    expected = source.to(buffers.types["dst"]).float()
    results = []
    for name, call in contestants(buffers).items():
        result = {"name": name}
        try:
            if name != "dense" and not is_right(buffers, call, expected):
                result["wrong"] = "its result is not what the GPU makes of the source"
            else:
                times = timed(torch, call, buffers.slots, budget)
                result |= {"seconds": float(f"{statistics.median(times):.4g}"), "best_seconds": float(f"{min(times):.4g}"), "calls": len(times)}
        except (RuntimeError, NotImplementedError) as error:
            result["wrong"] = str(error).splitlines()[0]
        results.append(result)
    return {**case, "slots": buffers.slots, "contestants": results}


def provenance(torch) -> dict:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "gpu": torch.cuda.get_device_name(),
        "cuda_of_build": torch.version.cuda,
        "processors": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", type=Path, help="what `bench_link --list` has printed")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--suite", default="", help="only these, with commas between them")
    parser.add_argument("--case", default="", help="only cases in whose name, way or memory this stands")
    parser.add_argument("--seconds", type=float, default=0.1, help="of one contestant in one case")
    arguments = parser.parse_args()
    suites = [suite for suite in arguments.suite.split(",") if suite]
    cases = [
        case
        for case in json.loads(arguments.cases.read_text())["cases"]
        if (not suites or case["suite"] in suites) and arguments.case in " ".join(key(case)) and case["scaled_axis"] < 0
    ]
    import torch

    report = {"kind": "cornerturn-link", "schema": 1, "subject": "torch", "version": torch.__version__}
    report["provenance"] = provenance(torch)
    report["cases"] = []
    for case in cases:
        result = measured(torch, case, arguments.seconds)
        report["cases"].append(result)
        times = ", ".join(f"{one['name']} {1e6 * one['seconds']:.0f} us" if "seconds" in one else f"{one['name']}: {one['wrong']}" for one in result["contestants"])
        print(" ".join(key(case)), times, file=sys.stderr, flush=True)
        torch.cuda.empty_cache()
    if arguments.json:
        head = json.dumps({name: value for name, value in report.items() if name != "cases"}, indent=1)
        lines = ",\n  ".join(json.dumps(case) for case in report["cases"])
        arguments.json.write_text(f"{head[:-2]},\n \"cases\": [\n  {lines}\n ]\n}}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
