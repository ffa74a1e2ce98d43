"""cornerturn transpose --to and --from q8_0, mxfp8_e4m3, ...: files of blocks, there and back."""

import json
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, done, refused, saved

ml_dtypes = pytest.importorskip("ml_dtypes")
MX = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2}


def ordinary(shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 100).astype(np.float32)


def gguf_blocks(x):
    gguf = pytest.importorskip("gguf")
    return gguf.quantize(np.ascontiguousarray(x.astype("f4")), gguf.GGMLQuantizationType.Q8_0)


def gguf_values(blocks):
    gguf = pytest.importorskip("gguf")
    return gguf.dequantize(blocks, gguf.GGMLQuantizationType.Q8_0)


def mx_parts(x, dtype):
    """OCP's rule: the values, and the codes of the scales."""
    blocks = x.reshape(*x.shape[:-1], -1, 32).astype("f8")
    largest = float(ml_dtypes.finfo(dtype).max)
    amax = np.abs(blocks).max(axis=-1)
    code = np.floor(np.log2(amax)) - np.floor(np.log2(largest)) + 127
    scaled = np.clip(blocks / 2.0 ** (code[..., None] - 127), -largest, largest)
    return scaled.astype(dtype).reshape(x.shape), code.astype("u1")


def mx_values(values, codes):
    blocks = values.astype("f4").reshape(*codes.shape, 32)
    return (blocks * np.exp2(codes[..., None].astype("f4") - 127)).reshape(values.shape)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
def test_to_q8_0(folder, dtype):
    x = ordinary((320, 3, 70)).astype(dtype)
    np.save("in.npy", x)
    done("transpose", "in.npy", "out.npy", "--to", "q8_0")
    assert (folder / "out.npy").read_bytes() == saved(gguf_blocks(x.T))


def test_padding(folder):
    x = ordinary((5, 3, 70))
    np.save("in.npy", x)
    order = ("--perm", "0,1,2")
    refused("transpose", "in.npy", "out.npy", *order, "--to", "q8_0",
            part="--to q8_0: the last axis of OUT has 70 values, no multiple of 32")  # fmt: skip
    assert not (folder / "out.npy").exists()
    done("transpose", "in.npy", "out.npy", *order, "--to", "q8_0", "--pad")
    whole = np.zeros((5, 3, 96), "f4")
    whole[..., :70] = x
    np.testing.assert_array_equal(np.load("out.npy"), gguf_blocks(whole))
    done("transpose", "in.npy", "out.npy", *order, "--to", "mxfp8_e4m3", "--scales", "s.npy", "--pad")
    values, codes = mx_parts(whole, ml_dtypes.float8_e4m3fn)
    assert (folder / "out.npy").read_bytes() == saved(values)
    assert (folder / "s.npy").read_bytes() == saved(codes)


@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("to", ["f4", "bf16"])
def test_from_q8_0(folder, perm, to):
    blocks = gguf_blocks(ordinary((30, 7, 96)))
    np.save("in.npy", blocks)
    order = ",".join(map(str, perm))
    words = () if to == "f4" else ("--to", to)
    text = done("transpose", "in.npy", "out.npy", "--from", "q8_0", "--perm", order, *words)
    assert "q8_0 to" in text
    expected = gguf_values(blocks).transpose(perm)
    if to == "bf16":
        expected = expected.astype(ml_dtypes.bfloat16)
    assert (folder / "out.npy").read_bytes() == saved(expected)


