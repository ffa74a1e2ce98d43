#!/usr/bin/env python3
"""Casts for training by this library, torchao's kernels and torch.compile, beside plain copies of their bytes.

usage: casts.py [--json FILE] [--sizes N,N,...] [--max-seconds N]

A matrix of bf16 is cast along rows, transposed, or both; matrices are squares and the weights of three
models. Caches are cold: other data lies between two uses of a buffer, 8 times the second-level cache.
Medians of 11 rounds by the GPU's events, all contestants in turns, each after a wait of the GPU in which
its launches are queued. Before it is timed, a contestant's result is compared with f32's.
"""

import argparse
import datetime
import importlib.metadata
import json
import statistics
import time
from pathlib import Path

import cornerturn
import torch

ROUNDS = 11
SQUARES = (4096, 8192, 16384)
# Of Llama 3 70B's feed-forward layer, DeepSeek V3's dense one and Qwen 2.5 7B's.
WEIGHTS = ((28672, 8192), (18432, 7168), (18944, 3584))
COMPILED = (8192, 8192)  # torch.compile takes some seconds for each shape
WAIT_CYCLES = 4_000_000


def fp8_kernels():
    from torchao.prototype.blockwise_fp8_training import kernels

    return kernels


def mx_kernels():
    from torchao.prototype.mx_formats import kernels

    return kernels


def compiled_lines(along: int):
    """The plain arithmetic of a format whose blocks are lines, for torch.compile."""

    @torch.compile(dynamic=False, fullgraph=True)
    def cast(x):
        blocks = x.float().reshape(x.shape[0], -1, along)
        largest = blocks.abs().amax(-1, keepdim=True)
        if along == 128:
            scale = largest.clamp(min=1e-4) / 448
        else:
            scale = torch.exp2(torch.floor(torch.log2(largest.clamp(min=1e-30))) - 8)
        values = (blocks / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return values.reshape(x.shape), scale.squeeze(-1)

    return cast


def compiled(along: int, way: str):
    rows = compiled_lines(along)

    @torch.compile(dynamic=False, fullgraph=True)
    def columns(x):
        return rows(x.t().contiguous())

    @torch.compile(dynamic=False, fullgraph=True)
    def both(x):
        return (*rows(x), *columns(x))

    return {"rows": rows, "transposed": columns, "both": both}[way]


def torchao_of(form: str, way: str):
    """Null where torchao has none on this GPU."""
    if form == "fp8_1x128":
        k = fp8_kernels()
        rows, columns = k.triton_fp8_blockwise_act_quant_lhs, k.triton_fp8_blockwise_act_quant_transposed_lhs
    elif form == "fp8_128x128":
        k = fp8_kernels()
        # Its values lie column by column in the first: those of the transpose.
        columns, rows = k.triton_fp8_blockwise_weight_quant_rhs, k.triton_fp8_blockwise_weight_quant_transposed_rhs
    else:
        k = mx_kernels()
        rows, columns = k.triton_to_mxfp8_dim0, k.triton_to_mxfp8_dim1
        if form.endswith("128x4"):
            swizzle = k.triton_mx_block_rearrange

            def swizzled(cast):
                def run(x):
                    values, scales = cast(x)
                    return values, swizzle(scales.view(torch.uint8))

                return run

            rows, columns = swizzled(rows), swizzled(columns)
    return {"rows": rows, "transposed": columns, "both": lambda x: (*rows(x), *columns(x))}[way]


def own(form: str, way: str):
    name, *layout = form.split()
    options = {"scale_layout": "tiles_128x4"} if layout else {}
    if way == "both":
        return lambda x: cornerturn.quantise(x, name, both=True, **options)
    axes = (1, 0) if way == "transposed" else None
    return lambda x: cornerturn.quantise(x, name, axes, **options)


def milliseconds(run) -> float:
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(WAIT_CYCLES)
    start.record()
    run()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


def share_of_values(result, mine) -> float:
    """How many bytes of values are those of this library; values of peers may lie as a transposed view."""

    def plain(x):
        return (x if x.is_contiguous() else x.t()).contiguous().view(torch.uint8).flatten()

    a, b = plain(result[0]), plain(mine[0])
    return (a == b).float().mean().item() if a.shape == b.shape else 0.0


def measure(form: str, way: str, shape: tuple[int, int]) -> dict:
    elements = shape[0] * shape[1]
    copies = 2 if way == "both" else 1
    scales = elements * (4 / 128 if form == "fp8_1x128" else 1 / 32 if form.startswith("mx") else 0)
    moved = int(2 * elements + copies * (elements + scales))
    cache = 8 * torch.cuda.get_device_properties(0).L2_cache_size
    slots = max(2, min(16, cache // (2 * elements) + 1))
    inputs = [torch.randn(shape, dtype=torch.bfloat16, device="cuda") for _ in range(slots)]
    plain = torch.zeros(slots, 2, moved // 32 * 16, dtype=torch.uint8, device="cuda")
    along = 128 if form == "fp8_1x128" else 32
    makers = {"cornerturn": lambda: own(form, way), "torchao": lambda: torchao_of(form, way)}
    if form in ("fp8_1x128", "mxfp8_e4m3") and shape == COMPILED:
        makers["torch.compile"] = lambda: compiled(along, way)
    torch.compiler.reset()
    runs, found, refused = {}, {}, {}
    mine = own(form, way)(inputs[0])
    for name, make in makers.items():
        try:
            run = make()
            found[name] = share_of_values(run(inputs[0]), mine)
            torch.cuda.synchronize()
            runs[name] = run
        except Exception as error:  # a peer that does not work here is reported, not timed
            refused[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    times = {name: [] for name in [*runs, "copy"]}
    slot = 0
    for round_ in range(-2, ROUNDS):
        for name in times:
            slot = (slot + 1) % slots
            if name == "copy":
                took = milliseconds(lambda slot=slot: plain[slot, 1].copy_(plain[slot, 0]))
            else:
                took = milliseconds(lambda run=runs[name], slot=slot: run(inputs[slot]))
            if round_ >= 0:
                times[name].append(took)
    seconds = {name: statistics.median(values) / 1e3 for name, values in times.items()}
    return {
        "format": form,
        "way": way,
        "shape": shape,
        "bytes_moved": moved,
        "seconds": seconds,
        "equal_values": found,
        "refused": refused,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--sizes", type=lambda text: tuple(int(n) for n in text.split(",")), default=SQUARES)
    parser.add_argument("--max-seconds", type=float, default=1e9)
    asked = parser.parse_args()
    report = {
        "kind": "cornerturn-casts-peers",
        "commit": asked.commit,
        "date": datetime.date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "torchao": importlib.metadata.version("torchao"),
        "cases": [],
    }
    started = time.monotonic()
    shapes = [(n, n) for n in asked.sizes] + list(WEIGHTS)
    for shape in shapes:
        for form in ("fp8_1x128", "fp8_128x128", "mxfp8_e4m3", "mxfp8_e4m3 128x4"):
            for way in ("rows", "transposed", "both"):
                if time.monotonic() - started > asked.max_seconds:
                    return
                case = measure(form, way, shape)
                report["cases"].append(case)
                copy = case["seconds"]["copy"]
                shares = "  ".join(
                    f"{name} {100 * copy / s:5.1f} %" for name, s in case["seconds"].items() if name != "copy"
                )
                print(f"{form:18} {way:10} {shape!s:14} {shares}  {case['equal_values']} {case['refused'] or ''}", flush=True)
                if asked.json:
                    asked.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
