"""cornerturn transpose --index: an axis of a file that a list of indices reads, against NumPy."""

import json
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, done, random_array, refused, saved


def taken(array, indices, axis):
    """What the command reads: NumPy's take, but zeros where an index is -1."""
    rest = array.shape[:axis] + array.shape[axis + 1 :]
    result = np.zeros((len(indices), *rest), array.dtype)
    if (indices >= 0).any():
        result[indices >= 0] = np.moveaxis(array, axis, 0)[indices[indices >= 0]]
    return np.moveaxis(result, 0, axis)


def check(folder, array, indices, axis, axes, *options):
    np.save(folder / "in.npy", array)
    np.save(folder / "list.npy", indices)
    words = ["--index", "list.npy", "--index-axis", axis, "--perm", ",".join(map(str, axes))]
    said = done("transpose", "in.npy", "out.npy", *words, "--verify", *options)
    assert (folder / "out.npy").read_bytes() == saved(taken(array, indices, axis).transpose(axes))
    return said


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("order", "CF")
def test_axes_and_orders(folder, axes, axis, order):
    array = np.asarray(random_array((7, 5, 6), "<i2"), order=order)
    indices = np.array([4, 0, 4, -1, 2], "<i4" if order == "C" else "<i8")
    check(folder, array, indices, axis, axes)


@pytest.mark.parametrize("dtype", ["|u1", ">f4", "<c16", "|S7", "|V257", "|V1000"])
def test_dtypes(folder, dtype):
    check(folder, random_array((9, 3), dtype), np.array([8, -1, 0, 8], "<i8"), 0, (1, 0))


@pytest.mark.parametrize("axis, entries, axes", [(0, 3, (0, 1, 2)), (1, 450, (1, 0, 2)), (2, 900, (0, 1, 2))])
def test_many_pieces(folder, axis, entries, axes):
    """The list lies outside of a piece of the result, across its pieces, and within them."""
    array = random_array((3, 700, 1000), "<u8")
    indices = np.random.default_rng(2).integers(-1, array.shape[axis], entries)
    said = json.loads(check(folder, array, indices, axis, axes, "--threads", "2", "--json"))
    assert said["index"] == {"file": "list.npy", "axis": axis, "entries": entries}
    assert said["schedule"]["boxes"] > 1


@pytest.mark.parametrize("shape, count", [((0, 3), 4), ((3, 0), 2), ((5, 3), 0)])
def test_empty_ones(folder, shape, count):
    check(folder, random_array(shape, "<f4"), np.full(count, -1), 0, (1, 0))


def test_values_change_on_the_way(folder):
    array = np.linspace(-4, 4, 60, dtype="<f4").reshape(6, 10)
    np.save("in.npy", array)
    np.save("list.npy", np.array([5, -1, 0]))
    done("transpose", "in.npy", "out.npy", "--index", "list.npy", "--to", "f16", "--bias", "2", "--verify")
    expected = (taken(array, np.array([5, -1, 0]), 0) + np.float32(2)).astype("<f2").T
    assert (folder / "out.npy").read_bytes() == saved(expected)


def test_pipes(folder):
    array = random_array((70, 30, 1000), "<f4")
    indices = np.array([69, 3, -1, 0] * 5, "<i4")
    np.save("list.npy", indices)
    words = [PROGRAM, "transpose", "-", "-", "--index", "list.npy", "--perm", "0,2,1"]
    result = subprocess.run(words, input=saved(array), capture_output=True, check=True, timeout=300)
    assert result.stdout == saved(taken(array, indices, 0).transpose(0, 2, 1))


def test_the_plan(folder):
    np.save("list.npy", np.array([1, 5, 3], "<i4"))
    for words in [[], ["--on", "h200"]]:
        said = done("plan", "--shape", "8,64,32", "--perm", "0,2,1", "--index", "list.npy", "--explain", *words)
        assert "listed (3):i32*8192->+8192" in said
    said = done("plan", "--shape", "8,64", "--perm", "1,0", "--to", "f16", "--index", "list.npy", "--index-axis", "1", "--explain")
    assert "listed (3):i32*4->+16" in said
    np.save("list.npy", np.array([1, 8]))
    refused("plan", "--shape", "8,64", "--index", "list.npy", part="entry 1 is 8, but it has to be less than 8")


@pytest.fixture
def rows(folder):
    """in.npy, of 6 x 4, and list.npy; after the test there is nothing else."""
    np.save("in.npy", random_array((6, 4), "<f4"))
    np.save("list.npy", np.array([5, 0]))
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == ["in.npy", "list.npy"]


@pytest.mark.parametrize(
    "indices, words, part",
    [
        ([0, 2, 6], [], "--index = 'list.npy': entry 2 is 6, but it has to be less than 6, the extent of axis 0, and -1 at least"),
        ([0, -2], [], "entry 1 is -2, but it has to be less than 6"),
        ([0, 4], ["--index-axis", "1"], "entry 1 is 4, but it has to be less than 4, the extent of axis 1"),
        ([2**40], [], "entry 0 is 1099511627776"),
        ([0.0], [], "--index = 'list.npy' holds '<f8': indices are '<i4' or '<i8'"),
        (np.array([0], ">i4"), [], "holds '>i4': indices are '<i4' or '<i8'"),
        ([[0]], [], "has the shape (1, 1): a list of indices has one axis"),
        ([0], ["--index-axis", "2"], "--index-axis = 2 is out of range for rank 2"),
        ([0], ["--index-axis", "x"], "--index-axis[0] = 'x' is not a number"),
        ([0], ["--index-axis", "0,1"], "--index-axis = '0,1' is not one axis"),
        ([0], ["--memory", "64MiB"], "--memory does not go with --index"),
        ([0], ["--to", "q8_0"], "--to q8_0 does not go with --index"),
        ([0], ["--from", "q8_0"], "--from q8_0 does not go with --index"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_lists(rows, indices, words, part):
    np.save("list.npy", np.asarray(indices))
    refused("transpose", "in.npy", "out.npy", "--index", "list.npy", *words, part=part)


def test_wrong_files(rows):
    refused("transpose", "in.npy", "out.npy", "--index", "none.npy", part="--index = 'none.npy'")
    refused("transpose", "in.npy", "out.npy", "--index-axis", "0", part="--index-axis requires --index")
    refused("transpose", "in.npy", "list.npy", "--index", "list.npy", part="is the same file as --index = 'list.npy'")
    refused("transpose", "in.npy", "--in-place", "--index", "list.npy", part="--in-place does not go with --index")
    np.save("list.npy", np.array([-1, 6], "<i8"))
    with open("list.npy", "r+b") as file:
        file.truncate(140)
    refused("transpose", "in.npy", "out.npy", "--index", "list.npy", part="--index = 'list.npy'")
