"""Run by test_torch_one_rank.py: two processes, one of which passes something wrong, over gloo.

usage: one_rank_worker.py FILE. Every row of the tables below is a call of both processes that one of them
has to refuse, once the second and once the first. What each process gets goes to FILE as JSON. After each
row a call that is right has to work: the processes are still in step then.
"""

import json
import os
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy
import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, init_device_mesh
from torch.testing._internal.two_tensor import TwoTensor

from cornerturn import _torch_shard_task
from cornerturn.torch import empty_shard, redistribute

DIFFERS = "it has to be the same on every rank"
SECONDS = 20  # the group's time limit, which no row reaches
WHOLE = torch.arange(16.0).reshape(4, 4)


class Unprintable(Exception):
    def __str__(self):
        raise KeyError("no text")


class Raises:
    """Whatever is asked of it raises."""

    def __init__(self, error):
        object.__setattr__(self, "error", error)

    def __getattribute__(self, name):
        raise object.__getattribute__(self, "error")

    def __iter__(self, *_):
        raise object.__getattribute__(self, "error")

    __len__ = __eq__ = __index__ = __getitem__ = __repr__ = __iter__
    __hash__ = None


class Sequential(list):
    def __iter__(self):
        raise KeyError("iteration")


class Text(str):
    def __reduce__(self):
        raise KeyError("it cannot be sent")


class Tensor(torch.Tensor):
    """Raises when it is asked for the n-th time."""

    left, error = 0, KeyError("asked")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if cls.left == 0:
            raise cls.error
        cls.left -= 1
        return super().__torch_function__(function, types, args, kwargs or {})


def raising(tensor, left=0, error=None):
    made = tensor.clone().as_subclass(Tensor)
    Tensor.left, Tensor.error = left, error or KeyError("asked")
    return made


def part(rank):
    return WHOLE[2 * rank : 2 * rank + 2].clone()


def wanted(rank):
    return WHOLE[:, 2 * rank : 2 * rank + 2]


def nested(layout):
    return torch.nested.nested_tensor([torch.zeros(4), torch.zeros(4)], layout=layout)


def fake():
    with FakeTensorMode():
        return torch.zeros(2, 4)


def x_rows():
    x = torch.ones(2, 4)
    yield "list", [1, 2], "TypeError", "x is a list: not a torch.Tensor"
    yield "none", None, "TypeError", "x is a NoneType"
    yield "numpy", numpy.zeros((2, 4)), "TypeError", "x is a ndarray"
    yield "raises", Raises(KeyError("device")), "TypeError", "x is a Raises"
    yield "coo", x.to_sparse(), "TypeError", "layout torch.sparse_coo"
    yield "csr", x.to_sparse_csr(), "TypeError", "layout torch.sparse_csr"
    yield "meta", x.to("meta"), "ValueError", "x.device = meta"
    yield "nested", nested(torch.strided), "TypeError", "x is a nested tensor"
    yield "jagged", nested(torch.jagged), "TypeError", "x is a nested tensor"
    yield "fake", fake(), "TypeError", "without memory"
    yield "collective", AsyncCollectiveTensor(x), "TypeError", "without memory"
    yield "two", TwoTensor(x, x), "TypeError", "without memory"
    yield "dtype", x.double(), "ValueError", DIFFERS
    yield "shape", x[:1], "ValueError", "shape= says it where parts differ"
    yield "rank", x[None], "ValueError", DIFFERS
    yield "scalar", torch.ones(()), "ValueError", ""
    yield "grad", x.requires_grad_(), "ValueError", "x.requires_grad"
    for error in (
        ValueError("of values"), TypeError("of types"), KeyError("of keys"), NotImplementedError(),
        MemoryError("of memory"), StopIteration(), OSError(5, "input"), Unprintable(),
    ):  # fmt: skip
        kind = type(error).__name__
        same = kind in ("ValueError", "TypeError")
        yield f"subclass {kind}", partial(raising, x, 0, error), kind if same else "RuntimeError", (
            "of " if same else kind
        )


