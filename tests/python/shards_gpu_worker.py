"""Run by test_torch_shards_gpu.py in two processes, one for each GPU: redistribute into memory that the
other one's kernels and copy engines store to. usage: shards_gpu_worker.py RANK WORLD FOLDER

Writes what went wrong to FOLDER/RANK, and FOLDER/late-RANK for what happens when a process is late.
"""

import os
import random
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from cornerturn import _torch_windows
from cornerturn.torch import empty_shard, redistribute

RANK, WORLD, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
KEPT = []  # PyTorch ends a process that frees shared memory after an error of the GPU
ROUTES = ("one pass", "copy engines", "packed", None)


def shard(whole, layout, device):
    if layout == "R":
        return whole.contiguous()
    axis, _, block = layout[1:].partition(":")
    extent = whole.shape[int(axis)]
    size = int(block or 0) or -(-extent // WORLD) or 1
    indices = [i for i in range(extent) if i // size % WORLD == device]
    return whole.index_select(int(axis), torch.tensor(indices, dtype=torch.long, device=whole.device)).contiguous()


def numbered(*shape, dtype=torch.float32):
    return (torch.arange(torch.Size(shape).numel(), device="cuda") % 251).view(shape).to(dtype)


def check(whole, src, dst, perm, route):
    out = empty_shard([whole.shape[axis] for axis in perm], None, dst, dtype=whole.dtype).fill_(99)
    x = shard(whole, src, RANK)
    assert redistribute(x, None, src, dst, perm, out=out, shape=whole.shape, route=route) is out
    assert torch.equal(out, shard(whole.permute(perm), dst, RANK)), (whole.shape, src, dst, perm, route)


def cases():
    for route in ROUTES:
        check(numbered(3, 7), "S0", "S1", (1, 0), route)  # uneven
        check(numbered(1, 5), "S0", "S0", (0, 1), route)  # an empty shard
        check(numbered(6000, 9000), "S0", "S0", (1, 0), route)  # in pieces and in chunks
        check(numbered(512, 65536), "S0", "S1", (0, 1), route)
    choose = random.Random(5)
    for _ in range(40):
        shape = [choose.randint(1, 40) for _ in range(choose.randint(1, 4))]
        dtype = choose.choice([torch.uint8, torch.int16, torch.float32, torch.float64])
        layouts = ["R", *(f"S{axis}" for axis in range(len(shape))), f"S{choose.randrange(len(shape))}:3"]
        perm = choose.sample(range(len(shape)), len(shape))
        whole = numbered(*shape, dtype=dtype)
        check(whole, choose.choice(layouts), choose.choice(layouts), perm, choose.choice(ROUTES))
    for dtype in (torch.bfloat16, torch.float64):
        whole = numbered(300, 200)
        x = shard(whole, "S0", RANK)
        wanted = shard(whole.T.to(dtype).contiguous(), "S0", RANK)
        out = empty_shard((200, 300), None, "S0", dtype=dtype)
        assert torch.equal(redistribute(x, None, "S0", "S0", (1, 0), out=out), wanted)
        assert torch.equal(redistribute(x, None, "S0", "S0", (1, 0), dtype=dtype), wanted)
    # Back to back: each call reads what the one before has received.
    whole = numbered(1024, 1024)
    a, b = (empty_shard((1024, 1024), None, "S0") for _ in range(2))
    a.copy_(shard(whole, "S0", RANK))
    for _ in range(10):
        redistribute(a, None, "S0", "S0", (1, 0), out=b)
        redistribute(b, None, "S0", "S0", (1, 0), out=a)
    assert torch.equal(a, shard(whole, "S0", RANK))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        redistribute(a, None, "S0", "S0", (1, 0), out=b)
    b.fill_(-1)
    torch.cuda.synchronize()
    dist.barrier()
    graph.replay()
    assert torch.equal(b, shard(whole.T.contiguous(), "S0", RANK))
    # The gradient of a call without out goes by messages.
    x = shard(numbered(8, 6, dtype=torch.float64), "S0", RANK).requires_grad_()
    (redistribute(x, None, "S0", "S1") ** 2).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())
    try:
        redistribute(x.detach(), None, "S0", "S1", out=torch.empty(8, 3, device="cuda").double(), route="one pass")
    except ValueError as error:
        assert "is no part that empty_shard has made" in str(error)
    else:
        raise AssertionError("it was not refused")


def late():
    """The last: the GPU of the one that waits cannot be used after it."""
    x = torch.zeros(64, 128, device="cuda")
    out = empty_shard((128, 128), None, "S0")
    KEPT.extend([x, out])
    redistribute(x, None, "S0", "S0", (1, 0), out=out)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    _torch_windows._limit_ms = lambda *_: 1000
    if RANK == 1:
        time.sleep(4)
    begin = time.monotonic()
    try:
        redistribute(x, None, "S0", "S0", (1, 0), out=out)
        torch.cuda.synchronize()
    except RuntimeError:
        assert time.monotonic() - begin < 4
        return
    raise AssertionError("a process is late, but this one has a result")


def report(name, work):
    try:
        work()
        wrong = ""
    except BaseException:
        wrong = traceback.format_exc()
    (FOLDER / name).write_text(wrong)


def main():
    torch.cuda.set_device(RANK)
    dist.init_process_group(
        "nccl",
        store=dist.FileStore(str(FOLDER / "store"), WORLD),
        rank=RANK,
        world_size=WORLD,
        timeout=timedelta(seconds=60),
        device_id=torch.device("cuda", RANK),
    )
    report(str(RANK), cases)
    if RANK == 0 or (FOLDER / str(RANK)).read_text() == "":
        report(f"late-{RANK}", late)
    os._exit(0)  # the group cannot be taken down in order


if __name__ == "__main__":
    main()
