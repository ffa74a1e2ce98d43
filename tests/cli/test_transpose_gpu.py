"""cornerturn transpose --device gpu: the bytes are those that the CPU writes. Needs a GPU."""

import json
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, done, refused, saved

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def gpu():
    devices = json.loads(done("devices", "--json"))
    why_not = next((d["why_not"] for d in devices if "why_not" in d), None)
    if why_not:
        pytest.skip(f"no GPU: {why_not}")


CHANGES = [
    [],
    ["--to", "bf16"],
    ["--to", "f64"],
    ["--to", "i8", "--scale", "12.7", "--saturate"],
    ["--scale", "0.3", "--bias", "2"],
    ["--to", "f8_e4m3", "--stochastic", "5", "--bias", "1"],
]


@pytest.mark.parametrize("perm", ["1,2,0", "2,1,0", "0,2,1"])
@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
def test_files_are_those_of_the_cpu(folder, perm, change):
    x = np.random.default_rng(3).standard_normal((700, 50, 300)).astype("f4") * 100
    np.save("in.npy", x)
    words = ["--perm", perm, *change]
    done("transpose", "in.npy", "cpu.npy", *words)
    expected = (folder / "cpu.npy").read_bytes()
    text = done("transpose", "in.npy", "gpu.npy", *words, "--device", "gpu", "--verify")
    assert " on " in text
    assert (folder / "gpu.npy").read_bytes() == expected
    done("transpose", "in.npy", "gpu.npy", *words, "--device", "gpu", "--memory", "32MiB")
    assert (folder / "gpu.npy").read_bytes() == expected
    pipe = subprocess.run([PROGRAM, "transpose", "-", "-", *words, "--device", "gpu"],
                          input=saved(x), capture_output=True, check=True)  # fmt: skip
    assert pipe.stdout == expected


def test_measured_kernels_write_the_same(folder):
    np.save("in.npy", np.random.default_rng(4).standard_normal((900, 1100)).astype("f4"))
    done("transpose", "in.npy", "cpu.npy", "--to", "f16")
    done("transpose", "in.npy", "gpu.npy", "--to", "f16", "--device", "gpu", "--effort", "measure")
    assert (folder / "gpu.npy").read_bytes() == (folder / "cpu.npy").read_bytes()


FORMATS = ["q8_0", "mxfp8_e4m3", "mxfp8_e5m2"]


def scales(format, name):
    return [] if format == "q8_0" else ["--scales", name]


def contents(folder, name):
    """What the folder has of a result: the array, and the scales where there are any."""
    paths = [folder / f"{name}.npy", folder / f"{name}-scales.npy"]
    return [path.read_bytes() for path in paths if path.exists()]


def same_on_the_gpu(folder, source, words, with_scales=None):
    """`with_scales`: the format, where scales are written."""

    def words_for(name):
        more = scales(with_scales, f"{name}-scales.npy") if with_scales else []
        return ["transpose", source, f"{name}.npy", *words, *more]

    done(*words_for("cpu"))
    report = json.loads(done(*words_for("gpu"), "--device", "gpu", "--json"))
    assert report["device"] != "cpu" and report["kernel"] in ("quantise", "dequantise", "blocks")
    assert report["schedule"]["route"] == "one_pass"
    assert contents(folder, "gpu") == contents(folder, "cpu")
    done(*words_for("less"), "--device", "gpu", "--memory", "32MiB")
    assert contents(folder, "less") == contents(folder, "cpu")
    return report


# Whole and odd extents, several pieces with 32 MiB.
SHAPES = [((1024, 4096), "1,0"), ((1000, 1024), "0,1"), ((96, 33, 320), "1,2,0"), ((64,), "0"),
          ((2, 320, 4100), "0,2,1"), ((1, 3, 640000), "0,1,2"), ((7, 5, 3, 32), "2,0,1,3")]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("shape", "perm"), SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f2", "i4"])
def test_blocks_are_those_of_the_cpu(folder, format, shape, perm, dtype):
    x = np.random.default_rng(5).standard_normal(shape) * 100
    np.save("in.npy", x.astype(dtype))
    report = same_on_the_gpu(folder, "in.npy", ["--perm", perm, "--to", format], format)
    if dtype == "f4" and shape == (1024, 4096):
        assert report["kernel"] == "quantise"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", [(33, 70), (5, 31), (3, 1, 1001), (1,)])
def test_padded_blocks_are_those_of_the_cpu(folder, format, shape):
    x = np.random.default_rng(6).standard_normal(shape).astype("f4") * 100
    x.ravel()[0] = np.inf
    x.ravel()[-1] = np.nan
    np.save("in.npy", np.asfortranarray(x))
    same_on_the_gpu(folder, "in.npy", ["--to", format, "--pad"], format)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("perm", ["0,1,2", "2,0,1", "1,2,0"])
