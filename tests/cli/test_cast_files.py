"""cornerturn transpose --to and --from every format of the library's table, against the Python package."""

import io
import json

import numpy as np
import pytest

from command_line import done, refused

cornerturn = pytest.importorskip("cornerturn")
from cornerturn._blocks import FORMATS, LAYOUTS  # noqa: E402


def ordinary(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def as_saved(array):
    """What NumPy writes, in Fortran order where the array is."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def same_bytes(path, array):
    stored = np.load(path)
    assert stored.shape == array.shape
    np.testing.assert_array_equal(stored.view(np.uint8), np.asarray(array).view(np.uint8))


@pytest.mark.parametrize("memory", [(), ("--memory", "32MiB")], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_there_and_back(folder, format, memory):
    x = ordinary((200, 150))
    np.save("in.npy", x)
    values, *others = made = cornerturn.quantise(x, format, (1, 0), pad=True)
    if FORMATS[format].packed:
        values, others = made, []
    words = ("--scales", "s.npy") if others else ()
    report = json.loads(done("transpose", "in.npy", "out.npy", "--to", format, *words, "--pad", *memory,
                             "--verify", "--json"))  # fmt: skip
    same_bytes("out.npy", values)
    given, of_tensor = {}, ()
    if others:
        given["scales"] = others[0]
        assert (folder / "s.npy").read_bytes() == as_saved(others[0])
    if format == "nvfp4":
        assert report["tensor_scale"] == given.setdefault("tensor_scale", others[1])
        of_tensor = ("--tensor-scale", repr(others[1]))
    done("transpose", "out.npy", "back.npy", "--from", format, *words, *of_tensor, *memory, "--verify")
    np.testing.assert_array_equal(np.load("back.npy"), cornerturn.dequantise(values, format, (1, 0), **given))


@pytest.mark.parametrize("format", ["fp8_128x128", "mxfp8_32x32", "mxfp4", "iq4_nl"])
def test_stacks_of_matrices(folder, format):
    x = ordinary((256, 3, 128))
    np.save("in.npy", x)
    values, *scales = made = cornerturn.quantise(x, format, (1, 2, 0))
    if FORMATS[format].packed:
        values, scales = made, []
    words = ("--scales", "s.npy") if scales else ()
    done("transpose", "in.npy", "out.npy", "--to", format, *words, "--perm", "1,2,0", "--verify")
    same_bytes("out.npy", values)
    given = {"scales": scales[0]} if scales else {}
    for perm in [(2, 0, 1), (1, 0, 2)]:
        done("transpose", "out.npy", "back.npy", "--from", format, *words, "--perm", ",".join(map(str, perm)),
             "--to", "f16", "--verify")  # fmt: skip
        expected = cornerturn.dequantise(values, format, perm, dtype="float16", **given)
        np.testing.assert_array_equal(np.load("back.npy"), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_scales(folder, layout):
    x = ordinary((70, 224))
    np.save("in.npy", x)
    values, scales = cornerturn.quantise(x, "mxfp4", scale_layout=layout)
    words = ("--scales", "s.npy", "--scale-layout", layout, "--verify")
    done("transpose", "in.npy", "out.npy", "--perm", "0,1", "--to", "mxfp4", *words)
    stored = np.load("s.npy")
    # A file has what lies between lines as well.
    there = stored if layout == "tiles_128x4" else stored[: scales.shape[0], : scales.shape[1]]
    np.testing.assert_array_equal(there, scales)
    assert there.strides == scales.strides and there.dtype == scales.dtype
    done("transpose", "out.npy", "back.npy", "--from", "mxfp4", *words, "--perm", "0,1")
    expected = cornerturn.dequantise(values, "mxfp4", scales=scales, scale_layout=layout)
    np.testing.assert_array_equal(np.load("back.npy"), expected)


def test_rules_of_scales(folder):
    x = ordinary((64, 128))
    np.save("in.npy", x)
    for format, rule in (("mxfp8_e4m3", "even"), ("fp8_1x128", "ceil")):
        values, scales = cornerturn.quantise(x, format, scale=rule)
        done("transpose", "in.npy", "out.npy", "--perm", "0,1", "--to", format, "--scales", "s.npy",
             "--scale-rule", rule, "--verify")  # fmt: skip
        same_bytes("out.npy", values)
        np.testing.assert_array_equal(np.load("s.npy"), scales)


WRONG = [
    ("in", ["--to", "fp8_1x128"], "--scales is missing: --to fp8_1x128 needs"),
    ("in", ["--to", "fp8_128x128", "--scales", "s.npy"], "the last axis of OUT has 64 values, no multiple of 128"),
    ("in", ["--to", "mxfp8_32x32", "--scales", "s.npy"], "the last but one axis of OUT has 40 values, no multiple of 32"),
    ("line", ["--to", "mxfp8_32x32", "--scales", "s.npy"], "'line.npy' has one axis, and a block has 32 lines"),
    ("in", ["--to", "q4_0", "--scale-rule", "ceil"], "--scale-rule = 'ceil': the blocks of q4_0 hold their scales"),
    ("in", ["--to", "mxfp4", "--scales", "s.npy", "--scale-rule", "most"], "'most' is none of floor, ceil, even, exact"),
    ("in", ["--to", "mxfp4", "--scales", "s.npy", "--scale-rule", "exact"], "is no rule for the scales of mxfp4: use floor or ceil or even"),
    ("in", ["--to", "mxfp4", "--scales", "s.npy", "--scale-layout", "rows"], "--scale-layout = 'rows': it is none of packed"),
    ("in", ["--to", "fp8_1x128", "--pad", "--scales", "s.npy", "--scale-layout", "packed_4"],
     "--scale-layout = 'packed_4': scales of fp8_1x128 are f32, not bytes"),
    ("stack", ["--to", "mxfp4", "--scales", "s.npy", "--scale-layout", "mn_major"], "it is one for matrices"),
    ("in", ["--to", "mxfp4", "--scales", "s.npy", "--tensor-scale", "2"], "mxfp4 has no scale of the tensor"),
    ("in", ["--to", "nvfp4", "--scales", "s.npy", "--tensor-scale", "-2"], "--tensor-scale = '-2' is no positive number"),
    ("codes", ["--from", "nvfp4", "--scales", "codes.npy"], "--tensor-scale is missing: --from nvfp4 needs it"),
    ("codes", ["--from", "mxfp4", "--scales", "in.npy"], "'in.npy' holds '<f4': scales are '|u1'"),
    ("codes", ["--from", "fp8_1x128", "--scales", "codes.npy"], "'codes.npy' holds '|u1': scales are '<f4'"),
    ("codes", ["--from", "mxfp4", "--scales", "codes.npy", "--scale-layout", "tiles_128x4"],
     "for the (2, 128) values in IN it has to be (1024,)"),
    ("codes", ["--from", "mxfp4", "--scales", "codes.npy", "--scale-rule", "ceil"], "--scale-rule: it belongs to --to"),
    ("in", ["--to", "f16", "--tensor-scale", "2"], "--tensor-scale = '2': it belongs to --to"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "part"), WRONG)
def test_what_is_wrong_is_named(folder, name, options, part):
    for key, array in {
        "in": ordinary((64, 40)),
        "line": ordinary((64,)),
        "stack": ordinary((32, 32, 32)),
        "codes": np.zeros((2, 128), "u1"),
    }.items():
        np.save(f"{key}.npy", array)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused("transpose", f"{name}.npy", "out.npy", *options, part=part)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_scale_that_nobody_would_hear_of_is_refused(folder):
    np.save("in.npy", ordinary((64, 2)))
    refused("transpose", "in.npy", "-", "--to", "nvfp4", "--scales", "s.npy",
            part="--tensor-scale is missing: --to nvfp4 needs it, because nothing is said where OUT is a pipe")  # fmt: skip