def argument_rows():
    later = Raises(KeyError("asked"))
    for name, value, kind, text in [
        ("mesh", (3,), "ValueError", "mesh = (3,), but the group has 2 ranks"),
        ("mesh", "ab", "TypeError", "mesh = 'ab'"),
        ("mesh", 2.5, "TypeError", "mesh = 2.5"),
        ("mesh", later, "RuntimeError", "KeyError"),
        ("mesh", (2, 1), "ValueError", "mesh"),
        ("src", None, "TypeError", "src is None"),
        ("src", "S7", "ValueError", "src"),
        ("src", "no layout", "ValueError", "src"),
        ("src", "S0,S1", "ValueError", "src"),
        ("src", "", "ValueError", "src"),
        ("src", 5, "TypeError", "src = 5 is no layout"),
        ("src", [Partial()], "TypeError", "partial values"),
        ("src", [((0, 0), (1, 1))], "ValueError", "src has 1 boxes"),
        ("src", [((0,), (1,))] * 2, "ValueError", "src"),
        ("src", [(0, 0, 0)] * 2, "TypeError", "src[0] = (0, 0, 0) is no box"),
        ("src", Sequential(["S0"]), "RuntimeError", "KeyError: 'iteration'"),
        ("src", later, "RuntimeError", "KeyError"),
        ("dst", None, "TypeError", "dst is None"),
        ("dst", "S7", "ValueError", "dst"),
        ("dst", "S1:0", "ValueError", "dst"),
        ("dst", "R", "ValueError", DIFFERS),
        ("dst", Text("R"), "ValueError", DIFFERS),
        ("dst", [object()], "TypeError", "none of Shard, Replicate"),
        ("dst", SimpleNamespace(devices_indices_map=Sequential(["S0"]).__iter__, num_devices=2), "TypeError", "positional argument"),
        ("perm", (0, 0), "ValueError", "perm[1] = 0 repeats perm[0]"),
        ("perm", (0, 5), "ValueError", "perm[1] = 5"),
        ("perm", "ab", "TypeError", "perm = 'ab'"),
        ("perm", 1, "ValueError", "perm"),
        ("perm", (1, 0), "ValueError", DIFFERS),
        ("perm", Sequential([0, 1]), "RuntimeError", "KeyError"),
        ("shape", (6, 4), "ValueError", "gives it (3, 4)"),
        ("shape", (4,), "ValueError", "shape = (4,) has 1 axes"),
        ("shape", (-4, 4), "ValueError", ""),
        ("shape", (2**70, 4), "TypeError", ""),
        ("shape", (1 << 40, 1 << 40), "ValueError", ""),
        ("shape", "ab", "TypeError", "shape = 'ab'"),
        ("shape", Sequential([4, 4]), "RuntimeError", "KeyError"),
        ("dtype", torch.float64, "ValueError", DIFFERS),
        ("dtype", torch.complex64, "ValueError", DIFFERS),
        ("dtype", "float32", "TypeError", "dtype = 'float32' is no torch.dtype"),
        ("dtype", later, "RuntimeError", ""),
        ("route", "two", "ValueError", "route = 'two'"),
        ("route", "one pass", "ValueError", "no part that empty_shard has made"),
        ("route", "packed", "ValueError", DIFFERS),
        ("route", later, "RuntimeError", "KeyError"),
        ("route", numpy.zeros(3), "ValueError", ""),
    ]:  # fmt: skip
        yield f"{name} {type(value).__name__}, {text}", name, value, kind, text


def out_rows():
    good = torch.empty(4, 2)
    yield "list", [0.0], "TypeError", "out is a list"
    yield "numpy", numpy.zeros((4, 2)), "TypeError", "out is a ndarray"
    yield "raises", Raises(KeyError("dtype")), "TypeError", "out is a Raises"
    yield "shape", torch.empty(3, 2), "ValueError", "out.shape = (3, 2)"
    yield "dtype", good.double(), "ValueError", DIFFERS
    yield "meta", good.to("meta"), "ValueError", "out.device = meta"
    yield "coo", good.to_sparse(), "TypeError", "out is a tensor of layout"
    yield "nested", nested(torch.strided), "TypeError", "out is a nested tensor"
    yield "fake", fake().T, "TypeError", "without memory"
    yield "collective", AsyncCollectiveTensor(good), "TypeError", "without memory"
    yield "shared", torch.empty(1).expand(4, 2), "ValueError", "share memory"
    yield "grad", torch.empty(4, 2, requires_grad=True), "ValueError", "out requires grad"
    yield "negated", torch._neg_view(torch.empty(4, 2)), "ValueError", "lazily"
    yield "subclass", partial(raising, good, 0, KeyError("k")), "RuntimeError", "KeyError: 'k'"


