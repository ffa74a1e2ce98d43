"""Run by test_torch_shards.py: processes that redistribute tensors with each other, over gloo.

usage: shards_worker.py FOLDER SCRIPT... It imports PyTorch once and forks; each group of processes runs
every case, and writes what went wrong to FOLDER/CASE-WORLD-RANK, an empty file where nothing did. Each
script runs in four processes with the environment that torchrun gives them, and alone; what they print
goes to FOLDER/SCRIPT-4-RANK and FOLDER/SCRIPT-1-0.
"""

import contextlib
import itertools
import os
import random
import runpy
import socket
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh

from cornerturn import _torch_shard_task
from cornerturn.torch import empty_shard, redistribute

FOLDER = Path(sys.argv[1])
WORLDS = (2, 3, 4, 8)


def held(shape, mesh, placements, device):
    """The indices along every axis that a device holds, each in a list: the reference."""
    axes = [list(range(extent)) for extent in shape]
    coordinates = list(itertools.product(*[range(extent) for extent in mesh]))[device]
    for parts, which, placement in zip(mesh, coordinates, placements.split(","), strict=True):
        if placement == "R":
            continue
        axis, _, rest = placement[1:].partition(":")
        block, _, first = rest.partition("@")
        indices = axes[int(axis)]
        size = int(block or 0) or -(-len(indices) // parts) or 1
        axes[int(axis)] = [
            index for k, index in enumerate(indices) if (k // size + int(first or 0)) % parts == which
        ]
    return axes


def shard(whole, mesh, placements, device):
    for axis, indices in enumerate(held(whole.shape, mesh, placements, device)):
        whole = whole.index_select(axis, torch.tensor(indices, dtype=torch.long))
    return whole.contiguous()


def numbered(shape, dtype=torch.float32):
    return torch.arange(torch.Size(shape).numel(), dtype=torch.int64).reshape(shape).to(dtype)


def meshes(world):
    return [(world,), (1, world)] + ([(2, world // 2)] if world % 2 == 0 else [])


def case_random_layouts(rank, world):
    choose = random.Random(world)
    dtypes = [torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex128]
    for _ in range(60 // world):
        mesh = choose.choice(meshes(world))
        shape = [choose.randint(1, 9) for _ in range(choose.randint(1, 4))]
        perm = choose.sample(range(len(shape)), len(shape))
        whole = numbered(shape, choose.choice(dtypes))

        def layout():
            kinds = ["R", "S{}", "S{}:2", "S{}:3@{}"]
            axis = choose.randrange(len(shape))
            return ",".join(choose.choice(kinds).format(axis, choose.randrange(n)) for n in mesh)

        src, dst = layout(), layout()
        x = shard(whole, mesh, src, rank)
        got = redistribute(x, mesh, src, dst, perm, shape=shape)
        wanted = shard(whole.permute(perm), mesh, dst, rank)
        assert got.is_contiguous() and torch.equal(got, wanted), (mesh, shape, src, dst, perm)


def case_views_and_out(rank, world):
    whole = numbered((2 * world, 3 * world, 5))
    x = whole.flip(1).transpose(0, 1)[:, :, ::2]  # strides of every kind
    whole = x.contiguous()
    part = x.tensor_split(world, 0)[rank]
    wanted = shard(whole.permute(2, 1, 0), (world,), "S1", rank)
    out = torch.zeros(3, 2, 6 * world)[:, :, :: 2]
    assert out.shape == wanted.shape
    version = out._version
    assert redistribute(part, None, "S0", [Shard(1)], (2, 1, 0), out=out) is out
    assert torch.equal(out, wanted) and out._version > version
    z = torch.complex(whole, -whole).tensor_split(world, 0)[rank]
    got = redistribute(z.conj(), None, [Shard(0)], "S0", (0, 1, 2))
    assert torch.equal(got, z.conj()) and not got.is_conj()


def case_uneven_and_empty(rank, world):
    for rows in (0, 1, world - 1, world + 1):
        whole = numbered((rows, 7))
        x = shard(whole, (world,), "S0", rank)
        got = redistribute(x, (world,), "S0", "S1", shape=(rows, 7))
        assert torch.equal(got, shard(whole, (world,), "S1", rank))


def case_boxes(rank, world):
    whole = numbered((world + 1, 6))
    boxes = [((k, 0), (k + 1, 6)) for k in range(world - 1)] + [((world - 1, 0), (world + 1, 6))]
    slices = [(slice(begin[0], end[0]), slice(None)) for begin, end in boxes]
    x = whole[slices[rank]]
    got = redistribute(x, None, boxes, "S1", shape=whole.shape)
    assert torch.equal(got, shard(whole, (world,), "S1", rank))
    assert torch.equal(redistribute(got, None, "S1", slices, shape=whole.shape), x)


def case_conversions(rank, world):
    choose = random.Random(world)
    dtypes = [torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.float8_e4m3fn]
    for _ in range(48 // world):
        shape = [choose.randint(1, 9) for _ in range(3)]
        perm = choose.sample(range(3), 3)
        src, dst = choose.choice(["R", "S0", "S1:2", "S2"]), choose.choice(["R", "S0:2", "S1", "S2"])
        whole = (numbered(shape) / 8 - 3).to(choose.choice(dtypes))
        dtype = choose.choice(dtypes)
        wanted = shard(whole.permute(perm).to(dtype).float(), (world,), dst, rank)
        x = shard(whole.float(), (world,), src, rank).to(whole.dtype)
        got = redistribute(x, None, src, dst, perm, shape=shape, dtype=dtype)
        assert got.dtype == dtype and torch.equal(got.float(), wanted), (shape, src, dst, perm, dtype)
        out = torch.empty_like(got)
        redistribute(x, None, src, dst, perm, out, shape=shape)
        assert torch.equal(out.float(), wanted)
    x = shard(numbered((world, 6)), (world,), "S0", rank).requires_grad_()
    y = redistribute(x, None, "S0", "S1", shape=(world, 6), dtype=torch.float64)
    (y * y).sum().backward()
    assert y.dtype == torch.float64 and x.grad.dtype == x.dtype and torch.equal(x.grad, 2 * x.detach())


def case_gradients(rank, world):
    whole = numbered((world, 2 * world, 3), torch.float64)
    weights = numbered((3, world, 2 * world), torch.float64) + 1
    x = shard(whole, (world,), "S1", rank).requires_grad_()
    y = redistribute(x, None, "S1", "S2", (2, 0, 1))
    (y * y * shard(weights, (world,), "S2", rank)).sum().backward()
    reference = whole.clone().requires_grad_()
    (reference.permute(2, 0, 1) ** 2 * weights).sum().backward()
    assert torch.equal(x.grad, shard(reference.grad, (world,), "S1", rank))


def case_second_gradients(rank, world):
    x = shard(numbered((world, world), torch.float64), (world,), "S0", rank).requires_grad_()
    y = redistribute(x, None, "S0", "S1")
    (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.equal(first, 3 * x.detach() ** 2) and torch.equal(second, 6 * x.detach())


def case_dtensor(rank, world):
    for extents in meshes(world):
        mesh = init_device_mesh("cpu", extents)
        whole = numbered((world + 1, 5, 4))
        src = [Shard(0)] + [Replicate()] * (len(extents) - 1)
        dst = [Replicate()] * (len(extents) - 1) + [Shard(2)]
        x = distribute_tensor(whole, mesh, src).requires_grad_()
        y = redistribute(x, dst=dst, perm=(2, 0, 1))
        assert isinstance(y, DTensor) and y.placements == tuple(dst) and y.shape == (4, world + 1, 5)
        assert torch.equal(y.full_tensor(), whole.permute(2, 0, 1))
        (y * y).sum().backward()
        assert torch.equal(x.grad.full_tensor(), 2 * whole)
        out = torch.distributed.tensor.zeros(4, world + 1, 5, device_mesh=mesh, placements=dst)
        assert redistribute(x.detach(), mesh, src, dst, (2, 0, 1), out=out) is out
        assert torch.equal(out.full_tensor(), whole.permute(2, 0, 1))


def case_part_of_the_world(rank, world):
    if world != 4:
        return
    rows = init_device_mesh("cpu", (2, 2), mesh_dim_names=("row", "column"))["column"]
    whole = numbered((4, 6))
    here = rows.get_local_rank()
    got = redistribute(shard(whole, (2,), "S0", here), rows, "S0", "S0", (1, 0))
    assert torch.equal(got, shard(whole.T.contiguous(), (2,), "S0", here))
    backwards = dist.device_mesh.DeviceMesh("cpu", [3, 2, 1, 0])
    got = redistribute(shard(whole, (4,), "S0", 3 - rank), backwards, "S0", "S1")
    assert torch.equal(got, shard(whole, (4,), "S1", 3 - rank))


def case_replicas(rank, world):
    whole = numbered((3, 4))
    got = redistribute(shard(whole, (world,), "S0", rank), None, "S0", "R", shape=(3, 4))
    assert torch.equal(got, whole)
    assert torch.equal(redistribute(got, None, "R", "S1"), shard(whole, (world,), "S1", rank))


def said(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except (ValueError, TypeError) as error:
        lines = [None] * dist.get_world_size()
        dist.all_gather_object(lines, str(error))
        assert len(set(lines)) == 1, lines
        return type(error), str(error)
    raise AssertionError("it was not refused")


def case_different_calls(rank, world):
    """Each is refused on all ranks with the same line, and the next call works."""
    if world == 1:
        return
    x = numbered((2, 2 * world))
    last = rank == world - 1
    rule = "it has to be the same on every rank"
    for arguments, options, text in [
        ((x, None, "S0", "S1" if not last else "S0"), {},
         f"rank {world - 1}: dst = 'S0', but rank 0 has 'S1': {rule}"),
        ((x, None, "S0", "S1", (1, 0) if last else None), {},
         f"rank {world - 1}: perm = (1, 0), but rank 0 has (0, 1): {rule}"),
        ((x.double() if last else x, None, "S0", "S1"), {},
         f"rank {world - 1}: x.dtype = 'torch.float64', but rank 0 has 'torch.float32': {rule}"),
        ((x[:1] if last else x, None, "S0", "S1"), {},
         f"rank {world - 1}: shape = ({world}, {2 * world}), but rank 0 has ({2 * world}, {2 * world}): "
         f"{rule}; shape= says it where parts differ"),
        ((x[:1] if last else x, None, "S0", "S1"), {"shape": (2 * world, 2 * world)},
         f"rank {world - 1}: x.shape = (1, {2 * world}), but src = 'S0' of shape = ({2 * world}, "
         f"{2 * world}) gives it (2, {2 * world})"),
        ((x, (world + 1,) if last else None, "S0", "S1"), {},
         f"rank {world - 1}: mesh = ({world + 1},), but the group has {world} ranks"),
        ((x, None, "S0", "S7"), {}, "rank 0: dst[0] = S7: the axis is out of range for rank 2"),
        ((x.clone().requires_grad_() if last else x, None, "S0", "S1"), {},
         f"rank {world - 1}: x.requires_grad = True, but rank 0 has False: {rule}"),
        ((x.detach().clone(), None, "S0", "S1"), {"out": torch.empty(2, 2 * world) if last else torch.empty(2 * world, 2)},
         f"rank {world - 1}: out.shape = (2, {2 * world}), but dst gives it ({2 * world}, 2)"),
    ]:  # fmt: skip
        got = said(redistribute, *arguments, **options)
        assert got == (ValueError, text), f"{got[1]} instead of {text}"
        whole = numbered((world, world))
        again = redistribute(shard(whole, (world,), "S0", rank), None, "S0", "S1")
        assert torch.equal(again, shard(whole, (world,), "S1", rank))


def case_wrong_kinds(rank, world):
    x = numbered((2, 2 * world))
    partial = torch.distributed.tensor.Partial()
    assert said(redistribute, [1], None, "S0", "S1") == (TypeError, "rank 0: x is a list: not a torch.Tensor")
    assert "partial values" in said(redistribute, x, None, [partial], "S1")[1]
    assert said(redistribute, x, None, "S0", None)[1] == "rank 0: dst is None: it has to be a layout"
    assert "meta" in said(redistribute, x.to("meta"), None, "S0", "S1")[1]
    gap = [((0, 0), (1, 2 * world))] * world
    assert "must cover the array" in said(redistribute, x, None, "S0", gap, shape=(2 * world, 2 * world))[1]
    boxes = [((0, 0), (2 * world, 2 * world))] * (world + 1)
    assert "boxes, but the mesh has" in said(redistribute, x, None, "S0", boxes, shape=(2 * world, 2 * world))[1]
    same = torch.zeros(1).expand(2 * world, 2)
    assert "share memory" in said(redistribute, x, None, "S0", "S1", out=same)[1]
    out = torch.zeros(2 * world, 2)
    got = said(redistribute, x, None, "S0", "S1", out=out, dtype=torch.float64)
    assert got == (TypeError, "rank 0: out.dtype = torch.float32, but dtype = torch.float64")
    assert not out.any()
    y = torch.zeros(4 * world)
    assert "must not overlap" in said(
        redistribute, y.view(2, 2 * world), None, "S0", "S1", out=y.view(2 * world, 2)
    )[1]


def lone_process_without_a_group(rank, world):
    dist.destroy_process_group()
    try:
        redistribute(torch.zeros(2), None, "S0", "R")
    except RuntimeError as error:
        assert "no process group" in str(error)
        return
    raise AssertionError("it was not refused")


def fails_in_time(call):
    """The limit of a second is set here, so that whoever is late before has all the time it wants."""
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=1), dist.group.WORLD)
    try:
        call()
    except RuntimeError:
        return
    raise AssertionError("a process is missing, but the others have a result")


def lone_dead_rank(rank, world):
    x = numbered((world, world))[rank : rank + 1]
    redistribute(x, None, "S0", "S1")
    if rank == 1:
        os._exit(0)
    fails_in_time(lambda: redistribute(x, None, "S0", "S1"))


def lone_late_rank(rank, world):
    x = numbered((world, world))[rank : rank + 1]
    redistribute(x, None, "S0", "S1")
    others = [FOLDER / f"lone_late_rank-{world}-{k}" for k in range(world) if k != rank]
    while rank == 1 and not all(other.exists() for other in others):
        time.sleep(0.02)
    if rank != 1:
        fails_in_time(lambda: redistribute(x, None, "S0", "S1"))


def case_a_result_from_empty_shard(rank, world):
    """Without GPUs it is an ordinary tensor, and the messages are packed."""
    whole = numbered((world + 1, 5))
    out = empty_shard((5, world + 1), None, "S0", dtype=torch.float32).fill_(-1)
    x = shard(whole, (world,), "S0", rank)
    assert redistribute(x, None, "S0", "S0", (1, 0), out, shape=whole.shape, route="packed") is out
    assert torch.equal(out, shard(whole.T.contiguous(), (world,), "S0", rank))
    assert "is no part that empty_shard has made" in said(
        redistribute, x, None, "S0", "S0", (1, 0), out, shape=whole.shape, route="one pass"
    )[1]
    assert "is none of 'one pass'" in said(redistribute, x, None, "S0", "R", shape=whole.shape, route="two")[1]
    wrong = said(empty_shard, (5, 4 if rank == world - 1 and world > 1 else -4), None, "S0")
    assert wrong[0] is ValueError and "-4" in wrong[1], wrong


def run(rank, world, name, cases, seconds):
    if world in (3, 8):  # small messages in many chunks
        _torch_shard_task.CHUNK_BYTES = 100
    store = dist.FileStore(str(FOLDER / f"store-{name}-{world}"), world)
    dist.init_process_group(
        "gloo", store=store, rank=rank, world_size=world, timeout=timedelta(seconds=seconds)
    )
    for case in cases:
        try:
            case(rank, world)
            wrong = ""
        except BaseException:
            wrong = traceback.format_exc()
        (FOLDER / f"{case.__name__}-{world}-{rank}").write_text(wrong)
        if wrong:  # the others wait for this process no longer than the time limit
            break


def run_script(rank, world, script, port):
    if port:
        here = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
        address = {"MASTER_ADDR": "localhost", "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in (here | address).items()})
    with open(FOLDER / f"{script.name}-{world}-{rank}", "w") as output:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                runpy.run_path(str(script), run_name="__main__")
            except BaseException:
                traceback.print_exc()


def free_port():
    with socket.create_server(("localhost", 0)) as server:
        return server.getsockname()[1]


def fork(world, work, *arguments):
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            work(rank, world, *arguments)
            os._exit(0)
        children.append(child)
    return children


def wait(children):
    for child in children:
        os.waitpid(child, 0)


def main():
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    every = [case for name, case in sorted(globals().items()) if name.startswith("case_")]
    lonely = [fork(3, run, "dead", [lone_dead_rank], 30), fork(3, run, "late", [lone_late_rank], 30)]
    wait(fork(1, run, "alone", [*every, lone_process_without_a_group], 30))
    for world in WORLDS:
        wait(fork(world, run, "all", every, 30))
    for script in map(Path, sys.argv[2:]):
        wait(fork(4, run_script, script, free_port()))
        # Alone under torchrun, or just started.
        wait(fork(1, run_script, script, free_port() if script.name == "readme.py" else 0))
    wait(itertools.chain(*lonely))


if __name__ == "__main__":
    main()
