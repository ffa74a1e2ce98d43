"""cornerturn transpose against NumPy, byte for byte."""

import itertools
import json
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, done, random_array, refused, saved

DTYPES = [
    "|b1", "|i1", "|u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4",
    "<f8", ">f8", "<c8", ">c8", "<c16", "<f16", "|S1", "|S7", "|S300", "<U1", ">U3", "<M8[ns]",
    ">M8[25s]", "<m8[D]", "<m8", "|V3", "|V16", "|V257",
]  # fmt: skip

STRUCTURED = [
    np.dtype([("x", "<f4"), ("y", ">i2")]),
    np.dtype([("rgb", "u1", 3)]),
    np.dtype([("a", "<f8"), ("b", [("c", "S5"), ("d", "<M8[ms]", (2, 3))])]),
    np.dtype([("x", "<f4"), ("y", "<f8")], align=True),
    np.dtype([(("a title", "name"), "<i4")]),
    np.dtype([("größe", "<f4")]),
]


def check(folder, array, axes, *options):
    np.save(folder / "in.npy", array)
    done("transpose", "in.npy", "out.npy", *options)
    assert (folder / "out.npy").read_bytes() == saved(array.transpose(axes))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(folder, dtype):
    check(folder, random_array((7, 5, 3), dtype), (2, 0, 1), "--perm", "2,0,1", "--verify")


@pytest.mark.filterwarnings("ignore:Stored array in format")
@pytest.mark.parametrize("dtype", STRUCTURED, ids=str)
def test_structured_dtypes(folder, dtype):
    array = random_array((4, 6), dtype)
    np.save("in.npy", array)
    done("transpose", "in.npy", "out.npy", "--verify")
    assert np.load("out.npy").dtype == np.load("in.npy").dtype
    json.loads(done("transpose", "in.npy", "out.npy", "--json"))
    # NumPy does not copy what lies between the fields of a structure; here every byte is moved.
    before, after = ((folder / name).read_bytes()[-array.nbytes :] for name in ("in.npy", "out.npy"))
    whole = np.frombuffer(before, f"V{dtype.itemsize}").reshape(4, 6)
    assert after == whole.T.tobytes()


@pytest.mark.parametrize("axes", list(itertools.permutations(range(4))), ids=str)
@pytest.mark.parametrize("order", "CF")
def test_permutations(folder, axes, order):
    array = np.asarray(random_array((3, 17, 5, 11), "<i2"), order=order)
    check(folder, array, axes, "--perm", ",".join(map(str, axes)))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (0, 5), (3, 0, 2), (1, 1, 4), (2,) * 20])
def test_shapes(folder, shape):
    check(folder, random_array(shape, "<f4"), None, "--verify")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(folder, version):
    array = random_array((4, 5), "<f8")
    with open("in.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    done("transpose", "in.npy", "out.npy")
    assert np.array_equal(np.load("out.npy").view("u8"), array.T.view("u8"))
    assert (folder / "out.npy").read_bytes()[6] == version[0]


def test_random_arrays(folder):
    random = np.random.default_rng(1)
    for seed in range(60):
        rank = int(random.integers(1, 7))
        shape = tuple(int(n) for n in random.integers(1, 12, rank))
        dtype = np.dtype(str(random.choice(DTYPES)))
        axes = tuple(int(axis) for axis in random.permutation(rank))
        names = [f"axis_{axis}" for axis in range(rank)]
        pattern = f"{' '.join(names)} -> {' '.join(names[axis] for axis in axes)}"
        check(folder, random_array(shape, dtype, seed), axes, "--pattern", pattern)


def test_patterns(folder):
    array = random_array((6, 5, 4, 3), "u1")
    for pattern, axes in [
        ("n h w c -> n c h w", (0, 3, 1, 2)),
        ("... c -> c ...", (3, 0, 1, 2)),
        ("n ... a b -> n ... b a", (0, 1, 3, 2)),
    ]:
        check(folder, array, axes, "--pattern", pattern)


def test_large_arrays_in_many_pieces(folder):
    for shape, dtype, axes in [
        ((3001, 2999), "<f4", (1, 0)),
        ((130, 257, 301), "<u2", (1, 2, 0)),
        ((4_000_000, 3), "u1", (1, 0)),
        ((3, 4_000_000), "u1", (1, 0)),
        ((50, 60, 1000, 3), "<f4", (1, 0, 2, 3)),
    ]:
        array = random_array(shape, dtype)
        for options in [(), ("--threads", "1"), ("--memory", "32MiB")]:
            check(folder, array, axes, "--perm", ",".join(map(str, axes)), *options)


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 1, 0)], ids=str)
def test_forced_kernels(folder, axes):
    array = random_array((900, 1100, 2), "<f4")
    np.save("in.npy", array)
    perm = ",".join(map(str, axes))
    plan = json.loads(done("plan", "in.npy", "--perm", perm, "--json"))
    assert plan["candidates"] and plan["refused"]
    words = ["transpose", "in.npy", "out.npy", "--perm", perm]
    for kernel in {candidate["kernel"] for candidate in plan["candidates"]}:
        report = json.loads(done(*words, "--force", kernel, "--json"))
        assert report["kernel"] == kernel
        assert (folder / "out.npy").read_bytes() == saved(array.transpose(axes))
        (folder / "out.npy").unlink()
    for refusal in plan["refused"]:
        refused(*words, "--force", refusal["kernel"], part="does not take this problem")
        assert not (folder / "out.npy").exists()