def calls(wrong):
    """For every row its name, the call with arguments and options of this process, and what is expected.

    `wrong`: is this the process that is wrong?
    """
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2,))
    backwards = dist.device_mesh.DeviceMesh("cpu", [1, 0])

    def moved(x, **options):
        return redistribute, (x,), {"src": "S0", "dst": "S1", **options}

    for name, value, kind, text in x_rows():
        yield f"x {name}", moved(value if wrong else part(rank)), kind, text
    for name, option, value, kind, text in argument_rows():
        yield name, moved(part(rank), **({option: value} if wrong else {})), kind, text
    for name, out, kind, text in out_rows():
        out = out if wrong else torch.empty(4, 2)
        yield f"out {name}", moved(part(rank), out=out), kind, text
    x = part(rank)
    out = x.view(-1)[:8].view(4, 2) if wrong else torch.empty(4, 2)
    yield "out same storage", moved(x, out=out), "ValueError", "must not overlap"
    x = part(rank).requires_grad_(wrong)
    yield "x grad and out", moved(x, out=torch.empty(4, 2)), "ValueError", "x requires grad"

    def spread(whole=WHOLE, placement=Shard(0), on=mesh):
        return DTensor.from_local(whole.chunk(2, getattr(placement, "dim", 0))[rank].contiguous(), on, [placement])

    square = [Shard(1)]
    for name, options, kind, text in [
        ("out local", {"out": torch.empty(4, 2)}, "TypeError", "out is a Tensor, but x is a DTensor"),
        ("out list", {"out": [1]}, "TypeError", "out is a list, but x is a DTensor"),
        ("out placed otherwise", {"out": spread(torch.zeros(8, 2), Shard(0))}, "ValueError", "out.shape"),
        ("out placements", {"out": spread(placement=Shard(0))}, "ValueError", "out is a DTensor with"),
        ("out on another mesh", {"out": spread(placement=Shard(1), on=backwards)}, "ValueError", "out is a DTensor on"),
        ("src other", {"src": "S1"}, "ValueError", "but x is a DTensor with"),
        ("mesh tuple", {"mesh": (2,)}, "ValueError", "but x is a DTensor on"),
        ("mesh other", {"mesh": backwards}, "ValueError", "but x is a DTensor on"),
        ("dst blocks", {"dst": "S1:1"}, "ValueError", "Shard and Replicate alone"),
        ("dst none", {"dst": None}, "TypeError", "dst is None"),
        ("dst other", {"dst": [Replicate()]}, "ValueError", DIFFERS),
        ("dst raises", {"dst": Sequential([Shard(1)])}, "RuntimeError", "KeyError"),
        ("perm", {"perm": (0, 0)}, "ValueError", "perm"),
        ("shape", {"shape": (8, 4)}, "ValueError", "shape = (8, 4), but x is a DTensor"),
        ("x local", {"x": torch.zeros(2, 4)}, "TypeError", "src is None"),
        ("x list", {"x": [1]}, "TypeError", "x is a list"),
        ("x partial", {"x": DTensor.from_local(WHOLE, mesh, [Partial()])}, "TypeError", "partial values"),
    ]:  # fmt: skip
        options = {"x": spread(), "dst": square, **(options if wrong else {})}
        yield f"dtensor {name}", (redistribute, (options.pop("x"),), options), kind, text
    x, out = part(rank), spread(placement=Shard(1)) if wrong else torch.empty(4, 2)
    yield "out dtensor", moved(x, out=out), "TypeError", "out is a DTensor, but x is a Tensor"

    for name, options, kind, text in [
        ("shape", {"shape": (4, -4)}, "ValueError", "-4"),
        ("shape other", {"shape": (4, 6)}, "ValueError", DIFFERS),
        ("shape raises", {"shape": Sequential([4])}, "RuntimeError", "KeyError"),
        ("mesh", {"mesh": (3,)}, "ValueError", "mesh = (3,)"),
        ("layout", {"layout": "S9"}, "ValueError", "layout"),
        ("layout raises", {"layout": Raises(KeyError("k"))}, "RuntimeError", "KeyError"),
        ("dtype", {"dtype": "f"}, "TypeError", "dtype = 'f' is no torch.dtype"),
        ("dtype other", {"dtype": torch.int8}, "ValueError", DIFFERS),
        ("device", {"device": "no device"}, "RuntimeError", "no device"),
        ("device other", {"device": "meta"}, "ValueError", DIFFERS),
        ("device kind", {"device": 1.5}, "TypeError", ""),
    ]:  # fmt: skip
        options = {"shape": (4, 4), "mesh": None, "layout": "S0", **(options if wrong else {})}
        yield f"empty_shard {name}", (empty_shard, (), options), kind, text


