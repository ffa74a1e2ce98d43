#!/usr/bin/env python3
"""Measures redistributions between the GPUs of one host, beside PyTorch's ways, and writes JSON.

usage: torchrun --nproc-per-node N bench/python/shards.py [--json OUT.json] [--rounds N] [--seconds N] [--only TEXT]

Each case is an array that is spread over all processes and goes into another layout, permuted or not.
Every contestant first makes a result, in memory that was filled with another value, and is left out with
a word where it is wrong. Then all take turns: several calls in a row, timed by the GPU's events, the
slowest process counts; the median of the rounds. A rate is the bytes that leave one GPU, per second.

    one pass        redistribute(out=empty_shard(...)), our kernels store into the peers' memory
    in a graph      the same, replayed from a CUDA graph
    copy engines    the same with route="copy engines"
    packed          redistribute() without out: our kernels, NCCL, our kernels, in chunks
    not in chunks   the same with whole messages
    three steps     permute, all_to_all_single, permute in PyTorch
    DTensor         redistribute of a DTensor, and a permutation where the case has one
    NCCL alone      all_to_all_single of the bytes that are sent, in one piece: a bound for messages
    engines alone   copy_ of these bytes into the peers' memory, in one piece: the link
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Shard, init_device_mesh

import cornerturn
from cornerturn import _torch_shard_task
from cornerturn._torch_windows import window_of
from cornerturn.torch import empty_shard, redistribute

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
TYPES = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64}


class Case(NamedTuple):
    name: str
    shape: tuple[int, ...]
    size: int  # of an element
    src: str
    dst: str
    perm: tuple[int, ...]
    # PyTorch's way: the shard as this shape, its axes in this order, exchanged; then the same again.
    split: tuple[int, ...]
    to_messages: tuple[int, ...]
    received: tuple[int, ...]
    to_result: tuple[int, ...]
    dtensor: int | None  # the axis that DTensor is asked to split


def transposition(ranks, pair_bytes, size):
    elements = pair_bytes // size
    r = 1 << ((elements.bit_length() - 1) // 2)
    c = elements // r
    return Case(
        "matrix, transposed", (r * ranks, c * ranks), size, "S0", "S0", (1, 0),
        (r, ranks, c), (1, 0, 2), (ranks * r, c), (1, 0), 1,
    )  # fmt: skip


def cases(ranks):
    p = ranks
    for pair in (64 * KIB, MIB, 16 * MIB, 256 * MIB, 2 * GIB):
        for size in (1, 2, 4, 8):
            yield transposition(p, pair, size)
    s, h = 32768 * p, 32
    yield Case(
        "attention heads, B S H D", (2, s, h * p, 128), 2, "S1", "S2", (0, 1, 2, 3),
        (2, s // p, p, h, 128), (2, 0, 1, 3, 4), (p, 2, s // p, h, 128), (1, 0, 2, 3, 4), 2,
    )  # fmt: skip
    yield Case(
        "attention heads, B S H D to B H S D", (2, s, h * p, 128), 2, "S1", "S1", (0, 2, 1, 3),
        (2, s // p, p, h, 128), (2, 0, 1, 3, 4), (p, 2, s // p, h, 128), (1, 3, 0, 2, 4), 2,
    )  # fmt: skip
    x = 384 * p
    yield Case(
        "pencils of an FFT, x y z to y x z", (x, x, 512), 8, "S0", "S0", (1, 0, 2),
        (x // p, p, x // p, 512), (1, 0, 2, 3), (p * (x // p), x // p, 512), (1, 0, 2), 1,
    )  # fmt: skip
    yield Case(
        "pencils of an FFT, x y z to z y x", (x, 512, x), 8, "S0", "S0", (2, 1, 0),
        (x // p, 512, p, x // p), (2, 0, 1, 3), (p * (x // p), 512, x // p), (2, 1, 0), 2,
    )  # fmt: skip
    n, b = 16384 * p, 64
    yield Case(
        "block-cyclic rows to blocks", (n, 16384), 4, f"S0:{b}", "S0", (0, 1),
        (n // p, 16384), (0, 1), (p, n // p // b // p, b, 16384), (1, 0, 2, 3), None,
    )  # fmt: skip
    yield Case(
        "weights, rows to columns", (n, 14336 * p), 2, "S0", "S1", (0, 1),
        (n // p, p, 14336), (1, 0, 2), (n, 14336), (0, 1), 1,
    )  # fmt: skip
    yield transposition(p, 8 * GIB, 4)


class Run:
    """A case on this process, and its contestants."""

    def __init__(self, case, rank, ranks):
        self.case, self.rank, self.ranks = case, rank, ranks
        dtype = TYPES[case.size]
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.result_shape = tuple(case.shape[axis] for axis in case.perm)
        self.x = self.numbered(dtype)
        self.out = empty_shard(self.result_shape, None, case.dst, dtype=dtype)
        self.sent = self.x.numel() * case.size // ranks * (ranks - 1)
        self.window = window_of(self.out, dist.group.WORLD)
        plan = cornerturn.shards.plan(case.shape, ranks, case.src, case.dst, case.perm, dtype=f"b{case.size}")
        self.runs = plan.to_dict()["runs"]["both"]

    def numbered(self, dtype):
        elements = 1
        for extent in self.case.shape:
            elements *= extent
        axis = int(self.case.src[1])
        local = list(self.case.shape)
        local[axis] //= self.ranks
        torch.manual_seed(self.rank)
        x = torch.empty(local, dtype=dtype, device=self.device)
        x.view(torch.uint8).view(torch.int8).random_(0, 100)
        return x

    def three_steps(self):
        case = self.case
        messages = self.x.view(case.split).permute(case.to_messages).contiguous()
        incoming = torch.empty_like(messages)
        dist.all_to_all_single(incoming, messages)
        return incoming.view(case.received).permute(case.to_result).contiguous().view(self.out.shape)

    def dtensor(self):
        moved = self.spread.redistribute(self.mesh, [Shard(self.case.dtensor)]).to_local()
        return moved.permute(self.case.perm).contiguous()

    def one_pass(self, route=None):
        case = self.case
        return redistribute(
            self.x, None, case.src, case.dst, case.perm, self.out, shape=case.shape, route=route
        )

    def packed(self):
        case = self.case
        return redistribute(self.x, None, case.src, case.dst, case.perm, shape=case.shape)

    def whole_messages(self):
        chunk_bytes = _torch_shard_task.CHUNK_BYTES
        _torch_shard_task.CHUNK_BYTES = 1 << 60
        try:
            return self.packed()
        finally:
            _torch_shard_task.CHUNK_BYTES = chunk_bytes

    def nccl_alone(self):
        dist.all_to_all_single(self.second, self.first, self.sizes, self.sizes)

    def engines_alone(self):
        for k in range(1, self.ranks):
            to = (self.rank + k) % self.ranks
            part = self.window.handle.get_buffer(to, (self.share,), torch.uint8, self.rank * self.share)
            part.copy_(self.bytes_of_x[to * self.share : (to + 1) * self.share])

    def contestants(self):
        yield "three steps", self.three_steps
        yield "packed", self.packed
        if self.sent > 64 * MIB * (self.ranks - 1):
            yield "not in chunks", self.whole_messages
        if self.window is not None:
            yield "one pass", lambda: self.one_pass("one pass")
            if self.runs >= 512:  # kernels do what copy engines cannot
                yield "copy engines", lambda: self.one_pass("copy engines")
        if self.case.dtensor is not None:
            self.mesh = init_device_mesh("cuda", (self.ranks,))
            self.spread = DTensor.from_local(self.x, self.mesh, [Shard(0)], run_check=False)
            if self.case.src != "S0":
                axis = int(self.case.src[1])
                self.spread = DTensor.from_local(self.x, self.mesh, [Shard(axis)], run_check=False)
            yield "DTensor", self.dtensor

    def bounds(self):
        self.share = self.x.numel() * self.case.size // self.ranks
        self.bytes_of_x = self.x.view(-1).view(torch.uint8)
        self.sizes = [0 if k == self.rank else self.share for k in range(self.ranks)]
        self.first = torch.empty(sum(self.sizes), dtype=torch.uint8, device=self.device)
        self.second = torch.empty_like(self.first)
        yield "NCCL alone", self.nccl_alone
        if self.window is not None:
            yield "engines alone", self.engines_alone

    def measured(self, rounds):
        expected = self.three_steps()
        calls, wrong, graphs = {}, {}, []
        for name, call in self.contestants():
            self.out.view(-1).view(torch.uint8).fill_(0xA5)
            torch.cuda.synchronize()
            dist.barrier()
            got = call()
            if not everywhere(equal(got, expected)):
                wrong[name] = "wrong result"
                continue
            calls[name] = call
            del got
        if "one pass" in calls and self.sent <= 16 * MIB * self.ranks:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                calls["one pass"]()
            self.out.view(-1).view(torch.uint8).fill_(0xA5)
            torch.cuda.synchronize()
            dist.barrier()
            graph.replay()
            if everywhere(equal(self.out, expected)):
                calls["in a graph"] = graph.replay
            else:
                wrong["in a graph"] = "wrong result"
            graphs.append(graph)
        del expected
        calls.update(self.bounds())
        times = {name: [] for name in calls}
        repeats = max(3, min(50, int(2e9 / (self.sent + 1))))
        for turn in range(rounds + 1):
            for name, call in calls.items():
                seconds = timed(call, repeats)
                if turn > 0:
                    times[name].append(seconds)
        seconds = {name: statistics.median(all_of_them) for name, all_of_them in times.items()}
        return {
            "name": self.case.name,
            "shape": self.case.shape,
            "item_bytes": self.case.size,
            "src": self.case.src,
            "dst": self.case.dst,
            "perm": self.case.perm,
            "pair_bytes": self.sent // max(1, self.ranks - 1),
            "sent_bytes": self.sent,
            "us": {name: round(value * 1e6, 2) for name, value in seconds.items()},
            "gb_per_s": {name: round(self.sent / value * 1e-9, 1) for name, value in seconds.items()},
            "spread": {name: round(max(t) / min(t), 3) for name, t in times.items()},
            "wrong": wrong,
        }


def equal(got, expected):
    # Bit by bit; words of 8 bytes, because torch.equal has a byte for each of its elements.
    return torch.equal(got.reshape(-1).view(torch.int64), expected.reshape(-1).view(torch.int64))


def everywhere(yes):
    all_of_them = torch.tensor([int(yes)], device="cuda")
    dist.all_reduce(all_of_them, dist.ReduceOp.MIN)
    return bool(all_of_them.item())


def timed(call, repeats):
    """Seconds a call, on the slowest process."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    call()
    torch.cuda.synchronize()
    dist.barrier()
    begin.record()
    for _ in range(repeats):
        result = call()
        del result
    end.record()
    torch.cuda.synchronize()
    seconds = torch.tensor([begin.elapsed_time(end) * 1e-3 / repeats], device="cuda")
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    return seconds.item()


