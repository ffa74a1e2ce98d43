#!/usr/bin/env python3
"""Measures the Python package on the GPU that is here, beside PyTorch, and writes JSON.

usage: gpu.py [--json OUT.json] [--engine PROGRAM] [--rounds N] [--quick]

Latency: microseconds of one call of many back to back, from the first call to the end of the GPU's
work, on a 64 x 64 float32 tensor; the median of the rounds.

Rate: large tensors, the bytes read and written per second of a call, new result included, timed by
the GPU's events over several calls in a row; the median of the rounds, in which all contestants take
turns. `copy` is torch's out.copy_(x) of the same bytes, `engine` the library's own launches into
a result that is there, recorded in a graph, without Python. With --engine, `cornerturn bench` of
that program measures the same cases too.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import torch  # noqa: E402

import cornerturn  # noqa: E402
import cornerturn.torch  # noqa: E402
from cornerturn import _core  # noqa: E402

# Name, shape, dtype, dims.
LARGE = [
    ("matrix 16384 x 16384", (16384, 16384), torch.float32, (1, 0)),
    ("matrix 16384 x 16384", (16384, 16384), torch.bfloat16, (1, 0)),
    ("images NHWC to NCHW", (128, 224, 224, 64), torch.float32, (0, 3, 1, 2)),
    ("attention B S H D to B H S D", (16, 8192, 32, 128), torch.bfloat16, (0, 2, 1, 3)),
    ("cube, reversed", (640, 768, 512), torch.float64, (2, 1, 0)),
]


def latencies(rounds, calls):
    x = torch.randn(64, 64, device="cuda")
    out = torch.empty(64, 64, device="cuda")
    compiled = torch.compile(lambda t: t.t().contiguous(), fullgraph=True)
    compiled_op = torch.compile(lambda t: cornerturn.torch.permute(t, (1, 0)), fullgraph=True)
    contestants = {
        "cornerturn.transpose(x)": lambda: cornerturn.transpose(x),
        "cornerturn.transpose(x, out=out)": lambda: cornerturn.transpose(x, out=out),
        "cornerturn.torch.permute(x, (1, 0))": lambda: cornerturn.torch.permute(x, (1, 0)),
        "torch.ops.cornerturn.permute_copy(x, (1, 0))": lambda: (
            torch.ops.cornerturn.permute_copy(x, (1, 0))
        ),
        "torch.compile(cornerturn.torch.permute)(x)": lambda: compiled_op(x),
        "x.t().contiguous()": lambda: x.t().contiguous(),
        "torch.compile(x.t().contiguous())": lambda: compiled(x),
        "x.clone()": lambda: x.clone(),
        "torch.empty_like(x)": lambda: torch.empty_like(x),
        "torch.cuda._sleep(0)": lambda: torch.cuda._sleep(0),  # a launch and nothing else
    }
    add_cupy(contestants)
    add_jax(contestants)
    times = {name: [] for name in contestants}
    for name, call in contestants.items():
        warm_up(call)
    for _ in range(rounds):
        for name, call in contestants.items():
            times[name].append(back_to_back(call, calls))
    with cornerturn.torch.enable():
        name = "x.t().contiguous() in enable()"
        warm_up(contestants["x.t().contiguous()"])
        call = contestants["x.t().contiguous()"]
        times[name] = [back_to_back(call, calls) for _ in range(rounds)]
    return {
        name: {"us": round(statistics.median(t) * 1e6, 3), "best_us": round(min(t) * 1e6, 3)}
        for name, t in times.items()
    }


def add_cupy(contestants):
    try:
        import cupy
    except ImportError:
        return
    y = cupy.random.rand(64, 64, dtype=cupy.float32)
    contestants["cornerturn.transpose(cupy array)"] = lambda: cornerturn.transpose(y)
    contestants["cupy.ascontiguousarray(y.T)"] = lambda: cupy.ascontiguousarray(y.T)


def add_jax(contestants):
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return
    if jax.default_backend() != "gpu":
        return
    import cornerturn.jax

    z = jnp.ones((64, 64), jnp.float32)
    ours = jax.jit(cornerturn.jax.transpose)
    theirs = jax.jit(jnp.transpose)
    contestants["jax.jit(cornerturn.jax.transpose)(z)"] = lambda: ours(z)
    contestants["jax.jit(jax.numpy.transpose)(z)"] = lambda: theirs(z)


def warm_up(call):
    for _ in range(300):
        call()


def back_to_back(call, calls):
    """Seconds a call; the results of earlier calls are let go as a loop would do."""
    finish(call())
    start = time.perf_counter()
    for _ in range(calls):
        result = call()
    finish(result)
    return (time.perf_counter() - start) / calls


def finish(result):
    wait = getattr(result, "block_until_ready", torch.cuda.synchronize)
    wait()
    torch.cuda.synchronize()


def rates(rounds, engine):
    cases = []
    for name, shape, dtype, dims in LARGE:
        x = torch.empty(shape, dtype=dtype, device="cuda")
        x.view(torch.uint8).random_(0, 255)
        cases.append(rate(name, x, dims, rounds))
        del x
        torch.cuda.empty_cache()
    if engine:
        for case, seconds in zip(cases, rates_of_program(engine), strict=True):
            case["gb_per_s"]["cornerturn bench"] = round(case["bytes_moved"] / seconds * 1e-9, 1)
    return cases


def rate(name, x, dims, rounds):
    same = torch.empty_like(x)
    want = x.permute(dims).contiguous()
    out = torch.empty_like(want)
    compiled = torch.compile(lambda t: t.permute(dims).contiguous(), fullgraph=True, dynamic=False)
    size = x.itemsize
    sides = (
        size,
        tuple(out.shape),
        tuple(s * size for s in out.stride()),
        tuple(s * size for s in x.permute(dims).stride()),
    )

    def engine():
        stream = torch.cuda.current_stream()
        _core.execute(
            out.data_ptr(), x.data_ptr(), *sides, x.get_device(), stream.cuda_stream
        )

    contestants = {
        "copy": lambda: same.copy_(x),
        "cornerturn.transpose": lambda: cornerturn.transpose(x, dims),
        "permute_copy": lambda: torch.ops.cornerturn.permute_copy(x, dims),
        "x.permute().contiguous()": lambda: x.permute(dims).contiguous(),
        "torch.compile": lambda: compiled(x),
    }
    right = {}
    for contestant, call in contestants.items():
        result = call()
        if contestant != "copy":
            right[contestant] = same_bytes(result, want)
    engine()
    right["engine"] = same_bytes(out, want)
    del want, result
    calls = 10
    contestants["engine"] = captured(engine, calls)
    times = {contestant: [] for contestant in contestants}
    for _ in range(rounds):
        for contestant, call in contestants.items():
            repeats = 1 if contestant == "engine" else calls
            times[contestant].append(by_events(call, repeats) * repeats / calls)
    moved = 2 * x.numel() * size
    return {
        "name": name,
        "shape": list(x.shape),
        "dtype": str(x.dtype).removeprefix("torch."),
        "dims": list(dims),
        "bytes_moved": moved,
        "right": right,
        "gb_per_s": {
            contestant: round(moved / statistics.median(t) * 1e-9, 1)
            for contestant, t in times.items()
        },
    }


def same_bytes(a, b):
    return bool(torch.equal(a.view(torch.uint8), b.view(torch.uint8)))


def captured(call, calls):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    graph.replay()
    return graph.replay


def by_events(call, calls):
    """Seconds a call."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / calls


