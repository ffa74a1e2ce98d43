"""Plans of arrays that are spread over devices, as Python sees them. Nothing here needs devices."""

import os
import subprocess
import sys

import pytest

import cornerturn
from cornerturn.shards import plan, scalapack


def sent(made):
    return [device["sent"] for device in made.to_dict()["traffic"]]


def test_a_plan_says_what_moves():
    made = plan((64, 32), 4, "S0", "S1", dtype="float64")
    assert sent(made) == [16 * 24 * 8] * 4
    assert made.route is None and made.predicted_seconds is None and made.bound_seconds is None
    assert "12 messages" in str(made) and "0 -> 1" in made.explain()
    assert repr(made) == "<Redistribution over 4 devices, at most 3072 bytes sent by one>"
    assert sent(plan((64, 32), 4, "S0", "S0")) == [0] * 4


def test_routes_of_a_described_host():
    made = plan((32768, 32768), 4, "S0", "S0", (1, 0), on="4xh200")
    assert made.route == "one pass"
    assert made.bound_seconds == pytest.approx(2.10e-3, rel=0.01)  # measured on four H200
    assert made.predicted_seconds == pytest.approx(2.37e-3, rel=0.01)


def test_layouts_may_be_said_in_several_ways():
    boxes = [((0, 0), (2, 6)), ((2, 0), (3, 6))]
    slices = [(slice(0, 2), slice(None)), (slice(2, None), slice(0, 6))]
    facts = [
        plan((3, 6), mesh, src, "S1").to_dict()["traffic"]
        for mesh, src in [(2, "S0"), ((2,), ["S0"]), (2, boxes), (None, boxes), (None, slices)]
    ]
    assert facts == [facts[0]] * 5


def test_dtensors_placements():
    pytest.importorskip("torch")
    from torch.distributed.tensor import Partial, Replicate, Shard

    made = plan((8, 8), (2, 2), [Shard(-1), Replicate()], [Shard(0), Shard(1)])
    assert made.to_dict()["src"]["layout"] == "S1,R"
    with pytest.raises(ValueError, match=r"src\[0\] = Shard\(dim=2\): the axis is out of range for rank 2"):
        plan((8, 8), 2, [Shard(2)], "R")
    with pytest.raises(TypeError, match="partial values have to be reduced first"):
        plan((8, 8), 2, [Partial()], "R")


def test_scalapack():
    shape, placements = scalapack([1, 0, 100, 90, 8, 16, 1, 0, 52])
    assert (shape, placements) == ((100, 90), "S0:8@1,S1:16@0")
    made = plan(shape, (2, 3), placements, "S0,S1")
    # NUMROC of 13 blocks of rows and 6 of columns, of which grid row 1 and grid column 0 have the first.
    assert made.to_dict()["src"]["shards"][0] == [48, 32] and made.to_dict()["src"]["shards"][3] == [52, 32]
    wrong_entries = [(0, 2), (4, 0), (5, 0), (6, -1), (7, -1)]
    valid = [1, 0, 4, 4, 2, 2, 0, 0, 4]
    for wrong in (valid[:4], *[[*valid[:at], value, *valid[at + 1 :]] for at, value in wrong_entries]):
        with pytest.raises(ValueError, match="^desca = "):
            scalapack(wrong)


SHARDINGS = """
import jax, numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from cornerturn.shards import plan

mesh = Mesh(numpy.array(jax.devices()).reshape(2, 4), ("a", "b"))
for src, dst, said in [
    (("a", "b"), ("b", None), ("S0,S1", "R,S0")),
    ((("a", "b"),), (None, "a"), ("S0,S0", "S1,R")),
    ((), ("b",), ("R,R", "R,S0")),
]:
    ours = plan((16, 24), (2, 4), *said).to_dict()
    theirs = plan((16, 24), None, *[NamedSharding(mesh, PartitionSpec(*axes)) for axes in (src, dst)]).to_dict()
    for field in ("traffic", "messages", "runs"):
        assert theirs[field] == ours[field], (src, dst, field)
# These parts on the devices in the opposite order: each of the eight sends its own to another one.
turned = Mesh(mesh.devices[::-1, ::-1], ("a", "b"))
both = [NamedSharding(each, PartitionSpec("a", "b")) for each in (mesh, turned)]
assert [each["sent"] for each in plan((16, 24), None, *both).to_dict()["traffic"]] == [8 * 6 * 4] * 8
whole = NamedSharding(mesh, PartitionSpec())
try:
    plan((15, 24), None, NamedSharding(mesh, PartitionSpec("a")), whole)
except ValueError as error:
    print(error)
"""


def test_shardings_of_jax():
    """In a process that has not used JAX yet, which may have eight devices."""
    pytest.importorskip("jax")
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SHARDINGS], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("src does not fit shape (15, 24)")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (((4, 4), 2, "S0", "S9"), ValueError, "dst[0] = S9: the axis is out of range for rank 2"),
        (((4, 4), 2, "S0,R", "S0"), ValueError, "src = S0,R has 2 placements, but the mesh has 1 dimensions"),
        (((4, 4), 2, "S0", "S0", (1, 1)), ValueError, "perm[1] = 1 repeats perm[0]"),
        (((4, 4), 2, "S0", "S0", (1,)), ValueError, "perm = (1,) has 1 entries, the array has rank 2"),
        (((4, 4), None, "S0", "S0"), TypeError, "mesh is None: placements need a mesh"),
        (((4, 4), 2, 7, "S0"), TypeError, "src = 7 is no layout: placements or boxes"),
        (((4, 4), 2, [7], "S0"), TypeError, "src[0] = 7 is none of Shard, Replicate, 'S<axis>', 'R'"),
        (((4, 4), 2, [((0, 0), (4, 4))], "S0"), ValueError, "src has 1 boxes, but the mesh has 2 devices"),
        (((4, 4), 2, [((n, 0), (n + 1, 4)) for n in range(4)], "S0"), ValueError, "src has 4 boxes, but the mesh has 2 devices"),
        (((4, 4), 2, [((0,),), ((0,),)], "S0"), TypeError, "src[0] = ((0,),) is no box: (begin, end), or a tuple of slices"),
        (((4, "x"), 2, "S0", "S0"), TypeError, "shape = (4, 'x') is not a sequence of integers"),
        ((((1 << 40), 1 << 22), 2, "S0", "S0"), ValueError, "shape: the size of the array in bytes does not fit in 64 bits"),
    ],
)  # fmt: skip
def test_wrong_calls(arguments, error, text):
    with pytest.raises(error) as caught:
        plan(*arguments)
    assert str(caught.value) == text


def test_the_module_is_there_when_it_is_asked_for():
    assert cornerturn.shards.plan is plan and "shards" in dir(cornerturn)
