"""Blocks of FP8, MXFP8, MXFP4 and NVFP4 against ml_dtypes and plain NumPy: values, scales and how they lie."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import cornerturn
from cast_numbers import codes, numbers
from cornerturn import _tensor
from cornerturn._blocks import FORMATS, LAYOUTS
from cornerturn._quantise import Format, ScaleLayout

ml_dtypes = pytest.importorskip("ml_dtypes")
F8 = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
LARGEST = {"float8_e4m3fn": 448, "float8_e5m2": 57344, "uint8": 6}
MANTISSA = {"float8_e4m3fn": 3, "float8_e5m2": 2, "uint8": 1}
EMAX = {"float8_e4m3fn": 8, "float8_e5m2": 15, "uint8": 2}
WITH_SCALES = [row.name for row in FORMATS.values() if not row.packed]
TILED = [row.name for row in FORMATS.values() if row.scales == "uint8"]


def special(shape, seed):
    """Some blocks of zeros, denormals and the largest numbers, and some with an infinity or a NaN."""
    x, random = numbers(shape, seed), np.random.default_rng(seed)
    tiny, largest = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
    for value in (0.0, -0.0, tiny, 1e6 * tiny, -largest, largest / 3):
        line, first = random.integers(shape[0]), random.integers(shape[1] // 16) * 16
        x[line, first : first + 128] = value
    for value in (np.nan, -np.nan, np.inf, -np.inf, largest, -0.0, tiny):
        x[random.integers(shape[0]), random.integers(shape[1])] = value
    return x


def reference(x, format, rule=None, tensor_scale=1.0):
    """Codes of the values and of the scales of the rows of a matrix, in f32 arithmetic."""
    row = FORMATS[format]
    lines, length = x.shape
    blocks = x.reshape(lines // row.across, row.across, length // row.along, row.along)
    amax = np.abs(blocks).max(axis=(1, 3), keepdims=True)
    most = np.float32(LARGEST[row.dtype])
    with np.errstate(all="ignore"):
        if row.scales == "float32":
            scale = np.maximum(amax, np.float32(1e-4)) / most
            if rule == "ceil":
                scale = np.exp2(np.ceil(np.log2(scale.astype(np.float64)))).astype(np.float32)
            inverse, stored = np.float32(1) / scale, scale
        elif format == "nvfp4":
            exact = amax / np.float32(6) * np.float32(tensor_scale)
            stored = np.minimum(exact, np.float32(448)).astype(ml_dtypes.float8_e4m3fn)
            wide = stored.astype(np.float32)
            none = (wide == 0) | np.isnan(wide)
            inverse = np.where(none, np.float32(0), np.float32(tensor_scale) / wide)
        else:
            wide = np.minimum(amax.astype(np.float64), 2.0**128)
            if rule == "even":
                half = np.exp2(np.maximum(np.floor(np.log2(wide)), -127) - MANTISSA[row.dtype] - 1)
                wide = np.where(wide < 2.0**128, wide + half, wide)
            exponent = np.floor(np.log2(wide)) - EMAX[row.dtype]
            if rule == "ceil":
                exponent = np.where(np.isinf(amax), exponent, np.ceil(np.log2(wide / most)))
            code = np.clip(np.where(amax == 0, 0, exponent + 127), 0, 254).astype(np.uint8)
            code = np.where(np.isnan(amax), 255, code).astype(np.uint8)
            inverse = np.where(code == 255, np.nan, np.exp2(127.0 - code)).astype(np.float32)
            stored = code
        scaled = (blocks * inverse).reshape(lines, length)
        scaled = np.where(np.isnan(scaled), np.float32(np.nan), scaled)  # without a sign
        if row.dtype == "uint8":
            nibbles = np.clip(scaled, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
            nibbles = np.where(np.isnan(scaled), 0, nibbles)
            values = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
        else:
            values = np.clip(scaled, -most, most).astype(F8[row.dtype])
    return values.view(np.uint8), stored[:, 0, :, 0].copy()


def rules(format):
    if format == "nvfp4":
        return [None]
    return [None, "ceil"] if FORMATS[format].scales == "float32" else [None, "ceil", "even"]


@pytest.mark.parametrize("format, rule", [(format, rule) for format in WITH_SCALES for rule in rules(format)])
def test_values_and_scales_are_the_references(format, rule):
    x = numbers((256, 384))
    x[:40] = 0
    x[128:, 128:256] = 0
    arguments = {"scale": rule}
    if format == "nvfp4":
        arguments["tensor_scale"] = 0.37
    values, scales = cornerturn.quantise(x, format, **arguments)[:2]
    expected, of_scales = reference(x, format, rule, 0.37)
    np.testing.assert_array_equal(codes(values), expected)
    np.testing.assert_array_equal(codes(np.ascontiguousarray(scales)), codes(of_scales))
    # The transpose, blocks along the rows of the result.
    values, scales = cornerturn.quantise(x, format, (1, 0), **arguments)[:2]
    expected, of_scales = reference(np.ascontiguousarray(x.T), format, rule, 0.37)
    np.testing.assert_array_equal(codes(values), expected)
    np.testing.assert_array_equal(codes(np.ascontiguousarray(scales)), codes(of_scales))


@pytest.mark.parametrize("format", WITH_SCALES)
def test_special_values_in_random_shapes(format):
    row, random = FORMATS[format], np.random.default_rng(20)
    for seed in range(4):
        for rule in rules(format):
            lines, count = random.integers(1, 300 // row.across + 1), random.integers(1, 600 // row.along + 1)
            x = special((int(lines * row.across), int(count * row.along)), seed)
            given = {"tensor_scale": 2.0 ** random.integers(-9, 9)} if format == "nvfp4" else {}
            values, scales = cornerturn.quantise(x, format, scale=rule, **given)[:2]
            expected, of_scales = reference(x, format, rule, **given)
            np.testing.assert_array_equal(codes(values), expected)
            np.testing.assert_array_equal(codes(np.ascontiguousarray(scales)), codes(of_scales))


def decoded(values, scales, format, tensor_scale):
    """What codes and scales stand for, as ml_dtypes says."""
    row = FORMATS[format]
    if row.dtype == "uint8":
        nibbles = np.stack((values & 15, values >> 4), axis=-1).reshape(len(values), -1)
        numbers = nibbles.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    else:
        numbers = values.view(F8[row.dtype]).astype(np.float32)
    if row.scales == "float32":
        factors = scales
    elif format == "nvfp4":
        factors = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32) / np.float32(tensor_scale)
    else:
        factors = scales.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    return numbers * factors.repeat(row.across, axis=0).repeat(row.along, axis=1)


@pytest.mark.parametrize("format", WITH_SCALES)
def test_any_codes_and_scales_come_back(format):
    row, random = FORMATS[format], np.random.default_rng(21)
    lines, count = 2 * row.across, 20
    values = random.integers(0, 256, (lines, count * row.along // row.of_unit), np.uint8)
    values.reshape(-1)[:256] = np.arange(256)
    scales = random.integers(0, 256, (lines // row.across, count), np.uint8)
    if row.scales == "float32":
        scales = np.exp2(random.uniform(-149, 127, scales.shape)).astype(np.float32)
        scales[0, :5] = 0, np.inf, np.nan, np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
    given = {"tensor_scale": 0.37} if format == "nvfp4" else {}
    stored = values.view(F8[row.dtype]) if row.dtype in F8 else values
    back = cornerturn.dequantise(stored, format, scales=scales, **given)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(back, decoded(values, scales, format, 0.37))


@pytest.mark.parametrize("format", [row.name for row in FORMATS.values() if row.packed])
def test_blocks_of_zeros_denormals_and_large_numbers_are_ggufs(format):
    gguf = pytest.importorskip("gguf")
    type = gguf.GGMLQuantizationType[format.removeprefix("ggml_").upper()]
    random, row = np.random.default_rng(22), FORMATS[format]
    small = np.float32(1e-30 if format == "ggml_mxfp4" else 1e-40)  # of less gguf's exponent wraps around
    for _ in range(4):
        x = numbers((random.integers(1, 40), row.along * random.integers(1, 9)), random.integers(99))
        x[0], x[-1, : row.along] = 0, -0.0
        x[random.integers(len(x))] = small * random.standard_normal(x.shape[1], np.float32)
        x[random.integers(len(x)), -row.along :] = np.float32(2e6)
        blocks = cornerturn.quantise(x, format)
        with np.errstate(all="ignore"):
            if format not in ("iq4_nl", "ggml_nvfp4"):  # which gguf only reads
                np.testing.assert_array_equal(blocks, gguf.quantize(x, type))
            expected = gguf.dequantize(blocks, type)
        np.testing.assert_array_equal(cornerturn.dequantise(blocks, format), expected)


@pytest.mark.parametrize("format", WITH_SCALES)
def test_both_copies_are_the_single_ones(format):
    x = numbers((384, 256), 1)
    given = {"tensor_scale": cornerturn.nvfp4_tensor_scale(x)} if format == "nvfp4" else {}
    both = cornerturn.quantise(x, format, both=True, **given)
    for axes, values, scales in (((0, 1), both.rows, both.row_scales), ((1, 0), both.columns, both.column_scales)):
        one = cornerturn.quantise(x, format, axes, **given)
        np.testing.assert_array_equal(codes(values), codes(one[0]))
        np.testing.assert_array_equal(scales, one[1])
        assert scales.strides == one[1].strides


@pytest.mark.parametrize("format", WITH_SCALES)
def test_values_come_back(format):
    x = np.random.default_rng(2).standard_normal((256, 384)).astype(np.float32)
    values, scales, *tensor_scale = cornerturn.quantise(x, format)
    given = {"tensor_scale": tensor_scale[0]} if tensor_scale else {}
    back = cornerturn.dequantise(values, format, scales=scales, **given)
    row = FORMATS[format]
    amax = np.abs(x).reshape(256 // row.across, row.across, -1, row.along).max((1, 3), keepdims=True)
    error = np.abs(back - x).reshape(256 // row.across, row.across, -1, row.along)
    step = {"float8_e4m3fn": 1 / 16, "float8_e5m2": 1 / 8, "uint8": 1 / 4}[row.dtype]
    if row.dtype == "float8_e4m3fn" and row.scales == "uint8":
        step = 1 / 8  # of 511 only 448 are left
    assert (error <= amax * step * 1.01).all()
    transposed = cornerturn.dequantise(values, format, (1, 0), scales=scales, dtype="bfloat16", **given)
    np.testing.assert_array_equal(transposed, back.T.astype(ml_dtypes.bfloat16))


def test_names_are_those_of_the_table():
    assert get_args(Format) == (*FORMATS, *_tensor.FORMATS)
    assert get_args(ScaleLayout) == LAYOUTS


def in_tiles(scales):
    """cuBLAS's layout, from its formula."""
    lines, count = scales.shape
    across = -(-count // 4)
    out = np.zeros(-(-lines // 128) * across * 512, np.uint8)
    for i in range(lines):
        for j in range(count):
            at = (i // 128 * across + j // 4) * 512 + i % 32 * 16 + i % 128 // 32 * 4 + j % 4
            out[at] = scales[i, j]
    return out


@pytest.mark.parametrize("shape", [(128, 512), (130, 224), (33, 96), (257, 416)])
@pytest.mark.parametrize("format", TILED)
def test_scales_lie_where_they_are_asked_for(format, shape):
    if FORMATS[format].across > 1:
        shape = tuple(-(-extent // 32) * 32 for extent in shape)
    x = numbers(shape, 3)
    given = {"tensor_scale": 1.0} if format == "nvfp4" else {}
    values, packed = cornerturn.quantise(x, format, **given)[:2]
    lines, count = packed.shape

    def made(layout):
        other, scales = cornerturn.quantise(x, format, scale_layout=layout, **given)[:2]
        np.testing.assert_array_equal(codes(other), codes(values))
        back = cornerturn.dequantise(other, format, scales=scales, scale_layout=layout, **given)
        np.testing.assert_array_equal(back, cornerturn.dequantise(values, format, scales=packed, **given))
        return scales

    np.testing.assert_array_equal(made("tiles_128x4"), in_tiles(packed))
    major = made("mn_major")
    np.testing.assert_array_equal(major, packed)
    assert major.strides == (1, lines)
    padded = made("mn_major_padded")
    np.testing.assert_array_equal(padded, packed)
    assert padded.strides == (1, -(-lines // 4) * 4)
    wide = made("padded")
    np.testing.assert_array_equal(wide, packed)
    assert wide.strides == (-(-count // 4) * 4, 1)
    ints = made("packed_4")
    fours = np.zeros((lines, -(-count // 4) * 4), np.uint8)
    fours[:, :count] = packed
    np.testing.assert_array_equal(np.ascontiguousarray(ints).view(np.uint8), fours)
    assert ints.dtype == np.int32 and ints.strides == (4, -(-lines // 4) * 16)


def test_fp8_scales_lie_as_scaled_mm_takes_them():
    x = numbers((200, 384), 4)
    scales = cornerturn.quantise(x, "fp8_1x128")[1]
    assert scales.shape == (200, 3) and scales.strides == (4, 800)
    assert cornerturn.quantise(x, "fp8_1x128", axis=0, pad=True)[1].shape == (2, 384)
    assert cornerturn.quantise(x[:128], "fp8_128x128")[1].strides == (12, 4)
    assert cornerturn.quantise(x[:128], "fp8_128x128", scale_layout="padded")[1].strides == (16, 4)


@pytest.mark.parametrize("format", WITH_SCALES)
def test_what_is_no_number(format):
    row = FORMATS[format]
    x = np.ones((128, 384), np.float32)
    x[3, 5], x[4, 6] = np.nan, -np.inf
    given = {"tensor_scale": 1.0} if format == "nvfp4" else {}
    values, scales = cornerturn.quantise(x, format, **given)[:2]
    back = cornerturn.dequantise(values, format, scales=scales, **given)
    # A block with a NaN is NaN. An infinity saturates where scales are bytes, and else is NaN.
    of_nan = (slice(3 // row.across * row.across, (3 // row.across + 1) * row.across), slice(0, row.along))
    assert np.isnan(back[of_nan]).all()
    of_inf = back[4, : row.along]
    if row.across == 1:
        assert np.isnan(of_inf).all() if row.scales == "float32" else of_inf[6] < -100
    assert np.isfinite(back[:, row.along :]).all()
    if format == "nvfp4":
        assert np.isnan(cornerturn.nvfp4_tensor_scale(x))
        assert cornerturn.nvfp4_tensor_scale(np.zeros(3)) == 1
        assert cornerturn.nvfp4_tensor_scale(np.array([np.inf])) == np.float32(2688) / np.finfo(np.float32).max


def test_extents_are_padded_where_asked():
    x = numbers((130, 200), 5)
    whole = np.zeros((256, 256), np.float32)
    whole[:130, :200] = x
    for format in ("fp8_128x128", "fp8_1x128", "nvfp4", "mxfp8_32x32"):
        row = FORMATS[format]
        given = {"tensor_scale": 1.0} if format == "nvfp4" else {}
        values, scales = cornerturn.quantise(x, format, pad=True, **given)[:2]
        expected, of_scales = cornerturn.quantise(whole, format, **given)[:2]
        lines, count = values.shape
        assert lines == -(-130 // row.across) * row.across
        np.testing.assert_array_equal(codes(values), codes(expected)[:lines, :count])
        np.testing.assert_array_equal(scales, of_scales[: scales.shape[0], : scales.shape[1]])


def test_stochastic_rounding_is_reproducible_and_unbiased():
    x = np.full((64, 128), 1.03, np.float32)
    x[:, ::16] = 4
    first = cornerturn.quantise(x, "fp8_1x128", seed=3)
    again = cornerturn.quantise(x, "fp8_1x128", seed=3, threads=1)
    other = cornerturn.quantise(x, "fp8_1x128", seed=4)
    np.testing.assert_array_equal(codes(first[0]), codes(again[0]))
    assert (codes(first[0]) != codes(other[0])).any()
    back = cornerturn.dequantise(first[0], "fp8_1x128", scales=first[1])
    assert abs(back[:, 1:16].mean() - 1.03) < 0.005


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"format": "fp9"}, "format = 'fp9' is none of q8_0"),
        ({"format": "fp8_1x128", "scale": "most"}, "scale = 'most' is none of"),
        ({"format": "fp8_1x128", "scale": "even"}, "^scale = even is no rule for the scales of fp8_1x128: use ceil or exact"),
        ({"format": "mxfp8_e4m3", "scale": "exact"}, "^scale = exact is no rule"),
        ({"format": "fp8_1x128", "scale_layout": "tiles_128x4"}, "scales of fp8_1x128 are float32, not bytes"),
        ({"format": "q8_0", "scale": "ceil"}, "scale = 'ceil': the scales inside the blocks of q8_0 follow one rule"),
        ({"format": "q4_0", "scale_layout": "mn_major"}, "the scales of q4_0 are inside its blocks"),
        ({"format": "mxfp8_e4m3", "scale_layout": "rows"}, "scale_layout = 'rows' is none of"),
        ({"format": "fp8_128x128", "axes": (1, 0)}, "an axis of 100 values, which is no multiple of 128"),
        ({"format": "mxfp8_e4m3", "tensor_scale": 2.0}, "tensor_scale = 2.0: only nvfp4 has one"),
        ({"format": "nvfp4", "tensor_scale": -1.0}, "^tensor_scale = -1.0 has to be positive"),
        ({"format": "q4_0", "seed": 3}, "^seed = 3: q4_0 is rounded to the nearest value"),
        ({"format": "mxfp8_e4m3", "axis": 0, "pad": True, "scale_layout": "mn_major"}, "along the last axis"),
        ({"format": "tensor_i8", "seed": 3}, "belong to blocks"),
        ({"format": "fp8_1x128", "both": True, "axis": 0}, "both = True takes neither axes nor axis"),
    ],
)
def test_what_is_wrong_is_named(arguments, error):
    with pytest.raises(ValueError, match=("" if error.startswith("^") else "^[^\n]*") + error.replace("(", r"\(") + "[^\n]*$"):
        cornerturn.quantise(np.zeros((100, 128), np.float32), **arguments)


def test_wrong_blocks_are_named():
    values, scales = cornerturn.quantise(np.zeros((128, 256), np.float32), "fp8_128x128")
    with pytest.raises(ValueError, match=r"scales.shape = \(1, 2\) has to be \(1, 1\)"):
        cornerturn.dequantise(np.ascontiguousarray(values[:, :128]), "fp8_128x128", scales=scales)
    with pytest.raises(TypeError, match="scales.dtype = float64: it has to be float32"):
        cornerturn.dequantise(values, "fp8_128x128", scales=scales.astype(np.float64))
    with pytest.raises(ValueError, match=r"blocks.shape = \(100, 256\) has to be \(128, 256\)"):
        cornerturn.dequantise(values[:100], "fp8_128x128", scales=scales)
    with pytest.raises(ValueError, match="scales = None: of fp8_128x128 they have to be given"):
        cornerturn.dequantise(values, "fp8_128x128")
    with pytest.raises(ValueError, match="tensor_scale = None: of nvfp4 it has to be given"):
        cornerturn.dequantise(np.zeros((1, 8), np.uint8), "nvfp4", scales=np.zeros((1, 1), np.uint8))


def test_pytorch_sees_the_same_arrays():
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    x = numbers((160, 256), 6)
    for format in WITH_SCALES:
        for layout in (None, "padded", "mn_major_padded", *(["tiles_128x4", "packed_4"] if format in TILED else [])):
            arguments = {"scale_layout": layout, "pad": True}
            if format == "nvfp4":
                arguments["tensor_scale"] = 1.0
            want = cornerturn.quantise(x, format, both=True, **arguments)
            got = cornerturn.quantise(torch.from_numpy(x), format, both=True, **arguments)
            with FakeTensorMode():
                fake = cornerturn.quantise(torch.empty(x.shape), format, both=True, **arguments)
            for a, b, c in zip(want, got, fake, strict=True):
                assert b.shape == c.shape and b.stride() == c.stride() and b.dtype == c.dtype
                same = b.contiguous().view(torch.uint8).numpy()
                np.testing.assert_array_equal(same, codes(np.ascontiguousarray(a)))


def test_the_page_does_what_it_says():
    page = (Path(__file__).resolve().parents[2] / "docs" / "casts.md").read_text()
    first, _, _, of_rows, second = re.findall(r"^```python\n(.*?)```", page, re.M | re.S)  # test_torch_casts.py runs those between
    x, w = np.random.default_rng(3).standard_normal((2, 256, 384), np.float32)
    names = {"cornerturn": cornerturn, "numpy": np, "x": x, "w": w}
    exec(first, names)
    assert np.allclose(names["y"].astype(np.float32), x, rtol=0.08, atol=np.abs(x).max(axis=1, keepdims=True) / 400)
    exec(of_rows, names)
    assert names["scales"].shape == (5, 3) and names["both"].columns.shape == (384, 32)
    names["values"], names["scales"] = cornerturn.quantise(w, "fp8_128x128")
    exec(second, names)