def test_measured_kernels(folder):
    check(folder, random_array((1500, 1700), "<f4"), None, "--effort", "measure")


def test_raw_files(folder):
    array = random_array((30, 40, 5), "<f8")
    array.tofile("in.raw")
    for dtype in ["f64", "float64", "<f8", "b8"]:
        done("transpose", "in.raw", "out.raw", "--raw", "--shape", "30,40,5", "--dtype", dtype,
             "--perm", "1,2,0", "--verify")  # fmt: skip
        assert (folder / "out.raw").read_bytes() == array.transpose(1, 2, 0).tobytes()


@pytest.mark.parametrize("memory", [(), ("--memory", "32MiB")])
@pytest.mark.parametrize("shape", [(20, 30), (1500, 9000), (0, 3)])
def test_pipes(folder, memory, shape):
    array = random_array(shape, "<f4")
    np.save("in.npy", array)
    expected = saved(array.T)
    data = (folder / "in.npy").read_bytes()
    assert done("transpose", "-", "-", *memory, input=data, text=False) == expected
    assert done("transpose", "in.npy", "-", *memory, text=False) == expected
    done("transpose", "-", "out.npy", *memory, input=data, text=False)
    assert (folder / "out.npy").read_bytes() == expected
    # A pipe on both sides of a pipe, and files on both.
    shell = f"cat in.npy | {PROGRAM} transpose - - | {PROGRAM} transpose - - < /dev/stdin > back.npy"
    subprocess.run(["bash", "-c", f"set -o pipefail; {shell}"], check=True)
    assert (folder / "back.npy").read_bytes() == data
    subprocess.run(f"{PROGRAM} transpose - - < in.npy > out2.npy", shell=True, check=True)
    assert (folder / "out2.npy").read_bytes() == expected


def test_report(folder):
    array = random_array((64, 32), "<f4")
    np.save("in.npy", array)
    report = json.loads(done("transpose", "in.npy", "out.npy", "--json", "--verify"))
    assert report["shape"] == [64, 32] and report["result_shape"] == [32, 64]
    assert report["permutation"] == [1, 0]
    assert report["bytes"] == array.nbytes == report["bytes_written"]
    assert report["verified"] is True
    assert "verified" in done("transpose", "in.npy", "out.npy", "--verify")
    assert "verified" not in done("transpose", "in.npy", "out.npy")


def test_verify_needs_a_file(folder):
    np.save("in.npy", random_array((4, 4), "<f4"))
    refused("transpose", "in.npy", "-", "--verify", part="--verify")


def test_output_replaces_a_file_whole(folder):
    array = random_array((40, 30), "<f4")
    np.save("in.npy", array)
    (folder / "out.npy").write_bytes(b"x" * 100_000)
    (folder / "out.npy").chmod(0o640)
    done("transpose", "in.npy", "out.npy")
    assert (folder / "out.npy").read_bytes() == saved(array.T)
    assert (folder / "out.npy").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == ["in.npy", "out.npy"]


def test_on_the_gpu_or_why_not(folder):
    array = random_array((40, 300, 70), "<f4")
    np.save("in.npy", array)
    words = ["transpose", "in.npy", "out.npy", "--perm", "2,0,1", "--device", "gpu"]
    refused(*words[:-1], "tpu", part="--device = 'tpu' is neither cpu nor gpu")
    gpus = [device for device in json.loads(done("devices", "--json")) if device["device"] == "gpu"]
    if "why_not" in gpus[-1]:
        line = refused(*words)
        assert line == f"cornerturn: --device gpu: {gpus[-1]['why_not']}\n"
        assert [path.name for path in folder.iterdir()] == ["in.npy"]
        return
    report = json.loads(done(*words, "--verify", "--json"))
    assert report["device"] == gpus[0]["name"] and report["verified"]
    assert report["schedule"]["route"] == "one_pass" and report["bytes_read"] == array.nbytes
    assert (folder / "out.npy").read_bytes() == saved(array.transpose(2, 0, 1))
    piped = subprocess.run(
        [PROGRAM, "transpose", "-", "-", "--perm", "2,0,1", "--device", "gpu"],
        input=(folder / "in.npy").read_bytes(), capture_output=True, check=True,
    )  # fmt: skip
    assert piped.stdout == saved(array.transpose(2, 0, 1))