def rates_of_program(program):
    """Seconds of each large case, as `cornerturn bench` measures it."""
    suite = {
        "suite": "python",
        "note": "The large cases of bench/python/gpu.py.",
        "convention": "As in bench/suites.",
        "cases": [],
    }
    for i, (_, shape, dtype, dims) in enumerate(LARGE):
        strides = [1] * len(shape)
        for k in reversed(range(len(shape) - 1)):
            strides[k] = strides[k + 1] * shape[k + 1]
        out = [shape[d] for d in dims]
        packed = [1] * len(out)
        for k in reversed(range(len(out) - 1)):
            packed[k] = packed[k + 1] * out[k + 1]
        suite["cases"].append(
            {
                "name": f"case_{i}",
                "element_bytes": [dtype.itemsize],
                "class": ["python"],
                "shape": out,
                "src_strides": [strides[d] for d in dims],
                "dst_strides": packed,
                "src_offset": 0,
                "dst_offset": 0,
            }
        )
    with tempfile.TemporaryDirectory() as folder:
        file, results = Path(folder, "suite.json"), Path(folder, "results.json")
        file.write_text(json.dumps(suite))
        command = [program, "bench", "--device", "gpu", "--suite", file, "--json", results]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = {case["case"]: case for case in json.loads(results.read_text())["cases"]}
    return [found[f"case_{i}"]["seconds"] for i in range(len(LARGE))]


def versions():
    found = {"python": platform.python_version(), "torch": torch.__version__}
    for name in ("triton", "jax", "cupy", "numpy"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            continue
    return found


def provenance():
    here = Path(__file__).resolve().parents[2]
    commit = here / "commit"
    if commit.exists():
        described = commit.read_text().strip()
    else:
        git = ["git", "-C", here, "describe", "--always", "--dirty", "--abbrev=10"]
        described = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    smi = "--query-gpu=driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"
    try:
        driver = subprocess.run(["nvidia-smi", *smi], capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        driver = ""
    return {
        "commit": described,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": torch.cuda.get_device_name(),
        "driver_and_clocks": driver,
        "cuda": torch.version.cuda,
        "cpu": cpu_name(),
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "cornerturn": cornerturn.__version__,
        **versions(),
    }


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--engine", help="the program `cornerturn`, to compare with")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="does everything run?")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    result = {"kind": "cornerturn-python-gpu", "schema": 1, "provenance": provenance()}
    result["latency_64x64_f32"] = latencies(rounds, 50 if arguments.quick else 2000)
    for name, times in result["latency_64x64_f32"].items():
        print(f"{times['us']:8.2f} us (best {times['best_us']:.2f})  {name}", flush=True)
    result["large"] = rates(rounds, arguments.engine)
    for case in result["large"]:
        print(f"{case['name']}, {case['dtype']}: right: {all(case['right'].values())}")
        for name, gb_per_s in case["gb_per_s"].items():
            share = 100 * gb_per_s / case["gb_per_s"]["copy"]
            print(f"{gb_per_s:8.1f} GB/s  {share:6.1f} % of the copy  {name}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(all(case["right"].values()) for case in result["large"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