def provenance(ranks):
    root = Path(__file__).resolve().parents[2]
    commit = os.environ.get("COMMIT")
    if not commit:
        words = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
        commit = subprocess.run(words, cwd=root, capture_output=True, text=True).stdout.strip()
    properties = torch.cuda.get_device_properties(0)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "commit": commit or "unknown",
        "cornerturn": cornerturn.__version__,
        "gpus": ranks,
        "gpu": properties.name,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9, help="no case begins after so many")
    parser.add_argument("--only", default="", help="the cases whose name contains this")
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(
        "nccl",
        timeout=datetime.timedelta(seconds=60),
        device_id=torch.device("cuda", torch.cuda.current_device()),
    )
    rank, ranks = dist.get_rank(), dist.get_world_size()
    report = {"provenance": provenance(ranks), "cases": []}
    begin = time.monotonic()
    for case in cases(ranks):
        if options.only not in case.name or not everywhere(time.monotonic() - begin < options.seconds):
            continue
        result = Run(case, rank, ranks).measured(options.rounds)
        torch.cuda.empty_cache()
        report["cases"].append(result)
        if rank == 0:
            rates = "  ".join(f"{name} {rate}" for name, rate in result["gb_per_s"].items())
            head = f"{case.name}, {case.size} B, {result['pair_bytes'] / MIB:g} MiB a pair"
            print(f"{head}: {rates} {result['wrong'] or ''}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(report, indent=1) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