@pytest.mark.parametrize("to", ["f32", "bf16", "f64"])
def test_values_are_those_of_the_cpu(folder, format, perm, to):
    x = np.random.default_rng(7).standard_normal((130, 33, 960)).astype("f4") * 100
    np.save("in.npy", x)
    done("transpose", "in.npy", "blocks.npy", "--perm", "0,1,2", "--to", format,
         *scales(format, "s.npy"))  # fmt: skip
    words = ["--from", format, "--perm", perm, "--to", to, *scales(format, "s.npy")]
    same_on_the_gpu(folder, "blocks.npy", words)


@pytest.mark.parametrize("format", FORMATS)
def test_blocks_are_verified_forced_and_measured(folder, format):
    np.save("in.npy", np.random.default_rng(9).standard_normal((1024, 2048)).astype("f4"))
    to = ["--to", format, *scales(format, "s.npy"), "--device", "gpu", "--verify", "--json"]
    back = ["--from", format, *scales(format, "s.npy"), "--device", "gpu", "--verify", "--json"]
    for kernel, other in [("quantise", "dequantise"), ("blocks", "blocks")]:
        report = json.loads(done("transpose", "in.npy", "out.npy", *to, "--force", kernel))
        assert report["kernel"] == kernel and report["verified"]
        report = json.loads(done("transpose", "out.npy", "back.npy", *back, "--force", other))
        assert report["kernel"] == other and report["verified"]
    for memory in [[], ["--memory", "32MiB"]]:
        done("transpose", "in.npy", "out.npy", *to, "--effort", "measure", *memory)
        done("transpose", "out.npy", "back.npy", *back, "--effort", "measure", *memory)


@pytest.mark.parametrize("format", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("layout", ["packed", "tiles_128x4"])
@pytest.mark.parametrize("perm", ["1,0", "0,1"])
def test_values_of_four_bits_are_those_of_the_cpu(folder, format, layout, perm):
    np.save("in.npy", np.random.default_rng(5).standard_normal((1024, 4096)).astype("f4"))
    words = ["--perm", perm, "--to", format, "--scale-layout", layout]
    words += ["--tensor-scale", "512"] if format == "nvfp4" else []
    assert same_on_the_gpu(folder, "in.npy", words, format)["kernel"] == "quantise"


def test_blocks_go_through_pipes(folder):
    x = np.random.default_rng(8).standard_normal((320, 2048)).astype("f4")
    np.save("in.npy", x)
    done("transpose", "in.npy", "cpu.npy", "--to", "q8_0")
    done("transpose", "cpu.npy", "back.npy", "--from", "q8_0")
    for change, source, expected in [("--to", "in.npy", "cpu.npy"), ("--from", "cpu.npy", "back.npy")]:
        words = [PROGRAM, "transpose", "-", "-", change, "q8_0", "--device", "gpu"]
        result = subprocess.run(words, input=(folder / source).read_bytes(), capture_output=True,
                                check=True)  # fmt: skip
        assert result.stdout == (folder / expected).read_bytes()


def test_empty_arrays_of_blocks(folder):
    np.save("in.npy", np.zeros((0, 64), "f4"))
    done("transpose", "in.npy", "gpu.npy", "--to", "q8_0", "--perm", "0,1", "--device", "gpu")
    assert np.load("gpu.npy").shape == (0, 68)


REFUSED = [
    (["--to", "q8_0"], "the last axis of OUT has 70 values, no multiple of 32"),
    (["--to", "q8_0", "--pad", "--memory", "1MiB"], "the least is 32 MiB"),
    (["--to", "q8_0", "--pad", "--scale", "2"], "--to q8_0: --scale does not go with it"),
    (["--to", "q8_0", "--pad", "--force", "quantise"], "kernel = 'quantise' does not take this"),
    (["--to", "q8_0", "--pad", "--force", "tile"], "kernel = 'tile' does not take this problem"),
    (["--to", "mxfp8_e4m3", "--pad", "--scales", "no/s.npy"], "--scales = 'no/s.npy' cannot be"),
    (["--from", "q8_0"], "q8_0 is stored as '|u1'"),
]


@pytest.mark.parametrize(("options", "part"), REFUSED)
def test_what_is_wrong_leaves_nothing(folder, options, part):
    np.save("in.npy", np.zeros((70, 3), "f4"))
    refused("transpose", "in.npy", "out.npy", *options, "--device", "gpu", part=part)
    assert [path.name for path in folder.iterdir()] == ["in.npy"]


def test_types_without_real_values_leave_nothing(folder):
    np.save("in.npy", np.zeros((64, 3), "c8"))
    refused("transpose", "in.npy", "out.npy", "--to", "q8_0", "--device", "gpu",
            part="src.type = c64 has no real values")  # fmt: skip
    assert [path.name for path in folder.iterdir()] == ["in.npy"]