def made(value):
    """Tensors that count what they are asked are made when they are needed."""
    return value() if type(value) is partial else value


def said_by(call):
    function, arguments, options = call
    arguments = [made(value) for value in arguments]
    options = {name: made(value) for name, value in options.items()}
    try:
        function(*arguments, **options)
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing", ""


def still_in_step(rank):
    assert torch.equal(redistribute(part(rank), None, "S0", "S1"), wanted(rank))


def every_question(rank, wrong, of):
    """A tensor that raises when it is asked for the n-th time: for each n, until nobody asks so often."""
    for n in range(200):
        x, out = part(rank), torch.empty(4, 2) if of == "out" else None
        if wrong:
            x, out = (raising(x, n), out) if of == "x" else (x, raising(out, n))
        got = said_by((redistribute, (x, None, "S0", "S1", None, out), {}))
        Tensor.left = -1  # and never again
        everyone = [None, None]
        dist.all_gather_object(everyone, got)
        assert everyone[0] == everyone[1], everyone
        if got[0] == "nothing":
            return n
        assert got == ("RuntimeError", f"rank {rank if wrong else 1 - rank}: KeyError: 'asked'"), got
        still_in_step(rank)
    raise AssertionError("it is asked without end")


def messages_on_their_way(rank):
    """The most of them that nobody has waited for yet, while one array travels in many chunks."""
    now, most = 0, 0
    send, _torch_shard_task.CHUNK_BYTES = dist.all_to_all_single, 8

    def counted(*arguments, **options):
        nonlocal now, most
        work = send(*arguments, **options)
        now += 1
        most = max(most, now)

        def wait():
            nonlocal now
            now -= 1
            return work.wait()

        return SimpleNamespace(wait=wait)

    dist.all_to_all_single = counted
    try:
        whole = torch.arange(64.0).reshape(8, 8)
        got = redistribute(whole[4 * rank : 4 * rank + 4], None, "S0", "S1")
        assert torch.equal(got, whole[:, 4 * rank : 4 * rank + 4]) and now == 0
    finally:
        dist.all_to_all_single, _torch_shard_task.CHUNK_BYTES = send, 512 << 20
    return most


def run(rank, store, file):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", store=dist.FileStore(store, 2), rank=rank, world_size=2, timeout=timedelta(seconds=SECONDS)
    )
    heard = {}
    for wrong in (1, 0):
        for name, call, kind, text in calls(rank == wrong):
            heard[f"{name}, {wrong}"] = (*said_by(call), kind, text)
            Tensor.left = -1
            still_in_step(rank)
        for of in ("x", "out"):
            heard[f"questions to {of}, {wrong}"] = every_question(rank, rank == wrong, of)
    heard["messages"] = messages_on_their_way(rank)
    Path(f"{file}-{rank}").write_text(json.dumps(heard))


def main():
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    file = sys.argv[1]
    child = os.fork()
    run(1 if child == 0 else 0, f"{file}-store", file)
    if child == 0:
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