@pytest.mark.parametrize("shape", [(96,), (4096,), (64, 0), (0, 64), (2, 3, 4, 32)])
def test_shapes(folder, shape):
    x = ordinary(shape)
    np.save("in.npy", x)
    order = ("--perm", ",".join(map(str, range(len(shape)))))
    done("transpose", "in.npy", "q8.npy", *order, "--to", "q8_0")
    blocks = np.load("q8.npy")
    assert blocks.shape == (*shape[:-1], shape[-1] // 32 * 34)
    done("transpose", "q8.npy", "back.npy", *order, "--from", "q8_0")
    if x.size:
        np.testing.assert_array_equal(blocks, gguf_blocks(x))
        np.testing.assert_array_equal(np.load("back.npy"), gguf_values(blocks))
    assert np.load("back.npy").shape == shape


@pytest.mark.parametrize("format", MX)
def test_mxfp8_there_and_back(folder, format):
    x = ordinary((160, 5, 33))
    np.save("in.npy", x)
    done("transpose", "in.npy", "values.npy", "--to", format, "--scales", "scales.npy")
    values, codes = mx_parts(np.ascontiguousarray(x.T), MX[format])
    # As numpy.save writes 8-bit floats, but e5m2, which it then could not load.
    assert (folder / "values.npy").read_bytes() == saved(values.view(MX["mxfp8_e4m3"]))
    assert (folder / "scales.npy").read_bytes() == saved(codes)
    expected = mx_values(values, codes)
    for perm in [(0, 1, 2), (2, 0, 1), (1, 0, 2)]:
        done("transpose", "values.npy", "back.npy", "--from", format, "--scales", "scales.npy",
             "--perm", ",".join(map(str, perm)))  # fmt: skip
        assert (folder / "back.npy").read_bytes() == saved(expected.transpose(perm))
    np.save("fortran.npy", np.asfortranarray(values.view("u1")))
    np.save("scales.npy", np.asfortranarray(codes))
    done("transpose", "fortran.npy", "back.npy", "--from", format, "--scales", "scales.npy",
         "--to", "f64")  # fmt: skip
    assert (folder / "back.npy").read_bytes() == saved(expected.T.astype("f8"))


def test_several_parts(folder):
    """More than are worked on at a time, along the blocks and across them."""
    row = np.random.default_rng(5).integers(-127, 128, 1 << 25, np.int8)
    np.save("in.npy", row)
    done("transpose", "in.npy", "blocks.npy", "--to", "q8_0")
    done("transpose", "blocks.npy", "back.npy", "--from", "q8_0", "--to", "f16")
    back = np.load("back.npy", mmap_mode="r")
    assert np.abs(back - row).max() <= 0.5
    np.save("in.npy", row.reshape(1 << 13, 1 << 12))
    done("transpose", "in.npy", "parts.npy", "--perm", "0,1", "--to", "q8_0", "--memory", "32MiB")
    blocks = np.load("blocks.npy", mmap_mode="r")
    np.testing.assert_array_equal(np.load("parts.npy").ravel(), blocks)
    done("transpose", "parts.npy", "turned.npy", "--from", "q8_0", "--to", "f16")
    np.testing.assert_array_equal(np.load("turned.npy").T.ravel(), back)


def test_pipes(folder):
    blocks = gguf_blocks(ordinary((40, 64)))
    words = [PROGRAM, "transpose", "-", "-", "--from", "q8_0"]
    result = subprocess.run(words, input=saved(blocks), capture_output=True, check=True)
    assert result.stdout == saved(gguf_values(blocks).T) and not result.stderr


def test_json(folder):
    np.save("in.npy", ordinary((64, 3)))
    text = done("transpose", "in.npy", "out.npy", "--to", "mxfp8_e5m2", "--scales", "s.npy", "--json")
    report = json.loads(text)
    assert report["blocks"] == "mxfp8_e5m2" and report["scales"] == "s.npy"
    assert report["result_shape"] == [3, 64] and report["result_bytes"] == 192
    assert report["device"] == "cpu" and report["schedule"]["route"] == "mapped"
    assert report["bytes_written"] == 192 + 6 and not report["verified"]


def test_without_a_gpu_one_line_says_why(folder):
    devices = json.loads(done("devices", "--json"))
    why_not = next((d["why_not"] for d in devices if "why_not" in d), None)
    if not why_not:
        pytest.skip("there is a GPU")
    np.save("in.npy", ordinary((64, 2)))
    words = ("transpose", "in.npy", "out.npy", "--device", "gpu")
    for change in [("--to", "q8_0"), ("--to", "mxfp8_e4m3", "--scales", "s.npy")]:
        assert refused(*words, *change) == f"cornerturn: --device gpu: {why_not}\n"
    assert [path.name for path in folder.iterdir()] == ["in.npy"]


def test_a_first_axis_of_one_is_cut_as_well(folder):
    x = np.random.default_rng(6).integers(-99, 99, (1, 3, 1 << 24), np.int8)
    np.save("in.npy", x)
    order = ("--perm", "0,1,2")
    report = json.loads(done("transpose", "in.npy", "out.npy", *order, "--to", "q8_0", "--json"))
    assert report["schedule"]["boxes"] > 1
    report = json.loads(done("transpose", "out.npy", "back.npy", *order, "--from", "q8_0", "--to",
                             "f16", "--json"))  # fmt: skip
    assert report["schedule"]["boxes"] > 1
    assert np.abs(np.load("back.npy", mmap_mode="r") - x).max() <= 0.5


FORMATS = ["q8_0", *MX]


def scales(format):
    return [] if format == "q8_0" else ["--scales", "s.npy"]


@pytest.mark.parametrize("options", [(), ("--memory", "32MiB"), ("--threads", "1")], ids=" ".join)
@pytest.mark.parametrize("format", FORMATS)
def test_verified(folder, format, options):
    x = ordinary((330, 7, 70))
    x[5] = np.inf
    x[7] = np.nan
    np.save("in.npy", np.asfortranarray(x))
    order = ("--perm", "0,2,1")
    words = ("transpose", "in.npy", "out.npy", *order, "--to", format, *scales(format), "--pad")
    done(*words)
    plain = (folder / "out.npy").read_bytes()
    report = json.loads(done(*words, *options, "--verify", "--json"))
    assert report["verified"] and report["verify_seconds"] > 0
    assert report["device"] == "cpu" and report["kernel"]
    assert (folder / "out.npy").read_bytes() == plain
    text = done("transpose", "out.npy", "back.npy", "--from", format, *scales(format),
                "--to", "bf16", *options, "--verify")  # fmt: skip
    assert "verified every element" in text and f"kernel   {report['kernel']}" in text


def test_verified_through_a_pipe(folder):
    blocks = gguf_blocks(ordinary((40, 64)))
    words = [PROGRAM, "transpose", "-", "out.npy", "--from", "q8_0", "--verify"]
    subprocess.run(words, input=saved(blocks), capture_output=True, check=True)
    assert (folder / "out.npy").read_bytes() == saved(gguf_values(blocks).T)
    np.save("in.npy", blocks)
    refused("transpose", "in.npy", "-", "--from", "q8_0", "--verify",
            part="OUT = '-' cannot be read again: --verify needs a file")  # fmt: skip


def test_nothing_is_verified_of_an_empty_array(folder):
    np.save("in.npy", np.zeros((64, 0), "f4"))
    done("transpose", "in.npy", "out.npy", "--to", "q8_0", "--verify", "--force", "blocks")
    assert np.load("out.npy").shape == (0, 68)


@pytest.mark.parametrize("format", FORMATS)
def test_forced_and_measured_kernels(folder, format):
    x = ordinary((1500, 96))
    np.save("in.npy", x)
    words = ("transpose", "in.npy", "out.npy", "--to", format, *scales(format), "--pad", "--json")
    done(*words)
    expected = (folder / "out.npy").read_bytes()
    plan = json.loads(done("plan", "in.npy", "--to", format, "--pad", "--json"))
    for kernel in {candidate["kernel"] for candidate in plan["candidates"]}:
        assert json.loads(done(*words, "--force", kernel))["kernel"] == kernel
        assert (folder / "out.npy").read_bytes() == expected
        report = json.loads(done("transpose", "out.npy", "back.npy", "--from", format,
                                 *scales(format), "--force", kernel, "--json"))  # fmt: skip
        assert report["kernel"] == kernel
    for refusal in plan["refused"]:
        refused(*words, "--force", refusal["kernel"], part="does not take this problem")
    done(*words, "--effort", "measure", "--verify")
    assert (folder / "out.npy").read_bytes() == expected
    done("transpose", "out.npy", "back.npy", "--from", format, *scales(format), "--effort",
         "measure", "--verify")  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_plan(folder, format):
    shape = ("plan", "--shape", "4096,1024", "--to", format)
    np.save("in.npy", np.zeros((4096, 1024), "f4"))
    plan = json.loads(done(*shape, "--json"))
    operation = plan["operation"]
    assert (operation, plan["device"]) == ("quantise", "cpu")
    assert plan["kernel"] in {candidate["kernel"] for candidate in plan["candidates"]}
    assert "values are quantised" in {refusal["rule"] for refusal in plan["refused"]}
    assert done("plan", "in.npy", "--to", format) == done(*shape) == done(*shape, "--perm", "1,0")
    assert done(*shape, "--pattern", "a b -> a b") != done(*shape)
    text = done(*shape, "--explain")
    assert "candidates" in text and f"{operation} " in text and "why " in text
    forced = done(*shape, "--force", plan["kernel"])
    assert forced.startswith(plan["kernel"] + ":") and "forced by name" in forced


@pytest.mark.parametrize("format", FORMATS)
def test_plan_on_a_described_gpu(folder, format):
    there = ("plan", "--shape", "4096,4096", "--dtype", "bf16", "--to", format, "--on", "h200")
    plan = json.loads(done(*there, "--json"))
    assert plan["device"] == "NVIDIA H200" and plan["kernel"] == "quantise"
    assert {"quantise", "blocks"} <= {candidate["kernel"] for candidate in plan["candidates"]}
    assert "accesses" not in plan and "accesses" not in done(*there, "--explain")
    forced = json.loads(done(*there, "--force", "blocks", "--json"))
    assert forced["kernel"] == "blocks" and forced["predicted_ns"] >= plan["predicted_ns"]
    bytes_of_a_row = 4096 // 32 * 34 if format == "q8_0" else 4096
    back = ("plan", "--shape", f"4096,{bytes_of_a_row}", "--from", format, "--on", "h200")
    plan = json.loads(done(*back, "--json"))
    assert (plan["operation"], plan["kernel"]) == ("dequantise", "dequantise")
    assert done(*back, "--to", "f32") == done(*back) != done(*back, "--to", "bf16")


WRONG_PLANS = [
    (["70,64"], ["--to", "q8_0"], "--to q8_0: the last axis of OUT has 70 values"),
    (["70,64"], ["--to", "q8_0", "--pad", "--bias", "1"], "--to q8_0: --bias does not go with it"),
    (["64,64"], ["--to", "q8_0", "--force", "tile"], "kernel = 'tile' does not take this problem"),
    (["64,64"], ["--to", "q8_0", "--force", "no", "--on", "h200"], "kernel = 'no' is unknown on a GPU"),
    (["64,64"], ["--to", "q8_0", "--dtype", "c64"], "src.type = c64 has no real values"),
    (["64,68"], ["--from", "q8_0", "--to", "mxfp8_e4m3"], "values become blocks, or blocks values"),
    (["64,68"], ["--from", "q8_0", "--pad"], "--pad: it belongs to --to"),
    (["64,68"], ["--from", "q8_0", "--dtype", "f32"], "the array of --shape holds f32: q8_0 is stored as"),
    (["64,70"], ["--from", "q8_0"], "its last axis of 70 is no multiple of 34, a block of q8_0"),
    (["64,68"], ["--from", "q8_0", "--to", "b4"], "--to = 'b4': plain bytes have no values"),
    ([""], ["--to", "mxfp8_e4m3"], "an array of no axes has no blocks"),
    (["64,64"], ["--to", "f16", "--pad"], "--pad: it belongs to"),
    (["64,64"], ["--pad"], "--pad: it belongs to"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "options", "part"), WRONG_PLANS)
def test_what_is_wrong_in_a_plan_is_named(shape, options, part):
    refused("plan", "--shape", *shape, *options, part=part)


WRONG = [
    ("in", ["--to", "q8_0", "--scale", "2"], "--to q8_0: --scale does not go with it"),
    ("in", ["--to", "q8_0", "--bias", "2"], "--to q8_0: --bias does not go with it"),
    ("in", ["--to", "q8_0", "--saturate"], "--to q8_0: --saturate does not go with it"),
    ("q8", ["--from", "q8_0", "--stochastic", "2"], "--from q8_0: --stochastic does not go with it"),
    ("in", ["--to", "q8_0", "--raw"], "--to q8_0: --raw does not go with it"),
    ("in", ["--to", "q8_0", "--force", "tile"], "kernel = 'tile' does not take this problem"),
    ("q8", ["--from", "q8_0", "--force", "no"], "kernel = 'no' is unknown"),
    ("in", ["--to", "q8_0", "--effort", "great"], "--effort = 'great' is neither"),
    ("in", ["--to", "q8_0", "--device", "gpu", "--scale", "2"], "--scale does not go with it"),
    ("values", ["--from", "mxfp8_e4m3", "--device", "gpu"], "--scales is missing"),
    ("in", ["--to", "q8_0", "--memory", "1MiB"], "memory = 1048576 B is too little: the least is 33554432 B"),
    ("in", ["--to", "q8_0", "--device", "tpu"], "--device = 'tpu' is neither"),
    ("in", ["--to", "q8_0", "--scales", "s.npy"], "the blocks of q8_0 hold their scales"),
    ("in", ["--to", "mxfp8_e4m3"], "--scales is missing: --to mxfp8_e4m3 needs"),
    ("in", ["--to", "mxfp8_e4m3", "--scales", "-"], "--scales = '-': it has to be a file"),
    ("in", ["--to", "mxfp8_e4m3", "--scales", "./out.npy"], "is OUT as well"),
    ("in", ["--to", "mxfp8_e4m3", "--scales", "in.npy"], "is the same file as IN"),
    ("in", ["--to", "mxfp8_e4m3", "--scales", "no/s.npy"], "--scales = 'no/s.npy' cannot be"),
    ("in", ["--to", "f16", "--pad"], "--pad: it belongs to"),
    ("in", ["--to", "f16", "--scales", "s.npy"], "--scales = 's.npy': it belongs to"),
    ("q8", ["--from", "q8_0", "--to", "mxfp8_e4m3"], "values become blocks, or blocks values"),
    ("q8", ["--from", "q8_0", "--pad"], "--pad: it belongs to --to"),
    ("q8", ["--from", "q8_0", "--to", "c64"], "dst.type = c64 has no real values"),
    ("q8", ["--from", "q8_0", "--to", "b4"], "--to = 'b4': plain bytes have no values"),
    ("in", ["--from", "q8_0"], "IN = 'in.npy' holds '<f4': q8_0 is stored as '|u1'"),
    ("odd", ["--from", "q8_0"], "its last axis of 70 is no multiple of 34, a block of q8_0"),
    ("fortran", ["--from", "q8_0"], "is in Fortran order"),
    ("flat", ["--from", "q8_0"], "an array of no axes has no blocks"),
    ("flat", ["--to", "q8_0"], "an array of no axes has no blocks"),
    ("values", ["--from", "mxfp8_e4m3"], "--scales is missing: --from mxfp8_e4m3 needs"),
    ("values", ["--from", "mxfp8_e4m3", "--scales", "no.npy"], "--scales = 'no.npy' cannot be"),
    ("values", ["--from", "mxfp8_e4m3", "--scales", "in.npy"], "scales are '|u1'"),
    ("values", ["--from", "mxfp8_e4m3", "--scales", "q8.npy"],
     "has the shape (2, 34): for the (64, 96) values in IN it has to be (64, 3)"),
    ("odd", ["--from", "mxfp8_e4m3", "--scales", "q8.npy"], "no multiple of 32, a block of mxfp8"),
    ("in", ["--from", "mxfp8_e4m3", "--scales", "q8.npy"], "elements of one byte"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "part"), WRONG)
def test_what_is_wrong_is_named(folder, name, options, part):
    files = {
        "in": ordinary((64, 2)),
        "q8": np.zeros((2, 34), "u1"),
        "odd": np.zeros((2, 70), "u1"),
        "fortran": np.asfortranarray(np.zeros((2, 34), "u1")),
        "flat": np.zeros((), "u1"),
        "values": np.zeros((64, 96), "u1"),
    }
    for key, array in files.items():
        np.save(f"{key}.npy", array)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused("transpose", f"{name}.npy", "out.npy", *options, part=part)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_scales_that_cannot_be_written_leave_no_values(folder):
    np.save("in.npy", ordinary((64, 2)))
    (folder / "s.npy").mkdir()
    refused("transpose", "in.npy", "out.npy", "--to", "mxfp8_e4m3", "--scales", "s.npy",
            part="--scales = 's.npy' cannot be written")  # fmt: skip
    assert sorted(path.name for path in folder.iterdir()) == ["in.npy", "s.npy"]
